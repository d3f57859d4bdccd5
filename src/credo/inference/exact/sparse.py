"""Sparse rows in a linear-Gaussian likelihood: nothing of size rows × columns is ever made.

Notation: X (n, P) in CSR form, c the means of its columns (zero unless an intercept is integrated out), W the diagonal
of row weights, T the prior's diagonal scale, A = W^½ (X − 1 cᵀ) T.

    few columns   the moments of [X y]: the sparse product XᵀWX less the means' share, P × P (`sparse_statistics`)
    few rows      the kernel A Aᵀ = U S² Uᵀ, n × n; its rotation V = Aᵀ U S⁻¹ stays a product (`KernelRotation`)

A column that stores an entry in every row is shifted by its mean first, which leaves it as sparse as it was. Any other
has a zero, so that centring through the sums loses at most log₁₀ n digits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse

from credo.blocks.partition import row_ranges
from credo.errors import DataError, UnavailableError
from credo.saving.registry import register

__all__ = ["LARGEST_KERNEL", "LARGEST_MOMENTS", "KernelRotation", "SparseRows", "csr_of", "is_sparse"]

# Columns up to which moments are taken, and rows up to which their kernel is: 4096² cells are 128 MiB, their
# eigenvectors take about a minute on one core.
LARGEST_MOMENTS = LARGEST_KERNEL = 4096
# Cells of a chunk that is dense for a moment: 16 MiB.
CHUNK_CELLS = 2**21


def is_sparse(X: Any) -> bool:
    """Whether X is a SciPy sparse matrix or array."""
    return scipy.sparse.issparse(X)


def csr_of(X: Any) -> Any:
    """X in float64 CSR form, each cell stored once; the caller's matrix is not touched."""
    rows: Any = scipy.sparse.csr_array(X)
    if rows.dtype != np.float64:
        rows = rows.astype(np.float64)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def scaled_columns(X: Any, scale: np.ndarray) -> Any:
    """X · diag(scale)."""
    return _like(X, X.data * scale[X.indices])


def scaled_rows(X: Any, scale: np.ndarray) -> Any:
    """diag(scale) · X."""
    return _like(X, X.data * np.repeat(scale, np.diff(X.indptr)))


def _like(X: Any, data: np.ndarray) -> Any:
    return scipy.sparse.csr_array((data, X.indices, X.indptr), shape=X.shape)


def shifted(X: Any) -> tuple[Any, np.ndarray]:
    """X less a level in every column that stores all its entries; the levels (P,), zero elsewhere."""
    n, p = X.shape
    full = np.bincount(X.indices, minlength=p) == n
    if not n or not full.any():
        return X, np.zeros(p)
    first = np.bincount(X.indices[: X.indptr[1]], X.data[: X.indptr[1]], minlength=p)  # a constant shifts to zeros
    level = np.where(full, first, 0.0)
    moved = _like(X, X.data - level[X.indices])
    average = np.asarray(moved.sum(axis=0)).ravel() / n
    level = np.where(full, level + average, 0.0)
    return _like(X, X.data - level[X.indices]), level


