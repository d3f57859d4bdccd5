"""Every kind of table as frames: what a reader offers, and the readers of typed files and dataframes.

A reader has `names`, `headers`, `decisions`, `warnings`, `frames(rows)` (polars frames of at most `rows` rows; text
files give trimmed text, typed ones give their types) and `position(row)`, where a row stands, for messages.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from credo.blocks.scan import row_slices
from credo.errors import DataError, FileFormatError, MissingDependencyError
from credo.tables.layout import find_layout, footnote_rows
from credo.tables.names import column_names
from credo.tables.options import ReadOptions
from credo.tables.plain import PlainText, plain_text, raw_bytes

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Reader", "FrameReader", "ParquetReader", "open_reader"]


class Reader(Protocol):
    """Rows of a table, again and again."""

    name: str
    names: tuple[str, ...]
    headers: tuple[str | None, ...]
    decisions: list[str]
    warnings: list[str]
    levels: dict[str, tuple[str, ...]]

    def frames(self, rows: int, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]: ...
    def position(self, row: int) -> str: ...


def open_reader(source: Any, options: ReadOptions) -> Reader:
    """The reader for a path, "-" (standard input), bytes, or a dataframe of any library that narwhals knows."""
    if not isinstance(source, (str, Path, bytes)):
        return frame_reader(source)
    name, content = raw_bytes(source)
    head = content[:4096] if isinstance(content, bytes) else _head(content)
    kind = options.format or told_kind(head, name)
    if kind == "parquet":
        return ParquetReader(name, content)
    if kind == "excel":
        return excel_reader(name, content, options)
    text = plain_text(content, options)
    text.name = name
    if kind == "jsonl" or (options.format is None and looks_like_json(text)):
        from credo.tables.json_lines import JsonReader

        return JsonReader(text)
    from credo.tables.delimited import DelimitedReader

    return DelimitedReader(text, options)


def told_kind(head: bytes, name: str) -> str:
    """The kind of file by its first bytes (the name only helps among zip archives)."""
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"\xd0\xcf\x11\xe0") or (head.startswith(b"PK\x03\x04") and not name.endswith(".zip")):
        return "excel"
    if head.startswith(b"PK\x03\x04"):
        raise FileFormatError(f"{name} is a zip archive.", value=name, remedy="Unpack it and give the table inside.")
    return "text"


def looks_like_json(text: PlainText) -> bool:
    """Whether the first line is a JSON object."""
    import json

    first = text.head(1 << 16).lstrip().splitlines()[:1]
    if not first or not first[0].startswith("{"):
        return False
    try:
        return isinstance(json.loads(first[0]), dict)
    except ValueError:
        return False


class ParquetReader:
    """A Parquet file, slice by slice."""

    def __init__(self, name: str, content: Path | bytes) -> None:
        import polars as pl

        self.name = name
        try:
            scan = pl.scan_parquet(content, glob=False)
            tidy = tidied(dict(scan.collect_schema()), name)
        except (pl.exceptions.PolarsError, OSError) as error:
            raise unreadable(name, error) from error
        self.names, self.headers, self.levels = tidy.names, tidy.headers, tidy.levels
        self.decisions, self.warnings = tidy.decisions, tidy.warnings
        self.scan = scan.select(tidy.cells)

    def frames(self, rows: int, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        import polars as pl

        try:
            yield from row_slices(self.scan if columns is None else self.scan.select(columns), rows)
        except (pl.exceptions.PolarsError, OSError) as error:
            raise unreadable(self.name, error) from error

    def position(self, row: int) -> str:
        return f"{self.name}, row {row}"


class Tidied(NamedTuple):
    """The columns of a typed source that a table can hold: as expressions in few types, under unique names."""

    names: tuple[str, ...]
    headers: tuple[str | None, ...]
    levels: dict[str, tuple[str, ...]]
    cells: list[pl.Expr]
    decisions: list[str]
    warnings: list[str]


def tidied(schema: dict[str, Any], source: str) -> Tidied:
    """What to take from a source with these columns and types.

    Raises
    ------
    DataError : nothing.
    """
    kept = {column: dtype for column, dtype in schema.items() if not left_out(dtype)}
    if not kept:
        raise DataError(f"{source} has no column that a table can hold.", value=source)
    warnings = [
        f"Column {column!r} holds {dtype} cells, which are not a table's: it is left out."
        for column, dtype in schema.items()
        if column not in kept
    ]
    names, notes = column_names(tuple(kept))
    levels = {n: found for n, dtype in zip(names, kept.values()) if (found := enum_levels(dtype))}
    cells = [simplified(c, dtype).alias(n) for n, (c, dtype) in zip(names, kept.items())]
    return Tidied(tuple(names), tuple(kept), levels, cells, notes, warnings)


class FrameReader:
    """A polars frame in memory."""

    def __init__(self, name: str, frame: pl.DataFrame, headers: tuple[str | None, ...], decisions: list[str]) -> None:
        self.name, self.frame, self.headers = name, frame, headers
        self.names = tuple(frame.columns)
        self.decisions: list[str] = decisions
        self.warnings: list[str] = []
        self.levels: dict[str, tuple[str, ...]] = {}

    def frames(self, rows: int, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        frame = self.frame if columns is None else self.frame.select(columns)
        for start in range(0, max(1, frame.height), rows):
            yield frame[start : start + rows]

    def position(self, row: int) -> str:
        return f"{self.name}, row {row}"


def excel_reader(name: str, content: Path | bytes, options: ReadOptions) -> FrameReader:
    """A sheet as text, with its header found as in a text file.

    Raises
    ------
    MissingDependencyError : fastexcel is not installed (extra `excel`).
    """
    try:
        import fastexcel
    except ImportError as error:
        raise MissingDependencyError("fastexcel", "excel", "Reading Excel files") from error
    try:
        book = fastexcel.read_excel(content)
        sheet = options.sheet if options.sheet is not None else book.sheet_names[0]
        if sheet not in book.sheet_names:
            raise DataError(
                f"{name} has no sheet {sheet!r}; its sheets are {', '.join(map(repr, book.sheet_names))}.",
                value=sheet,
            )
        frame = book.load_sheet(sheet, header_row=None, dtypes="string").to_polars()
    except fastexcel.FastExcelError as error:
        raise unreadable(name, error) from error
    decisions = [f"Excel sheet {sheet!r}."]
    if options.sheet is None and len(book.sheet_names) > 1:
        decisions.append(f"Other sheets left out: {', '.join(map(repr, book.sheet_names[1:]))} (--sheet to choose).")
    return grid_reader(name, frame, options, decisions)


def grid_reader(name: str, frame: pl.DataFrame, options: ReadOptions, decisions: list[str]) -> FrameReader:
    """A grid of text cells whose titles, header and foot notes are still among its rows."""
    import polars as pl

    rows = [[cell or "" for cell in row] for row in frame.head(1000).rows()]
    layout = find_layout(rows, options)
    if not layout.width:
        raise DataError(f"{name} holds no table: its sheet is empty.", value=name)
    tail = [[cell or "" for cell in row] for row in frame.tail(50).rows()]
    notes = footnote_rows(tail, layout.width) if options.skip_footer is None else options.skip_footer
    notes = notes if options.skip_footer is not None or notes <= 3 else 0
    if notes and options.skip_footer is None:
        decisions.append(f"{notes} foot note row(s) at the end left out (--skip-footer 0 keeps them).")
    first = layout.before + layout.header_rows
    body = frame[first : frame.height - notes]
    body.columns = list(layout.names)
    text = pl.all().str.strip_chars()
    return FrameReader(name, body.select(pl.when(text != "").then(text)), layout.headers, decisions + layout.decisions)


def frame_reader(frame: Any) -> FrameReader:
    """A pandas, polars, Arrow... dataframe (narwhals decides), column by column and without PyArrow."""
    import narwhals as nw
    import polars as pl

    try:
        wrapped: Any = nw.from_native(frame)
        wrapped = wrapped.collect() if isinstance(wrapped, nw.LazyFrame) else wrapped
        columns = [wrapped[name] for name in wrapped.columns]
    except (TypeError, nw.exceptions.NarwhalsError) as error:
        raise DataError(
            f"A table must be a path, '-' or a dataframe that narwhals reads, got {type(frame).__name__}: {error}",
            value=type(frame).__name__,
        ) from error
    series = [as_polars(column) for column in columns]
    tidy = tidied({s.name: s.dtype for s in series}, "The dataframe")
    table = pl.DataFrame(series).select(tidy.cells)
    reader = FrameReader("the dataframe", table, tidy.headers, tidy.decisions)
    reader.warnings, reader.levels = tidy.warnings, tidy.levels
    return reader


def as_polars(column: Any) -> pl.Series:
    """A narwhals series as a polars one; NaN in a pandas column is a missing cell."""
    import narwhals as nw
    import polars as pl

    native = column.to_native()
    if isinstance(native, pl.Series):
        return native
    if column.dtype.is_numeric():
        values = (
            column.cast(nw.Float64).to_numpy() if column.null_count() or column.dtype.is_float() else column.to_numpy()
        )
        series = pl.Series(column.name, values)
        return series.fill_nan(None) if series.dtype.is_float() else series
    cells = [None if is_missing(cell) else cell for cell in column.to_list()]
    if isinstance(column.dtype, nw.Enum):
        return pl.Series(
            str(column.name), [None if c is None else str(c) for c in cells], pl.Enum(_texts(column.dtype))
        )
    try:
        return pl.Series(str(column.name), cells)
    except TypeError:  # numbers and words in one column
        return pl.Series(str(column.name), [None if cell is None else str(cell) for cell in cells], dtype=pl.String)


def is_missing(cell: Any) -> bool:
    """None, NaN, pandas.NA or NaT."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return True
    return type(cell).__name__ in ("NAType", "NaTType")


