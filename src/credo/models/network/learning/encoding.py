"""The one place where a table's cells become numbers of states."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import DataError, DataWarning, ParameterError, warn
from credo.models.network.learning.rows import CodedRows, coded_rows
from credo.models.network.naming import listed, mapped

if TYPE_CHECKING:
    import polars as pl

__all__ = ["CodedTable", "code_table", "table_columns"]

# A column with more states than this share of its rows is an identifier or a measurement more likely than a category;
# and so is one with more than so many numbers that are not whole.
_TOO_MANY, _MEASURED = 0.5, 10


@dataclass(frozen=True, eq=False)
class CodedTable:
    """rows : the cells as numbers; states : column → what the numbers mean, in order; hidden : those without cells."""

    rows: CodedRows
    states: Mapping[str, tuple[Any, ...]]
    hidden: tuple[str, ...] = ()


def code_table(
    owner: str,
    table: Any,
    states: Mapping[str, Sequence[Any]] | None = None,
    weights: Any = None,
    hidden: bool = False,
) -> CodedTable:
    """Code a pandas, polars or Arrow table, a mapping from names to cells, a list of dicts, or an array (columns x0…).

    Parameters
    ----------
    states : of some columns, in order; of the others, the levels of an Enum or Categorical column as they stand, False
        and True of booleans (which also match states TRUE and FALSE, in any case), else the distinct values, ascending
    weights : (n,), or the name of a column, which is then no node
    hidden : whether names in `states` that are no column become columns with every cell missing; else an error

    None, NaN and null are missing (−1). Whole numbers stay whole numbers, where missing cells made floats of them too.

    Raises
    ------
    DataError : no rows; a cell that is not among the stated states; dates, infinities, nested cells.
    """
    columns = table_columns(owner, table)
    if isinstance(weights, str):
        if weights not in columns:
            raise ParameterError(owner, "sample_weight", f"a column among {', '.join(columns)}", weights)
        weights = columns.pop(weights).to_numpy()
    stated = mapped(owner, "states", states, "a mapping {column: its states}")
    given = {
        str(name): tuple(listed(owner, f"states[{name!r}]", values, "a list of states"))
        for name, values in stated.items()
    }
    absent = [name for name in given if name not in columns]
    if absent and not hidden:
        raise ParameterError(owner, "states", f"about columns among {', '.join(list(columns)[:12])}", absent[0])
    known, codes = {}, []
    for name, series in columns.items():
        known[name], column = _coded(owner, name, series, given.get(name))
        codes.append(column)
    n = len(codes[0]) if codes else 0
    for name in absent:
        known[name] = given[name]
        codes.append(np.full(n, -1, dtype=np.int32))
    empty = [name for name, values in known.items() if not values]
    if empty:
        raise DataError(
            f"{owner}: column(s) {', '.join(empty[:8])} have no cell, so that their states are unknown.",
            columns=empty,
            remedy="Leave them out, or give their states.",
        )
    _warn_of_many(owner, columns, known, given)
    matrix = np.column_stack(codes) if codes else np.empty((n, 0), dtype=np.int32)
    rows = coded_rows(owner, matrix, [len(v) for v in known.values()], tuple(known), weights)
    return CodedTable(rows, known, tuple(absent))


def table_columns(owner: str, table: Any) -> dict[str, pl.Series]:
    """Each column's cells by its name, which becomes text where it is a number."""
    import narwhals as nw
    import polars as pl

    from credo.tables.readers import as_polars

    if isinstance(table, np.ndarray):
        if table.ndim != 2:
            raise DataError(f"{owner}: an array must have two dimensions, got shape {table.shape}.", value=table.shape)
        table = {f"x{j}": column for j, column in enumerate(table.T)}
    if isinstance(table, (list, tuple)) and table and all(isinstance(row, Mapping) for row in table):
        names = dict.fromkeys(name for row in table for name in row)
        table = {name: [row.get(name) for row in table] for name in names}
    if isinstance(table, Mapping):
        _named_apart(owner, table)
        lone = [name for name, cells in table.items() if isinstance(cells, str) or not hasattr(cells, "__len__")]
        if lone:
            raise DataError(
                f"{owner}: column {lone[0]} holds {table[lone[0]]!r}, which is no column of cells.",
                columns=[str(name) for name in lone],
                remedy="Give a list of cells for each column.",
            )  # fmt: skip
        found = {str(name): _series(str(name), cells) for name, cells in table.items()}
        if len({len(series) for series in found.values()}) > 1:
            raise DataError(f"{owner}: columns differ in length.", value={n: len(s) for n, s in found.items()})
        return found
    try:
        frame: Any = nw.from_native(_with_text_names(owner, table))
        frame = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
        return {name: _declared(frame[name], as_polars) for name in frame.columns}
    except (TypeError, nw.exceptions.NarwhalsError, pl.exceptions.PolarsError) as error:
        raise DataError(
            f"{owner}: the table cannot be read: {' '.join(str(error).split())}",
            value=type(table).__name__,
            remedy="Give a pandas, polars or Arrow table, a mapping from names to cells, or an array.",
        ) from error


