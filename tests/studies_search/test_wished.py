"""Distributions and lists as a space, and its points as the estimator's parameters."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import Ridge
from sklearn.svm import SVR

import credo as cr
from credo.errors import ParameterError
from credo.studies.search.wished import wished


def drawn(given, n=400, seed=0):
    found = wished(given)
    return [found.params(point) for point in found.space.sample(n, np.random.default_rng(seed))]


@pytest.mark.parametrize(
    ("wish", "expected"),
    [
        (stats.uniform(1, 3), cr.Real(1, 4)),
        (stats.loguniform(1e-3, 10), cr.Real(1e-3, 10, log=True)),
        (stats.randint(2, 9), cr.Integer(2, 8)),
        (stats.randint(2, 3), cr.Constant(2)),
        ([10, 1, 100], cr.Ordinal([1, 10, 100])),
        ([1, 1, 2], cr.Ordinal([1, 2])),
        (np.logspace(-1, 1, 3), cr.Ordinal([0.1, 1.0, 10.0])),
        (range(1, 4), cr.Ordinal([1, 2, 3])),
        (["rbf", "linear"], cr.Choice(["rbf", "linear"])),
        ([True, False], cr.Choice([True, False])),
        ([None, 3], cr.Choice([None, 3])),
        (["only"], cr.Constant("only")),
        (cr.Integer(1, 5), cr.Integer(1, 5)),
    ],
)
def test_each_way_of_wishing_has_its_parameter(wish, expected):
    assert wished({"a": wish}).space.parameters["a"] == expected


@pytest.mark.parametrize(
    "law",
    [stats.norm(3, 2), stats.expon(scale=5), stats.gamma(2), stats.loguniform(1, 100, loc=7), stats.beta(0.5, 0.5)],
)
def test_any_other_law_is_drawn_from_as_it_is(law):
    values = [row["a"] for row in drawn({"a": law})]
    assert stats.kstest(values, law.cdf).pvalue > 1e-3  # false alarms: 1 in 1000, with a fixed seed none


def test_counts_stay_integers_and_ends_stay_finite():
    values = [row["a"] for row in drawn({"a": stats.poisson(3)})]
    assert all(type(value) is int for value in values)
    assert 2.5 < np.mean(values) < 3.5
    found = wished({"a": stats.norm()})
    assert all(np.isfinite(found.params({"a": u})["a"]) for u in (0.0, 1.0))


def test_reports_call_objects_by_their_class():
    values = [Ridge(), "passthrough", SVR(), Ridge(alpha=3.0), (50, 50), np.mean, "SVR"]
    (choice,) = wished({"a": values}).space.parameters.values()
    assert choice.choices == ("Ridge", "passthrough", "SVR", "Ridge 2", "(50, 50)", "mean", "SVR 2")
    found = wished({"a": values})
    assert all(found.params({"a": label})["a"] is value for label, value in zip(choice.choices, values))
    assert wished({"a": [Ridge()]}).space.parameters["a"] == cr.Constant("Ridge")


def test_objects_come_back_themselves():
    models = [Ridge(), SVR()]
    arrays = [np.zeros(2), np.ones(2)]
    rows = drawn({"model": models, "weights": arrays, "one": [Ridge]})
    assert {id(row["model"]) for row in rows} == {id(model) for model in models}
    assert {float(row["weights"].sum()) for row in rows} == {0.0, 2.0}
    assert all(row["one"] is Ridge for row in rows)


def test_names_that_are_no_identifiers():
    found = wished({"my-step__C": [1, 2], "my_step__C": [3, 4], "2nd__C": [5, 6]})
    assert all(name.isidentifier() for name in found.space.names)
    assert len(set(found.space.names)) == 3
    (point,) = found.space.sample(1, np.random.default_rng(0))
    assert set(found.params(point)) == {"my-step__C", "my_step__C", "2nd__C"}


def test_several_dicts_are_alternatives_that_share_what_they_wish_alike():
    svm, C = SVR(), stats.loguniform(0.1, 10)
    tables = [
        {"model": [svm], "model__C": C, "model__gamma": stats.uniform(0, 1)},
        {"model": [svm], "model__C": C, "model__kernel": ["linear"]},
        {"model": [Ridge()], "which": [1, 2]},
    ]
    found = wished(tables)
    names = {frozenset(row) for row in drawn(tables)}
    assert names == {
        frozenset({"model", "model__C", "model__gamma"}),
        frozenset({"model", "model__C", "model__kernel"}),
        frozenset({"model", "which"}),
    }
    assert sum(name.startswith("model__C") for name in found.space.names) == 1
    # Lists of objects are alike only if they are the same list.
    assert sum(found.names.get(name) == "model" for name in found.space.names) == 3


@pytest.mark.parametrize(
    "given",
    [
        "C", [], {}, None, 3, ["C"], {1: [2]}, {"C": 1.0}, {"C": []}, {"C": "rbf"}, {"C": stats.norm},
        {"C": np.array(3.0)}, [{"a": cr.Real(0, 1, when={"b": 1})}, {"b": [1]}],
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_by_name(given):
    with pytest.raises(ParameterError):
        wished(given)
