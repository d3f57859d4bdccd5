"""Arrays in memory as a source: views, never copies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from credo.blocks.partition import checked_block_rows, row_ranges
from credo.blocks.source import Block
from credo.errors import DataError

__all__ = ["ArraySource"]


class ArraySource:
    """Rows of an array or a CSR matrix, block by block.

    Parameters
    ----------
    X : (n, columns) array, or any SciPy sparse matrix with rows (CSR is sliced without conversion)
        Float arrays are sliced as views; other numbers become float64 one block at a time.
    y : (n,) or (n, targets), optional
    sample_weight : (n,) ≥ 0, optional
    block_rows : rows in a block; by default 1 MiB of float64 (`credo.blocks.rows_per_block`)
    column_names : names of the columns, optional
    offset : (n,) known part of the linear predictor, optional

    Raises
    ------
    DataError : X is not two-dimensional, or the lengths differ.

    >>> source = ArraySource(np.ones((5, 2)), y=np.arange(5.0), block_rows=2)
    >>> [(block.start, block.n_rows) for block in source]
    [(0, 2), (2, 2), (4, 1)]
    """

    def __init__(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        block_rows: int | None = None,
        column_names: Sequence[str] | None = None,
        offset: Any = None,
    ) -> None:
        self.X: Any = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X)
        if self.X.ndim != 2:
            raise DataError(
                f"ArraySource.X must have two dimensions (rows, columns), got shape {self.X.shape}.",
                value=self.X.shape,
                remedy="Use X.reshape(-1, 1) for a single column.",
            )
        self.y = None if y is None else np.asarray(y)
        self.weights = None if sample_weight is None else np.asarray(sample_weight)
        self.offset = None if offset is None else np.asarray(offset, dtype=np.float64)
        for name, values in (("y", self.y), ("sample_weight", self.weights), ("offset", self.offset)):
            if values is not None and (values.ndim == 0 or values.shape[0] != self.X.shape[0]):
                raise DataError(
                    f"ArraySource.{name} must have one entry per row of X ({self.X.shape[0]}), "
                    f"got shape {values.shape}.",
                    value=values.shape,
                )
        # A sparse row costs what it stores, so its width is the mean number of stored cells.
        width = self.X.shape[1] if self.dense else -(-self.X.nnz // max(1, self.X.shape[0]))
        self.block_rows = checked_block_rows("ArraySource", block_rows, width)
        self.column_names = None if column_names is None else tuple(column_names)

    @property
    def dense(self) -> bool:
        return isinstance(self.X, np.ndarray)

    @property
    def n_rows(self) -> int:
        return self.X.shape[0]

    def __iter__(self) -> Iterator[Block]:
        for start, stop in row_ranges(self.n_rows, self.block_rows):
            yield Block(
                as_floats(self.X[start:stop]),
                None if self.y is None else self.y[start:stop],
                None if self.weights is None else self.weights[start:stop],
                start,
                None if self.offset is None else self.offset[start:stop],
            )


def as_floats(X: Any) -> Any:
    """`X` itself if it holds float32 or float64, else a float64 copy."""
    return X if X.dtype in (np.float64, np.float32) else X.astype(np.float64)
