"""Signs of dependence: found where they are, and a thousandth of the time where they are not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import credo as cr
from credo.errors import ModelWarning
from credo.selection import compare, find_dependence
from credo.selection.independence import intraclass, lag_one, permutation_p_value

LINE = {"line": cr.LinearRegression()}


def series(n, correlation, rng):
    e = rng.normal(size=n)
    for i in range(1, n):
        e[i] = correlation * e[i - 1] + np.sqrt(1 - correlation**2) * e[i]
    return e


def test_autocorrelation_is_found_and_its_remedy_silences_it():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = X[:, 0] + series(200, 0.7, rng)
    with pytest.warns(ModelWarning, match="time="):
        compare(LINE, X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        comparison = compare(LINE, X, y, time=np.arange(200))
    assert "time" in comparison.scheme


def test_groups_are_found_and_their_remedy_silences_it():
    rng = np.random.default_rng(0)
    subject = rng.permutation(np.repeat(np.arange(20), 10))
    X = rng.normal(size=(200, 2))
    y = X[:, 0] + rng.normal(size=20)[subject] + rng.normal(size=200)
    with pytest.warns(ModelWarning, match=r"subject.*groups="):
        compare(LINE, X, y, categories={"subject": subject})
    with pytest.warns(ModelWarning, match=r"column 2"):  # codes among the columns, which a line cannot use
        compare(LINE, np.column_stack([X, rng.permutation(20)[subject]]), y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compare(LINE, X, y, groups=subject)


def test_classes_are_looked_at_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 1))
    y = (series(300, 0.9, rng) > 0).astype(int)
    with pytest.warns(ModelWarning, match="time="):
        compare({"logistic": cr.LogisticRegression(prior=cr.Normal(0, 1))}, X, y)


def test_a_table_sorted_by_its_outcome_is_no_series():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 1))
    y = np.sort(rng.normal(size=100))
    labels = np.repeat(["a", "b", "c"], [30, 30, 40])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compare(LINE, X, y)
        compare({"logistic": cr.LogisticRegression(prior=cr.Normal(0, 1))}, X, labels)


def test_false_alarms_of_the_order():
    """2,000 independent tables: at a rate of 1e-3 more than 9 alarms have probability 5e-5. Heavy tails included."""
    rng = np.random.default_rng(0)
    alarms = sum(bool(find_dependence(rng.standard_t(3, size=60), {}, rng)) for _ in range(2000))
    assert alarms <= 9


def test_false_alarms_of_groups():
    """2,000 tables with 10 groups at random: more than 9 alarms have probability 5e-5."""
    rng = np.random.default_rng(0)
    alarms = sum(
        bool(find_dependence(rng.normal(size=60), {"g": rng.integers(0, 10, 60)}, rng, ordered=False))
        for _ in range(2000)
    )
    assert alarms <= 9


def test_known_correlations():
    rng = np.random.default_rng(0)
    e = series(10_000, 0.5, rng)[:, None]
    assert abs(lag_one(e - e.mean()) - 0.5) < 0.05  # 5 standard errors
    assert permutation_p_value(e, lag_one, rng) == 1e-3
    assert permutation_p_value(rng.permutation(e), lag_one, rng) > 1e-3
    groups = np.repeat(np.arange(500), 4)
    residuals = (rng.normal(size=500)[groups] + rng.normal(size=2000))[:, None]
    correlation, p_value, size = intraclass(residuals, groups)
    assert abs(correlation - 0.5) < 0.15
    assert p_value < 1e-10
    assert size == 4.0
    assert intraclass(residuals, np.arange(2000))[:2] == (0.0, 1.0)  # every level once
    assert intraclass(np.ones((4, 1)) * 0.0, [0, 0, 1, 1])[:2] == (0.0, 1.0)
