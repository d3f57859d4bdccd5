"""JSON lines: one object a row, its keys the columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

from credo.blocks.scan import rebatched, text_pieces
from credo.errors import DataError
from credo.tables.plain import PlainText
from credo.tables.readers import tidied

if TYPE_CHECKING:
    import polars as pl

__all__ = ["JsonReader"]


class JsonReader:
    """Rows of a JSON-lines file, piece by piece; the first piece (8 MiB) tells the columns and their types."""

    def __init__(self, text: PlainText) -> None:
        import polars as pl

        self.name, self.text = text.name, text
        with text.open() as stream:
            first = next(text_pieces(stream, quote=""))
        try:
            found = pl.read_ndjson(BytesIO(first), infer_schema_length=None).schema
        except pl.exceptions.PolarsError as error:
            raise self._refused(first, 1, None, error) from error
        # Later pieces may hold fractions where the first has whole numbers only.
        whole = len(first) >= text.size
        self.schema: dict[str, Any] = {
            key: pl.Float64 if dtype.is_integer() and not whole else dtype for key, dtype in found.items()
        }
        tidy = tidied(self.schema, text.name)
        self.names, self.headers, self.levels = tidy.names, tidy.headers, tidy.levels
        self.cells, self.warnings = tidy.cells, tidy.warnings
        self.decisions = [*text.decisions, "JSON lines: one object a row.", *tidy.decisions]

    def frames(self, rows: int, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        for frame in rebatched(self._pieces(), rows):
            yield frame if columns is None else frame.select(columns)

    def _pieces(self) -> Iterator[pl.DataFrame]:
        import polars as pl

        line = 1
        with self.text.open() as stream:
            for piece in text_pieces(stream, quote=""):
                try:
                    yield pl.read_ndjson(BytesIO(piece), schema=self.schema).select(self.cells)
                except pl.exceptions.PolarsError as error:
                    raise self._refused(piece, line, self.schema, error) from error
                line += piece.count(b"\n")

    def _refused(self, piece: bytes, first: int, schema: dict[str, Any] | None, error: Exception) -> DataError:
        """The error naming the first line that cannot be read by itself."""
        import polars as pl

        for number, line in enumerate(piece.split(b"\n"), start=first):
            try:
                pl.read_ndjson(BytesIO(line), schema=schema) if line.strip() else None
            except pl.exceptions.PolarsError as cause:
                first, error = number, cause
                break
        said = str(error).strip().splitlines()[0]
        return DataError(
            f"{self.name}, line {first}: {said}.",
            rows=[first - 1],
            value=said,
            remedy="Each line must be one JSON object, with a key's values of one type.",
        )

    def position(self, row: int) -> str:
        return f"{self.name}, line {row + 1}"
