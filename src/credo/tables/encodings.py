"""How one column becomes numeric features: frozen records, fitted once, applied to any number of blocks.

Every encoding has `name` (of the column), `features` (their names) and `write(cells, out)`, which fills the columns of
`out` (rows, features) and returns the values it met for the first time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from credo.saving import register
from credo.tables.column_statistics import DAY, microseconds

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "NumberEncoding",
    "CategoryEncoding",
    "DateEncoding",
    "PresenceEncoding",
    "ColumnEncoding",
    "OTHER",
    "MISSING",
]

OTHER, MISSING = "(other)", "(missing)"
_YEAR = 365.2425 * DAY  # the Gregorian mean
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


@register
@dataclass(frozen=True)
class NumberEncoding:
    """The number itself; booleans as 0 and 1; levels of an ordered column as 0, 1, 2... from low to high.

    `fill` replaces a missing cell (None: it stays NaN); `indicator` adds the column "NAME is missing".
    """

    name: str
    levels: tuple[str, ...] = ()
    fill: float | None = None
    indicator: bool = False

    @property
    def features(self) -> tuple[str, ...]:
        return (self.name, f"{self.name} is missing") if self.indicator else (self.name,)

    def write(self, cells: pl.Series, out: np.ndarray) -> tuple[str, ...]:
        unseen: tuple[str, ...] = ()
        if self.levels:
            codes, unseen = codes_of(cells, self.levels)
            values = np.where(codes >= 0, codes, np.nan)
        else:
            values = cells.cast(float).to_numpy()
        absent = np.isnan(values)
        if self.indicator:
            out[:, 1] = absent
        out[:, 0] = values if self.fill is None else np.where(absent, self.fill, values)
        return unseen


@register
@dataclass(frozen=True)
class CategoryEncoding:
    """One 0/1 column for each level but the `reference` (None: for every level).

    `other` adds a column for rare levels and those met later; without it, a level met later is 0 in every column.
    `missing_level` adds a column for missing cells; without it they are NaN in every column if `keep_missing`, else 0.
    """

    name: str
    levels: tuple[str, ...]
    reference: str | None
    pooled: tuple[str, ...] = ()
    other: bool = False
    missing_level: bool = False
    keep_missing: bool = True

    @property
    def shown(self) -> tuple[str, ...]:
        """Levels with a column."""
        return tuple(level for level in self.levels if level != self.reference)

    @property
    def features(self) -> tuple[str, ...]:
        extra = [label for label, there in ((OTHER, self.other), (MISSING, self.missing_level)) if there]
        return tuple(f"{self.name}={level}" for level in (*self.shown, *extra))

    def write(self, cells: pl.Series, out: np.ndarray) -> tuple[str, ...]:
        shown = self.shown
        known = (*shown, *(() if self.reference is None else (self.reference,)))
        codes, strange = codes_of(cells, known)
        out[:] = 0.0
        rows = np.flatnonzero((codes >= 0) & (codes < len(shown)))
        out[rows, codes[rows]] = 1.0
        absent = cells.is_null().to_numpy()
        if self.other:
            out[(codes < 0) & ~absent, len(shown)] = 1.0
        if self.missing_level:
            out[absent, len(shown) + self.other] = 1.0
        elif self.keep_missing:
            out[absent] = np.nan
        return tuple(level for level in strange if level not in self.pooled)


@register
@dataclass(frozen=True)
class DateEncoding:
    """Time as features: `parts` of "years" (since the first date), "season" (sine and cosine of the day of the year),
    "weekday" (0/1 columns against Monday) and "hour" (sine and cosine of the time of day).

    `fill` are the features' means, for missing cells (() : they stay NaN).
    """

    name: str
    origin: int
    parts: tuple[str, ...]
    fill: tuple[float, ...] = ()
    indicator: bool = False

    @property
    def features(self) -> tuple[str, ...]:
        names: list[str] = []
        for part in self.parts:
            if part == "years":
                names.append(f"{self.name} (years)")
            elif part == "weekday":
                names += [f"{self.name}={day}" for day in _WEEKDAYS[1:]]
            else:
                names += [f"{self.name} ({part} sine)", f"{self.name} ({part} cosine)"]
        return (*names, f"{self.name} is missing") if self.indicator else tuple(names)

    def write(self, cells: pl.Series, out: np.ndarray) -> tuple[str, ...]:
        present = cells.is_not_null().to_numpy()
        kept = cells.drop_nulls()
        micro = microseconds(kept)
        values = [column for part in self.parts for column in self._part(part, kept, micro)]
        for j, column in enumerate(values):
            out[~present, j] = self.fill[j] if self.fill else np.nan
            out[present, j] = column
        if self.indicator:
            out[:, len(values)] = ~present
        return ()

    def _part(self, part: str, cells: pl.Series, micro: np.ndarray) -> list[np.ndarray]:
        if part == "years":
            return [(micro - self.origin) / _YEAR]
        if part == "weekday":
            day = cells.dt.weekday().to_numpy()
            return [(day == k).astype(float) for k in range(2, 8)]
        turn = (micro % DAY) / DAY if part == "hour" else (cells.dt.ordinal_day().to_numpy() - 1) / 365.2425
        return [np.sin(2 * np.pi * turn), np.cos(2 * np.pi * turn)]


@register
@dataclass(frozen=True)
class PresenceEncoding:
    """1 where a cell is present: all that a column says whose present cells are alike."""

    name: str

    @property
    def features(self) -> tuple[str, ...]:
        return (f"{self.name} is present",)

    def write(self, cells: pl.Series, out: np.ndarray) -> tuple[str, ...]:
        out[:, 0] = cells.is_not_null().to_numpy()
        return ()


ColumnEncoding = NumberEncoding | CategoryEncoding | DateEncoding | PresenceEncoding


def codes_of(cells: pl.Series, levels: tuple[str, ...]) -> tuple[np.ndarray, tuple[str, ...]]:
    """(position of each cell among the levels, −1 if missing or not among them; up to ten values not among them)."""
    import polars as pl

    text = cells.cast(pl.String)
    codes = text.replace_strict(list(levels), list(range(len(levels))), default=None, return_dtype=pl.Int32)
    strange = text.filter(codes.is_null() & text.is_not_null()).unique(maintain_order=True).head(10)
    return codes.fill_null(-1).to_numpy(), tuple(strange.to_list())
