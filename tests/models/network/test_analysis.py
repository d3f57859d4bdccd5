"""Sensitivity, value of information and conflict: against networks built anew, and the joint table."""

import time
from pathlib import Path

import numpy as np
import pytest

from credo.errors import ParameterError, ZeroProbabilityError
from credo.models.network.definition import NetworkDefinition
from credo.models.network.derivatives import table_derivatives
from credo.models.network.network import BayesianNetwork

from .random_networks import Enumeration, drawn_row, random_network

DATA = Path(__file__).parents[2] / "data" / "bayesnets"


def moved(network, influence, value):
    """The network with one number of a table set, the others of its row in proportion."""
    d = network.definition_
    table = d.tables[influence.node].copy()
    row = tuple(d.states[name].index(state) for name, state in influence.parents.items())
    j = d.states[influence.node].index(influence.state)
    others = [k for k in range(table.shape[-1]) if k != j]
    left = table[row][others].sum()
    table[row][others] = table[row][others] / left * (1 - value) if left > 0 else (1 - value) / max(len(others), 1)
    table[row][j] = value
    return BayesianNetwork.of(NetworkDefinition(d.states, d.parents, {**d.tables, influence.node: table}))


def test_ends_and_slopes_equal_those_of_networks_built_anew():
    checked = 0
    for seed in range(60):
        network, rng = random_network(seed, most_nodes=5)
        row = drawn_row(network, rng)
        chosen = [str(name) for name in rng.permutation(network.nodes)]
        target, evidence = chosen[0], {name: row[name] for name in chosen[1 : 1 + int(rng.integers(0, 3))]}
        state = network.states[target][-1]
        found = network.sensitivity(target, state, evidence, share=0.2)
        widths = [each.range for each in found]
        assert widths == sorted(widths, key=lambda w: -np.nan_to_num(w))
        for each in [found[i] for i in rng.permutation(len(found))[:6]]:
            if len(network.states[each.node]) == 1:
                continue
            assert each.at == pytest.approx((each.value * 0.8, min(1.0, each.value * 1.2)))
            for end, answer in zip(each.at, (each.low, each.high)):
                changed = moved(network, each, end)
                if changed.probability(evidence) == 0.0:
                    assert np.isnan(answer)
                    continue
                np.testing.assert_allclose(answer, changed.query(target, evidence)[state], rtol=1e-9, atol=1e-12)
            if 1e-3 < each.value < 1 - 1e-3:
                h = 1e-6
                up, down = (moved(network, each, each.value + s * h).query(target, evidence)[state] for s in (1, -1))
                np.testing.assert_allclose(each.slope, (up - down) / (2 * h), rtol=1e-4, atol=1e-6)
                checked += 1
    assert checked > 50


def test_derivatives_are_those_of_the_probability_of_evidence():
    for seed in range(40):
        network, rng = random_network(seed)
        truth = Enumeration(network)
        row = drawn_row(network, rng)
        evidence = {name: row[name] for name in network.nodes[: int(rng.integers(0, 4))]}
        found = table_derivatives(network.definition_, evidence, 1 << 30)
        scale = np.exp(found.log_scale)
        np.testing.assert_allclose(found.total * scale, truth.probability(evidence), rtol=1e-12)
        for name, table in network.definition_.tables.items():  # multilinear: an entry times its derivative, summed
            np.testing.assert_allclose(
                (table * found.by_node[name]).sum() * scale, truth.probability(evidence), rtol=1e-10
            )


def test_nodes_may_be_chosen_and_a_certain_number_moves_evenly():
    network = BayesianNetwork([("a", "b")], {"a": [1.0, 0.0, 0.0], "b": [[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]]})
    (first, *_) = network.sensitivity("b", 1, nodes=["a"], share=0.5)
    assert (first.state, first.at) == (0, (0.5, 1.0))
    assert first.low == pytest.approx(0.5 * 0.1 + 0.25 * 0.5 + 0.25 * 0.9)
    assert first.slope == pytest.approx(0.1 - 0.7)
    assert {each.node for each in network.sensitivity("b", 1, nodes=["b"])} == {"b"}


def test_rows_that_the_evidence_excludes_are_left_out():
    network = BayesianNetwork([("a", "b")], {"a": [0.4, 0.6], "b": [[0.9, 0.1], [0.2, 0.8]]})
    assert {tuple(each.parents.items()) for each in network.sensitivity("b", 1, {"a": 1}, nodes=["b"])} == {(("a", 1),)}


