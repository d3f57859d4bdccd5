"""Family counts N_ijk: how many rows have child i in state k and its parents in configuration j."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from credo.errors import ParameterError
from credo.models.network.learning.rows import CodedRows

__all__ = ["FamilyCounts", "Counter", "count_beside", "packed", "compressed", "DENSE_CELLS"]

# Cells of a family that are held one by one: 32 MB of counts. Beyond, only configurations that occur are.
DENSE_CELLS = 2**22
# A mixed-radix key must fit a 64-bit integer.
_KEYS = 2**62


@dataclass(frozen=True, eq=False)
class FamilyCounts:
    """Counts of a child's states (m, r) under configurations of its parents.

    n_configurations : q, how many there are; the last parent varies fastest
    configurations : None where the table holds all q of them, else the parents' codes (m, p) of those that occur
    """

    table: np.ndarray
    n_configurations: int
    configurations: np.ndarray | None = None

    @property
    def dense(self) -> bool:
        return self.configurations is None


class Counter:
    """Counts families of the rows' columns, and remembers those it has counted.

    Rows with a missing cell in the family are passed over. Cost O(n p) for a new family, and O(q r) memory up to
    `dense_cells`, O(n r) beyond.

    >>> from credo.models.network.learning.rows import coded_rows
    >>> rows = coded_rows("", [[0, 0], [0, 1], [1, 1], [1, 1]], (2, 2), ("rain", "wet"))
    >>> Counter(rows).family(1, (0,)).table.tolist()
    [[1.0, 1.0], [0.0, 2.0]]
    """

    def __init__(self, rows: CodedRows, dense_cells: int = DENSE_CELLS) -> None:
        self.rows, self.dense_cells = rows, dense_cells
        self._known: dict[tuple[int, tuple[int, ...]], FamilyCounts] = {}
        self._any_missing = np.asarray(rows.missing.any(axis=1))

    def family(self, child: int, parents: Sequence[int]) -> FamilyCounts:
        """Counts of the column `child` under the columns `parents`."""
        key = (child, tuple(parents))
        if key not in self._known:
            self._known[key] = self.count(child, tuple(parents))
        return self._known[key]

    def dense(self, child: int, parents: Sequence[int]) -> np.ndarray:
        """The table (q, r), every configuration included.

        Raises
        ------
        ParameterError : it has more cells than can be held.
        """
        found = self.family(child, parents)
        if found.configurations is not None:
            names = self.rows.names
            raise ParameterError(
                "", f"the table of {names[child]}", f"of ≤ {self.dense_cells} numbers",
                found.n_configurations * self.rows.sizes[child],
                f"It has {len(tuple(parents))} parents ({', '.join(names[p] for p in parents)}): give it fewer.",
            )  # fmt: skip
        return found.table

    def count(self, child: int, parents: tuple[int, ...]) -> FamilyCounts:
        """The same, counted anew and not remembered."""
        rows, r = self.rows, self.rows.sizes[child]
        columns, weights = rows.columns, rows.weights
        if self._any_missing[[child, *parents]].any():
            seen = (columns[[child, *parents]] >= 0).all(axis=0)
            columns, weights = columns[:, seen], None if weights is None else weights[seen]
        q = prod(rows.sizes[p] for p in parents)
        if q * r <= self.dense_cells:
            key = packed(columns, rows.sizes, (*parents, child))
            return FamilyCounts(np.bincount(key, weights, q * r).astype(np.float64).reshape(q, r), q)
        key, first = compressed(columns, rows.sizes, parents)
        cells = np.bincount(key * r + columns[child], weights, len(first) * r).astype(np.float64)
        return FamilyCounts(cells.reshape(len(first), r), q, columns[list(parents)][:, first].T)


def packed(columns: np.ndarray, sizes: Sequence[int], members: Sequence[int]) -> np.ndarray:
    """The number of each row's configuration of `members` (n,), the last varying fastest."""
    key = np.zeros(columns.shape[1], dtype=np.int64)
    for member in members:
        key *= sizes[member]
        key += columns[member]
    return key


def compressed(columns: np.ndarray, sizes: Sequence[int], members: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Configurations that occur, numbered from 0: (each row's (n,), a row that has each (m,))."""
    key, first, span = np.zeros(columns.shape[1], dtype=np.int64), np.zeros(min(1, columns.shape[1]), dtype=np.int64), 1
    for member in members:
        if span * sizes[member] >= _KEYS:
            _, key = np.unique(key, return_inverse=True)
            span = int(key.max(initial=0)) + 1
        key = key * sizes[member] + columns[member]
        span *= sizes[member]
    _, first, key = np.unique(key, return_index=True, return_inverse=True)
    return key, first


def count_beside(
    rows: CodedRows, key: np.ndarray, n_keys: int, candidates: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Counts of each row's `key` (n,) with each of several columns, one pass each: (cells, where each begins and ends).

    The cells of a candidate are (n_keys, its states), flat. No cell may be missing.
    """
    from credo.models.network.learning import count_kernels as kernels

    columns = np.array(candidates, dtype=np.int64)
    sizes = np.array([rows.sizes[c] for c in candidates], dtype=np.int64)
    edges = np.concatenate([[0], np.cumsum(n_keys * sizes)])
    key = key.astype(np.int32, copy=False)
    if rows.weights is not None:
        cells = np.zeros(edges[-1])
        kernels.count_weights(key, rows.columns, rows.weights, columns, sizes, edges[:-1], cells)
        return cells, edges
    whole = np.zeros(edges[-1], dtype=np.int64)
    kernels.count_rows(key, rows.columns, columns, sizes, edges[:-1], whole)
    return whole.astype(np.float64), edges
