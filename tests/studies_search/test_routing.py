"""Sample weights, groups and other metadata reach what asked for them, as in scikit-learn's own search."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from scipy import stats
from sklearn.datasets import load_diabetes
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import Ridge
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate

from credo.errors import ParameterError
from credo.studies.search import CredoSearchCV

X, Y = load_diabetes(return_X_y=True)
WEIGHTS = np.random.default_rng(0).gamma(0.5, size=len(Y))
GROUPS = np.arange(len(Y)) % 7
SPACE = {"alpha": stats.loguniform(1e-3, 10)}
QUICK = {"sampler": "random", "random_state": 0, "n_iter": 3}


def both(estimator, params, **options):
    ours = CredoSearchCV(estimator, SPACE, **QUICK, **options).fit(X, Y, **params)
    grid = [{name: [value] for name, value in row.items()} for row in ours.cv_results_["params"]]
    return ours, GridSearchCV(estimator, grid, **options).fit(X, Y, **params)


def assert_same(ours, theirs):
    for name, values in theirs.cv_results_.items():
        if "test_" in name:
            assert np.allclose(ours.cv_results_[name], values, rtol=1e-12), name
    assert np.allclose(ours.predict(X), theirs.predict(X), rtol=1e-12)


@pytest.mark.filterwarnings("ignore:The scoring")
def test_without_routing_weights_go_to_fit_and_groups_to_the_splitter():
    ours, theirs = both(Ridge(), {"groups": GROUPS}, cv=GroupKFold(5))
    assert_same(ours, theirs)
    ours = CredoSearchCV(Ridge(), SPACE, cv=3, **QUICK).fit(X, Y, sample_weight=WEIGHTS)
    for alpha, score in zip(ours.cv_results_["param_alpha"], ours.cv_results_["mean_test_score"]):
        by_hand = cross_validate(Ridge(alpha=alpha), X, Y, cv=3, params={"sample_weight": WEIGHTS})
        assert np.isclose(score, by_hand["test_score"].mean(), rtol=1e-12)
    refitted = Ridge(**ours.best_params_).fit(X, Y, sample_weight=WEIGHTS)
    assert np.allclose(ours.predict(X), refitted.predict(X), rtol=1e-12)
    with pytest.raises(ParameterError, match="enable_metadata_routing"):
        ours.score(X, Y, sample_weight=WEIGHTS)


def test_with_routing_each_gets_what_it_requested():
    with sklearn.config_context(enable_metadata_routing=True):
        model = Ridge().set_fit_request(sample_weight=True)
        scorer = get_scorer("neg_mean_squared_error").set_score_request(sample_weight="costs")
        params = {"sample_weight": WEIGHTS, "costs": WEIGHTS[::-1], "groups": GROUPS}
        ours, theirs = both(model, params, cv=GroupKFold(5), scoring=scorer)
        assert_same(ours, theirs)
        assert ours.score(X, Y, costs=WEIGHTS) == pytest.approx(theirs.score(X, Y, costs=WEIGHTS), rel=1e-12)
        metrics = {"a": scorer, "b": get_scorer("r2").set_score_request(sample_weight=False)}
        assert_same(*both(model, params, cv=GroupKFold(5), scoring=metrics, refit="a"))


def test_what_nobody_said_whether_they_want_is_an_error():
    with sklearn.config_context(enable_metadata_routing=True), pytest.raises(UnsetMetadataPassedError):
        CredoSearchCV(Ridge(), SPACE, cv=3, **QUICK).fit(X, Y, sample_weight=WEIGHTS)
