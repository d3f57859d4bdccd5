"""How rows and choices read the utilities g (U, m) of their block: gathers, and the scatters that transpose them."""

from __future__ import annotations

import numpy as np

from credo.models.preference.outcomes import Outcomes

__all__ = ["choice_rows", "gather", "gather_choices", "scatter", "scatter_choices", "scatter_slopes"]


def gather(outcomes: Outcomes, g: np.ndarray) -> np.ndarray:
    """η (r,) = g_a − g_b, or g_a alone."""
    other = np.where(outcomes.b >= 0, g[outcomes.block, outcomes.b], 0.0)
    return g[outcomes.block, outcomes.a] - other


def scatter(outcomes: Outcomes, slope: np.ndarray, curvature: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Slopes and curvatures in η (r,) as a gradient (U, m) and a matrix (U, m, m) in g: win counts make a Laplacian."""
    pair = outcomes.b >= 0
    block, a, b = outcomes.block, outcomes.a, outcomes.b
    gradient = scatter_slopes(outcomes, slope, m)
    shape = (outcomes.n_blocks, m, m)
    matrix = _added(shape, (block, a, a), curvature)
    block, a, b, curvature = block[pair], a[pair], b[pair], curvature[pair]
    matrix += _added(shape, (block, b, b), curvature)
    cross = _added(shape, (block, a, b), curvature)
    return gradient, matrix - cross - cross.transpose(0, 2, 1)


def scatter_slopes(outcomes: Outcomes, slope: np.ndarray, m: int) -> np.ndarray:
    """Slopes in η (r,) as a gradient (U, m)."""
    pair = outcomes.b >= 0
    block, a, b = outcomes.block, outcomes.a, outcomes.b
    gradient = _added((outcomes.n_blocks, m), (block, a), slope)
    return gradient - _added(gradient.shape, (block[pair], b[pair]), slope[pair])


def choice_rows(outcomes: Outcomes) -> tuple[np.ndarray, np.ndarray]:
    """(places (c, k + 1), the chosen first, 0 where there are fewer; which of the others are there (c, k))."""
    shown = outcomes.others >= 0
    return np.column_stack([outcomes.best, np.where(shown, outcomes.others, 0)]), shown


def gather_choices(outcomes: Outcomes, g: np.ndarray) -> np.ndarray:
    """Utilities (c, k + 1) of what was shown, the chosen first."""
    return g[outcomes.choice_block[:, None], choice_rows(outcomes)[0]]


def scatter_choices(
    outcomes: Outcomes, slope: np.ndarray, curvature: np.ndarray, m: int
) -> tuple[np.ndarray, np.ndarray]:
    """From (c, k + 1) and (c, k + 1, k + 1), zero where nothing is shown, to (U, m) and (U, m, m)."""
    places, _ = choice_rows(outcomes)
    block = outcomes.choice_block[:, None]
    gradient = _added((outcomes.n_blocks, m), (block, places), slope)
    at = (block[:, :, None], places[:, :, None], places[:, None, :])
    return gradient, _added((outcomes.n_blocks, m, m), at, curvature)


def _added(shape: tuple[int, ...], at: tuple[np.ndarray, ...], values: np.ndarray) -> np.ndarray:
    """Zeros with values added at places, those that repeat as often as they do."""
    flat = np.ravel_multi_index(np.broadcast_arrays(*at), shape).ravel()
    each = np.broadcast_to(values, np.broadcast_shapes(*(x.shape for x in at))).ravel()
    total = np.bincount(flat, each, minlength=int(np.prod(shape))).reshape(shape)
    return total.astype(np.float64, copy=False)  # of no values it would be integers
