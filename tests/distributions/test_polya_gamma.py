"""Pólya–Gamma draws against moments and the Laplace transform; those against each other and known values."""

import numpy as np
import pytest

from credo.distributions.polya_gamma import PolyaGamma
from credo.errors import ParameterError, UnavailableError

CASES = [(1, 0.0), (1, 0.7), (1, -3.0), (1, 12.0), (1, 150.0), (2, 1.0), (7, 0.0)]


def cumulants(family):
    """Mean and variance from the transform by central differences."""
    h = 1e-3
    low, middle, high = (family.log_laplace(t) for t in (0.0, h, 2 * h))
    return -(4 * middle - high - 3 * low) / (2 * h), (low - 2 * middle + high) / h**2


@pytest.mark.parametrize(("shape", "tilt"), [(1, 0.0), (1, 0.049), (1, 0.051), (2.5, 1.0), (1, 6.0)])
def test_moments_follow_from_the_transform(shape, tilt):
    family = PolyaGamma(shape, tilt)
    mean, variance = cumulants(family)
    np.testing.assert_allclose(family.mean, mean, rtol=1e-6)
    np.testing.assert_allclose(family.variance, variance, rtol=2e-3)  # the difference's own error is h


def test_moments_are_smooth_where_the_series_takes_over():
    below, above = PolyaGamma(1, 0.05 * (1 - 1e-12)), PolyaGamma(1, 0.05 * (1 + 1e-12))
    np.testing.assert_allclose(below.mean, above.mean, rtol=1e-10)
    np.testing.assert_allclose(below.variance, above.variance, rtol=1e-7)


@pytest.mark.parametrize(("shape", "tilt"), CASES)
def test_draws(shape, tilt):
    """Mean, and E exp(−tω) at two t, each within 5 standard errors: 21 two-sided checks at 6e-7."""
    family, n = PolyaGamma(shape, tilt), 100_000
    x = family.sample(n, 3)
    assert np.all(x > 0)
    assert abs(x.mean() - family.mean) < 5.0 * family.sd / np.sqrt(n)
    for t in (1.0, 10.0):
        value = np.exp(-t * x)
        spread = np.sqrt(max(np.exp(family.log_laplace(2 * t)) - np.exp(2 * family.log_laplace(t)), 0.0) / n)
        assert abs(value.mean() - np.exp(family.log_laplace(t))) < 5.0 * spread


def test_identity_that_makes_logistic_models_gaussian():
    eta = np.array([-2.0, 0.3, 4.0])
    expected = 0.5 * np.exp(-0.5 * eta) * np.exp(PolyaGamma(1, 0.0).log_laplace(0.5 * eta**2)) * np.exp(eta)
    np.testing.assert_allclose(expected, 1.0 / (1.0 + np.exp(-eta)), rtol=1e-13)


def test_shapes_and_refusals():
    assert PolyaGamma(np.array([1, 2]), np.zeros((3, 1))).sample(5, 0).shape == (5, 3, 2)
    with pytest.raises(ParameterError, match="whole"):
        PolyaGamma(1.5, 0.0).sample(1, 0)
    with pytest.raises(ParameterError, match="tilt"):
        PolyaGamma(1, np.nan)
    with pytest.raises(UnavailableError):
        PolyaGamma(1, 0.0).log_prob(1.0)
