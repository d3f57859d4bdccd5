"""What has no answer is refused by name, and what only looks odd fits without a word from NumPy."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import credo as cr
from credo.errors import ConvergenceWarning, DataWarning, NotIdentifiedError, ParameterError

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("shape", [(12, 1), (12, 6), (30, 3)])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("unit", [1.0, 1e12, 1e-12])
def test_relevance_of_exactly_linear_rows_is_refused(shape, fit_intercept, unit):
    X = RNG.normal(size=shape)
    with pytest.raises(NotIdentifiedError, match="ARD the evidence has no maximum"):
        cr.LinearRegression(prior=cr.ARD(), fit_intercept=fit_intercept).fit(X, unit * X @ np.arange(1.0, shape[1] + 1))


def test_relevance_with_a_stated_noise_fits_them():
    X = RNG.normal(size=(12, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        model = cr.LinearRegression(prior=cr.ARD(), noise=cr.noise.Normal(0.1)).fit(X, X @ [1.0, 0.0, 2.0])
    np.testing.assert_allclose(model.coef_, [1.0, 0.0, 2.0], atol=0.2)


def test_a_log_linear_scale_of_few_rows_is_quiet_but_for_its_certificate(monkeypatch):
    from credo.inference import gibbs_chains

    limits = gibbs_chains.run_chains.__kwdefaults__ | {"budget": 500}
    monkeypatch.setattr(gibbs_chains.run_chains, "__kwdefaults__", limits)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = cr.LinearRegression(noise=cr.noise.Normal(cr.noise.LogLinear())).fit(
            RNG.normal(size=(4, 6)), RNG.normal(size=4)
        )
    assert np.all(np.isfinite(model.coef_))


def test_fractional_weights_are_the_reason_given():
    X, y = RNG.normal(size=(12, 2)), np.arange(12) % 2
    with pytest.raises(ParameterError, match="sample weights that are no whole numbers"):
        cr.LogisticRegression(prior=cr.Normal(0, 1.0), inference="gibbs").fit(X, y, np.full(12, 0.5))


def test_no_certificate_holds_nan():
    X, y = RNG.normal(size=(30, 2)), np.arange(30) % 2
    found = cr.LogisticRegression(prior=cr.Normal(0, 1.0), inference="hmc").fit(X, y).result_.certificate
    assert all(np.isfinite(value) for value in found.values())
    assert "bfmi" not in found
