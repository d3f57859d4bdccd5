"""The column to be predicted: a number, or classes in a stated order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from credo.errors import DataError
from credo.saving import register
from credo.tables.column_statistics import ColumnStatistics, Levels, Numbers
from credo.tables.encodings import codes_of
from credo.tables.schema import Column

if TYPE_CHECKING:
    import polars as pl

__all__ = ["TargetEncoding", "fit_target"]


@register
@dataclass(frozen=True)
class TargetEncoding:
    """`classes` are () for a number, else the labels in order: (no, yes) of a boolean, low to high of an ordered
    column, sorted for a category. `type` is the column's."""

    name: str
    type: str
    classes: tuple[str, ...] = ()

    @property
    def is_class(self) -> bool:
        return bool(self.classes)

    def encode(self, cells: pl.Series) -> np.ndarray:
        """float64 numbers (NaN where missing), or int64 codes into `classes` (−1 where missing).

        Raises
        ------
        DataError : a class that was not there when the encoder was fitted.
        """
        import polars as pl

        if not self.classes:
            return cells.cast(pl.Float64).to_numpy()
        if self.type == "boolean":
            return cells.cast(pl.Int64).fill_null(-1).to_numpy()
        codes, strange = codes_of(cells, self.classes)
        if strange:
            raise DataError(
                f"Column {self.name!r} holds the class {strange[0]!r}, which is not one of "
                f"{', '.join(map(repr, self.classes[:10]))}.",
                columns=[self.name],
                value=strange[0],
                remedy="Fit again with rows of that class.",
            )
        return codes.astype(np.int64)


def fit_target(column: Column, statistics: ColumnStatistics) -> TargetEncoding:
    """The encoding of a target column.

    Raises
    ------
    DataError : nothing to predict (no present cell, one class), or a type that cannot be predicted.
    """
    name = column.name
    if column.type in ("text", "identifier", "date", "time"):
        raise DataError(
            f"The target {name!r} is of type {column.type}, which cannot be predicted.",
            columns=[name],
            value=column.type,
            remedy=f"State --type {name}=category or number if it is one.",
        )
    if isinstance(statistics, Numbers):
        if statistics.n == 0:
            raise DataError(f"The target {name!r} is missing in every row.", columns=[name], value=0)
        if column.type == "boolean":
            levels = column.levels if len(column.levels) == 2 else ("false", "true")
            if statistics.constant:
                raise one_class(name, levels[int(statistics.low)])
            return TargetEncoding(name, "boolean", levels)
        return TargetEncoding(name, column.type)
    assert isinstance(statistics, Levels)  # dates were refused above
    seen = list(statistics.as_dict())
    if len(seen) == 0:
        raise DataError(f"The target {name!r} is missing in every row.", columns=[name], value=0)
    if len(seen) == 1:
        raise one_class(name, seen[0])
    ordered = [level for level in column.levels if level in seen] if column.type == "ordered" else []
    classes = (*ordered, *(level for level in seen if level not in ordered))
    return TargetEncoding(name, column.type, classes)


def one_class(name: str, label: str) -> DataError:
    return DataError(
        f"The target {name!r} has one class only, {label!r}.",
        columns=[name],
        value=label,
        remedy="A model needs rows of at least two classes.",
    )