def left_out(dtype: Any) -> bool:
    """Nested, binary and foreign objects are not cells of a table."""
    import polars as pl

    return dtype.is_nested() or dtype in (pl.Binary, pl.Object)


def simplified(name: str, dtype: Any) -> pl.Expr:
    """A column in one of the few types that inference knows: numbers, booleans, dates, times, trimmed text."""
    import polars as pl

    cells = pl.col(name)
    if dtype.is_decimal():
        return cells.cast(pl.Float64)
    if dtype == pl.Datetime:
        naive = cells.dt.convert_time_zone("UTC").dt.replace_time_zone(None) if dtype.time_zone else cells
        return naive.cast(pl.Datetime("us"))
    if dtype == pl.Date:
        return cells.cast(pl.Datetime("us"))
    if dtype == pl.Duration:
        return cells.dt.total_microseconds() / 1e6
    if dtype in (pl.Categorical, pl.Enum, pl.Null):
        return cells.cast(pl.String)
    if dtype == pl.String:
        text = cells.str.strip_chars()
        return pl.when(text != "").then(text)
    return cells.fill_nan(None) if dtype.is_float() else cells


def enum_levels(dtype: Any) -> tuple[str, ...]:
    """The stated order of an ordered categorical."""
    import polars as pl

    return tuple(dtype.categories.to_list()) if isinstance(dtype, pl.Enum) else ()


def _texts(dtype: Any) -> list[str]:
    return [str(level) for level in dtype.categories]


def _head(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(4096)


def unreadable(name: str, error: Exception) -> FileFormatError:
    lines = str(error).strip().splitlines()
    return FileFormatError(
        f"{name} cannot be read: {lines[0] if lines else type(error).__name__}.",
        value=name,
        remedy="The file may be damaged, or of another kind than its first bytes say (--format to state it).",
    )
