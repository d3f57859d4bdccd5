"""Double-double arithmetic: a number as the unevaluated sum of two float64, about 106 bits, on whole arrays at once.

Notation: u = 2⁻⁵³. For float64 a, b the rounding errors of a + b and a · b are themselves float64 and can be computed
(Dekker 1971; Knuth, TAOCP 2, §4.2.2). Everything here follows from those two facts. Relative errors of one operation,
barring overflow and underflow: + − 3u² and × 5u² (proved by Joldes, Muller & Popescu 2017, ACM TOMS 44), ÷ and √ 5u²
(tested).

Exactness needs 2⁻⁹⁶⁰ ≤ |a · b| and |a|, |b| ≤ 2⁹⁹⁵; beyond, the low parts are lost (small) or NaN (large).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["DoubleDouble", "PivotedCholesky", "pivoted_cholesky", "solve_upper", "two_product", "two_sum"]

# 2²⁷ + 1 cuts 53 bits into 26 + 26 (with a sign), whose products are exact.
SPLITTER = 134217729.0


def two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """(s, e) with s = fl(a + b) and s + e = a + b exactly."""
    s = a + b
    back = s - a
    return s, (a - (s - back)) + (b - back)


def two_product(a: Any, b: Any) -> tuple[Any, Any]:
    """(p, e) with p = fl(a · b) and p + e = a · b exactly."""
    p = a * b
    (a_high, a_low), (b_high, b_low) = _split(a), _split(b)
    return p, a_low * b_low - (((p - a_high * b_high) - a_low * b_high) - a_high * b_low)


def _split(a: Any) -> tuple[Any, Any]:
    scaled = SPLITTER * a
    high = scaled - (scaled - a)
    return high, a - high


@dataclass(frozen=True, eq=False)
class DoubleDouble:
    """An array of numbers high + low with |low| ≤ ½ ulp(high); arithmetic with its like and with floats.

    >>> third = DoubleDouble.of(1.0) / 3.0
    >>> float((third * 3.0 - 1.0).round()) == 0.0, abs(float(third.high) - 1 / 3) == 0.0
    (True, True)
    """

    high: np.ndarray
    low: np.ndarray

    __array_ufunc__ = None  # array * DoubleDouble comes here rather than element by element

    @classmethod
    def of(cls, value: Any) -> DoubleDouble:
        """A float64 array as it is."""
        if isinstance(value, DoubleDouble):
            return value
        high = np.asarray(value, dtype=np.float64)
        return cls(high, np.zeros_like(high))

    @classmethod
    def sum_of(cls, a: Any, b: Any) -> DoubleDouble:
        """a + b of two float64 arrays, exactly."""
        return cls(*two_sum(a, b))

    def round(self) -> np.ndarray:
        """The nearest float64."""
        return self.high

    @property
    def T(self) -> DoubleDouble:
        return DoubleDouble(self.high.T, self.low.T)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.high.shape

    def __getitem__(self, key: Any) -> DoubleDouble:
        return DoubleDouble(self.high[key], self.low[key])

    def __neg__(self) -> DoubleDouble:
        return DoubleDouble(-self.high, -self.low)

    def __add__(self, other: Any) -> DoubleDouble:
        other = DoubleDouble.of(other)
        high, error = two_sum(self.high, other.high)
        low, low_error = two_sum(self.low, other.low)
        high, error = _renormalise(high, error + low)
        return DoubleDouble(*_renormalise(high, error + low_error))

    __radd__ = __add__

    def __sub__(self, other: Any) -> DoubleDouble:
        return self + (-DoubleDouble.of(other))

    def __rsub__(self, other: Any) -> DoubleDouble:
        return (-self) + other

    def __mul__(self, other: Any) -> DoubleDouble:
        other = DoubleDouble.of(other)
        high, error = two_product(self.high, other.high)
        return DoubleDouble(*_renormalise(high, error + (self.high * other.low + self.low * other.high)))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> DoubleDouble:
        other = DoubleDouble.of(other)
        first = self.high / other.high
        rest = self - other * first
        second = rest.high / other.high
        third = (rest - other * second).high / other.high
        return DoubleDouble(*_renormalise(first, second)) + third

    def __rtruediv__(self, other: Any) -> DoubleDouble:
        return DoubleDouble.of(other) / self

    def __matmul__(self, other: Any) -> DoubleDouble:
        """Matrix product (m, k) (k, n); k steps of m × n operations."""
        other = DoubleDouble.of(other)
        total = DoubleDouble.of(np.zeros((self.shape[0], other.shape[1])))
        for k in range(self.shape[1]):
            total = total + self[:, [k]] * other[[k]]
        return total

    def sqrt(self) -> DoubleDouble:
        """√ of numbers ≥ 0: one Newton step from the float64 root, whose square is exact in double-double."""
        root = np.sqrt(self.high)
        rest = (self - DoubleDouble(*two_product(root, root))).high
        return DoubleDouble(*_renormalise(root, rest / np.where(root > 0.0, 2.0 * root, 1.0)))

    def diagonal(self) -> DoubleDouble:
        return DoubleDouble(np.diag(self.high), np.diag(self.low))

    def put(self, key: Any, value: DoubleDouble) -> None:
        """self[key] = value, in place."""
        self.high[key], self.low[key] = value.high, value.low

    def copy(self) -> DoubleDouble:
        return DoubleDouble(self.high.copy(), self.low.copy())


def _renormalise(high: Any, low: Any) -> tuple[Any, Any]:
    """The same sum with the parts apart again; |high| ≥ |low| or high = 0."""
    s = high + low
    return s, low - (s - high)


@dataclass(frozen=True)
class PivotedCholesky:
    """The part of A that r pivots explain: A ≈ RᵀR + rest.

    pivots : (r,) columns in the order they were taken
    rows : (r, W) R, columns in their original order; R[:, pivots] is upper triangular
    rest : (W,) diagonal of what is left, zero at the pivots
    """

    pivots: np.ndarray
    rows: DoubleDouble
    rest: np.ndarray


def pivoted_cholesky(matrix: DoubleDouble, reference: np.ndarray, n_candidates: int | None = None) -> PivotedCholesky:
    """Cholesky factor of a positive semi-definite A (W, W), the largest remaining diagonal entry first.

    reference : (W,) the size of the terms that made each diagonal entry: A_ii, or more where it came by cancellation.
        A column whose remainder is below (2 W u)² of that, W roundings of its entries, is collinear with those before
        as far as float64 data can tell, and is not taken. (The rounding of A itself is below that: 5 W u².)
    n_candidates : only the first so many columns may be pivots (default all).

    Rows of R fall in size and are well scaled within, which is why their float64 rounding still determines even the
    smallest singular values to high relative accuracy (Demmel et al. 1999, Linear Algebra Appl. 299, §3).
    Cost r W² operations of double-double.
    """
    width = matrix.shape[0]
    n_candidates = width if n_candidates is None else n_candidates
    floor = (width * np.finfo(np.float64).eps) ** 2 * reference
    columns, rest = np.arange(width), matrix
    pivots: list[int] = []
    rows: list[DoubleDouble] = []
    while columns.size:
        diagonal = np.diag(rest.high)
        eligible = (columns < n_candidates) & (diagonal > floor[columns])
        if not eligible.any():
            break
        best = int(np.argmax(np.where(eligible, diagonal, -np.inf)))
        row = rest[best] * (1.0 / rest[best, best].sqrt())
        keep = np.arange(columns.size) != best
        full = DoubleDouble.of(np.zeros(width))
        full.put(columns, row)
        pivots.append(int(columns[best]))
        rows.append(full)
        row, columns = row[keep], columns[keep]
        rest = rest[np.ix_(keep, keep)] - row[:, None] * row
    remainder = np.zeros(width)
    remainder[columns] = np.maximum(np.diag(rest.high), 0.0)
    high = np.array([row.high for row in rows]).reshape(-1, width)
    low = np.array([row.low for row in rows]).reshape(-1, width)
    return PivotedCholesky(np.array(pivots, dtype=np.intp), DoubleDouble(high, low), remainder)


def solve_upper(upper: DoubleDouble, right: DoubleDouble) -> DoubleDouble:
    """U⁻¹ B for upper triangular U (K, K) and B (K, T), by columns of U."""
    rest, inverse = right.copy(), 1.0 / upper.diagonal()
    for k in range(upper.shape[0] - 1, -1, -1):
        rest.put([k], rest[[k]] * inverse[k])
        rest.put(slice(k), rest[:k] - upper[:k, [k]] * rest[[k]])
    return rest
