"""The intercept-only models: contract, known answers, evidence on the scale of the models they are compared with."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats
from sklearn.utils.estimator_checks import parametrize_with_checks

import credo as cr
from credo.errors import DataError, NotIdentifiedError, ParameterError
from credo.models.baseline import InterceptOnlyClassifier, InterceptOnlyRegressor


@parametrize_with_checks(
    [InterceptOnlyRegressor(), InterceptOnlyClassifier(), InterceptOnlyClassifier(concentration=0.5)]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


Y = np.array([3.1, -0.4, 2.2, 5.9, 1.0, 0.3])
X = np.arange(12.0).reshape(6, 2)


def test_predictive_is_the_t_of_the_textbook():
    p = InterceptOnlyRegressor().fit(X, Y).predict_distribution(X[:2])
    expected = stats.t(5, Y.mean(), Y.std(ddof=1) * np.sqrt(7 / 6))
    np.testing.assert_allclose(p.cdf(np.array([0.0, 4.0])), expected.cdf([0.0, 4.0]), rtol=1e-12)


def test_evidence_is_the_integral_over_mean_and_sd():
    mean, log_sd = np.linspace(-60.0, 63.0, 801)[:, None, None], np.linspace(-2.5, 6.0, 301)[:, None]
    log_density = stats.norm(mean, np.exp(log_sd)).logpdf(Y).sum(axis=2) + np.log(2.0)  # dσ²/σ² = 2 d log σ
    value = integrate.trapezoid(integrate.trapezoid(np.exp(log_density), log_sd[:, 0], axis=1), mean[:, 0, 0])
    assert np.isclose(InterceptOnlyRegressor().fit(X, Y).log_evidence_, np.log(value), atol=1e-4)


def test_evidence_is_on_the_scale_of_linear_regression():
    """A column that says nothing costs some evidence, and not an arbitrary constant: a prior of sd → 0 is no column."""
    tiny = cr.LinearRegression(prior=cr.NormalInverseGamma(0.0, 1e-16, 1e-9, 1e-9))
    proper = tiny.fit(X[:, :1], Y).log_evidence_
    constant = 1e-9 * np.log(1e-9) - 20.72326583637  # log bᵃ/Γ(a) of the nearly improper noise prior
    assert np.isclose(proper - constant, InterceptOnlyRegressor().fit(X, Y).log_evidence_, atol=1e-5)


@pytest.mark.parametrize("weights", [None, np.array([1.0, 2.0, 1.0, 0.0, 3.0, 1.0])])
def test_leave_one_out_is_refitting(weights):
    model = InterceptOnlyRegressor().fit(X, Y, weights)
    scores = model.leave_one_out(X, Y, weights).pointwise
    for i in range(6):
        rest = np.arange(6) != i
        other = InterceptOnlyRegressor().fit(X[rest], Y[rest], None if weights is None else weights[rest])
        assert np.isclose(scores[i], other.predict_distribution(X[[i]]).log_prob(Y[[i]])[0], rtol=1e-10)


def test_far_from_zero():
    model = InterceptOnlyRegressor().fit(np.zeros((3, 1)), 1e8 + np.array([-1.0, 0.0, 1.0]))
    assert model.noise_scale_ == 1.0


def test_parts_make_the_whole():
    both = InterceptOnlyRegressor().fit(X, Y)
    parts = InterceptOnlyRegressor().fit(X[:2], Y[:2]).partial_fit(X[2:], Y[2:])
    streamed = InterceptOnlyRegressor().fit(cr.blocks.ArraySource(X, Y, block_rows=2))
    for other in (parts, streamed):
        assert np.isclose(other.log_evidence_, both.log_evidence_, rtol=1e-13)
    labels = np.array(["a", "b", "b", "c", "a", "b"])
    both = InterceptOnlyClassifier().fit(X, labels)
    parts = InterceptOnlyClassifier().partial_fit(X[:1], labels[:1]).partial_fit(X[1:], labels[1:])
    streamed = InterceptOnlyClassifier().fit(cr.blocks.ArraySource(X, labels, block_rows=2))
    for other in (parts, streamed):
        assert other.classes_.tolist() == ["a", "b", "c"]
        assert other.counts_.tolist() == both.counts_.tolist()


def test_dirichlet_evidence_is_the_product_of_predictives():
    """P(labels) = Π P(label | labels before), by the urn; and two classes flat in the log-odds by quadrature."""
    labels = np.array(["a", "b", "b", "c", "a", "b"])
    model = InterceptOnlyClassifier(concentration=0.5).fit(X, labels)
    total, seen = 0.0, dict.fromkeys("abc", 0)
    for label in labels:
        total += np.log((seen[label] + 0.5) / (sum(seen.values()) + 1.5))
        seen[label] += 1
    assert np.isclose(model.log_evidence_, total, rtol=1e-12)

    def density(eta):
        return np.exp(-4 * np.logaddexp(0, -eta) - 2 * np.logaddexp(0, eta))

    flat = InterceptOnlyClassifier().fit(X, [0, 1, 1, 0, 1, 1])
    assert np.isclose(flat.log_evidence_, np.log(integrate.quad(density, -60, 60)[0]), rtol=1e-8)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_class_evidence_is_on_the_scale_of_logistic_regression(k):
    """A prior of sd → 0 on the coefficients leaves the flat intercepts; importance sampling is good to 0.02 nats."""
    labels = np.random.default_rng(0).integers(0, k, 300)
    columns = np.random.default_rng(1).normal(size=(300, 1))
    nothing = cr.LogisticRegression(prior=cr.Normal(0, 1e-6), inference="laplace").fit(columns, labels)
    assert np.isclose(nothing.log_evidence_, InterceptOnlyClassifier().fit(columns, labels).log_evidence_, atol=0.02)


def test_entropy_splits():
    p = InterceptOnlyClassifier(concentration=1.0).fit(X, [0, 1, 1, 0, 1, 1]).predict_distribution(X)
    draws = np.random.default_rng(0).beta(3.0, 5.0, 200_000)
    average = -(draws * np.log(draws) + (1 - draws) * np.log1p(-draws)).mean()
    assert np.allclose(p.aleatoric, average, atol=2e-3)  # 5 standard errors of the simulation are 1.5e-3
    assert np.all(p.epistemic > 0)


def test_class_leave_one_out():
    labels = np.array([0, 0, 1, 1, 1, 0])
    scores = InterceptOnlyClassifier(concentration=1.0).fit(X, labels).leave_one_out(X, labels).pointwise
    assert np.allclose(scores, np.log([3 / 7] * 6))


def test_round_trip(tmp_path):
    model = InterceptOnlyRegressor().fit(X, Y)
    cr.save(model, tmp_path / "model.credo")
    assert cr.load(tmp_path / "model.credo").predict(X).tolist() == model.predict(X).tolist()


def test_named_errors():
    with pytest.raises(NotIdentifiedError, match="n_samples=1"):
        InterceptOnlyRegressor().fit(X[:1], Y[:1])
    with pytest.raises(ValueError, match="NaN"):
        InterceptOnlyRegressor().fit(X[:2], [1.0, np.nan])
    with pytest.raises(DataError, match="one class"):
        InterceptOnlyClassifier().fit(X, np.zeros(6, dtype=int))
    with pytest.raises(ParameterError, match="concentration"):
        InterceptOnlyClassifier(concentration=-1.0).fit(X, [0, 1, 0, 1, 0, 1])
