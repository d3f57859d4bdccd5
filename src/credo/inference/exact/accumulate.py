"""One block of rows into statistics: moments about a guess of the mean, a triangular factor, double-double moments.

Notation: D = [X y] (rows, P + T), w the weights of rows, as in `statistics`.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from credo.blocks.source import Block
from credo.errors import DataError
from credo.inference.exact.precise import PreciseMoments
from credo.inference.exact.sparse import csr_of, is_sparse, require_finite, sparse_moments
from credo.inference.exact.statistics import RegressionStatistics, compress
from credo.numerics.double_double import DoubleDouble

__all__ = [
    "accumulate_factor",
    "accumulate_moments",
    "accumulate_precise",
    "first_shift",
    "row_weights",
    "sparse_table",
]

# Share of the shift in a column's sum of squares, relative to its spread, beyond which it is read again: two digits.
FAR_OFF = 100.0
# Cells of a thread's buffer, 16 MiB: any block of the usual partition.
KEPT_CELLS = 2**21


def accumulate_moments(
    block: Block, noise_scale: np.ndarray | None = None, shift: np.ndarray | None = None
) -> RegressionStatistics:
    """Moments of one block. `noise_scale` (all rows) is indexed by the block's `start`. Cost rows · (P + T)².

    The rows are read once, less `shift` (P + T,), a guess of their mean, and one product with a column of ones beside
    them holds the sums; the mean's share is then taken out. A guess that is far off by the spread of a column would
    cost digits: the block is then read again about its own mean. A shift of zero reads X where it lies.
    """
    counts, weights = row_weights(block, noise_scale)
    if is_sparse(block.X):
        mean, scatter = sparse_moments(*sparse_table(block), weights)
        return _statistics(block, mean, counts, weights, noise_scale, scatter, None)
    about = _mean(block, weights) if shift is None else shift
    with np.errstate(over="ignore", invalid="ignore"):  # reported by `_refuse` and `_require_range`
        square, sums, total = _products(block, about, weights)
        offset = sums / total if total > 0 else np.zeros_like(about)
        if not np.all(np.isfinite(offset)):
            _refuse(_table(block), block)
        share = total * np.square(offset)
        if shift is not None and np.any(share > FAR_OFF * (np.diag(square) - share)):
            return accumulate_moments(block, noise_scale)
        scatter = square - total * np.outer(offset, offset)
        scatter = 0.5 * (scatter + scatter.T)
    return _statistics(block, about + offset, counts, weights, noise_scale, scatter, None)


def _products(block: Block, shift: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, float]:
    """Σ w d dᵀ (P + T, P + T), Σ w d and Σ w, for d = D − shift."""
    assert block.y is not None
    n, p = block.n_rows, block.X.shape[1]
    X = block.X
    if X.dtype != np.float64 or shift[:p].any():
        X = np.subtract(X, shift[:p], out=_buffer(n, p))
    beside = np.ones((n, shift.size - p + 1))
    beside[:, :-1] = (block.y if block.y.ndim == 2 else block.y[:, None]) - shift[p:]
    left = X if weights is None else X * weights[:, None]
    right = beside if weights is None else beside * weights[:, None]
    cross, corner = X.T @ right, beside.T @ right
    square = np.empty((shift.size, shift.size))
    square[:p, :p] = left.T @ X
    square[:p, p:], square[p:, :p], square[p:, p:] = cross[:, :-1], cross[:, :-1].T, corner[:-1, :-1]
    return square, np.concatenate([cross[:, -1], corner[:-1, -1]]), float(corner[-1, -1])


_BUFFERS = threading.local()


def _buffer(n: int, p: int) -> np.ndarray:
    """(n, p) floats in memory that the thread keeps: fresh megabytes cost as much as filling them."""
    kept = getattr(_BUFFERS, "cells", None)
    if kept is None or kept.size < n * p:
        kept = np.empty(n * p)
        if kept.size <= KEPT_CELLS:
            _BUFFERS.cells = kept
    return kept[: n * p].reshape(n, p)


def first_shift(first: Block | None, noise_scale: np.ndarray | None) -> np.ndarray | None:
    """A shift from the first block: its mean, or zero where no column's mean is far off by its spread."""
    if first is None:
        return None
    mean = _mean(first, row_weights(first, noise_scale)[1])
    with np.errstate(over="ignore", invalid="ignore"):  # squares out of range are reported by what takes the moments
        near = np.square(mean) * 16.0 <= FAR_OFF * _table(first).var(axis=0)  # later blocks may be 4 times further off
    return np.zeros_like(mean) if near[: first.X.shape[1]].all() else mean


