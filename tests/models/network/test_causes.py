"""What to adjust for, against the truncated product: what the sets promise is what `do` says."""

import itertools

import numpy as np
import pytest

import credo as cr
from credo.errors import ParameterError
from credo.models.network.separation import reached


def _adjusted(network, cause, effect, state, given):
    """Σ_z P(effect | cause, z) P(z)."""
    law = np.zeros(len(network.states[effect]))
    for z in itertools.product(*(network.states[n] for n in given)):
        seen = dict(zip(given, z))
        p = network.probability(seen) if seen else 1.0
        if p > 0.0:
            law += p * network.query(effect, {**seen, cause: state}).values
    return law


def _front(network, cause, effect, state, given):
    """Σ_m P(m | cause) Σ_c P(effect | m, c) P(c)."""
    law = np.zeros(len(network.states[effect]))
    prior = network.query(cause).to_dict()
    for m in itertools.product(*(network.states[n] for n in given)):
        seen = dict(zip(given, m))
        way = network.probability({**seen, cause: state}) / prior[state]
        law += way * sum(p * network.query(effect, {**seen, cause: c}).values for c, p in prior.items())
    return law


@pytest.mark.parametrize("seed", range(25))
def test_what_is_promised_is_what_do_says(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 7))
    edges = [(f"v{a}", f"v{b}") for a, b in itertools.combinations(range(n), 2) if rng.random() < 0.45]
    network = _even(edges, [f"v{i}" for i in range(n)], rng)
    for _ in range(4):
        cause, effect = rng.choice(network.nodes, 2, replace=False).tolist()
        hidden = {n for n in network.nodes if rng.random() < 0.3} - {cause, effect}
        observed = [n for n in network.nodes if n not in hidden]
        found = network.adjustment_set(cause, effect, observed)
        valid = [
            z for r in range(len(observed) - 1)
            for z in itertools.combinations([n for n in observed if n not in (cause, effect)], r)
            if _back_door(network, cause, effect, z)
        ]  # fmt: skip
        assert (found is None) == (not valid)
        state = network.states[cause][0]
        done = network.do({cause: state}).query(effect).values
        if found is not None:
            assert set(found) <= set(observed)
            if network.query(cause)[state] > 0.0:
                np.testing.assert_allclose(_adjusted(network, cause, effect, state, found), done, atol=1e-9)
            for node in found:  # none can be spared
                assert not _back_door(network, cause, effect, [n for n in found if n != node])
        way = network.front_door_set(cause, effect, observed)
        if way is not None and min(network.query(cause).values) > 0.0:
            np.testing.assert_allclose(_front(network, cause, effect, state, way), done, atol=1e-9)


def _back_door(network, cause, effect, given):
    """By the definition: no descendant of the cause (where it has an effect), and separated without its own arrows."""
    d = network.definition_
    below = reached(d.children, [cause])
    if effect in below and below & set(given):
        return False
    edges = [edge for edge in network.edges if edge[0] != cause]
    tables = {
        n: np.full([len(d.states[p]) for p, c in edges if c == n] + [len(d.states[n])], 1 / len(d.states[n]))
        for n in network.nodes
    }
    return cr.BayesianNetwork(edges, tables, d.states).d_separated(cause, effect, list(given))


def _even(edges, nodes=None, rng=None):
    nodes = nodes or list(dict.fromkeys(n for edge in edges for n in edge))
    rng = rng or np.random.default_rng(0)
    tables = {n: rng.dirichlet([1, 1], [2] * sum(c == n for _, c in edges)) for n in nodes}
    return cr.BayesianNetwork(edges, tables, dict.fromkeys(nodes, (0, 1)))


def test_textbook_graphs():
    confounded = _even([("u", "x"), ("u", "y"), ("x", "y")])
    assert confounded.adjustment_set("x", "y") == ("u",)
    assert confounded.adjustment_set("x", "y", ["x", "y"]) is None
    assert confounded.front_door_set("x", "y", ["x", "y"]) is None
    smoking = _even([("gene", "smoke"), ("gene", "cancer"), ("smoke", "tar"), ("tar", "cancer")])
    assert smoking.adjustment_set("smoke", "cancer", ["smoke", "tar", "cancer"]) is None
    assert smoking.front_door_set("smoke", "cancer", ["smoke", "tar", "cancer"]) == ("tar",)
    law = _front(smoking, "smoke", "cancer", 1, ("tar",))
    np.testing.assert_allclose(law, smoking.do({"smoke": 1}).query("cancer").values)
    m_shape = _even([("a", "x"), ("a", "m"), ("b", "m"), ("b", "y"), ("x", "y")])
    assert m_shape.adjustment_set("x", "y") == ()
    assert _even([("x", "m"), ("m", "y")]).adjustment_set("x", "y") == ()
    assert smoking.adjustment_set("cancer", "smoke") is not None


def test_dot_quotes_what_it_must():
    network = _even([('a "b"', "c\\d")])
    text = network.to_dot()
    assert '"a \\"b\\"" -> "c\\\\d";' in text
    assert text.startswith('digraph "network" {')
    assert text.endswith("}\n")


def test_what_cannot_be_asked():
    network = _even([("x", "y"), ("y", "z")])
    for arguments, told in (
        (("x", "x"), "another node"), (("x", "w"), "a node of the network"),
        (("x", "y", ["x"]), "with cause and effect"),
        (("x", "y", ["x", "y", "zz"]), "a node of the network"),
    ):  # fmt: skip
        for method in (network.adjustment_set, network.front_door_set):
            with pytest.raises(ParameterError, match=told):
                method(*arguments)
