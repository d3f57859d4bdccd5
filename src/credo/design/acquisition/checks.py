"""Arguments of `propose` and `recommend`, checked once."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.errors import DataError, ParameterError

__all__ = ["checked_box", "checked_constraints", "checked_history", "checked_points"]


def checked_history(X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    """X (m, d) and y (m,)."""
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if X.ndim != 2 or not X.shape[1]:
        raise ParameterError("propose", "X", "of shape (trials, d), d ≥ 1", X.shape)
    if y.shape != (len(X),):
        raise ParameterError("propose", "y", f"one value for each of {len(X)} trials", y.shape)
    if not np.all(np.isfinite(y)):
        bad = np.flatnonzero(~np.isfinite(y)).tolist()
        raise DataError(
            f"Values of trials {bad[:5]} are not finite.", rows=bad, value=y[bad[0]], remedy="Leave failed trials out."
        )
    return checked_points("X", X, X.shape[1]), y


def checked_points(name: str, points: Any, d: int) -> np.ndarray:
    """Points (k, d) of the cube; None is none."""
    if points is None:
        return np.empty((0, d))
    points = np.asarray(points, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != d:
        raise ParameterError("propose", name, f"of shape (points, {d})", points.shape)
    outside = ~np.all((points >= 0.0) & (points <= 1.0), axis=1)
    if outside.any():
        bad = int(np.flatnonzero(outside)[0])
        raise ParameterError("propose", name, f"in [0, 1] in every column (row {bad} is not)", points[bad])
    return points


def checked_constraints(constraints: Any, n: int) -> np.ndarray:
    """Numbers (n, k), k = 0 without constraints."""
    if constraints is None:
        return np.empty((n, 0))
    constraints = np.asarray(constraints, dtype=np.float64)
    constraints = constraints[:, None] if constraints.ndim == 1 else constraints
    if constraints.ndim != 2 or len(constraints) != n or not np.all(np.isfinite(constraints)):
        raise ParameterError("propose", "constraints", f"finite, of shape ({n}, k)", constraints)
    return constraints


def checked_box(box: Any, d: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Lower and upper bounds (d,) within [0, 1]; None is no box."""
    if box is None:
        return None
    try:
        low, high = (np.asarray(end, dtype=np.float64) for end in box)
    except (TypeError, ValueError):
        raise ParameterError("propose", "box", f"a pair of arrays ({d},), low and high", box) from None
    inside = low.shape == (d,) == high.shape and np.all((low >= 0.0) & (low <= high) & (high <= 1.0))
    if not inside:
        raise ParameterError("propose", "box", f"low and high of shape ({d},) with 0 ≤ low ≤ high ≤ 1", box)
    return low, high
