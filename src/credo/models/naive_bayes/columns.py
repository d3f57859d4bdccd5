"""The columns of any table: what each holds, which family suits it, and its cells as numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from credo.errors import DataError, ParameterError
from credo.models.naive_bayes.tables import categories_of, codes_of, is_missing

__all__ = ["FAMILIES", "RawColumn", "raw_columns", "chosen_families", "encoded", "ruled_out"]

FAMILIES = ("categorical", "bernoulli", "gaussian", "student_t", "poisson", "log_normal", "hurdle", "kde")
# Whole numbers of so few values, each seen by some ten rows, are categories: a table of them takes any shape. With
# log-normal columns this took German credit from −0.590 to −0.520 nats a row (tests/reference), Titanic by 0.01.
_FEW_VALUES, _ROWS_A_VALUE = 20, 10
# Kurtosis within classes, 3 for a Normal and 6 for a Laplace law: beyond, one cell can decide a Normal row.
_HEAVY = 6.0
# Whole numbers are Poisson where their variance within classes is their mean up to this factor: outside of it a Normal
# of free variance has the better log score.
_DISPERSION = 2.0


@dataclass(frozen=True)
class RawColumn:
    """kind: "category", "boolean", "count" or "number"; cells (n,) as found, or as float64 where they are numbers.

    least : the least number of the column where these are not all its cells
    """

    name: str
    kind: str
    cells: np.ndarray
    least: float = np.inf


def raw_columns(owner: str, X: Any, names: tuple[str, ...]) -> list[RawColumn]:
    """The columns of a frame (pandas, polars, Arrow…, by its types) or of an array (by its cells)."""
    if hasattr(X, "columns") or hasattr(X, "column_names"):
        import narwhals as nw

        try:
            frame: Any = nw.from_native(X, eager_only=True)
        except (TypeError, nw.exceptions.NarwhalsError) as error:
            raise DataError(
                f"{owner}: the table cannot be read: {' '.join(str(error).split())}",
                value=type(X).__name__,
                remedy="Give a pandas, polars or Arrow table, or an array.",
            ) from error
        return [_of_series(owner, str(series.name), series) for series in frame.iter_columns()]
    return [_of_cells(owner, name, column) for name, column in zip(names, np.asarray(X).T, strict=True)]


def _of_series(owner: str, name: str, series: Any) -> RawColumn:
    import narwhals as nw

    dtype = series.dtype
    if dtype == nw.Boolean:
        return RawColumn(name, "boolean", _floats(series))
    if dtype.is_numeric():
        cells = _floats(series)
        kind = _kind_of_numbers(cells) if dtype.is_integer() else "number"
        return RawColumn(name, kind, _finite(owner, name, cells))
    if dtype.is_temporal():
        days = np.asarray(series.cast(nw.Datetime).to_numpy(), dtype="datetime64[us]")
        cells = days.astype(np.int64) / 86_400e6
        cells[np.isnat(days)] = np.nan
        return RawColumn(name, "number", cells)
    return _of_cells(owner, name, np.array(series.to_list(), dtype=object))


def _floats(series: Any) -> np.ndarray:
    cells = np.array(series.to_list(), dtype=object)
    cells[is_missing(cells)] = np.nan
    return cells.astype(np.float64)


def _of_cells(owner: str, name: str, cells: np.ndarray) -> RawColumn:
    if cells.dtype == object:
        present = cells[~is_missing(cells)]
        if any(isinstance(cell, str) for cell in present):
            return RawColumn(name, "category", cells)
        try:
            numbers = np.full(len(cells), np.nan)
            numbers[~is_missing(cells)] = present.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(
                f"{owner}: column {name} holds {type(present[0]).__name__}, which is neither text nor number "
                "(argument must be a string or a number).", columns=[name], value=present[0],
            ) from error  # fmt: skip
        return RawColumn(name, _kind_of_numbers(numbers), _finite(owner, name, numbers))
    if cells.dtype.kind in "US":
        return RawColumn(name, "category", cells)
    numbers = cells.astype(np.float64)
    kind = "boolean" if cells.dtype.kind == "b" else _kind_of_numbers(numbers)
    if kind == "count" and cells.dtype.kind == "f":
        kind = "number"  # an array of floats says nothing of counting
    return RawColumn(name, kind, _finite(owner, name, numbers))


def _kind_of_numbers(cells: np.ndarray) -> str:
    present = cells[~np.isnan(cells)]
    if not len(present) or np.any(present < 0.0) or np.any(present != np.floor(present)):
        return "number"
    return "boolean" if np.all(present <= 1.0) else "count"


def _finite(owner: str, name: str, cells: np.ndarray) -> np.ndarray:
    bad = np.flatnonzero(np.isinf(cells))
    if bad.size:
        raise DataError(
            f"{owner}: Input X contains infinity or a value too large: column {name}, row {bad[0]}.",
            rows=bad[:20].tolist(),
            columns=[name],
            value=float(cells[bad[0]]),
        )
    return cells


def chosen_families(owner: str, families: Any, columns: list[RawColumn], codes: Any, weights: Any) -> tuple[str, ...]:
    """The family of every column: as stated by a list or by name, else by what the column holds."""
    stated: dict[int, str] = {}
    names = [column.name for column in columns]
    if isinstance(families, Mapping):
        for name, family in families.items():
            if str(name) not in names:
                raise ParameterError(
                    owner, "families", "a dict by names of columns", name, f"The columns are {', '.join(names)}."
                )
            stated[names.index(str(name))] = family
    elif isinstance(families, str):
        stated = {} if families == "auto" else dict.fromkeys(range(len(columns)), families)
    else:
        if len(families) != len(columns):
            raise ParameterError(owner, "families", f"as long as there are columns ({len(columns)})", families)
        stated = dict(enumerate(families))
    # What may be counted in an array of floats is known to whoever read the table; in these rows all may be 0 or 1.
    counted = {j for j, family in stated.items() if family == "count"}
    columns = [
        replace(column, kind="count") if j in counted and column.kind in ("number", "boolean") else column
        for j, column in enumerate(columns)
    ]
    stated = {j: family for j, family in stated.items() if family not in ("auto", "count")}
    for family in stated.values():
        if family not in FAMILIES:
            raise ParameterError(owner, "families", f"one of {', '.join(FAMILIES)}, 'count' or 'auto'", family)
    return tuple(stated.get(j) or _suited(column, codes, weights) for j, column in enumerate(columns))


def _suited(column: RawColumn, codes: Any, weights: Any) -> str:
    if column.kind in ("category", "boolean"):
        return "categorical" if column.kind == "category" else "bernoulli"
    if codes is None:
        return "gaussian"
    kept = ~np.isnan(column.cells) & (codes >= 0)
    x, c = column.cells[kept], codes[kept]
    w = np.ones(len(x)) if weights is None else weights[kept]
    # rows without a label are fitted too, and must lie in the support
    least = float(np.fmin.reduce(column.cells, initial=column.least))
    if column.kind == "number":
        return _normal_scale(x, c, w, least)
    distinct = len(np.unique(column.cells[~np.isnan(column.cells)]))
    if distinct <= min(_FEW_VALUES, len(x) / _ROWS_A_VALUE):
        return "categorical"
    within, mean = float(w @ np.square(x - _means(x, c, w)[c])), float(w @ x)
    return "poisson" if mean / _DISPERSION <= within <= mean * _DISPERSION else _normal_scale(x, c, w, least)


def _means(x: np.ndarray, c: np.ndarray, w: np.ndarray) -> np.ndarray:
    n = np.bincount(c, w)
    return np.bincount(c, w * x) / np.where(n > 0, n, 1.0)


def _normal_scale(x: np.ndarray, c: np.ndarray, w: np.ndarray, least: float) -> str:
    """The likelier of "gaussian" and "log_normal", of the cells above 0 where the others are all 0 ("hurdle");
    "student_t" where the tails are too heavy for the first. least : of all cells of the column."""
    if not len(x) or np.ptp(x) == 0.0:
        return "gaussian"
    best, z, above = "gaussian", x, x > 0.0
    if least >= 0.0 and _log_normal_is_likelier(x[above], c[above], w[above]):
        best = "log_normal" if least > 0.0 else "hurdle"
    square = np.square(z - _means(z, c, w)[c])
    share = square / (np.max(square) or 1.0)  # fourth powers neither overflow nor vanish
    part = w / w.sum()
    kurtosis = part @ np.square(share) / max(float(part @ share) ** 2, np.finfo(float).tiny)
    return "student_t" if kurtosis > _HEAVY and best == "gaussian" else best


def _log_normal_is_likelier(x: np.ndarray, c: np.ndarray, w: np.ndarray) -> bool:
    log = np.log(x)
    return bool(np.ptp(x) > 0.0 and _likelihood(log, c, w) - w @ log > _likelihood(x, c, w)) if len(x) else False


def _likelihood(z: np.ndarray, c: np.ndarray, w: np.ndarray) -> float:
    """Largest Normal log likelihood within classes, up to what does not depend on the scale."""
    n = np.bincount(c, w)
    variance = np.bincount(c, w * np.square(z - _means(z, c, w)[c])) / np.where(n > 0, n, 1.0)
    return float(-0.5 * np.sum(n * np.log(np.maximum(variance, np.finfo(float).tiny))))


def encoded(owner: str, column: RawColumn, family: str, categories: Any) -> np.ndarray:
    """Cells as numbers (n,), NaN where missing: codes of categories (unseen ones one beyond), or the numbers."""
    if categories is not None:
        codes = codes_of(owner, column.name, column.cells, categories)
        if family == "bernoulli":
            codes[codes >= 2.0] = np.nan  # neither no nor yes
        return codes
    if column.kind == "category":
        raise DataError(
            f"{owner}: column {column.name} holds text, which is no number.",
            columns=[column.name],
            value=column.cells[0],
            remedy="Choose the family 'categorical' for it.",
        )
    return column.cells


def ruled_out(family: str, cells: np.ndarray) -> np.ndarray:
    """Whether no class of the family can hold a cell, whatever its parameters; not where it is missing."""
    if family == "log_normal":
        return cells <= 0.0
    if family == "hurdle":
        return cells < 0.0
    if family == "poisson":
        return (cells < 0.0) | (np.mod(cells, 1.0) > 0.0)
    return np.zeros(len(cells), dtype=bool)


def found_categories(owner: str, column: RawColumn, family: str) -> Any:
    """Categories of a column whose family needs them, else None."""
    if family == "categorical" or (family == "bernoulli" and column.kind != "boolean"):
        categories = categories_of(owner, column.name, column.cells)
        if family == "bernoulli" and len(categories) > 2:
            raise DataError(
                f"{owner}: column {column.name} has {len(categories)} values; a Bernoulli column has two.",
                columns=[column.name],
                value=categories[:5].tolist(),
                remedy="Choose the family 'categorical' for it.",
            )
        return categories
    return None