def test_sensitivity_refuses_what_it_cannot_answer():
    network = BayesianNetwork([("a", "b")], {"a": [0.4, 0.6], "b": [[1.0, 0.0], [0.2, 0.8]]})
    for call, message in [
        (lambda: network.sensitivity("a", 5), "state must be a state of 'a'"),
        (lambda: network.sensitivity("a", 1, {"a": 1}), "other than the target"),
        (lambda: network.sensitivity("a", 1, {"b": [1, 2]}), "other than the target"),
        (lambda: network.sensitivity("a", 1, share=0.0), "share"),
        (lambda: network.sensitivity("a", 1, nodes=["c"]), "node must be"),
        (lambda: network.sensitivity("a", 1, {"c": 1}), "evidence must be a node"),
    ]:
        with pytest.raises(ParameterError, match=message):
            call()
    certain = BayesianNetwork([("a", "b")], {"a": [1.0, 0.0], "b": [[1.0, 0.0], [0.2, 0.8]]})
    with pytest.raises(ZeroProbabilityError, match="b=1"):
        certain.sensitivity("a", 1, {"b": 1})


def test_alarm_takes_less_than_a_second():
    alarm = BayesianNetwork.read(DATA / "alarm.bif")
    start = time.process_time()
    found = alarm.sensitivity("LVFAILURE", "TRUE", {"CVP": "HIGH", "BP": "LOW"})
    assert time.process_time() - start < 1.0
    assert len(found) > 700


def test_value_of_information_is_the_mutual_information():
    for seed in range(40):
        network, rng = random_network(seed)
        truth = Enumeration(network)
        row = drawn_row(network, rng)
        target, *others = [str(name) for name in rng.permutation(network.nodes)]
        evidence = {name: row[name] for name in others[: int(rng.integers(0, len(others)))]}
        found = network.value_of_information(target, evidence)
        assert set(found) == set(network.nodes) - {target, *evidence}
        assert list(found.values()) == sorted(found.values(), reverse=True)
        for name, nats in found.items():
            joint = truth.law([target, name], evidence)
            apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
            some = joint > 0.0
            np.testing.assert_allclose(nats, (joint[some] * np.log(joint[some] / apart[some])).sum(), atol=1e-12)


def test_candidates_of_value_of_information():
    network = BayesianNetwork([("a", "b")], {"a": [0.4, 0.6], "b": [[0.9, 0.1], [0.2, 0.8]]})
    assert list(network.value_of_information("a", candidates=["b"])) == ["b"]
    for candidates in (["a"], ["c"]):
        with pytest.raises(ParameterError):
            network.value_of_information("a", candidates=candidates)
    with pytest.raises(ParameterError):
        network.value_of_information("a", {"b": 1}, candidates=["b"])


def test_conflict():
    network = BayesianNetwork(
        [("a", "b"), ("a", "c")], {"a": [0.5, 0.5], "b": [[0.9, 0.1], [0.1, 0.9]], "c": [[0.9, 0.1], [0.1, 0.9]]}
    )
    assert network.conflict({"b": 1, "c": 1}) == pytest.approx(np.log(0.25 / 0.41))
    assert network.conflict({"b": 1, "c": 0}) == pytest.approx(np.log(0.25 / 0.09))
    assert network.conflict({}) == 0.0
    certain = BayesianNetwork([("a", "b")], {"a": [0.5, 0.5], "b": [[1.0, 0.0], [0.0, 1.0]]})
    assert certain.conflict({"a": 0, "b": 1}) == np.inf
    alone = BayesianNetwork([], {"a": [1.0, 0.0], "b": [0.5, 0.5]})
    with pytest.raises(ZeroProbabilityError, match="a=1 is impossible"):
        alone.conflict({"a": 1, "b": 0})


def test_a_tornado_prints_its_widest_bars_and_stays_within_probabilities():
    network = BayesianNetwork.read(DATA / "asia.bif")
    found = network.sensitivity("lung", "yes", {"xray": "yes"}, share=1.0)
    lines = repr(found).splitlines()
    assert lines[0].split() == ["probability", "in", "a", "table", "value", "moved", "to", "answer", "slope"]
    assert lines[1].startswith(f"P({found[0].node}={found[0].state}")
    assert len(lines) == 12
    assert lines[-1] == f"… and {len(found) - 10} more"
    assert isinstance(found, list)
    assert all(0.0 <= end <= 1.0 for each in found for end in (each.low, each.high) if end == end)
