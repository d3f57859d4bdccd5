"""Extreme parameters and tails, against mpmath at 40 digits and exact identities."""

import mpmath as mp
import numpy as np
import pytest

import credo.distributions as d
from credo.distributions import stirling
from credo.distributions.expectation import entropy, expect, integrate
from credo.errors import NumericalError
from credo.numerics.namespace import namespace

XP = namespace(0.0)


@pytest.fixture(autouse=True)
def _digits():
    with mp.workdps(40):
        yield


def exact(x):
    return mp.mpf(float(x))


@pytest.mark.parametrize("k", [1e-300, 1e-8, 0.3, 1.0, 14.99, 15.0, 200.0, 1e9, 1e15])
def test_stirling_pieces(k):
    k_ = exact(k)
    error = mp.loggamma(k_ + 1) - (k_ + 0.5) * mp.log(k_) + k_ - mp.log(2 * mp.pi) / 2
    # below 15 four terms are added, each rounded; above, none
    largest = float(max(1, abs((k_ + 0.5) * mp.log(k_)))) if k < 15 else 0.01
    assert abs(stirling.stirling_error(XP, k) - error) <= 4 * 2.3e-16 * largest
    np.testing.assert_allclose(stirling.log_minus_digamma(XP, k), float(mp.log(k_) - mp.digamma(k_)), rtol=3e-14)
    mode = k_ * mp.log(k_) - k_ - mp.loggamma(k_ + 1)
    np.testing.assert_allclose(stirling.log_poisson_mode(XP, k), float(mode), rtol=1e-14, atol=1e-14)
    for m in (k * (1 + 1e-9), k * 1.05, k * 3.0, k * 1e-100):
        if m > 0:
            ratio = k_ * mp.log(k_ / exact(m)) + exact(m) - k_
            size = float(max(abs(mp.log(k_)), abs(mp.log(exact(m))), 1))
            np.testing.assert_allclose(stirling.deviance(XP, k, m), float(ratio), rtol=1e-15 * size)


@pytest.mark.parametrize(
    ("a", "r", "x"), [(1e8, 2.0, 5.0001e7), (1e12, 1.0, 1e12 + 3e6), (1e-8, 1.0, 1e-200), (0.5, 3.0, 40.0)]
)
def test_gamma_density(a, r, x):
    want = a * mp.log(exact(r)) - mp.loggamma(exact(a)) + (exact(a) - 1) * mp.log(exact(x)) - exact(r) * exact(x)
    # the density's own sensitivity to a rounding of x or of r x: |r x − a| ulp
    slack = 2.3e-16 * (abs(r * x - a) + 10 * abs(float(want)) + 10)
    assert abs(d.Gamma(shape=a, rate=r).log_prob(x) - want) <= slack
    y = 1.0 / x
    want = a * mp.log(exact(r)) - mp.loggamma(exact(a)) - (exact(a) + 1) * mp.log(exact(y)) - exact(r) / exact(y)
    assert abs(d.InverseGamma(shape=a, scale=r).log_prob(y) - want) <= 2 * slack + 1e-12 * (a > 1e9)


