"""What `credo show TABLE` says: rows, columns with their types and missing cells, and everything that was decided."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from credo.errors import DataError
from credo.tables.delimited import DelimitedReader
from credo.tables.options import ReadOptions
from credo.tables.schema import Column
from credo.tables.table import Table, open_table

if TYPE_CHECKING:
    import polars as pl

__all__ = ["ColumnReport", "TableReport", "describe"]

# Distinct values are counted exactly up to this many, so that memory stays bounded.
_MOST_DISTINCT = 100_000


@dataclass(frozen=True)
class ColumnReport:
    """One column: `missing` cells, `distinct` present values (None beyond 100 000), `example` of a cell."""

    name: str
    type: str
    missing: int
    distinct: int | None
    constant: bool
    header: str | None = None
    example: str | None = None


@dataclass(frozen=True)
class TableReport:
    """The whole table; `how` holds encoding, delimiter and so on, where the file has them."""

    name: str
    rows: int
    columns: tuple[ColumnReport, ...]
    decisions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    how: dict[str, Any] = field(default_factory=dict)
    schema: str = ""

    def to_json(self) -> dict[str, Any]:
        """{"rows", "columns": [{"name", "type", "missing", ...}], "warnings", "decisions", "encoding", ...}."""
        columns = [
            {
                "name": c.name,
                "type": c.type,
                "missing": c.missing,
                "distinct": c.distinct,
                "constant": c.constant,
                "header": c.header,
                "example": c.example,
            }
            for c in self.columns
        ]
        return {
            "rows": self.rows,
            "columns": columns,
            "warnings": list(self.warnings),
            "decisions": list(self.decisions),
            **self.how,
        }


def describe(source: Any, *, options: ReadOptions | None = None, **how: Any) -> TableReport:
    """Read a table to its end and report on it; parameters as for `open_table`.

    A column whose type a later row contradicts becomes a category, with a warning; what the user stated is not
    overruled.

    >>> report = describe(b"age,sex\\n30,f\\n,m\\n41,f\\n")
    >>> report.rows, [(c.name, c.type, c.missing) for c in report.columns]
    (3, [('age', 'count', 1), ('sex', 'category', 0)])
    """
    table = source if isinstance(source, Table) else open_table(source, options=options, **how)
    stated = set(how.get("types") or ())
    warnings: list[str] = []
    while True:
        try:
            counts = [ColumnCount(name) for name in table.columns]
            for frame in table.frames():
                for count in counts:
                    count.add(frame[count.name])
            break
        except DataError as error:
            name = error.columns[0] if error.columns else None
            if name is None or name in stated or how.get("schema") is not None or table.schema[name].type == "category":
                raise
            warnings.append(f"{error} Column {name!r} is read as a category.")
            table = table.with_schema(table.schema.with_types({name: "category"}))
    columns = tuple(count.report(table) for count in counts)
    return TableReport(
        table.name,
        table.n_rows or 0,
        columns,
        tuple(table.decisions),
        tuple(dict.fromkeys([*table.warnings, *warnings, *missing_sentences(columns, table.n_rows or 0)])),
        how_it_is_written(table),
        table.schema.to_toml(),
    )


class ColumnCount:
    """Missing cells and distinct values of a column, frame by frame."""

    def __init__(self, name: str) -> None:
        self.name, self.missing = name, 0
        self.values: pl.Series | None = None
        self.many = False

    def add(self, cells: pl.Series) -> None:
        self.missing += cells.null_count()
        if self.many:
            return
        # In the order of the rows, so that the example is the first cell at every run.
        fresh = cells.drop_nulls().unique(maintain_order=True)
        self.values = fresh if self.values is None else self.values.extend(fresh).unique(maintain_order=True)
        self.many = len(self.values) > _MOST_DISTINCT

    def report(self, table: Table) -> ColumnReport:
        column = table.schema[self.name]
        distinct = None if self.many or self.values is None else len(self.values)
        example = None if self.values is None or not len(self.values) else shown_cell(self.values[0], column)
        constant = distinct is not None and distinct <= 1
        header = column.header if column.header is not None else self.name
        return ColumnReport(self.name, column.type, self.missing, distinct, constant, header, example)


def shown_cell(value: Any, column: Column) -> str:
    """A value as its file would write it: whole numbers without a point, days without a midnight, booleans by level."""
    if isinstance(value, bool) and len(column.levels) == 2:
        return column.levels[value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value).removesuffix(" 00:00:00")[:60]


def missing_sentences(columns: tuple[ColumnReport, ...], rows: int) -> list[str]:
    """A warning on columns that are mostly empty."""
    sparse = [c.name for c in columns if rows and 0.5 * rows < c.missing < rows]
    if not sparse:
        return []
    shown = ", ".join(map(repr, sparse[:5])) + (f" and {len(sparse) - 5} more" if len(sparse) > 5 else "")
    return [f"More than half of the cells are missing in {shown}."]


def how_it_is_written(table: Table) -> dict[str, Any]:
    """Encoding, delimiter... of a text file; {} for the rest."""
    reader = table.reader
    if not isinstance(reader, DelimitedReader):
        return {}
    text = reader.text
    return {
        "encoding": text.encoding.name,
        "bom": bool(text.encoding.bom),
        "delimiter": reader.dialect.delimiter,
        "line_ending": text.line_ending,
        "lines_before_header": reader.first_line,
        "header_rows": reader.layout.header_rows,
        "footer_rows": reader.footer,
    }
