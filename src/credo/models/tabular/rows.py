"""A table's rows, encoded: gathered in one pass, or block by block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import DataError
from credo.models.tabular.views import CELLS, FEATURES
from credo.tables import FittedEncoder, Table
from credo.tables.encoder import EncodedSource, with_target

if TYPE_CHECKING:
    import polars as pl

__all__ = ["RowSample", "Gathered", "NamelessSource", "gather", "too_few", "LEAST_ROWS"]

# Two rows fix a mean and a scale; an interval takes one more.
LEAST_ROWS = 3


@dataclass(frozen=True)
class RowSample:
    """Encoded rows in memory.

    X : (n, P) features ; y : (n,) numbers, or codes of classes
    groups, time : (n,) values of the columns with those roles, if any
    complete : these are all rows with a target; else a simple random sample of them
    cells : (n, d) the table's columns as they are, NaN where missing; of a task of classes
    """

    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray | None
    time: np.ndarray | None
    complete: bool
    cells: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.y)

    def take(self, rows: np.ndarray) -> RowSample:
        X, y, groups, time, cells = (
            None if part is None else part[rows] for part in (self.X, self.y, self.groups, self.time, self.cells)
        )
        assert X is not None
        assert y is not None
        return RowSample(X, y, groups, time, False, cells)

    def seen_as(self, view: str) -> RowSample:
        """The same rows, their X what a model of that view is given (`FEATURES`, `CELLS`, `BOTH`)."""
        if view == FEATURES:
            return self
        assert self.cells is not None
        return replace(self, X=self.cells if view == CELLS else np.hstack([self.X, self.cells]))


@dataclass(frozen=True)
class Gathered:
    """Rows, and the missing cells by column."""

    sample: RowSample
    missing: dict[str, int]


def gather(
    table: Table, views: Mapping[str, FittedEncoder], group: str | None, time: str | None, chosen: np.ndarray | None
) -> Gathered:
    """One pass: the encoded rows numbered `chosen` (all when None) that have a target.

    views : what writes `FEATURES`, and `CELLS` if they are wanted
    """
    encoder = views[FEATURES]
    target = encoder.target
    assert target is not None
    extra = tuple(name for name in (group, time) if name is not None)
    columns = tuple(dict.fromkeys((*encoder.inputs, target.name, *extra)))
    parts: list[list[Any]] = [[], [], [], [], []]
    missing = dict.fromkeys(columns, 0)
    start = 0
    for frame in table.frames(columns=columns):
        for name in columns:
            missing[name] += frame[name].null_count()
        _check_finite(frame, start)
        height = frame.height
        if chosen is not None:
            first, last = np.searchsorted(chosen, [start, start + height])
            frame = frame[chosen[first:last] - start]
        frame = with_target(frame, target.name)
        parts[0].append(encoder.encode(frame)[0])
        parts[1].append(target.encode(frame[target.name]))
        if group is not None:
            parts[2].append(_text(frame[group]))
        if time is not None:
            parts[3].append(_instants(frame[time]))
        if CELLS in views:
            parts[4].append(views[CELLS].encode(frame)[0])
        start += height
    X, y, groups, instants, cells = (np.concatenate(part) if part else None for part in parts)
    assert X is not None
    assert y is not None
    sample = RowSample(np.ascontiguousarray(X), y, groups, instants, chosen is None, cells)
    if sample.complete:
        _check_outcomes(sample, target.name)
    if instants is not None and not np.all(np.isfinite(instants)):
        bad = np.flatnonzero(~np.isfinite(instants))
        raise DataError(
            f"Column {time!r}, which orders the rows, is missing in {bad.size} of them.",
            rows=bad[:20].tolist(),
            columns=[str(time)],
            remedy="Leave --time out, or remove those rows.",
        )
    return Gathered(sample, missing)


class NamelessSource(EncodedSource):
    """Rows without column names: an estimator that has seen names expects them again, from `TableModel`'s arrays."""

    @property
    def column_names(self) -> tuple[str, ...] | None:  # type: ignore[override]
        return None


def _check_outcomes(sample: RowSample, target: str) -> None:
    """Enough rows, and outcomes that differ."""
    if len(sample) < LEAST_ROWS:
        raise too_few(len(sample), target)
    if np.all(sample.y == sample.y[0]):
        raise DataError(
            f"The target {target!r} is {sample.y[0]:g} in every row: there is nothing to learn.",
            columns=[target],
            value=sample.y[0],
            remedy="Choose another --target, or give rows in which it varies.",
        )


def too_few(rows: int, target: str) -> DataError:
    return DataError(
        f"The table has {rows} row(s) with a {target!r}: too few to learn from.",
        value=rows,
        remedy="Give at least three, better thirty.",
    )


def _check_finite(frame: pl.DataFrame, start: int) -> None:
    """Infinite cells by row and column: they would reach the model as one bad matrix."""
    for column in frame.iter_columns():
        if column.dtype.is_float() and column.is_infinite().any():
            row = start + int(column.is_infinite().arg_true()[0])
            raise DataError(
                f"Column {column.name!r} is infinite in row {row}.",
                rows=[row],
                columns=[column.name],
                remedy="Remove such rows, or leave the column out (--drop).",
            )


def _text(cells: pl.Series) -> np.ndarray:
    import polars as pl

    return cells.cast(pl.String).fill_null("(missing)").to_numpy().astype(str)


def _instants(cells: pl.Series) -> np.ndarray:
    """Numbers as they are; dates and times in microseconds; NaN where missing."""
    import polars as pl

    if cells.dtype.is_temporal():
        cells = cells.to_physical()
    if not (cells.dtype.is_numeric()):
        raise DataError(
            f"Column {cells.name!r} cannot order the rows: it holds neither numbers nor dates.",
            columns=[cells.name],
            remedy=f"State its type, such as --type '{cells.name}=date:%d/%m/%Y'.",
        )
    return cells.cast(pl.Float64).to_numpy()
