"""Checked cells in memory as blocks of views: no conversion of codes to floats, no slicing of sparse matrices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from credo.blocks.partition import row_ranges, rows_per_block
from credo.blocks.source import Block

__all__ = ["Rows"]

# A block should be this many times as large as what it leaves behind (k classes), or merging costs more than reading.
_PER_CLASS = 4


class Rows:
    """Cells (n, d), codes of classes (n,) and weights (n,), the last two or None.

    Sparse matrices are one block: to cut one copies it, and statistics of its nonzeros need no cache.
    """

    column_names = None

    def __init__(self, cells: Any, y: Any = None, weights: Any = None, n_classes: int = 1) -> None:
        self.cells, self.y, self.weights = cells, y, weights
        self.block_rows = max(1, cells.shape[0])
        if isinstance(cells, np.ndarray):
            self.block_rows = max(rows_per_block(cells.shape[1]), _PER_CLASS * n_classes)

    @property
    def n_rows(self) -> int:
        return self.cells.shape[0]

    def __iter__(self) -> Iterator[Block]:
        for start, stop in row_ranges(self.n_rows, self.block_rows):
            whole = start == 0 and stop == self.n_rows
            yield Block(
                self.cells if whole else self.cells[start:stop],
                None if self.y is None else self.y[start:stop],
                None if self.weights is None else self.weights[start:stop],
                start,
            )
