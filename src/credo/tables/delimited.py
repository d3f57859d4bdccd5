"""Delimited text as frames of text cells: read by polars where the file is even, by the standard library where not.

Both readers hold a bounded number of rows. The fast one tokenises in Rust; it is left for the careful one when the
file has blank lines, an odd number of quotes or rows of unequal width, so that each of these is judged, said, or
refused with its line and column.
"""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from credo.blocks.scan import rebatched, text_pieces
from credo.errors import DataError
from credo.tables.dialect import Dialect, csv_options, line_breaks, parsed_rows, sniff_dialect
from credo.tables.layout import MOST_FOOTNOTES, Layout, find_layout, footnote_rows
from credo.tables.options import ReadOptions
from credo.tables.plain import PlainText

if TYPE_CHECKING:
    import polars as pl

__all__ = ["DelimitedReader"]

T = TypeVar("T")

_HEAD = 1 << 20  # 1 MiB of text tells the dialect and the layout
_HEAD_ROWS = 5000
_TAIL = 1 << 16  # foot notes are found in the last 64 KiB
_LONGEST_CELL = 1 << 27  # 128 MiB: the standard library's default of 128 KiB refuses real documents


class DelimitedReader:
    """Rows of a delimited text file.

    `names` and `headers` of the columns; `frames(rows)` yields polars frames of text; `decisions` and `warnings` are
    sentences about how the file was read, complete once it has been read to its end.
    """

    def __init__(self, text: PlainText, options: ReadOptions) -> None:
        self.text, self.options, self.name = text, options, text.name
        self.levels: dict[str, tuple[str, ...]] = {}
        self.decisions = list(text.decisions)
        self.warnings: list[str] = []
        csv.field_size_limit(_LONGEST_CELL)
        head = text.head(_HEAD)
        self.dialect = sniff_dialect(head, options.delimiter, options.quote)
        rows = parsed_rows(head, self.dialect, _HEAD_ROWS)
        self.layout = self._layout(head, rows)
        if not self.layout.width:
            raise DataError(f"{text.name} holds no table: its lines are blank.", value=text.name)
        self.names, self.headers = self.layout.names, self.layout.headers
        self.footer = self._footer() if options.skip_footer is None else options.skip_footer
        self._say_dialect()
        self.careful = self._needs_care(rows)

    def _needs_care(self, head: list[list[str]]) -> bool:
        """Whether rows must be judged one by one: an uneven file, or one so small that care costs nothing."""
        text, width = self.text, self.layout.width
        if text.size <= _HEAD or text.has_blank_lines or text.odd_quotes or self.dialect.quote not in ('"', ""):
            return True
        if self.dialect.delimiter == " ":
            return True
        tail = parsed_rows(text.tail(_TAIL), self.dialect)
        return any(len(row) != width for row in head[self.layout.before :]) or len(tail[-1]) != width

    def _layout(self, head: str, rows: list[list[str]]) -> Layout:
        """Layout of the parsed head; lines of a preamble are counted as lines, whatever quotes they hold."""
        if self.options.skip_rows is None:
            layout = find_layout(rows, self.options)
            lines = sum(max(1, _breaks(row)) for row in rows[: layout.before])
        else:
            lines = self.options.skip_rows
            rest = "".join(line_breaks(head)[lines:])
            layout = find_layout(parsed_rows(rest, self.dialect, _HEAD_ROWS), _without_skip(self.options))
        self.first_line = lines  # lines before the header
        self.decisions += layout.decisions
        return layout

    def _footer(self) -> int:
        """Foot notes that are dropped unasked; a longer tail is pointed out instead."""
        tail = [row for row in parsed_rows(self.text.tail(_TAIL), self.dialect) if row]
        notes = footnote_rows(tail, self.layout.width)
        short = 0
        for row in reversed(tail):
            if 2 * len(row) >= self.layout.width:  # hardly a note
                break
            short += 1
        if 0 < notes <= MOST_FOOTNOTES and short <= MOST_FOOTNOTES:
            said = tail[-notes][0].strip()
            self.decisions.append(
                f"{notes} foot note row(s) at the end left out, beginning {said[:40]!r} (--skip-footer 0 keeps them)."
            )
            return notes
        above = tail[: len(tail) - short][-3:]
        if short > MOST_FOOTNOTES and above and all(len(row) == self.layout.width for row in above):
            self.warnings.append(
                f"The last {short} rows have fewer cells than the table and look like notes: they are kept as rows; "
                f"--skip-footer {short} leaves them out."
            )
        return 0

    def _say_dialect(self) -> None:
        names = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar", " ": "space"}
        if self.dialect.delimiter is None:
            self.decisions.append("One column: no delimiter splits the lines evenly (--delimiter to state one).")
        elif self.options.delimiter is None and self.dialect.delimiter != ",":
            shown = names.get(self.dialect.delimiter, repr(self.dialect.delimiter))
            self.decisions.append(f"Delimiter {shown}.")
        if self.options.quote is None and self.dialect.quote == "'":
            self.decisions.append("Cells are quoted with single quotes.")

    def frames(self, rows: int, columns: Sequence[str] | None = None, trim: bool = True) -> Iterator[pl.DataFrame]:
        """Frames of `rows` rows of text (the last one fewer) of some or all columns, trimmed; empty cells are null.

        Without `trim` blanks at the ends of a cell stay, unless it holds nothing else.
        """
        done = 0
        if not self.careful:
            try:
                for frame in held_back(self._fast(rows, columns or self.names, trim), self.footer):
                    yield frame
                    done += frame.height
                return
            except _UnevenRows:
                self.careful = True
        for frame in self._careful(rows, columns or self.names, trim):
            if done >= frame.height:  # the fast reader stopped part of the way: go on from there
                done -= frame.height
                continue
            yield frame[done:]
            done = 0

    def _fast(self, rows: int, columns: Sequence[str], trim: bool) -> Iterator[pl.DataFrame]:
        import polars as pl

        def read(piece: bytes) -> pl.DataFrame:
            frame = pl.read_csv(
                piece,
                has_header=False,
                separator=self.dialect.separator,
                quote_char=self.dialect.quote or None,
                schema=dict.fromkeys(self.names, pl.String),
            )
            return frame.select(columns).select(cells(trim))

        with self.text.open() as stream:
            for _ in range(self.first_line + self._header_lines()):
                stream.readline()
            try:
                yield from rebatched(map(read, text_pieces(stream, self.dialect.quote)), rows)
            except pl.exceptions.PolarsError as error:
                raise _UnevenRows from error

    def _header_lines(self) -> int:
        head = line_breaks(self.text.head(_HEAD))[self.first_line :]
        reader = csv.reader(map(self.dialect.bare, head), **csv_options(self.dialect))  # type: ignore[arg-type]
        for _ in range(self.layout.header_rows):
            next(reader, None)
        return reader.line_num

    def _careful(self, rows: int, columns: Sequence[str], trim: bool) -> Iterator[pl.DataFrame]:
        import polars as pl

        census = Census(self)
        buffer: list[Sequence[str]] = []
        for row in census:
            buffer.append(row)
            if len(buffer) >= rows:
                yield self._frame(buffer, columns, trim)
                buffer = []
        if buffer:
            yield self._frame(buffer, columns, trim)
        elif not census.rows:
            yield pl.DataFrame(schema=dict.fromkeys(columns, pl.String))
        self.warnings += [said for said in census.sentences() if said not in self.warnings]

    def _frame(self, rows: list[Sequence[str]], columns: Sequence[str], trim: bool) -> pl.DataFrame:
        import polars as pl

        read = dict(zip(self.names, zip(*rows)))
        wanted = {name: read[name] for name in columns}
        return pl.DataFrame(wanted, schema=dict.fromkeys(columns, pl.String)).select(cells(trim))

    def position(self, row: int) -> str:
        """Where data row `row` (from 0) begins: the file and its line, counted from 1."""
        census = Census(self)
        for number, _ in enumerate(census):
            if number == row:
                break
        return f"{self.name}, line {census.line}"


