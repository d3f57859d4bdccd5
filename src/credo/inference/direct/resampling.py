"""Resampling: equally weighted copies of weighted draws, each draw n w times on average."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.errors import ParameterError
from credo.inference.direct.densities import check_size
from credo.numerics.random import as_generator

__all__ = ["resample", "SCHEMES"]

SCHEMES = ("systematic", "stratified", "residual", "multinomial")


def resample(weights: Any, size: int | None = None, rng: Any = None, scheme: str = "systematic") -> np.ndarray:
    """Indices (size,), ascending, in which i stands size·w_i times on average.

    Parameters
    ----------
    weights : (n,) ≥ 0, of any positive sum.
    size : None is n.
    rng : seed or generator.
    scheme : "systematic" (one uniform number; every count is size·w_i rounded up or down), "stratified" (one a
        stratum), "residual" (the whole parts for certain, the rest at random), "multinomial" (independent). All are
        unbiased; the first three add less noise, and only stratified and residual are sure to add less for any order of
        the draws.

    Cost: O(n + size).

    Reference: Douc, Cappé and Moulines (2005), Comparison of resampling schemes for particle filtering.

    Examples
    --------
    >>> resample([0.5, 0.0, 0.25, 0.25], rng=0).tolist()
    [0, 0, 2, 3]
    """
    try:
        w = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        w = np.empty(0)
    if w.ndim != 1 or not np.all((w >= 0.0) & (w < np.inf)) or not np.any(w):
        raise ParameterError("resample", "weights", "(n,), finite, ≥ 0 and not all zero", weights)
    w = w / w.max()  # so that their sum is finite too
    if scheme not in SCHEMES:
        raise ParameterError("resample", "scheme", f"one of {', '.join(SCHEMES)}", scheme)
    n = w.size if size is None else check_size("resample", size)
    rng = as_generator(rng)
    if scheme == "residual":
        whole = np.floor(n * (w / w.sum()) * (1.0 + 4.0 * np.finfo(float).eps)).astype(int)
        left = n - int(whole.sum())
        sure = np.repeat(np.arange(w.size), whole)
        if left <= 0:
            return sure[:n]
        rest = np.maximum(n * w / w.sum() - whole, 0.0)
        return np.sort(np.concatenate([sure, _invert(rest, np.sort(rng.random(left)))]))
    if scheme == "multinomial":
        return _invert(w, np.sort(rng.random(n)))
    offset = rng.random() if scheme == "systematic" else rng.random(n)
    return _invert(w, (np.arange(n) + offset) / n)


def _invert(weights: np.ndarray, u: np.ndarray) -> np.ndarray:
    cumulative = np.cumsum(weights)
    at = np.searchsorted(cumulative, u * cumulative[-1], side="right")
    # u may round to 1: the last draw that has a weight at all
    return np.minimum(at, int(np.flatnonzero(weights)[-1]))
