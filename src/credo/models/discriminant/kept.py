"""A sample of the rows a model has seen, the same whichever batches they came in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from credo.blocks.source import Block
from credo.saving.registry import register

__all__ = ["KeptRows"]

# Differences of log scores have an sd of about one nat a row: of so many rows their mean is known to .02, below which
# the choice of a prior's strength does not matter. Up to so many rows all are kept.
_MOST = 2048


@register
@dataclass(frozen=True, eq=False)
class KeptRows:
    """The `_MOST` rows of least priority among `seen`; a row's priority is a hash of its number, the first being 0.

    priority (m,), ascending ; X (m, d) ; codes (m,) ; weights (m,). Rows with missing cells or without a label have a
    number and are not kept. As a `Source` it is one block.
    """

    priority: np.ndarray
    X: np.ndarray
    codes: np.ndarray
    weights: np.ndarray
    seen: int = 0

    @classmethod
    def none(cls, d: int) -> Self:
        return cls(np.empty(0, np.uint64), np.empty((0, d)), np.empty(0, np.intp), np.empty(0))

    @property
    def n_rows(self) -> int:
        return len(self.codes)

    column_names = None

    def __iter__(self) -> Iterator[Block]:
        yield Block(self.X, self.codes, self.weights)

    def with_rows(self, block: Block) -> Self:
        """With the rows of a block whose y are codes, −1 where the label is missing. O(rows of the block)."""
        codes: Any = block.y
        present = np.arange(block.n_rows) if block.weights is None else np.flatnonzero(block.weights > 0.0)
        priority = _hash(self.seen + np.arange(present.size, dtype=np.uint64))
        full = self.n_rows == _MOST
        near = np.flatnonzero(priority < self.priority[-1]) if full else np.arange(present.size)
        rows = present[near]
        whole = (codes[rows] >= 0) & ~np.isnan(block.X[rows]).any(axis=1)
        rows, priority = rows[whole], priority[near][whole]
        weights = np.ones(rows.size) if block.weights is None else block.weights[rows]
        priority = np.concatenate([self.priority, priority])
        first = np.argsort(priority)[:_MOST]
        return type(self)(
            priority[first],
            np.concatenate([self.X, block.X[rows]])[first],
            np.concatenate([self.codes, codes[rows]])[first],
            np.concatenate([self.weights, weights])[first],
            self.seen + present.size,
        )


def _hash(number: np.ndarray) -> np.ndarray:
    """SplitMix64 of whole numbers: one to one, and as good as random (Steele, Lea and Flood 2014)."""
    z = number.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
