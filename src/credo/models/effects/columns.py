"""The columns of whatever a model takes, one of them replaced, and what the model then expects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sklearn.pipeline import Pipeline

from credo.errors import DataError, ParameterError, UnavailableError
from credo.prediction.law_draws import LawDraws
from credo.tables.encodings import CategoryEncoding, NumberEncoding

__all__ = ["Columns", "columns_of", "law_of"]

# Rows over which effects are averaged, evenly spread: their mean is then off by 3 % of the spread over rows.
MOST_ROWS = 1000
# Points of the posterior: the ends of a 90 % interval are then where 4.3 % to 5.7 % lie outside.
DRAWS = 1000


class Columns(Protocol):
    """Rows of a model's inputs."""

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def n_rows(self) -> int: ...

    @property
    def target(self) -> str:
        """What is predicted."""
        ...

    def values(self, name: str) -> np.ndarray:
        """The column as it is."""
        ...

    def law(self, name: str, values: Any) -> LawDraws:
        """What the model says of the rows with `values`, one or (n,), in that column."""
        ...


def columns_of(owner: str, model: Any, X: Any) -> Columns:
    """At most 1,000 rows of X, spread evenly, as columns."""
    if hasattr(model, "encoder"):
        return _table_columns(model, X)
    rows = _spread(len(X))
    if hasattr(X, "columns"):
        import narwhals.stable.v1 as nw

        return FrameColumns(model, nw.from_native(X, eager_only=True)[rows.tolist(), :])
    X = np.asarray(X)
    if X.ndim != 2 or X.shape[0] == 0 or X.dtype.kind not in "fiub":
        raise ParameterError(owner, "X", "rows of numbers (n, columns), or a data frame", X.shape)
    names = getattr(model, "feature_names_in_", None)
    shown = tuple(map(str, names)) if names is not None else tuple(f"x{j}" for j in range(X.shape[1]))
    return ArrayColumns(model, X[rows].astype(np.float64), shown)


def _spread(n: int) -> np.ndarray:
    if n == 0:
        raise DataError("Effects are averaged over rows, and X has none.", value=0)
    return np.unique(np.linspace(0, n - 1, min(n, MOST_ROWS)).round().astype(int))


def law_of(model: Any, X: Any) -> LawDraws:
    """`law_draws` of an estimator, also at the end of a pipeline."""
    if isinstance(model, Pipeline):
        return law_of(model[-1], model[:-1].transform(X))
    if not hasattr(model, "law_draws"):
        raise UnavailableError(
            f"{type(model).__name__} has no posterior to draw from.", remedy="Use one of Credo's estimators."
        )
    return model.law_draws(X, draws=DRAWS)


@dataclass(frozen=True, eq=False)
class ArrayColumns:
    """An array (n, P)."""

    model: Any
    X: np.ndarray
    names: tuple[str, ...]
    target: str = "y"

    @property
    def n_rows(self) -> int:
        return len(self.X)

    def values(self, name: str) -> np.ndarray:
        return self.X[:, self.names.index(name)]

    def law(self, name: str, values: Any) -> LawDraws:
        X = self.X.copy()
        X[:, self.names.index(name)] = values
        if hasattr(self.model, "feature_names_in_"):  # it warns of an array where it has seen a frame
            import pandas as pd  # what gave it names

            return law_of(self.model, pd.DataFrame(X, columns=list(self.names)))
        return law_of(self.model, X)


@dataclass(frozen=True, eq=False)
class FrameColumns:
    """A data frame of any library."""

    model: Any
    frame: Any
    target: str = "y"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.frame.columns)

    @property
    def n_rows(self) -> int:
        return len(self.frame)

    def values(self, name: str) -> np.ndarray:
        return self.frame[name].to_numpy()

    def law(self, name: str, values: Any) -> LawDraws:
        return law_of(self.model, _replaced(self.frame, name, values).to_native())


def _replaced(frame: Any, name: str, values: Any) -> Any:
    """The frame with another column of that name: numbers become float64, others keep their type."""
    import narwhals.stable.v1 as nw

    old = frame[name]
    values = np.broadcast_to(np.asarray(values), (len(frame),))
    kind = nw.Float64() if values.dtype.kind in "fiu" else old.dtype
    new = nw.new_series(name, values.tolist(), dtype=kind, backend=nw.get_native_namespace(frame))
    return frame.with_columns(new)


@dataclass(frozen=True, eq=False)
class TableColumns:
    """Rows of a table as its model reads them, in the user's columns."""

    model: Any
    frame: Any

    @property
    def target(self) -> str:
        return self.model.target

    @property
    def names(self) -> tuple[str, ...]:
        kinds = (NumberEncoding, CategoryEncoding)  # a date is several columns, none of which moves alone
        return tuple(column.name for column in self.model.encoder.columns if isinstance(column, kinds))

    @property
    def n_rows(self) -> int:
        return self.frame.height

    def values(self, name: str) -> np.ndarray:
        return self.frame[name].to_numpy()

    def law(self, name: str, values: Any) -> LawDraws:
        import polars as pl

        column = np.broadcast_to(np.asarray(values), (self.frame.height,)).tolist()
        dtype = pl.Float64 if self.frame[name].dtype.is_numeric() else self.frame[name].dtype
        changed = self.frame.with_columns(pl.Series(name, column, dtype=dtype))
        draws = law_of(self.model.estimator, self.model.encoder.encode(changed)[0])
        return self.model.labelled_draws(draws)


def _table_columns(model: Any, data: Any) -> TableColumns:
    import polars as pl

    frame = pl.concat(list(model.open(data).frames(columns=model.inputs)))
    return TableColumns(model, frame[_spread(frame.height).tolist()])
