"""Gaussian processes of counts: brute force, exposure, overdispersion, awkward counts."""

import numpy as np
import pytest

import credo as cr
from credo.errors import DataError, NotIdentifiedError, ParameterError
from credo.models.gaussian_process.counts import (
    GaussianProcessNegativeBinomialRegressor,
    GaussianProcessPoissonRegressor,
)

RNG = np.random.default_rng(4)
X = np.sort(RNG.uniform(0.0, 6.0, 40))[:, None]
RATE = np.exp(1.0 + np.sin(X[:, 0]))
Y = RNG.poisson(RATE)
NEW = np.array([[0.5], [3.3], [20.0]])
RBF = cr.kernels.RBF


def test_one_row_by_quadrature():
    """One count: EP is exact, the evidence ∫ Poisson(y | e^f) N(f; m, v) df and P(y*) at the same x."""
    model = GaussianProcessPoissonRegressor(2.0 * RBF(1.0), mean=0.5, inference="ep", optimizer=None).fit([[1.0]], [4])
    f = np.linspace(-9.0, 10.0, 40_001)
    density = np.exp(cr.Poisson(np.exp(f)).log_prob(4)) * np.exp(-0.25 * (f - 0.5) ** 2) / np.sqrt(4.0 * np.pi)
    mass = np.trapezoid(density, f)
    assert model.log_evidence_ == pytest.approx(np.log(mass), abs=1e-9)
    mean, variance = model.latent([[1.0]])
    assert mean[0] == pytest.approx(np.trapezoid(f * density, f) / mass, abs=1e-7)
    centred = np.trapezoid((f - mean[0]) ** 2 * density, f) / mass
    assert variance[0] == pytest.approx(centred, abs=1e-7)
    assert model.leave_one_out([[1.0]], [4]).pointwise[0] == pytest.approx(np.log(mass), abs=1e-8)


@pytest.mark.parametrize("spread", [0.0, 1e-6, 0.3, 4.0])
@pytest.mark.parametrize("location", [-2.0, 3.0, 9.0])
def test_predictive_is_the_integral(spread, location):
    """Mass, moments, cdf and quantiles of ∫ Poisson(e^η) N(η; m, v) dη against a fine grid; cdf within 0.003."""
    from credo.distributions.likelihoods import PoissonLog
    from credo.models.gaussian_process.latent_predictive import LatentPredictive

    p = LatentPredictive(PoissonLog(), np.array([location]), np.array([spread]), None)
    z = np.linspace(-9.0, 9.0, 6001)
    w = np.exp(-0.5 * z**2) / np.exp(-0.5 * z**2).sum()
    law = cr.Poisson(np.exp(location + np.sqrt(spread) * z))
    outcomes = [np.floor(np.exp(location)), np.floor(1.1 * np.exp(location))] + [0.0] * (location < 5.0)
    for y in outcomes:
        assert p.log_prob(y)[0] == pytest.approx(np.log(w @ np.exp(law.log_prob(y))), abs=1e-6)
        assert p.cdf(y)[0] == pytest.approx(w @ law.cdf(y), abs=0.003)
    assert p.mean[0] == pytest.approx(np.exp(location + 0.5 * spread), rel=1e-9)
    np.testing.assert_allclose(p.variance, p.aleatoric + p.epistemic)
    median = p.quantile(0.5)[0]
    assert p.cdf(median)[0] >= 0.5 > p.cdf(median - 1.0)[0]
    assert p[0].shape == (1,)
    draws = p.sample(4000, 1)
    assert np.mean(draws <= median) == pytest.approx(p.cdf(median)[0], abs=4.0 * 0.5 / np.sqrt(4000))


def test_learns_a_curve():
    model = GaussianProcessPoissonRegressor().fit(X, Y)
    assert model.result_.ok
    p = model.predict_distribution(X)
    assert np.sqrt(np.mean((p.mean - RATE) ** 2)) < np.sqrt(np.mean((Y - RATE) ** 2)) * 0.6
    low, high = p.interval(0.9)
    assert np.mean((low <= Y) & (high >= Y)) > 0.85
    far = model.predict_distribution(NEW)
    assert far.epistemic[2] > 5.0 * far.epistemic[0]
    assert model.score(X, Y) > 0.3
    assert model.evidence_.maximised
    assert model.evidence_.n_parameters == 3.0


