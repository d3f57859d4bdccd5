"""What every estimator settles with the rows it is given: columns, their names, and weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from credo.blocks.source import Source
from credo.errors import DataError, ParameterError
from credo.numerics.readable import count

__all__ = ["CONSTANT", "checked_rows", "checked_weights", "column_names", "note_columns", "require_range", "validated"]

# Sums of squares of larger values overflow.
LARGEST = 1e149
# A column's sd, relative to its mean, up to which it is constant but for rounding.
CONSTANT = 8.0 * float(np.finfo(float).eps)


def checked_rows(model: Any, X: Any, **how: Any) -> np.ndarray:
    """Rows (n, P) for a fitted model, with the columns it was fitted to; `how` goes to `validate_data`."""
    check_is_fitted(model)
    return validated(model, X, reset=False, **how)


def validated(model: Any, X: Any, *y: Any, **how: Any) -> Any:
    """`validate_data`, whose error for cells that are no finite numbers says where the first is, and what helps.

    Raises
    ------
    DataError : NaN or infinity in X or y
    """
    try:
        return validate_data(model, X, *y, **how)
    except ValueError as error:
        said = str(error).partition("\n")[0]
        if not said.startswith("Input") or ("NaN" not in said and "infinity" not in said):
            raise
    rows = _not_finite(y[0] if said.startswith("Input y") else X)
    where = f" {count(len(rows), 'such row')}, the first is row {rows[0]}." if rows else ""
    raise DataError(
        f"{type(model).__name__}: {said}{where}",
        rows=rows[:20],
        remedy="Drop or impute those rows; `NaiveBayes`, mixtures and `credo fit` take missing cells.",
    )


def _not_finite(cells: Any) -> list[int]:
    """Rows with NaN or infinity in them; [] where cells are no numbers."""
    try:
        cells = cells.tocoo() if hasattr(cells, "tocoo") else np.asarray(cells, dtype=np.float64)
    except (TypeError, ValueError):  # pandas.NA
        return []
    at = cells.row[~np.isfinite(cells.data)] if hasattr(cells, "row") else np.nonzero(~np.isfinite(cells))[0]
    return np.unique(at).tolist()


def checked_weights(owner: str, sample_weight: Any, X: Any) -> np.ndarray | None:
    """Weights (n,) of the rows X: finite, ≥ 0, not all zero; None stays None."""
    if sample_weight is None:
        return None
    constraint, why = "a finite number ≥ 0 for each row, not all zero", None
    try:
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    except ValueError as error:
        why = str(error)
    else:
        if weights.sum() > 0:
            return weights
    raise ParameterError(f"{owner}.fit", "sample_weight", constraint, sample_weight, why)


def require_range(X: Any) -> None:
    """Raise `DataError` where squares of the rows X, dense or sparse, leave float64; missing cells are passed over."""
    values = getattr(X, "data", X) if hasattr(X, "tocsr") else X
    ends = (0.0, 0.0) if not values.size else (np.fmax.reduce(values, axis=None), -np.fmin.reduce(values, axis=None))
    if not max(map(float, ends)) > LARGEST:
        return
    columns = X.tocoo().col if hasattr(X, "tocsr") else np.broadcast_to(np.arange(X.shape[1]), X.shape)
    column = int(np.asarray(columns)[np.abs(values) > LARGEST].min())
    raise DataError(
        f"The values in column {column} of X are too large for float64 sums of squares.",
        value=column,
        remedy="Rescale the columns to below 1e149.",
    )


def note_columns(model: Any, source: Source, n_columns: int) -> None:
    """Take the columns to expect from a source, as `validate_data` does from arrays."""
    model.n_features_in_ = n_columns
    if hasattr(model, "feature_names_in_"):
        del model.feature_names_in_
    if source.column_names is not None:
        model.feature_names_in_ = np.asarray(source.column_names, dtype=object)


def column_names(model: Any) -> tuple[str, ...]:
    """The names of the columns, x0, x1, … where they have none."""
    if hasattr(model, "feature_names_in_"):
        return tuple(map(str, model.feature_names_in_))
    return tuple(f"x{i}" for i in range(model.n_features_in_))