class Census:
    """Rows of the table one by one, each of the table's width, with their lines and what is wrong with them.

    A short row is filled up with missing cells; a long one is cut if its surplus is empty, else refused.
    """

    def __init__(self, reader: DelimitedReader) -> None:
        self.reader, self.width = reader, reader.layout.width
        self.rows = self.blank = self.short = self.cut = 0
        self.first_short = self.first_cut = self.line = 0

    def __iter__(self) -> Iterator[Sequence[str]]:
        for line, row in lagged(self._rows(), self.reader.footer):
            self.line = line
            yield self._fitted(row)
            self.rows += 1

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """(line, cells) of the rows below the header, blank lines counted and left out."""
        before, names = self.reader.first_line, self.reader.layout.header_rows
        with self.reader.text.open_text() as stream:
            for _ in range(before):
                stream.readline()
            lines = LastLines(stream, self.reader.dialect)
            rows = csv.reader(lines, **csv_options(self.reader.dialect))  # type: ignore[arg-type]
            try:
                for row in rows:
                    line = before + rows.line_num - lines.taken + 1
                    self._check_quotes(lines, line)
                    lines.taken = 0
                    if names and row:
                        names -= 1
                    elif row:
                        yield line, row
                    else:
                        self.blank += 1
            except csv.Error as error:
                raise DataError(
                    f"{self.reader.text.name}, line {before + rows.line_num}: {error}.",
                    value=str(error),
                    remedy="State --quote '' if quotes mean nothing in this file.",
                ) from error

    def _check_quotes(self, lines: LastLines, line: int) -> None:
        """A quote that never closes swallows the rest of the file: refuse it, with the line where it opens."""
        quote = self.reader.dialect.quote
        if lines.ended and lines.taken > 1 and quote and lines.quotes(quote) % 2:
            raise DataError(
                f"{self.reader.text.name}, line {line}: a quote opens and never closes.",
                rows=[self.rows],
                value=line,
                remedy="Mend that line, or state --quote '' if quotes mean nothing in this file.",
            )

    def _fitted(self, row: list[str]) -> Sequence[str]:
        surplus = len(row) - self.width
        if surplus == 0:
            return row
        if surplus < 0:
            self.short += 1
            self.first_short = self.first_short or self.line
            return [*row, *[""] * -surplus]
        if any(cell.strip() for cell in row[self.width :]):
            if self.reader.options.ragged != "truncate":
                raise self._too_long(row)
            self.cut += 1
            self.first_cut = self.first_cut or self.line
        return row[: self.width]

    def _too_long(self, row: list[str]) -> DataError:
        first = next(j for j in range(self.width, len(row)) if row[j].strip())
        return DataError(
            f"{self.reader.text.name}, line {self.line}: {len(row)} cells where the table has {self.width} columns; "
            f"cell {first + 1} is {row[first].strip()[:40]!r}.",
            rows=[self.rows],
            value=len(row),
            remedy="Quote the cell that holds the delimiter, or state --delimiter, --skip-rows, --skip-footer, or "
            "--ragged truncate to drop surplus cells.",
        )

    def sentences(self) -> list[str]:
        said = []
        if self.blank:
            said.append(f"{self.blank} blank line(s) skipped.")
        if self.short:
            said.append(
                f"{self.short} row(s) have fewer cells than the table, the first on line {self.first_short}: "
                "the cells that lack are missing."
            )
        if self.cut:
            said.append(f"{self.cut} row(s) had surplus cells, the first on line {self.first_cut}: they were dropped.")
        return said


