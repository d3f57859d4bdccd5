"""What the estimators of this folder ask of their rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from credo.errors import DataError
from credo.models.columns import checked_weights, column_names

__all__ = ["fitted_rows", "kept_rows"]


def fitted_rows(model: Any, X: Any, reset: bool) -> np.ndarray:
    """Rows (n, d) as float64, all finite; a bad cell is named by row and column."""
    rows: Any = validate_data(model, X, reset=reset, dtype=np.float64, order="C", ensure_all_finite=False)
    # One pass: NaN and ±∞ both make a sum that is not finite, and so may large finite numbers.
    if not np.isfinite(rows.sum()) and not np.isfinite(rows).all():
        i, j = map(int, np.argwhere(~np.isfinite(rows))[0])
        bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
        value = float(rows[i, j])
        raise DataError(
            f"{type(model).__name__}: X holds {'NaN' if np.isnan(value) else 'infinity (inf)'} in row {i}, column "
            f"{column_names(model)[j]!r}, and {bad.size} such rows in all.",
            rows=bad.tolist(), columns=[column_names(model)[j]], value=value,
            remedy="Drop or impute them: a density has no place for them.",
        )  # fmt: skip
    return rows


def kept_rows(owner: str, X: np.ndarray, sample_weight: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Rows of weight > 0 with their weights; None where all weigh the same."""
    w = checked_weights(owner, sample_weight, X)
    if w is None:
        return X, None
    if not np.all(w > 0.0):
        X, w = X[w > 0.0], w[w > 0.0]
    return X, w
