"""A table's columns as a mixture wants them: numbers as they are, categories as codes, missing cells as NaN."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from credo.saving.registry import register
from credo.tables.encoder import FittedEncoder
from credo.tables.encodings import OTHER, CategoryEncoding, DateEncoding, NumberEncoding

__all__ = ["MixtureColumns", "NumberColumn", "CategoryColumn", "resolution"]


@register
@dataclass(frozen=True)
class NumberColumn:
    """name ; at : position among the encoder's features"""

    name: str
    at: int


@register
@dataclass(frozen=True)
class CategoryColumn:
    """name, levels ; at : position of the one feature that holds codes, or of the first of 0/1 features, one a level"""

    name: str
    levels: tuple[str, ...]
    at: int
    one_hot: bool


@register
@dataclass(frozen=True)
class MixtureColumns:
    """Which of the encoder's features are numbers, and which make categories; numbers come first in `matrix`."""

    numbers: tuple[NumberColumn, ...]
    categories: tuple[CategoryColumn, ...]
    decisions: tuple[str, ...] = ()

    @classmethod
    def of(cls, encoder: FittedEncoder) -> MixtureColumns:
        """Booleans and levels are categories; of a date its position in time is a number, or else the hour of day."""
        numbers: list[NumberColumn] = []
        categories: list[CategoryColumn] = []
        decisions: list[str] = []
        at = 0
        for column in encoder.columns:
            width = len(column.features)
            if isinstance(column, CategoryEncoding):
                levels = (*column.shown, *((OTHER,) if column.other else ()))
                categories.append(CategoryColumn(column.name, levels, at, True))
            elif isinstance(column, DateEncoding):
                kept = 1 if "years" in column.parts else width
                numbers += [NumberColumn(name, at + j) for j, name in enumerate(column.features[:kept])]
                if kept < width:
                    decisions.append(f"Column {column.name!r}: only its position in time is used, in years.")
            elif isinstance(column, NumberEncoding) and not column.levels:
                if encoder.schema[column.name].type == "boolean":
                    categories.append(CategoryColumn(column.name, ("false", "true"), at, False))
                else:
                    numbers.append(NumberColumn(column.name, at))
            else:
                levels = column.levels if isinstance(column, NumberEncoding) else ("missing", "present")
                categories.append(CategoryColumn(column.name, levels, at, False))
            at += width
        return cls(tuple(numbers), tuple(categories), tuple(decisions))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in (*self.numbers, *self.categories))

    def matrix(self, X: np.ndarray) -> np.ndarray:
        """Encoded rows (n, features) → (n, numbers + categories)."""
        out = np.empty((len(X), len(self.names)))
        for j, column in enumerate(self.numbers):
            out[:, j] = X[:, column.at]
        for j, column in enumerate(self.categories, len(self.numbers)):
            if not column.one_hot:
                out[:, j] = X[:, column.at]
                continue
            hot = X[:, column.at : column.at + len(column.levels)]
            known = hot.max(axis=1) > 0.0  # false for NaN, and for a level met later that has no place
            out[:, j] = np.where(known, hot.argmax(axis=1), np.nan)
        return out


def resolution(values: np.ndarray) -> float:
    """The step in which a column's numbers are written: the median gap between neighbouring values, 0 without one.

    >>> resolution(np.array([1.0, 2.0, 2.0, 3.0, 5.0, np.nan]))
    1.0
    """
    distinct = np.unique(values[np.isfinite(values)])
    return float(np.median(np.diff(distinct))) if distinct.size > 1 else 0.0
