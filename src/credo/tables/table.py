"""Opening any table: `open_table(source)` finds how it is written, says so, and streams it in typed frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from credo.blocks.scan import piece_rows
from credo.errors import DataError
from credo.tables.completion import date_formats_of, levels_of, number_format_of
from credo.tables.delimited import DelimitedReader
from credo.tables.inference import Inferred, infer_schema
from credo.tables.options import ReadOptions
from credo.tables.parsing import matched_types, parse_frame
from credo.tables.readers import Reader, open_reader
from credo.tables.schema import Column, Schema

if TYPE_CHECKING:
    import polars as pl

    from credo.tables.encoder import EncodedSource, FittedEncoder

__all__ = ["Table", "open_table"]

# Rows that are looked at to tell the types: all of a small file, and enough of a large one that a kind of cell seen
# once in 10 000 rows is met in all but e⁻¹⁰ of files. Later cells are checked while they stream. Wide files are judged
# by fewer rows, so that the sample's cells (some 50 bytes each as text) stay below half a gigabyte.
_SAMPLE_ROWS, _LEAST_SAMPLE_ROWS, _SAMPLE_CELLS = 100_000, 10_000, 2**23


def sample_rows(n_columns: int) -> int:
    """Rows from which the types are told."""
    return min(_SAMPLE_ROWS, max(_LEAST_SAMPLE_ROWS, _SAMPLE_CELLS // max(1, n_columns)))


class Table:
    """A table: its columns, how it was read, and its rows in bounded memory.

    Attributes
    ----------
    name : the path, or what it is
    schema : the columns with their types
    decisions : sentences on how it was read
    warnings : sentences on what is unusual
    n_rows : the number of rows, or None until the table has been read to its end
    stated : the columns whose type the user stated
    """

    def __init__(
        self,
        reader: Reader,
        schema: Schema,
        decisions: list[str],
        warnings: list[str],
        stated: frozenset[str] = frozenset(),
    ) -> None:
        self.reader, self.schema, self.stated = reader, schema, stated
        self._decisions, self._warnings = decisions, warnings
        self.n_rows: int | None = None

    def __repr__(self) -> str:
        columns = ", ".join(f"{column.name}: {column.type}" for column in self.schema.columns[:6])
        more = f", … {len(self.schema) - 6} more" if len(self.schema) > 6 else ""
        return f"<Table {self.name}: {columns}{more}>"

    @property
    def name(self) -> str:
        return self.reader.name

    @property
    def columns(self) -> tuple[str, ...]:
        return self.schema.names

    @property
    def decisions(self) -> list[str]:
        return [*self.reader.decisions, *self._decisions]

    @property
    def warnings(self) -> list[str]:
        return [*self.reader.warnings, *self._warnings]

    def raw(self, rows: int | None = None, trim: bool = True) -> Iterator[pl.DataFrame]:
        """Frames of the cells as they are written (text, trimmed if wanted), or as a typed file holds them."""
        rows = rows or piece_rows(len(self.reader.names))
        if isinstance(self.reader, DelimitedReader):
            yield from self.reader.frames(rows, trim=trim)
        else:
            yield from self.reader.frames(rows)

    def frames(self, rows: int | None = None, columns: tuple[str, ...] | None = None) -> Iterator[pl.DataFrame]:
        """Frames of values, `rows` rows each (by default some 16 MiB), missing cells null.

        Types are Float64, Boolean, Datetime, Time and String.

        Raises
        ------
        DataError : a cell does not fit its column's type (line, column and remedy are named).
        """
        schema = self.schema if columns is None else self.schema.select(list(columns))
        rows = rows or piece_rows(len(schema))
        start = 0
        for frame in self.reader.frames(rows, columns):
            yield parse_frame(frame, schema, self.reader, start)
            start += frame.height
        self.n_rows = start

    def read(self) -> pl.DataFrame:
        """All rows as one polars frame."""
        import polars as pl

        return pl.concat(list(self.frames()))

    def to_source(self, encoder: FittedEncoder, block_rows: int | None = None) -> EncodedSource:
        """The rows as numeric blocks, for `credo.blocks.reduce` and every streamed fit."""
        from credo.tables.encoder import EncodedSource

        return EncodedSource(self, encoder, block_rows)

    def with_schema(self, schema: Schema) -> Table:
        """The same rows under another schema."""
        return Table(self.reader, schema, self._decisions, self._warnings, self.stated)


def open_table(
    source: Any,
    *,
    schema: Schema | str | Path | None = None,
    types: Mapping[str, str] | None = None,
    like: Schema | None = None,
    options: ReadOptions | None = None,
    **stated: Any,
) -> Table:
    """Open a table.

    Parameters
    ----------
    source : a path (CSV, TSV, other delimited text, JSON lines, Parquet, Excel; gzip too), "-" for standard input,
        bytes, or a dataframe (pandas, polars, Arrow...)
    schema : corrections as a `Schema` or its file: these columns are read as it says
    types : corrections by name, such as {"zip": "category", "day": "date:%d/%m/%Y"}
    like : the schema a model was fitted with: its types hold for the columns that are there
    options, **stated : how the file is written (`ReadOptions`); what is not stated is inferred

    Raises
    ------
    DataError : no such file, no rows, a row that does not fit (with its line), a column that is not there.
    FileFormatError : damaged, or not in the stated encoding.

    >>> table = open_table(b"name;price\\nA;1.234,50\\nB;99,90\\n")
    >>> table.read()["price"].to_list()
    [1234.5, 99.9]
    >>> [column.type for column in table.schema]
    ['category', 'number']
    """
    options = ReadOptions.of(options, **stated)
    reader = open_reader(source, options)
    sample = first_rows(reader, sample_rows(len(reader.names)))
    inferred = infer_schema(reader, sample, options)
    if sample.height >= sample_rows(len(reader.names)):
        inferred = reconsidered(reader, inferred, sample.height, options)
    columns = inferred.schema
    if like is not None:
        columns = matched_types(columns, {column.name: column for column in like}, sample)
    if schema is not None:
        stated_schema = schema if isinstance(schema, Schema) else Schema.read(schema)
        columns = matched_types(columns, checked_names(stated_schema, columns), sample)
    if types:
        columns = with_formats(columns.with_types(types), types, sample, options)
    return Table(reader, columns, inferred.decisions, inferred.warnings, frozenset(types or ()))


def first_rows(reader: Reader, rows: int) -> pl.DataFrame:
    """The first frame of a reader.

    Raises
    ------
    DataError : there is a header but no rows.
    """
    frame = next(iter(reader.frames(rows)), None)
    if frame is None or frame.height == 0:
        raise DataError(
            f"{reader.name} has {len(reader.names)} columns but no rows.",
            value=0,
            remedy="If its first row holds values, state --header-rows 0.",
        )
    return frame


def reconsidered(reader: Reader, inferred: Inferred, rows: int, options: ReadOptions) -> Inferred:
    """Judge columns of text whose values all differ in the sample again by ten times its rows.

    A hundred thousand categories in turn look like row names to a sample of a hundred thousand rows.
    """
    doubtful = [c.name for c in inferred.schema if c.type in ("identifier", "text") and c.name not in reader.levels]
    if not doubtful:
        return inferred
    more = next(iter(reader.frames(10 * rows, doubtful)))
    again = infer_schema(reader, more, options)
    return Inferred(
        Schema(tuple(again.schema[c.name] if c.name in doubtful else c for c in inferred.schema)),
        list(dict.fromkeys([*inferred.decisions, *again.decisions])),
        list(dict.fromkeys([*inferred.warnings, *again.warnings])),
    )


def checked_names(stated: Schema, found: Schema) -> dict[str, Column]:
    """The stated columns by name, all of which must be in the table."""
    for column in stated:
        found[column.name]  # raises, naming the columns there are
    return {column.name: column for column in stated}


def with_formats(schema: Schema, types: Mapping[str, str], sample: pl.DataFrame, options: ReadOptions) -> Schema:
    """The schema where columns said to be dates or ordered, without more, get their formats or levels from the sample.

    Raises
    ------
    DataError : no format reads a column that is said to hold dates or times.
    """
    return Schema(tuple(completed(c, sample, options) if c.name in types else c for c in schema))


def completed(column: Column, sample: pl.DataFrame, options: ReadOptions) -> Column:
    if str(sample.schema[column.name]) != "String":
        return column
    cells = sample[column.name]
    if column.is_numeric:
        return number_format_of(column, cells, options)
    if column.type in ("date", "time") and not column.formats:
        return replace(column, formats=date_formats_of(column, cells))
    if column.type in ("ordered", "boolean") and not column.levels:
        return replace(column, levels=levels_of(column, cells))
    return column