def sparse_moments(X: Any, y: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Weighted mean (P + T,) and scatter (P + T, P + T) of [X y], y (n, T). Cost Σ_rows (stored cells)² + P²."""
    moved, level = shifted(X)
    p, base = X.shape[1], y[0] + (y - y[0]).mean(axis=0)
    beside = np.hstack([y - base, np.ones((len(y), 1))])
    left = moved if weights is None else scaled_rows(moved, weights)
    cross = left.T @ beside
    corner = beside.T @ (beside if weights is None else beside * weights[:, None])
    scatter = np.empty((p + y.shape[1],) * 2)
    scatter[:p, :p] = (moved.T @ left).toarray()
    scatter[:p, p:], scatter[p:, :p], scatter[p:, p:] = cross[:, :-1], cross[:, :-1].T, corner[:-1, :-1]
    total = corner[-1, -1]
    offset = np.concatenate([cross[:, -1], corner[:-1, -1]]) / (total if total > 0.0 else 1.0)
    scatter -= total * np.outer(offset, offset)
    return np.concatenate([level, base]) + offset, 0.5 * (scatter + scatter.T)


@register
@dataclass(frozen=True)
class SparseRows:
    """Statistics that are the rows themselves, for tables too wide for moments; stands in for `RegressionStatistics`.

    data, indices, indptr : X (n, P) in CSR form; y (n, T); weights (n,)
    n_columns : P; the other members as for `RegressionStatistics`
    """

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    n_columns: int
    y: np.ndarray
    weights: np.ndarray
    n_rows: int
    count: float
    log_scale: float

    scatter = None
    precise = None

    @cached_property
    def X(self) -> Any:
        return scipy.sparse.csr_array((self.data, self.indices, self.indptr), shape=(len(self.y), self.n_columns))

    @property
    def n_targets(self) -> int:
        return self.y.shape[1]

    @property
    def too_large(self) -> bool:
        """Whether neither the moments nor the kernel fit."""
        return min(len(self.y), self.n_columns) > LARGEST_KERNEL

    @cached_property
    def weight(self) -> float:
        return float(self.weights.sum())

    @cached_property
    def shifted(self) -> tuple[Any, np.ndarray]:
        return shifted(self.X)

    @cached_property
    def mean(self) -> np.ndarray:
        """(P + T,) weighted means."""
        moved, level = self.shifted
        of_x = level + (moved.T @ self.weights) / self.weight
        base = self.y[0]
        return np.concatenate([of_x, base + self.weights @ (self.y - base) / self.weight])

    @cached_property
    def spread(self) -> np.ndarray:
        """(P + T,) Σ w (d − mean)²."""
        moved, level = self.shifted
        p = self.n_columns
        square = np.bincount(
            moved.indices, np.square(moved.data) * np.repeat(self.weights, np.diff(moved.indptr)), minlength=p
        )
        of_x = square - self.weight * np.square(self.mean[:p] - level)
        # A difference this far below its terms is their rounding: the column is constant.
        rounding = np.isfinite(square) & (of_x <= 8.0 * np.finfo(float).eps * square)
        of_x = np.where(rounding, 0.0, of_x)
        return np.concatenate([of_x, self.weights @ np.square(self.y - self.mean[p:])])

    def as_factor(self) -> np.ndarray:
        """The centred rows, dense, where they are few columns; else `UnavailableError`."""
        if self.n_columns > LARGEST_MOMENTS:
            raise UnavailableError(
                f"This needs {len(self.y)} × {self.n_columns} sparse rows as a dense matrix.",
                remedy=f"Use at most {LARGEST_MOMENTS} columns, a Normal prior, or X.toarray() if it fits in memory.",
            )
        p, root = self.n_columns, np.sqrt(self.weights)[:, None]
        return np.hstack([root * (self.X.toarray() - self.mean[:p]), root * (self.y - self.mean[p:])])

    def merge(self, other: SparseRows) -> SparseRows:
        """Rows of both, one below the other."""
        rows: Any = scipy.sparse.vstack([self.X, other.X], format="csr")
        return replace(
            self,
            data=rows.data,
            indices=rows.indices,
            indptr=rows.indptr,
            y=np.vstack([self.y, other.y]),
            weights=np.concatenate([self.weights, other.weights]),
            n_rows=self.n_rows + other.n_rows,
            count=self.count + other.count,
            log_scale=self.log_scale + other.log_scale,
        )

    def divided(self, scale: float) -> SparseRows:
        """The rows divided by a noise sd, in whose units σ = 1."""
        return replace(
            self,
            weights=self.weights / scale**2,
            log_scale=self.log_scale + self.count * float(np.log(scale)),
        )

    def with_pseudo_row(self, mean: float, sd: float) -> SparseRows:
        """A row of zeros with outcome `mean` and noise `sd`: a Normal prior on the intercept."""
        return replace(
            self,
            indptr=np.append(self.indptr, self.indptr[-1]),
            y=np.vstack([self.y, np.full((1, self.n_targets), mean)]),
            weights=np.append(self.weights, 1.0 / sd**2),
            count=self.count + 1.0,
            log_scale=self.log_scale + float(np.log(sd)),
        )


@register
@dataclass(frozen=True)
class KernelRotation:
    """V = (x − level centreᵀ)ᵀ right, orthonormal (P, K), kept as that product.

    data, indices, indptr : x (n, P), whitened rows in CSR form; level (n,), centre (P,); right (n, K)
    """

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    level: np.ndarray
    centre: np.ndarray
    right: np.ndarray

    @cached_property
    def x(self) -> Any:
        shape = (self.level.size, self.centre.size)
        return scipy.sparse.csr_array((self.data, self.indices, self.indptr), shape=shape)

    @cached_property
    def _columns(self) -> Any:
        return self.x.T.tocsr()

    @cached_property
    def _level_right(self) -> np.ndarray:
        return self.level @ self.right

    @property
    def shape(self) -> tuple[int, int]:
        return self.centre.size, self.right.shape[1]

    def project(self, rows: Any) -> np.ndarray:
        """rows · V (m, K), rows (m, P) dense or sparse."""
        kernel = (rows @ self.x.T).toarray() if is_sparse(rows) else (self.x @ rows.T).T
        return kernel @ self.right - np.multiply.outer(rows @ self.centre, self._level_right)

    def expand(self, v: np.ndarray) -> np.ndarray:
        """v Vᵀ (..., P) of v (..., K)."""
        lead = v.shape[:-1]  # spelt out, since K may be 0: rows that say nothing
        flat = v.reshape(int(np.prod(lead)), v.shape[-1]) @ self.right.T
        wide = (self._columns @ flat.T).T - np.multiply.outer(flat @ self.level, self.centre)
        return wide.reshape(*lead, self.shape[0])

    def rows(self, part: slice) -> np.ndarray:
        """V[part]."""
        return self._columns[part] @ self.right - np.multiply.outer(self.centre[part], self._level_right)

    def blocks(self) -> Iterator[slice]:
        """Parts of the P rows of V that are small enough to be dense."""
        size = max(1, CHUNK_CELLS // max(1, self.shape[1]))
        yield from (slice(start, stop) for start, stop in row_ranges(self.shape[0], size))


@dataclass(frozen=True)
class KernelRows:
    """Rows x − level centreᵀ with targets y (n, T), to be decomposed through their kernel. Cost n² nnz/n + n³."""

    x: Any
    level: np.ndarray
    centre: np.ndarray
    y: np.ndarray

    @property
    def target_square(self) -> np.ndarray:
        return np.square(self.y).sum(axis=0)

    def keeping(self, columns: np.ndarray) -> KernelRows:
        """The others of the P columns set to zero."""
        if columns.all():
            return self
        return replace(self, x=scaled_columns(self.x, columns.astype(float)), centre=self.centre * columns)

    def decomposed(
        self, scale: np.ndarray, offset: np.ndarray
    ) -> tuple[np.ndarray, KernelRotation, np.ndarray, np.ndarray]:
        """Singular values, rotation, targets and residual squares under the whitening offset + scale · u."""
        x, centre, level = scaled_columns(self.x, scale), self.centre * scale, self.level
        cross = x @ centre
        kernel = (x @ x.T).toarray()
        kernel += (centre @ centre) * np.outer(level, level) - np.outer(cross, level) - np.outer(level, cross)
        values, vectors = scipy.linalg.eigh(0.5 * (kernel + kernel.T), check_finite=False)
        values, vectors = values[::-1], vectors[:, ::-1]
        # The kernel's rounding; directions below it are left to the prior, as directions that no row touches.
        kept = values > max(values[0], 0.0) * values.size * np.finfo(float).eps if values.size else values > 0
        singular, vectors = np.sqrt(values[kept]), vectors[:, kept]
        y = self.y
        if np.any(offset):
            y = y - (self.x @ offset - level * (self.centre @ offset))[:, None]
        target = vectors.T @ y
        residual = np.square(y - vectors @ target).sum(axis=0)
        rotation = KernelRotation(x.data, x.indices, x.indptr, level, centre, vectors / singular)
        return singular, rotation, target, residual


def kernel_rows(rows: SparseRows, *, centred: bool, intercept_column: bool = False) -> KernelRows:
    """Weighted rows about the means, or about zero, where a column of ones may lead them."""
    root, p = np.sqrt(rows.weights), rows.n_columns
    if centred:
        moved, level = rows.shifted
        x = scaled_rows(moved, root)
        return KernelRows(x, root, rows.mean[:p] - level, root[:, None] * (rows.y - rows.mean[p:]))
    x = with_ones(rows.X) if intercept_column else rows.X
    return KernelRows(scaled_rows(x, root), root, np.zeros(x.shape[1]), root[:, None] * rows.y)


def with_ones(X: Any) -> Any:
    """A column of ones before X."""
    ones = np.ones((X.shape[0], 1))
    return scipy.sparse.csr_array(scipy.sparse.hstack([ones, X])) if is_sparse(X) else np.hstack([ones, X])


def square_norms(rows: Any) -> np.ndarray:
    """Σ_p x², (n,), of rows dense or sparse."""
    if is_sparse(rows):
        return np.asarray(_like(rows, np.square(rows.data)).sum(axis=1)).ravel()
    return np.square(rows).sum(axis=1)


def require_finite(X: Any, y: np.ndarray, start: int) -> None:
    """Name the first row and column that is NaN or infinite."""
    bad = ~np.isfinite(X.data)
    if bad.any():
        at = int(np.argmax(bad))
        row, column = start + int(np.searchsorted(X.indptr, at, side="right")) - 1, int(X.indices[at])
        kind = "NaN" if np.isnan(X.data[at]) else "infinity"
        raise DataError(
            f"Input contains {kind} in column {column} of X, row {row} ({int(bad.sum())} such cells in this block).",
            rows=[row],
            value=float(X.data[at]),
            remedy="Drop or impute those rows.",
        )
    if not np.all(np.isfinite(y)):
        row = int(np.argmax(~np.isfinite(y).reshape(len(y), -1).all(axis=1)))
        kind = "NaN" if np.isnan(y[row]).any() else "infinity"
        raise DataError(
            f"Input contains {kind} in y, row {start + row}.", rows=[start + row], remedy="Drop those rows."
        )
