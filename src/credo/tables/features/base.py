"""What every feature map shares: checked float64 rows in, named columns out, and a state that can be saved."""

from __future__ import annotations

import numbers
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted, validate_data

from credo.errors import DataError, ParameterError
from credo.saving import register

__all__ = ["FeatureMap", "check_choice", "check_flag", "check_integer", "check_per_column", "check_points", "column_sd"]

# A pipeline of Credo's own steps is how a feature map meets a model, so it is saved with them. Registered here, under
# this module's name, because the loader imports no module outside `credo`.
register(Pipeline, name="credo.tables.features.base:Pipeline")


class FeatureMap(TransformerMixin, BaseEstimator):
    """Base of the feature maps. A subclass supplies three methods.

    _learn(X)     check the constructor's arguments and set the fitted attributes from X (rows, columns)
    _map(X)       the new columns (rows, n_out), each row from that row alone
    _names(names) one name per new column
    """

    n_features_in_: int
    #: rows that `fit` needs at least
    _least_rows: int = 1

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        register(cls)

    def _learn(self, X: np.ndarray) -> None:
        raise NotImplementedError

    def _map(self, X: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def _names(self, names: list[str]) -> list[str]:
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn what the map needs from rows X (n, columns): finite numbers; a sample of them will do."""
        self._learn(self._checked(X, reset=True))
        return self

    def transform(self, X: Any) -> np.ndarray:
        """The new columns of rows X, float64 (n, n_out)."""
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        with np.errstate(over="ignore", invalid="ignore"):
            result = self._map(X)
        bad = ~np.isfinite(result)
        if bad.any():
            row, column = np.argwhere(bad)[0]
            raise DataError(
                f"{type(self).__name__}: {self.get_feature_names_out()[column]!r} overflows in row {row}.",
                rows=np.flatnonzero(bad.any(axis=1))[:20].tolist(),
                value=X[row],
                remedy="Rescale the columns, or lower the degree.",
            )
        return result

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the new columns; the old ones are those seen in `fit`, or `input_features`, or x0, x1…"""
        check_is_fitted(self)
        return np.asarray(self._names(self._input_names(input_features)), dtype=object)

    def _input_names(self, given: Any) -> list[str]:
        seen = getattr(self, "feature_names_in_", None)
        if given is None:
            return [f"x{j}" for j in range(self.n_features_in_)] if seen is None else list(seen)
        if seen is not None and not np.array_equal(given, seen):
            raise DataError("input_features is not equal to feature_names_in_.", value=given)
        if len(given) != self.n_features_in_:
            raise DataError(
                f"input_features should have length equal to number of features ({self.n_features_in_}), "
                f"got {len(given)}.",
                value=given,
            )
        return [str(name) for name in given]

    def _checked(self, X: Any, reset: bool) -> np.ndarray:
        try:
            # C order: sums over columns then round alike in a block and in the whole
            X = validate_data(
                self,
                X,
                reset=reset,
                dtype=np.float64,
                order="C",
                ensure_all_finite=False,
                ensure_min_samples=self._least_rows if reset else 1,
            )
        except ValueError as error:
            raise DataError(str(error)) from error
        bad = ~np.isfinite(X)
        if bad.any():
            rows, columns = np.flatnonzero(bad.any(axis=1)), np.flatnonzero(bad.any(axis=0))
            names = [self._input_names(None)[j] for j in columns]
            raise DataError(
                f"{type(self).__name__}: NaN or inf in {rows.size} rows (first: row {rows[0]}), "
                f"columns {', '.join(map(str, names[:5]))}.",
                rows=rows[:20].tolist(),
                columns=names,
                remedy="Impute or drop these rows first.",
            )
        return X


def column_sd(X: np.ndarray) -> np.ndarray:
    """Standard deviations (columns,) whose squares need not be in range; 1 for a constant column, which has no unit."""
    deviations = X - X.mean(axis=0)
    largest = np.abs(deviations).max(axis=0)
    largest[largest == 0.0] = 1.0
    sd = largest * np.sqrt(np.mean((deviations / largest) ** 2, axis=0))
    return np.where(sd > 0.0, sd, 1.0)


def check_integer(owner: object, name: str, value: Any, minimum: int) -> int:
    """An integer constructor argument ≥ `minimum`."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < minimum:
        raise ParameterError(type(owner).__name__, name, f"an integer ≥ {minimum}", value)
    return int(value)


def check_choice(owner: object, name: str, value: Any, choices: tuple[str, ...]) -> str:
    """A constructor argument that is one of some words."""
    if not isinstance(value, str) or value not in choices:
        raise ParameterError(type(owner).__name__, name, f"one of {', '.join(map(repr, choices))}", value)
    return value


def check_flag(owner: object, name: str, value: Any) -> bool:
    """A constructor argument that is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ParameterError(type(owner).__name__, name, "True or False", value)
    return bool(value)


def check_per_column(owner: object, name: str, value: Any, columns: int) -> np.ndarray:
    """Positive finite numbers (columns,), from one a column or one for all."""
    array = _as_numbers(value)
    if array.shape not in ((), (columns,)) or not np.all(np.isfinite(array) & (array > 0)):
        raise ParameterError(type(owner).__name__, name, f"finite and > 0, one number or {columns}", value)
    return np.array(np.broadcast_to(array, (columns,)))


def check_points(owner: object, name: str, value: Any, columns: int) -> np.ndarray:
    """Finite numbers (m, columns), m ≥ 1; (m,) stands for the same in each column."""
    array = _as_numbers(value)
    if array.ndim == 1:
        array = np.repeat(array[:, None], columns, axis=1)
    if array.ndim != 2 or array.shape[1] != columns or not array.size or not np.isfinite(array).all():
        raise ParameterError(type(owner).__name__, name, f"finite numbers of shape (m, {columns})", value)
    return array.copy()


def _as_numbers(value: Any) -> np.ndarray:
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return np.array(np.nan)
