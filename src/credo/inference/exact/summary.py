"""All rows of a source into statistics: which form, how many passes, and how two batches are combined."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from credo.blocks.array import ArraySource
from credo.blocks.generator import GeneratorSource
from credo.blocks.partition import row_ranges, rows_per_block
from credo.blocks.reduction import reduce
from credo.blocks.source import Block, Source
from credo.errors import DataError
from credo.inference.exact.accumulate import (
    accumulate_factor,
    accumulate_moments,
    accumulate_precise,
    first_shift,
    row_weights,
    sparse_table,
)
from credo.inference.exact.sparse import LARGEST_MOMENTS, SparseRows, is_sparse, sparse_moments
from credo.inference.exact.statistics import RegressionStatistics, as_factor_of_rows, truncated, well_conditioned

__all__ = ["combine", "summarise"]

# Sums of squares are refused from here on, since `two_product` overflows at 2⁹⁹⁵.
LARGEST_SQUARE = 2.0**990
# Widest D for which ill-conditioned moments are taken in double-double: their Cholesky factor takes 0.1 s for 200
# columns (float64: 5 ms) and grows with the cube.
PRECISE_WIDTH = 200
# With no more rows than columns, up to how many columns double-double is preferred to the dual form: such a table is
# often a small batch of a narrow one and will be merged, at 10 ms for 32 columns; by its factor a wide one takes 1 ms.
PRECISE_WIDTH_WIDE = 32


def combine(
    earlier: RegressionStatistics | SparseRows, later: RegressionStatistics | SparseRows
) -> RegressionStatistics | SparseRows:
    """Merge, keeping the digits where the union is ill conditioned though its parts are not."""
    if isinstance(earlier, SparseRows) and isinstance(later, SparseRows):
        return settled_rows(earlier.merge(later))
    if isinstance(earlier, SparseRows):
        earlier = moments_of_rows(earlier)
    if isinstance(later, SparseRows):
        later = moments_of_rows(later)
    merged = earlier.merge(later)
    _require_range(merged)
    if merged.scatter is None or well_conditioned(merged.scatter):
        return merged.settled()
    if merged.mean.size <= PRECISE_WIDTH:
        return replace(earlier, scatter=None, precise=earlier.as_precise()).merge(later)
    return replace(earlier, scatter=None, factor=earlier.as_factor()).merge(later)


def summarise(source: Source, noise_scale: np.ndarray | None = None) -> RegressionStatistics | SparseRows:
    """Statistics of all rows: moments in one pass, and a second pass for more digits where the condition asks for it.

    A wide table (rows ≤ columns > 32) goes to the factor at once (the dual form): nothing of size P × P is made. Sparse
    rows are never made dense but in blocks of bounded size; a wide sparse table stands for itself (`SparseRows`).
    """
    first = next((block for block in source if block.n_rows), None)
    if first is not None and is_sparse(first.X):
        return _summarise_sparse(source, first, noise_scale)
    n_columns = None if source.column_names is None else len(source.column_names)
    shape = getattr(getattr(source, "X", None), "shape", None)
    n_columns = shape[1] if shape else n_columns
    n_rows = source.n_rows
    if n_rows is None or n_columns is None or n_columns < n_rows or n_columns <= PRECISE_WIDTH_WIDE:
        shift = first_shift(first, noise_scale)
        total = reduce(source, lambda block: accumulate_moments(block, noise_scale, shift), RegressionStatistics.merge)
        _require_range(total)
        assert total.scatter is not None
        if well_conditioned(total.scatter):
            return total
        if total.mean.size <= PRECISE_WIDTH:
            return _precisely(source, total.mean, noise_scale)
    return reduce(source, lambda block: accumulate_factor(block, noise_scale), RegressionStatistics.merge).settled()


def _precisely(source: Source, shift: np.ndarray, noise_scale: np.ndarray | None) -> RegressionStatistics:
    return reduce(source, lambda block: accumulate_precise(block, shift, noise_scale), RegressionStatistics.merge)


def _summarise_sparse(
    source: Source, first: Block, noise_scale: np.ndarray | None
) -> RegressionStatistics | SparseRows:
    p, n = first.X.shape[1], source.n_rows
    if p > LARGEST_MOMENTS or (n is not None and n < p):
        whole = _in_blocks(source, n or first.n_rows)
        rows = reduce(whole, lambda block: _rows_of(block, noise_scale), SparseRows.merge)
        with np.errstate(over="ignore", invalid="ignore"):
            _require_range(rows)
        return settled_rows(rows)
    # A block's moments are P × P: with fewer stored cells than that, clearing them would cost more than the products.
    stored = 1.0 + first.X.nnz / first.n_rows
    size = max(rows_per_block(int(stored)), int(p * p / stored))
    total = reduce(
        _in_blocks(source, size), lambda block: accumulate_moments(block, noise_scale), RegressionStatistics.merge
    )
    _require_range(total)
    assert total.scatter is not None
    if well_conditioned(total.scatter):
        return total
    if total.mean.size <= PRECISE_WIDTH:
        return _precisely(_in_blocks(source, rows_per_block(p)), total.mean, noise_scale)
    return truncated(total)


def _in_blocks(source: Source, size: int) -> Source:
    """The same rows in blocks of at most `size`; those of an array may become larger, those elsewhere stay."""
    if hasattr(source, "reduce"):
        return source
    if isinstance(source, ArraySource):
        return ArraySource(source.X, source.y, source.weights, block_rows=size)
    return GeneratorSource(
        lambda: (
            Block(
                block.X[a:b],
                None if block.y is None else block.y[a:b],
                None if block.weights is None else block.weights[a:b],
                block.start + a,
            )
            for block in source
            for a, b in row_ranges(block.n_rows, size)
        ),
        source.n_rows,
    )


def _rows_of(block: Block, noise_scale: np.ndarray | None) -> SparseRows:
    X, y = sparse_table(block)
    counts, weights = row_weights(block, noise_scale)
    weights = np.ones(len(y)) if weights is None else weights
    log_scale = 0.0
    if noise_scale is not None:
        logs = np.log(noise_scale[block.start : block.start + len(y)])
        log_scale = float(logs.sum() if counts is None else counts @ logs)
    count = float(len(y) if counts is None else counts.sum())
    keep = weights > 0.0  # a row of weight zero says nothing, and a kernel would carry it
    X = X if keep.all() else X[keep]
    return SparseRows(X.data, X.indices, X.indptr, X.shape[1], y[keep], weights[keep], block.n_rows, count, log_scale)


def settled_rows(rows: SparseRows) -> RegressionStatistics | SparseRows:
    """Moments instead, once there are more rows than columns and few enough columns."""
    if rows.n_columns <= LARGEST_MOMENTS and rows.n_columns < len(rows.y):
        return moments_of_rows(rows)
    return rows


def moments_of_rows(rows: SparseRows) -> RegressionStatistics:
    """The rows as moments, or as a factor where those are ill conditioned; refused beyond `LARGEST_MOMENTS`."""
    if rows.n_columns > LARGEST_MOMENTS:
        raise DataError(
            f"Dense and sparse rows of {rows.n_columns} columns cannot be joined.",
            value=rows.n_columns,
            remedy="Give all rows as CSR matrices.",
        )
    mean, scatter = sparse_moments(rows.X, rows.y, rows.weights)
    total = RegressionStatistics(
        rows.n_rows, rows.count, rows.weight, rows.log_scale, mean, scatter, None, rows.n_targets
    )
    if well_conditioned(scatter):
        return total
    return as_factor_of_rows(rows) if rows.n_columns <= PRECISE_WIDTH else truncated(total)


def _require_range(statistics: RegressionStatistics | SparseRows) -> None:
    """Squares must stay within what double-double can split."""
    beyond = np.flatnonzero(~(statistics.spread < LARGEST_SQUARE))
    if beyond.size:
        column = int(beyond[0])
        name = f"column {column} of X" if column < statistics.n_columns else "y"
        raise DataError(
            f"The values in {name} are too large for float64 sums of squares.",
            value=float(statistics.mean[column]),
            remedy="Rescale the columns to below 1e149.",
        )
