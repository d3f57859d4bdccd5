"""Gibbs sampling by variances, for any likelihood.

Given a variance for every coefficient the prior is Normal (`models/scale_mixtures`), and what is left is a posterior
near its Gaussian: one Hamiltonian trajectory, whitened by each chain's own precision, moves Θ; then the variances are
drawn given Θ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from credo.inference.gibbs_chains import CHAINS, run_chains
from credo.inference.result import Result
from credo.inference.weighted import WeightedDraws
from credo.models.glm.laplace import DataTerm, GlmMode
from credo.models.glm.prior import GlmPrior
from credo.models.glm.sampling import equally_weighted
from credo.models.scale_mixtures import ScaleMixture

__all__ = ["gibbs_posterior"]

# Length of a trajectory in whitened time: π/2 carries a Gaussian to an independent draw; random between half and one
# and a half of it, so that no period resonates.
LENGTH = 0.5 * np.pi
# Leapfrog steps of it: the energy then errs by some 0.1 at a dozen dimensions, and nine of ten moves are taken.
STEPS = 4


@dataclass
class _Chains:
    theta: np.ndarray
    states: list[dict[str, np.ndarray]]
    step: float


def gibbs_posterior(
    data: DataTerm, prior: GlmPrior, mode: GlmMode, labels: list[str], owner: str
) -> tuple[WeightedDraws, Result]:
    """Draws of Θ with equal weights, and the chains' report. The seed is fixed: a fit is a function of its data."""
    rng = np.random.default_rng(0)
    lower = mode.precision_lower(prior)
    z = rng.standard_normal((CHAINS, mode.position.size))
    theta = mode.position + scipy.linalg.solve_triangular(lower, z.T, lower=True, trans=1).T
    base = mode.statistics.curvature + prior.exact_form[1] + prior.gauge(mode.statistics.curvature)

    def sweep(chains: _Chains, rng: np.random.Generator) -> _Chains:
        variance = np.full(theta.shape, np.inf)
        centre = np.zeros(prior.size)
        states = []
        for (where, mixture), state in zip(prior.mixed, chains.states, strict=True):
            assert isinstance(mixture, ScaleMixture)
            variance[:, where], state = mixture.draw_variances(chains.theta[:, where], state, rng)
            centre[where] = mixture.mean
            states.append(state)
        return _Chains(_trajectory(data, prior, base, chains, variance, centre, rng), states, chains.step)

    start = _Chains(theta, [mixture.initial(CHAINS) for _, mixture in prior.mixed], LENGTH / STEPS)  # type: ignore[union-attr]
    draws = run_chains(
        sweep, start, lambda chains: {name: chains.theta[:, i] for i, name in enumerate(labels)}, rng, owner=owner
    )
    positions = np.stack([draws.values[name] for name in labels], axis=-1)
    result = draws.result
    ess = float(result.certificate.get("ess_bulk", np.nan))
    return equally_weighted(positions, rng, ess), result


def _trajectory(
    data: DataTerm,
    prior: GlmPrior,
    base: np.ndarray,
    chains: _Chains,
    variance: np.ndarray,
    centre: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """One trajectory of every chain under N(centre, variance) priors, whitened by its own precision; Metropolis."""
    information, precision = prior.exact_form
    inverse = 1.0 / variance
    masses = base + inverse[:, :, None] * np.eye(prior.size)
    size = np.sqrt(np.diagonal(masses, axis1=1, axis2=2))
    lower = np.linalg.cholesky(masses / size[:, :, None] / size[:, None, :]) * size[:, :, None]
    whiten = np.linalg.inv(lower)  # (c, K, K), of triangles: K³/3 each, and products after

    def evaluate(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, gradient = data.gradients(theta)
        away = theta - centre
        pull = theta @ precision
        value = value + theta @ information - 0.5 * (pull * theta).sum(axis=1) - 0.5 * (inverse * away**2).sum(axis=1)
        return value, np.einsum("cij,cj->ci", whiten, gradient + information - pull - inverse * away)

    position = chains.theta
    value, force = evaluate(position)
    momentum = rng.standard_normal(position.shape)
    energy = value - 0.5 * np.square(momentum).sum(axis=1)
    step = chains.step * (0.5 + rng.random())
    moved = position
    with np.errstate(all="ignore"):  # a chain that diverges is rejected
        for _ in range(STEPS):
            momentum = momentum + 0.5 * step * force
            moved = moved + step * np.einsum("cij,ci->cj", whiten, momentum)
            value, force = evaluate(moved)
            momentum = momentum + 0.5 * step * force
        change = value - 0.5 * np.square(momentum).sum(axis=1) - energy
    taken = np.log(rng.random(len(position))) < np.where(np.isfinite(change), change, -np.inf)
    return np.where(taken[:, None], moved, position)
