"""Tables to numbers with NaN where a cell is missing, and back into a table of the same kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from credo.errors import DataError, DataWarning, warn
from credo.models.network.batch.cells import is_row
from credo.models.network.naming import renamed, text_named

__all__ = ["columns_of", "numbers_of", "with_columns"]


def columns_of(owner: str, frame: Any, nodes: Sequence[str]) -> tuple[dict[str, Any], int]:
    """({node: its cells}, rows), of the nodes that are columns. Columns that are no nodes are passed over; where a node
    is no column either, with a warning."""
    frame, _ = text_named(frame, nodes)
    if isinstance(frame, np.ndarray):
        if frame.ndim != 2 or frame.shape[1] != len(nodes):
            raise DataError(
                f"{owner}: an array must have a column for each of the {len(nodes)} nodes, in their order, got shape "
                f"{frame.shape}.",
                value=frame.shape,
            )
        found: dict[Any, Any] = dict(zip(nodes, frame.T, strict=True))
    elif isinstance(frame, (list, tuple)):
        if not frame or not all(isinstance(row, Mapping) for row in frame):
            raise DataError(f"{owner}: a list of rows must hold dicts {{node: value}}, at least one.", value=frame)
        names = dict.fromkeys(name for row in frame for name in row)
        found = {name: [row.get(name) for row in frame] for name in names}
    elif isinstance(frame, Mapping):
        found = {name: [cells] if is_row(frame) else cells for name, cells in frame.items()}
    else:
        native = _native(owner, frame)
        found = {name: native[name] for name in native.columns}
    used = {node: found[node] for node in nodes if node in found}
    absent = [node for node in nodes if node not in found]
    strange = [str(name) for name in found if name not in used]
    if not used:
        raise DataError(
            f"{owner}: no column is a node of the network.",
            columns=strange,
            remedy=f"Columns are called as nodes are: {', '.join(nodes[:8])}.",
        )
    if absent and strange:
        warn(
            f"{owner}: column(s) {', '.join(strange[:8])} are no nodes and are passed over, and node(s) "
            f"{', '.join(absent[:8])} have no column and are taken as missing.",
            DataWarning,
        )
    lengths = {node: len(cells) for node, cells in used.items()}
    if len(set(lengths.values())) > 1:
        raise DataError(f"{owner}: columns differ in length.", value=lengths)
    return used, next(iter(lengths.values()))


def numbers_of(owner: str, columns: Mapping[str, Any], rows: int, nodes: Sequence[str]) -> np.ndarray:
    """(rows, nodes) float64: NaN where a cell is None, NaN or null, and where the node is no column."""
    found = np.full((rows, len(nodes)), np.nan)
    for j, node in enumerate(nodes):
        if node in columns:
            found[:, j] = _floats(owner, node, columns[node])
    infinite = np.isinf(found)
    if infinite.any():
        row, j = np.argwhere(infinite)[0]
        raise DataError(
            f"{owner}: row {row}, column {nodes[j]} is infinite.", rows=[int(row)], columns=[str(nodes[j])],
            value=float(found[row, j]),
        )  # fmt: skip
    return found


def _floats(owner: str, node: str, cells: Any) -> np.ndarray:
    if hasattr(cells, "to_numpy") and not isinstance(cells, np.ndarray):
        cells = cells.to_list() if hasattr(cells, "to_list") and cells.null_count() else cells.to_numpy()
    try:
        plain = cells if isinstance(cells, np.ndarray) else list(cells)
        if isinstance(plain, np.ndarray) and plain.dtype.kind in "iufb":
            return plain.astype(np.float64)
        return np.array([np.nan if cell is None else _float(cell) for cell in plain], dtype=np.float64)
    except (TypeError, ValueError):
        bad = next(i for i, cell in enumerate(list(cells)) if not _is_number(cell))
        raise DataError(
            f"{owner}: row {bad}, column {node} holds no number: {list(cells)[bad]!r}.", rows=[bad], columns=[node],
            value=list(cells)[bad],
        ) from None  # fmt: skip


def _float(cell: Any) -> float:
    if isinstance(cell, (str, bytes)):
        raise TypeError
    return float(cell)


def _is_number(cell: Any) -> bool:
    try:
        return cell is None or _float(cell) is not None
    except (TypeError, ValueError):
        return False


def _native(owner: str, frame: Any) -> Any:
    import narwhals as nw
    import polars as pl

    try:
        made: Any = nw.from_native(frame)
        return made.collect() if isinstance(made, nw.LazyFrame) else made
    except (TypeError, nw.exceptions.NarwhalsError, pl.exceptions.PolarsError) as error:
        raise DataError(
            f"{owner}: the table cannot be read: {' '.join(str(error).split())[:200]}",
            value=type(frame).__name__,
            remedy="Give a pandas, polars or Arrow table, a mapping from nodes to cells, or a list of dicts.",
        ) from error


def with_columns(owner: str, frame: Any, nodes: Sequence[str], made: Mapping[str, Any]) -> Any:
    """The frame with these columns in place of, or after, its own."""
    if isinstance(frame, np.ndarray):
        out = frame.astype(np.float64 if all(np.asarray(c).dtype.kind == "f" for c in made.values()) else object)
        for node, cells in made.items():
            out[:, list(nodes).index(node)] = cells
        return out
    frame, called = text_named(frame, nodes)
    lists = {node: np.asarray(cells).tolist() for node, cells in made.items()}
    if isinstance(frame, (list, tuple)):
        rows = [{**row, **{node: cells[i] for node, cells in lists.items()}} for i, row in enumerate(frame)]
        return renamed(rows, called)
    if isinstance(frame, Mapping):
        alone = is_row(frame)
        return renamed({**frame, **{node: lists[node][0] if alone else made[node] for node in made}}, called)
    import narwhals as nw

    native = _native(owner, frame)
    added = [nw.new_series(node, cells, backend=native.implementation) for node, cells in lists.items()]
    if native.implementation.is_pandas_like():
        index = nw.maybe_get_index(native)
        added = [nw.maybe_set_index(series, index=index) for series in added]
    return renamed(native.with_columns(*added).to_native(), called)
