"""`BayesianNetwork.learn` and `fit` as users call them: options by name, columns that are no nodes, holes."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

import credo as cr
from credo.errors import DataError, DataWarning, ParameterError

from .nets import DATA

ASIA = pl.read_csv(DATA / "asia_400.csv")
NET = cr.BayesianNetwork(
    [("rain", "wet"), ("lights", "wet")],
    {"rain": [0.7, 0.3], "lights": [0.5, 0.5], "wet": [[[0.9, 0.1], [0.8, 0.2]], [[0.3, 0.7], [0.1, 0.9]]]},
    {"rain": ("no", "yes"), "lights": ("off", "on"), "wet": ("no", "yes")},
)


def _drawn(n=500, seed=0):
    return NET.sample(n, random_state=seed)


def test_options_are_told_apart_by_name():
    learn = cr.BayesianNetwork.learn
    assert learn(ASIA, max_parents=0).edges == ()
    assert ("asia", "xray") in learn(ASIA, required=[("asia", "xray")], prior="k2").edges
    same = learn(ASIA, search={"score": "bdeu"})
    assert learn(ASIA, score="bdeu", n_restarts=10, random_state=0) == same
    assert learn(ASIA, "chow_liu", root="xray").parents("xray") == ()
    ten = learn(ASIA, score="bdeu", equivalent_sample_size=10)
    assert ten == learn(ASIA, search={"score": "bdeu", "equivalent_sample_size": 10}, equivalent_sample_size=10)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: cr.BayesianNetwork.learn(ASIA, max_parent=2), "Did you mean 'max_parents'"),
        (lambda: cr.BayesianNetwork.learn(ASIA, "chow_liu", score="bic"), "options.*score"),
        (lambda: cr.BayesianNetwork.learn(ASIA, prio="k2"), "Did you mean 'prior'"),
        (lambda: NET.fit(_drawn(), foo=1), "options.*foo"),
        (lambda: NET.fit(_drawn(), priro="k2"), "Did you mean 'prior'"),
        (lambda: cr.learn_parameters(ASIA, {}, n_inits=2), "Did you mean 'n_init'"),
        (lambda: NET.fit(_drawn(), sample_weight="count"), "sample_weight"),
    ],
)
def test_unknown_options(call, match):
    with pytest.raises(ParameterError, match=match):
        call()


def test_numbers_as_names():
    frame = pd.DataFrame({0: ["x", "y"] * 9, 1: ["u", "v"] * 9})
    net = cr.BayesianNetwork.learn(frame)
    assert net.edges == (("0", "1"),)
    assert net.fit(frame) == net


def test_a_misspelt_column_is_left_out_and_said():
    rows = _drawn()
    wrong = {"Lights" if name == "lights" else name: cells for name, cells in rows.items()}
    with pytest.warns(DataWarning) as caught:
        net = NET.fit(wrong)
    said = " ".join(str(w.message) for w in caught)
    assert "Lights (Did you mean 'lights'?)" in said
    assert "node(s) lights have no column" in said
    assert net.nodes == NET.nodes
    with pytest.raises(DataError, match="no column is a node"):
        NET.fit({"Rain": ["no"]})


def test_whole_rows_warn_of_nothing():
    rows = _drawn()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        net = NET.fit(rows)
        assert NET.fit(np.column_stack([rows[name] for name in NET.nodes])) == net
        assert NET.fit({**rows, "times": np.ones(500)}, sample_weight="times") == net
    with pytest.raises(DataError, match="3 nodes"):
        NET.fit(np.zeros((2, 2)))


def test_a_hidden_node_keeps_the_meaning_of_its_states():
    """States are swapped by chance with half the seeds where EM starts at random."""
    edges = [("kind", f"v{i}") for i in range(4)]
    views = {f"v{i}": [[0.8, 0.2], [0.3, 0.7]] for i in range(4)}
    truth = cr.BayesianNetwork(edges, {"kind": [0.6, 0.4], **{name: [[0.9, 0.1], [0.2, 0.8]] for name in views}})
    told = cr.BayesianNetwork(edges, {"kind": [0.5, 0.5], **views})
    rows = truth.sample(2000, random_state=1)
    del rows["kind"]
    for seed in range(4):
        with pytest.warns(DataWarning, match="kind"):
            net = told.fit(rows, random_state=seed)
        assert abs(net.table("kind").values[0] - 0.6) < 0.08
        assert abs(net.table("v0").values[0, 0] - 0.9) < 0.08
    flat = cr.BayesianNetwork(edges, {"kind": [0.5, 0.5], **{name: np.full((2, 2), 0.5) for name in views}})
    with pytest.warns(DataWarning):
        net = flat.fit(rows)  # tables that say nothing are no start
    assert np.ptp(net.table("v0").values[:, 0]) > 0.5


def test_a_hole_in_every_row():
    rng = np.random.default_rng(3)
    rows = {name: [*cells] for name, cells in _drawn(1500).items()}
    for i, name in enumerate(rng.choice(list(rows), 1500)):
        rows[name][i] = None
    with pytest.warns(DataWarning):
        tree = cr.BayesianNetwork.learn(rows, "chow_liu")
    assert ("rain" in tree.parents("wet")) or ("wet" in tree.parents("rain"))
    by_hand = cr.BayesianNetwork.learn(tree.impute(rows))
    searched = cr.BayesianNetwork.learn(rows, score="bdeu", forbidden=[("wet", "lights")])
    for found in (by_hand, searched):
        assert {"rain", "wet"} in [set(edge) for edge in found.edges]
    assert ("wet", "lights") not in searched.edges
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        naive = cr.BayesianNetwork.learn(rows, "naive_bayes", class_node="rain")
    assert set(naive.edges) == {("rain", "wet"), ("rain", "lights")}


def test_bools_of_a_file():
    shape = cr.BayesianNetwork([], {"x": [0.5, 0.5]}, {"x": ("TRUE", "FALSE")})
    net = shape.fit(pd.DataFrame({"x": [True, True, True, False]}), prior="none")
    assert net.query("x").to_dict() == pytest.approx({"TRUE": 0.75, "FALSE": 0.25})
