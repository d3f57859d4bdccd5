"""Gaussian conditionals: both forms against dense algebra; slice updates against the laws they sample."""

import numpy as np
import pytest
from scipy import stats

from credo.inference.gaussian_conditional import GaussianConditionals, WeightedRows
from credo.inference.slice_update import slice_update


def problem(k, p, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(k, p)), rng.normal(size=k), np.exp(rng.normal(0, 6, size=p))


@pytest.mark.parametrize(("k", "p"), [(8, 3), (3, 8), (5, 5)])
def test_both_forms_are_the_dense_posterior(k, p):
    x, y, v = problem(k, p)
    tall, wide = (
        GaussianConditionals.of(x, x.T @ x, y[None], v[None]),
        GaussianConditionals.of(x, None, y[None], v[None]),
    )
    covariance = np.diag(v) - v[:, None] * x.T @ np.linalg.solve(x * v @ x.T + np.eye(k), x * v)
    np.testing.assert_allclose(tall.centre[0], covariance @ (x.T @ y), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(wide.centre, tall.centre, rtol=1e-6, atol=1e-9)
    expected = y @ np.linalg.solve(x * v @ x.T + np.eye(k), y)
    np.testing.assert_allclose([tall.quadratic[0], wide.quadratic[0]], expected, rtol=1e-6)


@pytest.mark.parametrize("form", ["tall", "wide"])
def test_perturbations_have_the_posterior_covariance(form):
    """Entries of the correlation matrix and variances at 6 standard errors: false alarm < 1e-7."""
    x, y, _ = problem(4, 3)
    v, n, rng = np.array([0.5, 1.0, 3.0]), 20_000, np.random.default_rng(1)
    chains = np.tile(y, (n, 1)), np.tile(v, (n, 1))
    draws = GaussianConditionals.of(x, x.T @ x if form == "tall" else None, *chains).perturbation(rng)
    covariance = np.linalg.inv(x.T @ x + np.diag(1 / v))
    scale = np.sqrt(np.diag(covariance))
    error = (np.cov(draws.T) - covariance) / np.outer(scale, scale)
    assert np.abs(error).max() < 6.0 * np.sqrt(2.0 / n)


def test_variances_of_any_size():
    x, y, _ = problem(6, 3)
    for v in (np.array([1e-200, 1.0, 1e200]), np.array([np.inf, 1.0, 1e-30])):
        part = GaussianConditionals.of(x, x.T @ x, y[None], v[None])
        assert np.all(np.isfinite(part.centre))
        assert np.all(np.isfinite(part.perturbation(np.random.default_rng(0))))
    flat = GaussianConditionals.of(x, x.T @ x, y[None], np.full((1, 3), np.inf))
    np.testing.assert_allclose(flat.centre[0], np.linalg.lstsq(x, y, rcond=None)[0], rtol=1e-9)
    twins = np.column_stack([x[:, 0], x[:, 0]])
    part = GaussianConditionals.of(twins, twins.T @ twins, y[None], np.full((1, 2), 1e100))
    assert np.all(np.isfinite(part.perturbation(np.random.default_rng(0))))


@pytest.mark.parametrize("intercept", [(0.0, 0.0), (0.7, 4.0), None], ids=["flat", "normal", "none"])
@pytest.mark.parametrize(("n", "p"), [(7, 2), (3, 5)])
def test_weighted_rows(n, p, intercept):
    """Mean and sd of (intercept, coefficients) of 20,000 chains against the dense posterior, at 6 standard errors."""
    x, y, _ = problem(n, p)
    rng, chains, omega, v = np.random.default_rng(2), 20_000, np.linspace(0.5, 2, n), np.linspace(0.5, 2, p)
    mean, precision = intercept or (0.0, 1e12)
    design, prior = np.column_stack([np.ones(n), x]), np.diag([precision, *(1 / v)])
    posterior = np.linalg.inv(design.T * omega @ design + prior)
    expected = posterior @ (design.T @ (omega * y) + prior @ [mean, *np.zeros(p)])
    many = (np.tile(part, (chains, 1)) for part in (y, omega, v))
    draws = np.column_stack(WeightedRows(x, intercept).draw(*many, rng))
    sd = np.sqrt(np.diag(posterior))
    assert np.all(np.abs(draws.mean(axis=0) - expected) < 6 * sd / np.sqrt(chains))
    np.testing.assert_allclose(draws.std(axis=0)[1:], sd[1:], rtol=6 / np.sqrt(2 * chains))


def test_many_columns_and_few_agree():
    """Above and below the order where stacks are inverted, and with products of columns or without."""
    rng = np.random.default_rng(5)
    x, y, v = rng.normal(size=(60, 20)), rng.normal(size=(3, 60)), np.exp(rng.normal(0, 2, size=(3, 20)))
    part = GaussianConditionals.of(x, x.T @ x, y, v)
    np.testing.assert_allclose(
        part.centre, [np.linalg.solve(x.T @ x + np.diag(1 / b), x.T @ a) for a, b in zip(y, v)], rtol=1e-9, atol=1e-12
    )
    kept, made = WeightedRows(x, (0.0, 0.0)), WeightedRows(x, (0.0, 0.0))
    made.products = None
    omega = rng.gamma(2.0, size=(3, 60))
    np.testing.assert_allclose(kept._grams(omega), made._grams(omega), rtol=1e-12, atol=1e-12)


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
