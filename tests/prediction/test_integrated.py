"""`IntegratedPredictive`: identities, and brute force over its points."""

import numpy as np
import pytest

import credo as cr
from credo.errors import ParameterError, UnavailableError
from credo.prediction import IntegratedPredictive


def counts(points=40, rows=5, seed=0, **options):
    rng = np.random.default_rng(seed)
    rates = np.exp(rng.normal(1.0, 0.7, size=(points, 1)) + np.linspace(-1, 3, rows))
    weights = rng.random(points)
    law = cr.Poisson(rates)
    return IntegratedPredictive(weights, lambda some: cr.Poisson(rates[:, some]), rows, "count", **options), law


def amounts(points=40, rows=5, seed=0):
    rng = np.random.default_rng(seed)
    scale = np.exp(rng.normal(0.0, 0.5, size=(points, 1)) + np.linspace(-9, 9, rows))
    return IntegratedPredictive(
        np.ones(points), lambda some: cr.Gamma(shape=2.0, rate=1.0 / scale[:, some]), rows
    ), cr.Gamma(shape=2.0, rate=1.0 / scale)


def test_moments_and_log_prob_by_brute_force():
    p, law = counts()
    w = p.weights[:, None]
    np.testing.assert_allclose(p.mean, (w * law.mean).sum(axis=0), rtol=1e-13)
    np.testing.assert_allclose(p.variance, p.aleatoric + p.epistemic, rtol=1e-13)
    second = (w * (law.variance + law.mean**2)).sum(axis=0)
    np.testing.assert_allclose(p.variance, second - p.mean**2, rtol=1e-10)
    y = np.arange(5.0)
    np.testing.assert_allclose(np.exp(p.log_prob(y)), (w * law.prob(y)).sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(p.cdf(y), (w * law.cdf(y)).sum(axis=0), rtol=1e-12)
    assert p.log_prob(np.ones((3, 5))).shape == (3, 5)


@pytest.mark.parametrize("points", [1, 40, 700])
def test_count_quantiles_are_the_smallest_that_reach(points):
    p, _ = counts(points)
    q = np.array([0.001, 0.05, 0.5, 0.95, 0.9999])
    found = p.quantile(q)
    for level, y in zip(q, found, strict=True):
        assert np.all(p.cdf(y) >= level)
        assert np.all(p.cdf(y - 1) < level)
    assert p.quantile(0.0).tolist() == [0.0] * 5
    assert np.all(np.isinf(p.quantile(1.0)))
    assert p.quantile(0.3).shape == (5,)


@pytest.mark.parametrize("points", [1, 40, 700])
def test_quantiles_invert_the_distribution_function(points):
    p, _ = amounts(points)
    q = np.array([1e-6, 0.05, 0.5, 0.95, 1 - 1e-6])
    np.testing.assert_allclose(np.stack([p.cdf(y) for y in p.quantile(q)]), np.tile(q[:, None], 5), rtol=1e-9)


def test_heavy_tails_without_a_variance():
    spread = np.array([[1.0, 100.0], [3.0, 1.0]])
    p = IntegratedPredictive([0.5, 0.5], lambda rows: cr.StudentT(1.5, 0.0, spread[:, rows]), 2)
    np.testing.assert_allclose(p.cdf(p.quantile(0.99)), 0.99, rtol=1e-9)
    assert np.all(np.isinf(p.variance))


def test_rows_and_draws():
    p, _ = counts(rows=7)
    np.testing.assert_allclose(p[2:4].mean, p.mean[2:4], rtol=1e-14)
    np.testing.assert_allclose(p[p.mean > 5].quantile(0.5), p.quantile(0.5)[p.mean > 5])
    draws = p.sample(4000, rng=0)
    # five standard errors: a false alarm in 1e6
    assert np.all(np.abs(draws.mean(axis=0) - p.mean) < 5 * p.sd / np.sqrt(4000))
    # one point for all rows of a draw: rows go up and down together
    assert np.corrcoef(draws[:, -1], draws[:, -2])[0, 1] > 0.5


def test_a_plug_in_says_so_and_arguments_are_checked():
    p, _ = counts(points=1, inference="map")
    with pytest.raises(UnavailableError, match="epistemic"):
        p.epistemic  # noqa: B018
    np.testing.assert_allclose(p.variance, p.aleatoric)
    with pytest.raises(ParameterError, match="weights"):
        IntegratedPredictive([0.0], lambda rows: cr.Poisson(1.0), 1)
    with pytest.raises(ParameterError, match="between 0 and 1"):
        p.quantile(2.0)


@pytest.mark.parametrize("points", [3, 600])
@pytest.mark.parametrize("own_weights", [False, True])
def test_laws_that_are_mixtures(points, own_weights):
    """Zero-inflated and robust laws are `Mixture`s, whose parameters are other families: quantile, draws and rows."""
    rng, rows = np.random.default_rng(0), 4
    shares = rng.dirichlet([1.0, 2.0], size=(points, rows)) if own_weights else np.array([0.3, 0.7])
    centre = rng.normal(size=(points, rows))

    def law(some):
        weights = shares[:, some] if own_weights else shares
        return cr.Mixture(weights, (cr.Normal(np.zeros((points, 1)), 1.0), cr.Normal(centre[:, some], 0.5)))

    p = IntegratedPredictive(rng.random(points), law, rows)
    q = np.array([0.05, 0.5, 0.95])
    y = p.quantile(q)
    np.testing.assert_allclose(p.cdf(y), np.broadcast_to(q[:, None], y.shape), atol=1e-12)
    np.testing.assert_allclose(p[[2, 0]].quantile(q), y[:, [2, 0]], rtol=1e-12)
    draws = p.sample(4000, 0)
    # the mean of 4,000 draws, 4 σ in each of 4 rows: false alarm 3e-4
    assert np.all(np.abs(draws.mean(axis=0) - p.mean) < 4 * np.sqrt(p.variance / 4000))


def test_counts_whose_laws_are_mixtures():
    rates = np.array([[1.0, 4.0], [2.0, 8.0]])
    p = IntegratedPredictive(
        [0.5, 0.5], lambda some: cr.Mixture([0.4, 0.6], (cr.Poisson(0.1), cr.Poisson(rates[:, some]))), 2, "count"
    )
    median = p.quantile(0.5)
    assert np.all(p.cdf(median) >= 0.5)
    assert np.all(p.cdf(median - 1) < 0.5)
    assert p.sample(10, 0).shape == (10, 2)
