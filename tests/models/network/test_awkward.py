"""Whatever is given in place of names, evidence, tables and paths: an answer or a named error, never a bare one."""

import contextlib
import warnings

import numpy as np
import pandas as pd
import pytest

import credo as cr
from credo.errors import CredoError
from credo.models.network.learning import independence_test

ODD = [
    None, 0, -1, 1.5, float("nan"), "", "zz", [], {}, (), b"x", True, np.array([1, 2]), {"a": 1}, [None], object(),
    {0: 1}, {"a": {"yes": -1}}, {"a": [0, 0]}, {None: "yes"}, pd.NA, [["a", "b"]], [("a",)], "a",
    ["a", "a"], pd.Series([0, 1], name="a"), pd.Series(["a"]), pd.DataFrame([[0, 1]], columns=["a", "a"]),
    pd.DataFrame({"a": []}),
]  # fmt: skip

G = cr.LinearGaussian
NET = cr.BayesianNetwork([("a", "b")], {"a": [0.5, 0.5], "b": [[0.9, 0.1], [0.2, 0.8]]})
LINE = cr.LinearGaussianNetwork([("a", "b")], {"a": G(), "b": G(0.0, {"a": 1.0})})
MIXED = cr.ConditionalGaussianNetwork([("a", "b")], {"a": [0.5, 0.5]}, {"b": {0: G(), 1: G(2.0)}})
CHOICE = cr.DecisionNetwork([("a", "u"), ("d", "u")], {"a": [0.5, 0.5]}, {"u": [[0, 1], [1, 0]]}, {"d": [0, 1]})
TABLE = {"a": [0, 1, 1, 0] * 5, "b": [0, 1, 0, 0] * 5}
LEARNED = cr.LinearGaussianNetwork([("a", "b")]).fit(TABLE)

CALLS = {
    **{f"network.{m}": getattr(NET, m) for m in (
        "query", "mpe", "map", "marginals", "do", "sample", "conflict", "probability", "markov_blanket", "parents",
        "table", "log_likelihood", "impute", "fit", "query_draws", "picture", "value_of_information",
    )},
    "d_separated": lambda o: NET.d_separated("a", "b", o), "active_path": lambda o: NET.active_path(o, "b"),
    "adjustment_set": lambda o: NET.adjustment_set("a", "b", o), "front_door_set": lambda o: NET.front_door_set(o, "b"),
    "query evidence": lambda o: NET.query("b", o), "sample evidence": lambda o: NET.sample(1, o),
    "sensitivity": lambda o: NET.sensitivity("b", 1, o), "predict": lambda o: NET.predict(o, "b"),
    "predict target": lambda o: NET.predict({"a": [0]}, o), "voi": lambda o: NET.value_of_information("a", o),
    **{f"{name}.{m}": getattr(net, m) for name, net in (("line", LINE), ("mixed", MIXED)) for m in (
        "query", "marginals", "moments", "log_probability", "do", "log_likelihood", "read",
    )},
    "line.sample": lambda o: LINE.sample(1, o), "mixed.sample": lambda o: MIXED.sample(1, random_state=o),
    "line.predict": lambda o: LINE.predict(o, "b"), "mixed.predict": lambda o: MIXED.predict(o, "b"),
    "line.draws": lambda o: LEARNED.query_draws("b", o),
    "choice.solve": CHOICE.solve, "choice.voi": lambda o: CHOICE.value_of_information("d", o),
    "choice.eu": CHOICE.expected_utility, "choice.read": cr.DecisionNetwork.read,
    "edges": lambda o: cr.BayesianNetwork(o, {"a": [0.5, 0.5]}), "tables": lambda o: cr.BayesianNetwork([], o),
    "line edges": cr.LinearGaussianNetwork, "line equations": lambda o: cr.LinearGaussianNetwork([("a", "b")], o),
    "line nodes": lambda o: cr.LinearGaussianNetwork([], nodes=o),
    "mixed tables": lambda o: cr.ConditionalGaussianNetwork([("a", "b")], o, {"b": G()}),
    "mixed discrete": lambda o: cr.ConditionalGaussianNetwork([("a", "b")], discrete=o),
    "choice edges": lambda o: cr.DecisionNetwork(o, {}, {"u": [0, 1]}, {"d": [0, 1]}),
    "choice information": lambda o: cr.DecisionNetwork([("d", "u")], {}, {"u": [0, 1]}, {"d": [0, 1]}, o),
    "learn": cr.learn_structure, "method": lambda o: cr.learn_structure(TABLE, o),
    **{name: (lambda o, name=name: cr.learn_structure(TABLE, **{name: o})) for name in (
        "required", "start", "max_parents", "score", "missing", "random_state", "states", "sample_weight",
    )},
    "significance": lambda o: cr.learn_structure(TABLE, "pc", significance=o),
    "max_given": lambda o: cr.learn_structure(TABLE, "pc", max_given=o),
    "parameters": lambda o: cr.learn_parameters(TABLE, o), "strengths": lambda o: cr.edge_strengths(o, 2),
    "test": lambda o: independence_test(TABLE, "a", o), "given": lambda o: independence_test(TABLE, "a", "b", o),
    "tornado": cr.plots.tornado,
}  # fmt: skip


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda: NET.query(["a", "a"]), r"BayesianNetwork\.target must be names that are all different, got 'a'"),
        (lambda: NET.map(["a", "a"]), r"BayesianNetwork\.target must be names that are all different, got 'a'"),
        (lambda: NET.fit(TABLE, sample_weight=[1]), r"sample_weight must be 20 numbers"),
        (lambda: cr.learn_parameters(TABLE, [("a", "b")], sample_weight=["x"] * 20), r"sample_weight must be"),
        (lambda: cr.learn_structure(TABLE, sample_weight=[-1] * 20), r"sample_weight must be"),
    ],
)
def test_an_error_calls_things_as_the_caller_does(ask, told):
    with pytest.raises(CredoError, match=told):
        ask()


@pytest.mark.parametrize("name", CALLS)
def test_an_answer_or_a_named_error(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for odd in ODD:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with contextlib.suppress(CredoError):
                CALLS[name](odd)
