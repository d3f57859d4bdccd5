"""Numeric Parquet and CSV files as sources, in memory that does not grow with the file."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from credo.blocks.frame import Roles
from credo.blocks.partition import checked_block_rows, row_ranges
from credo.blocks.scan import piece_rows, rebatched, row_slices, text_pieces
from credo.blocks.source import Block
from credo.errors import DataError, FileFormatError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["ParquetSource", "CsvSource"]


class FileSource(ABC):
    """Blocks from a file; subclasses give its schema and its rows in pieces."""

    def __init__(
        self,
        path: str | Path,
        columns: Sequence[str] | None = None,
        target: str | None = None,
        weight: str | None = None,
        block_rows: int | None = None,
    ) -> None:
        self.path = Path(path)
        if not self.path.exists():
            raise DataError(f"There is no file {str(path)!r}.", value=str(path), remedy="Check the path.")
        with named_errors(self.path):
            numeric = {n: dtype.is_numeric() or str(dtype) == "Boolean" for n, dtype in self.schema().items()}
        self.roles = Roles.of(numeric, columns, target, weight)
        self.block_rows = checked_block_rows(type(self).__name__, block_rows, len(self.roles.columns))

    @abstractmethod
    def schema(self) -> dict[str, Any]: ...

    @abstractmethod
    def pieces(self, columns: list[str], rows: int) -> Iterator[pl.DataFrame]: ...

    @property
    def column_names(self) -> tuple[str, ...]:
        return self.roles.columns

    def __iter__(self) -> Iterator[Block]:
        import narwhals as nw

        # A piece is a whole number of blocks, so that pieces leave no trace in the partition.
        rows = self.block_rows * max(1, piece_rows(len(self.roles.used)) // self.block_rows)
        start = 0
        with named_errors(self.path):
            for piece in self.pieces(self.roles.used, rows):
                for first, last in row_ranges(piece.height, self.block_rows):
                    yield self.roles.block(nw.from_native(piece[first:last]), start + first)
                start += piece.height


class ParquetSource(FileSource):
    """Rows of a Parquet file of numbers, read slice by slice in bounded memory.

    Parameters as for `FrameSource`, with the file's path first. Memory is one slice of 16 MiB and the decoded pages
    around it, whatever the length of the file.

    >>> import polars as pl, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "t.parquet")
    >>> pl.DataFrame({"a": [1.0, 2.0, 3.0]}).write_parquet(path)
    >>> [block.X.ravel().tolist() for block in ParquetSource(path, block_rows=2)]
    [[1.0, 2.0], [3.0]]
    """

    def scan(self) -> pl.LazyFrame:
        import polars as pl

        return pl.scan_parquet(self.path, glob=False)

    def schema(self) -> dict[str, Any]:
        return dict(self.scan().collect_schema())

    def pieces(self, columns: list[str], rows: int) -> Iterator[pl.DataFrame]:
        return row_slices(self.scan().select(columns), rows)

    @property
    def n_rows(self) -> int:
        """Rows in the file, from its footer."""
        import polars as pl

        with named_errors(self.path):
            return int(self.scan().select(pl.len()).collect().item())


class CsvSource(FileSource):
    """Rows of a clean CSV file of numbers with one header line, read piece by piece in bounded memory.

    Parameters as for `FrameSource`, with the file's path first, and `separator`. The first 1000 rows decide
    which columns are numbers. Anything less tidy (encodings, decimal commas, categories...) is for
    `credo.tables.open_table`.
    """

    n_rows: int | None = None

    def __init__(self, path: str | Path, *args: Any, separator: str = ",", **options: Any) -> None:
        self.separator = separator
        super().__init__(path, *args, **options)

    def schema(self) -> dict[str, Any]:
        """Column types; whole numbers are read as floats, as the first rows say nothing of the later ones."""
        import polars as pl

        found = pl.read_csv(self.path, separator=self.separator, n_rows=1000, infer_schema_length=1000, glob=False)
        return {name: pl.Float64 if dtype.is_numeric() else dtype for name, dtype in found.schema.items()}

    def pieces(self, columns: list[str], rows: int) -> Iterator[pl.DataFrame]:
        import polars as pl

        schema = self.schema()
        with self.path.open("rb") as stream:
            stream.readline()
            frames = (
                pl.read_csv(piece, separator=self.separator, has_header=False, schema=schema).select(columns)
                for piece in text_pieces(stream)
            )
            yield from rebatched(frames, rows)


@contextlib.contextmanager
def named_errors(path: Path) -> Iterator[None]:
    """polars' failures become a `FileFormatError` naming the file."""
    import polars as pl

    try:
        yield
    except (pl.exceptions.PolarsError, OSError) as error:
        lines = str(error).strip().splitlines()
        raise FileFormatError(
            f"{path} cannot be read: {lines[0] if lines else type(error).__name__}.",
            value=str(path),
            remedy="credo.tables.open_table reads untidy files and names the line and column at fault.",
        ) from error
