"""Fantasies: joint draws of the objective where it was tried or is being tried, and the belief that each leaves.

The best value so far is uncertain where trials are noisy, and the values of pending trials are not known. Both are
drawn from the belief, S at once and evenly (quasi-Monte-Carlo); conditioned on a draw, the belief elsewhere has the
same variance for all S, so that they share one factor and differ in weights alone.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from credo.design.acquisition.points import even_normals
from credo.design.surrogates.cube import Cube
from credo.models.gaussian_process.belief import Belief
from credo.numerics.cholesky import cholesky

__all__ = ["fantasise", "likely_incumbents"]

# Draws: 64 even ones leave the log improvement uncertain by less than .05, which no ranking of candidates needs.
SAMPLES = 64
# Points that may be the best: the lowest bounds, and of these the ones that draws find best, most often first.
SCREENED, KEPT = 80, 16
DRAWS = 512
# Variance of the noise that fantasies are taken to have, so that those beside an exact value can be factored.
EXACT = 1e-8


def likely_incumbents(belief: Belief, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Numbers (k,) of the rows (n, ·) that may be the lowest, likeliest first, at most `KEPT`."""
    mean, variance = belief.latent(rows)
    order = np.argsort(mean[:, 0] - 2.0 * np.sqrt(variance))[:SCREENED]
    mean, covariance = belief.latent(rows[order], joint=True)
    root = cholesky(covariance + 1e-10 * np.eye(len(order)), "The covariance of incumbents").lower
    draws = mean[:, 0] + rng.standard_normal((DRAWS, len(order))) @ root.T
    times = np.bincount(np.argmin(draws, axis=1), minlength=len(order))
    found = np.argsort(-times, kind="stable")[:KEPT]
    return order[found[times[found] > 0]]


def fantasise(
    belief: Belief, cube: Cube, X: np.ndarray, rng: np.random.Generator, samples: int = SAMPLES,
    normals: np.ndarray | None = None,
) -> tuple[Belief, np.ndarray]:  # fmt: skip
    """The belief given S draws at points X (k, d), a target each, and the draws (k, S). Cost n²k + n²S.

    normals (S, k) : what the draws are made of; None for even ones
    """
    rows = cube.rows(X)
    mean, covariance = belief.latent(rows, joint=True)
    root = cholesky(covariance + EXACT * np.eye(len(rows)), "The covariance of fantasies").lower
    normals = even_normals(samples, len(rows), rng) if normals is None else normals
    samples = len(normals)
    draws = mean + root @ normals.T
    seen = belief.observations
    if samples > 1:
        wide = replace(seen, y=np.repeat(seen.y, samples, axis=1), within=np.repeat(seen.within, samples, axis=1))
        factored = belief.conditioned.factored
        belief = replace(belief, observations=wide)
        belief.__dict__["conditioned"] = belief._condition(factored)
    ratio = np.full(len(rows), EXACT) / belief.noise.variance(rows)
    return belief.extended(rows, draws, ratio, np.ones(len(rows))), draws
