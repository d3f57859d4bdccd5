"""Some columns given others: a `Predictive` whose density is the ratio of the joint and the marginal one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

from credo.errors import DataError, ParameterError, UnavailableError
from credo.models.mixture import BayesianGaussianMixture, GaussianMixture, StudentTMixture
from tests.models.mixture.samples import TYPES, clusters

MODELS = {
    **{f"normal {t}": GaussianMixture(2, covariance_type=t, random_state=0) for t in TYPES},
    **{
        f"variational {t}": BayesianGaussianMixture(n_components=2, covariance_type=t, random_state=0, max_iter=500)
        for t in TYPES
    },
}


@pytest.mark.parametrize("name", MODELS)
def test_density_is_joint_over_marginal(name):
    X = clusters(80, d=3, k=2)
    model = MODELS[name].fit(X)
    p = model.condition([0, 1], X[:5, :2])
    assert p.shape == (5, 1)
    marginal = model.score_samples(np.column_stack([X[:5, :2], np.full(5, np.nan)]))
    np.testing.assert_allclose(p.log_prob(X[:5, 2:])[:, 0], model.score_samples(X[:5]) - marginal, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", ["normal full", "variational full", "variational diag", "variational spherical"])
def test_moments_and_quantiles_are_those_of_the_density(name):
    X = clusters(80, d=3, k=2)
    p = MODELS[name].fit(X).condition([0], X[:2, :1])
    for q in (0.05, 0.5, 0.9):
        np.testing.assert_allclose(p.cdf(p.quantile(q)), q, rtol=1e-9)
    for row, column in ((0, 0), (1, 1)):

        def density(y, row=row, column=column):
            return float(np.exp(p.log_prob(y))[row, column])

        ends = (p.quantile(1e-7)[row, column], p.quantile(1 - 1e-7)[row, column])
        assert quad(density, *ends, limit=200)[0] == pytest.approx(1.0, abs=1e-5)
        mean = quad(lambda y, f=density: y * f(y), *ends, limit=200)[0]
        assert mean == pytest.approx(p.mean[row, column], rel=1e-3)


def test_draws_are_joint_and_names_are_columns():
    import pandas as pd

    X = clusters(300, d=3, k=1)
    model = GaussianMixture(1).fit(pd.DataFrame(X, columns=["a", "b", "c"]))
    p = model.condition("a", X[0, 0])
    draws = p.sample(40_000, rng=0)[:, 0]
    S = model.covariances_[0]
    exact = S[1:, 1:] - np.outer(S[1:, 0], S[0, 1:]) / S[0, 0]
    np.testing.assert_allclose(np.cov(draws.T), exact, atol=0.05 * np.abs(exact).max())  # five standard errors
    np.testing.assert_allclose(p.variance[0], np.diag(exact), rtol=1e-10)
    assert p[0].shape == (1, 2)


def test_a_point_estimate_has_no_epistemic_part():
    X = clusters(80)
    p = GaussianMixture(2, random_state=0).fit(X).condition([0], X[:3, :1])
    np.testing.assert_array_equal(p.aleatoric, p.variance)
    assert p.inference == "map"
    with pytest.raises(UnavailableError):
        _ = p.epistemic
    assert StudentTMixture(2, random_state=0).fit(X).condition([0], X[:3, :1]).mean.shape == (3, 2)


def test_what_cannot_be_conditioned_is_refused():
    X = clusters(60)
    model = GaussianMixture(2, random_state=0).fit(X)
    with pytest.raises(DataError, match="same columns"):
        model.predict_distribution(X)
    for columns in ([0, 1, 2], [3], ["z"], [0, 0]):
        with pytest.raises(ParameterError, match="columns"):
            model.condition(columns, np.zeros((1, len(columns))))
    with pytest.raises(ParameterError, match="values"):
        model.condition([0], [[np.nan]])
    with pytest.raises(ParameterError, match="q must be between"):
        model.condition([0], [[1.0]]).quantile(1.5)
