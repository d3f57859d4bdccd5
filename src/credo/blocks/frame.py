"""Dataframes of numbers as a source, whatever library they come from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from credo.blocks.partition import checked_block_rows, row_ranges
from credo.blocks.source import Block
from credo.errors import DataError

__all__ = ["FrameSource"]


class FrameSource:
    """Rows of a pandas, polars or Arrow table (anything narwhals reads), one block of float64 at a time.

    Parameters
    ----------
    frame : eager dataframe whose used columns are numbers or booleans; missing cells become NaN
    columns : names of the columns of X; by default all but `target` and `weight`
    target, weight : names of the columns with y and with the rows' weights, optional
    block_rows : rows in a block; by default 1 MiB of float64

    Raises
    ------
    DataError : a column does not exist or is not numeric (`credo.tables.open_table` encodes those).

    >>> import polars as pl
    >>> block = next(iter(FrameSource(pl.DataFrame({"a": [1, None], "b": [True, False]}), target="b")))
    >>> block.X.tolist(), block.y.tolist()
    ([[1.0], [nan]], [1.0, 0.0])
    """

    def __init__(
        self,
        frame: Any,
        columns: Sequence[str] | None = None,
        target: str | None = None,
        weight: str | None = None,
        block_rows: int | None = None,
    ) -> None:
        import narwhals as nw

        self.frame = nw.from_native(frame, eager_only=True)
        numeric = {name: dtype.is_numeric() or dtype == nw.Boolean for name, dtype in self.frame.schema.items()}
        self.roles = Roles.of(numeric, columns, target, weight)
        self.block_rows = checked_block_rows("FrameSource", block_rows, len(self.roles.columns))

    @property
    def n_rows(self) -> int:
        return len(self.frame)

    @property
    def column_names(self) -> tuple[str, ...]:
        return self.roles.columns

    def __iter__(self) -> Iterator[Block]:
        for start, stop in row_ranges(self.n_rows, self.block_rows):
            yield self.roles.block(self.frame[start:stop], start)


class Roles:
    """Which columns of a frame are X, y and weights."""

    def __init__(self, columns: tuple[str, ...], target: str | None, weight: str | None) -> None:
        self.columns, self.target, self.weight = columns, target, weight

    @classmethod
    def of(
        cls, numeric: dict[str, bool], columns: Sequence[str] | None, target: str | None, weight: str | None
    ) -> Roles:
        """Check the names against the frame's columns (name → whether numeric)."""
        chosen = tuple(numeric) if columns is None else tuple(columns)
        if columns is None:
            chosen = tuple(name for name in chosen if name not in (target, weight))
        used = [*chosen, *(name for name in (target, weight) if name is not None)]
        if absent := [name for name in used if name not in numeric]:
            raise DataError(
                f"The table has no column {absent[0]!r}; its columns are {', '.join(map(repr, numeric))}.",
                columns=absent,
                value=absent[0],
            )
        if words := [name for name in used if not numeric[name]]:
            raise DataError(
                f"Column {words[0]!r} does not hold numbers.",
                columns=words,
                value=words[0],
                remedy="Read the table with credo.tables.open_table, which encodes categories, dates and text.",
            )
        return cls(chosen, target, weight)

    @property
    def used(self) -> list[str]:
        return [*self.columns, *(name for name in (self.target, self.weight) if name is not None)]

    def block(self, frame: Any, start: int) -> Block:
        """A narwhals frame as a block of float64."""
        import narwhals as nw

        floats = frame.select([nw.col(name).cast(nw.Float64) for name in self.used])
        X = np.empty((len(frame), len(self.columns)))
        for j, name in enumerate(self.columns):
            X[:, j] = floats[name].to_numpy()
        y = None if self.target is None else floats[self.target].to_numpy()
        weights = None if self.weight is None else floats[self.weight].to_numpy()
        return Block(X, y, weights, start)
