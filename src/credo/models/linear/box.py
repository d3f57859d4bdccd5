"""A uniform prior on coefficients: the flat posterior where the bounds are out of reach, else Gibbs inside them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from credo.inference.draws import Draws
from credo.inference.exact.belief import LinearBelief
from credo.inference.exact.noise_prior import NoisePrior
from credo.inference.gibbs_chains import CHAINS, run_chains
from credo.models.linear.gibbs import LinearProblem, by_chain, draw_noise_variance, split_targets
from credo.models.scale_mixtures import Box

__all__ = ["mass_outside", "sample_in_box", "truncated_normal"]


def mass_outside(belief: LinearBelief, box: Box) -> float:
    """Bound on the probability that a coefficient is outside, summed over coefficients; the worst target."""
    mean, variance = belief.coefficients()
    scale = np.sqrt(variance * belief.noise_variance[:, None, :])
    below, above = ((end[:, None] - mean) / scale for end in (box.low, box.high))
    tails = (
        special.ndtr(below) + special.ndtr(-above)
        if np.isinf(belief.df)
        else special.stdtr(belief.df, below) + special.stdtr(belief.df, -above)
    )
    return float((belief.weights[:, None] * tails).sum(axis=(0, 1)).max())


def sample_in_box(
    problem: LinearProblem, box: Box, noise: NoisePrior | None, rng: np.random.Generator, owner: str
) -> Draws:
    """Gibbs on the likelihood's own axes v (w = V v), each a Normal truncated to what keeps every w in the box.

    Along these axes the likelihood factorises, so collinear columns cost nothing; axes that no row touches are uniform.
    Cost P² a sweep.
    """
    p, batch = problem.x.shape[1], CHAINS * problem.n_targets
    left, singular, right = np.linalg.svd(problem.x, full_matrices=True)
    singular = np.pad(singular, (0, p - singular.size))
    singular[singular <= singular.max(initial=0.0) * p * np.finfo(float).eps] = 0.0
    touched = singular > 0.0
    peak = np.zeros((batch, p))
    rank = min(left.shape[1], p)
    peak[:, :rank] = np.tile((left[:, :rank].T @ problem.y).T, (CHAINS, 1)) / np.where(touched, singular, 1.0)[:rank]
    y, floor = np.tile(problem.y.T, (CHAINS, 1)), np.tile(problem.floor, CHAINS)

    def step(state: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
        w, sd = state["coef"].copy(), np.sqrt(state["noise_variance"])
        for k in range(p):
            axis = right[k]
            low, high = reach(w, axis, box)
            width = sd / singular[k] if touched[k] else None
            t = truncated_normal(peak[:, k] - w @ axis, width, low, high, rng)
            w = np.clip(w + t[:, None] * axis, box.low, box.high)
        variance = state["noise_variance"]
        if noise is not None:
            square = np.square(y - w @ problem.x.T).sum(axis=1) + floor
            variance = draw_noise_variance(square, problem.nu, noise, variance, rng)
        return {"coef": w, "noise_variance": variance, "intercept": problem.intercepts(w, variance, rng)}

    def collect(state: dict[str, Any]) -> dict[str, np.ndarray]:
        kept = {"coef": state["coef"]}
        if problem.weight is not None:
            kept["intercept"] = state["intercept"]
        if noise is not None:
            kept["noise_scale"] = np.sqrt(state["noise_variance"])
        return by_chain(kept)

    w = box.low + (box.high - box.low) * rng.random((batch, p))
    square = np.square(y - w @ problem.x.T).sum(axis=1) + floor
    start = square / max(problem.nu, 1.0) if noise is not None else np.ones(batch)
    state = {"coef": w, "noise_variance": start, "intercept": np.zeros(batch)}
    return split_targets(run_chains(step, state, collect, rng, owner=owner), problem.n_targets)


def reach(w: np.ndarray, axis: np.ndarray, box: Box) -> tuple[np.ndarray, np.ndarray]:
    """The interval (B,) of t for which w + t · axis stays in the box."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.stack([(box.low - w) / axis, (box.high - w) / axis])
    ends = np.where(axis == 0.0, np.array([-np.inf, np.inf])[:, None, None], ends)
    return ends.min(axis=0).max(axis=1), ends.max(axis=0).min(axis=1)


def truncated_normal(
    mean: np.ndarray, sd: np.ndarray | None, low: np.ndarray, high: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Draws of N(mean, sd²) within [low, high], elementwise, by the inverse of the tail that keeps its digits; `sd`
    None is uniform."""
    u = rng.random(mean.shape)
    if sd is None:
        return low + (high - low) * u
    a, b = (low - mean) / sd, (high - mean) / sd
    flip = a + b > 0.0  # work in the lower tail
    a, b = np.where(flip, -b, a), np.where(flip, -a, b)
    log_a, log_b = special.log_ndtr(a), special.log_ndtr(b)
    z = special.ndtri_exp(log_b + np.log(u + (1.0 - u) * np.exp(log_a - log_b)))
    z = np.where(flip, -z, z)
    return np.clip(mean + sd * z, low, high)