@pytest.mark.parametrize("df", [0.1, 3.0, 29.9, 1e4, 1e8, 1e14])
@pytest.mark.parametrize("x", [0.0, 1e-9, 0.7, 5.0, 1e6, 1e200])
def test_student_density(df, x):
    n, x_ = exact(df), exact(x)
    want = mp.loggamma((n + 1) / 2) - mp.loggamma(n / 2) - mp.log(mp.pi * n) / 2 - (n + 1) / 2 * mp.log(1 + x_ * x_ / n)
    np.testing.assert_allclose(d.StudentT(df).log_prob(x), float(want), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize(
    ("df", "x"), [(3.0, -1e30), (0.5, -1e9), (30.0, -20.0), (1e6, -7.0), (4.0, -1e-9), (1e9, -6.0)]
)
def test_student_tails(df, x):
    x_ = exact(x)
    want = mp.betainc(exact(df) / 2, 0.5, 0, df / (df + x_ * x_), regularized=True) / 2
    t = d.StudentT(df)
    np.testing.assert_allclose(t.cdf(x), float(want), rtol=1e-12)
    np.testing.assert_allclose(t.survival(-x), float(want), rtol=1e-12)
    np.testing.assert_allclose(t.quantile(t.cdf(x)), x, rtol=1e-6 if abs(x) < 1e-3 else 1e-10)
    assert t.quantile(1e-300) < -30


@pytest.mark.parametrize(
    ("n", "p", "k"),
    [(10**15, 1e-14, 7), (10**9, 0.3, 300_000_500), (10**6, 1 - 1e-7, 10**6), (50, 1e-300, 2), (40, 0.5, 40)],
)
def test_binomial_mass(n, p, k):
    p_, coefficient = exact(p), mp.loggamma(n + 1) - mp.loggamma(k + 1) - mp.loggamma(n - k + 1)
    want = coefficient + k * mp.log(p_) + (n - k) * mp.log(1 - p_)
    np.testing.assert_allclose(d.Binomial(n, p).log_prob(k), float(want), rtol=1e-13, atol=1e-12)


@pytest.mark.parametrize(("mean", "shape", "k"), [(10.0, 1e12, 15), (1e8, 0.01, 3), (1e-6, 2.0, 1), (1e9, 1e9, 10**9)])
def test_negative_binomial_mass(mean, shape, k):
    m, s = exact(mean), exact(shape)
    want = mp.loggamma(k + s) - mp.loggamma(s) - mp.loggamma(k + 1) + s * mp.log(s / (s + m)) + k * mp.log(m / (s + m))
    np.testing.assert_allclose(d.NegativeBinomial(mean, shape).log_prob(k), float(want), rtol=1e-13, atol=1e-12)


@pytest.mark.parametrize(
    ("n", "a", "b", "k"), [(10, 1e10, 3e10, 4), (10**7, 0.1, 5.0, 9), (100, 1e-9, 1e-9, 0), (5, 2.0, 3.0, 5)]
)
def test_beta_binomial_mass(n, a, b, k):
    a_, b_ = exact(a), exact(b)

    def log_beta(x, y):
        return mp.loggamma(x) + mp.loggamma(y) - mp.loggamma(x + y)

    want = mp.log(mp.binomial(n, k)) + log_beta(k + a_, n - k + b_) - log_beta(a_, b_)
    np.testing.assert_allclose(d.BetaBinomial(n, a, b).log_prob(k), float(want), rtol=1e-13, atol=1e-12)


@pytest.mark.parametrize(
    ("a", "b", "x"), [(1e9, 3e9, 0.25001), (1e-5, 1e-5, 1e-300), (0.5, 1e8, 1e-9), (2.0, 3.0, 1 - 1e-16)]
)
def test_beta_density(a, b, x):
    a_, b_, x_ = exact(a), exact(b), exact(x)
    want = (a_ - 1) * mp.log(x_) + (b_ - 1) * mp.log(1 - x_) - mp.loggamma(a_) - mp.loggamma(b_) + mp.loggamma(a_ + b_)
    # x enters through (a + b) x − a, so the condition number is that times an ulp
    slack = 2.3e-16 * (abs((a + b) * x - a) * 4 + 10 * abs(float(want)) + 10)
    assert abs(d.Beta(a, b).log_prob(x) - want) <= slack


def test_entropies_at_large_parameters():
    def normal_like(sd):
        return 0.5 * np.log(2 * np.pi * np.e) + np.log(sd)

    # against the Normal limit, whose error is of order 1/(number of counts)
    np.testing.assert_allclose(d.Gamma(shape=1e14, rate=1.0).entropy, normal_like(1e7), rtol=1e-13)
    np.testing.assert_allclose(d.Beta(1e14, 1e14).entropy, normal_like(np.sqrt(1 / 8e14)), rtol=1e-13)
    np.testing.assert_allclose(d.StudentT(1e14).entropy, normal_like(1.0), rtol=1e-13)
    np.testing.assert_allclose(d.Poisson(1e10).entropy, normal_like(1e5), rtol=1e-10)
    np.testing.assert_allclose(d.Binomial(10**12, 0.5).entropy, normal_like(5e5), rtol=1e-10)
    # a wide negative binomial is a Gamma of unit cells
    wide = d.NegativeBinomial(1e7, 3.0)
    np.testing.assert_allclose(wide.entropy, d.Gamma(shape=3.0, rate=3e-7).entropy, rtol=1e-8)
    np.testing.assert_allclose(d.Geometric(1e-9).entropy, 1 - np.log(1e-9), rtol=1e-9)


def test_sums_in_strides_equal_sums_one_by_one():
    for family in (d.NegativeBinomial(3000.0, 0.4), d.Poisson(2e7), d.BetaBinomial(60_000, 0.3, 0.6)):
        k = np.arange(family.quantile(1e-20), family.upper_quantile(1e-20) + 1)
        direct = -np.sum(family.prob(k) * family.log_prob(k))
        assert len(k) > 20_000
        np.testing.assert_allclose(entropy(family), direct, rtol=1e-10)
        np.testing.assert_allclose(expect(family, np.square), np.sum(family.prob(k) * k * k), rtol=1e-9)


def test_truncation_keeps_digits_far_out():
    far = d.Truncated(d.Normal(0.0, 1.0), 30.0, np.inf)
    tail = mp.erfc(30 / mp.sqrt(2)) / 2
    mean = mp.npdf(30) / tail
    np.testing.assert_allclose(far.mean, float(mean), rtol=1e-12)
    np.testing.assert_allclose(far.variance, float(1 + 30 * mean - mean**2), rtol=1e-9)
    np.testing.assert_allclose(far.survival(31.0), float(mp.erfc(31 / mp.sqrt(2)) / 2 / tail), rtol=1e-12)
    np.testing.assert_allclose(far.survival(far.upper_quantile(1e-50)), 1e-50, rtol=1e-11)


def test_tiny_probabilities():
    assert d.Exponential(1.0).cdf(1e-20) == 1e-20
    assert d.Cauchy().cdf(-1e20) == pytest.approx(1e-20 / np.pi, rel=1e-15)
    np.testing.assert_allclose(d.Cauchy().quantile([1e-300, 0.5, 1.0]), [-1e300 / np.pi, 0.0, np.inf], rtol=1e-14)
    np.testing.assert_allclose(d.Laplace().survival(700.0), 0.5 * np.exp(-700), rtol=1e-13)
    np.testing.assert_allclose(d.Pareto(2.0, 1.0).cdf(1 + 1e-12), 2 * ((1 + 1e-12) - 1), rtol=1e-11)
    np.testing.assert_allclose(d.Geometric(1e-12).survival(3), (1 - 1e-12) ** 4, rtol=1e-15)
    np.testing.assert_allclose(d.HalfNormal(1.0).upper_quantile(d.HalfNormal(1.0).survival(30.0)), 30.0, rtol=1e-14)
    np.testing.assert_allclose(d.Beta(0.3, 0.6).survival(1e-25), 1 - d.Beta(0.3, 0.6).cdf(1e-25), rtol=1e-15)


def test_integrate_refuses_what_diverges():
    with pytest.raises(NumericalError):
        integrate(lambda x: np.where(x > 0, 1.0 / np.maximum(x, 1e-300), np.inf), [0.0, 1.0])
    np.testing.assert_allclose(integrate(np.sqrt, [0.0, 1.0]), 2 / 3, rtol=1e-12)
    np.testing.assert_allclose(integrate(lambda x: np.abs(x - 0.3), [0.0, 1.0]), 0.29, rtol=1e-12)
