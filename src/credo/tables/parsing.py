"""From cells to values: one polars expression a column, and an error with the line when a cell does not fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from credo.errors import DataError
from credo.tables.dates import parse_dates
from credo.tables.schema import Column, Schema

if TYPE_CHECKING:
    import polars as pl

    from credo.tables.readers import Reader

__all__ = ["parse_frame", "matched_types"]


def parse_frame(frame: pl.DataFrame, schema: Schema, reader: Reader, start: int = 0) -> pl.DataFrame:
    """The frame's columns by their schema: Float64, Boolean, Datetime, Time or String; missing cells are null.

    Raises
    ------
    DataError : a present cell that the column's type cannot read, with its line, column and the option that helps.
    """
    present = frame.select([present_cells(frame.schema[c.name], c).alias(c.name) for c in schema])
    values = present.select([value_of(present.schema[c.name], c).alias(c.name) for c in schema])
    for column in schema:
        if values[column.name].null_count() != present[column.name].null_count():
            bad = present[column.name].is_not_null() & values[column.name].is_null()
            row = bad.arg_max() or 0
            raise unreadable(column, present[column.name][row], reader, start + row)
    return values


def present_cells(dtype: Any, column: Column) -> pl.Expr:
    """The cells without those that a word marks as missing."""
    import polars as pl

    cells = pl.col(column.name)
    if str(dtype) == "String" and column.missing:
        return pl.when(~cells.is_in(list(column.missing))).then(cells)
    return cells


def value_of(dtype: Any, column: Column) -> pl.Expr:
    """The value of the present cells, null where a cell cannot be read."""
    import polars as pl

    cells = pl.col(column.name)
    text = str(dtype) == "String"
    if column.is_numeric:
        return column.number_format.parse(cells) if text else cells.cast(pl.Float64, strict=False)
    if column.type == "boolean":
        return as_boolean(cells, dtype, column)
    if column.type in ("date", "time") and text:
        return parse_dates(cells, column.formats)
    if column.type in ("date", "time"):
        wanted = pl.Datetime("us") if column.type == "date" else pl.Time
        return cells if dtype == wanted else pl.lit(None, dtype=wanted)
    return cells if text else as_text(cells, dtype)


def as_boolean(cells: pl.Expr, dtype: Any, column: Column) -> pl.Expr:
    import polars as pl

    if dtype == pl.Boolean:
        return cells
    no, yes = column.levels if len(column.levels) == 2 else ("0", "1")
    text = cells.str.to_lowercase() if str(dtype) == "String" else as_text(cells, dtype)
    return pl.when(text == yes.lower()).then(True).when(text == no.lower()).then(False)


def as_text(cells: pl.Expr, dtype: Any) -> pl.Expr:
    """Text of typed cells; 3.0 is written 3, so that whole floats and integers name the same category."""
    import polars as pl

    if dtype.is_float():
        whole = cells == cells.round()
        return (
            pl.when(whole & (cells.abs() < 2**53))
            .then(cells.cast(pl.Int64, strict=False).cast(pl.String))
            .otherwise(cells.cast(pl.String))
        )
    return cells.cast(pl.String)


def unreadable(column: Column, cell: object, reader: Reader, row: int) -> DataError:
    wanted = {
        "number": f"a number ({column.number_format.description})",
        "count": f"a number ({column.number_format.description})",
        "boolean": "one of " + " and ".join(map(repr, column.levels or ("0", "1"))),
        "date": "a date written " + " or ".join(column.formats),
        "time": "a time written " + " or ".join(column.formats),
    }[column.type]
    shown = str(cell)[:40]
    return DataError(
        f"{reader.position(row)}, column {column.name!r}: {shown!r} is not {wanted}.",
        rows=[row],
        columns=[column.name],
        value=cell,
        remedy=f"State --missing {shown!r} if it means a missing cell, or --type '{column.name}=category'.",
    )


def unreadable_cells(series: pl.Series, column: Column) -> int:
    """How many cells the column's type cannot read."""
    frame = series.alias(column.name).to_frame()
    present = frame.select(present_cells(frame.schema[column.name], column).alias(column.name))
    values = present.select(value_of(present.schema[column.name], column))
    return values.to_series().null_count() - present.to_series().null_count()


def matched_types(inferred: Schema, wanted: Mapping[str, Column], sample: pl.DataFrame) -> Schema:
    """The inferred schema with the types of `wanted`; cells are read as they were then, unless they are written anew.

    A file to predict may write its numbers differently from the file the model was fitted on: its own format is taken
    only when the old one does not read the sample.
    """
    columns = []
    for own in inferred:
        old = wanted.get(own.name)
        columns.append(own if old is None else matched(own, old, sample))
    return Schema(tuple(columns))


def matched(own: Column, old: Column, sample: pl.DataFrame) -> Column:
    markers = tuple(sorted({*old.missing, *own.missing}))
    kept = replace(old, header=own.header, missing=markers)
    text = str(sample.schema[own.name]) == "String"
    if text and (kept.type not in ("date", "time") or kept.formats) and not unreadable_cells(sample[own.name], kept):
        return kept
    if not text:
        return kept
    rewritten = replace(
        kept, decimal=own.decimal, thousands=own.thousands, signs=own.signs, formats=own.formats or kept.formats
    )
    alike = own.type == old.type or (own.is_numeric and old.is_numeric)
    return rewritten if alike else kept
