"""Closed forms for one row left out, against fits without it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone

import credo as cr
from credo.errors import ConvergenceWarning, NumericalError, UnavailableError
from credo.inference.exact.leave_one_out import linear_leave_one_out
from credo.models.featured import FeaturedModel, Quadratic
from credo.selection import leave_one_out


def left_out(model, *rows):
    return leave_one_out(model, *rows).pointwise


def refitted(model, X, y, weights=None):
    scores = np.empty(len(y))
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        other = clone(model).fit(X[rest], y[rest], None if weights is None else weights[rest])
        score = other.predict_distribution(X[[i]]).log_prob(y[[i]])
        scores[i] = score.sum()
    return scores


def table(n, p, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + 5.0
    return X, X @ np.linspace(1.0, -1.0, p) + rng.normal(size=n)


EXACT = {
    "flat": cr.LinearRegression(prior=cr.Flat()),
    "flat, known noise": cr.LinearRegression(prior=cr.Flat(), noise=cr.noise.Normal(0.7)),
    "stated, known noise": cr.LinearRegression(prior=cr.Normal(0, 1.0), noise=cr.noise.Normal(0.7)),
    "conjugate": cr.LinearRegression(prior=cr.NormalInverseGamma(0.5, 2.0, 3.0, 1.0)),
    "intercept prior": cr.LinearRegression(
        prior=cr.Normal(0, 1.0), noise=cr.noise.Normal(0.7), prior_intercept=cr.Normal(1, 2.0)
    ),
    "through the origin": cr.LinearRegression(fit_intercept=False, prior=cr.Flat()),
}


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("weighted", [False, True])
def test_exact_for_a_fixed_prior(name, weighted):
    X, y = table(15, 3)
    weights = np.random.default_rng(1).integers(1, 4, 15).astype(float) if weighted else None
    model = clone(EXACT[name]).fit(X, y, weights)
    np.testing.assert_allclose(
        left_out(model, X, y, weights), refitted(EXACT[name], X, y, weights), rtol=1e-9, atol=1e-9
    )


def test_noise_known_row_by_row():
    X, y = table(12, 2)
    scale = np.linspace(0.5, 2.0, 12)
    scores = left_out(cr.LinearRegression(prior=cr.Normal(0, 1.0), noise=cr.noise.Normal(scale)).fit(X, y), X, y)
    for i in range(12):
        rest = np.arange(12) != i
        other = cr.LinearRegression(prior=cr.Normal(0, 1.0), noise=cr.noise.Normal(scale[rest])).fit(X[rest], y[rest])
        assert np.isclose(scores[i], other.predict_distribution(X[[i]], scale[[i]]).log_prob(y[[i]])[0], rtol=1e-10)


def test_integrated_noise_scale():
    """A prior in the coefficients' own units: σ² is a quadrature of 16 nodes, weighed again by each row."""
    X, y = table(30, 3)
    model = cr.LinearRegression(prior=cr.Normal(0, 1.0))
    np.testing.assert_allclose(left_out(clone(model).fit(X, y), X, y), refitted(model, X, y), atol=1e-4)


@pytest.mark.parametrize(("n", "p"), [(30, 3), (12, 20)])
def test_learned_prior_scale(n, p):
    """The default's units are those of all rows: standardising without row i moves its score by O(1/n)."""
    X, y = table(n, p)
    model = cr.LinearRegression()
    scores, brute = left_out(clone(model).fit(X, y), X, y), refitted(model, X, y)
    assert abs(scores.mean() - brute.mean()) < 1.0 / n


def test_several_targets_and_feature_maps():
    X, y = table(20, 2)
    Y = np.column_stack([y, 1.0 - y**2])
    model = cr.LinearRegression(prior=cr.Flat())
    np.testing.assert_allclose(left_out(clone(model).fit(X, Y), X, Y), refitted(model, X, Y), rtol=1e-9)
    mapped = FeaturedModel(Quadratic(), model).fit(X, y)
    inner = left_out(mapped.estimator_, mapped.features_.transform(X), y)
    assert np.array_equal(left_out(mapped, X, y), inner)


def test_weight_zero_is_prediction():
    X, y = table(20, 2)
    weights = np.ones(20)
    weights[3] = 0.0
    model = cr.LinearRegression(prior=cr.Flat()).fit(X, y, weights)
    score = left_out(model, X, y, weights)[3]
    assert np.isclose(score, model.predict_distribution(X[[3]]).log_prob(y[[3]])[0], rtol=1e-12)


def test_leverage_one_is_refused():
    X, y = np.array([[1.0], [0.0], [0.0], [0.0]]), np.array([1.0, 2.0, 3.0, 5.0])
    model = cr.LinearRegression(prior=cr.Flat()).fit(X, y)
    with pytest.raises(NumericalError, match="leverage"):
        linear_leave_one_out(model.posterior_.belief, X, y)


@pytest.mark.parametrize("k", [2, 3])
def test_classes(k):
    """The Normal's mean score is within a tenth of its standard error of refitting."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(150, 2))
    y = np.argmax(X @ rng.normal(size=(2, k)) + rng.gumbel(size=(150, k)), axis=1)
    model = cr.LogisticRegression(prior=cr.Normal(0, 1.0), inference="laplace")
    scores = left_out(clone(model).fit(X, y), X, y)
    chosen = rng.choice(150, 20, replace=False)
    brute = np.empty(20)
    for j, i in enumerate(chosen):
        rest = np.arange(150) != i
        brute[j] = clone(model).fit(X[rest], y[rest]).predict_distribution(X[[i]]).log_prob(y[[i]])[0]
    assert abs(scores[chosen].mean() - brute.mean()) < 0.1 * brute.std() / np.sqrt(20)
    assert np.abs(scores[chosen] - brute).max() < 0.05


def test_uncertain_classes_are_weighed():
    """Twelve separated rows: the closed form is refused, and weights say where they fail."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 3))
    y = (X[:, 0] > 0).astype(int)
    model = cr.LogisticRegression(prior=cr.Normal(0, 2.5), inference="laplace").fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = leave_one_out(model, X, y)
        brute = refitted(cr.LogisticRegression(prior=cr.Normal(0, 2.5), inference="laplace"), X, y)
    assert found.method == "psis"
    good = found.k_hat < 0.5
    assert good.sum() >= 6
    assert np.abs(found.pointwise - brute)[good].max() < 0.05
    with pytest.raises(UnavailableError, match="point"):
        leave_one_out(cr.LogisticRegression(prior=cr.Normal(0, 2.5), inference="map").fit(X, y), X, y)