def _named_apart(owner: str, names: Iterable[Any]) -> list[str]:
    """Names as text, or an error where two are then the same."""
    texts = [str(name) for name in names]
    if twice := [text for text in dict.fromkeys(texts) if texts.count(text) > 1]:
        raise DataError(
            f"{owner}: two columns are called {twice[0]!r} (names are text here).", columns=twice,
            remedy="Give each column a name of its own.",
        )  # fmt: skip
    return texts


def _with_text_names(owner: str, table: Any) -> Any:
    """A pandas table whose columns are called 0, 1… with these as text."""
    names = getattr(table, "columns", ())
    if not hasattr(table, "set_axis") or all(isinstance(name, str) for name in names):
        return table
    return table.set_axis(_named_apart(owner, names), axis=1)


def _declared(column: Any, as_polars: Any) -> pl.Series:
    """A narwhals series as a polars one, with all the levels that a pandas categorical of words declares."""
    import narwhals as nw
    import polars as pl

    if column.dtype == nw.Categorical and column.implementation.is_pandas_like():
        levels = column.to_native().cat.categories.tolist()
        if all(isinstance(level, str) for level in levels):
            return pl.Series(column.name, as_polars(column).to_list(), pl.Enum(levels))
    return as_polars(column)


def _series(name: str, cells: Any) -> pl.Series:
    """Cells of one kind as they are, of several kinds as text."""
    import polars as pl

    from credo.tables.readers import is_missing

    if type(cells).__module__.startswith("polars") and hasattr(cells, "to_physical"):
        return cells
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "iufb":
        return pl.Series(name, cells)
    plain = [None if is_missing(cell) else cell for cell in (cells.tolist() if hasattr(cells, "tolist") else cells)]
    kinds = {isinstance(cell, str) for cell in plain if cell is not None}
    if len(kinds) > 1:  # numbers and words
        return pl.Series(name, [None if cell is None else str(cell) for cell in plain], dtype=pl.String)
    try:
        return pl.Series(name, plain, strict=True)
    except TypeError:  # several kinds of numbers
        return pl.Series(name, np.array([np.nan if cell is None else float(cell) for cell in plain]))


def _coded(
    owner: str, name: str, series: pl.Series, stated: tuple[Any, ...] | None
) -> tuple[tuple[Any, ...], np.ndarray]:
    """(states, codes (n,) int32) of a column."""
    series, levels = _plain(owner, name, series)
    distinct = series.drop_nulls().unique().sort()
    values = distinct.to_list()
    states = stated if stated is not None else levels if levels is not None else tuple(values)
    place = _places(owner, name, values, states)
    if not values:
        return states, np.full(len(series), -1, dtype=np.int32)
    order = _order(series, distinct)
    codes = np.where(series.is_null().to_numpy(), np.int32(-1), place[order])
    return states, codes.astype(np.int32)


def _order(series: pl.Series, distinct: pl.Series) -> np.ndarray:
    """Each cell's place among the distinct values (n,); anything where it is missing."""
    import polars as pl

    if series.dtype == pl.String:
        return series.cast(pl.Enum(distinct)).to_physical().fill_null(0).to_numpy()
    cells = series.fill_null(distinct[0]).to_numpy()
    return np.searchsorted(distinct.to_numpy(), cells)