class LastLines:
    """An iterator of lines that remembers how many the csv reader took for the row at hand, and their quotes."""

    def __init__(self, stream: Any, dialect: Dialect) -> None:
        self.stream, self.bare, self.taken, self.ended = stream, dialect.bare, 0, False
        self._last: deque[str] = deque()

    def __iter__(self) -> LastLines:
        return self

    def __next__(self) -> str:
        line = self.stream.readline()
        if not line:
            self.ended = True
            raise StopIteration
        if self.taken == 0:
            self._last.clear()
        self.taken += 1
        self._last.append(line)
        return self.bare(line)

    def quotes(self, quote: str) -> int:
        return sum(line.count(quote) for line in self._last)


class _UnevenRows(Exception):
    """The fast reader met a row it cannot take; the careful one says which."""


def lagged(rows: Iterator[T], last: int) -> Iterator[T]:
    """All but the last `last` rows."""
    waiting: deque[T] = deque()
    for row in rows:
        waiting.append(row)
        if len(waiting) > last:
            yield waiting.popleft()


def held_back(frames: Iterator[pl.DataFrame], rows: int) -> Iterator[pl.DataFrame]:
    """The frames without their last `rows` rows."""
    if rows == 0:
        yield from frames
        return
    import polars as pl

    waiting: pl.DataFrame | None = None
    for frame in frames:
        waiting = frame if waiting is None else pl.concat([waiting, frame])
        if waiting.height > rows:
            yield waiting[: waiting.height - rows]
            waiting = waiting[waiting.height - rows :]


def cells(trim: bool) -> pl.Expr:
    """All cells, without blanks at the ends (no-break ones too) if wanted; null where there is nothing else."""
    import polars as pl

    text = pl.all().str.strip_chars()
    return pl.when(text != "").then(text if trim else pl.all())


def _breaks(row: Sequence[str]) -> int:
    """Lines that a parsed row took up."""
    return 1 + sum(cell.count("\n") for cell in row)


def _without_skip(options: ReadOptions) -> ReadOptions:
    return ReadOptions.of(options, skip_rows=0)
