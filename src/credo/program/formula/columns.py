"""A data frame's columns as numbers or as levels, whatever library the frame comes from."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import DataError

if TYPE_CHECKING:
    import polars as pl

    from credo.tables.schema import Schema

__all__ = ["Cells", "Frame", "label"]

_BOOLEAN = ("False", "True")
# From here on float64 does not hold every whole number: two numbers may have become one.
_INEXACT = 2.0**53


def label(value: float) -> str:
    """A number as the name of a level: whole numbers without a point.

    >>> label(3.0), label(0.25)
    ('3', '0.25')
    """
    return str(int(value)) if value == np.floor(value) and abs(value) < _INEXACT else repr(float(value))


@dataclass(frozen=True, eq=False)
class Cells:
    """A column: `numbers` (n,), NaN where missing; of words and booleans, `codes` (n,) among `levels`, −1 missing.

    is_stated : whether the levels' order means something: that of numbers, of a type, False before True
    """

    name: str
    numbers: np.ndarray | None = None
    codes: np.ndarray | None = None
    levels: tuple[str, ...] = ()
    is_stated: bool = True

    @property
    def is_numeric(self) -> bool:
        return self.numbers is not None

    @property
    def missing(self) -> np.ndarray:
        """Which cells are missing (n,)."""
        if self.codes is None:
            assert self.numbers is not None
            return np.isnan(self.numbers)
        return self.codes < 0

    def take(self, rows: np.ndarray) -> Cells:
        if self.codes is None:
            assert self.numbers is not None
            return Cells(self.name, self.numbers[rows])
        return Cells(self.name, None, self.codes[rows], self.levels, self.is_stated)

    def as_numbers(self) -> np.ndarray:
        """Float64 (n,); False and True are 0 and 1.

        Raises
        ------
        DataError : the column holds words.
        """
        if self.numbers is not None:
            return self.numbers
        assert self.codes is not None
        if self.levels == _BOOLEAN:
            return np.where(self.codes < 0, np.nan, self.codes)
        raise DataError(
            f"Column {self.name!r} holds words ({', '.join(map(repr, self.levels[:3]))}…), where numbers are needed.",
            columns=[self.name],
            value=self.levels[:3],
        )

    def as_levels(self) -> tuple[tuple[str, ...], np.ndarray]:
        """(the levels that occur, each cell's place among them (n,), −1 where missing); of numbers, ascending.

        Raises
        ------
        DataError : numbers so large that two of them may be one in float64.
        """
        if self.codes is None:
            assert self.numbers is not None
            if np.any(np.abs(self.numbers) >= _INEXACT):
                raise DataError(
                    f"Column {self.name!r} holds numbers beyond 2⁵³, which cannot be told apart as levels.",
                    columns=[self.name],
                    value=float(np.nanmax(np.abs(self.numbers))),
                    remedy=f"Make it words: --type {self.name}=category on the command line, str(...) in Python.",
                )
            return leveled(self.numbers)
        counts = np.bincount(self.codes[self.codes >= 0], minlength=len(self.levels))
        if counts.all():
            return self.levels, self.codes
        place = np.where(counts > 0, np.cumsum(counts > 0) - 1, -1)
        there = tuple(level for level, count in zip(self.levels, counts) if count)
        return there, np.where(self.codes < 0, -1, place[self.codes])


def leveled(numbers: np.ndarray) -> tuple[tuple[str, ...], np.ndarray]:
    """Numbers as levels, ascending, and each one's place (n,), −1 for NaN."""
    values, codes = np.unique(numbers, return_inverse=True)
    n = int(np.sum(~np.isnan(values)))
    return tuple(label(value) for value in values[:n]), np.where(codes < n, codes, -1)


class Frame:
    """Columns of a pandas, polars or Arrow frame, a mapping from names to cells, a `credo.tables.Table`, or a file.

    Columns are read when asked for. `names` are those of the columns; `schema` the types that a file or `Table` was
    read with, else None. `like` are types to read a file with.

    Raises
    ------
    DataError : it is none of these; two columns share a name.
    """

    def __init__(self, data: Any, like: Schema | None = None) -> None:
        if isinstance(data, (str, Path)):
            from credo.tables import open_table

            data = open_table(data, like=like)
        self.table: Any = data if _is_table(data) else None
        self.schema: Schema | None = None if self.table is None else data.schema
        self.found: dict[str, Any] = dict.fromkeys(data.columns) if _is_table(data) else _columns(data)
        self.names = tuple(self.found)
        self.read: dict[str, Cells] = {}

    @property
    def n_rows(self) -> int:
        """Reads a column if none was read."""
        if not self.names:
            return 0
        name = next(iter(self.read), self.names[0])
        return len(self.cells((name,))[name].missing)

    def cells(self, names: Iterable[str]) -> dict[str, Cells]:
        """The columns of these names.

        Raises
        ------
        DataError : a column is not there, holds dates or nested cells, infinities; columns differ in length.
        """
        for name in names:
            if name not in self.found:
                close = [known for known in self.names if known.lower() == name.lower()]
                close = close or difflib.get_close_matches(name, self.names, 1)
                known = f"it has {', '.join(map(repr, self.names[:12]))}{'…' if len(self.names) > 12 else ''}"
                raise DataError(
                    f"The table has no column {name!r}; {known}.",
                    columns=[name],
                    value=name,
                    remedy=f"Did you mean {close[0]!r}?" if close else None,
                )
        unread = [name for name in dict.fromkeys(names) if name not in self.read]
        if self.table is not None and unread:
            self.found |= _read(self.table, tuple(unread))
        for name in unread:
            self.read[name] = _cells(name, self.found[name])
        chosen = {name: self.read[name] for name in names}
        sizes = {name: len(cells.missing) for name, cells in chosen.items()}
        if len(set(sizes.values())) > 1:
            raise DataError(f"Columns differ in length: {sizes}.", columns=list(sizes), value=sizes)
        return chosen


def _is_table(data: Any) -> bool:
    """Whether it is a `credo.tables.Table`, whose module takes its time to import."""
    return type(data).__module__ == "credo.tables.table"


def _columns(data: Any) -> dict[str, Any]:
    """Whatever holds the columns, by name."""
    if isinstance(data, Mapping):
        found = list(data.items())
    else:
        import narwhals as nw

        if hasattr(data, "set_axis"):  # pandas lets columns be called 0, 1…
            data = data.set_axis(_texts(data.columns), axis=1)
        try:
            frame: Any = nw.from_native(data)
            frame = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
            found = [(name, frame[name]) for name in frame.columns]
        except (TypeError, AttributeError, nw.exceptions.NarwhalsError) as error:
            raise DataError(
                "The data are no table.",
                value=type(data).__name__,
                remedy="Give a pandas, polars or Arrow frame, or a mapping from names to cells.",
            ) from error
    return dict(zip(_texts(name for name, _ in found), (column for _, column in found)))


def _read(table: Any, names: tuple[str, ...]) -> dict[str, pl.Series]:
    """These columns of a `Table`."""
    import polars as pl

    frame = pl.concat(list(table.frames(columns=names)))
    levels = {c.name: c.levels for c in table.schema if c.type == "ordered" and c.levels}
    return {name: _ordered(frame[name], levels[name]) if name in levels else frame[name] for name in names}


def _texts(names: Iterable[Any]) -> list[str]:
    """Names as text, or an error where two are then the same."""
    texts = [str(name) for name in names]
    if len(set(texts)) < len(texts):
        twice = next(text for text in texts if texts.count(text) > 1)
        raise DataError(f"Two columns are called {twice!r}.", columns=[twice], value=twice)
    return texts


def _ordered(series: pl.Series, levels: tuple[str, ...]) -> pl.Series:
    import polars as pl

    return series.cast(pl.Enum(levels)) if series.dtype == pl.String else series


def _cells(name: str, column: Any) -> Cells:
    if isinstance(column, np.ndarray) and column.dtype.kind in "iuf" and column.ndim == 1:
        return _numbers(name, column.astype(np.float64))
    if isinstance(column, np.ndarray) and column.dtype.kind == "b" and column.ndim == 1:
        return Cells(name, None, column.astype(np.int64), _BOOLEAN)
    return _of_series(name, *_series(name, column))


def _numbers(name: str, values: np.ndarray) -> Cells:
    infinite = np.flatnonzero(np.isinf(values))
    if infinite.size:
        raise DataError(
            f"Column {name!r} is infinite in row {infinite[0]}.",
            rows=infinite[:20].tolist(),
            columns=[name],
            value=float(values[infinite[0]]),
        )
    return Cells(name, values)


def _series(name: str, column: Any) -> tuple[pl.Series, tuple[str, ...] | None]:
    """(a polars series, the levels that the column's type declares in another library)."""
    import narwhals as nw
    import polars as pl

    from credo.tables.readers import as_polars, is_missing

    if isinstance(column, pl.Series):
        return column, None
    if not isinstance(column, nw.Series) and not isinstance(column, (np.ndarray, list, tuple)):
        try:
            column = nw.from_native(column, series_only=True)
        except TypeError:
            raise DataError(
                f"Column {name!r} is no list of cells.", columns=[name], value=type(column).__name__
            ) from None
    if isinstance(column, nw.Series):
        declared = None
        if column.dtype in (nw.Categorical, nw.Enum) and column.implementation.is_pandas_like():
            categories = column.to_native().cat.categories.tolist()
            declared = tuple(_text(value) for value in categories)
            cells = [None if is_missing(cell) else _text(cell) for cell in column.to_list()]
            return pl.Series(name, cells, dtype=pl.String), declared
        return as_polars(column), None
    if np.ndim(column) != 1:
        shape = np.shape(column)
        raise DataError(
            f"Column {name!r} has shape {shape}, where one cell a row is needed.", columns=[name], value=shape
        )
    listed = column.tolist() if isinstance(column, np.ndarray) else column
    return _of_list(name, [None if is_missing(cell) else cell for cell in listed]), None


def _of_list(name: str, cells: list[Any]) -> pl.Series:
    """Cells of one kind as they are, numbers of several kinds as floats, everything else as text."""
    import polars as pl

    kinds = {type(cell) for cell in cells if cell is not None}
    if all(issubclass(kind, (int, float, np.number)) for kind in kinds) and not kinds <= {bool, np.bool_}:
        return pl.Series(name, np.array([np.nan if cell is None else float(cell) for cell in cells], dtype=np.float64))
    if len(kinds) <= 1:
        return pl.Series(name, cells)
    return pl.Series(name, [None if cell is None else _text(cell) for cell in cells], dtype=pl.String)


def _text(cell: Any) -> str:
    if isinstance(cell, (int, float, np.number)) and not isinstance(cell, bool):
        return label(float(cell))
    return str(cell)


def _of_series(name: str, series: pl.Series, declared: tuple[str, ...] | None) -> Cells:
    import polars as pl

    dtype: Any = series.dtype
    if dtype.is_numeric() or dtype == pl.Null:
        return _numbers(name, series.cast(pl.Float64).fill_null(np.nan).to_numpy())
    if dtype == pl.Boolean:
        return Cells(name, None, series.cast(pl.Int64).fill_null(-1).to_numpy(), _BOOLEAN)
    if dtype == pl.Enum:
        declared = tuple(dtype.categories.to_list())
    if dtype in (pl.Enum, pl.Categorical):
        series = series.cast(pl.String)
    if series.dtype != pl.String:
        kind = "dates or times" if dtype.is_temporal() else str(dtype)
        raise DataError(
            f"Column {name!r} holds {kind}, which are neither numbers nor words.",
            columns=[name],
            value=str(dtype),
            remedy="Turn it into numbers (days since a date, say) or words first.",
        )
    series = series.str.strip_chars()  # as files are read: "b " and "b" are one level
    declared = None if declared is None else tuple(dict.fromkeys(level.strip() for level in declared))
    levels = declared if declared is not None else tuple(series.drop_nulls().unique().sort().to_list())
    codes = series.cast(pl.Enum(list(levels))).to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
    return Cells(name, None, codes, levels, declared is not None)
