"""Cells of categories ↔ codes: what each column's categories are, and which cells are missing."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.errors import DataError

__all__ = ["is_missing", "categories_of", "codes_of", "merged_categories"]


def is_missing(column: np.ndarray) -> np.ndarray:
    """None, NaN, pandas.NA and NaT (n,)."""
    if column.dtype == object:
        return np.array([_missing(cell) for cell in column], dtype=bool)
    return np.isnan(column) if column.dtype.kind == "f" else np.zeros(len(column), dtype=bool)


def _missing(cell: Any) -> bool:
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(cell, (float, np.floating)) and cell != cell


def categories_of(owner: str, name: str, column: np.ndarray) -> np.ndarray:
    """The distinct values of a column, ascending: strings if any is, else numbers."""
    seen = column[~is_missing(column)]
    if seen.dtype == object:
        seen = _plain(owner, name, seen)
    return np.unique(seen)


def _plain(owner: str, name: str, cells: np.ndarray) -> np.ndarray:
    if any(isinstance(cell, str) for cell in cells):
        return np.array([str(cell) for cell in cells], dtype=np.str_)
    try:
        return cells.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"{owner}: column {name} holds {type(cells[0]).__name__}, which is neither text nor number.",
            value=cells[0],
            columns=[name],
        ) from error


def codes_of(owner: str, name: str, column: np.ndarray, categories: np.ndarray) -> np.ndarray:
    """Places in `categories` (n,) as float64: NaN where missing, len(categories) where not among them."""
    codes = np.full(len(column), np.nan)
    present = ~is_missing(column)
    cells = column[present]
    if cells.dtype == object and len(cells):
        cells = _plain(owner, name, cells)
    if not len(categories):
        codes[present] = 0.0
        return codes
    if (cells.dtype.kind == "U") != (categories.dtype.kind == "U"):
        cells, categories = cells.astype(np.str_), categories.astype(np.str_)
        order = np.argsort(categories)
    else:
        order = np.arange(len(categories))
    at = np.minimum(np.searchsorted(categories[order], cells), len(categories) - 1)
    codes[present] = np.where(categories[order][at] == cells, order[at], len(categories))
    return codes


def merged_categories(earlier: np.ndarray, later: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(all categories, the place of each earlier one among them)."""
    both = np.unique(np.concatenate([earlier, later])) if len(earlier) and len(later) else (
        earlier if len(earlier) else later
    )  # fmt: skip
    place = np.searchsorted(both, earlier.astype(both.dtype)) if len(earlier) else np.empty(0, dtype=np.intp)
    return both, place