def test_exposure():
    """With offset log E the model is of rates: splitting each count's hours leaves rates and evidence of them alike."""
    hours = RNG.uniform(0.5, 4.0, 40)
    y = RNG.poisson(hours * RATE)
    kernel = 1.0 * RBF(1.5)
    model = GaussianProcessPoissonRegressor(kernel, optimizer=None, mean=1.0).fit(X, y, offset=np.log(hours))
    twice = model.predict(NEW, offset=np.log(2.0))
    np.testing.assert_allclose(twice, 2.0 * model.predict(NEW), rtol=1e-9)
    same = GaussianProcessPoissonRegressor(kernel, optimizer=None, mean=1.0 + np.log(2.0))
    same.fit(X, y, offset=np.log(hours / 2.0))
    assert same.log_evidence_ == pytest.approx(model.log_evidence_, rel=1e-10)
    with pytest.raises(DataError, match="offset"):
        model.fit(X, y, offset=np.full(40, np.inf))
    with pytest.raises(ParameterError, match="offset"):
        model.predict(NEW, offset=np.zeros(2))


def test_leave_one_out_is_near_refits():
    options = {"optimizer": None, "mean": 1.0}
    model = GaussianProcessPoissonRegressor(1.0 * RBF(1.5), **options).fit(X, Y)
    loo = model.leave_one_out(X, Y).pointwise
    for i in range(0, 40, 5):
        rest = np.delete(np.arange(40), i)
        fresh = GaussianProcessPoissonRegressor(1.0 * RBF(1.5), **options).fit(X[rest], Y[rest])
        assert loo[i] == pytest.approx(fresh.predict_distribution(X[[i]]).log_prob(Y[[i]])[0], abs=0.02)


def test_overdispersion_is_learned(tmp_path):
    x = np.linspace(0.0, 6.0, 150)[:, None]
    rng = np.random.default_rng(0)
    y = rng.poisson(np.exp(2.0 + np.sin(x[:, 0])) * rng.gamma(3.0, 1.0 / 3.0, size=150))
    model = GaussianProcessNegativeBinomialRegressor().fit(x, y)
    assert 1.5 < model.dispersion_ < 6.0
    poisson = GaussianProcessPoissonRegressor(model.kernel_, optimizer=None, mean=model.mean_).fit(x, y)
    assert model.log_evidence_ > poisson.log_evidence_ + 20.0
    cr.save(model, tmp_path / "model.credo")
    np.testing.assert_allclose(cr.load(tmp_path / "model.credo").predict(NEW), model.predict(NEW), rtol=1e-9)
    stated = GaussianProcessNegativeBinomialRegressor(1.0 * RBF(1.0), dispersion=1e12, mean=2.0, optimizer=None)
    limit = GaussianProcessPoissonRegressor(1.0 * RBF(1.0), mean=2.0, optimizer=None)
    # the Poisson is the limit of large dispersion
    np.testing.assert_allclose(stated.fit(x, y).predict(NEW), limit.fit(x, y).predict(NEW), rtol=1e-6)


@pytest.mark.filterwarnings("ignore:.*certificate failed")
def test_awkward_counts():
    with pytest.raises(NotIdentifiedError, match="all zero"):
        GaussianProcessPoissonRegressor().fit(X, np.zeros(40))
    model = GaussianProcessPoissonRegressor(mean=0.0).fit(X, np.zeros(40))
    assert np.all(model.predict(X) < 0.5)
    huge = GaussianProcessPoissonRegressor().fit(X, np.full(40, 10**9))
    np.testing.assert_allclose(huge.predict(X), 1e9, rtol=1e-3)
    with pytest.raises(DataError, match="counts"):
        GaussianProcessPoissonRegressor().fit(X, -np.ones(40))
