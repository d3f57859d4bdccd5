"""`NetworkDefinition`: what it accepts in whatever form, and what it says of everything else."""

import copy
import io
import pickle
from fractions import Fraction
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from credo.errors import ParameterError
from credo.models.network.definition import NetworkDefinition
from credo.models.network.tables import MAX_PARENTS
from credo.probability.factors import Factor
from credo.saving import load, save

BIT = (0, 1)
FAIR = [0.5, 0.5]


def error(*arguments, **keywords):
    with pytest.raises(ParameterError) as caught:
        NetworkDefinition(*arguments, **keywords)
    return str(caught.value)


def chain(parents, names="abc"):
    """Bits with uniform tables over the given parents."""
    tables = {n: np.full([2] * (len(parents.get(n, ())) + 1), 0.5) for n in names}
    return NetworkDefinition(dict.fromkeys(names, BIT), parents, tables)


def test_what_it_holds():
    given = np.array([[0.9, 0.1], [0.2, 0.8]])
    network = NetworkDefinition(
        {"wet": (False, True), "rain": ["no", "yes"]}, {"wet": ["rain"]}, {"rain": (0.8, 0.2), "wet": given}, "garden"
    )
    assert network.nodes == ("wet", "rain")
    assert network.order == ("rain", "wet")
    assert network.parents["rain"] == ()
    assert network.children["rain"] == ("wet",)
    assert network.edges == (("rain", "wet"),)
    assert network.n_parameters == 3
    assert network.states["wet"] == (False, True)
    assert repr(network) == "<NetworkDefinition 'garden', 2 nodes, 1 edges, 3 parameters>"
    given[0, 0] = 7.0
    assert network.tables["wet"][0, 0] == 0.9
    for table in network.tables.values():
        assert table.dtype == np.float64
        with pytest.raises(ValueError, match="read-only"):
            table[...] = 0.0
    for mapping in (network.states, network.parents, network.tables, network.properties, network.children):
        with pytest.raises(TypeError):
            mapping["x"] = ()


def test_equality_sees_kinds_and_orders():
    def network(*states, table=FAIR):
        return NetworkDefinition({"a": states}, {}, {"a": table})

    assert network(0, 1) == network(0, 1)
    assert network(0, 1) != network(False, True)
    assert network(0, 1) != network(1, 0)
    assert network(0, 1) != network(0, 1, table=[0.25, 0.75])
    assert network(0, 1) != "a"
    assert pickle.loads(pickle.dumps(network("x", 1))) == network("x", 1)
    file = io.BytesIO()
    save(network("x", 1), file)
    assert load(file) == copy.deepcopy(network("x", 1)) == network("x", 1)
    with pytest.raises(TypeError):
        hash(network(0, 1))


@pytest.mark.parametrize(
    ("states", "said"),
    [
        (("x", "x"), "states['a'] must be all different, got 'x'"),
        ((1, True), "must be all different, got True"),
        ((), "at least one state"),
        ("xy", "a sequence of states, got 'xy'"),
        (2, "a sequence of states, got 2"),
        (([],), "hashable"),
        ((None, 1), "None and NaN stand for a missing cell"),
        ((float("nan"), 1), "None and NaN stand for a missing cell"),
    ],
)
def test_states_are_checked(states, said):
    assert said in error({"a": states}, {}, {"a": FAIR})


def test_names_are_checked():
    fair = {"a": FAIR}
    assert "at least one node" in error({}, {}, {})
    assert "keys are names" in error({1: BIT}, {}, fair)
    assert "a mapping" in error([BIT], {}, fair)
    assert "none for a" in error({"a": BIT}, {}, {})
    assert "of nodes that `states` names, got 'b'" in error({"a": BIT}, {}, {**fair, "b": FAIR})
    assert "of nodes that `states` names, got 'b'" in error({"a": BIT}, {"b": ()}, fair)
    assert "parents['a'] must be nodes that `states` names, got 'b'" in error({"a": BIT}, {"a": ("b",)}, fair)
    assert "Write ('b',)" in error({"a": BIT, "b": BIT}, {"a": "b"}, {**fair, "b": FAIR})
    assert "all different" in error({"a": BIT, "b": BIT}, {"a": ("b", "b")}, {**fair, "b": FAIR})
    assert "properties" in error({"a": BIT}, {}, fair, properties={"b": ("x",)})
    many = {str(i): BIT for i in range(MAX_PARENTS + 2)}
    tables = dict.fromkeys(many, FAIR)
    assert f"at most {MAX_PARENTS}, got {MAX_PARENTS + 1}" in error(many, {"0": tuple(many)[1:]}, tables)


