"""Comparison: the numbers are those of doing it by hand, failures are reported, the table reads."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression as PointLogistic
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import credo as cr
from credo.diagnostics import score_differences
from credo.errors import DataError, DataWarning, ModelWarning, ParameterError
from credo.models.baseline import InterceptOnlyClassifier, InterceptOnlyRegressor
from credo.models.featured import FeaturedModel, Quadratic
from credo.selection import Comparison, OutcomeShape, average, candidates, compare, make_splits
from credo.selection.held_out import held_out_predictives
from credo.selection.paired import mean_and_error

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 3))
Y = X[:, 0] + 0.6 * X[:, 1] ** 2 + 0.5 * rng.normal(size=90)
LABELS = np.where(Y + 0.5 * rng.normal(size=90) > 0.5, "high", "low")
REGRESSORS = {
    "baseline": InterceptOnlyRegressor(),
    "line": cr.LinearRegression(),
    "curve": FeaturedModel(Quadratic(), cr.LinearRegression()),
}
LOGISTIC = cr.LogisticRegression(prior=cr.Normal(0, 1.0))


def test_leave_one_out_by_default_and_the_right_choice():
    comparison = compare(REGRESSORS, X, Y)
    assert comparison.scheme == "exact leave-one-out"
    assert comparison.best == comparison.chosen == "curve"
    assert [row.name for row in comparison.rows] == ["curve", "line", "baseline"]
    d = score_differences(comparison.pointwise["line"], comparison.pointwise["curve"])
    assert np.isclose(comparison["line"].difference, d.difference)
    assert np.isclose(comparison["line"].difference_error, d.standard_error)
    assert comparison["curve"].log_evidence == comparison.fitted["curve"].log_evidence_
    assert comparison["line"].complexity == 4


@pytest.mark.parametrize("weights", [None, rng.integers(0, 3, 90).astype(float)])
@pytest.mark.parametrize("model", [cr.LinearRegression(), cr.LinearRegression(noise=cr.noise.Normal(0.5))])
def test_folds_from_statistics_are_refits(model, weights):
    """A linear regression finished from the statistics of the other folds is one fitted to their rows."""
    splits = make_splits(90, 5, np.random.default_rng(0))
    fitted = clone(model).fit(X, Y, weights)
    for (train, test), (rows, predictive) in zip(splits, held_out_predictives(fitted, X, Y, weights, splits)):
        by_hand = clone(model).fit(X[train], Y[train], None if weights is None else weights[train])
        assert np.array_equal(rows, test)
        np.testing.assert_allclose(
            predictive.log_prob(Y[test]), by_hand.predict_distribution(X[test]).log_prob(Y[test]), rtol=1e-9
        )
    assert fitted.statistics_.n_rows == 90  # the fit to all rows is left alone


def test_folds_of_other_models_by_hand():
    comparison = compare({"logistic": LOGISTIC, "baseline": InterceptOnlyClassifier()}, X, LABELS, cv=3)
    splits = make_splits(90, 3, np.random.default_rng(0), classes=LABELS)
    for train, test in splits:
        by_hand = clone(LOGISTIC).fit(X[train], LABELS[train]).predict_distribution(X[test]).log_prob(LABELS[test])
        np.testing.assert_allclose(comparison.pointwise["logistic"][test], by_hand)


def test_groups_and_time_are_the_units_of_the_error():
    groups = np.repeat(np.arange(9), 10)
    comparison = compare(REGRESSORS, X, Y, groups=groups, cv=3)
    d = score_differences(comparison.pointwise["line"], comparison.pointwise["curve"], groups)
    assert np.isclose(comparison["line"].difference_error, d.standard_error)
    timed = compare(REGRESSORS, X, Y, time=np.arange(90), cv=5)
    assert timed.n_scored == 75
    assert np.isnan(timed.pointwise["line"][:15]).all()
    d = score_differences(timed.pointwise["line"][15:], timed.pointwise["curve"][15:], np.repeat(np.arange(5), 15))
    assert np.isclose(timed["line"].difference_error, d.standard_error)
    assert json.loads(timed.to_json())["n_scored"] == 75


def test_weights_count_rows():
    weights = rng.integers(1, 4, 90)
    scores = rng.normal(size=90)
    weighted, repeated = mean_and_error(scores, weights), mean_and_error(np.repeat(scores, weights))
    np.testing.assert_allclose(weighted, repeated)
    units = np.repeat(np.arange(9), 10)
    expected = score_differences(scores, np.zeros(90), units)
    np.testing.assert_allclose(mean_and_error(scores, None, units), (expected.difference, expected.standard_error))
    assert mean_and_error([1.0])[1] == np.inf
    assert compare(REGRESSORS, X, Y, sample_weight=weights).n_scored == 90


def test_further_scores():
    known = {
        "line": cr.LinearRegression(prior=cr.Flat(), noise=cr.noise.Normal(0.5)),
        "baseline": InterceptOnlyRegressor(),
    }
    comparison = compare(known, X, Y, scores=("log", "crps"))
    assert comparison.scheme == "5 shuffled folds"
    mean, error = comparison["line"].other_scores["crps"]
    assert mean < 0 < error
    by_brier = compare({"logistic": LOGISTIC, "baseline": InterceptOnlyClassifier()}, X, LABELS, scores="brier")
    assert by_brier.best == "logistic"
    assert by_brier.rows[0].score < 0


def test_failures_are_reasons():
    models = {
        "line": cr.LinearRegression(),
        "forest": RandomForestRegressor(n_estimators=2, random_state=0),
        "flat": cr.LinearRegression(prior=cr.Flat(), noise=cr.noise.Normal(np.ones(3))),
    }
    comparison = compare(models, X, Y)
    assert list(comparison.fitted) == ["line"]
    assert "predict_distribution" in comparison.failed["forest"]
    assert "noise.scale" in comparison.failed["flat"]
    assert "Failed: forest" in str(comparison)
    with pytest.raises(ParameterError, match="predict_distribution"):
        compare({"forest": models["forest"]}, X, Y)


def test_pipelines_and_other_peoples_classifiers():
    models = {"pipeline": make_pipeline(StandardScaler(), LOGISTIC), "point": PointLogistic()}
    comparison = compare(models, X, LABELS)
    assert comparison.scheme == "5 shuffled folds"
    assert set(comparison.fitted) == {"pipeline", "point"}
    assert comparison["point"].log_evidence is None
    assert compare([LOGISTIC, LOGISTIC], X, LABELS).fitted.keys() == {"LogisticRegression1", "LogisticRegression2"}


def test_data_frames():
    assert compare(REGRESSORS, X, Y[:, None]).rows[0].score == compare(REGRESSORS, X, Y).rows[0].score
    columns = pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]})
    by_polars = compare({"logistic": LOGISTIC}, columns, pl.Series(LABELS), cv=3)
    by_numpy = compare({"logistic": LOGISTIC}, X, LABELS, cv=3)
    np.testing.assert_allclose(by_polars.pointwise["logistic"], by_numpy.pointwise["logistic"], rtol=1e-9)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    assert compare(REGRESSORS, frame, pd.Series(Y)).best == "curve"
    assert compare({"logistic": LOGISTIC}, frame, pd.Series(LABELS), cv=3).n_scored == 90


def test_a_class_of_one_row_is_not_scored():
    labels = np.array(["a"] * 40 + ["b"] * 49 + ["only"])
    with pytest.warns(DataWarning, match="1 rows could not be scored"):
        comparison = compare({"baseline": InterceptOnlyClassifier(), "logistic": LOGISTIC}, X, labels, cv=3)
    assert comparison.n_scored == 89
    with pytest.warns(DataWarning, match="1 rows could not be scored"):
        assert compare({"baseline": InterceptOnlyClassifier()}, X, labels).n_scored == 89


def test_simplest_within_one_error():
    """A column that says nothing: the line with it is not clearly better, so the one without is chosen."""
    y = 0.3 + 0.5 * np.random.default_rng(5).normal(size=90)
    comparison = compare({"line": cr.LinearRegression(), "baseline": InterceptOnlyRegressor()}, X, y)
    assert comparison.chosen == "baseline"
    assert comparison.model is comparison.fitted["baseline"]


def test_probability_zero_is_minus_infinity():
    class Certain(InterceptOnlyClassifier):
        def predict_proba(self, X):
            return np.tile([1.0, 0.0], (len(X), 1))

        predict_distribution = held_out = property()  # so that probabilities are what is read

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        comparison = compare({"certain": Certain(), "baseline": InterceptOnlyClassifier()}, X, LABELS, cv=3)
    assert comparison["certain"].score == -np.inf
    assert comparison.chosen == "baseline"
    assert json.loads(comparison.to_json(pointwise=True))["models"][1]["score"] is None


def test_prints_saves_and_repeats(tmp_path):
    found = candidates("regression", 3, 90)
    comparison = compare(found, X, Y, cv=5)
    again = compare(found, X, Y, cv=5)
    assert all(np.array_equal(comparison.pointwise[name], again.pointwise[name]) for name in found)
    text = str(comparison)
    assert "vs best" in text
    assert "Held out: 5 shuffled folds (90 rows)." in text
    cr.save(comparison, tmp_path / "c.credo")
    loaded = cr.load(tmp_path / "c.credo")
    assert isinstance(loaded, Comparison)
    assert str(loaded) == text


def test_candidates():
    assert list(candidates("classification", 4)) == [
        "baseline", "logistic", "naive_bayes", "squares", "interactions", "process",
    ]  # fmt: skip
    measured = OutcomeShape.of([0, 1, 0, 1], np.arange(8.0).reshape(4, 2))
    assert {"lda", "qda"} < set(candidates("classification", 2, outcome=measured))
    large = candidates("regression", 2000, 100_000)
    assert "baseline" in large
    assert "memory" in large.skipped["interactions"] or "GB" in large.skipped["interactions"]
    assert set(large) | set(large.skipped) == {"baseline", "linear", "squares", "interactions", "process"}
    skipped = compare(candidates("regression", 3, 90, seconds=1e-6), X, Y)
    assert "interactions" in skipped.skipped
    assert "Not tried: interactions" in str(skipped)
    for bad in (("clustering", 3, None), ("regression", 0, None), ("regression", 3, 0), ("regression", 2.5, None)):
        with pytest.raises(ParameterError):
            candidates(*bad)


def test_errors():
    with pytest.raises(ParameterError, match="models"):
        compare({}, X, Y)
    with pytest.raises(ParameterError, match="models"):
        compare(cr.LinearRegression(), X, Y)
    with pytest.raises(DataError, match="shapes"):
        compare(REGRESSORS, X, Y[:5])
    with pytest.raises(DataError, match="sparse"):
        compare(REGRESSORS, csr_matrix(X), Y)
    with pytest.raises(DataError, match="missing"):
        compare(REGRESSORS, X, Y, groups=np.array(["a", None] * 45, dtype=object))
    with pytest.raises(ParameterError, match="all regressors or all classifiers"):
        compare({"line": cr.LinearRegression(), "logistic": LOGISTIC}, X, Y)
    with pytest.raises(ParameterError, match="scores"):
        compare(REGRESSORS, X, Y, scores=("r2",))
    with pytest.raises(ParameterError, match="cv"):
        compare(REGRESSORS, X, Y, cv="many")
    with pytest.raises(ParameterError, match="cv"):
        compare(REGRESSORS, X, Y, cv="loo", groups=np.arange(90))
    with pytest.raises(ParameterError, match="sample_weight"):
        compare(REGRESSORS, X, Y, sample_weight=np.zeros(90))
    with pytest.raises(ParameterError, match="one of"):
        compare(REGRESSORS, X, Y)["nobody"]


def test_the_chosen_candidate_is_certified():
    """Fourteen rows, separable: no Gaussian will do, and what is kept is sampled; its evidence is still known."""
    few = np.random.default_rng(0).normal(size=(14, 2))
    labels = (few[:, 0] > 0).astype(int)
    found = candidates("classification", 2, 14)
    for name in ("squares", "interactions"):
        del found[name]
    comparison = compare(found, few, labels)
    assert comparison.chosen == "logistic"
    assert comparison.model.result_.inference in ("hmc", "nuts")
    assert comparison.model.result_.ok
    assert any("Pareto" in note for note in comparison["logistic"].notes)
    assert np.isfinite(comparison["logistic"].log_evidence)
    with pytest.warns(ModelWarning) as said:
        assert average(comparison).weights_["logistic"] > 0.5
    assert any("naive_bayes computes no evidence" in str(warning.message) for warning in said)


def test_models_given_columns_of_their_own(tmp_path):
    """Each model sees its columns alone, in the comparison, in the average and from a file; a frame's by name."""
    models = {"first": cr.LinearRegression(), "all": cr.LinearRegression(), "last": cr.LinearRegression()}
    given = {"first": [0], "last": slice(2, 3)}
    found = compare(models, X, Y, columns=given)
    alone = compare({"first": cr.LinearRegression()}, X[:, :1], Y)
    assert np.allclose(found.pointwise["first"], alone.pointwise["first"], rtol=0.0, atol=1e-9)
    assert found.fitted["last"].coef_.shape == (1,)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    named = compare(models, frame, Y, columns={"first": ["a"], "last": ["c"]})
    assert np.allclose(named.pointwise["last"], found.pointwise["last"])
    both = average(compare(models, X, Y, columns={"first": [0]}), by="stacking")
    again = average(models, X, Y, by="stacking", columns={"first": [0]})
    assert both.weights_ == pytest.approx(again.weights_)
    cr.save(both, tmp_path / "a.credo")
    assert np.array_equal(cr.load(tmp_path / "a.credo").predict(X), both.predict(X))
    with pytest.raises(ParameterError, match="columns"):
        compare(models, X, Y, columns={"nobody": [0]})
