"""From a table to a numeric matrix: fitted once, saved with the model, applied block by block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.blocks import Block, reduce
from credo.blocks.partition import checked_block_rows, row_ranges
from credo.errors import DataError, DataWarning, ParameterError, warn
from credo.saving import register
from credo.tables.column_statistics import ColumnStatistics, statistics_of
from credo.tables.encodings import ColumnEncoding
from credo.tables.fitting import fit_column
from credo.tables.schema import Schema
from credo.tables.target import TargetEncoding, fit_target

if TYPE_CHECKING:
    import polars as pl

    from credo.tables.table import Table

__all__ = ["Encoder", "FittedEncoder", "EncodedSource"]


@dataclass(frozen=True)
class Encoder:
    """What to make of a table's columns.

    numbers and counts as they are; booleans 0/1; ordered levels 0, 1, 2...; categories as 0/1 columns against their
    most frequent level; dates as years, season, weekday and hour, as far as they vary. Identifiers, free text and
    constant columns are left out, and said so.

    Parameters
    ----------
    schema : the columns
    target : the column to predict, optional
    classes : the numbers that are classes of a numeric target, ascending; () predicts numbers
    weight : a column of row weights, optional
    exclude : columns to leave out (groups, say)
    missing : "keep" leaves NaN for a model that integrates missing cells out; "impute" fills numbers with their mean
        and adds "NAME is missing" where the training rows have missing cells, and gives categories a level "(missing)"
    full : 0/1 columns for every level, without a reference
    max_levels, min_count : a category of more than 12 levels keeps those in at least `min_count` rows (of fewer, a
        share is known to no better than a third), at most the `max_levels` most frequent; the others are pooled in
        "(other)"

    Raises
    ------
    ParameterError, DataError : a value breaks its constraint; a column is not there.
    """

    schema: Schema
    target: str | None = None
    weight: str | None = None
    exclude: tuple[str, ...] = ()
    missing: str = "keep"
    full: bool = False
    max_levels: int = 100
    min_count: int = 10
    classes: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.missing not in ("keep", "impute"):
            raise ParameterError("Encoder", "missing", "'keep' or 'impute'", self.missing)
        for name in ("max_levels", "min_count"):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < 1:
                raise ParameterError("Encoder", name, "an integer ≥ 1", getattr(self, name))
        for name in (self.target, self.weight, *self.exclude):
            if name is not None:
                self.schema[name]  # raises, naming the columns there are
        if self.weight is not None and not self.schema[self.weight].is_numeric:
            raise DataError(
                f"The weights in column {self.weight!r} are of type {self.schema[self.weight].type}, not numbers.",
                columns=[self.weight],
                value=self.schema[self.weight].type,
            )

    @property
    def inputs(self) -> tuple[str, ...]:
        """Columns that features are made of, unless they turn out to say nothing."""
        aside = {self.target, self.weight, *self.exclude}
        return tuple(name for name in self.schema.names if name not in aside)

    def fit(self, table: Table, threads: int | None = None) -> FittedEncoder:
        """Read the table once, block by block, and settle every column's encoding.

        Raises
        ------
        DataError : no feature is left, or the target cannot be predicted.
        """
        usable = [name for name in self.inputs if self.schema[name].type not in ("text", "identifier")]
        decisions = [
            f"Column {name!r} is left out ({self.schema[name].type})." for name in self.inputs if name not in usable
        ]
        if not usable:
            raise nothing_left(table, self.inputs, decisions)
        names = (*usable, *(() if self.target is None else (self.target,)))
        columns = [self.schema[name] for name in names]

        def accumulate(block: Block) -> list[ColumnStatistics]:
            frame = with_target(block.X, self.target)
            return [statistics_of(column, frame[column.name]) for column in columns]

        def merge(a: list[Any], b: list[Any]) -> list[Any]:
            return [left.merge(right) for left, right in zip(a, b)]

        found = dict(zip(names, reduce(FrameBlocks(table, names), accumulate, merge, threads)))
        target = None if self.target is None else fit_target(self.schema[self.target], found[self.target], self.classes)
        encodings: list[ColumnEncoding] = []
        for name in usable:
            encoding, said = fit_column(self.schema[name], found[name], self)
            decisions += said
            if encoding is not None:
                encodings.append(encoding)
        if not encodings:
            raise nothing_left(table, self.inputs, decisions)
        if target is not None and target.is_class:
            decisions.append(
                f"Target {target.name!r}: classes {', '.join(map(repr, target.classes[:20]))}, in this order."
            )
        used = tuple(e.name for e in encodings) + tuple(n for n in (self.target, self.weight) if n is not None)
        return FittedEncoder(
            self.schema.select(used), tuple(encodings), target, self.weight, self.missing, tuple(decisions)
        )


def nothing_left(table: Table, inputs: tuple[str, ...], decisions: list[str]) -> DataError:
    return DataError(
        f"{table.name} has no column to predict from: {' '.join(decisions)}",
        columns=list(inputs),
        remedy="State the type of a column that was left out with --type.",
    )


@register
@dataclass(frozen=True)
class FittedEncoder:
    """The encoder after fitting: a record that is saved with the model.

    `schema` of the columns used, `columns` with their encodings, `target`, `weight`, the policy for `missing` cells,
    and the `decisions` made.
    """

    schema: Schema
    columns: tuple[ColumnEncoding, ...]
    target: TargetEncoding | None = None
    weight: str | None = None
    missing: str = "keep"
    decisions: tuple[str, ...] = ()

    @property
    def feature_names(self) -> tuple[str, ...]:
        return tuple(feature for column in self.columns for feature in column.features)

    @property
    def n_features(self) -> int:
        return sum(len(column.features) for column in self.columns)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the columns that a table to predict must have."""
        return tuple(dict.fromkeys(column.name for column in self.columns))

    def transform(self, frame: pl.DataFrame) -> np.ndarray:
        """(rows, features) float64 of a frame of values (`Table.frames`); a `DataWarning` names levels met for the
        first time.

        Raises
        ------
        DataError : a column is not there (named).
        """
        X, unseen = self.encode(frame)
        warn_unseen(unseen, self)
        return X

    def encode(self, frame: pl.DataFrame) -> tuple[np.ndarray, dict[str, tuple[str, ...]]]:
        """As `transform`, with the unseen levels by column instead of a warning."""
        self.check_columns(tuple(frame.columns))
        # Column-major, as the features are written one column at a time.
        X = np.empty((frame.height, self.n_features), order="F")
        unseen, position = {}, 0
        for column in self.columns:
            width = len(column.features)
            if strange := column.write(frame[column.name], X[:, position : position + width]):
                unseen[column.name] = strange
            position += width
        return X, unseen

    def check_columns(self, names: tuple[str, ...]) -> None:
        if absent := [name for name in self.inputs if name not in names]:
            raise DataError(
                f"The table has no column {', '.join(map(repr, absent))}, which the model was fitted on; it has "
                f"{', '.join(map(repr, names))}.",
                columns=absent,
                value=absent[0],
            )


