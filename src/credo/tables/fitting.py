"""Which encoding a column gets, from its type and its statistics; every choice becomes a sentence."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from credo.tables.column_statistics import DAY, ColumnStatistics, Levels, Moments, Numbers
from credo.tables.encodings import (
    OTHER,
    CategoryEncoding,
    ColumnEncoding,
    DateEncoding,
    NumberEncoding,
    PresenceEncoding,
)
from credo.tables.schema import Column

__all__ = ["fit_column"]

# Up to a dozen levels are kept however rare: pooling saves nothing there.
_FEW_LEVELS = 12
# A cycle is told from the trend once it has come round: a year, and two weeks.
_YEAR, _TWO_WEEKS = 366 * DAY, 14 * DAY


class Policy(Protocol):
    """What the encoder states."""

    @property
    def missing(self) -> str: ...
    @property
    def full(self) -> bool: ...
    @property
    def max_levels(self) -> int: ...
    @property
    def min_count(self) -> int: ...


Fitted = tuple[ColumnEncoding | None, list[str]]


def fit_column(column: Column, statistics: ColumnStatistics, policy: Policy) -> Fitted:
    """(encoding or None if the column says nothing, sentences)."""
    name = column.name
    if statistics.constant:
        present = statistics.counts.height > 0 if isinstance(statistics, Levels) else statistics.n > 0
        if present and statistics.missing:
            return PresenceEncoding(name), [
                f"Column {name!r} has one value and {statistics.missing} missing cells: used as present or not."
            ]
        return None, [f"Column {name!r} is left out ({'constant' if present else 'empty'})."]
    if isinstance(statistics, Moments):
        return fit_date(column, statistics, policy)
    if isinstance(statistics, Numbers):
        return fit_number(column, statistics.mean, statistics.missing, policy)
    if column.type == "ordered":
        return fit_ordered(column, statistics, policy)
    return fit_category(column, statistics, policy)


def fit_number(column: Column, mean: float, missing: int, policy: Policy, levels: tuple[str, ...] = ()) -> Fitted:
    name = column.name
    if policy.missing == "keep":
        said = [f"Column {name!r}: {missing} missing cells stay missing."] if missing else []
        return NumberEncoding(name, levels), said
    if not missing:
        return NumberEncoding(name, levels, fill=mean), []
    return NumberEncoding(name, levels, mean, indicator=True), [
        f"Column {name!r}: {missing} missing cells filled with the mean {mean:.6g} and marked by '{name} is missing'."
    ]


def fit_ordered(column: Column, statistics: Levels, policy: Policy) -> Fitted:
    """Codes 0, 1, 2...: one slope, equal steps between neighbours."""
    counts = statistics.as_dict()
    levels = (*column.levels, *(level for level in counts if level not in column.levels))
    total = sum(counts.values())
    mean = sum(code * counts.get(level, 0) for code, level in enumerate(levels)) / total
    encoding, said = fit_number(column, mean, statistics.missing, policy, levels)
    return encoding, [f"Column {column.name!r}: levels numbered 0 to {len(levels) - 1}, {' < '.join(levels)}.", *said]


def fit_category(column: Column, statistics: Levels, policy: Policy) -> Fitted:
    name, counts = column.name, statistics.as_dict()
    kept = kept_levels(counts, policy)
    pooled = tuple(level for level in counts if level not in kept)
    if not kept and statistics.missing:
        return PresenceEncoding(name), [
            f"Column {name!r}: each of its {len(counts)} levels is rare, but {statistics.missing} cells are missing: "
            "used as present or not."
        ]
    if not kept:
        return None, [f"Column {name!r} is left out: each of its {len(counts)} levels is rare."]
    reference = None if policy.full else max(sorted(kept), key=lambda level: counts[level])
    keep = policy.missing == "keep"
    encoding = CategoryEncoding(
        name,
        tuple(sorted(kept)),
        reference,
        # Pooled levels are remembered only while they are few: the others are told from unseen ones by nobody.
        pooled if len(pooled) <= 1000 else (),
        other=bool(pooled),
        missing_level=bool(statistics.missing) and not keep,
        keep_missing=keep,
    )
    said = []
    if pooled:
        rows = sum(counts[level] for level in pooled)
        said.append(f"Column {name!r}: {len(pooled)} rare levels ({rows} rows) pooled in {OTHER}, with any met later.")
    elif reference is not None:
        said.append(f"Column {name!r}: compared with {reference!r}; a level met later is treated like it.")
    if statistics.missing:
        fate = "stay missing" if keep else "are a level of their own"
        said.append(f"Column {name!r}: {statistics.missing} missing cells {fate}.")
    return encoding, said


def kept_levels(counts: dict[str, int], policy: Policy) -> set[str]:
    """The levels with a column of their own."""
    if len(counts) <= min(_FEW_LEVELS, policy.max_levels):
        return set(counts)
    common = [level for level, count in counts.items() if count >= policy.min_count]
    common.sort(key=lambda level: (-counts[level], level))
    return set(common[: policy.max_levels])


def fit_date(column: Column, statistics: Moments, policy: Policy) -> Fitted:
    """Years since the first date; season, weekday and hour where they vary and have come round."""
    name, span = column.name, statistics.high - statistics.low
    parts = []
    if column.type == "date":
        parts.append("years")
        if span >= _YEAR and np.count_nonzero(statistics.days) > 12:
            parts.append("season")
        if span >= _TWO_WEEKS and np.count_nonzero(statistics.weekdays) == 7:
            parts.append("weekday")
    if (statistics.within_day and np.count_nonzero(statistics.hours) > 1) or column.type == "time":
        parts.append("hour")
    bare = DateEncoding(name, statistics.low, tuple(parts))
    said = [f"Column {name!r} becomes {', '.join(bare.features)}."]
    if policy.missing == "keep":
        if statistics.missing:
            said.append(f"Column {name!r}: {statistics.missing} missing cells stay missing.")
        return bare, said
    if statistics.missing:
        said.append(f"Column {name!r}: {statistics.missing} missing cells filled with means and marked.")
    return DateEncoding(name, statistics.low, tuple(parts), means(statistics, parts), bool(statistics.missing)), said


def means(statistics: Moments, parts: list[str]) -> tuple[float, ...]:
    """Mean of each feature over the training rows (to the hour, for the time of day)."""
    result: list[float] = []
    for part in parts:
        if part == "years":
            result.append((statistics.mean - statistics.low) / (365.2425 * DAY))
        elif part == "weekday":
            result += list(statistics.weekdays[1:] / statistics.n)
        else:
            counts = statistics.hours if part == "hour" else statistics.days[1:]
            turns = (np.arange(24) + 0.5) / 24 if part == "hour" else np.arange(366) / 365.2425
            result += [float(counts @ wave(2 * np.pi * turns)) / statistics.n for wave in (np.sin, np.cos)]
    return tuple(float(value) for value in result)
