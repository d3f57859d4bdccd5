"""Noise of log-linear scale against integrals over a grid of (γ₀, γ₁), the coefficients integrated out by algebra."""

import numpy as np
import pytest
from scipy.stats import norm

import credo as cr
from credo.inference.gaussian_conditional import WeightedRows

PRIOR_SD, SCALE_SD = 2.0, 0.8


def rows(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(3.0, 2.0, n)
    return x, 1.0 + 0.5 * x + np.exp(-0.5 + 0.3 * (x - 3.0)) * rng.normal(size=n)


def by_quadrature(x, y, new, sd_w, sd_gamma):
    """{name: (mean, sd)} of b, w, the line of log σ and y at `new`, and P(y < 5) there: b and γ₀ flat, γ₁ on the
    standardised column."""
    g0, g1 = np.meshgrid(np.linspace(-7.0, 5.0, 161), np.linspace(-4.0, 4.0, 121), indexing="ij")
    unit = x.std()
    log_sd = g0[..., None] + g1[..., None] * (x - x.mean()) / unit
    design, at = np.column_stack([np.ones_like(x), x]), np.array([1.0, new])
    omega = np.exp(-2.0 * log_sd)
    precision = np.einsum("abn,nk,nl->abkl", omega, design, design)
    precision[..., 1, 1] += sd_w**-2
    covariance = np.linalg.inv(precision)
    mean = np.einsum("abkl,abn,nl,n->abk", covariance, omega, design, y, optimize=True)
    square = (omega * np.square(y - mean @ design.T)).sum(-1) + np.square(mean[..., 1] / sd_w)
    log_p = -log_sd.sum(-1) - 0.5 * square - 0.5 * np.linalg.slogdet(precision)[1] + norm.logpdf(g1, 0, sd_gamma)
    weight = np.exp(log_p - log_p.max())
    weight /= weight.sum()

    def moments(m, v=0.0):
        centre = (weight * m).sum()
        return centre, np.sqrt((weight * (v + np.square(m - centre))).sum())

    line, sd = mean @ at, np.exp(g0 + g1 * (new - x.mean()) / unit)
    spread = np.einsum("k,abkl,l->ab", at, covariance, at) + np.square(sd)
    return {
        "intercept": moments(mean[..., 0], covariance[..., 0, 0]),
        "coef": moments(mean[..., 1], covariance[..., 1, 1]),
        "noise_coef": moments(g1 / unit),
        "noise_intercept": moments(g0 - g1 * x.mean() / unit),
        "y": moments(line, spread),
        "below": (weight * norm.cdf(5.0, line, np.sqrt(spread))).sum(),
    }


@pytest.mark.parametrize(
    ("n", "copies"), [(6, 1), pytest.param(12, 1, marks=pytest.mark.slow), pytest.param(40, 2, marks=pytest.mark.slow)]
)
def test_moments_and_predictions_are_those_of_quadrature(n, copies):
    """Copies of a column share its effects: two of sd s are one of sd √2 s, of which each has half."""
    x, y = rows(n, seed=n)
    share = np.sqrt(copies)
    model = cr.LinearRegression(
        prior=cr.Normal(0.0, PRIOR_SD / share),
        noise=cr.noise.Normal(cr.noise.LogLinear(cr.Normal(0, SCALE_SD / share))),
    ).fit(np.column_stack([x] * copies), y)
    assert model.result_.ok
    exact = by_quadrature(x, y, 5.5, PRIOR_SD, SCALE_SD)
    for name in ("intercept", "coef", "noise_coef", "noise_intercept"):
        draws = model.posterior_[name]
        total = draws.sum(axis=-1) if draws.ndim == 2 else draws
        mean, sd = exact[name]
        # at least 400 effective draws: five standard errors (17 numbers here, false alarm 1e-5; sds have heavier tails)
        assert abs(total.mean() - mean) < 5.0 * sd / 20.0, name
        assert abs(np.log(total.std() / sd)) < 0.25, name
    p = model.predict_distribution(np.full((1, copies), 5.5))
    np.testing.assert_allclose(p.mean[0], exact["y"][0], atol=5.0 * exact["coef"][1] * 5.5 / 20.0)
    np.testing.assert_allclose(p.cdf(np.array([5.0]))[0], exact["below"], atol=0.03)


@pytest.mark.slow
def test_few_rows_a_column_mix():
    """Four columns twice and 40 rows: chains used to stay where two rows had hardly any noise (R̂ of 1.5)."""
    rng = np.random.default_rng(10)
    x = rng.normal(size=(40, 4))
    y = 1.0 + x[:, 0] + np.exp(0.8 * x[:, 0]) * rng.normal(size=40)
    model = cr.LinearRegression(noise=cr.noise.Normal(cr.noise.LogLinear())).fit(np.hstack([x, x]), y)
    assert model.result_.status == "converged"


@pytest.mark.parametrize("intercept", [None, (0.4, 0.3), (0.0, 0.0)])
def test_the_marginal_of_weighted_rows_is_a_normal_density(intercept):
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(9, 2)), rng.normal(size=(3, 9))
    precision, variances = rng.gamma(2.0, size=(3, 9)), rng.gamma(2.0, size=(3, 2))
    flat = intercept is not None and intercept[1] == 0.0
    stated = (0.0, 1e-9) if flat else intercept  # nearly flat
    found = WeightedRows(x, intercept).log_marginal(y, precision, variances)
    for b in range(3):
        covariance = np.diag(1.0 / precision[b]) + (x * variances[b]) @ x.T
        if stated is not None:
            covariance += 1.0 / stated[1]
        away = y[b] - (0.0 if stated is None else stated[0])
        exact = -0.5 * (np.linalg.slogdet(covariance)[1] + away @ np.linalg.solve(covariance, away))
        exact += -0.5 * np.log(stated[1]) if flat else 0.0
        np.testing.assert_allclose(found[b], exact, rtol=1e-5 if flat else 1e-10, atol=1e-10)
