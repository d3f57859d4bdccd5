"""Quantiles by inverting a distribution function, elementwise over arrays, with a stated accuracy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["invert_cdf"]


def invert_cdf(cdf: Callable[[np.ndarray], np.ndarray], q: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Solve cdf(x) = q for x between `low` and `high`, where cdf(low) ≤ q ≤ cdf(high), elementwise.

    q, low, high and the result broadcast to one shape, which `cdf` maps to itself. Chandrupatla's method (SciPy's
    vectorised implementation), to about 1e-12 relative in x. Brackets that already agree are returned as they are:
    a mixture's quantile lies between the smallest and the largest of its components' quantiles.
    """
    from scipy.optimize.elementwise import find_root

    q, low, high = np.broadcast_arrays(np.asarray(q, dtype=np.float64), low, high)
    if q.size == 0:
        return np.empty(q.shape)
    width = np.maximum(np.abs(low), np.abs(high)) * 1e-13
    flat_q, flat_low, flat_high = q.ravel(), (low - width).ravel(), (high + width).ravel()

    index = np.arange(q.size)

    def residual(x: np.ndarray, i: np.ndarray) -> np.ndarray:
        # find_root drops converged elements, so the full array is filled around those still active
        point = flat_low.copy()
        point[i.astype(np.intp)] = x
        return (cdf(point.reshape(q.shape)).ravel() - flat_q)[i.astype(np.intp)]

    result = find_root(
        residual,
        (flat_low, flat_high),
        args=(index,),
        tolerances={"xrtol": 1e-13, "xatol": 0.0, "frtol": 0.0, "fatol": 0.0},
    )
    agree = flat_high - flat_low <= 4.0 * width.ravel()
    return np.where(agree, 0.5 * (flat_low + flat_high), result.x).reshape(q.shape)
