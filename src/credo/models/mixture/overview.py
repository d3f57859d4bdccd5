"""The first pass: where the data lie, whether cells are missing, and a sample of rows for the starts.

The sample holds the rows with the smallest hash of (seed, row number), so that it is the same whatever the partition,
merges, and never holds more than `SAMPLE` rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from credo.blocks.reduction import reduce
from credo.blocks.source import Block, Source
from credo.distributions.statistics import WeightedMoments
from credo.errors import DataError

__all__ = ["Overview", "overview"]

# k-means++ on these costs less than one EM pass over a few times as many rows, and a component of 1 % of the data
# still has some forty of them.
SAMPLE = 4096


@dataclass(frozen=True, eq=False)
class Overview:
    """n_rows, weight : rows of positive weight, and their total weight
    moments : mean and centred cross products of the rows without missing cells
    cells : a `WeightedMoments` a column, of its observed cells; None where no cell is missing
    keys, rows, weights, numbers : the sample, its hashes and its row numbers
    """

    n_rows: int
    weight: float
    moments: WeightedMoments
    cells: tuple[WeightedMoments, ...] | None
    keys: np.ndarray
    rows: np.ndarray
    weights: np.ndarray
    numbers: np.ndarray

    def merge(self, other: Overview) -> Overview:
        cells = None
        if self.cells is not None or other.cells is not None:
            cells = tuple(a.merge(b) for a, b in zip(self.by_column, other.by_column, strict=True))
        joined = (np.concatenate(pair) for pair in zip(self._sample, other._sample, strict=True))
        return Overview(
            self.n_rows + other.n_rows,
            self.weight + other.weight,
            self.moments.merge(other.moments),
            cells,
            *_smallest(*joined),
        )

    @property
    def _sample(self) -> tuple[np.ndarray, ...]:
        return self.keys, self.rows, self.weights, self.numbers

    @property
    def by_column(self) -> tuple[WeightedMoments, ...]:
        if self.cells is not None:
            return self.cells
        m = self.moments
        diagonal = np.diag(m.scatter)
        return tuple(
            WeightedMoments(m.count, m.total, m.shift[j], m.offset[j], diagonal[j]) for j in range(diagonal.size)
        )

    @property
    def has_missing(self) -> bool:
        return self.cells is not None

    @property
    def mean(self) -> np.ndarray:
        return self.moments.mean if self.cells is None else np.array([float(c.mean) for c in self.cells])

    @property
    def variance(self) -> np.ndarray:
        """Of each column, over its observed cells; 0 for one without any."""
        if self.cells is None:
            return np.diag(self.moments.scatter) / self.moments.total
        return np.array([float(c.scatter) / c.total if c.total > 0 else 0.0 for c in self.cells])

    @property
    def covariance(self) -> np.ndarray:
        """(d, d); where cells are missing, of the columns as though independent."""
        return self.moments.scatter / self.moments.total if self.cells is None else np.diag(self.variance)


def overview(source: Source, seed: int, threads: int | None = None) -> Overview:
    """One pass. Cost n d²."""
    return reduce(source, _of_block(seed), Overview.merge, threads)


def _of_block(seed: int) -> Callable[[Block], Overview]:
    def of_block(block: Block) -> Overview:
        if not isinstance(block.X, np.ndarray):
            raise DataError(
                "Mixtures need dense rows.",
                value=type(block.X).__name__,
                remedy="Use X.toarray(), or a source of arrays.",
            )
        X = block.X
        weights = np.ones(block.n_rows) if block.weights is None else np.asarray(block.weights, dtype=np.float64)
        numbers = block.start + np.arange(block.n_rows)
        missing = _missing(X, block.start)
        some = bool(missing.any())
        used = weights > 0.0
        if not used.all():
            X, weights, numbers, missing = X[used], weights[used], numbers[used], missing[used]
        if not some:
            moments, cells = WeightedMoments.accumulate(X, weights, full=True), None
        else:
            whole = ~missing.any(axis=1)
            moments = WeightedMoments.accumulate(X[whole], weights[whole], full=True)
            cells = tuple(WeightedMoments.accumulate(X[o, j], weights[o]) for j, o in enumerate(~missing.T))
        sample = _smallest(_hash(seed, numbers), X, weights, numbers)
        return Overview(len(X), float(weights.sum()), moments, cells, *sample)

    return of_block


def _missing(X: np.ndarray, start: int) -> np.ndarray:
    """Which cells are NaN; `DataError` for infinite ones."""
    missing = np.isnan(X)
    infinite = np.flatnonzero(np.isinf(X).any(axis=1))
    if infinite.size:
        row = int(infinite[0])
        raise DataError(
            f"Row {start + row} holds an infinite value.",
            rows=(start + infinite[:20]).tolist(),
            value=X[row],
            remedy="Use NaN for a missing cell.",
        )
    return missing


def _smallest(
    keys: np.ndarray, rows: np.ndarray, weights: np.ndarray, numbers: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The rows with the smallest keys, in the order of their numbers."""
    if len(keys) > SAMPLE:
        chosen = np.argpartition(keys, SAMPLE)[:SAMPLE]
        chosen = chosen[np.argsort(numbers[chosen])]
        keys, rows, weights, numbers = keys[chosen], rows[chosen], weights[chosen], numbers[chosen]
    return keys, rows, weights, numbers


def _hash(seed: int, numbers: np.ndarray) -> np.ndarray:
    """splitmix64 of the row numbers: Steele, Lea and Flood (2014), Fast splittable pseudorandom number generators."""
    with np.errstate(over="ignore"):
        x = (numbers.astype(np.uint64) + np.uint64(seed)) * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))
