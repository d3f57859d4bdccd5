"""Gaussian conditionals: both forms against dense algebra; slice updates against the laws they sample."""

import numpy as np
import pytest
from scipy import stats

from credo.inference.gaussian_conditional import GaussianConditional, draw_weighted
from credo.inference.slice_update import slice_update


def problem(k, p, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(k, p)), rng.normal(size=k), np.exp(rng.normal(0, 6, size=p))


@pytest.mark.parametrize(("k", "p"), [(8, 3), (3, 8), (5, 5)])
def test_both_forms_are_the_dense_posterior(k, p):
    x, y, v = problem(k, p)
    tall, wide = GaussianConditional.of(x, x.T @ x, y, v), GaussianConditional.of(x, None, y, v)
    covariance = np.diag(v) - v[:, None] * x.T @ np.linalg.solve(x * v @ x.T + np.eye(k), x * v)
    np.testing.assert_allclose(tall.centre, covariance @ (x.T @ y), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(wide.centre, tall.centre, rtol=1e-6, atol=1e-9)
    expected = y @ np.linalg.solve(x * v @ x.T + np.eye(k), y)
    np.testing.assert_allclose([tall.quadratic, wide.quadratic], expected, rtol=1e-6)


@pytest.mark.parametrize("form", ["tall", "wide"])
def test_perturbations_have_the_posterior_covariance(form):
    """Entries of the correlation matrix and variances at 6 standard errors: false alarm < 1e-7."""
    x, y, _ = problem(4, 3)
    v, n, rng = np.array([0.5, 1.0, 3.0]), 20_000, np.random.default_rng(1)
    part = GaussianConditional.of(x, x.T @ x if form == "tall" else None, y, v)
    draws = np.array([part.perturbation(rng) for _ in range(n)])
    covariance = np.linalg.inv(x.T @ x + np.diag(1 / v))
    scale = np.sqrt(np.diag(covariance))
    error = (np.cov(draws.T) - covariance) / np.outer(scale, scale)
    assert np.abs(error).max() < 6.0 * np.sqrt(2.0 / n)


def test_variances_of_any_size():
    x, y, _ = problem(6, 3)
    for v in (np.array([1e-200, 1.0, 1e200]), np.array([np.inf, 1.0, 1e-30])):
        part = GaussianConditional.of(x, x.T @ x, y, v)
        assert np.all(np.isfinite(part.centre))
        assert np.all(np.isfinite(part.perturbation(np.random.default_rng(0))))
    flat = GaussianConditional.of(x, x.T @ x, y, np.full(3, np.inf))
    np.testing.assert_allclose(flat.centre, np.linalg.lstsq(x, y, rcond=None)[0], rtol=1e-9)
    twins = np.column_stack([x[:, 0], x[:, 0]])
    part = GaussianConditional.of(twins, twins.T @ twins, y, np.full(2, 1e100))
    assert np.all(np.isfinite(part.perturbation(np.random.default_rng(0))))


@pytest.mark.parametrize("intercept", [(0.0, 0.0), (0.7, 4.0)], ids=["flat", "normal"])
def test_the_intercept_is_integrated_out(intercept):
    """Mean of (intercept, coefficients) against the dense posterior, at 6 standard errors."""
    x, y, _ = problem(7, 2)
    rng, n, omega, v = np.random.default_rng(2), 20_000, np.linspace(0.5, 2, 7), np.array([0.5, 2.0])
    design, prior = np.column_stack([np.ones(7), x]), np.diag([intercept[1], *(1 / v)])
    precision = design.T * omega @ design + prior
    mean = np.linalg.solve(precision, design.T @ (omega * y) + prior @ [intercept[0], 0, 0])
    draws = np.array([np.append(*draw_weighted(x, y, omega, v, intercept, rng)) for _ in range(n)])
    sd = np.sqrt(np.diag(np.linalg.inv(precision)))
    assert np.all(np.abs(draws.mean(axis=0) - mean) < 6 * sd / np.sqrt(n))
    np.testing.assert_allclose(draws.std(axis=0), sd, rtol=6 / np.sqrt(2 * n))


def test_slice_updates_keep_their_laws():
    """Skewed, heavy-tailed and two-humped: KS at 1e-5 after 40 updates of 4,000 chains each."""
    rng = np.random.default_rng(3)
    laws = [stats.gamma(2), stats.t(2), stats.norm(0, 1e-3)]
    for law in laws:
        x = law.rvs(4000, random_state=rng)
        for _ in range(40):
            with np.errstate(divide="ignore"):
                x = slice_update(law.logpdf, x, rng)
        assert stats.kstest(x, law.cdf).pvalue > 1e-5
