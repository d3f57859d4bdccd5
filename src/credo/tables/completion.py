"""What a stated type leaves open (the format of numbers and dates, the order of levels), from the cells."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from credo.errors import DataError
from credo.tables import missing
from credo.tables.cells import Context, cells_of
from credo.tables.dates import DATE_FORMATS, TIME_FORMATS
from credo.tables.inference import chosen_format, covering, number_formats, reads
from credo.tables.options import ReadOptions
from credo.tables.scales import ordered_levels
from credo.tables.schema import Column

if TYPE_CHECKING:
    import polars as pl

__all__ = ["number_format_of", "date_formats_of", "levels_of"]


def number_format_of(column: Column, cells: pl.Series, options: ReadOptions) -> Column:
    """The column with the format that reads its cells; without one it is unchanged, and reading names the bad cell."""
    found = cells_of(cells)
    core = found.without(missing.IN_NUMBERS | frozenset(options.missing or ()) | frozenset(column.missing))
    context = Context(options, None)
    markers = tuple(sorted({*column.missing, *found.among(missing.IN_NUMBERS | context.stated)}))
    formats = number_formats(core, context)
    if not formats:
        return replace(column, missing=markers)
    format = chosen_format(core, formats, context)
    return replace(column, decimal=format.decimal, thousands=format.thousands, signs=format.signs, missing=markers)


def date_formats_of(column: Column, cells: pl.Series) -> tuple[str, ...]:
    """Formats that together read the column.

    Raises
    ------
    DataError : none do.
    """
    core = cells_of(cells).without(missing.IN_NUMBERS | frozenset(column.missing))
    known = DATE_FORMATS if column.type == "date" else TIME_FORMATS
    read = {f.format: flags for f in known if (flags := reads(core.values, f)).any()}
    whole = [format for format, flags in read.items() if flags.all()]
    formats = (whole[0],) if whole else covering(read, len(core.values))
    if not formats:
        example = core.values[0] if core.distinct else None
        raise DataError(
            f"Column {column.name!r} cannot be read as a {column.type}: {example!r} is in no format known.",
            columns=[column.name],
            value=example,
            remedy=f"State the format: --type '{column.name}={column.type}:%d/%m/%Y'.",
        )
    return formats


def levels_of(column: Column, cells: pl.Series) -> tuple[str, ...]:
    """Levels of an ordered or boolean column: a scale that is recognised, else sorted.

    Raises
    ------
    DataError : a boolean column with other than two values.
    """
    core = cells_of(cells).without(missing.CODES | missing.SIGNS | frozenset(column.missing))
    values = sorted(core.values.to_list(), key=_numeric_first)
    if column.type == "boolean" and len(values) != 2:
        raise DataError(
            f"Column {column.name!r} cannot be boolean: it has {len(values)} values.",
            columns=[column.name],
            value=values[:5],
            remedy="State its type as category.",
        )
    return ordered_levels(values) or tuple(values)


def _numeric_first(text: str) -> tuple[int, float, str]:
    try:
        return (0, float(text), text)
    except ValueError:
        return (1, 0.0, text)
