"""Many variances and noises from one reduction: what a Cholesky factor at each says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import credo as cr
from credo.models.gaussian_process.noise import Learned
from credo.models.gaussian_process.scales import evidence_of_scales, has_scales


@pytest.mark.parametrize("mean", [None, "constant", "linear"])
@pytest.mark.parametrize("n", [2, 40])
def test_equal_to_factors(n, mean):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (n, 2))
    X, y = np.concatenate([X, X[:1]]), rng.normal(size=(n + 1, 2))  # a copy; two targets
    options = {"mean": mean, "mean_prior": cr.Normal(0.0, 2.0), "optimizer": None, "noise": 0.3}
    weights = rng.uniform(0.5, 2.0, n + 1)
    fitted = cr.GaussianProcessRegressor(1.0 * cr.kernels.Matern([1.0, 2.0]), **options).fit(X, y, weights).belief_
    belief = replace(fitted, noise=Learned(0.3, 1.0))
    assert has_scales(belief)
    at = [belief.at(belief.theta + np.array([a, 0.0, 0.0, s])) for a in (-4.0, 0.0, 5.0) for s in (-3.0, 0.0, 2.0)]
    expected = [each.evidence(False).value for each in at]
    np.testing.assert_allclose(evidence_of_scales(at), expected, rtol=1e-9)


def test_what_only_jitter_factors_is_left_to_it():
    X = np.linspace(0.0, 1.0, 60)[:, None]
    fitted = cr.GaussianProcessRegressor(1.0 * cr.kernels.RBF(10.0), noise=1e-9, optimizer=None).fit(X, X[:, 0])
    assert not has_scales(fitted.belief_)
    belief = replace(fitted.belief_, noise=Learned(1e-9, 1.0))
    assert np.isnan(evidence_of_scales([belief]))[0]
