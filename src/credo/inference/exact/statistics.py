"""Mergeable statistics of a linear-Gaussian likelihood: centred second moments, or what keeps the digits.

Notation
    D = [X y]  (rows, P + T), the design and its targets side by side
    w          weight of a row: its count, divided by its noise variance where that is known per row
    scatter    Σ w (d − mean)(d − mean)ᵀ, never a raw sum of squares
    factor     F with FᵀF = scatter, upper triangular, or fewer rows than columns
    precise    the moments in double-double, about a shift (`PreciseMoments`)

Forming the scatter squares the condition number. It is the fast path, and it is right while the correlation
matrix of D is well conditioned. Otherwise a second pass takes the moments in double-double, which have the digits to
spare; and where D is too wide for those, it reduces the rows to F by Householder QR, which keeps the digits that
float64 can (Björck, Numerical Methods for Least Squares Problems, 1996, §2.4). A perfect fit is a collinear D, so y is
in D. All forms merge: moments by Chan's formula, factors by stacking with the shift between the two means,
double-double moments by addition about a common shift; where two forms meet, the one with more digits wins.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg

from credo.blocks.array import ArraySource
from credo.blocks.generator import GeneratorSource
from credo.blocks.partition import row_ranges, rows_per_block
from credo.blocks.reduction import reduce
from credo.blocks.source import Block, Source
from credo.errors import DataError
from credo.inference.exact.precise import PreciseMoments
from credo.inference.exact.sparse import (
    LARGEST_MOMENTS,
    SparseRows,
    csr_of,
    is_sparse,
    require_finite,
    sparse_moments,
)
from credo.numerics.double_double import DoubleDouble, pivoted_cholesky
from credo.numerics.lapack import reciprocal_condition, triangle
from credo.saving.registry import register

__all__ = [
    "RegressionStatistics",
    "accumulate_factor",
    "accumulate_moments",
    "accumulate_precise",
    "combine",
    "summarise",
    "well_conditioned",
]

# Correlation condition number up to which moments are used: the relative error of a coefficient is then ≲ 1e4 · 2⁻⁵²
# ≈ 2e-12, below the 1e-9 promised for primal ≡ dual ≡ streamed with a margin for P.
CONDITION_LIMIT = 1e4
# Share of the shift in a column's sum of squares, relative to its spread, beyond which it is read again: two digits.
FAR_OFF = 100.0
# Cells of a thread's buffer, 16 MiB: any block of the usual partition.
KEPT_CELLS = 2**21
# Sums of squares are refused from here on, since `two_product` overflows at 2⁹⁹⁵.
LARGEST_SQUARE = 2.0**990
# Widest D for which ill-conditioned moments are taken in double-double: their Cholesky factor takes 0.1 s for 200
# columns (float64: 5 ms) and grows with the cube.
PRECISE_WIDTH = 200
# With no more rows than columns, up to how many columns double-double is preferred to the dual form: such a table is
# often a small batch of a narrow one and will be merged, at 10 ms for 32 columns; by its factor a wide one takes 1 ms.
PRECISE_WIDTH_WIDE = 32


@register
@dataclass(frozen=True)
class RegressionStatistics:
    """What a linear-Gaussian posterior needs of the rows; exactly one of `scatter`, `factor`, `precise` is set.

    n_rows : rows seen
    count : Σ sample weights (the rows they stand for)
    weight : Σ w
    log_scale : Σ sample weight · log(noise sd) where the noise is known per row, else 0
    mean : (P + T,) weighted mean of D
    scatter : (P + T, P + T) or None
    factor : (K, P + T), K ≤ P + T, or None
    n_targets : T
    precise : moments in double-double, or None
    """

    n_rows: int
    count: float
    weight: float
    log_scale: float
    mean: np.ndarray
    scatter: np.ndarray | None
    factor: np.ndarray | None
    n_targets: int
    precise: PreciseMoments | None = None

    @property
    def n_columns(self) -> int:
        return self.mean.size - self.n_targets

    @property
    def spread(self) -> np.ndarray:
        """(P + T,) diagonal of the scatter."""
        if self.scatter is not None:
            return np.diag(self.scatter)
        if self.factor is not None:
            return np.square(self.factor).sum(axis=0)
        assert self.precise is not None
        return np.maximum(np.diag(self.precise.scatter().round()), 0.0)

    def as_factor(self) -> np.ndarray:
        """F with FᵀF = scatter; from moments by Cholesky, exact to rounding because they are well conditioned."""
        if self.factor is not None:
            return self.factor
        if self.precise is not None:
            return pivoted_cholesky(self.precise.scatter(), self.precise.size).rows.round()
        assert self.scatter is not None
        scale = _unit_scale(np.diag(self.scatter))
        correlation = self.scatter / np.outer(scale, scale)
        upper = triangle(correlation, lower=False)
        if upper is None:  # rank-deficient moments: the symmetric square root needs no pivot
            values, vectors = np.linalg.eigh(correlation)
            upper = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
        return upper * scale

    def as_precise(self) -> PreciseMoments:
        """The moments in double-double, with the digits that this form has."""
        if self.precise is not None:
            return self.precise
        if self.scatter is not None:
            scatter = DoubleDouble.of(self.scatter)
        else:
            assert self.factor is not None
            scatter = DoubleDouble.of(self.factor.T) @ self.factor
        return PreciseMoments.from_scatter(self.weight, self.mean, scatter)

    def merge(self, other: RegressionStatistics) -> RegressionStatistics:
        """Statistics of both sets of rows. Associative to rounding; cost (P + T)², or (P + T)³ for factors."""
        if other.weight == 0.0:
            return replace(self, n_rows=self.n_rows + other.n_rows)
        if self.weight == 0.0:
            return replace(other, n_rows=self.n_rows + other.n_rows)
        weight = self.weight + other.weight
        shift = other.mean - self.mean
        between = np.sqrt(self.weight * (other.weight / weight)) * shift
        merged = replace(
            self,
            n_rows=self.n_rows + other.n_rows,
            count=self.count + other.count,
            weight=weight,
            log_scale=self.log_scale + other.log_scale,
            mean=self.mean + shift * (other.weight / weight),
        )
        if self.precise is not None or other.precise is not None:
            precise = self.as_precise().merge(other.as_precise())
            return replace(merged, mean=precise.mean, scatter=None, factor=None, precise=precise)
        if self.scatter is not None and other.scatter is not None:
            return replace(merged, scatter=self.scatter + other.scatter + np.outer(between, between))
        stacked = np.vstack([self.as_factor(), other.as_factor(), between])
        return replace(merged, scatter=None, factor=compress(stacked))

    def settled(self) -> RegressionStatistics:
        """The same statistics in the cheaper form that keeps the digits: moments where well conditioned."""
        if self.precise is not None:
            scatter = self.precise.scatter().round()
        elif self.factor is not None and self.factor.shape[0] == self.mean.size:
            scatter = self.factor.T @ self.factor
        else:
            return self
        return replace(self, scatter=scatter, factor=None, precise=None) if well_conditioned(scatter) else self

    def divided(self, scale: float) -> RegressionStatistics:
        """The statistics of the rows divided by a noise sd, in whose units σ = 1."""
        variance = DoubleDouble.of(scale) * scale
        return replace(
            self,
            weight=self.weight / scale**2,
            log_scale=self.log_scale + self.count * float(np.log(scale)),
            scatter=None if self.scatter is None else self.scatter / scale**2,
            factor=None if self.factor is None else self.factor / scale,
            precise=None if self.precise is None else self.precise.divided(variance),
        )


def accumulate_moments(
    block: Block, noise_scale: np.ndarray | None = None, shift: np.ndarray | None = None
) -> RegressionStatistics:
    """Moments of one block. `noise_scale` (all rows) is indexed by the block's `start`. Cost rows · (P + T)².

    The rows are read once, less `shift` (P + T,), a guess of their mean, and one product with a column of ones beside
    them holds the sums; the mean's share is then taken out. A guess that is far off by the spread of a column would
    cost digits: the block is then read again about its own mean. A shift of zero reads X where it lies.
    """
    counts, weights = _weights(block, noise_scale)
    if is_sparse(block.X):
        mean, scatter = sparse_moments(*_sparse_table(block), weights)
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


def _guess(first: Block | None, noise_scale: np.ndarray | None) -> np.ndarray | None:
    """A shift from the first block: its mean, or zero where no column's mean is far off by its spread."""
    if first is None:
        return None
    mean = _mean(first, _weights(first, noise_scale)[1])
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
    counts, weights = _weights(block, noise_scale)
    mean = _mean(block, weights)
    rows = _table(block) - mean
    shift = rows.mean(axis=0) if weights is None else weights @ rows / max(weights.sum(), np.finfo(float).tiny)
    rows -= shift
    if weights is not None:
        rows *= np.sqrt(weights)[:, None]
    return _statistics(block, mean + shift, counts, weights, noise_scale, None, compress(rows))


