"""`CredoSearchCV` against scikit-learn's own search over the same candidates."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from joblib import parallel_config
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier
from sklearn.datasets import load_diabetes, load_iris
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.metrics import make_scorer, r2_score
from sklearn.model_selection import GridSearchCV, KFold, RandomizedSearchCV, ShuffleSplit, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import credo as cr
from credo.errors import DataError, DataWarning, ParameterError
from credo.studies.search import CredoSearchCV

X, Y = load_iris(return_X_y=True)
SPACE = {"C": stats.loguniform(1e-2, 1e3), "kernel": ["rbf", "linear"]}
QUICK = {"sampler": "random", "random_state": 0, "n_iter": 4, "cv": 3}


def theirs(search, **options):
    """GridSearchCV over the candidates of a fitted search, one after another."""
    grid = [{name: [value] for name, value in params.items()} for params in search.cv_results_["params"]]
    return GridSearchCV(search.estimator, grid, **options)


def assert_same_results(ours, other):
    extra = {name for name in ours if "gap_test_" in name}
    assert set(ours) - extra == set(other)
    for name, expected in other.items():
        if name.endswith("_time"):
            continue
        if name == "params":
            assert ours[name] == expected
        elif name.startswith("param_"):
            assert np.array_equal(ours[name].mask, expected.mask)
            assert ours[name].compressed().tolist() == expected.compressed().tolist()
            assert ours[name].dtype == expected.dtype
        else:
            assert np.array_equal(ours[name], expected, equal_nan=True), name


@pytest.mark.parametrize("train", [False, True])
def test_results_are_scikit_learns(train):
    search = CredoSearchCV(SVC(), SPACE, return_train_score=train, **QUICK).fit(X, Y)
    other = theirs(search, cv=3, return_train_score=train).fit(X, Y)
    assert_same_results(search.cv_results_, other.cv_results_)
    for name in ("best_index_", "best_params_", "best_score_", "n_splits_", "multimetric_", "n_features_in_"):
        assert getattr(search, name) == getattr(other, name), name
    assert np.array_equal(search.predict(X), other.predict(X))
    assert search.score(X, Y) == other.score(X, Y)
    assert np.array_equal(search.classes_, other.classes_)
    assert is_classifier(search)
    assert not hasattr(search, "predict_proba")
    assert hasattr(search, "decision_function")


def several(estimator, X, y):
    return {"accuracy": estimator.score(X, y), "size": float(len(y))}


@pytest.mark.parametrize(
    ("scoring", "refit"),
    [
        (["accuracy", "f1_macro"], "f1_macro"),
        ({"a": "accuracy", "b": make_scorer(r2_score)}, "b"),
        (["accuracy", "f1_macro"], False),
        (["accuracy", "f1_macro"], lambda results: 2),
        (several, "accuracy"),
        ("f1_macro", True),
        (None, lambda results: 1),
    ],
)
def test_metrics_and_refit_are_scikit_learns(scoring, refit):
    search = CredoSearchCV(SVC(), SPACE, scoring=scoring, refit=refit, **QUICK).fit(X, Y)
    other = theirs(search, cv=3, scoring=scoring, refit=refit).fit(X, Y)
    assert_same_results(search.cv_results_, other.cv_results_)
    for name in ("best_index_", "best_params_", "best_score_", "best_estimator_", "multimetric_"):
        assert hasattr(search, name) == hasattr(other, name), name
    for name in ("best_index_", "best_params_"):
        assert getattr(search, name, None) == getattr(other, name, None)
    if isinstance(refit, str):
        assert search.score(X, Y) == other.score(X, Y)


def test_the_first_metric_is_maximised_where_refit_names_none():
    search = CredoSearchCV(SVC(), SPACE, scoring=["f1_macro", "accuracy"], refit=False, **QUICK).fit(X, Y)
    told = [trial.value for trial in search.study_.records]
    assert told == search.cv_results_["mean_test_f1_macro"].tolist()


def test_pipelines_steps_and_alternatives():
    model = Pipeline([("scale", StandardScaler()), ("clf", SVC())])
    space = [
        {"clf": [SVC()], "clf__C": stats.loguniform(0.1, 10), "scale": ["passthrough", StandardScaler()]},
        {"clf": [KNeighborsClassifier()], "clf__n_neighbors": stats.randint(1, 9)},
    ]
    search = CredoSearchCV(model, space, **QUICK | {"n_iter": 8}).fit(X, Y)
    for i, params in enumerate(search.cv_results_["params"]):
        by_hand = cross_val_score(clone(model).set_params(**clone(params, safe=False)), X, Y, cv=3)
        assert np.isclose(search.cv_results_["mean_test_score"][i], by_hand.mean(), rtol=1e-12)
        assert ("clf__C" in params) != ("clf__n_neighbors" in params)
    assert search.cv_results_["param_clf__C"].mask.sum() == sum("clf__C" not in p for p in search.cv_results_["params"])
    assert not hasattr(space[0]["clf"][0], "classes_"), "the user's own objects stay as they were"


def test_a_space_with_conditions():
    space = cr.Space(kernel=cr.Choice(["rbf", "poly"]), degree=cr.Integer(2, 4, when={"kernel": "poly"}))
    search = CredoSearchCV(SVC(), space, **QUICK | {"n_iter": 4}).fit(X, Y)
    assert_same_results(search.cv_results_, theirs(search, cv=3).fit(X, Y).cv_results_)


def test_without_y_and_with_what_an_estimator_transforms():
    search = CredoSearchCV(PCA(), {"n_components": [1, 2, 3]}, **QUICK | {"n_iter": 3}).fit(X)
    assert search.best_params_ == {"n_components": 3}
    assert search.transform(X).shape == (150, 3)
    assert np.allclose(search.inverse_transform(search.transform(X)), X, atol=0.5)
    assert search.score_samples(X).shape == (150,)


def test_a_credo_model_keeps_its_distribution():
    rows, y = load_diabetes(return_X_y=True)
    model = cr.LinearRegression(prior=cr.Normal(0, 1.0))
    search = CredoSearchCV(model, {"prior": [cr.Normal(0, 0.1), cr.Normal(0, 1e4)]}, **QUICK | {"n_iter": 2})
    assert search.fit(rows, y).predict_distribution(rows[:3]).mean.shape == (3,)


def test_candidates_share_folds_that_are_drawn_anew_by_each_search():
    rows, y = load_diabetes(return_X_y=True)
    search = CredoSearchCV(Ridge(), {"fit_intercept": [True], "alpha": [1.0, 1.0 + 1e-12]}, sampler="random", n_iter=2,
                           cv=ShuffleSplit(3), random_state=0).fit(rows, y)  # fmt: skip
    scores = search.cv_results_
    assert all(abs(scores[f"split{k}_test_score"][0] - scores[f"split{k}_test_score"][1]) < 1e-9 for k in range(3))


def test_gaps_are_paired_differences_with_their_error():
    search = CredoSearchCV(SVC(), SPACE, **QUICK).fit(X, Y)
    table, best = search.cv_results_, search.best_index_
    scores = np.column_stack([table[f"split{k}_test_score"] for k in range(3)])
    for i in range(4):
        d = [scores[best, k] - scores[i, k] for k in range(3)]
        mean = sum(d) / 3
        variance = sum((x - mean) ** 2 for x in d) / 2
        assert np.isclose(table["gap_test_score"][i], mean, atol=1e-15)
        assert np.isclose(table["se_gap_test_score"][i], np.sqrt(variance * (1 / 3 + 50 / 100)), atol=1e-15)
    assert table["gap_test_score"][best] == 0.0 == table["se_gap_test_score"][best]


def test_the_answer_depends_neither_on_processes_nor_on_the_machine():
    options = {"random_state": 3, "n_iter": 7, "cv": 3}
    one = CredoSearchCV(SVC(), SPACE, **options).fit(X, Y)
    with parallel_config("threading"):
        two = CredoSearchCV(SVC(), SPACE, n_jobs=2, **options).fit(X, Y)
    assert one.cv_results_["params"] == two.cv_results_["params"]
    assert (
        CredoSearchCV(SVC(), SPACE, **options | {"random_state": np.random.RandomState(0)}).fit(X, Y).best_score_ > 0.9
    )


def test_batches_are_told_apart_and_counted():
    search = CredoSearchCV(SVC(), SPACE, batch=3, **QUICK | {"n_iter": 7}).fit(X, Y)
    assert len(search.cv_results_["params"]) == len(search.study_.records) == 7


def test_all_points_of_a_small_space():
    search = CredoSearchCV(SVC(), {"C": [1, 10], "kernel": ["rbf", "linear"]}, cv=3, random_state=0)
    with pytest.warns(DataWarning, match="all 4 points"):
        search.fit(X, Y)
    assert len(search.cv_results_["params"]) == 4


# -- noise -------------------------------------------------------------------------------------------------------------


class Lucky(ClassifierMixin, BaseEstimator):
    """Its score is −(a − .3)², and noise that has nothing to do with the rows."""

    rng = np.random.default_rng(0)

    def __init__(self, a=0.0):
        self.a = a

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def score(self, X, y):
        return -((self.a - 0.3) ** 2) + 0.2 * self.rng.standard_normal()


def test_a_noisy_search_recommends_by_the_posterior_mean():
    Lucky.rng = np.random.default_rng(4)
    search = CredoSearchCV(Lucky(), {"a": stats.uniform(0, 2)}, n_iter=15, cv=2, random_state=0, noisy=True).fit(X, Y)
    assert search.best_index_ == search.study_.best.id
    assert search.best_params_ == dict(search.study_.best.params)
    assert search.best_score_ == search.cv_results_["mean_test_score"][search.best_index_]
    luckiest = search.cv_results_["params"][int(np.argmax(search.cv_results_["mean_test_score"]))]["a"]
    assert abs(search.best_params_["a"] - 0.3) <= abs(luckiest - 0.3)


# -- what goes wrong ---------------------------------------------------------------------------------------------------


class Fragile(SVC):
    """Fails with a large C, with a less large one on some folds."""

    def fit(self, X, y):
        if self.C > 1 and (self.C > 10 or X[:, 0].sum() > 584):
            raise RuntimeError("does not converge")
        return super().fit(X, y)


FRAGILE = {"C": [0.01, 0.1, 1.0, 5.0, 50.0]}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning", "ignore:.*non-finite:UserWarning")
@pytest.mark.parametrize("error_score", [np.nan, -1.0])
def test_failed_fits_count_as_the_error_score(error_score):
    search = CredoSearchCV(Fragile(), FRAGILE, error_score=error_score, **QUICK | {"n_iter": 5})
    with pytest.warns(DataWarning, match=r"of 15 fits failed.*does not converge"):
        search.fit(X, Y)
    other = theirs(search, cv=3, error_score=error_score).fit(X, Y)
    for name in ("mean_test_score", "std_test_score", "rank_test_score", "split1_test_score"):
        assert np.array_equal(search.cv_results_[name], other.cv_results_[name], equal_nan=True)
    assert search.best_params_ == other.best_params_
    states = [trial.state for trial in search.study_.records]
    assert ("failed" in states) == bool(np.isnan(error_score))


def test_errors_are_raised_if_asked_for_and_if_nothing_else_came():
    with pytest.raises(RuntimeError, match="does not converge"):
        CredoSearchCV(Fragile(), {"C": [50.0, 60.0]}, error_score="raise", **QUICK).fit(X, Y)
    with pytest.raises(DataError, match=r"all 6 fits failed.*does not converge"):
        CredoSearchCV(Fragile(), {"C": [50.0, 60.0]}, **QUICK | {"n_iter": 2}).fit(X, Y)


def test_the_first_candidates_may_fail():
    space = cr.Space(C=cr.Ordinal([50.0, 60.0, 0.1]))
    with pytest.warns(DataWarning, match="6 of 9 fits failed"):
        search = CredoSearchCV(Fragile(), space, **QUICK | {"n_iter": 3, "random_state": 1}).fit(X, Y)
    assert search.best_params_ == {"C": 0.1}
    assert np.isnan(search.cv_results_["mean_test_score"]).sum() == 2


@pytest.mark.parametrize(
    "options",
    [
        {"n_iter": 0}, {"n_iter": True}, {"batch": 0}, {"error_score": "ignore"}, {"storage": 3}, {"estimator": 3},
        {"scoring": []}, {"scoring": ["accuracy", "accuracy"]}, {"scoring": 3},
        {"scoring": ["accuracy", "f1_macro"], "refit": True}, {"scoring": several, "refit": "f1"},
        {"refit": lambda results: 99}, {"sampler": "best"}, {"space": {"C": 1.0}},
    ],
)  # fmt: skip
def test_bad_arguments_are_refused_by_name(options):
    arguments = {"estimator": SVC(), "space": SPACE, **QUICK} | options
    with pytest.raises(ParameterError):
        CredoSearchCV(**arguments).fit(X, Y)


def test_the_arguments_of_randomized_search_by_their_names():
    ours = CredoSearchCV(SVC(), SPACE, **QUICK).fit(X, Y)
    theirs_ = CredoSearchCV(estimator=SVC(), param_distributions=SPACE, pre_dispatch="all", **QUICK).fit(X, Y)
    assert theirs_.cv_results_["params"] == ours.cv_results_["params"]
    assert theirs_.get_params()["param_distributions"] is SPACE
    for twice_or_never in ({"space": SPACE, "param_distributions": SPACE}, {}):
        with pytest.raises(ParameterError, match="given once"):
            CredoSearchCV(SVC(), **twice_or_never, **QUICK).fit(X, Y)


def test_a_parameter_that_the_estimator_does_not_have():
    with pytest.raises(ValueError, match="Invalid parameter"):
        CredoSearchCV(SVC(), {"alpha": [1.0, 2.0]}, **QUICK).fit(X, Y)


def test_without_refit_there_is_nothing_to_predict_with():
    search = CredoSearchCV(SVC(), SPACE, refit=False, **QUICK).fit(X, Y)
    assert not hasattr(search, "predict")
    assert not hasattr(search, "classes_")
    assert hasattr(search, "best_params_")


def test_pickles_without_its_study():
    search = CredoSearchCV(SVC(), SPACE, **QUICK).fit(X, Y)
    again = pickle.loads(pickle.dumps(search))
    assert np.array_equal(again.predict(X), search.predict(X))
    assert not hasattr(again, "study_")


# -- what it is for ----------------------------------------------------------------------------------------------------


def test_it_nests_in_cross_validation():
    search = CredoSearchCV(make_pipeline(StandardScaler(), SVC()), {"svc__C": [0.1, 1.0]}, **QUICK | {"n_iter": 2})
    assert cross_val_score(search, X, Y, cv=KFold(3, shuffle=True, random_state=0)).mean() > 0.9


@pytest.mark.slow
def test_it_converges_faster_than_random_search(replicates):
    """Paired seeds of a support vector regression: what 24 candidates reach, against 24 random ones.

    By chance alone half would be won: 8 of 10 or more have probability .055, 4 of 4 .0625. `benchmarks.bo_search_cv`
    has this search and three more, those where random does well among them.
    """
    rows, y = load_diabetes(return_X_y=True)
    model = make_pipeline(StandardScaler(), SVR(max_iter=20_000))
    space = {"svr__C": stats.loguniform(0.1, 1e4), "svr__gamma": stats.loguniform(1e-4, 10),
             "svr__epsilon": stats.loguniform(0.1, 100)}  # fmt: skip
    wins, seeds = 0, replicates(4, 10)
    for seed in range(seeds):
        options = {"n_iter": 24, "cv": KFold(3, shuffle=True, random_state=0), "random_state": seed, "refit": False}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            ours = CredoSearchCV(model, space, **options).fit(rows, y).best_score_
            random = RandomizedSearchCV(model, space, **options).fit(rows, y).best_score_
        wins += ours > random
    assert wins >= 0.8 * seeds
