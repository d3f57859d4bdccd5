"""Double-double moments against exact fractions; the spectra made of them against mpmath."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import credo as cr
from credo.blocks.array import ArraySource
from credo.blocks.reduction import reduce
from credo.blocks.source import Block
from credo.errors import DataError, NotIdentifiedError
from credo.inference.exact.accumulate import accumulate_factor, accumulate_moments, accumulate_precise
from credo.inference.exact.precise import PreciseMoments
from credo.inference.exact.spectrum import Whitening, centred_rows, plain_rows
from credo.inference.exact.statistics import RegressionStatistics, well_conditioned
from credo.inference.exact.summary import combine, summarise
from credo.numerics.double_double import DoubleDouble


def exact_gram(rows, shift, weights=None):
    """Gram matrix of [1, rows − shift] in rational arithmetic."""
    shift = [Fraction(float(s)) for s in shift]
    table = [[Fraction(1)] + [Fraction(float(v)) - s for v, s in zip(row, shift, strict=True)] for row in rows]
    weights = [Fraction(1)] * len(table) if weights is None else weights
    width = len(table[0])
    gram = [[Fraction(0)] * width for _ in range(width)]
    for w, row in zip(weights, table, strict=True):
        for i in range(width):
            for j in range(i, width):
                gram[i][j] += w * row[i] * row[j]
    return [[gram[min(i, j)][max(i, j)] for j in range(width)] for i in range(width)]


def largest_error(moments: PreciseMoments, truth) -> float:
    """max |G − truth| / √(truth_ii truth_jj)."""
    size = [float(truth[i][i]) ** 0.5 or 1.0 for i in range(len(truth))]
    return max(
        abs(float(Fraction(moments.high[i, j]) + Fraction(moments.low[i, j]) - truth[i][j])) / size[i] / size[j]
        for i in range(len(truth))
        for j in range(len(truth))
    )


def nasty(n: int = 300) -> dict[str, np.ndarray]:
    """Tables whose bits all lie within 80 of the top of their column."""
    rng = np.random.default_rng(0)
    return {
        "uniform": np.round(rng.uniform(-1.0, 1.0, (n, 4)) * 2.0**60) / 2.0**60,
        "far from zero": 1e8 + rng.normal(size=(n, 3)),
        "mixed signs and exponents": rng.integers(-(2**53), 2**53, (n, 4)) * 2.0 ** rng.integers(0, 26, (n, 4)),
        "columns of any scale": rng.normal(size=(n, 4)) * [1e-120, 1e-30, 1e40, 1e140],
        "zeros": rng.normal(size=(n, 3)) * (rng.random((n, 3)) < 0.1),
        "a zero column": np.column_stack([rng.normal(size=n), np.zeros(n)]),
        "integers": rng.integers(-(2**53), 2**53, (n, 3)).astype(float),
        "powers of two": 2.0 ** rng.integers(0, 30, (n, 3)),
    }


class TestMoments:
    @pytest.mark.parametrize("name", nasty())
    def test_is_the_exact_gram_to_100_bits(self, name):
        rows = nasty()[name]
        for shift in (rows.mean(axis=0), np.zeros(rows.shape[1])):
            assert largest_error(PreciseMoments.of_rows(rows, shift), exact_gram(rows, shift)) < 2.0**-100

    @pytest.mark.parametrize("spread", [0.0, 10.0, 60.0])
    def test_bits_further_down_are_a_change_of_the_data(self, spread):
        rng = np.random.default_rng(1)
        rows = rng.normal(size=(300, 3)) * 2.0 ** rng.uniform(-spread, spread, (300, 3))
        shift = rows.mean(axis=0)
        # one entry moves by 2⁻⁸⁰ of the largest, of the rows and of the shift alike: 2⁻⁷⁹ √n in the norm of a column
        top = np.abs(rows).max(axis=0) / np.sqrt(np.square(rows - shift).sum(axis=0))
        bound = 2.0 * 2.0**-79 * np.sqrt(300) * top.max()
        assert largest_error(PreciseMoments.of_rows(rows, shift), exact_gram(rows, shift)) < bound

    def test_entries_far_below_the_largest_lose_what_lies_below_80_bits(self):
        rows = np.array([[1.0, 1.0], [2.0**-60 * (1 + 2.0**-40), 1.0]])
        moments = PreciseMoments.of_rows(rows, np.zeros(2))
        # |1|·cut of column 0, 2⁻⁸⁰ of its largest entry: Σ x₀ x₁ = 1 + 2⁻⁶⁰ + (2⁻¹⁰⁰ lost)
        assert Fraction(moments.high[1, 2]) + Fraction(moments.low[1, 2]) == 1 + Fraction(1, 2**60)

    def test_subnormal_entries_count_for_nothing_and_break_nothing(self):
        rows = np.random.default_rng(0).normal(size=(50, 3)) * [1.0, 5e-320, 1.0]
        moments = PreciseMoments.of_rows(rows, np.full(3, 0.1))
        assert np.all(np.isfinite(moments.high))
        clean = PreciseMoments.of_rows(rows[:, [0, 2]], np.full(2, 0.1))
        assert np.array_equal(moments.high[np.ix_([0, 1, 3], [0, 1, 3])], clean.high)

    @pytest.mark.parametrize("n", [1, 2047, 2048, 2049, 5000])
    def test_chunks_of_rows(self, n):
        rows = np.random.default_rng(n).integers(-(2**40), 2**40, (n, 2)).astype(float)
        rows[0] = 2.0**40
        assert largest_error(PreciseMoments.of_rows(rows, np.ones(2)), exact_gram(rows, np.ones(2))) < 2.0**-100

    def test_the_worst_sums_are_still_exact(self):
        # every slice at its bound with one sign: the sums of a full chunk reach 2⁵³ of their units
        row = 1.0 - 2.0**-53
        moments = PreciseMoments.of_rows(np.full((2048, 1), row), np.array([-row]))
        assert Fraction(moments.high[1, 1]) + Fraction(moments.low[1, 1]) == 2048 * 4 * Fraction(row) ** 2

    def test_row_order_does_not_matter(self):
        rows = np.random.default_rng(3).normal(size=(2000, 3))
        a = PreciseMoments.of_rows(rows, np.zeros(3))
        b = PreciseMoments.of_rows(rows[::-1], np.zeros(3))
        assert np.array_equal(a.high, b.high)
        assert np.array_equal(a.low, b.low)

    def test_weights_and_noise_per_row(self):
        rng = np.random.default_rng(4)
        rows = 10.0 + rng.normal(size=(200, 3))
        counts, noise = rng.integers(0, 4, 200).astype(float), rng.uniform(0.01, 3.0, 200)
        truth = [Fraction(c) / Fraction(s) ** 2 for c, s in zip(counts.tolist(), noise.tolist(), strict=True)]
        shift = rows.mean(axis=0)
        precise = accumulate_precise(Block(rows[:, :2], rows[:, 2], counts), shift, noise).precise
        assert largest_error(precise, exact_gram(rows, shift, truth)) < 2.0**-78  # the cut, on one side

    def test_another_shift_and_back(self):
        rows = 5.0 + np.random.default_rng(5).normal(size=(400, 3))
        here, there = rows.mean(axis=0), np.array([0.0, 5.25, -3.0])
        moments = PreciseMoments.of_rows(rows, here)
        assert largest_error(moments.about(there), exact_gram(rows, there)) < 2.0**-100
        assert largest_error(moments.about(there).about(here), exact_gram(rows, here)) < 2.0**-94

    def test_merging_is_taking_all_rows(self):
        rows = np.random.default_rng(6).normal(size=(500, 3)) + np.linspace(0.0, 50.0, 500)[:, None]
        parts = [PreciseMoments.of_rows(part, part.mean(axis=0)) for part in np.split(rows, [7, 100, 101, 350])]
        total = parts[0]
        for part in parts[1:]:
            total = total.merge(part)
        assert largest_error(total, exact_gram(rows, total.shift)) < 2.0**-99
        late = parts[0].merge(parts[1].merge(parts[2].merge(parts[3].merge(parts[4]))))
        np.testing.assert_allclose(total.scatter().round(), late.scatter().round(), rtol=1e-15)
        np.testing.assert_allclose(total.mean, rows.mean(axis=0), rtol=1e-14)


class TestStatistics:
    def ill(self, n=300, dtype=np.float64):
        rng = np.random.default_rng(7)
        X = rng.normal(size=(n, 3))
        X[:, 2] = X[:, 0] + 1e-6 * X[:, 2]
        return X.astype(dtype), (X @ [1.0, 2.0, 3.0] + 0.1 * rng.normal(size=n)).astype(dtype)

    def test_exactly_one_form_is_set(self):
        X, y = self.ill()
        block = Block(X, y)
        shift = np.zeros(4)
        forms = [accumulate_moments(block), accumulate_factor(block), accumulate_precise(block, shift)]
        for a in forms:
            for b in [*forms, summarise(ArraySource(X, y))]:
                for statistics in (a, a.merge(b), combine(a, b), a.divided(2.0), a.settled()):
                    set_ = [getattr(statistics, form) is not None for form in ("scatter", "factor", "precise")]
                    assert sum(set_) == 1

    def test_well_conditioned_tables_stay_on_the_fast_path(self):
        rng = np.random.default_rng(8)
        X = rng.normal(size=(100, 3))
        y = X.sum(axis=1) + rng.normal(size=100)
        assert summarise(ArraySource(X, y)).scatter is not None
        ill = summarise(ArraySource(*self.ill()))
        assert ill.precise is not None
        more = combine(ill, accumulate_moments(Block(1e3 * X, 1e3 * y)))
        assert more.scatter is not None  # the union is well conditioned again
        whole = np.vstack([np.column_stack(self.ill()), 1e3 * np.column_stack([X, y])])
        np.testing.assert_allclose(more.scatter, (len(whole) - 1) * np.cov(whole.T), rtol=1e-12)

    def test_wide_or_broad_tables_keep_the_factor(self):
        rng = np.random.default_rng(9)
        X = rng.normal(size=(300, 220))
        X[:, 1] = X[:, 0]
        assert summarise(ArraySource(X, X[:, 2])).factor is not None
        assert summarise(ArraySource(X[:40, :60], X[:40, 2])).factor is not None

    def test_views_agree_with_the_factor(self):
        rng = np.random.default_rng(10)
        X, y = 3.0 + rng.normal(size=(60, 4)), rng.normal(size=(60, 2))
        block = Block(X, y, rng.uniform(0.5, 2.0, 60))
        noise = rng.uniform(0.5, 2.0, 60)
        factor = accumulate_factor(block, noise)
        precise = accumulate_precise(block, np.full(6, 3.0), noise)
        np.testing.assert_allclose(precise.mean, factor.mean, rtol=1e-13)
        np.testing.assert_allclose(precise.spread, factor.spread, rtol=1e-13)
        np.testing.assert_allclose(
            precise.as_factor().T @ precise.as_factor(), factor.factor.T @ factor.factor, rtol=1e-12
        )
        assert (precise.count, precise.weight, precise.log_scale) == (factor.count, factor.weight, factor.log_scale)
        matrix = np.linalg.cholesky(np.eye(4) + 0.5)
        for scale in (np.array([1.0, 10.0, 0.1, 3.0]), matrix):
            whitening = Whitening(np.arange(4.0), scale)
            views = [(centred_rows(s), plain_rows(s, intercept_column=False)) for s in (precise, factor)]
            for ours, theirs in zip(*views, strict=True):
                np.testing.assert_allclose(ours.target_square, theirs.target_square, rtol=1e-12)
                a, b = ours.decompose(whitening), theirs.decompose(whitening)
                np.testing.assert_allclose(a.singular, b.singular, rtol=1e-12)
                np.testing.assert_allclose(a.residual, b.residual, rtol=1e-12)
                np.testing.assert_allclose(a.rotation @ (a.singular[:, None] * a.target),
                                           b.rotation @ (b.singular[:, None] * b.target), rtol=1e-10)  # fmt: skip
        a, b = (
            plain_rows(s, intercept_column=True).decompose(Whitening(np.zeros(5), np.ones(5)))
            for s in (precise, factor)
        )
        np.testing.assert_allclose(a.singular, b.singular, rtol=1e-12)

    def test_blocks_and_one_array_agree(self):
        X, y = self.ill(n=5000)

        def total(rows):
            source = ArraySource(X, y, block_rows=rows)
            return reduce(source, lambda b: accumulate_precise(b, np.zeros(4)), RegressionStatistics.merge)

        a, b = total(5000), total(37)
        assert np.abs((a.precise.gram - b.precise.gram).round() / a.precise.high[0, 0]).max() < 2.0**-98
        np.testing.assert_allclose(a.mean, b.mean, rtol=1e-15)

    def test_rows_that_are_ill_conditioned_only_together(self):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(300, 3)), rng.normal(size=300)
        X[150:] += 1e9
        halves = [accumulate_moments(Block(X[:150], y[:150])), accumulate_moments(Block(X[150:], y[150:]))]
        assert all(well_conditioned(half.scatter) for half in halves)
        together = combine(*halves)
        assert together.precise is not None
        direct = summarise(ArraySource(X, y))
        np.testing.assert_allclose(together.precise.scatter().round(), direct.precise.scatter().round(), rtol=1e-15)

    def test_float32_rows_are_their_float64_values(self):
        X, y = self.ill(dtype=np.float32)
        single, double = summarise(ArraySource(X, y)), summarise(ArraySource(X.astype(float), y.astype(float)))
        assert np.array_equal(single.precise.high, double.precise.high)
        assert np.array_equal(single.precise.low, double.precise.low)

    @pytest.mark.parametrize("scale", [1e150, 1e200, 1e300])
    def test_squares_out_of_range_are_refused_by_name(self, scale):
        X, y = self.ill(n=20_000)
        X[:, 1] *= scale
        with pytest.raises(DataError, match="column 1 of X are too large"):
            cr.LinearRegression().fit(X, y)

    def test_scales_within_range_do_not_matter(self):
        X, y = self.ill()
        here = cr.LinearRegression(prior=cr.Flat()).fit(X, y)
        for scale in (2.0**-420, 2.0**480):
            there = cr.LinearRegression(prior=cr.Flat()).fit(X * scale, y)
            np.testing.assert_allclose(there.coef_ * scale, here.coef_, rtol=1e-12)


class TestSpectrum:
    def test_fewer_rows_than_columns_are_thin_like_the_factor(self):
        rng = np.random.default_rng(12)
        X, y = rng.normal(size=(4, 9)), rng.normal(size=4)
        statistics = summarise(ArraySource(X, y))
        assert statistics.precise is not None
        whitening = Whitening(np.zeros(9), np.ones(9))
        a = centred_rows(statistics).decompose(whitening)
        b = centred_rows(accumulate_factor(Block(X, y))).decompose(whitening)
        assert a.is_thin
        assert b.is_thin
        np.testing.assert_allclose(a.singular[:3], b.singular[:3], rtol=1e-13)
        np.testing.assert_allclose(a.residual, 0.0, atol=1e-28)

    def test_collinear_columns_are_named_under_a_flat_prior(self):
        rng = np.random.default_rng(13)
        X = rng.normal(size=(30, 3))
        X = np.column_stack([X, X[:, 0] + X[:, 1]])
        y = rng.normal(size=30)
        with pytest.raises(NotIdentifiedError, match=r"rank 3 for 4 columns .*: x0, x1, x3"):
            cr.LinearRegression(prior=cr.Flat()).fit(X, y)

    def test_collinear_columns_share_under_a_proper_prior(self):
        rng = np.random.default_rng(14)
        X = rng.normal(size=(30, 2))
        X = np.column_stack([X, X[:, 0], np.full(30, 7.1)])
        y = X[:, 0] + 0.1 * rng.normal(size=30)
        model = cr.LinearRegression(prior=cr.Normal(0, 2), noise=cr.noise.Normal(0.1)).fit(X, y)
        Xc = X - X.mean(axis=0)
        dual = 4.0 * Xc.T @ np.linalg.solve(4.0 * Xc @ Xc.T + 0.01 * np.eye(30), y - y.mean())
        np.testing.assert_allclose(model.coef_, dual, atol=1e-11)  # condition 3e4 of the dual system
        np.testing.assert_allclose(model.posterior_.sd[[0, 2, 3]], [np.sqrt(2.0), np.sqrt(2.0), 2.0], rtol=1e-4)

    def test_a_matrix_prior_with_a_mean(self):
        rng = np.random.default_rng(15)
        X = rng.normal(size=(30, 3))
        X[:, 2] = X[:, 0] + 1e-6 * X[:, 2]
        y = X @ [1.0, 2.0, 3.0] + 0.1 * rng.normal(size=30)
        cov, mean = np.eye(3) + 0.5, np.array([1.0, -1.0, 0.5])
        model = cr.LinearRegression(prior=cr.MultivariateNormal(mean, cov), noise=cr.noise.Normal(0.1)).fit(X, y)
        Xc, precision = X - X.mean(axis=0), np.linalg.inv(cov)
        dense = np.linalg.solve(100.0 * Xc.T @ Xc + precision, 100.0 * Xc.T @ (y - y.mean()) + precision @ mean)
        np.testing.assert_allclose(model.coef_, dense, rtol=1e-10)


def test_the_residual_of_a_perfect_fit_is_rounding():
    x = np.arange(21.0)
    X = x[:, None] ** np.arange(1, 6)
    statistics = summarise(ArraySource(X, 1.0 + X.sum(axis=1)))
    spectrum = centred_rows(statistics).decompose(Whitening(np.zeros(5), 1.0 / np.sqrt(statistics.spread[:5])))
    assert spectrum.residual[0] <= 1e-29 * statistics.spread[5]


def test_merging_a_lighter_pseudo_row_far_away():
    rows = 1e6 + np.random.default_rng(16).normal(size=(50, 2))
    moments = accumulate_precise(Block(rows[:, :1], rows[:, 1]), rows.mean(axis=0))
    row = replace(moments, n_rows=0, weight=0.25, mean=np.array([0.0, 3.0]), precise=None, factor=np.zeros((0, 2)))
    precise = moments.merge(row).precise
    truth = exact_gram([*rows, [0.0, 3.0]], precise.shift, [Fraction(1)] * 50 + [Fraction(1, 4)])
    assert largest_error(precise, truth) < 2.0**-100
    assert isinstance(precise.scatter(), DoubleDouble)
