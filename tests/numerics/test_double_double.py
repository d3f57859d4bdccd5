"""Double-double against exact fractions and mpmath."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from credo.numerics.double_double import DoubleDouble, pivoted_cholesky, solve_upper, two_product, two_sum

U2 = Fraction(1, 2**106)
# Products and their errors stay clear of overflow (2⁹⁹⁵ for the split) and underflow (2⁻⁹⁶⁰).
MODERATE = st.floats(-(2.0**400), 2.0**400, allow_nan=False).filter(lambda x: x == 0.0 or abs(x) > 2.0**-400)
exact = settings(derandomize=True, deadline=None, max_examples=300)


def fractions(value: DoubleDouble) -> list[Fraction]:
    high, low = np.atleast_1d(value.high).ravel(), np.atleast_1d(value.low).ravel()
    return [Fraction(h) + Fraction(lo) for h, lo in zip(high.tolist(), low.tolist(), strict=True)]


def numbers(rng: np.random.Generator, n: int) -> DoubleDouble:
    high = rng.standard_normal(n) * 2.0 ** rng.integers(-40, 40, n)
    return DoubleDouble.sum_of(high, high * 2.0**-53 * rng.uniform(-0.99, 0.99, n))


def worst(got: DoubleDouble, truth: list[Fraction]) -> float:
    """Largest relative error in units of u²."""
    return max(float(abs(g - t) / abs(t) / U2) for g, t in zip(fractions(got), truth, strict=True) if t)


@given(st.floats(allow_nan=False, allow_infinity=False, width=32), MODERATE)
@exact
def test_sums_lose_nothing(a, b):
    s, e = two_sum(a, b)
    assert s == a + b
    assert Fraction(s) + Fraction(e) == Fraction(a) + Fraction(b)


@given(MODERATE, MODERATE)
@exact
def test_products_lose_nothing(a, b):
    p, e = two_product(a, b)
    assert p == a * b
    assert Fraction(p) + Fraction(e) == Fraction(a) * Fraction(b)


class TestArithmetic:
    rng = np.random.default_rng(0)
    a, b = numbers(rng, 3000), numbers(rng, 3000)
    x, y = fractions(a), fractions(b)

    def test_sum_and_difference(self):
        assert worst(self.a + self.b, [p + q for p, q in zip(self.x, self.y, strict=True)]) < 3.0
        assert worst(self.a - self.b, [p - q for p, q in zip(self.x, self.y, strict=True)]) < 3.0

    def test_a_difference_of_neighbours_keeps_its_bound(self):
        near = self.a * DoubleDouble(np.full(3000, 1.0), np.full(3000, 2.0**-70))
        assert worst(near - self.a, [p - q for p, q in zip(fractions(near), self.x, strict=True)]) < 3.0

    def test_product(self):
        assert worst(self.a * self.b, [p * q for p, q in zip(self.x, self.y, strict=True)]) < 5.0

    def test_quotient(self):
        assert worst(self.a / self.b, [p / q for p, q in zip(self.x, self.y, strict=True)]) < 5.0

    def test_root(self):
        with mpmath.workprec(300):
            square = self.a * self.a
            for got, value in zip(fractions(square.sqrt()), fractions(square), strict=True):
                truth = mpmath.sqrt(mpmath.mpf(value.numerator) / value.denominator)
                error = abs(mpmath.mpf(got.numerator) / got.denominator / truth - 1)
                assert error < 5.0 * 2.0**-106

    def test_floats_on_either_side(self):
        three = np.full(3000, 3.0)
        for got, truth in [
            (three * self.a, [3 * p for p in self.x]),
            (three + self.a, [3 + p for p in self.x]),
            (1.0 - self.a, [1 - p for p in self.x]),
        ]:
            assert isinstance(got, DoubleDouble)
            assert worst(got, truth) < 5.0

    def test_zero(self):
        zero = DoubleDouble.of(np.zeros(2))
        for value in (zero + zero, zero * 5.0, zero.sqrt(), zero / 3.0):
            assert not value.high.any()
            assert not value.low.any()


def test_matrix_product():
    rng = np.random.default_rng(1)
    a, b = rng.integers(-(2**50), 2**50, (4, 7)).astype(float), rng.integers(-(2**50), 2**50, (7, 3)).astype(float)
    truth = [sum(Fraction(p) * Fraction(q) for p, q in zip(row, col, strict=True)) for row in a for col in b.T]
    scale = (abs(a) @ abs(b)).ravel()
    for got, exact_value, size in zip(fractions(DoubleDouble.of(a) @ b), truth, scale, strict=True):
        assert abs(got - exact_value) <= 7 * 8 * U2 * Fraction(size)


class TestPivotedCholesky:
    def test_solves_a_hilbert_system_that_float64_cannot(self):
        n = 12  # condition 1.7e16: the answer keeps 106 − 54 bits
        hilbert = DoubleDouble.of(1.0) / (np.arange(n)[:, None] + np.arange(n) + 1.0)
        right = (hilbert @ np.ones((n, 1))).copy()
        moments = DoubleDouble(
            np.block([[hilbert.high, right.high], [right.high.T, np.full((1, 1), 1e3)]]),
            np.block([[hilbert.low, right.low], [right.low.T, np.zeros((1, 1))]]),
        )
        factor = pivoted_cholesky(moments, np.diag(moments.high), n)
        solution = solve_upper(factor.rows[:, factor.pivots], factor.rows[:, n:])
        np.testing.assert_allclose(solution.round(), 1.0, rtol=0, atol=1e-13)

    def test_the_factor_reproduces_the_matrix(self):
        rows = np.random.default_rng(2).normal(size=(9, 6)) * 10.0 ** np.arange(6)
        matrix = DoubleDouble.of(rows.T) @ rows
        factor = pivoted_cholesky(matrix, np.diag(matrix.high))
        difference = (factor.rows.T @ factor.rows - matrix).round()
        assert np.abs(difference / np.outer(10.0 ** np.arange(6), 10.0 ** np.arange(6))).max() < 1e-29
        triangle = factor.rows.high[:, factor.pivots]
        assert np.array_equal(triangle, np.triu(triangle))
        assert np.all(np.diff(np.diag(triangle)) < 0)

    @pytest.mark.parametrize("rank", [0, 1, 3])
    def test_stops_at_the_rank(self, rank):
        rng = np.random.default_rng(rank)
        rows = rng.integers(-(2**24), 2**24, (8, rank)).astype(float) @ rng.integers(-(2**24), 2**24, (rank, 5))
        matrix = DoubleDouble.of(rows.T) @ rows
        factor = pivoted_cholesky(matrix, np.diag(matrix.high))
        assert factor.pivots.size == rank
        assert factor.rows.shape == (rank, 5)
        assert np.all(factor.rest <= 1e-29 * np.diag(matrix.high))

    def test_columns_that_may_not_pivot_keep_their_remainder(self):
        rows = np.array([[1.0, 1.0], [0.0, 2.0**-40]])
        matrix = DoubleDouble.of(rows.T) @ rows
        factor = pivoted_cholesky(matrix, np.diag(matrix.high), 1)
        assert factor.rest.tolist() == [0.0, 2.0**-80]
