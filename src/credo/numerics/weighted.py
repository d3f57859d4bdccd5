"""Quantiles of weighted points."""

from __future__ import annotations

import numpy as np

__all__ = ["weighted_quantile"]


def weighted_quantile(x: np.ndarray, weights: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Quantiles of weighted rows x (n, *shape), interpolated between midpoints of the cumulative weights: (*q,
    *shape)."""
    flat = x.reshape(x.shape[0], -1)
    result = np.empty((*q.shape, flat.shape[1]))
    for j, column in enumerate(flat.T):
        order = np.argsort(column, kind="stable")
        middle = np.cumsum(weights[order]) - 0.5 * weights[order]
        result[..., j] = np.interp(q, middle, column[order])
    return result.reshape(q.shape + x.shape[1:])
