"""What the columns of a table are, in a form that a person can read, correct and give back."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from credo.errors import DataError, FileFormatError, ParameterError
from credo.saving import register
from credo.tables.numbers import NumberFormat
from credo.tables.toml import toml_lines

__all__ = ["COLUMN_TYPES", "Column", "Schema"]

COLUMN_TYPES = (
    "number",  # real numbers
    "count",  # whole numbers ≥ 0
    "boolean",  # two values, no and yes
    "category",  # values without order
    "ordered",  # categories with an order, given by `levels`
    "date",  # a day, with or without a time
    "time",  # a time of day
    "text",  # free text
    "identifier",  # a name or number for the row that says nothing about it
)


@register
@dataclass(frozen=True)
class Column:
    """One column: its name, its type, and how its cells are written.

    Parameters
    ----------
    name : unique in the table
    type : one of `COLUMN_TYPES`
    header : the name as found in the file, if any
    decimal, thousands, signs : how numbers are written (see `NumberFormat`)
    formats : strptime formats of dates and times, tried in order
    levels : of an ordered column, from low to high; of a boolean one, (no, yes) as written
    missing : words that mean a missing cell here, beside the empty cell
    constant : whether all present cells were alike when the schema was made
    """

    name: str
    type: str
    header: str | None = None
    decimal: str = "."
    thousands: str = ""
    signs: bool = False
    formats: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    constant: bool = False

    def __post_init__(self) -> None:
        if self.type not in COLUMN_TYPES:
            raise ParameterError(
                "Column",
                "type",
                f"one of {', '.join(COLUMN_TYPES)}",
                self.type,
                f"It was given for column {self.name!r}.",
            )
        if self.type == "ordered" and len(self.levels) != len(set(self.levels)):
            raise ParameterError("Column", "levels", "all different", self.levels)

    @property
    def number_format(self) -> NumberFormat:
        return NumberFormat(self.decimal, self.thousands, self.signs)

    @property
    def is_numeric(self) -> bool:
        return self.type in ("number", "count")


@register
@dataclass(frozen=True)
class Schema:
    """The columns of a table, in order. `schema["name"]` is a column.

    >>> schema = Schema((Column("age", "count"), Column("city", "category")))
    >>> Schema.from_toml(schema.to_toml()) == schema
    True
    >>> schema.with_types({"age": "number"})["age"].type
    'number'
    """

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        if repeated := sorted({name for name in names if names.count(name) > 1}):
            raise DataError(
                f"The schema names column {repeated[0]!r} more than once.",
                columns=repeated,
                value=repeated[0],
            )

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __getitem__(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise DataError(
            f"There is no column {name!r}; the columns are {', '.join(map(repr, self.names))}.",
            columns=[name],
            value=name,
        )

    def select(self, names: tuple[str, ...] | list[str]) -> Schema:
        """Only these columns, in this order."""
        return Schema(tuple(self[name] for name in names))

    def with_types(self, types: Mapping[str, str]) -> Schema:
        """The user's corrections: name → type, or "date:%d/%m/%Y" with a format, or "ordered:low,middle,high"."""
        corrected = {name: corrected_column(self[name], text) for name, text in types.items()}
        return Schema(tuple(corrected.get(column.name, column) for column in self.columns))

    def to_toml(self) -> str:
        """The schema as a TOML document; what equals its default is left out."""
        lines = [
            "# Columns of a table, as Credo understands them. Change a type, and pass the file with --schema.",
            f"# Types: {', '.join(COLUMN_TYPES)}.",
        ]
        for column in self.columns:
            values = asdict(column)
            kept = {
                f.name: values[f.name]
                for f in fields(column)
                if f.name in ("name", "type") or values[f.name] != f.default
            }
            lines += ["", "[[column]]", *toml_lines(kept)]
        return "\n".join(lines) + "\n"

    @classmethod
    def from_toml(cls, text: str) -> Schema:
        """Read what `to_toml` writes.

        Raises
        ------
        FileFormatError : not TOML, or no [[column]] tables, or an unknown key (named).
        """
        try:
            tables = tomllib.loads(text).get("column")
        except tomllib.TOMLDecodeError as error:
            raise FileFormatError(
                f"The schema is not valid TOML: {error}.", remedy="Compare with `credo show`."
            ) from error
        if not isinstance(tables, list) or not tables:
            raise FileFormatError("The schema has no [[column]] tables.", remedy="Each column is a [[column]] table.")
        return cls(tuple(column_of(table) for table in tables))

    @classmethod
    def read(cls, path: str | Path) -> Schema:
        """Read a schema file."""
        try:
            return cls.from_toml(Path(path).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise FileFormatError(f"The schema file {path} cannot be read: {error}.", value=str(path)) from error

    def write(self, path: str | Path) -> None:
        """Write a schema file."""
        Path(path).write_text(self.to_toml(), encoding="utf-8")


def column_of(table: Mapping[str, Any]) -> Column:
    """A column from a TOML table or saved state."""
    known = {field.name: field for field in fields(Column)}
    if unknown := sorted(set(table) - set(known)):
        raise FileFormatError(
            f"A column of the schema has the unknown key {unknown[0]!r}.",
            value=unknown[0],
            remedy=f"The keys are {', '.join(known)}.",
        )
    if absent := [key for key in ("name", "type") if not isinstance(table.get(key), str)]:
        raise FileFormatError(f"A column of the schema has no {absent[0]!r}.", value=dict(table))
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
    for key, value in values.items():
        wanted = type(known[key].default) if key not in ("name", "type", "header") else str
        if not isinstance(value, wanted) or (wanted is tuple and not all(isinstance(v, str) for v in value)):
            raise FileFormatError(f"{key!r} of column {table['name']!r} must be {_SAID[wanted]}.", value=value)
    return Column(**values)


_SAID = {str: "text", bool: "true or false", tuple: "a list of texts"}


def corrected_column(column: Column, text: str) -> Column:
    """A column with the type the user states, and what follows the colon."""
    kind, _, rest = text.partition(":")
    base = Column(column.name, kind, column.header, missing=column.missing, constant=column.constant)
    if kind in ("number", "count"):
        return replace(base, decimal=column.decimal, thousands=column.thousands, signs=column.signs)
    if kind in ("date", "time"):
        formats = (rest,) if rest else column.formats if column.type == kind else ()
        if rest and not re.search(r"%[a-zA-Z]", rest):
            raise ParameterError("", "--type", "such as date:%d/%m/%Y", text)
        return replace(base, formats=formats)
    if kind in ("ordered", "boolean"):
        levels = tuple(level.strip() for level in rest.split(",")) if rest else ()
        return replace(base, levels=levels or (column.levels if column.type == kind else ()))
    return base
