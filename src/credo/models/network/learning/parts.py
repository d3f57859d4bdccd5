"""What is unknown in each row, split into parts that the known cells make independent of each other.

A missing cell without observed descendants sums to 1 and says nothing: it is dropped. Two of the others belong together
where they share a table, directly or through others. A part is settled by the cells around it, so rows that look alike
there are one case, and what is left is a few states of a few nodes in the large majority of cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from credo.models.network.learning.counts import packed
from credo.models.network.learning.layout import TableLayout
from credo.models.network.learning.rows import CodedRows
from credo.models.network.learning.structure import topological_order

__all__ = ["Group", "Parts", "split_rows"]

# States of a part that are gone through one by one at most, some 1 ms a case; and where many parts are large. Rows with
# a larger part go to elimination.
MOST_STATES, FEW_STATES = 2**14, 2**8
# Elimination plans for some 0.3 s, and takes 0.1 ms a row of a network like alarm; a state takes 0.4 µs. In 20 passes
# the plans are worth their price from so many states on, and so many more for each row.
_PLANS, _ROW = 2**15, 2**8
# Parts whose members are compared at once: some 30 MB of flags.
_CHUNK = 2**20


@dataclass(frozen=True, eq=False)
class Group:
    """Cases of one part: the nodes unknown, the tables that hold them, and where the known cells lead in these.

    sizes (k,), strides (f, k), bases (t, f), weights (t,)
    """

    sizes: np.ndarray
    strides: np.ndarray
    bases: np.ndarray
    weights: np.ndarray


@dataclass(frozen=True, eq=False)
class Parts:
    """groups : all parts of the rows that are not `wide` (n,), which have one with too many states."""

    groups: tuple[Group, ...]
    wide: np.ndarray


def split_rows(rows: CodedRows, layout: TableLayout, most_states: float | None = None) -> Parts:
    """The parts of rows with missing cells. Cost O(n d) and some 50 µs for each different part.

    most_states : of a part that is gone through state by state; None chooses by the work it saves
    """
    from credo.models.network.learning.expectation_kernels import label_parts

    d = len(rows.sizes)
    edges = np.zeros((d, d), dtype=bool)
    for child, family in enumerate(layout.families):
        edges[list(family), child] = True
    missing = np.ascontiguousarray(rows.missing.T)
    idle = barren(missing, layout.families, edges)
    unknown = missing & ~idle
    married = edges | edges.T | (edges.astype(np.float32) @ edges.T.astype(np.float32) > 0.0)
    labels = np.empty(unknown.shape, dtype=np.int32)
    label_parts(unknown.view(np.uint8), married.view(np.uint8), labels, np.empty(d, dtype=np.int64))
    bits = np.log2(rows.sizes)
    at_row, first = np.nonzero(labels == np.arange(d))
    log_states = np.concatenate(
        [_members(labels, at_row, first, part) @ bits for part in _chunks(len(first), d)] or [np.empty(0)]
    )
    wide = np.zeros(rows.n_rows, dtype=bool)
    wide[at_row[log_states > np.log2(most_states or _limit(log_states, at_row)) + 1e-9]] = True
    keep = ~wide[at_row]
    at_row, first = at_row[keep], first[keep]
    keys = [_key(labels, idle, edges, at_row, first, part) for part in _chunks(len(first), d)]
    groups = []
    if keys:
        key = np.concatenate(keys)
        _, where, kind = np.unique(key.view(f"V{key.shape[1]}").ravel(), return_index=True, return_inverse=True)
        order = np.argsort(kind, kind="stable")
        ends = np.searchsorted(kind[order], np.arange(len(where)), side="right")
        cells = np.maximum(rows.columns, 0)
        weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
        for i, start, end in zip(where, np.concatenate([[0], ends[:-1]]), ends):
            members = labels[at_row[i]] == first[i]
            active = (members | edges[members].any(axis=0)) & ~idle[at_row[i]]
            groups.append(_group(layout, cells, weights, members, active, at_row[order[start:end]]))
    return Parts(tuple(groups), wide)


def _limit(log_states: np.ndarray, at_row: np.ndarray) -> int:
    """How many states of a part (log₂ for each of all parts) are worth going through."""
    large = log_states > np.log2(FEW_STATES) + 1e-9
    beyond = log_states > np.log2(MOST_STATES) + 1e-9
    work = np.exp2(log_states[large & ~beyond]).sum()
    price = (0 if beyond.any() else _PLANS) + _ROW * len(np.unique(at_row[large]))
    return FEW_STATES if work > price else MOST_STATES


def barren(missing: np.ndarray, families: Sequence[Sequence[int]], edges: np.ndarray) -> np.ndarray:
    """Missing cells (n, d) without an observed descendant."""
    idle = np.zeros_like(missing)
    for node in reversed(topological_order(families)):
        idle[:, node] = missing[:, node] & idle[:, edges[node]].all(axis=1)
    return idle


def _chunks(n: int, d: int) -> list[slice]:
    step = max(1, _CHUNK // d)
    return [slice(start, start + step) for start in range(0, n, step)]


def _members(labels: np.ndarray, at_row: np.ndarray, first: np.ndarray, part: slice) -> np.ndarray:
    """Which nodes each of these parts has (parts, d)."""
    return labels[at_row[part]] == first[part][:, None]


def _key(
    labels: np.ndarray, idle: np.ndarray, edges: np.ndarray, at_row: np.ndarray, first: np.ndarray, part: slice
) -> np.ndarray:
    """Bytes (parts, ·) that tell parts with the same nodes and tables: its nodes, and its children left out."""
    members = _members(labels, at_row, first, part)
    children = members.astype(np.float32) @ edges.astype(np.float32) > 0.0
    return np.ascontiguousarray(np.packbits(np.concatenate([members, children & idle[at_row[part]]], axis=1), axis=1))


def _group(
    layout: TableLayout, cells: np.ndarray, weights: np.ndarray, members: np.ndarray, active: np.ndarray, at: np.ndarray
) -> Group:
    inside, tables = np.flatnonzero(members).tolist(), np.flatnonzero(active).tolist()
    bases = np.empty((len(at), len(tables)), dtype=np.int64)
    here = cells[:, at]  # a missing cell is in state 0, where the unknown nodes begin
    for i, table in enumerate(tables):
        bases[:, i] = layout.offsets[table] + packed(here, layout.sizes, (*layout.families[table], table))
    _, first, place = np.unique(
        bases.view(f"V{bases.itemsize * len(tables)}").ravel(), return_index=True, return_inverse=True
    )
    return Group(
        np.array([layout.sizes[v] for v in inside]),
        np.array([[layout.strides[table].get(v, 0) for v in inside] for table in tables]),
        bases[first],
        np.bincount(place, weights[at], minlength=len(first)),
    )
