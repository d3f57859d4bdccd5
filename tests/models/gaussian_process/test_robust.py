"""Noise that is not Normal: outliers are set aside, Normal noise is the limit of many degrees of freedom."""

import numpy as np
import pytest

import credo as cr
from credo.errors import ParameterError
from credo.models.gaussian_process.robust import is_robust, robust_fit

RNG = np.random.default_rng(0)
X = np.linspace(0.0, 6.0, 60)[:, None]
CURVE = np.sin(X[:, 0])
CLEAN = CURVE + 0.1 * RNG.normal(size=60)
Y = CLEAN.copy()
Y[[5, 20, 41]] = 6.0, -5.0, 9.0
RBF = cr.kernels.RBF


def fit(noise, y=Y, kernel=None, **options):
    return robust_fit("test", kernel or 1.0 * RBF(1.0), X, y, noise, rng=np.random.default_rng(0), **options)


@pytest.mark.parametrize("noise", [cr.noise.StudentT(df=4), cr.noise.StudentT(df=4, scale=0.1), cr.noise.StudentT(),
                                   cr.noise.Laplace(), cr.noise.Laplace(scale=0.1)])  # fmt: skip
def test_outliers_do_not_bend_the_curve(noise):
    found = fit(noise)
    mean, variance = found.latent(X)
    assert np.abs(mean - CURVE).max() < 0.15
    assert np.all(variance < 0.05)
    if found.psi is not None:
        scale = found.likelihood.auxiliary_values(found.psi)["scale"]
        assert 0.04 < scale < 0.6  # of Laplace noise the mean size of a residual, outliers too
    p = found.predictive(X)
    low, high = p.interval(0.9)
    assert np.mean((low <= CLEAN) & (high >= CLEAN)) > 0.8
    np.testing.assert_allclose(p.cdf(p.quantile(0.3)), 0.3, atol=1e-6)


@pytest.mark.parametrize("inference", ["laplace", "ep"])
def test_many_degrees_of_freedom_are_normal_noise(inference):
    """ν = 1e8: the exact Gaussian process, evidence and curve."""
    kernel, sd = 1.0 * RBF(1.2), 0.1
    found = fit(cr.noise.StudentT(df=1e8, scale=sd), CLEAN, kernel, inference=inference, optimize=False, mean=0.0)
    total = kernel(X) + sd**2 * np.eye(60)
    exact = -0.5 * (CLEAN @ np.linalg.solve(total, CLEAN) + np.linalg.slogdet(2.0 * np.pi * total)[1])
    assert found.log_evidence == pytest.approx(exact, abs=1e-4)
    np.testing.assert_allclose(found.latent(X)[0], kernel(X) @ np.linalg.solve(total, CLEAN), atol=1e-5)
    assert found.result.certificate["ess"] > 990.0


def test_weights_count_rows():
    counts = np.ones(60)
    counts[[3, 30]] = 2.0
    rows = np.repeat(np.arange(60), counts.astype(int))
    options = {"optimize": False, "mean": 0.0, "inference": "laplace", "rng": np.random.default_rng(0)}
    noise = cr.noise.StudentT(df=4, scale=0.1)
    a = robust_fit("test", 1.0 * RBF(1.0), X, Y, noise, weights=counts, **options)
    b = robust_fit("test", 1.0 * RBF(1.0), X[rows], Y[rows], noise, **options)
    assert a.log_evidence == pytest.approx(b.log_evidence, abs=1e-8)


def test_refusals():
    assert is_robust(cr.noise.Laplace())
    assert not is_robust(cr.noise.Normal())
    with pytest.raises(ParameterError, match="StudentT"):
        fit(cr.noise.Normal(0.1))
    with pytest.raises(ParameterError, match="corner"):
        fit(cr.noise.Laplace(), inference="laplace")
