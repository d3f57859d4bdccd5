"""Site laws against other formulas of SciPy, and their derivatives against high-order differences."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from credo.distributions import sites
from credo.errors import DataError

CUTS = np.array([-1.2, 0.3, 1.1])

#: law, outcomes, ψ, and log p(y | η) by SciPy
CASES = {
    "poisson": (sites.PoissonLog(), [0, 1, 4, 30], [], lambda y, eta: scipy.stats.poisson.logpmf(y, np.exp(eta))),
    "negative binomial": (
        sites.NegativeBinomialLog(),
        [0, 1, 4, 30],
        [1.7],
        lambda y, eta: scipy.stats.nbinom.logpmf(y, 1.7, 1.7 / (1.7 + np.exp(eta))),
    ),
    "logit": (
        sites.BernoulliLogit(),
        [0, 1, 1, 0],
        [],
        lambda y, eta: scipy.stats.bernoulli.logpmf(y, scipy.special.expit(eta)),
    ),
    "probit": (
        sites.BernoulliProbit(),
        [0, 1, 1, 0],
        [],
        lambda y, eta: scipy.stats.bernoulli.logpmf(y, scipy.stats.norm.cdf(eta)),
    ),
    "cloglog": (
        sites.BernoulliCloglog(),
        [0, 1, 1, 0],
        [],
        lambda y, eta: scipy.stats.bernoulli.logpmf(y, -np.expm1(-np.exp(eta))),
    ),
    "binomial": (
        sites.BinomialLogit(7),
        [0, 1, 4, 7],
        [],
        lambda y, eta: scipy.stats.binom.logpmf(y, 7, scipy.special.expit(eta)),
    ),
    "binomial probit": (
        sites.BinomialProbit([7, 8, 9, 10]),
        [0, 1, 4, 10],
        [],
        lambda y, eta: scipy.stats.binom.logpmf(y, [7, 8, 9, 10], scipy.stats.norm.cdf(eta)),
    ),
    "gamma": (
        sites.GammaLog(),
        [0.1, 1.0, 2.0, 9.0],
        [2.5],
        lambda y, eta: scipy.stats.gamma.logpdf(y, 2.5, scale=np.exp(eta) / 2.5),
    ),
    "exponential": (
        sites.ExponentialLog(),
        [0.1, 1.0, 2.0, 9.0],
        [],
        lambda y, eta: scipy.stats.expon.logpdf(y, scale=np.exp(eta)),
    ),
    "t": (
        sites.StudentT(),
        [-3.0, 0.1, 1.0, 50.0],
        [3.5, 1.3],
        lambda y, eta: scipy.stats.t.logpdf(y, 3.5, eta, 1.3),
    ),
    "beta": (
        sites.BetaLogit(),
        [0.01, 0.3, 0.5, 0.97],
        [4.0],
        lambda y, eta: scipy.stats.beta.logpdf(y, 4 * scipy.special.expit(eta), 4 * scipy.special.expit(-eta)),
    ),
    "ordinal logit": (
        sites.OrdinalLogit(4),
        [0, 1, 2, 3],
        [CUTS],
        lambda y, eta: np.log(
            np.diff(scipy.special.expit(np.r_[-np.inf, CUTS, np.inf] - eta[:, None]))[range(4), y.astype(int)]
        ),
    ),
    "ordinal probit": (
        sites.OrdinalProbit(4),
        [0, 1, 2, 3],
        [CUTS],
        lambda y, eta: np.log(
            np.diff(scipy.stats.norm.cdf(np.r_[-np.inf, CUTS, np.inf] - eta[:, None]))[range(4), y.astype(int)]
        ),
    ),
}


def difference(f, h=2e-3):
    """Sixth-order central difference of f(t) at 0."""
    return sum(c * (f(k * h) - f(-k * h)) for k, c in ((1, 45.0), (2, -9.0), (3, 1.0))) / (60.0 * h)


@pytest.fixture(params=CASES)
def case(request):
    law, y, psi, oracle = CASES[request.param]
    return law, law.check(y), np.array([-0.7, 0.2, 0.9, 1.5]), psi, oracle


def test_log_probability_is_scipys(case):
    law, y, eta, psi, oracle = case
    np.testing.assert_allclose(law.derivatives(y, eta, psi, 0)[0], oracle(y, eta), rtol=1e-11, atol=1e-12)


def test_each_derivative_is_the_slope_of_the_one_before(case):
    law, y, eta, psi, _ = case
    for order in (1, 2, 3):
        slope = difference(lambda t, order=order: law.derivatives(y, eta + t, psi, 3)[order - 1])
        np.testing.assert_allclose(law.derivatives(y, eta, psi, 3)[order], slope, rtol=1e-8, atol=1e-9)
        # asking for less gives the same
        np.testing.assert_array_equal(
            law.derivatives(y, eta, psi, order)[order], law.derivatives(y, eta, psi, 3)[order]
        )


def test_psi_slopes(case):
    law, y, eta, psi, _ = case
    parts = law.psi_slopes(y, eta, psi)
    assert len(parts) == len(psi) == len(law.psi_names)
    for k, slopes in enumerate(parts):
        for at in np.ndindex(np.shape(psi[k])):

            def moved(t, k=k, at=at):
                there = [np.array(each, dtype=float) for each in psi]
                there[k][at] += t
                return law.derivatives(y, eta, there, 2)

            for order in range(3):
                expected = difference(lambda t, order=order, moved=moved: moved(t)[order])
                np.testing.assert_allclose(slopes[order][(slice(None), *at)], expected, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("name", ["poisson", "negative binomial", "logit", "binomial", "gamma", "exponential"])
def test_exponential_form_is_the_law(name):
    law, y, psi, _ = CASES[name]
    y, eta = law.check(y), np.array([-0.7, 0.2, 0.9, 1.5])
    form = law.exponential_form(y, psi)
    x = form.sign * eta + form.shift
    g = np.exp(x) if form.kind == 0 else np.log1p(np.exp(x))
    value = form.constant + form.linear * x - form.weight * g
    np.testing.assert_allclose(value, law.derivatives(y, eta, psi, 0)[0], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", ["negative binomial", "gamma", "t", "beta"])
def test_psi_one_a_row(name):
    law, y, psi, _ = CASES[name]
    y, eta = law.check(y), np.array([-0.7, 0.2, 0.9, 1.5])
    factor = np.array([1.0, 1.5, 0.6, 2.0])
    together = law.derivatives(y, eta, [each * factor for each in psi], 3)
    slopes = law.psi_slopes(y, eta, [each * factor for each in psi])
    for row in range(4):
        own = [each * factor[row] for each in psi]
        one = slice(row, row + 1)
        for part, expected in zip(together, law.derivatives(y[one], eta[one], own, 3)):
            np.testing.assert_allclose(part[row], expected[0], rtol=1e-12)
        for parts, expected in zip(slopes, law.psi_slopes(y[one], eta[one], own)):
            np.testing.assert_allclose([np.broadcast_to(each, 4)[row] for each in parts],
                                       [np.broadcast_to(each, 1)[0] for each in expected], rtol=1e-10)  # fmt: skip


def test_curvature_to_step_by_is_never_negative(case):
    law, y, _, psi, _ = case
    for eta in (-30.0, -3.0, 0.0, 3.0, 30.0):
        safe = law.safe_curvature(y, np.full(4, eta), psi)
        assert np.all(safe >= 0.0)
        bend = law.derivatives(y, np.full(4, eta), psi, 2)[2]
        if law.log_concave:
            assert np.all(bend <= 0.0)
            np.testing.assert_array_equal(safe, -bend)


def test_starts_are_finite_and_domains_known(case):
    law, y, _, psi, _ = case
    start = law.initial_eta(y)
    assert np.isfinite(start).all()
    assert np.isfinite(law.derivatives(y, start, psi, 0)[0]).all()
    assert law.is_valid(psi)
    if psi:
        assert not law.is_valid([np.full_like(np.asarray(each, dtype=float), np.nan) for each in psi])
        assert not law.is_valid([-np.abs(np.asarray(each)) for each in psi])
    assert sum(law.psi_widths(4)) == sum(np.size(each) for each in psi)


@pytest.mark.parametrize(
    ("law", "y", "rows"),
    [
        (sites.PoissonLog(), [1, -1, 0.5], [1, 2]),
        (sites.BernoulliLogit(), [0, 2, 1], [1]),
        (sites.BinomialLogit(3), [0, 4, 1], [1]),
        (sites.BinomialProbit(3), [0, 4, 1], [1]),
        (sites.GammaLog(), [1.0, 0.0], [1]),
        (sites.BetaLogit(), [0.5, 1.0], [1]),
        (sites.OrdinalLogit(3), [0, 3], [1]),
    ],
)
def test_outcomes_that_cannot_be_are_named(law, y, rows):
    with pytest.raises(DataError) as caught:
        law.check(y)
    assert list(caught.value.rows) == rows
