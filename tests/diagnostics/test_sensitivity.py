"""Power-scaling sensitivity against a Normal–Normal model where the powered posterior is known."""

from __future__ import annotations

import numpy as np
import pytest

from credo.diagnostics.sensitivity import power_scaling_sensitivity
from credo.errors import DataError, ParameterError


def sensitivities(prior_sd, y, n=25):
    """μ ~ N(0, prior_sd²), ȳ ~ N(μ, 1/n)."""
    rng = np.random.default_rng(0)
    precision = 1 / prior_sd**2 + n
    mu = rng.normal(n * y / precision, precision**-0.5, size=(4, 4000))
    return power_scaling_sensitivity({"mu": mu}, -0.5 * (mu / prior_sd) ** 2, -0.5 * n * (mu - y) ** 2)["mu"]


def test_a_weak_prior_does_not_matter():
    found = sensitivities(prior_sd=10.0, y=1.0)
    assert found.prior < 0.05 < found.likelihood
    assert found.diagnosis == "not sensitive to the prior"


def test_a_prior_far_from_the_data_conflicts():
    found = sensitivities(prior_sd=0.2, y=2.0)
    assert found.prior > 0.05
    assert found.likelihood > 0.05
    assert "conflict" in found.diagnosis


def test_weak_data_under_a_strong_prior():
    rng = np.random.default_rng(0)
    mu = rng.normal(0.0, 1.0, size=(4, 4000))
    found = power_scaling_sensitivity({"mu": mu}, -0.5 * mu**2, -0.5 * 1e-4 * mu**2)["mu"]
    assert found.likelihood < 0.05 < found.prior
    assert "hardly matter" in found.diagnosis


def test_a_flat_prior_has_none_and_entries_are_labelled():
    mu = np.random.default_rng(0).normal(size=(2, 500, 2))
    found = power_scaling_sensitivity({"w": mu}, np.zeros((2, 500)), -0.5 * np.sum(mu**2, -1))
    assert list(found) == ["w[0]", "w[1]"]
    assert found["w[0]"].prior == pytest.approx(0.0, abs=1e-5)


def test_errors():
    x = np.zeros((2, 100))
    with pytest.raises(DataError, match="log_prior"):
        power_scaling_sensitivity({"x": x}, np.full((2, 100), np.nan), x)
    with pytest.raises(DataError, match="log_likelihood"):
        power_scaling_sensitivity({"x": x}, x, np.zeros(100))
    with pytest.raises(DataError, match="x must have shape"):
        power_scaling_sensitivity({"x": np.zeros((3, 5))}, x, x)
    with pytest.raises(ParameterError):
        power_scaling_sensitivity({"x": x}, x, x, delta=2.0)
