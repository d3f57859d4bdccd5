"""Frames to numbers of states, and numbers of states back into frames."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from credo.errors import DataError, DataWarning, warn
from credo.models.network.learning.encoding import code_table

__all__ = ["codes_of", "filled"]

# States up to which comparing a column with each is faster than looking its cells up: two take a quarter of the time.
FEW = 5


def codes_of(owner: str, frame: Any, states: Mapping[str, tuple[Any, ...]], target: str | None = None) -> np.ndarray:
    """(nodes, n) int32 in the order of the nodes: −1 where missing, where the node is no column, and of the target.

    Raises `DataError` for a cell that is no state, naming row and column. Columns that are no nodes are passed over,
    with a warning where a node has no column either: then one may be misspelt.
    """
    columns, names = _columns(owner, frame, states)
    used = {node: columns(node) for node in states if node in names and node != target}
    absent = [node for node in states if node not in names and node != target]
    strange = [name for name in names if name not in states]
    if not any(name in states for name in names):
        raise DataError(
            f"{owner}: no column is a node of the network.",
            columns=list(map(str, names)),
            remedy=f"Columns are called as nodes are: {', '.join(list(states)[:8])}.",
        )
    if strange and absent:
        warn(
            f"{owner}: column(s) {', '.join(map(str, strange[:8]))} are no nodes and are passed over, and node(s) "
            f"{', '.join(absent[:8])}{', …' if len(absent) > 8 else ''} have no column and are taken as missing.",
            DataWarning,
        )
    n = _length(columns, names)
    if not used:
        return np.full((len(states), n), -1, dtype=np.int32)
    quick = _quick(used, states, n)
    if quick is not None:
        return quick
    try:
        coded = code_table(owner, _frame(frame, used), {node: states[node] for node in used}).rows
    except DataError as error:
        raise _with_row(owner, error, used) from error
    found = np.full((len(states), coded.n_rows), -1, dtype=np.int32)
    place = {node: i for i, node in enumerate(states)}
    for name, column in zip(coded.names, coded.columns, strict=True):
        found[place[name]] = column
    return found


def _quick(used: Mapping[str, Any], states: Mapping[str, tuple[Any, ...]], n: int) -> np.ndarray | None:
    """Columns of text whose cells are all states, some four times as fast; None where some are not."""
    import narwhals as nw
    import polars as pl

    from credo.tables.readers import as_polars

    found = np.full((len(states), n), -1, dtype=np.int32)
    for row, (node, own) in enumerate(states.items()):
        if node not in used:
            continue
        if not isinstance(used[node], nw.Series) or not all(isinstance(state, str) for state in own):
            return None
        series = as_polars(used[node])
        if series.dtype != pl.String:
            return None
        codes = _text_codes(series, own)
        if codes is None:
            return None
        found[row] = codes
    return found


def _text_codes(series: Any, own: tuple[Any, ...]) -> np.ndarray | None:
    """The number of each cell's state, −1 where missing; None where a cell is no state."""
    import polars as pl

    if len(own) > FEW:
        try:
            numbers = series.cast(pl.Enum(own)).to_physical()
        except pl.exceptions.PolarsError:
            return None
        return numbers.cast(pl.Int32).fill_null(-1).to_numpy()
    codes = np.full(len(series), -1, dtype=np.int8)
    for number, state in enumerate(own, 1):
        codes += (series == state).fill_null(False).to_numpy().view(np.int8) * np.int8(number)
    return codes if np.count_nonzero(codes >= 0) == len(series) - series.null_count() else None


def _frame(frame: Any, used: Mapping[str, Any]) -> Any:
    """The used columns alone, as the encoder takes them."""
    if isinstance(frame, (Mapping, list, tuple, np.ndarray)):
        return dict(used)
    import narwhals as nw

    return _native(frame).select(*used).to_native() if not isinstance(frame, nw.Series) else frame


def _native(frame: Any) -> Any:
    import narwhals as nw

    made: Any = nw.from_native(frame)
    return made.collect() if isinstance(made, nw.LazyFrame) else made