def with_target(frame: pl.DataFrame, target: str | None) -> pl.DataFrame:
    """The rows whose target is there (a number that is not one is not)."""
    if target is None:
        return frame
    cells = frame[target]
    return frame.filter(cells.is_not_null() & cells.is_not_nan() if cells.dtype.is_float() else cells.is_not_null())


def warn_unseen(unseen: dict[str, tuple[str, ...]], encoder: FittedEncoder) -> None:
    """One `DataWarning` for all levels that the fit never met."""
    if unseen:
        shown = "; ".join(f"{name!r}: {', '.join(map(repr, levels[:5]))}" for name, levels in unseen.items())
        warn(
            f"Levels that were not in the training rows are read as other, on an ordered scale as missing ({shown}).",
            DataWarning,
        )


class FrameBlocks:
    """A table's frames as blocks whose X is a polars frame, so that `reduce` can run over them."""

    def __init__(self, table: Table, columns: tuple[str, ...]) -> None:
        self.table, self.columns = table, columns
        self.n_rows = table.n_rows
        self.column_names = columns

    def __iter__(self) -> Iterator[Block]:
        start = 0
        for frame in self.table.frames(columns=self.columns):
            yield Block(frame, start=start)
            start += frame.height


class EncodedSource:
    """A table's rows as numeric blocks (a `credo.blocks.Source`), encoded as they are read.

    Rows whose target or weight is missing are left out and counted in `n_dropped` (after a pass); levels never met
    before are warned of once a pass.
    """

    def __init__(self, table: Table, encoder: FittedEncoder, block_rows: int | None = None) -> None:
        encoder.check_columns(table.columns)
        self.table, self.encoder = table, encoder
        self.block_rows = checked_block_rows("EncodedSource", block_rows, encoder.n_features)
        self.n_dropped: int | None = None
        self._n_rows: int | None = None
        aside = (None if encoder.target is None else encoder.target.name, encoder.weight)
        self.columns = (*encoder.inputs, *(name for name in aside if name in table.columns))

    @property
    def n_rows(self) -> int | None:
        """Rows with a target, once they have been counted by a pass."""
        return self._n_rows

    @property
    def column_names(self) -> tuple[str, ...]:
        return self.encoder.feature_names

    def __iter__(self) -> Iterator[Block]:
        start, kept, unseen = 0, 0, {}
        for frame in self.table.frames(columns=self.columns):
            X, y, weights, strange = self._arrays(frame)
            for name, levels in strange.items():
                unseen[name] = tuple(dict.fromkeys((*unseen.get(name, ()), *levels)))[:10]
            kept += len(X)
            for first, last in row_ranges(len(X), self.block_rows):
                part = slice(first, last)
                yield Block(
                    X[part], None if y is None else y[part], None if weights is None else weights[part], start + first
                )
            start += frame.height
        self._n_rows, self.n_dropped = kept, start - kept
        warn_unseen(unseen, self.encoder)

    def _arrays(self, frame: pl.DataFrame) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None, dict[str, Any]]:
        target, weight = self.encoder.target, self.encoder.weight
        there = [n for n in (None if target is None else target.name, weight) if n is not None and n in frame.columns]
        for name in there:
            frame = with_target(frame, name)
        X, strange = self.encoder.encode(frame)
        y = target.encode(frame[target.name]) if target is not None and target.name in there else None
        weights = frame[weight].to_numpy() if weight is not None and weight in there else None
        return X, y, weights, strange
