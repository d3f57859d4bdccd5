"""Powers: an expression as (what is free of a node) × node[entries]^exponent, cell by cell.

That is how a scale, a rate or a precision enters a law whatever way it is written: `tau[g]`, `1 / sqrt(lam)`,
`lam ** -0.5`, `2 * v ** 0.5`, `tau * lam`, `exposure * rate[g]`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.program.evaluate import Program
from credo.program.nodes import Node, as_node
from credo.program.ops import OPS
from credo.program.passes.affine import dependencies

__all__ = ["Power", "entries_of", "gathered", "placed_probability", "power_of"]

Memo = dict[int, frozenset[int]]
#: operations that only move or repeat cells of their first argument
MOVES = ("take", "slice", "reshape", "identity", "transpose")


@dataclass(frozen=True, eq=False)
class Power:
    """entries : which entry of the node each cell of the expression holds, C order; exponent : ≠ 0"""

    entries: np.ndarray
    exponent: float


def moved(value: Node, entries: np.ndarray, memo: Memo) -> np.ndarray | None:
    """Entries of the first argument, after an operation of `MOVES`; None where codes are latent."""
    if any(dependencies(parent, memo) for parent in value.parents[1:]):
        return None
    rest = [np.asarray(Program([parent], []).values({})[0]) for parent in value.parents[1:]]
    found = OPS[value.kind].forward([entries, *rest], [False] * len(value.parents), value.static)
    return np.asarray(found, dtype=np.intp)


def entries_of(value: Node, node: Node, memo: Memo) -> np.ndarray | None:
    """Where `value` is nothing but cells of the node, moved: which; None if it is anything else."""
    if value.number == node.number:
        return np.arange(node.size).reshape(node.shape)
    if value.kind not in MOVES or node.number not in dependencies(value.parents[0], memo):
        return None
    inner = entries_of(value.parents[0], node, memo)
    return None if inner is None else moved(value, inner, memo)


def placed_probability(value: Any, node: Node, memo: Memo) -> tuple[np.ndarray, bool] | None:
    """Where `value` is cells of the node, or 1 − cells: which, and whether it is 1 −."""
    value = as_node(value)
    if value.kind == "identity":
        return placed_probability(value.parents[0], node, memo)
    if value.kind == "subtract":
        one, inner = value.parents
        if one.kind != "constant" or np.any(one.value != 1.0):  # type: ignore[operator]
            return None
        found = placed_probability(inner, node, memo)
        return None if found is None else (np.broadcast_to(found[0], value.shape), not found[1])
    if value.kind in ("take", "slice", "reshape") and value.parents[0].kind == "subtract":
        one, inner = value.parents[0].parents
        if one.kind != "constant" or np.any(one.value != 1.0):  # type: ignore[operator]
            return None
        twin = Node(value.kind, [inner, *value.parents[1:]], shape=value.shape, dims=value.dims, static=value.static)
        found = placed_probability(twin, node, memo) if inner.shape == value.parents[0].shape else None
        return None if found is None else (found[0], not found[1])
    entries = entries_of(value, node, memo)
    return None if entries is None else (entries, False)


def power_of(value: Node, node: Node, memo: Memo) -> Power | None:
    """The node's power in an expression that depends on it; None where it is not of that form."""
    if value.number == node.number:
        return Power(np.arange(node.size).reshape(node.shape), 1.0)
    if value.kind in MOVES:
        inner = power_of(value.parents[0], node, memo) if _depends(value.parents[0], node, memo) else None
        entries = None if inner is None else moved(value, inner.entries, memo)
        return None if inner is None or entries is None else Power(entries, inner.exponent)
    if value.kind in ("sqrt", "square"):
        inner = power_of(value.parents[0], node, memo)
        return None if inner is None else Power(inner.entries, inner.exponent * (0.5 if value.kind == "sqrt" else 2.0))
    if value.kind == "power":
        base, exponent = value.parents
        if exponent.value is None or exponent.size != 1 or not _depends(base, node, memo):
            return None
        inner, by = power_of(base, node, memo), float(np.ravel(exponent.value)[0])
        return None if inner is None or by == 0.0 else Power(_spread(inner, value), inner.exponent * by)
    if value.kind in ("multiply", "divide"):
        return _product(value, node, memo)
    return None


def _product(value: Node, node: Node, memo: Memo) -> Power | None:
    entries, exponent = None, 0.0
    for parent, sign in zip(value.parents, (1.0, 1.0 if value.kind == "multiply" else -1.0)):
        if not _depends(parent, node, memo):
            continue
        inner = power_of(parent, node, memo)
        if inner is None:
            return None
        here = _spread(inner, value)
        if entries is not None and not np.array_equal(entries, here):
            return None
        entries, exponent = here, exponent + sign * inner.exponent
    return None if entries is None or exponent == 0.0 else Power(entries, exponent)


def _spread(power: Power, value: Node) -> np.ndarray:
    return np.broadcast_to(power.entries, value.shape)


def _depends(value: Node, node: Node, memo: Memo) -> bool:
    return node.number in dependencies(value, memo)


def gathered(x: np.ndarray, entries: np.ndarray, size: int) -> np.ndarray:
    """Sums of cells by entry: x (..., *cells), which broadcasts against `entries` (*cells), to (..., size)."""
    extra = max(np.ndim(x) - entries.ndim, 0)
    lead = np.shape(x)[:extra]
    if size == 1:
        whole = int(np.prod(np.shape(x)[extra:], dtype=np.int64))
        share = entries.size / max(whole, 1)  # cells that broadcasting repeats
        return np.asarray(x).reshape(*lead, -1).sum(axis=-1, keepdims=True) * share
    cells = np.broadcast_to(x, (*lead, *entries.shape)).reshape(*lead, -1)
    flat = entries.ravel()
    if flat.size == size and np.array_equal(flat, np.arange(size)):
        return cells
    rows = cells.reshape(-1, flat.size)
    at = (np.arange(len(rows))[:, None] * size + flat).ravel()
    return np.bincount(at, rows.ravel(), minlength=len(rows) * size).reshape(*lead, size)
