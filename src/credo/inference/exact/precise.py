"""Second moments to 2⁻¹⁰⁰: what ill-conditioned regressions are solved from, still mergeable and mostly BLAS.

Notation
    d        a row of D = [X y], W columns; s a shift near its mean; w its weight
    gram     Σ w [1, d − s][1, d − s]ᵀ, (1 + W, 1 + W), in double-double
    slice    the part of a number between two powers of two

Forming moments squares the condition number κ, and QR in float64 errs by 2⁻⁵³ κ², too, where the residual is large.
With twice the digits neither matters: solving from these moments errs by about 2⁻¹⁰² κ², and a κ beyond 2⁴⁹ is what
float64 data cannot tell from collinear anyway.

How: in a chunk of 2,048 rows every column is cut into 4 slices of 20 bits below the power of two that bounds it, and so
is its shift; their differences, and products of those, are integers below 2²⁰ and 2⁴⁰ in units of the slices. Sums of a
chunk's products, and of the at most four sums that share a unit, stay within 2¹¹ · 2² · 2⁴⁰ = 2⁵³: exact in float64
whatever order BLAS adds them in (Ozaki, Ogita, Oishi & Rump 2012, Numerical Algorithms 59). The seven units are then
added in double-double. What is cut off lies below 2⁻⁸⁰ of the column's largest entry (or of its shift): a change of the
data 2²⁷ times finer than their own rounding. Rows are weighted by √w in double-double.

Everything holds while entries that matter lie in 10⁻¹³⁰ … 10¹⁴⁹: products of smaller ones lose their low parts to
underflow, squares of larger ones overflow (`statistics` refuses them).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from credo.numerics.double_double import DoubleDouble
from credo.saving.registry import register

__all__ = ["PreciseMoments"]

CHUNK_ROWS = 2048
SLICE_BITS = 20
N_SLICES = 4


@register
@dataclass(frozen=True)
class PreciseMoments:
    """shift : (W,) float64; high, low : (1 + W, 1 + W) parts of the Gram matrix of [1, d − shift]."""

    shift: np.ndarray
    high: np.ndarray
    low: np.ndarray

    @classmethod
    def of_rows(cls, rows: np.ndarray, shift: np.ndarray, root: DoubleDouble | None = None) -> PreciseMoments:
        """Moments of rows (n, W), float64, weighted by root² (n,). Cost 16 n (1 + W)² multiply-adds in BLAS."""
        width = 1 + rows.shape[1]
        total = DoubleDouble.of(np.zeros((width, width)))
        for start in range(0, rows.shape[0], CHUNK_ROWS):
            chunk = rows[start : start + CHUNK_ROWS]
            if root is None:
                total = total + plain_gram(chunk, shift)
            else:
                total = total + weighted_gram(chunk, shift, root[start : start + CHUNK_ROWS])
        return cls(shift, total.high, total.low)

    @classmethod
    def from_scatter(cls, weight: float, mean: np.ndarray, scatter: DoubleDouble) -> PreciseMoments:
        """From a weighted mean (W,) and the scatter about it (W, W)."""
        high, low = (np.zeros((1 + mean.size, 1 + mean.size)) for _ in range(2))
        high[0, 0], high[1:, 1:], low[1:, 1:] = weight, scatter.high, scatter.low
        return cls(mean, high, low)

    @property
    def gram(self) -> DoubleDouble:
        return DoubleDouble(self.high, self.low)

    @property
    def size(self) -> np.ndarray:
        """(W,) Σ w (d − shift)², the size of the terms a scatter is left over from."""
        return np.diag(self.high)[1:]

    @property
    def mean(self) -> np.ndarray:
        """(W,) weighted mean of the rows, rounded."""
        return (self._offset() + self.shift).round()

    def _offset(self) -> DoubleDouble:
        """(W,) mean − shift."""
        return self.gram[0, 1:] / self.gram[0, 0]

    def scatter(self) -> DoubleDouble:
        """(W, W) Σ w (d − mean)(d − mean)ᵀ."""
        gram = self.gram
        return gram[1:, 1:] - gram[0, 1:][:, None] * self._offset()

    def about(self, shift: np.ndarray) -> PreciseMoments:
        """The same rows about another shift."""
        if np.array_equal(shift, self.shift):
            return self
        move, gram = DoubleDouble.sum_of(self.shift, -shift), self.gram
        total, first = gram[0, 0], gram[0, 1:]
        cross = first[:, None] * move
        moved = gram.copy()
        moved.put((slice(1, None), slice(1, None)), gram[1:, 1:] + (cross + cross.T) + (total * move)[:, None] * move)
        first = first + total * move
        moved.put((0, slice(1, None)), first)
        moved.put((slice(1, None), 0), first)
        return PreciseMoments(shift, moved.high, moved.low)

    def merge(self, other: PreciseMoments) -> PreciseMoments:
        """Moments of both sets of rows, about the shift of the heavier one. Associative to 2⁻¹⁰⁰."""
        shift = self.shift if self.high[0, 0] >= other.high[0, 0] else other.shift
        total = self.about(shift).gram + other.about(shift).gram
        return PreciseMoments(shift, total.high, total.low)

    def divided(self, variance: DoubleDouble) -> PreciseMoments:
        """The moments with every weight divided by `variance`."""
        total = self.gram / variance
        return PreciseMoments(self.shift, total.high, total.low)


def plain_gram(rows: np.ndarray, shift: np.ndarray) -> DoubleDouble:
    """Gram matrix of [1, rows − shift], at most 2,048 rows: the slices of the shift are taken from those of the rows.

    Transposed, so that every operation runs along memory.
    """
    columns = np.ones((1 + rows.shape[1], rows.shape[0]))
    columns[1:] = rows.T
    shift = np.concatenate([[0.0], shift])
    largest = np.maximum(np.maximum(columns.max(axis=1), -columns.min(axis=1)), np.abs(shift))
    unit = bound(largest)
    columns /= unit
    parts = slices(columns)
    parts -= slices(shift[:, None] / unit)
    return gram_of_slices(parts, unit)


def weighted_gram(rows: np.ndarray, shift: np.ndarray, root: DoubleDouble) -> DoubleDouble:
    """The same with each row times root (n,): the products are rounded at 2⁻¹⁰⁴ and then cut."""
    shape = 1 + rows.shape[1], rows.shape[0]
    columns = DoubleDouble(np.ones(shape), np.zeros(shape))
    columns.put(slice(1, None), DoubleDouble.sum_of(rows.T, -shift[:, None]))
    columns = columns * root
    unit = bound(np.abs(columns.high).max(axis=1))
    return gram_of_slices(slices(columns.high / unit, columns.low / unit), unit)


def bound(largest: np.ndarray) -> np.ndarray:
    """(W, 1) the power of two above each of `largest` (W,), by which division is exact; not below 2⁻⁹⁶⁰."""
    return np.ldexp(1.0, np.clip(np.frexp(largest)[1], -960, 1023))[:, None]


def slices(high: np.ndarray, low: np.ndarray | None = None) -> np.ndarray:
    """(4 W, n): the leading 20-bit slices of numbers (W, n), |high + low| ≤ 1, one below the other. Overwrites them."""
    width, n = high.shape
    parts = np.empty((N_SLICES * width, n))
    for k in range(N_SLICES):
        if k == 2 and low is not None:  # 39 bits are gone from `high`: the rest and `low` fit one float64, to 2⁻⁹²
            high += low
        part = parts[k * width : (k + 1) * width]
        # Adding 1.5 · 2⁵² units rounds to whole units; subtracting it again is exact, and so is the remainder.
        anchor = 1.5 * 2.0 ** (52 + 1 - SLICE_BITS * (k + 1))
        np.add(high, anchor, out=part)
        part -= anchor
        high -= part
    return parts


def gram_of_slices(parts: np.ndarray, unit: np.ndarray) -> DoubleDouble:
    """Σ over rows of the products of columns, each `unit` (W, 1) times the sum of its slices in `parts` (4 W, n)."""
    width = unit.size
    products = (parts @ parts.T).reshape(N_SLICES, width, N_SLICES, width)
    total = DoubleDouble.of(np.zeros((width, width)))
    for order in range(2 * N_SLICES - 2, -1, -1):  # small ones first
        first, last = max(0, order - N_SLICES + 1), min(order, N_SLICES - 1)
        total = total + sum(products[i, :, order - i] for i in range(first, last + 1))
    return DoubleDouble(total.high * unit * unit.T, total.low * unit * unit.T)
