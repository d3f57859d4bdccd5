"""`ExpectedCounts`: what rows with missing cells say of every family's counts, given tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special

from credo.blocks.source import Block
from credo.models.network.learning.counts import Counter
from credo.models.network.learning.layout import TableLayout
from credo.models.network.learning.parts import Group, split_rows
from credo.models.network.learning.rows import CodedRows

__all__ = ["ExpectedCounts", "PackedGroups", "CaseSource"]

# Terms (cases × states × tables) of a block of cases: some 20 ms of work.
_BLOCK_TERMS = 2**22


@dataclass(frozen=True, eq=False)
class PackedGroups:
    """Groups end to end, as the kernel takes them."""

    outline: np.ndarray
    n_cases: np.ndarray
    sizes: np.ndarray
    strides: np.ndarray
    bases: np.ndarray
    weights: np.ndarray
    room: tuple[int, int]

    @classmethod
    def of(cls, groups: Sequence[Group]) -> PackedGroups:
        states = [int(np.prod(g.sizes)) for g in groups]
        return cls(
            np.array([n for g in groups for n in reversed(g.strides.shape)], dtype=np.int64),
            np.array([len(g.weights) for g in groups], dtype=np.int64),
            np.concatenate([g.sizes for g in groups]).astype(np.int64),
            np.concatenate([g.strides.ravel() for g in groups]).astype(np.int64),
            np.concatenate([g.bases.ravel() for g in groups]),
            np.concatenate([g.weights for g in groups]).astype(np.float64),
            (max(s * len(g.strides) for s, g in zip(states, groups)), max(states)),
        )

    @property
    def shape(self) -> tuple[int, int]:
        """As a block of rows has it: one row a case."""
        return len(self.weights), 1

    def expected(self, theta: np.ndarray, counts: np.ndarray) -> float:
        """Add expected counts to `counts`, and return Σ weight · log p of the cases."""
        from credo.models.network.learning.expectation_kernels import expect

        with np.errstate(divide="ignore"):
            log_theta = np.log(theta)
        steps, terms = np.empty(self.room[0], dtype=np.int64), np.empty(self.room[1])
        return expect(
            self.outline, self.n_cases, self.sizes, self.strides, self.bases, self.weights,
            log_theta, counts, steps, terms,
        )  # fmt: skip


class ExpectedCounts:
    """Counts of families (cells,) in a `TableLayout`: those seen once and for all, the others expected.

    seen (cells,) : counts of families that are fully observed
    groups, wide : rows gone through state by state, and rows for elimination (None without any)
    blocks : what is expected anew for every set of tables: packed groups, and at the end rows for elimination

    Rows without any cell are left out.
    """

    def __init__(self, rows: CodedRows, layout: TableLayout, most_states: float | None = None) -> None:
        self.layout = layout
        rows = rows.merged()
        missing = rows.missing
        open_rows = rows.taken(np.asarray(missing.any(axis=0) & ~missing.all(axis=0)))
        parts = split_rows(open_rows, layout, most_states)
        closed = rows.taken(~np.asarray(missing.any(axis=0)))
        self.seen = _seen(closed, layout) + _seen(open_rows.taken(~parts.wide), layout)
        self.groups = parts.groups
        self.blocks: list[Any] = _blocks(parts.groups)
        self.wide = None
        if parts.wide.any():
            from credo.models.network.learning.wide_rows import WideRows

            self.wide = WideRows(open_rows.taken(parts.wide), layout)
            self.blocks.append(self.wide)
        self.n_rows = rows.n_rows

    def expected(self, theta: np.ndarray) -> tuple[np.ndarray, float]:
        """(counts of all families (cells,), log-likelihood of the rows) under tables `theta` (cells,)."""
        counts, value = self.seen.copy(), self.seen_log_likelihood(theta)
        for block in self.blocks:
            value += block.expected(theta, counts)
        return counts, value

    def seen_log_likelihood(self, theta: np.ndarray) -> float:
        return float(scipy.special.xlogy(self.seen, theta).sum())


class CaseSource:
    """The blocks of `ExpectedCounts` as EM's source; one that holds none where no cell is missing."""

    column_names = None

    def __init__(self, counts: ExpectedCounts) -> None:
        self.blocks = counts.blocks
        self.n_rows = counts.n_rows

    def __iter__(self) -> Iterator[Block]:
        yield from (Block(block) for block in self.blocks)


def _seen(rows: CodedRows, layout: TableLayout) -> np.ndarray:
    if rows.n_rows == 0:
        return np.zeros(layout.n_cells)
    counter = Counter(rows)
    return np.concatenate([counter.dense(c, family).ravel() for c, family in enumerate(layout.families)])


def _blocks(groups: Sequence[Group]) -> list[Any]:
    blocks, held, terms = [], [], 0
    for group in groups:
        held.append(group)
        terms += int(np.prod(group.sizes)) * group.bases.size
        if terms >= _BLOCK_TERMS:
            blocks.append(PackedGroups.of(held))
            held, terms = [], 0
    return [*blocks, PackedGroups.of(held)] if held else blocks
