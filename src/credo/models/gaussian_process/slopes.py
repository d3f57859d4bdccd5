"""Slopes as they are stated and asked for: rows [x, which], which = the column that a slope is in, −1 a value."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.errors import DataError, ParameterError

__all__ = ["checked_slopes", "slope_rows"]

OWNER = "GaussianProcessRegressor"


def checked_slopes(slopes: Any, d: int, targets: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(X (m, d), column (m,), value (m,), sd (m,)) of the argument `slopes`."""
    if not isinstance(slopes, (tuple, list)) or len(slopes) not in (3, 4):
        raise ParameterError(f"{OWNER}.fit", "slopes", "(X, columns, values) or (X, columns, values, sd)", slopes)
    if targets != 1:
        raise ParameterError(f"{OWNER}.fit", "slopes", "None for several targets", slopes)
    X = np.atleast_2d(np.asarray(slopes[0], dtype=np.float64))
    if X.ndim != 2 or X.shape[1] != d:
        raise DataError(f"Slopes need rows of {d} columns, got shape {X.shape}.", value=slopes[0])
    column, value, sd = (
        np.broadcast_to(np.asarray(part, dtype=np.float64), (len(X),))
        for part in (slopes[1], slopes[2], slopes[3] if len(slopes) == 4 else 0.0)
    )
    bad = np.flatnonzero(~(np.isfinite(X).all(axis=1) & np.isfinite(value) & np.isfinite(sd) & (sd >= 0.0)))
    if bad.size:
        raise DataError("Slopes must be finite, and their sd ≥ 0.", rows=bad[:20].tolist(), value=value[bad[:20]])
    _require_columns(column, d)
    return X, column, value, sd


def slope_rows(X: np.ndarray, column: Any) -> np.ndarray:
    """Rows [x, column] (m, d + 1)."""
    column = np.asarray(column, dtype=np.float64)
    _require_columns(column, X.shape[1])
    return np.column_stack([X, np.broadcast_to(column, (len(X),))])


def _require_columns(column: np.ndarray, d: int) -> None:
    if not np.all((column == np.floor(column)) & (column >= 0) & (column < d)):
        raise ParameterError(OWNER, "column", f"a column's number, 0 to {d - 1}", column)
