"""Latents that are independent given the others: the effects of a grouping, one to three to a group.

Notation: z = (u_1 … u_G, c): no factor and no site joins two of the groups u_g, so that given the rest c

    p(y, z | θ) = p(c, rows of no group) Π_g p(u_g, rows of g | c)

and each group is an integral in one to three dimensions (`tables`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from credo.inference.gaussian_block.rowwise import factor_pattern
from credo.inference.laplace_block.rows import Entries, SiteRows

__all__ = ["GroupRows", "Groups", "Partition", "partition"]

# Numbers of a group up to which its integral is a sum over a grid: 17 nodes for one, 150 for two, 600 for three; and
# rows up to which it is for three.
WIDEST, MOST_ROWS = 3, 20000
# A partition is worth its trouble where groups hold this share of the latents.
LEAST_SHARE = 0.25


class GroupRows(NamedTuple):
    """The rows of one site that touch some group: rows (m,) sorted by group, of (m,) their groups.
    where : (w, m) of each row's entries among [dense (n·q), sparse (E), 0]; (K, w, m) where a cell has K rows, which
    are numbered by cells."""

    rows: np.ndarray
    of: np.ndarray
    where: np.ndarray

    def entries(self, entries: Entries) -> np.ndarray:
        """a (w, m), or (K, w, m)."""
        return np.concatenate([entries.dense.ravel(), entries.sparse, np.zeros(1)])[self.where]


class Groups(NamedTuple):
    """Groups of the same width w: columns (G, w), and their rows of each site."""

    columns: np.ndarray
    rows: list[GroupRows]


class Partition(NamedTuple):
    """kinds : the groups by width. rest : (q,) columns of c. free : rows of each site that touch no group."""

    kinds: list[Groups]
    rest: np.ndarray
    free: list[np.ndarray]

    @property
    def count(self) -> int:
        return sum(len(each.columns) for each in self.kinds)


def partition(factors: Sequence[Any], rows: Sequence[SiteRows], size: int) -> Partition | None:
    """The groups, chosen where they have the fewest neighbours; None where there is hardly any."""
    widest = WIDEST if sum(each.cells for each in rows) <= MOST_ROWS else 2
    chosen = _independent(_adjacency(factors, rows, size), widest)
    grouped = sum(len(each) for each in chosen)
    if grouped < LEAST_SHARE * size:
        return None
    kinds, place = [], np.full(size, -1)
    free = [np.ones(each.cells, dtype=bool) for each in rows]
    for width in range(1, WIDEST + 1):
        columns = np.array([each for each in chosen if len(each) == width], dtype=np.int64).reshape(-1, width)
        if not len(columns):
            continue
        place[columns.ravel()] = 0
        own = [_rows_of(each, columns) for each in rows]
        for each, open_ in zip(own, free, strict=True):
            open_[each.rows] = False
        kinds.append(Groups(columns, own))
    return Partition(kinds, np.flatnonzero(place < 0), [np.flatnonzero(each) for each in free])


def _adjacency(factors: Sequence[Any], rows: Sequence[SiteRows], size: int) -> Any:
    """(p, p) CSR with the diagonal: which columns share a row of anything."""
    total: Any = scipy.sparse.eye_array(size, format="csr")
    for factor in factors:
        pattern = factor_pattern(factor, size)
        total = total + pattern.T @ pattern
    for each in rows:
        total = total + each.adjacent
    total = total.tocsr()
    total.sort_indices()
    return total


def _independent(graph: Any, widest: int) -> list[np.ndarray]:
    """Sets of at most `widest` columns with the same neighbours, no two of them joined: greedily, those with the fewest
    neighbours first."""
    ones = graph.copy()
    ones.data = np.ones(len(graph.indices), dtype=np.int64)
    labels = np.random.default_rng(0).integers(2**62, size=graph.shape[0])
    _, which = np.unique(ones @ labels, return_inverse=True)
    order = np.argsort(which, kind="stable")
    members = np.split(order, np.flatnonzero(np.diff(which[order])) + 1)
    degree = np.diff(graph.indptr)
    taken, chosen = np.zeros(graph.shape[0], dtype=bool), []
    for each in sorted(members, key=lambda each: (degree[each[0]], each[0])):
        first = each[0]
        around = graph.indices[graph.indptr[first] : graph.indptr[first + 1]]
        if len(each) <= widest and not taken[around].any():
            chosen.append(np.sort(each))
            taken[each] = True
    return sorted(chosen, key=lambda each: each[0])


def _rows_of(rows: SiteRows, columns: np.ndarray) -> GroupRows:
    """The rows of one site that touch some group of these columns (G, w)."""
    G, width = columns.shape
    group, side = np.full(rows.size, -1), np.zeros(rows.size, dtype=np.int64)
    group[columns.ravel()] = np.repeat(np.arange(G), width)
    side[columns.ravel()] = np.tile(np.arange(width), G)
    q = len(rows.columns)
    dense_row, dense_at = np.nonzero(rows.has_dense & (group[rows.columns] >= 0))
    mine = np.flatnonzero(group[rows.column] >= 0)
    row = np.concatenate([dense_row, rows.row[mine]])
    column = np.concatenate([rows.columns[dense_at], rows.column[mine]])
    where = np.concatenate([dense_row * q + dense_at, rows.n * q + mine])
    cell, kind = row % rows.cells, row // rows.cells
    owner = np.full(rows.cells, -1)
    owner[cell] = group[column]
    touched = np.flatnonzero(owner >= 0)
    touched = touched[np.argsort(owner[touched], kind="stable")]
    place = np.full(rows.cells, -1)
    place[touched] = np.arange(len(touched))
    at = np.full((rows.n // rows.cells, width, len(touched)), rows.n * q + len(rows.row))
    at[kind, side[column], place[cell]] = where
    return GroupRows(touched, owner[touched], at if len(at) > 1 else at[0])