def test_tables_are_checked():
    states, parents = {"a": ("x", "y"), "b": ("u", "v", "w"), "c": BIT}, {"c": ("a", "b")}
    tables = {"a": FAIR, "b": [0.2, 0.3, 0.5], "c": np.full((2, 3, 2), 0.5)}

    def said(table):
        return error(states, parents, {**tables, "c": table})

    assert "of shape (2, 3, 2) (states: 2 of a, 3 of b, 2 own), got (3, 2, 2)" in said(np.full((3, 2, 2), 0.5))
    assert "an array of numbers" in said("x")
    assert "an array of numbers" in said([[1], [1, 2]])
    table = np.full((2, 3, 2), 0.5)
    for bad, message in [
        (0.4, "tables['c'] must be rows that sum to 1, given a=y, b=u, got 0.9"),
        (-0.5, "tables['c'] must be finite and ≥ 0, given a=y, b=u, got -0.5"),
        (np.nan, "finite and ≥ 0, given a=y, b=u, got nan"),
        (np.inf, "finite and ≥ 0, given a=y, b=u, got inf"),
    ]:
        table[1, 0, 1] = bad
        assert message in said(table)
    table[1, 0] = 0.0
    assert "positive sum, given a=y, b=u" in error(states, parents, {**tables, "c": table}, normalise=True)


def test_printed_rows_are_divided_by_their_sums_and_exact_ones_left_alone():
    row = np.array([0.333333, 0.333333, 0.333333])
    third = NetworkDefinition({"a": (0, 1, 2)}, {}, {"a": row})
    np.testing.assert_array_equal(third.tables["a"], row / row.sum())
    again = NetworkDefinition(third.states, {}, third.tables)
    np.testing.assert_array_equal(again.tables["a"], third.tables["a"])
    for off in (1.1e-5, -1.1e-5):
        assert "normalise=True" in error({"a": BIT}, {}, {"a": [0.5, 0.5 + off]})
    NetworkDefinition({"a": BIT}, {}, {"a": [0.5, 0.5 + 0.9e-5]})
    counts = NetworkDefinition({"a": BIT}, {}, {"a": [3, 1]}, normalise=True)
    np.testing.assert_array_equal(counts.tables["a"], [0.75, 0.25])


@given(st.integers(1, 30), st.integers(0, 9999))
def test_normalising_twice_changes_nothing(n, seed):
    row = np.random.default_rng(seed).dirichlet(np.full(n, 0.3))
    first = NetworkDefinition({"a": range(n)}, {}, {"a": row * (1.0 + 3e-6)})
    np.testing.assert_array_equal(NetworkDefinition(first.states, {}, first.tables).tables["a"], first.tables["a"])
    np.testing.assert_allclose(first.tables["a"], row, rtol=1e-14)


def test_a_cycle_is_reported_as_its_path():
    with pytest.raises(ParameterError, match="free of cycles, got 'a → b → c → a'") as caught:
        chain({"a": ("c",), "b": ("a",), "c": ("b",)})
    assert caught.value.value == "a → b → c → a"
    with pytest.raises(ParameterError, match="got 'a → a'"):
        chain({"a": ("a",)})
    # Nodes above and below a cycle are not of it.
    with pytest.raises(ParameterError, match="got 'b → c → b'"):
        chain({"b": ("a", "c"), "c": ("b",), "d": ("c",)}, "abcd")


