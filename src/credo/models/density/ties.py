"""Tied values spread over the gaps about them: rounding leaves a comb, which is not the density's."""

from __future__ import annotations

import numpy as np

__all__ = ["spread_ties"]


def spread_ties(x: np.ndarray, w: np.ndarray | None = None) -> np.ndarray:
    """Rows (n,) that share a value, evenly by weight from halfway to the value below to halfway to the one above.

    Single values stay. Values rounded to a grid become evenly filled cells of it, so that whatever resolves finer
    than the grid finds nothing there; an atom among continuous values stays one.

    >>> spread_ties(np.array([0.0, 1.0, 1.0, 3.0])).tolist()
    [0.0, 0.875, 1.625, 3.0]
    """
    values, which, sizes = np.unique(x, return_inverse=True, return_counts=True)
    if values.size in (1, x.size):
        return x
    half = 0.5 * np.diff(values)
    below, above = np.append(half[:1], half), np.append(half, half[-1:])
    order = np.argsort(which, kind="stable")
    weights = np.ones(x.size) if w is None else w[order]
    first = np.cumsum(sizes) - sizes
    total = np.add.reduceat(weights, first)
    running = np.cumsum(weights)
    group = which[order]
    share = (running - 0.5 * weights - (running - weights)[first][group]) / total[group]
    spread = values[group] - below[group] + (below + above)[group] * share
    result = np.empty(x.size)
    result[order] = np.where(sizes[group] > 1, spread, values[group])
    return result
