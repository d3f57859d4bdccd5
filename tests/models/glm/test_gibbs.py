"""Pólya–Gamma Gibbs against the importance-weighted Gaussian of LogisticRegression and against counts of rows."""

import numpy as np
import pytest

import credo as cr
from credo.diagnostics import mcse
from credo.models.glm.gibbs import sample_logistic
from credo.models.priors import resolve_prior
from credo.models.scale_mixtures import NormalMixture


def table(n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) + 0.5
    return X, (rng.random(n) < 1 / (1 + np.exp(-(X @ [1.0, -1.0, 0.0] - 0.3)))).astype(float)


def test_against_logistic_regression():
    """Moments at 5 Monte Carlo errors and the other's own 2 % of an sd."""
    X, y = table()
    other = cr.LogisticRegression(prior=cr.Normal(0, 1.5)).fit(X, y)
    draws = sample_logistic(X, y, NormalMixture(np.zeros(3), np.full(3, 1.5)), np.random.default_rng(1), owner="test")
    assert draws.result.status == "converged"
    chains, sd = draws.values["coef"], other.posterior_.sd.ravel()
    assert np.all(np.abs(draws["coef"].mean(axis=0) - np.ravel(other.coef_)) < 5 * mcse(chains) + 0.02 * sd)
    assert np.all(np.abs(draws["coef"].std(axis=0) - sd) < 5 * mcse(chains, "sd") + 0.02 * sd)


def test_trials_are_rows_counted():
    X, _y = table(20)
    X, trials = X[:10], np.arange(10)
    wins = np.minimum(trials, np.round(trials * 0.4))
    mixture = NormalMixture(np.zeros(3), np.ones(3))
    counted = sample_logistic(
        X, wins, mixture, np.random.default_rng(0), owner="t", trials=trials, prior_intercept=(0, 2)
    )
    rows = np.repeat(np.arange(10), trials)
    single = np.concatenate([(np.arange(t) < w).astype(float) for t, w in zip(trials, wins)])
    alone = sample_logistic(X[rows], single, mixture, np.random.default_rng(1), owner="t", prior_intercept=(0, 2))
    for name in ("coef", "intercept"):
        error = np.hypot(mcse(counted.values[name]), mcse(alone.values[name]))
        assert np.all(np.abs(counted[name].mean(axis=0) - alone[name].mean(axis=0)) < 5 * error)


@pytest.mark.parametrize("prior", [cr.Laplace(0, None), cr.StudentT(4, 0, 1)], ids=repr)
def test_other_priors(prior):
    X, y = table()
    mixture = resolve_prior("test", prior, X.std(axis=0)).mixture
    draws = sample_logistic(X, y, mixture, np.random.default_rng(1), owner="test", offset=np.full(len(y), 0.1))
    assert draws.result.ok
    assert np.sign(draws["coef"].mean(axis=0)[:2]).tolist() == [1.0, -1.0]
