"""Mergeable statistics: what one pass over the rows leaves behind, and how two such records become one.

Each record is made from a block by `accumulate`, and `a.merge(b)` describes the rows of both. Means and *centred*
second moments, never raw sums of squares, so that data like N(10⁸, 1) have variance 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from credo.blocks.source import Block
from credo.errors import DataError, ParameterError

__all__ = ["WeightedMoments", "CategoryCounts", "ValueCounts"]

#: numbers a chunk: 512 kB of float64 stay in the second-level cache between the two passes
_CHUNK = 65536


def _rows(owner: str, x: Any, weights: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Rows and their weights, from arrays or a `Block`; weights checked."""
    if isinstance(x, Block):
        weights = x.weights if weights is None else weights
        x = x.X
    x = np.asarray(x)
    if x.dtype == object or x.ndim == 0:
        raise ParameterError(owner, "x", "a dense array of numbers with a row axis", x)
    if weights is None:
        return x, None
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != x.shape[:1]:
        raise DataError(f"{owner}: weights of shape {weights.shape} for {x.shape[0]} rows.")
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if bad.size:
        raise DataError(f"{owner}: weight {weights[bad[0]]} in row {bad[0]} is not a finite number ≥ 0.",
                        rows=bad[:20].tolist(), value=weights[bad[:20]])  # fmt: skip
    return x, weights


