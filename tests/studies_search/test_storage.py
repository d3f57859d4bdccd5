"""A search that was interrupted goes on where it was; another search in the same storage is another study."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_iris
from sklearn.svm import SVC

from credo.errors import DataWarning, ParameterError
from credo.studies.search import CredoSearchCV

X, Y = load_iris(return_X_y=True)
SPACE = {"C": stats.loguniform(1e-2, 1e3), "gamma": stats.loguniform(1e-3, 10)}
OPTIONS = {"cv": 3, "random_state": 0, "return_train_score": True, "sampler": "sobol"}


class Counting(SVC):
    """Counts fits; raises KeyboardInterrupt, once, at the one named."""

    fits, stop = 0, -1

    def fit(self, X, y):
        type(self).fits += 1
        if type(self).fits == type(self).stop:
            type(self).stop = -1
            raise KeyboardInterrupt
        return super().fit(X, y)


@pytest.fixture
def place(tmp_path):
    Counting.fits, Counting.stop = 0, -1
    return str(tmp_path / "search.db")


def scores(search):
    names = [name for name in search.cv_results_ if "_t" in name and "gap" not in name and "time" not in name]
    return {name: search.cv_results_[name].tolist() for name in names}


def test_an_interrupted_search_goes_on_where_it_was(place):
    whole = CredoSearchCV(SVC(), SPACE, n_iter=5, **OPTIONS).fit(X, Y)
    Counting.stop = 3 * 4 + 2
    with pytest.raises(KeyboardInterrupt):
        CredoSearchCV(Counting(), SPACE, n_iter=8, storage=place, **OPTIONS).fit(X, Y)
    assert Counting.fits == 14
    resumed = CredoSearchCV(Counting(), SPACE, n_iter=8, storage=place, **OPTIONS).fit(X, Y)
    assert Counting.fits == 14 + 3 * 4 + 1  # four candidates more, and the refit
    assert len(resumed.cv_results_["params"]) == 8
    assert resumed.cv_results_["params"][:5] == whole.cv_results_["params"]
    assert all(values[:5] == scores(whole)[name] for name, values in scores(resumed).items() if "rank" not in name)


def test_a_complete_search_is_read_back_and_may_be_made_longer(place):
    first = CredoSearchCV(Counting(), SPACE, n_iter=6, storage=place, **OPTIONS).fit(X, Y)
    n = Counting.fits
    again = CredoSearchCV(Counting(), SPACE, n_iter=6, storage=place, refit=True, **OPTIONS).fit(X, Y)
    assert Counting.fits == n + 1
    assert scores(again) == scores(first)
    longer = CredoSearchCV(Counting(), SPACE, n_iter=7, storage=place, **OPTIONS).fit(X, Y)
    assert Counting.fits == n + 1 + 3 + 1
    assert longer.cv_results_["params"][:6] == first.cv_results_["params"]


def test_other_data_folds_or_estimators_begin_anew(place):
    base = {"estimator": Counting(), "space": SPACE, "n_iter": 2, "storage": place, **OPTIONS}
    CredoSearchCV(**base).fit(X, Y)
    changes = [
        ({}, X + 1e-9), ({"estimator": Counting(kernel="linear")}, X), ({"cv": 4}, X), ({"scoring": "f1_macro"}, X),
        ({"random_state": 1}, X), ({"space": {"C": [1, 2]}}, X),
    ]  # fmt: skip
    for change, rows in changes:
        n = Counting.fits
        search = CredoSearchCV(**base | change).fit(rows, Y)
        assert Counting.fits == n + 2 * search.n_splits_ + 1, change


def test_objects_of_a_list_and_laws_tell_searches_apart(place):
    """The study itself sees only places in the list, and probabilities."""
    spaces = [{"C": stats.gamma(2)}, {"C": stats.gamma(3)}, {"kernel": [linear, cubed]}, {"kernel": [cubed, linear]}]
    for space in spaces * 2:
        n = Counting.fits
        CredoSearchCV(Counting(), space, n_iter=2, storage=place, **OPTIONS).fit(X, Y)
        assert Counting.fits - n == (7 if n < 7 * len(spaces) else 1)


def test_what_cannot_be_pickled_cannot_be_stored(place):
    with pytest.raises(ParameterError, match="cannot be pickled"):
        CredoSearchCV(Counting(), SPACE, scoring=lambda *_: 0.0, storage=place, **OPTIONS).fit(X, Y)


def linear(A, B):
    return A @ B.T


def cubed(A, B):
    return (A @ B.T + 1.0) ** 3


class Fragile(SVC):
    def fit(self, X, y):
        if self.C > 1:
            raise RuntimeError("does not converge")
        return super().fit(X, y)


def test_failures_are_kept_too(place):
    options = {"n_iter": 4, "cv": 3, "random_state": 0, "storage": place, "sampler": "random"}
    space = {"C": [0.01, 0.1, 1.0, 5.0]}
    with pytest.warns(DataWarning, match="3 of 12 fits failed"):
        first = CredoSearchCV(Fragile(), space, **options).fit(X, Y)
    again = CredoSearchCV(Fragile(), space, **options).fit(X, Y)
    for name in ("mean_test_score", "split0_test_score", "rank_test_score"):
        assert np.array_equal(first.cv_results_[name], again.cv_results_[name], equal_nan=True)