def accumulate_precise(block: Block, shift: np.ndarray, noise_scale: np.ndarray | None = None) -> RegressionStatistics:
    """Double-double moments of one block about `shift` (P + T,). Cost 16 · rows · (1 + P + T)² in BLAS."""
    counts, weights = _weights(block, noise_scale)
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


def _weights(block: Block, noise_scale: np.ndarray | None) -> tuple[np.ndarray | None, np.ndarray | None]:
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


def compress(rows: np.ndarray) -> np.ndarray:
    """F with FᵀF = rowsᵀ rows: the rows themselves while they are few, else their triangular factor."""
    if rows.shape[0] <= rows.shape[1]:
        return rows
    return np.asarray(scipy.linalg.qr(rows, mode="r", check_finite=False)[0])[: rows.shape[1]]


def well_conditioned(scatter: np.ndarray, limit: float = CONDITION_LIMIT) -> bool:
    """Whether the correlation matrix of `scatter` is positive definite with 1-norm condition number ≤ limit.

    Constant columns, exactly zero after centring, carry no digits to lose and are left out.
    """
    diagonal = np.diag(scatter)
    varying = diagonal > 0.0
    if not varying.all():
        scatter, diagonal = scatter[np.ix_(varying, varying)], diagonal[varying]
    if diagonal.size == 0:
        return True
    scale = np.sqrt(diagonal)
    correlation = scatter / np.outer(scale, scale)
    upper = triangle(correlation, lower=False)
    return upper is not None and reciprocal_condition(upper, np.abs(correlation).sum(axis=0).max()) * limit >= 1.0