@given(st.integers(2, 9), st.integers(0, 99999))
def test_order_and_cycles_of_random_graphs(n, seed):
    """Against the definition: some permutation has all parents first exactly where there is no cycle."""
    rng = np.random.default_rng(seed)
    names = "abcdefghi"[:n]
    parents = {
        node: tuple(str(p) for p in rng.permutation([q for q in names if q != node])[: rng.integers(0, 3)])
        for node in names
    }
    try:
        order = chain(parents, names).order
    except ParameterError as caught:
        path = caught.value.split(" → ")
        assert path[0] == path[-1]
        assert len(set(path)) == len(path) - 1
        assert all(above in parents[node] for above, node in pairwise(path))
    else:
        assert sorted(order) == list(names)
        assert all(order.index(p) < order.index(node) for node in names for p in parents[node])
        if n <= 6:  # the first such permutation, of all
            valid = (o for o in permutations(names) if all(o.index(p) < o.index(x) for x in names for p in parents[x]))
            assert order == next(valid)


def test_long_chains_need_no_recursion():
    names = [f"n{i}" for i in range(20_000)]
    parents = {node: (above,) for above, node in pairwise(names)}
    tables = {node: np.full((2, 2), 0.5) for node in names} | {names[0]: FAIR}
    states = dict.fromkeys(reversed(names), BIT)
    assert NetworkDefinition(states, parents, tables).order == tuple(names)
    with pytest.raises(ParameterError, match="free of cycles"):
        NetworkDefinition(states, {**parents, names[0]: (names[-1],)}, {**tables, names[0]: np.full((2, 2), 0.5)})


# -- from_edges ------------------------------------------------------------------------------------------------------

EDGES = [("a", "c"), ("b", "c")]
TABLE = np.random.default_rng(0).dirichlet(np.ones(2), size=(2, 3))
A, B = {"x": 0.3, "y": 0.7}, {1: 0.2, 2: 0.3, 3: 0.5}
ROWS = {(a, b): TABLE[i, j] for i, a in enumerate("xy") for j, b in enumerate((1, 2, 3))}


@pytest.mark.parametrize(
    "table",
    [
        TABLE,
        TABLE.tolist(),
        ROWS,
        {key: dict(zip((False, True), row)) for key, row in ROWS.items()},
        {key: {True: row[1], False: row[0]} for key, row in ROWS.items()},
        {key: {True: row[1]} for key, row in ROWS.items()},
        {a: {b: ROWS[a, b] for b in (3, 1, 2)} for a in "yx"},
        {a: {(b,): ROWS[a, b] for b in (1, 2, 3)} for a in "xy"},
        Factor(["c", "b", "a"], TABLE.T, [(False, True), (1, 2, 3), ("x", "y")]),
        Factor(["a", "c", "b"], TABLE[::-1].transpose(0, 2, 1), [("y", "x"), (False, True), (1, 2, 3)]),
    ],
)
def test_one_table_in_many_forms(table):
    network = NetworkDefinition.from_edges(EDGES, {"a": A, "b": B, "c": table}, {"c": (False, True)})
    assert network.nodes == ("c", "a", "b")
    assert network.parents["c"] == ("a", "b")
    np.testing.assert_allclose(network.tables["c"], TABLE, rtol=0, atol=1e-15)


def test_states_come_from_where_they_are_said():
    network = NetworkDefinition.from_edges(
        [("d", "e")], {"a": A, "b": FAIR, "c": Factor("c", FAIR, {"c": ["n", "y"]}), "d": {7: 1},
                       "e": {7: {"p": 1, "q": 0}}}
    )  # fmt: skip
    assert dict(network.states) == {"a": ("x", "y"), "b": (0, 1), "c": ("n", "y"), "d": (7,), "e": ("p", "q")}
    assert network.nodes == ("a", "b", "c", "d", "e")
    thirds = NetworkDefinition.from_edges([], {"a": {k: Fraction(1, 3) for k in "xyz"}})
    np.testing.assert_array_equal(thirds.tables["a"], np.full(3, 1 / 3))


def test_parents_keep_the_order_of_the_edges():
    network = NetworkDefinition.from_edges(EDGES[::-1], {"a": A, "b": B, "c": TABLE.transpose(1, 0, 2)})
    assert network.parents["c"] == ("b", "a")
    assert network.order == ("a", "b", "c")


