"""Tables by rule, against their definitions: every cause's hidden effect, all combinations summed up."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from credo.errors import ParameterError
from credo.models.network.definition import NetworkDefinition
from credo.models.network.nodes import Deterministic, NoisyMax, NoisyOr


def build(rule, parents, states=None):
    """The table and states of "y" below uniform parents {name: states}."""
    tables = {name: np.full(len(values), 1 / len(values)) for name, values in parents.items()}
    given = dict(parents) if states is None else {**parents, "y": states}
    network = NetworkDefinition.from_edges([(name, "y") for name in parents], {**tables, "y": rule}, given)
    return network.tables["y"], network.states["y"]


def by_hidden_effects(laws, n_levels):
    """P(max of independent hidden effects = y): laws[i] is the distribution of what cause i brings about."""
    p = np.zeros(n_levels)
    for levels in product(range(n_levels), repeat=len(laws)):
        p[max(levels)] += np.prod([law[level] for law, level in zip(laws, levels)])
    return p


@settings(max_examples=30)
@given(st.integers(1, 4), st.integers(2, 3), st.integers(0, 9999))
def test_noisy_max_is_the_maximum_of_hidden_effects(n_parents, n_levels, seed):
    rng = np.random.default_rng(seed)
    parents = {f"x{i}": tuple(range(rng.integers(1, 4))) for i in range(n_parents)}
    effects = {name: rng.dirichlet(np.full(n_levels, 0.5), size=len(values)) for name, values in parents.items()}
    leak = rng.dirichlet(np.ones(n_levels))
    table, states = build(NoisyMax(effects, leak), parents)
    assert states == tuple(range(n_levels))
    for row in product(*parents.values()):
        laws = [leak, *(effects[name][state] for name, state in zip(parents, row))]
        np.testing.assert_allclose(table[row], by_hidden_effects(laws, n_levels), rtol=1e-13, atol=1e-16)


@settings(max_examples=30)
@given(st.integers(0, 4), st.integers(0, 9999))
def test_noisy_or_is_some_hidden_cause_getting_through(n_parents, seed):
    rng = np.random.default_rng(seed)
    parents = {f"x{i}": (False, True) for i in range(n_parents)}
    s, leak = rng.random(n_parents), rng.random()
    table, states = build(NoisyOr(dict(zip(parents, s)), leak), parents)
    assert states == (False, True)
    for row in product((0, 1), repeat=n_parents):
        laws = [[1 - leak, leak], *([1 - p * x, p * x] for p, x in zip(s, row))]
        np.testing.assert_allclose(table[row], by_hidden_effects(laws, 2), rtol=1e-13, atol=1e-16)


def test_small_probabilities_keep_their_digits():
    table, _ = build(NoisyOr({"a": 1e-20, "b": 2e-20}, leak=3e-20), {"a": (0, 1), "b": (0, 1)})
    np.testing.assert_allclose(table[1, 1, 1], 6e-20, rtol=1e-14)
    table, _ = build(NoisyMax({"a": {1: [1, 1e-20]}, "b": {1: [1, 2e-20]}}), {"a": (0, 1), "b": (0, 1)})
    np.testing.assert_allclose(table[1, 1, 1], 3e-20, rtol=1e-14)


def test_which_state_means_present():
    plain, _ = build(NoisyOr({"a": 0.8}, leak=0.1), {"a": (False, True)})
    for states in (("yes", "no"), ("TRUE", "FALSE"), ("Present", "Absent"), (1, 0), ("on", "off")):
        table, _ = build(NoisyOr({"a": 0.8}, leak=0.1), {"a": states}, states)
        np.testing.assert_array_equal(table, plain[::-1, ::-1])
    table, _ = build(
        NoisyOr({"a": 0.8}, 0.1, present={"a": "ill", "y": "hot"}), {"a": ("well", "ill")}, ("hot", "cool")
    )
    np.testing.assert_array_equal(table, plain[:, ::-1])
    with pytest.raises(ParameterError, match=r"NoisyOr.present\['a'\] must be the state that means present"):
        build(NoisyOr({"a": 0.8}), {"a": ("well", "ill")})
    with pytest.raises(ParameterError, match=r"present\['a'\] must be one of the states .*got 'sick'"):
        build(NoisyOr({"a": 0.8}, present={"a": "sick"}), {"a": ("well", "ill")})
    with pytest.raises(ParameterError, match="use NoisyMax"):
        build(NoisyOr({"a": 0.8}), {"a": (0, 1)}, ("low", "mid", "high"))


def test_causes_of_several_kinds():
    table, _ = build(NoisyOr({"a": {"mild": 0.2, "severe": 0.9}}, leak=0.5), {"a": ("none", "mild", "severe")})
    np.testing.assert_allclose(table[:, 1], [0.5, 1 - 0.5 * 0.8, 1 - 0.5 * 0.1])


def test_levels_in_another_order():
    effects = {"a": {1: [0.2, 0.5, 0.3]}}
    up, _ = build(NoisyMax(effects, [0.9, 0.1, 0]), {"a": (0, 1)}, ("low", "mid", "high"))
    down, _ = build(NoisyMax(effects, [0.9, 0.1, 0], ("low", "mid", "high")), {"a": (0, 1)}, ("high", "mid", "low"))
    np.testing.assert_array_equal(down, up[:, ::-1])
    _, states = build(NoisyMax(effects, levels=("low", "mid", "high")), {"a": (0, 1)})
    assert states == ("low", "mid", "high")


def test_deterministic():
    table, states = build(Deterministic(lambda a, b: a + b), {"a": (0, 1), "b": (0, 1, 2)})
    assert states == (0, 1, 2, 3)
    for a, b, y in product((0, 1), (0, 1, 2), states):
        assert table[a, b, y] == (a + b == y)
    table, states = build(Deterministic(lambda a: a > 0), {"a": (1, 0)})
    assert states == (False, True)
    np.testing.assert_array_equal(table, [[0, 1], [1, 0]])
    for rule in ({"s": "cold", "w": "warm"}, {("s",): "cold", ("w",): "warm"}):
        table, states = build(Deterministic(rule), {"a": ("w", "s")}, ("cold", "warm"))
        np.testing.assert_array_equal(table, [[0, 1], [1, 0]])
    table, states = build(Deterministic(lambda: "always"), {})
    assert states == ("always",)
    assert build(Deterministic(np.maximum), {"a": (0, 1), "b": (0, 1)})[1] == (0, 1)


@pytest.mark.parametrize(
    ("rule", "states", "said"),
    [
        (Deterministic(lambda a: "mid"), (0, 1), "into the states (0, 1) of 'y'; given a=0, got 'mid'"),
        (Deterministic({0: 1}), None, "a state of 'y' for all states of its parents, got '1'"),
        (Deterministic(lambda a: []), None, "a function into states of 'y', got []"),
        (NoisyOr({}), None, "a dict from the parents of 'y': a, got {}"),
        (NoisyOr({"a": 1.5}), None, "strengths['a'] must be a probability in [0, 1], got 1.5"),
        (NoisyOr({"a": 0.5}, leak=np.nan), None, "leak must be a probability in [0, 1], got nan"),
        (NoisyOr({"a": {2: 0.5}}), None, "keyed by the states (0, 1), got 2"),
        (NoisyMax({"b": [0.5, 0.5]}), None, "a dict from the parents of 'y': a"),
        (NoisyMax({"a": {1: [0.5, 0.6]}}), None, "effects['a'] must be rows that sum to 1, given a=1, got 1.1"),
        (NoisyMax({"a": {1: [0.5, 0.5]}}, leak=[1, 1]), None, "NoisyMax.leak must be rows that sum to 1"),
        (NoisyMax({"a": {2: [0.5, 0.5]}}), None, "keyed by the states (0, 1), got 2"),
        (NoisyMax({"a": {1: [0.5, 0.5]}}), ("x",), "NoisyMax.effects['a'] must be"),
        (NoisyMax({"a": {1: [0.5, 0.5]}}, None, ("x", "z")), ("x", "y"), "states ('x', 'y') of 'y' in some order"),
        (NoisyMax({"a": {}}), None, "the states of 'y', which nothing else tells"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(rule, states, said):
    with pytest.raises(ParameterError) as caught:
        build(rule, {"a": (0, 1)}, states)
    assert said in str(caught.value)


MANY = dict.fromkeys([f"p{i}" for i in range(31)], (False, True))


@pytest.mark.parametrize("rule", [Deterministic(max), NoisyOr(dict.fromkeys(MANY, 0.5))])
def test_tables_too_large_are_refused(rule):
    with pytest.raises(ParameterError, match="Gather the parents"):
        build(rule, MANY)


def test_what_a_users_function_raises_names_the_node_and_the_states():
    with pytest.raises(ParameterError, match=r"rule of 'y' must be a function.*given 'a', 0 it fails.*ZeroDivision"):
        build(Deterministic(lambda x, z: 1 / z), {"x": ("a", "b"), "z": (0, 1)})
    with pytest.raises(ParameterError, match="TypeError"):
        build(Deterministic(lambda x: x), {"x": ("a", "b"), "z": (0, 1)})
