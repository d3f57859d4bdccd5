"""Averaging: weights by enumeration, predictives that mix, evidences that must not be compared, the bar on held-out
rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.utils.estimator_checks import parametrize_with_checks

import credo as cr
from credo.errors import DataError, ModelWarning, ParameterError, UnavailableError
from credo.models.baseline import InterceptOnlyClassifier, InterceptOnlyRegressor
from credo.models.featured import FeaturedModel, Quadratic
from credo.selection import ModelAverage, average, compare, make_splits
from credo.selection.paired import mean_and_error

LINES = {"line": cr.LinearRegression(), "baseline": InterceptOnlyRegressor()}
CLASSES = {
    "logistic": cr.LogisticRegression(prior=cr.Normal(0, 1.0), inference="laplace"),
    "baseline": InterceptOnlyClassifier(),
}


@parametrize_with_checks([ModelAverage(LINES), ModelAverage(LINES, by="stacking", cv=2)])
def test_scikit_learn_contract(estimator, check):
    # Folds are drawn over rows: a row of weight two is held out whole, two rows need not be. That weights count rows
    # once the folds are drawn is test_stacking.test_counts_are_repeated_rows.
    if estimator.by == "stacking" and "sample_weight_equivalence" in str(check):
        return
    check(estimator)


rng = np.random.default_rng(0)
X = rng.normal(size=(30, 2))
Y = 0.4 * X[:, 0] + rng.normal(size=30)
LABELS = np.where(Y > 0, "up", "down")


def test_evidence_weights_are_bayes_rule():
    fitted = {name: model.fit(X, Y) for name, model in LINES.items()}
    joint = np.exp([fitted["line"].log_evidence_ + 100, fitted["baseline"].log_evidence_ + 100]) * [0.2, 0.8]
    both = average(fitted, prior={"line": 1, "baseline": 4})
    np.testing.assert_allclose(list(both.weights_.values()), joint / joint.sum(), rtol=1e-10)
    again = average(LINES, X, Y, prior={"line": 1, "baseline": 4})
    np.testing.assert_allclose(list(again.weights_.values()), joint / joint.sum(), rtol=1e-10)


def test_evidence_is_that_of_the_joint_density():
    """Two known-noise lines: P(D | h) is a multivariate Normal density; posterior weights by the definition."""
    models = {
        s: cr.LinearRegression(
            prior=cr.Normal(0, s), prior_intercept=cr.Normal(0, 1.0), noise=cr.noise.Normal(1.0)
        ).fit(X, Y)
        for s in (0.1, 1.0)
    }
    from scipy.stats import multivariate_normal

    joint = [multivariate_normal(np.zeros(30), np.eye(30) + 1.0 + s**2 * X @ X.T).pdf(Y) for s in models]
    weights = average({str(s): model for s, model in models.items()}).weights_
    np.testing.assert_allclose(list(weights.values()), np.array(joint) / sum(joint), rtol=1e-9)


def test_predictive_mixes():
    both = average(LINES, X, Y, by="stacking")
    p = both.predict_distribution(X)
    mean = sum(both.weights_[name] * both.estimators_[name].predict(X) for name in LINES if both.weights_[name])
    np.testing.assert_allclose(p.mean, mean)
    np.testing.assert_allclose(p.variance, p.aleatoric + p.epistemic)
    assert np.array_equal(both.predict(X), p.mean)
    assert both.result_.certificate["gap"] <= 1e-8
    classes = average(CLASSES, X, LABELS, by="stacking")
    table = classes.predict_proba(X)
    assert np.allclose(table.sum(axis=1), 1.0)
    assert classes.classes_.tolist() == ["down", "up"]
    assert set(classes.predict(X)) <= {"down", "up"}
    assert 0.5 < classes.score(X, LABELS) <= 1.0
    assert not hasattr(both, "predict_proba")


def test_from_a_comparison_nothing_is_fitted_again():
    comparison = compare(LINES, X, Y)
    stacked = average(comparison, by="stacking")
    assert stacked.estimators_["line"] is comparison.fitted["line"]
    assert stacked.weights_ == average(LINES, X, Y, by="stacking").weights_
    assert average(comparison).weights_ == average(LINES, X, Y).weights_


def test_groups_and_time_reach_the_folds():
    both = average(LINES, X, Y, by="stacking", groups=np.repeat(np.arange(6), 5))
    assert np.isclose(sum(both.weights_.values()), 1.0)
    assert np.isclose(sum(average(LINES, X, Y, by="stacking", time=np.arange(30)).weights_.values()), 1.0)


def test_round_trip(tmp_path):
    both = average(LINES, X, Y, by="stacking")
    cr.save(both, tmp_path / "a.credo")
    assert np.array_equal(cr.load(tmp_path / "a.credo").predict(X), both.predict(X))


def test_evidences_that_cannot_be_compared():
    with pytest.raises(UnavailableError, match=r"flat.*stacking"):
        average({"line": cr.LinearRegression(), "flat": cr.LinearRegression(prior=cr.Flat())}, X, Y)
    with pytest.raises(UnavailableError, match="point"):
        average({**CLASSES, "point": cr.LogisticRegression(inference="map")}, X, LABELS)
    with pytest.raises(DataError, match="noise"):
        average({**LINES, "known": cr.LinearRegression(noise=cr.noise.Normal(1.0))}, X, Y)
    with pytest.raises(DataError, match="different scales"):
        average({**CLASSES, "proper": InterceptOnlyClassifier(concentration=1.0)}, X, LABELS)
    with pytest.raises(DataError, match="different outcomes"):
        average({"one": cr.LinearRegression().fit(X, Y), "two": cr.LinearRegression().fit(X, Y + 1)})
    mapped = FeaturedModel(Quadratic(), cr.LinearRegression()).fit(X[:20], Y[:20])
    with pytest.raises(DataError, match="different outcomes"):
        average({"one": cr.LinearRegression().fit(X, Y), "two": mapped})
    with pytest.warns(ModelWarning, match="maximised"):
        average({"line": cr.LinearRegression(), "maximum": cr.LinearRegression(inference="evidence")}, X, Y)
    average({"line": cr.LinearRegression(), "flat": cr.LinearRegression(prior=cr.Flat())}, X, Y, by="stacking")


def test_errors():
    with pytest.raises(ParameterError, match="by"):
        average(LINES, X, Y, by="vote")
    with pytest.raises(ParameterError, match=r"average\.X"):
        average({name: model.fit(X, Y) for name, model in LINES.items()}, by="stacking")
    with pytest.raises(ParameterError, match=r"average\.y"):
        average(LINES, X)
    with pytest.raises(ParameterError, match="prior"):
        average(LINES, X, Y, prior={"line": 1.0})
    with pytest.raises(ParameterError, match="prior"):
        average(LINES, X, Y, prior=[1.0, 1.0])
    with pytest.raises(ValueError, match="NaN"):
        average(LINES, X, np.where(Y > 1, np.nan, Y))


def held_out(models, X, y, classes, k=3):
    """Log scores of the best by comparison and the two averages on k outer folds, and the folds."""
    scores, folds = {"best": [], "stacking": [], "evidence": []}, []
    for fold, (train, test) in enumerate(make_splits(len(y), k, np.random.default_rng(0), classes=classes)):
        comparison = compare(models, X[train], y[train], cv="auto" if classes is None else 3)
        for name, model in (
            ("best", comparison.fitted[comparison.best]),
            ("stacking", average(comparison, by="stacking")),
            ("evidence", average(comparison)),
        ):
            scores[name].append(model.predict_distribution(X[test]).log_prob(y[test]))
        folds.append(np.full(test.size, fold))
    return {name: np.concatenate(parts) for name, parts in scores.items()}, np.concatenate(folds)


@pytest.mark.filterwarnings(
    "ignore:compare. Residuals:credo.errors.ModelWarning"
)  # WDBC's rows are in an order of their own
@pytest.mark.parametrize("name", ["diabetes", "wine", "breast_cancer"])
def test_averages_match_the_best_single_model(name):
    """On held-out rows, within one standard error of the paired difference; `make reference` has ten tables."""
    X, y = {"diabetes": load_diabetes, "wine": load_wine, "breast_cancer": load_breast_cancer}[name](return_X_y=True)
    if name == "diabetes":
        quadratic = FeaturedModel(Quadratic(), cr.LinearRegression(prior=cr.Normal(0, None)))
        models = {"baseline": InterceptOnlyRegressor(), "linear": cr.LinearRegression(), "squares": quadratic}
        scores, folds = held_out(models, X, y, None)
    else:
        X = X[:, :4]
        models = {
            "baseline": InterceptOnlyClassifier(),
            "squares": FeaturedModel(Quadratic(), cr.LogisticRegression(prior=cr.Normal(0, 1.0), inference="laplace")),
        }
        models["linear"] = cr.LogisticRegression(inference="laplace")
        scores, folds = held_out(models, X, y, y)
    for each in ("stacking", "evidence"):
        mean, error = mean_and_error(scores[each] - scores["best"], units=folds)
        # A thousandth of a nat a row is a match; and if a single fold differs, the mean is minus its error exactly.
        assert mean >= -max(error, 1e-3) - 1e-12, (each, mean, error)
