"""What is read off every model: evidence records, laws at draws, leave-one-out against fits without each row."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import credo as cr
from credo.errors import ConvergenceWarning, DataError, UnavailableError
from credo.models.baseline import InterceptOnlyClassifier, InterceptOnlyRegressor
from credo.models.evidence import Evidence, Outcomes
from credo.models.featured import FeaturedModel, Quadratic
from credo.models.glm import GammaRegression, NegativeBinomialRegression, OrdinalRegression, PoissonRegression
from credo.models.kernel_ridge import KernelRidge
from credo.models.reading import Readable
from credo.selection import average, make_splits

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 2))
Y = 0.8 * X[:, 0] + rng.normal(size=60)
COUNTS = rng.poisson(np.exp(0.5 + 0.4 * X[:, 0]))
LABELS = np.where(Y > 0, "up", "down")
POSITIVE = np.exp(0.5 * Y)

FITTED = {
    "linear": (cr.LinearRegression(), Y),
    "known noise": (cr.LinearRegression(prior=cr.Normal(0, 1), noise=cr.noise.Normal(1.0)), Y),
    "kernel": (KernelRidge(alpha=1.0, gamma=0.3), Y),
    "baseline": (InterceptOnlyRegressor(), Y),
    "classes": (InterceptOnlyClassifier(), LABELS),
    "logistic": (cr.LogisticRegression(), LABELS),
    "poisson": (PoissonRegression(), COUNTS),
    "negative binomial": (NegativeBinomialRegression(), COUNTS),
    "gamma": (GammaRegression(), POSITIVE),
    "ordinal": (OrdinalRegression(), np.minimum(COUNTS, 3)),
    "squares": (FeaturedModel(Quadratic(), cr.LinearRegression(prior=cr.Normal(0, None))), Y),
}


@pytest.fixture(scope="module")
def models():
    return {name: (clone(model).fit(X, y), y) for name, (model, y) in FITTED.items()}


@pytest.mark.parametrize("name", FITTED)
def test_evidence_says_of_what_it_is(models, name):
    model, y = models[name]
    record = model.evidence_
    assert record.log_value == pytest.approx(model.log_evidence_)
    y = np.asarray(y)
    digest = Outcomes.of_labels(y) if record.outcomes.labels else Outcomes.of_numbers(y)
    assert record.outcomes.agrees(digest)
    changed = y.copy()
    changed[0] = changed[1] if changed[0] != changed[1] else changed[2]
    if changed[0] != y[0]:
        other = Outcomes.of_labels(changed) if record.outcomes.labels else Outcomes.of_numbers(changed)
        assert not record.outcomes.agrees(other)
    assert record.n_parameters >= 1
    assert record.measure == ("density" if name in ("linear", "known noise", "kernel", "baseline", "gamma", "squares")
                              else "mass")  # fmt: skip


def test_evidences_of_counts_and_numbers_are_not_mixed(models):
    linear = cr.LinearRegression().fit(X, COUNTS)
    with pytest.raises(DataError, match="density and the other a mass"):
        average({"linear": linear, "poisson": models["poisson"][0]})
    weights = average({"poisson": models["poisson"][0], "negative binomial": models["negative binomial"][0]}).weights_
    assert weights["poisson"] > 0.5


def test_a_model_without_the_record_is_refused():
    class Foreign(InterceptOnlyRegressor):
        evidence_ = property()

    class Joining(InterceptOnlyRegressor):
        @property
        def evidence_(self):
            improper = frozenset({"intercept", "noise"})
            return Evidence(self.log_evidence_, Outcomes.of_statistics(self.statistics_), 1, improper)

    line = cr.LinearRegression().fit(X, Y)
    with pytest.raises(UnavailableError, match="no evidence_"):
        average({"line": line, "foreign": Foreign().fit(X, Y)})
    assert sum(average({"line": line, "joining": Joining().fit(X, Y)}).weights_.values()) == pytest.approx(1.0)
    with pytest.raises(DataError, match="different outcomes"):
        average({"line": line, "joining": Joining().fit(X, Y + 1e-3)})


def test_scale_per_row_is_of_the_same_outcomes():
    scale = np.linspace(0.5, 2.0, 60)
    models = {
        "one": cr.LinearRegression(prior=cr.Normal(0, 1), noise=cr.noise.Normal(1.0)).fit(X, Y),
        "many": cr.LinearRegression(prior=cr.Normal(0, 1), noise=cr.noise.Normal(scale)).fit(X, Y),
    }
    assert set(average(models).weights_) == {"one", "many"}


numbers = st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=20)


@settings(deadline=None, derandomize=True, max_examples=50)
@given(numbers, numbers)
def test_digests_merge(a, b):
    whole = Outcomes.of_numbers(np.array(a + b))
    merged = Outcomes.of_numbers(np.array(a)).merge(Outcomes.of_numbers(np.array(b)))
    np.testing.assert_allclose(merged.mean, whole.mean, atol=1e-9)
    np.testing.assert_allclose(merged.spread, whole.spread, atol=1e-6, rtol=1e-9)
    labels = Outcomes.of_labels(["x", "y", "x"]).merge(Outcomes.of_labels(["z", "x"]))
    assert labels == Outcomes.of_labels(["x", "x", "x", "y", "z"])


@pytest.mark.parametrize("name", ["linear", "poisson", "gamma", "logistic", "ordinal", "squares"])
def test_laws_average_to_the_predictive(models, name):
    model, _ = models[name]
    draws, p = model.law_draws(X[:5]), model.predict_distribution(X[:5])
    mean = np.tensordot(draws.weights, draws.means(), 1)
    expected = p.probabilities if draws.classes is not None else p.mean
    # 4,000 draws of the linear posterior: five standard errors of its sd, 0.13.
    np.testing.assert_allclose(mean, expected, atol=5 * 0.2 / np.sqrt(4000) if name in ("linear", "squares") else 2e-3)


@pytest.mark.parametrize("name", ["poisson", "gamma", "ordinal", "logistic"])
def test_psis_is_refitting(models, name):
    model, y = models[name]
    found = Readable.leave_one_out(model, X, y)
    assert found.method == "psis"
    rows = np.arange(0, 60, 6)
    brute = np.empty(rows.size)
    for j, i in enumerate(rows):
        rest = np.arange(60) != i
        brute[j] = clone(model).fit(X[rest], y[rest]).predict_distribution(X[[i]]).log_prob(y[[i]])[0]
    # The learned scale of the default prior takes its units from all rows: O(1/n) beside the error of the weights.
    assert np.abs(found.pointwise[rows] - brute).max() < 0.05


def test_exact_and_weighted_agree(models):
    model, y = models["linear"]
    assert np.abs(Readable.leave_one_out(model, X, y).pointwise - model.leave_one_out(X, y).pointwise).max() < 0.05
    with pytest.warns(ConvergenceWarning, match="1 of 60 rows.*: 44"):
        assert abs(model.waic(X, y).elpd - model.leave_one_out(X, y).elpd) < 0.5


def test_kernel_ridge_leaves_one_out_exactly():
    from credo.kernels import RBF

    model = KernelRidge(RBF(1.0), alpha=0.5).fit(X, Y)
    scores = model.leave_one_out(X, Y).pointwise
    for i in (0, 7, 33):
        rest = np.arange(60) != i
        other = KernelRidge(RBF(1.0), alpha=0.5).fit(X[rest], Y[rest])
        assert scores[i] == pytest.approx(other.predict_distribution(X[[i]]).log_prob(Y[[i]])[0], abs=1e-8)


def test_robust_noise_is_weighed():
    model = cr.LinearRegression(noise=cr.noise.StudentT(4)).fit(X, Y)
    found = model.leave_one_out(X, Y)
    assert found.method == "psis"
    assert found.reliable
    assert abs(found.elpd - cr.LinearRegression().fit(X, Y).leave_one_out(X, Y).elpd) < 4.0
    with pytest.raises(UnavailableError, match=r"by='stacking'|inference"):
        average({"robust": model, "line": cr.LinearRegression().fit(X, Y)})


def test_r2_of_a_line():
    many = np.random.default_rng(1).normal(size=(2000, 1))
    y = many[:, 0] + np.random.default_rng(2).normal(size=2000)
    found = cr.LinearRegression().fit(many, y).bayesian_r2(many)
    # R² = ½ with sd √(2 R² (1 − R²)²(…)/n) of about .016; five of it
    assert abs(found.mean - 0.5) < 0.08
    lower, upper = found.interval(0.9)
    assert lower < 0.5 < upper or abs(found.mean - 0.5) < 0.04


def test_points_have_nothing_to_read():
    model = PoissonRegression(inference="map").fit(X, COUNTS)
    assert model.evidence_.log_value is None
    for ask in (lambda: model.leave_one_out(X, COUNTS), lambda: model.bayesian_r2(X), lambda: model.waic(X, COUNTS)):
        with pytest.raises(UnavailableError, match="point"):
            ask()


@pytest.mark.parametrize("name", ["linear", "logistic", "squares", "poisson"])
def test_held_out_is_refitting(models, name):
    model, y = models[name]
    splits = make_splits(60, 3, np.random.default_rng(0))
    seen = np.zeros(60, dtype=bool)
    for (_, test), (rows, p) in zip(splits, model.held_out(X, np.asarray(y), None, splits), strict=True):
        assert np.array_equal(rows, test)
        assert np.all(np.isfinite(p.log_prob(np.asarray(y)[rows])))
        seen[rows] = True
    assert seen.all()


def test_ranking_is_bounded_and_leaves_the_model_alone():
    model = cr.LogisticRegression()
    assert model.for_ranking().inference == "laplace"
    assert model.inference == "auto"
    assert FeaturedModel(Quadratic(), model).for_ranking().estimator.inference == "laplace"
    assert cr.LinearRegression().for_ranking().inference == "auto"


def test_weights_that_fail_are_tempered():
    """Fourteen separated rows: a few points would carry the intervals."""
    few = np.random.default_rng(0).normal(size=(14, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = cr.LogisticRegression(prior=cr.Normal(0, 3000.0), inference="laplace").fit(few, few[:, 0] > 0)
    draws = model.posterior_.draws
    assert draws.k_hat >= 0.7
    assert 1.0 / np.sum(np.square(draws.weights)) >= 99.0
    assert "approximate" in model.result_.message
    raw = replace(draws, weights=np.array([0.9, *np.full(999, 1e-4 + 1e-6)]), points=draws.points[:1000], ess=1.2)
    found = raw.tempered(50.0)
    assert found.ess == pytest.approx(50.0, rel=1e-6)
    assert np.argmax(found.weights) == 0
    assert found.tempered(50.0 - 1e-3) is found
