"""Rows as statistics read them: views of cells in memory, or a source with its labels as codes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from credo.blocks.mapped import MappedSource
from credo.blocks.partition import row_ranges, rows_per_block
from credo.blocks.source import Block, Source
from credo.errors import DataError
from credo.models.generative.labels import coded

__all__ = ["Rows", "coded_source", "present_rows"]

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


def coded_source(model: Any, source: Source, classes: np.ndarray) -> MappedSource:
    """A source whose y are codes of known classes, and whose X a model has checked."""
    owner = type(model).__name__

    def read(block: Block) -> Block:
        cells = model._read(block.X, reset=False, fitting=True)
        codes = coded(owner, block.y, classes)
        if codes.min() < 0:
            raise DataError(
                f"{owner}.fit: {int((codes < 0).sum())} rows of a source have no label.",
                rows=(np.flatnonzero(codes < 0)[:20] + block.start).tolist(),
                remedy="EM over missing labels reads arrays and frames; drop these rows from the source.",
            )
        return Block(cells, codes, block.weights, block.start)

    return MappedSource(source, read)


def present_rows(X: Any, codes: np.ndarray, sample_weight: Any) -> tuple[Any, np.ndarray, Any]:
    """Without the rows of weight 0, which are as good as absent; anything odd is left to the checks that follow."""
    if sample_weight is None:
        return X, codes, None
    weights = np.asarray(sample_weight)
    if weights.shape != codes.shape or weights.dtype.kind not in "fiub" or len(weights) != _num_samples(X):
        return X, codes, sample_weight
    kept = np.flatnonzero(weights != 0)
    if len(kept) in (0, len(weights)):
        return X, codes, sample_weight
    return _safe_indexing(X, kept), codes[kept], weights[kept]
