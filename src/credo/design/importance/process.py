"""Trees grown on functions drawn from a Gaussian process, for the variance that draws agree on: it knows more than a
forest of few trials, and of trials crowded about an optimum."""

from __future__ import annotations

import numpy as np

from credo.design.importance.boxes import Measure
from credo.design.importance.forest import Forest, grown_tree
from credo.design.spaces import Space
from credo.design.surrogates.cube import Cube, Grid, OneHot, cube_of
from credo.design.surrogates.surrogate import Surrogate, fit_surrogate
from credo.models.gaussian_process.equations import projected_inverse
from credo.numerics.cholesky import cholesky
from credo.numerics.threads import single_blas_thread

__all__ = ["grow_on_draws"]

# Points at which functions are drawn.
POINTS = 1024
# A grid of more levels is continuous to a process.
MOST_LEVELS = 256


def grow_on_draws(
    space: Space, measures: list[Measure], X: np.ndarray, y: np.ndarray, limits: tuple[float, float],
    n_trees: int, rng: np.random.Generator,
) -> Forest:  # fmt: skip
    """A tree for each of `n_trees` functions drawn from the belief given trials X (n, width), y (n,).

    limits : between which values are kept

    `explained` is that of trials by the belief given the others, at the hyperparameters that all of them gave.
    """
    with single_blas_thread():
        cube = _cube(measures, X.shape[1])
        surrogate = fit_surrogate(X, y, cube, noisy=None, warp=False, theta=(), learned_from=0, rng=rng)
        points = space.from_uniform(rng.random((POINTS, len(space.parameters))))
        places, active = space.encode(points)
        mean, covariance = surrogate.belief.latent(cube.rows(places), joint=True)
        root = cholesky(covariance + 1e-8 * np.eye(POINTS), "The covariance of an objective").lower
        z = mean + root @ rng.standard_normal((POINTS, n_trees))
        draws = np.clip(surrogate.outcomes.outside(z), *limits)
    trees = []
    for values in draws.T:
        chosen = rng.integers(POINTS, size=POINTS)
        trees.append(grown_tree(places[chosen], active[chosen], values[chosen], 1, rng).tree_)
    return Forest(trees, _explained(surrogate, limits))


def _cube(measures: list[Measure], width: int) -> Cube:
    kinds: list[Grid | OneHot] = []
    for measure in measures:
        if measure.is_categorical:
            kinds.append(OneHot(measure.columns))
        elif measure.levels is not None and len(measure.levels) <= MOST_LEVELS:
            kinds.append(Grid(measure.columns[0], tuple(measure.levels.tolist())))
    return cube_of(kinds, width)


def _explained(surrogate: Surrogate, limits: tuple[float, float]) -> float:
    """1 − (mean squared error)/(variance), leaving one out: z_i − μ₋ᵢ = [P z]_i/P_ii with P = K⁻¹ − K⁻¹1 1ᵀK⁻¹/1ᵀK⁻¹1
    (Rasmussen & Williams 2006, §5.4.2)."""
    conditioned, seen = surrogate.belief.conditioned, surrogate.belief.observations.y[:, 0]
    left_out = seen - conditioned.dual[:, 0] / np.diag(projected_inverse(conditioned))
    known, foretold = (np.clip(surrogate.outcomes.outside(z), *limits) for z in (seen, left_out))
    return float(1.0 - np.mean((foretold - known) ** 2) / np.var(known))
