"""The column to be predicted: a number, or classes in a stated order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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

__all__ = ["NUMERIC", "Label", "TargetEncoding", "ValueCounts", "count_values", "fit_target"]

Label = str | int | float | bool

NUMERIC = ("number", "count")
# Of three to this many whole values each is a class; 0 to 10, of eleven, is a scale or a count.
_MOST_CODES = 10
# A count thins out towards its tail, where a value is met once or twice; a class so rare could not be learned.
_LEAST_OF_A_CODE = 5


@register
@dataclass(frozen=True)
class TargetEncoding:
    """What is predicted.

    name, type : of the column
    classes : () for a number, else the labels in order: (no, yes) of a boolean, low to high if ordered, else sorted.
        Whole numbers are int, other numbers float, true and false bool, the rest text as written
    low : the least number in the rows of the fit; None for classes
    """

    name: str
    type: str
    classes: tuple[Label, ...] = ()
    low: float | None = None

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

        if self.type == "boolean":
            return cells.cast(pl.Int64).fill_null(-1).to_numpy()
        if self.type in NUMERIC:
            values = cells.cast(pl.Float64).to_numpy()
            return _codes_of_numbers(values, self) if self.classes else values
        codes, strange = codes_of(cells, tuple(map(str, self.classes)))
        if strange:
            raise _unknown_class(self, strange[0])
        return codes.astype(np.int64)


def _codes_of_numbers(values: np.ndarray, target: TargetEncoding) -> np.ndarray:
    known = np.asarray(target.classes, dtype=np.float64)
    codes = np.minimum(np.searchsorted(known, values), len(known) - 1)
    missing = np.isnan(values)
    if (strange := (known[codes] != values) & ~missing).any():
        raise _unknown_class(target, _number(values[strange][0]))
    return np.where(missing, -1, codes).astype(np.int64)


def _unknown_class(target: TargetEncoding, value: Label) -> DataError:
    return DataError(
        f"Column {target.name!r} holds the class {value!r}, which is not one of "
        f"{', '.join(map(repr, target.classes[:10]))}.",
        columns=[target.name],
        value=value,
        remedy="Fit again with rows of that class.",
    )


@dataclass(frozen=True)
class ValueCounts:
    """Distinct `values` of a column of numbers, ascending, with the rows of each; `told` is False where counting
    stopped early since they cannot be codes of classes."""

    values: np.ndarray
    rows: np.ndarray
    told: bool = True

    @property
    def are_codes(self) -> bool:
        """Whether numbers like these usually name classes.

        Two values do; three to ten do if they are whole and each is found in at least five rows. Others measure or
        count.
        """
        if not self.told or not 2 <= len(self.values) <= _MOST_CODES:
            return False
        return len(self.values) == 2 or (self.whole and int(self.rows.min()) >= _LEAST_OF_A_CODE)

    @property
    def whole(self) -> bool:
        return bool(np.all(self.values == np.round(self.values)))


def count_values(frames: Iterable[pl.DataFrame], name: str, *, to_the_end: bool) -> ValueCounts:
    """Count the values of a column of numbers; unless `to_the_end`, stop when they cannot be codes of classes."""
    counted = ValueCounts(np.zeros(0), np.zeros(0, dtype=np.int64))
    for frame in frames:
        found = frame[name].drop_nulls().cast(float).to_numpy()
        values, rows = np.unique(found[np.isfinite(found)], return_counts=True)
        both = np.concatenate([counted.values, values])
        distinct, where = np.unique(both, return_inverse=True)
        sums = np.bincount(where.ravel(), np.concatenate([counted.rows, rows]), len(distinct)).astype(np.int64)
        counted = ValueCounts(distinct, sums)
        if not to_the_end and len(distinct) > (_MOST_CODES if counted.whole else 2):
            return ValueCounts(distinct, sums, told=False)
    return counted


def fit_target(column: Column, statistics: ColumnStatistics, classes: Sequence[float] = ()) -> TargetEncoding:
    """The encoding of a target column; the numbers `classes`, ascending, are the classes of a numeric one.

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
            return TargetEncoding(name, "boolean", _truth(levels) or _labels(levels))
        if len(classes) == 1:
            raise one_class(name, _number(classes[0]))
        if len(classes):
            return TargetEncoding(name, column.type, tuple(_number(value) for value in classes))
        return TargetEncoding(name, column.type, low=statistics.low)
    assert isinstance(statistics, Levels)  # dates were refused above
    seen = list(statistics.as_dict())
    if len(seen) == 0:
        raise DataError(f"The target {name!r} is missing in every row.", columns=[name], value=0)
    if len(seen) == 1:
        raise one_class(name, seen[0])
    ordered = [level for level in column.levels if level in seen] if column.type == "ordered" else []
    if column.type == "category" and isinstance(_labels(seen)[0], int):
        seen.sort(key=int)  # as text, 10 is before 2
    return TargetEncoding(name, column.type, _labels((*ordered, *(level for level in seen if level not in ordered))))


def _number(value: float) -> int | float:
    return int(value) if value == np.round(value) else float(value)


def _labels(levels: Sequence[str]) -> tuple[Label, ...]:
    """Text as it is written; whole numbers, if all are and are written as Python would, as int.

    >>> _labels(["1", "2"]), _labels(["01", "02"])
    ((1, 2), ('01', '02'))
    """
    whole = all(
        level.removeprefix("-").isdecimal() and level.isascii() and str(int(level)) == level for level in levels
    )
    return tuple(map(int, levels)) if whole else tuple(levels)


def _truth(levels: Sequence[str]) -> tuple[Label, ...]:
    """(False, True) if that is what the levels say, else ()."""
    return (False, True) if [level.lower() for level in levels] == ["false", "true"] else ()


def one_class(name: str, label: Label) -> DataError:
    return DataError(
        f"The target {name!r} has one class only, {label!r}.",
        columns=[name],
        value=label,
        remedy="A model needs rows of at least two classes.",
    )