@dataclass(frozen=True, eq=False)
class WeightedMoments:
    """Total weight W, mean Σ w x / W and scatter Σ w (x − mean)² of weighted rows.

    count : rows seen, whatever their weight
    total : W
    shift, offset : shape (...) of one row; the mean is shift + offset, kept apart so that merges lose nothing of it
    scatter : the same shape (each entry by itself), or (d, d) for rows of length d (cross products)

    Two passes over cache-sized chunks, merged by Chan's formula; float32 input accumulates in float64. Cost O(n d),
    or O(n d²) with cross products through BLAS.

    >>> import numpy as np
    >>> m = WeightedMoments.accumulate(1e8 + np.array([-1.0, 0.0, 1.0]))
    >>> m.merge(WeightedMoments.accumulate(np.array([1e8]))).variance().item()
    0.5

    References
    ----------
    Chan, Golub and LeVeque (1983), Algorithms for computing the sample variance.
    """

    count: int
    total: float
    shift: np.ndarray
    offset: np.ndarray
    scatter: np.ndarray

    @property
    def mean(self) -> np.ndarray:
        """Σ w x / W; 0 while W = 0."""
        return np.asarray(self.shift + self.offset)

    @classmethod
    def zero(cls, shape: tuple[int, ...] = (), full: bool = False) -> Self:
        """The statistics of no rows."""
        return cls(0, 0.0, np.zeros(shape), np.zeros(shape), np.zeros(shape * 2 if full else shape))

    @classmethod
    def accumulate(cls, x: Any, weights: Any = None, *, full: bool = False) -> Self:
        """The statistics of rows x (n, ...), or of a `Block`; `full` keeps all cross products of rows (n, d)."""
        x, weights = _rows("WeightedMoments", x, weights)
        if full and x.ndim != 2:
            raise ParameterError("WeightedMoments", "x", "of shape (rows, d) for cross products", x.shape)
        result = cls.zero(x.shape[1:], full)
        step = max(1, _CHUNK // max(1, int(np.prod(x.shape[1:]))))
        for i in range(0, x.shape[0], step):
            result = result.merge(cls._chunk(x[i : i + step], None if weights is None else weights[i : i + step], full))
        return result

    @classmethod
    def _chunk(cls, x: np.ndarray, weights: np.ndarray | None, full: bool) -> Self:
        x = x.astype(np.float64, copy=False)
        w = np.ones(len(x)) if weights is None else weights
        total = float(w.sum())
        if total == 0.0:
            return cls(len(x), 0.0, *cls.zero(x.shape[1:], full)._arrays)
        # the mean of deviations from a row of the data: exact where the sum itself would round
        shift = x[np.argmax(w > 0)]
        x = x - shift
        offset = np.tensordot(w, x, axes=1) / total
        x -= offset
        column = w.reshape((-1,) + (1,) * (x.ndim - 1))
        if full:
            scatter = x.T @ (column * x)
        else:
            scatter = np.sum(column * np.square(x), axis=0)
        # what rounding left in the mean of the deviations, second pass
        residual = np.tensordot(w, x, axes=1) / total
        scatter = scatter - total * (np.outer(residual, residual) if full else np.square(residual))
        return cls(len(x), total, shift, np.asarray(offset + residual), np.asarray(scatter))

    @property
    def _arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.shift, self.offset, self.scatter

    @property
    def is_full(self) -> bool:
        """Whether `scatter` holds cross products."""
        return self.scatter.ndim > self.offset.ndim

    def merge(self, other: Self) -> Self:
        """The statistics of both sets of rows: scatter_a + scatter_b + (W_a W_b / W) δ², δ the difference of means."""
        if self.scatter.shape != other.scatter.shape:
            raise ParameterError("WeightedMoments.merge", "other", f"of scatter shape {self.scatter.shape}", other)
        count, total = self.count + other.count, self.total + other.total
        if self.total == 0.0 or other.total == 0.0:
            return type(self)(count, total, *(other if self.total == 0.0 else self)._arrays)
        delta = (other.shift - self.shift) + (other.offset - self.offset)  # the first difference is exact
        between = np.multiply.outer(delta, delta) if self.is_full else np.square(delta)
        offset = self.offset + delta * (other.total / total)
        scatter = self.scatter + other.scatter + between * (self.total * (other.total / total))
        return type(self)(count, total, self.shift, np.asarray(offset), np.asarray(scatter))

    def variance(self, ddof: float = 0.0) -> np.ndarray:
        """scatter / (W − ddof): variances, or the covariance matrix. ddof=1 is unbiased for weights that count rows."""
        if self.total <= ddof:
            raise DataError(f"A variance needs a total weight above {ddof:g}, got {self.total:g}.", value=self.total)
        return self.scatter / (self.total - ddof)


@dataclass(frozen=True, eq=False)
class CategoryCounts:
    """Weight of each code 0 … k − 1: the sufficient statistic of `Categorical` and `Bernoulli`.

    >>> a = CategoryCounts.accumulate([0, 2, 2], n_categories=3)
    >>> a.merge(CategoryCounts.accumulate([1], n_categories=3)).counts.tolist()
    [1.0, 1.0, 2.0]
    """

    counts: np.ndarray

    @classmethod
    def accumulate(cls, x: Any, weights: Any = None, *, n_categories: int) -> Self:
        """Counts of the codes x (n,); a code that is not an integer in [0, n_categories) is a `DataError`."""
        x, weights = _rows("CategoryCounts", x, weights)
        bad = np.flatnonzero(~((x >= 0) & (x < n_categories) & (np.floor(x) == x)))
        if bad.size:
            raise DataError(
                f"CategoryCounts: code {x[bad[0]]} in row {bad[0]} is not an integer from 0 to {n_categories - 1}.",
                rows=bad[:20].tolist(),
                value=x[bad[:20]],
            )
        return cls(np.bincount(x.astype(np.intp), weights, minlength=n_categories).astype(np.float64))

    def merge(self, other: Self) -> Self:
        """Counts of both sets of rows."""
        if self.counts.shape != other.counts.shape:
            raise ParameterError("CategoryCounts.merge", "other", f"of {self.counts.size} categories", other)
        return type(self)(self.counts + other.counts)

    @property
    def total(self) -> float:
        """Total weight."""
        return float(self.counts.sum())


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """The distinct values, ascending, and their weights: sufficient for every family, compact for counts.

    >>> ValueCounts.accumulate([3, 1, 3]).weights.tolist()
    [1.0, 2.0]
    """

    values: np.ndarray
    weights: np.ndarray

    @classmethod
    def accumulate(cls, x: Any, weights: Any = None) -> Self:
        """The distinct values of x (n,) with their total weights. Cost O(n log n)."""
        x, weights = _rows("ValueCounts", x, weights)
        values, index = np.unique(x.astype(np.float64).ravel(), return_inverse=True)
        return cls(values, np.bincount(index, weights, minlength=values.size).astype(np.float64))

    def merge(self, other: Self) -> Self:
        """Values and weights of both sets of rows."""
        return self.accumulate(
            np.concatenate([self.values, other.values]), np.concatenate([self.weights, other.weights])
        )
