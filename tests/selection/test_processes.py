"""Gaussian processes among the candidates: compared by folds, since what they learned has seen every row."""

import numpy as np
import pytest

import credo as cr
from credo.errors import UnavailableError
from credo.selection import candidates, compare


@pytest.fixture
def wave():
    rng = np.random.default_rng(3)
    X = rng.uniform(-2.0, 2.0, size=(60, 2))
    return X, np.sin(3.0 * X[:, 0]) + 0.1 * rng.normal(size=60)


def test_maximised_evidence_is_compared_by_folds(wave):
    X, y = wave
    found = compare({"line": cr.LinearRegression(), "process": cr.GaussianProcessRegressor()}, X, y)
    assert "fold" in found.scheme
    assert found.best == "process"


def test_what_was_integrated_or_stated_is_left_out_in_closed_form(wave):
    X, y = wave
    stated = cr.GaussianProcessRegressor(2.0 * cr.kernels.RBF(0.5), noise=0.1, optimizer=None)
    assert compare({"line": cr.LinearRegression(), "process": stated}, X, y).scheme == "exact leave-one-out"


def test_leave_one_out_demanded_of_a_maximum_is_refused(wave):
    X, y = wave
    with pytest.raises(UnavailableError, match="folds"):
        compare([cr.GaussianProcessRegressor()], X, y, cv="loo")


def test_processes_are_candidates_where_cost_allows():
    assert isinstance(candidates("regression", 5, 300)["process"], cr.GaussianProcessRegressor)
    assert isinstance(candidates("classification", 5, 200)["process"], cr.GaussianProcessClassifier)
    assert "limit" in candidates("regression", 5, 3_000).skipped["process"]
