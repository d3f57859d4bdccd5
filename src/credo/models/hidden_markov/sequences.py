"""`Sequences`: rows of several sequences as a source whose blocks hold whole sequences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from credo.blocks.array import ArraySource, as_floats
from credo.blocks.source import Block

__all__ = ["Sequences", "ends_within"]


class Sequences(ArraySource):
    """Rows X (n, d) of sequences that end before the rows `ends` (s,); `weights` (s,) counts sequences.

    A block is made of whole sequences, of some `block_rows` rows or one long sequence; its y numbers the sequences.
    """

    def __init__(self, X: np.ndarray, ends: np.ndarray, weights: np.ndarray | None = None) -> None:
        sizes = np.diff(ends, prepend=0)
        rows = None if weights is None else np.repeat(weights, sizes)
        super().__init__(X, y=np.repeat(np.arange(ends.size), sizes), sample_weight=rows)
        # a block begins with the first sequence that begins in the next stretch of `block_rows` rows
        begins = ends - sizes
        first = np.flatnonzero(np.diff(begins // self.block_rows, prepend=-1))
        self._cuts = [*begins[first].tolist(), self.n_rows]

    def __iter__(self) -> Iterator[Block]:
        for start, stop in zip(self._cuts, self._cuts[1:]):
            weights: Any = None if self.weights is None else self.weights[start:stop]
            assert self.y is not None
            yield Block(as_floats(self.X[start:stop]), self.y[start:stop], weights, start)


def ends_within(block: Block) -> np.ndarray:
    """The row of a block after each sequence's last."""
    assert block.y is not None
    return np.append(np.flatnonzero(np.diff(block.y)) + 1, block.n_rows).astype(np.int64)