def _unit_scale(diagonal: np.ndarray) -> np.ndarray:
    """√diagonal, 1 where it is zero (a constant column)."""
    scale = np.sqrt(np.maximum(diagonal, 0.0))
    return np.where(scale > 0.0, scale, 1.0)


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
        shift = _guess(first, noise_scale)
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


# -- sparse rows ---------------------------------------------------------------------------------------------------


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


def _sparse_table(block: Block) -> tuple[Any, np.ndarray]:
    """X in CSR form and y (rows, T), both finite."""
    assert block.y is not None
    X, y = csr_of(block.X), np.asarray(block.y, dtype=np.float64)
    require_finite(X, y, block.start)
    return X, y if y.ndim == 2 else y[:, None]


def _rows_of(block: Block, noise_scale: np.ndarray | None) -> SparseRows:
    X, y = _sparse_table(block)
    counts, weights = _weights(block, noise_scale)
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


def as_factor_of_rows(rows: SparseRows) -> RegressionStatistics:
    """The rows as a dense factor. Cost rows · P · min(rows, P)."""
    return RegressionStatistics(
        n_rows=rows.n_rows,
        count=rows.count,
        weight=rows.weight,
        log_scale=rows.log_scale,
        mean=rows.mean,
        scatter=None,
        factor=compress(rows.as_factor()),
        n_targets=rows.n_targets,
    )


def truncated(statistics: RegressionStatistics) -> RegressionStatistics:
    """The factor of moments without what is their rounding: those directions are left to the prior.

    Cheaper than a dense factor of the rows by a power of P, and right to √ε of the largest singular value.
    """
    assert statistics.scatter is not None
    diagonal = np.diag(statistics.scatter)
    scale = _unit_scale(diagonal)
    values, vectors = np.linalg.eigh(statistics.scatter / np.outer(scale, scale))
    vectors[diagonal <= 0.0] = 0.0  # a constant column stays one, not the rounding of its neighbours
    kept = values > values[-1] * values.size * np.finfo(float).eps
    factor = np.sqrt(values[kept])[:, None] * vectors[:, kept].T * scale
    return replace(statistics, scatter=None, factor=factor)