def _plain(owner: str, name: str, series: pl.Series) -> tuple[pl.Series, tuple[Any, ...] | None]:
    """A column of text, numbers or booleans, and the states its type declares, if it does."""
    import polars as pl

    dtype: Any = series.dtype
    if dtype == pl.Enum:
        return series.cast(pl.String), tuple(dtype.categories.to_list())
    if dtype == pl.Categorical:
        cells = series.cast(pl.String)
        seen = set(cells.drop_nulls().unique().to_list())
        levels: Any = series.cat
        return cells, tuple(level for level in levels.get_categories().to_list() if level in seen)
    if dtype == pl.Boolean:
        return series, (False, True)
    if dtype == pl.String or dtype.is_integer():
        return series, None
    if dtype == pl.Null:
        return series.cast(pl.String), None
    if not (dtype.is_float() or dtype.is_decimal()):
        raise DataError(
            f"{owner}: column {name} holds {dtype}, which are no states.",
            columns=[name],
            value=str(dtype),
            remedy="Cut it into intervals, or leave it out.",
        )
    numbers = series.cast(pl.Float64).fill_nan(None)
    infinite = numbers.is_infinite().fill_null(False).arg_true()
    if len(infinite):
        raise DataError(
            f"{owner}: column {name} is infinite in row {infinite[0]}.",
            rows=infinite.to_list()[:20],
            columns=[name],
            value=numbers[infinite[0]],
        )
    # Floats that are whole numbers below 2^53 were whole numbers before a missing cell made them floats.
    whole = bool(((numbers == numbers.floor()) & (numbers.abs() < 2.0**53)).all())
    return (numbers.cast(pl.Int64) if whole else numbers), None


def _places(owner: str, name: str, values: list[Any], states: tuple[Any, ...]) -> np.ndarray:
    """The number of each value's state (u,), found as itself, else as its text; True is also TRUE and true."""
    exact = {state: i for i, state in enumerate(states)}
    text = {str(state): i for i, state in enumerate(states)}
    if len(text) < len(states) or len(exact) < len(states):
        text = {}
    place = [exact.get(value, text.get(str(value), -1)) for value in values]
    truths = {name.lower(): i for name, i in text.items() if name.lower() in ("true", "false")}
    if len(truths) == len(states) == 2 and -1 in place:  # who reads TRUE from a file may get True, and the reverse
        place = [truths.get(str(value).lower(), -1) for value in values]
    strange = [value for value, at in zip(values, place) if at < 0]
    if strange:
        raise DataError(
            f"{owner}: column {name} holds {strange[0]!r}, which is none of its states "
            f"({', '.join(map(repr, states[:8]))}{', …' if len(states) > 8 else ''}).",
            columns=[name],
            value=strange[0],
            remedy="Add the state, or empty these cells.",
        )
    return np.array(place, dtype=np.int32)


def _warn_of_many(owner: str, columns: Mapping[str, pl.Series], known: Any, given: Any) -> None:
    free = {name: series for name, series in columns.items() if name not in given}
    measured = [name for name in free if len(known[name]) > _MEASURED and isinstance(known[name][0], float)]
    if measured:
        warn(
            f"{owner}: column(s) {', '.join(measured[:8])} hold measured numbers, each of which "
            f"({len(known[measured[0]])} of {measured[0]}) becomes a state of its own. Cut them into a few intervals; "
            "or learn a network of real numbers: LinearGaussianNetwork.learn (`credo network learn --kind gaussian`).",
            DataWarning,
        )
    many = [
        f"{name} ({len(known[name])})"
        for name, series in free.items()
        if name not in measured and len(known[name]) > max(10.0, _TOO_MANY * len(series))
    ]
    if many:
        warn(
            f"{owner}: column(s) {', '.join(many[:8])} have a state for more than half of their rows: identifiers and "
            "measurements are no categories. Leave them out, or cut them into intervals.",
            DataWarning,
        )