def _columns(owner: str, frame: Any, states: Mapping[str, Any]) -> tuple[Any, list[Any]]:
    """(a function from a name to its cells, the names)."""
    if isinstance(frame, np.ndarray):
        if frame.ndim != 2 or frame.shape[1] != len(states):
            raise DataError(
                f"{owner}: an array must have a column for each of the {len(states)} nodes, in their order, got shape "
                f"{frame.shape}.",
                value=frame.shape,
            )
        frame = dict(zip(states, frame.T, strict=True))
    elif isinstance(frame, (list, tuple)):
        if not frame or not all(isinstance(row, Mapping) for row in frame):
            raise DataError(f"{owner}: a list of rows must hold dicts {{node: state}}, at least one.", value=frame)
        names = list(dict.fromkeys(name for row in frame for name in row))
        return lambda name: [row.get(name) for row in frame], names
    if isinstance(frame, Mapping):
        alone = is_row(frame)
        return lambda name: [frame[name]] if alone else frame[name], list(frame)
    import narwhals as nw
    import polars as pl

    try:
        made = _native(frame)
        return lambda name: made[name], list(made.columns)
    except (TypeError, AttributeError, nw.exceptions.NarwhalsError, pl.exceptions.PolarsError) as error:
        raise DataError(
            f"{owner}: the table cannot be read: {' '.join(str(error).split())[:200]}",
            value=type(frame).__name__,
            remedy="Give a pandas, polars or Arrow table, a mapping from nodes to cells, or a list of dicts.",
        ) from error


def is_row(frame: Mapping[str, Any]) -> bool:
    """Whether a mapping is one row: none of its values is a column."""
    return bool(frame) and all(
        isinstance(cell, (str, bytes)) or not hasattr(cell, "__len__") for cell in frame.values()
    )


def _length(columns: Any, names: Sequence[Any]) -> int:
    return len(columns(names[0])) if names else 0


def _with_row(owner: str, error: DataError, used: Mapping[str, Any]) -> DataError:
    """The encoder's error with the row in which the cell stands."""
    columns = list(error.columns or ())
    if len(columns) != 1 or columns[0] not in used or error.rows:
        return error
    for row, cell in enumerate(_as_list(used[columns[0]])):
        if cell is error.value or str(cell) == str(error.value) or _equal(cell, error.value):
            return DataError(
                f"{str(error).replace(f'column {columns[0]}', f'row {row}, column {columns[0]}', 1)}",
                rows=[row], columns=columns, value=error.value,
            )  # fmt: skip
    return error


def _equal(a: Any, b: Any) -> bool:
    try:
        return bool(a == b)
    except (TypeError, ValueError):
        return False


def _as_list(cells: Any) -> list[Any]:
    return cells.to_list() if hasattr(cells, "to_list") else list(cells)


def filled(frame: Any, states: Mapping[str, tuple[Any, ...]], codes: np.ndarray, given: np.ndarray) -> Any:
    """A frame of the same kind, in which the cells that were missing hold their states; nodes without column are added.

    codes, given (nodes, n) : states after and before
    """
    made = {}
    for node, after, before in zip(states, codes, given, strict=True):
        if np.any(after != before):
            own = states[node]
            made[node] = [own[i] if i >= 0 else None for i in after.tolist()]
    if isinstance(frame, np.ndarray):
        out = frame.astype(object)
        for j, node in enumerate(states):
            if node in made:
                out[:, j] = made[node]
        return out
    if isinstance(frame, (list, tuple)):
        return [{**row, **{node: cells[i] for node, cells in made.items()}} for i, row in enumerate(frame)]
    if isinstance(frame, Mapping):
        alone = is_row(frame)
        return {**frame, **{node: cells[0] if alone else cells for node, cells in made.items()}}
    return _filled_frame(_native(frame), made)


def _filled_frame(frame: Any, made: Mapping[str, list[Any]]) -> Any:
    import narwhals as nw
    import polars as pl

    added = []
    for node, cells in made.items():
        series = nw.new_series(node, pl.Series(node, cells, strict=False).to_list(), backend=frame.implementation)
        if node in frame.columns:
            with contextlib.suppress(Exception):  # a column of another type gets the states' own
                series = series.cast(frame.schema[node])
        added.append(series)
    if frame.implementation.is_pandas_like():  # rows are matched by label there
        index = nw.maybe_get_index(frame)
        if index is not None:
            added = [nw.maybe_set_index(series, index=nw.maybe_get_index(frame)) for series in added]
    return frame.with_columns(*added).to_native()