def _mean(block: Block, weights: np.ndarray | None) -> np.ndarray:
    """Weighted mean of the block's D (P + T,); a column's own value where constant, so that it centres to zero."""
    rows = _table(block)
    if not rows.size:
        return np.zeros(rows.shape[1])
    total = rows.shape[0] if weights is None else weights.sum()
    mean = (np.ones(rows.shape[0]) if weights is None else weights) @ rows / total if total > 0 else rows[0]
    if not np.all(np.isfinite(mean)):
        _refuse(rows, block)
    return np.where(np.all(rows == rows[0], axis=0), rows[0], mean)


def accumulate_factor(block: Block, noise_scale: np.ndarray | None = None) -> RegressionStatistics:
    """Triangular factor of one block's centred rows. Cost 2 · rows · (P + T)²."""
    counts, weights = row_weights(block, noise_scale)
    mean = _mean(block, weights)
    rows = _table(block) - mean
    shift = rows.mean(axis=0) if weights is None else weights @ rows / max(weights.sum(), np.finfo(float).tiny)
    rows -= shift
    if weights is not None:
        rows *= np.sqrt(weights)[:, None]
    return _statistics(block, mean + shift, counts, weights, noise_scale, None, compress(rows))


def accumulate_precise(block: Block, shift: np.ndarray, noise_scale: np.ndarray | None = None) -> RegressionStatistics:
    """Double-double moments of one block about `shift` (P + T,). Cost 16 · rows · (1 + P + T)² in BLAS."""
    counts, weights = row_weights(block, noise_scale)
    root = None
    if weights is not None:
        root = DoubleDouble.of(np.ones(block.n_rows) if counts is None else counts).sqrt()
    if root is not None and noise_scale is not None:
        root = root / noise_scale[block.start : block.start + block.n_rows]
    precise = PreciseMoments.of_rows(_table(block), shift, root)
    mean = precise.mean if precise.high[0, 0] > 0.0 else shift
    return _statistics(block, mean, counts, weights, noise_scale, None, None, precise)


def _table(block: Block) -> np.ndarray:
    """D (rows, P + T) in float64, a fresh array."""
    assert block.y is not None
    y = block.y if block.y.ndim == 2 else block.y[:, None]
    rows = np.empty((block.n_rows, block.X.shape[1] + y.shape[1]))
    rows[:, : block.X.shape[1]] = block.X.toarray() if is_sparse(block.X) else block.X
    rows[:, block.X.shape[1] :] = y
    return rows


def row_weights(block: Block, noise_scale: np.ndarray | None) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Row counts and row weights, None for ones."""
    counts = None if block.weights is None else np.asarray(block.weights, dtype=np.float64)
    if noise_scale is None:
        return counts, counts
    precision = 1.0 / np.square(noise_scale[block.start : block.start + block.n_rows])
    return counts, precision if counts is None else counts * precision


def _refuse(rows: np.ndarray, block: Block) -> None:
    """Name the rows and columns that are NaN, infinite, or too large to average."""
    bad = ~np.isfinite(rows)
    if not bad.any():
        raise DataError(
            "Input X contains values too large for float64 sums.",
            remedy="Rescale the columns (values beyond 1e300).",
        )
    row, column = np.argwhere(bad)[0]
    kind = "NaN" if np.isnan(rows[row, column]) else "infinity"
    where = "y" if column >= block.X.shape[1] else f"column {column} of X"
    raise DataError(
        f"Input contains {kind} in {where}, row {block.start + row} ({int(bad.sum())} such cells in this block).",
        rows=(block.start + np.flatnonzero(bad.any(axis=1))[:20]).tolist(),
        value=rows[row, column],
        remedy="Drop or impute those rows.",
    )


def sparse_table(block: Block) -> tuple[Any, np.ndarray]:
    """X in CSR form and y (rows, T), both finite."""
    assert block.y is not None
    X, y = csr_of(block.X), np.asarray(block.y, dtype=np.float64)
    require_finite(X, y, block.start)
    return X, y if y.ndim == 2 else y[:, None]


def _statistics(
    block: Block,
    mean: np.ndarray,
    counts: np.ndarray | None,
    weights: np.ndarray | None,
    noise_scale: np.ndarray | None,
    scatter: np.ndarray | None,
    factor: np.ndarray | None,
    precise: PreciseMoments | None = None,
) -> RegressionStatistics:
    assert block.y is not None
    n = block.n_rows
    log_scale = 0.0
    if noise_scale is not None:
        logs = np.log(noise_scale[block.start : block.start + n])
        log_scale = float(logs.sum() if counts is None else counts @ logs)
    return RegressionStatistics(
        n_rows=n,
        count=float(n if counts is None else counts.sum()),
        weight=float(n if weights is None else weights.sum()),
        log_scale=log_scale,
        mean=mean,
        scatter=scatter,
        factor=factor,
        n_targets=1 if block.y.ndim == 1 else block.y.shape[1],
        precise=precise,
    )
