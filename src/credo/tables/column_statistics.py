"""Mergeable statistics of one column: what an encoder learns, block by block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.tables.schema import Column

if TYPE_CHECKING:
    import polars as pl

__all__ = ["ColumnStatistics", "Numbers", "Levels", "Moments", "statistics_of"]


@dataclass(frozen=True)
class Numbers:
    """`n` present cells with their `mean`, `low` and `high`; `missing` cells. For numbers, counts and booleans."""

    n: int
    missing: int
    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, cells: pl.Series) -> Numbers:
        values = cells.drop_nulls().cast(float).to_numpy()
        values = values[~np.isnan(values)]
        n = len(values)
        if n == 0:
            return cls(0, len(cells), 0.0, np.inf, -np.inf)
        return cls(n, len(cells) - n, float(values.mean()), float(values.min()), float(values.max()))

    def merge(self, other: Numbers) -> Numbers:
        n = self.n + other.n
        # Chan's update: no sum of all values, so that large offsets do not cost digits.
        mean = self.mean + (other.mean - self.mean) * (other.n / n) if n else 0.0
        return Numbers(n, self.missing + other.missing, mean, min(self.low, other.low), max(self.high, other.high))

    @property
    def constant(self) -> bool:
        return self.n == 0 or self.low == self.high


@dataclass(frozen=True)
class Levels:
    """Counts of each level, and of missing cells. For categories and ordered columns."""

    counts: Any  # polars frame: level (String), count (UInt64), sorted by level
    missing: int

    @classmethod
    def of(cls, cells: pl.Series) -> Levels:
        import polars as pl

        frame = pl.DataFrame({"level": cells.drop_nulls().cast(pl.String)})
        return cls(frame.group_by("level").agg(count=pl.len().cast(pl.UInt64)).sort("level"), cells.null_count())

    def merge(self, other: Levels) -> Levels:
        import polars as pl

        both = pl.concat([self.counts, other.counts]).group_by("level").agg(pl.col("count").sum()).sort("level")
        return Levels(both, self.missing + other.missing)

    @property
    def constant(self) -> bool:
        return self.counts.height <= 1

    def as_dict(self) -> dict[str, int]:
        """level → count, by level."""
        return dict(zip(self.counts["level"].to_list(), self.counts["count"].to_list()))


@dataclass(frozen=True)
class Moments:
    """Dates or times of day: `n` present and `missing`, mean and range in microseconds, rows a day of the year, a
    weekday, and an hour, from which season and rhythm are judged."""

    n: int
    missing: int
    mean: float
    low: int
    high: int
    days: np.ndarray  # (367,) by day of the year
    weekdays: np.ndarray  # (7,) Monday first
    hours: np.ndarray  # (24,)
    within_day: bool  # whether any time differs from midnight

    @classmethod
    def of(cls, cells: pl.Series) -> Moments:
        import polars as pl

        present = cells.drop_nulls()
        micro = microseconds(present)
        days, weekdays = np.zeros(367), np.zeros(7)
        if present.dtype != pl.Time and len(present):
            days = np.bincount(present.dt.ordinal_day().to_numpy(), minlength=367).astype(float)
            weekdays = np.bincount(present.dt.weekday().to_numpy() - 1, minlength=7).astype(float)
        hours = np.bincount(present.dt.hour().to_numpy(), minlength=24).astype(float)
        low, high = (int(micro.min()), int(micro.max())) if len(micro) else (2**62, -(2**62))
        mean = float(micro.mean()) if len(micro) else 0.0
        within = bool(np.any(micro % DAY)) if len(micro) else False
        return cls(len(micro), cells.null_count(), mean, low, high, days, weekdays, hours, within)

    def merge(self, other: Moments) -> Moments:
        n = self.n + other.n
        return Moments(
            n,
            self.missing + other.missing,
            self.mean + (other.mean - self.mean) * (other.n / n) if n else 0.0,
            min(self.low, other.low),
            max(self.high, other.high),
            self.days + other.days,
            self.weekdays + other.weekdays,
            self.hours + other.hours,
            self.within_day or other.within_day,
        )

    @property
    def constant(self) -> bool:
        return self.n == 0 or self.low == self.high


ColumnStatistics = Numbers | Levels | Moments

DAY = 86_400_000_000  # microseconds


def microseconds(cells: pl.Series) -> np.ndarray:
    """Dates as microseconds since 1970, times as microseconds since midnight; int64."""
    import polars as pl

    if cells.dtype == pl.Time:
        return cells.to_physical().to_numpy() // 1000
    return cells.cast(pl.Datetime("us")).to_physical().to_numpy()


def statistics_of(column: Column, cells: pl.Series) -> ColumnStatistics:
    """The statistics that fit the column's type."""
    if column.is_numeric or column.type == "boolean":
        return Numbers.of(cells)
    if column.type in ("date", "time"):
        return Moments.of(cells)
    return Levels.of(cells)