@pytest.mark.parametrize(
    ("edges", "table", "said"),
    [
        (EDGES, {k: v for k, v in ROWS.items() if k != ("y", 2)}, "states of the parents, got 'none for y, 2'"),
        (EDGES, {"x": {1: FAIR}, **ROWS}, "each row once, got 'two for x, 1'"),
        (EDGES, {**ROWS, ("z", 1): FAIR}, "keyed by the parents' states, got ('z', 1)"),
        (EDGES, {**ROWS, ("x", 1): [1.0]}, "row x, 1, must be 2 numbers, got [1.0]"),
        (EDGES, {**ROWS, ("x", 1): {0: 0.5, 2: 0.5}}, "row x, 1, must be keyed by the states (0, 1), got 2"),
        (EDGES, {**ROWS, ("x", 1): {}}, "a number for all states but at most one"),
        (EDGES, {**ROWS, ("x", 1): {0: "much"}}, "from states to numbers"),
        (EDGES, {**ROWS, ("x", 1): "much"}, "numbers, or a dict"),
        (EDGES, {"x": FAIR, "y": FAIR}, "a dict keyed by the parents' states, got [0.5, 0.5]"),
        (EDGES, "much", "a dict, an array, a factor or a rule, got 'much'"),
        (EDGES, Factor("c", FAIR), "a factor of a, b, c, got ('c',)"),
        (EDGES, Factor(["a", "b", "c"], TABLE, [("x", "z"), (1, 2, 3), (0, 1)]), "over the states ('x', 'y') of a"),
        (EDGES, Factor(["a", "b", "c"], TABLE[None], [("x", "y"), (1, 2, 3), (0, 1)]), "not a batch"),
        ([*EDGES, ("a", "c")], TABLE, "edges must be all different, got ('a', 'c')"),
        (["ac"], TABLE, "pairs of names (parent, child), got 'ac'"),
        ([("a", "d")], TABLE, "a table for every node, got 'none for d'"),
        ([("a", "c"), ("c", "a")], TABLE, "free of cycles, got 'c → a → c'"),
    ],
)  # fmt: skip
def test_from_edges_says_what_is_wrong(edges, table, said):
    with pytest.raises(ParameterError) as caught:
        NetworkDefinition.from_edges(edges, {"a": A, "b": B, "c": table}, {"c": (0, 1)})
    assert said in str(caught.value)


def test_tables_too_large_are_refused_before_memory_is_asked_for():
    parents = [f"p{i}" for i in range(MAX_PARENTS)]
    tables = {**dict.fromkeys(parents, FAIR), "a": {(0,) * MAX_PARENTS: FAIR}}
    with pytest.raises(
        ParameterError, match=r"of at most 134217728 probabilities, got 4294967296\. Gather the parents"
    ):
        NetworkDefinition.from_edges([(parent, "a") for parent in parents], tables)


def test_a_slip_of_the_pen_in_a_row_makes_no_state():
    rows = {"x": {"wet": 0.3, "dry": 0.7}, "y": {"wet": 0.5, "dyr": 0.5}}
    with pytest.raises(ParameterError, match=r"row y, must .*'wet', 'dry'.*'dyr'.*Did you mean 'dry'"):
        NetworkDefinition.from_edges([("a", "b")], {"a": {"x": 0.5, "y": 0.5}, "b": rows})
    named = NetworkDefinition.from_edges(
        [("a", "b")], {"a": {"x": 0.5, "y": 0.5}, "b": rows}, {"b": ("wet", "dry", "dyr")}
    )
    assert named.tables["b"].tolist() == [[0.3, 0.7, 0.0], [0.5, 0.0, 0.5]]
    one = NetworkDefinition.from_edges([("a", "b")], {"a": [0.5, 0.5], "b": {0: {"n": 0.2, "y": 0.8}, 1: {"y": 1.0}}})
    assert one.tables["b"].tolist() == [[0.2, 0.8], [0.0, 1.0]]
