"""Where the entries of a sparse precision and of its factor are kept: one panel a group, then the dense rest.

A group of b columns joined to d later ones owns a panel (b + d, b), row by row: first its own b × b block (the lower
triangle is used), then one row for each neighbour. The dense rest (m, m) comes last, row by row, lower triangle. All
lie in one vector of `size` numbers, which holds H, then its factor, then entries of its inverse.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from credo.errors import MemoryLimitError
from credo.inference.gaussian_block.ordering import Elimination

__all__ = ["Layout"]

# 4 GiB of float64 for factor and inverse together.
LARGEST = 2**28


@dataclass(frozen=True)
class Layout:
    """order : (p,) columns in the order of elimination; place : its inverse
    first, widths, degrees, offsets : (G,) of each group: first place, b, d, start of its panel
    starts, neighbours : places of the neighbours of all groups, (G + 1,) and flat
    sparse_degrees : (G,) how many of the neighbours come before the dense rest
    row_starts, row_groups, row_places : see `rest_rows`
    pair_starts, pairs : positions that a group's update touches in the panels of later groups
    rest_first, rest_offset, rest_size : of the dense rest
    """

    elimination: Elimination
    order: np.ndarray
    place: np.ndarray
    first: np.ndarray
    widths: np.ndarray
    degrees: np.ndarray
    offsets: np.ndarray
    starts: np.ndarray
    neighbours: np.ndarray
    rest_first: int
    rest_offset: int
    rest_size: int

    @classmethod
    def of(cls, elimination: Elimination) -> Layout:
        """Raises `MemoryLimitError` where factor and inverse would take more than 4 GiB."""
        order = np.concatenate([*elimination.groups, elimination.rest]).astype(np.int64)
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        widths = np.array([len(each) for each in elimination.groups], dtype=np.int64)
        degrees = np.array([len(each) for each in elimination.neighbours], dtype=np.int64)
        sizes = (widths + degrees) * widths
        rest = len(elimination.rest)
        total = int(sizes.sum()) + rest * rest
        if total > LARGEST:
            raise MemoryLimitError(
                f"Factor and inverse of the precision of {len(order)} latents would take {16e-9 * total:.1f} GB.",
                value=16 * total,
                remedy="Its sparsest ordering is too full: use fewer levels, or sample this block (inference='nuts').",
            )
        ends = np.concatenate([[0], np.cumsum(degrees)])
        return cls(
            elimination=elimination,
            order=order,
            place=place,
            first=np.concatenate([[0], np.cumsum(widths)])[:-1].astype(np.int64),
            widths=widths,
            degrees=degrees,
            offsets=np.concatenate([[0], np.cumsum(sizes)])[:-1].astype(np.int64),
            starts=ends.astype(np.int64),
            neighbours=place[np.concatenate([*elimination.neighbours, np.empty(0, dtype=np.int64)])],
            rest_first=len(order) - rest,
            rest_offset=total - rest * rest,
            rest_size=rest,
        )

    @property
    def size(self) -> int:
        return self.rest_offset + self.rest_size**2

    @cached_property
    def diagonal(self) -> np.ndarray:
        """(p,) positions of the diagonal, in the order of elimination."""
        at = np.arange(len(self.order))
        return self.positions(at, at)

    @cached_property
    def group_of(self) -> np.ndarray:
        """(p,) group of each place; −1 in the dense rest."""
        groups = np.repeat(np.arange(len(self.widths)), self.widths)
        return np.concatenate([groups, np.full(self.rest_size, -1)]).astype(np.int64)

    @cached_property
    def _keys(self) -> np.ndarray:
        """Group · p + neighbour, ascending."""
        return np.repeat(np.arange(len(self.widths)), self.degrees) * len(self.order) + self.neighbours

    def positions(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Positions of the entries at places (i, j) (N,), either triangle; −1 where they are not kept."""
        early, late = np.minimum(i, j), np.maximum(i, j)
        at = self.rest_offset + (late - self.rest_first) * self.rest_size + (early - self.rest_first)
        sparse = np.flatnonzero(early < self.rest_first)
        if not len(sparse):
            return at
        early, late = early[sparse], late[sparse]
        group = self.group_of[early]
        width = self.widths[group]
        row = late - self.first[group]
        kept = np.ones(len(sparse), dtype=bool)
        outside = np.flatnonzero(row >= width)
        if len(outside):
            key = group[outside] * len(self.order) + late[outside]
            found = np.searchsorted(self._keys, key)
            kept[outside] = self._keys[np.minimum(found, len(self._keys) - 1)] == key if len(self._keys) else False
            row[outside] = width[outside] + found - self.starts[group[outside]]
        at[sparse] = np.where(kept, self.offsets[group] + row * width + (early - self.first[group]), -1)
        return at

    @cached_property
    def sparse_degrees(self) -> np.ndarray:
        before = np.concatenate([[0], np.cumsum(self.neighbours < self.rest_first)])
        return (before[self.starts[1:]] - before[self.starts[:-1]]).astype(np.int64)

    @cached_property
    def rest_rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """row_starts (m + 1,), row_groups, row_places: for each column of the dense rest the groups joined to it, and
        where among their neighbours it stands."""
        group = np.repeat(np.arange(len(self.widths)), self.degrees)
        place = np.arange(len(self.neighbours)) - self.starts[group]
        dense = np.flatnonzero(self.neighbours >= self.rest_first)
        row = self.neighbours[dense] - self.rest_first
        order = dense[np.argsort(row, kind="stable")]
        counts = np.bincount(row, minlength=self.rest_size)
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), group[order], place[order]

    @cached_property
    def scatter(self) -> tuple[np.ndarray, np.ndarray]:
        """pair_starts (G + 1,) and pairs: for neighbour j before the rest and i ≥ j, the position of (i, j)."""
        counts = self.sparse_degrees * self.degrees - self.sparse_degrees * (self.sparse_degrees - 1) // 2
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        early, late = np.empty(starts[-1], dtype=np.int64), np.empty(starts[-1], dtype=np.int64)
        for group in np.flatnonzero(counts):
            around = self.neighbours[self.starts[group] : self.starts[group + 1]]
            rows, columns = np.tril_indices(len(around))
            kept = columns < self.sparse_degrees[group]
            rows, columns = rows[kept], columns[kept]
            turn = np.lexsort((rows, columns))  # column by column, as the kernels go
            early[starts[group] : starts[group + 1]] = around[columns[turn]]
            late[starts[group] : starts[group + 1]] = around[rows[turn]]
        return starts, self.positions(late, early)
