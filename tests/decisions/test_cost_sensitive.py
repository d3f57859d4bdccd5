"""CostSensitive: scikit-learn's contract, decisions from its probabilities, calibration that helps."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from credo.decisions import losses
from credo.decisions.cost_sensitive import CostSensitive
from credo.diagnostics import brier
from credo.errors import ParameterError


# Both come from inside scikit-learn: a class of weight 0 in GaussianNB, NaN labels in its type check.
@pytest.mark.filterwarnings("ignore:divide by zero encountered in log:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
@parametrize_with_checks(
    [
        CostSensitive(LogisticRegression()),
        CostSensitive(GaussianNB(), losses.ZeroOne()),
        CostSensitive(LogisticRegression(), calibration="sigmoid", cv=2),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def data(seed=0, n=600, classes=2):
    return make_classification(
        n, 12, n_informative=4, n_redundant=6, n_classes=classes, n_clusters_per_class=1, random_state=seed
    )


COSTS = losses.CostMatrix([[0, 20], [1, 0]], states=[0, 1])


def test_predict_minimises_the_expected_cost():
    X, y = data()
    model = CostSensitive(GaussianNB(), COSTS).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_array_equal(p, GaussianNB().fit(X, y).predict_proba(X))
    np.testing.assert_array_equal(model.predict(X), (p[:, 1] * 20 > p[:, 0]).astype(int))
    price = np.where(y == 1, 20, 1)
    cost = np.mean(price * (model.predict(X) != y))
    assert model.score(X, y) == pytest.approx(-cost)
    assert cost < np.mean(price * (GaussianNB().fit(X, y).predict(X) != y))


@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature"])
@pytest.mark.parametrize("classes", [2, 3])
def test_calibration_improves_naive_bayes_on_redundant_columns(method, classes):
    X, y = data(classes=classes, n=2000)
    train, test = slice(0, 1000), slice(1000, None)
    raw = CostSensitive(GaussianNB()).fit(X[train], y[train]).predict_distribution(X[test])
    model = CostSensitive(GaussianNB(), calibration=method).fit(X[train], y[train])
    p = model.predict_distribution(X[test])
    assert p.inference == "map"
    np.testing.assert_allclose(p.probabilities.sum(axis=1), 1.0)
    assert brier(p, y[test]).score < brier(raw, y[test]).score


def test_a_margin_classifier_needs_calibration():
    X, y = data()
    with pytest.raises(ParameterError, match="calibration='sigmoid'"):
        CostSensitive(LinearSVC()).fit(X, y).predict(X)
    actions = CostSensitive(LinearSVC(), losses.Reject(0.1), calibration="sigmoid").fit(X, y).predict(X)
    assert set(actions.tolist()) == {0, 1, None}


def test_actions_need_not_be_classes_and_search_minimises_cost():
    X, y = data()
    y = np.array(["healthy", "ill"])[y]
    loss = losses.CostMatrix([[0, 50], [1, 1]], actions=["wait", "test"])
    model = CostSensitive(LogisticRegression(max_iter=500), loss)
    assert set(model.fit(X, y).predict(X).tolist()) <= {"wait", "test"}
    search = GridSearchCV(model, {"estimator__C": [1e-4, 1.0]}, cv=3).fit(X, y)
    assert np.all(search.cv_results_["mean_test_score"] <= 0)


def test_plain_functions_and_weights():
    X, y = data()
    model = CostSensitive(GaussianNB(), lambda a, y: 0 if a == y else (20 if y == 1 else 1))
    w = np.where(y == 1, 2.0, 1.0)
    fitted = clone(model).fit(X, y, sample_weight=w)
    np.testing.assert_array_equal(fitted.predict_proba(X), GaussianNB().fit(X, y, w).predict_proba(X))
    np.testing.assert_array_equal(model.fit(X, y).predict(X), CostSensitive(GaussianNB(), COSTS).fit(X, y).predict(X))


def test_bad_parameters_are_named():
    X, y = data()
    with pytest.raises(ParameterError, match=r"CostSensitive\.calibration"):
        CostSensitive(GaussianNB(), calibration="platt").fit(X, y)
    with pytest.raises(ParameterError, match="loss"):
        CostSensitive(GaussianNB(), "zero_one").fit(X, y)
