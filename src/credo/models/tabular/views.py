"""What a model is shown of a table: features, for models that weigh numbers, or the cells themselves.

`FEATURES`  0/1 columns for categories, missing cells filled in and marked
`CELLS`     a column for each of the table's: numbers, places of levels; NaN where missing
`BOTH`      the one beside the other, for several models at once
"""

from __future__ import annotations

from dataclasses import replace

from credo.tables import FittedEncoder
from credo.tables.encodings import (
    CategoryEncoding,
    ColumnEncoding,
    DateEncoding,
    NumberEncoding,
    PresenceEncoding,
)

__all__ = ["FEATURES", "CELLS", "BOTH", "views_of", "families_of"]

FEATURES, CELLS, BOTH = "features", "cells", "both"


def views_of(encoder: FittedEncoder) -> dict[str, FittedEncoder]:
    """View → what writes it."""
    columns = tuple(map(_as_cells, encoder.columns))
    # What was said of filling in is of features alone.
    said = tuple(each for each in encoder.decisions if each.startswith("Target ") or " is left out" in each)
    kept = "Every column is read as it is: categories as categories, and missing cells stay missing."
    cells = replace(encoder, columns=columns, missing="keep", decisions=(*said, kept))
    return {FEATURES: encoder, CELLS: cells, BOTH: replace(encoder, columns=(*encoder.columns, *columns))}


def _as_cells(column: ColumnEncoding) -> ColumnEncoding:
    if isinstance(column, NumberEncoding):
        return replace(column, fill=None, indicator=False)
    if isinstance(column, CategoryEncoding):
        return NumberEncoding(column.name, (*column.levels, *column.pooled))
    return replace(column, fill=(), indicator=False) if isinstance(column, DateEncoding) else column


def families_of(encoder: FittedEncoder) -> tuple[str, ...]:
    """What `NaiveBayes` is to take every column of `CELLS` for."""
    cells = views_of(encoder)[CELLS]
    return tuple(
        _family(column, cells.schema[column.name].type, feature)
        for column in cells.columns
        for feature in column.features
    )


def _family(column: ColumnEncoding, type_: str, feature: str) -> str:
    if isinstance(column, PresenceEncoding) or type_ == "boolean":
        return "bernoulli"
    if isinstance(column, NumberEncoding) and column.levels:
        return "categorical"
    if isinstance(column, DateEncoding):
        return "bernoulli" if feature.startswith(f"{column.name}=") else "gaussian"
    return "count" if type_ == "count" else "auto"
