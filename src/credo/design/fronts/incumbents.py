"""Joint draws of the front where trials are noisy or pending, and the beliefs that each leaves."""

from __future__ import annotations

import numpy as np

from credo.design.acquisition.incumbents import fantasise
from credo.design.acquisition.points import even_normals
from credo.design.fronts.pareto import non_dominated
from credo.design.surrogates.cube import Cube
from credo.models.gaussian_process.belief import Belief
from credo.numerics.cholesky import cholesky

__all__ = ["fantasise_front", "likely_front"]

# Even draws of all incumbents in both objectives. Each is a front of its own, whose improvement is in closed form.
SAMPLES = 16
# Points that may be on the front: those of the best layers of lower bounds, and of these the ones that draws put on the
# front, most often first.
SCREENED, KEPT = 80, 24
DRAWS = 128


def likely_front(beliefs: tuple[Belief, Belief], rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Numbers (k,) of the rows (n, ·) that may be on the front, likeliest first, at most `KEPT`."""
    order = _best_layers(beliefs, rows)
    first, second = (_draws(belief, rows[order], rng) for belief in beliefs)
    better = (first[:, None] <= first[:, :, None]) & (second[:, None] <= second[:, :, None])
    better &= ~np.eye(len(order), dtype=bool)
    times = np.sum(~better.any(axis=2), axis=0)
    found = np.argsort(-times, kind="stable")[:KEPT]
    return order[found[times[found] > 0]]


def _best_layers(beliefs: tuple[Belief, Belief], rows: np.ndarray) -> np.ndarray:
    """Numbers of at most `SCREENED` rows: layer after layer of those whose lower bounds no other beats."""
    bounds = []
    for belief in beliefs:
        mean, variance = belief.latent(rows)
        bounds.append(mean[:, 0] - 2.0 * np.sqrt(variance))
    left, found = np.arange(len(rows)), np.empty(0, dtype=np.intp)
    while left.size and found.size < SCREENED:
        best = non_dominated(np.column_stack(bounds)[left])
        found, left = np.concatenate([found, left[best]]), left[~best]
    return found[:SCREENED]


def _draws(belief: Belief, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    mean, covariance = belief.latent(rows, joint=True)
    root = cholesky(covariance + 1e-10 * np.eye(len(rows)), "The covariance of incumbents").lower
    return mean[:, 0] + rng.standard_normal((DRAWS, len(rows))) @ root.T


def fantasise_front(
    beliefs: tuple[Belief, Belief], cube: Cube, X: np.ndarray, rng: np.random.Generator, samples: int = SAMPLES
) -> tuple[tuple[Belief, Belief], np.ndarray]:
    """Both beliefs given S draws at points X (k, d), a target each, and the draws (S, k, 2), of both at once."""
    normals = even_normals(samples, 2 * len(X), rng)  # one even set: two sets would go up and down together
    parts = [fantasise(belief, cube, X, rng, normals=normals[:, j::2]) for j, belief in enumerate(beliefs)]
    return (parts[0][0], parts[1][0]), np.stack([draws.T for _, draws in parts], axis=2)
