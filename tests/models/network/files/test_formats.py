"""The four formats: known files by enumeration, and everything kept through a round trip."""

import gzip
import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from credo.errors import ParameterError, SaveError, StorageError
from credo.models.network.definition import NetworkDefinition
from credo.models.network.files import FORMATS, read_network, write_network
from credo.models.network.files.bif_entries import RowTables
from credo.models.network.files.source import decoded

DATA = Path(__file__).parents[3] / "data" / "bayesnets"


def read(format, text, normalise=False):
    return FORMATS[format][0](decoded(text.encode(), "f"), normalise)


def through(format, definition):
    return read(format, "".join(FORMATS[format][1](definition, False)))


def joint(definition):
    """P(x) for all x, axes in the order of the nodes: the product of all tables."""
    axes = {node: i for i, node in enumerate(definition.nodes)}
    operands = []
    for node, table in definition.tables.items():
        operands += [table, [axes[each] for each in (*definition.parents[node], node)]]
    return np.einsum(*operands, list(range(len(axes))))


def marginals(definition, evidence):
    """(log P(e), node → P(node | e)) by enumeration; evidence as node → number of the state."""
    p = joint(definition)
    for node, i in evidence.items():
        keep = np.zeros(len(definition.states[node]))
        keep[i] = 1.0
        p = p * keep.reshape([-1 if each == node else 1 for each in definition.nodes])
    total = p.sum()
    return np.log(total), {
        node: p.sum(axis=tuple(i for i in range(p.ndim) if i != axis)) / total
        for axis, node in enumerate(definition.nodes)
    }


@pytest.mark.parametrize("name", ["asia.bif", "dog.bifxml"])
def test_named_references(name):
    definition = read_network(DATA / name)
    reference = json.loads((DATA / f"{name.partition('.')[0]}.reference.json").read_text())
    if "states" in reference:
        assert {node: tuple(states) for node, states in reference["states"].items()} == dict(definition.states)
    for case in reference["cases"]:
        evidence = {node: definition.states[node].index(state) for node, state in case["evidence"].items()}
        log_p, posterior = marginals(definition, evidence)
        assert log_p == pytest.approx(case["log_prob_evidence"], abs=1e-11)
        for node, p in case["marginals"].items():
            np.testing.assert_allclose(posterior[node], p, rtol=0, atol=1e-11)


def test_uai_reference():
    definition = read_network(DATA / "asia.uai")
    assert definition.nodes == tuple("01234567")
    assert definition.states["7"] == (0, 1)
    for case in json.loads((DATA / "asia.uai.reference.json").read_text())["cases"]:
        log_p, posterior = marginals(definition, case["evidence"])
        assert log_p == pytest.approx(case["log_partition_natural"], abs=1e-11)
        for node, p in zip(definition.nodes, case["marginals"], strict=True):
            np.testing.assert_allclose(posterior[node], p, rtol=0, atol=1e-11)


def test_textbook_answers():
    # Korb and Nicholson's earthquake network has Russell and Norvig's structure with other numbers; computed by hand:
    # P(alarm) = Σ P(b) P(e) P(a | b, e).
    earthquake = read_network(DATA / "earthquake.bif")
    _, posterior = marginals(earthquake, {})
    expected = 0.01 * (0.02 * 0.95 + 0.98 * 0.94) + 0.99 * (0.02 * 0.29 + 0.98 * 0.001)
    assert posterior["Alarm"][0] == pytest.approx(expected, abs=1e-15)
    # Cancer: P = Σ over pollution (0.9 low) and smoker (0.3).
    _, posterior = marginals(read_network(DATA / "cancer.bif"), {})
    assert posterior["Cancer"][0] == pytest.approx(0.9 * (0.3 * 0.03 + 0.7 * 0.001) + 0.1 * (0.3 * 0.05 + 0.7 * 0.02))


def test_bif_and_net_of_one_network_agree():
    bif, net = read_network(DATA / "alarm.bif"), read_network(DATA / "alarm.net")
    assert len(bif.nodes) == len(net.nodes) == 37
    assert bif.n_parameters == net.n_parameters == 509
    # The same tables under the names of two traditions; compared by the sorted numbers.
    a = np.sort(np.concatenate([table.ravel() for table in bif.tables.values()]))
    b = np.sort(np.concatenate([table.ravel() for table in net.tables.values()]))
    np.testing.assert_allclose(a, b, atol=1e-6)


def test_defaults_comments_properties_and_the_orders_of_bif():
    text = """
    // the spring's network
    network "two words" { property by hand; property "a; b"; }
    variable a { type discrete [2] { t, f }; property colour green; }  /* states: t
    and f */
    variable b { type discrete[3] {"x y", y, 3}; }
    probability ( c | a, b ) {
      default 0.25, 0.75;
      (f, 3) 1.0 0;
      property measured 1999;
      (t, "x y") .1, 9e-1;
    }
    variable c { type discrete [ 2 ] { no, yes }; }
    probability ( b | a ) { table 0.1, 0.2,  0.3, 0.3,  0.6, 0.5; }
    probability(a){table 1,0;}
    """
    network = read("bif", text)
    assert network.name == "two words"
    assert network.nodes == ("a", "b", "c")
    assert network.states["b"] == ("x y", "y", "3")
    assert dict(network.properties) == {"": ("by hand", "a; b"), "a": ("colour green",), "c": ("measured 1999",)}
    # `table` with parents lists the node's own states slowest, unlike the rows.
    np.testing.assert_array_equal(network.tables["b"], [[0.1, 0.3, 0.6], [0.2, 0.3, 0.5]])
    rest = [0.25, 0.75]
    np.testing.assert_array_equal(network.tables["c"], [[[0.1, 0.9], rest, rest], [rest, rest, [1, 0]]])


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("separator", [", ", ",", " ", " ,\n"])
def test_rows_of_bif_in_any_order_and_spelling(reverse, separator):
    rng = np.random.default_rng(3)
    states = {"a": ("0", "1"), "b": ("x", "y", "z"), "c": ("Asy/Patch", "<5")}
    table = rng.dirichlet(np.ones(2), size=(2, 3))
    declared = "".join(
        f"variable {n} {{ type discrete [{len(s)}] {{ {', '.join(s)} }}; }}\n" for n, s in states.items()
    )
    keys = list(product(range(2), range(3)))
    for order in (keys, sorted(keys, key=lambda key: key[::-1]), list(rng.permutation(keys))):
        rows = [
            f"({separator.join((states['a'][i], states['b'][j]))}) {separator.join(map(repr, table[i, j].tolist()))};"
            for i, j in (order[::-1] if reverse else order)
        ]
        text = f"{declared}probability (a) {{ table .5 .5; }} probability (b) {{ table 0 1 0; }}\n"
        network = read("bif", f"{text}probability (c | a b) {{ {' '.join(rows)} }}")
        np.testing.assert_array_equal(network.tables["c"], table)


@pytest.mark.parametrize("name", ["asia.bif", "cancer.bif", "alarm.bif", "sprinkler.bif"])
def test_tables_in_bulk_are_tables_entry_by_entry(name, monkeypatch):
    bulk = read_network(DATA / name)
    monkeypatch.setattr(RowTables, "_ordinary", lambda *_: None)
    assert read_network(DATA / name) == bulk


def test_net_attributes_and_brackets():
    network = read(
        "net",
        """net { name = "a net"; node_size = (80 40); }  % a comment with "quotes
        discrete node A { label = "the first (100%)"; states = ("yes" "no"); position = (1 2); }
        node B { states = (x y "z;"); }
        potential (A) { data = ( 0.25 0.75 ); }
        potential (B | A) { data = ((0.1 0.2 0.7)  % A=yes
                                    (0.3 0.3 0.4)); experience = (3 4); }""",
    )
    assert network.name == "a net"
    assert network.states["B"] == ("x", "y", "z;")
    assert network.properties["A"] == ('label = "the first (100%)"', "position = (1 2)")
    np.testing.assert_array_equal(network.tables["B"], [[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]])
    written = "".join(FORMATS["net"][1](network, False))
    assert '  label = "the first (100%)";\n' in written
    assert through("net", network) == network


def test_dialects_of_other_programs():
    javabayes = read(
        "bif",
        """network "Dog-Problem" { //2 variables and "2" probability distributions
             property "credal-set constant-density-bounded 1.1" ; }
           variable  "light-on" { //2 values
             type discrete[2] {  "true"  "false" };
             property "position = (218, 195)" ; }
           variable  "family-out" { type discrete[2] {  "true"  "false" }; }
           probability (  "light-on"  "family-out" ) { //2 variable(s) and 4 values
             table 0.6 0.05 0.4 0.95 ; }
           probability (  "family-out" ) { table 0.15 0.85 ; }""",
    )
    assert javabayes.properties["light-on"] == ("position = (218, 195)",)
    samiam = read(
        "net",
        """net { propagationenginegenerator1791944048146838126L = "edu.ucla"; node_size = (130.0 55.0); }
           node variable1 { states = ("true" "false" ); position = (18 -66); excludepolicy = "include whole CPT";
             ID = "variable1"; label = "family-out"; }
           node variable0 { states = ("true" "false" ); label = "light-on"; }
           potential ( variable1 | ) { data = ( 0.15 0.85 ); }
           potential ( variable0 | variable1 ) { data = (( 0.6 0.4 ) ( 0.05 0.95 )); }""",
    )
    weka = read(
        "xmlbif",
        """<?xml version="1.0"?>
        <!-- DTD for the XMLBIF 0.3 format -->
        <!DOCTYPE BIF [
          <!ELEMENT BIF ( NETWORK )*> <!ATTLIST BIF VERSION CDATA #REQUIRED>
          <!ELEMENT NETWORK ( NAME, ( PROPERTY | VARIABLE | DEFINITION )* )> <!ELEMENT NAME (#PCDATA)>
        ]>
        <BIF VERSION="0.3" xmlns="http://www.cs.ubc.ca/labs/lci/fopi/ve/XMLBIFv0_3">
        <NETWORK><NAME>dog</NAME>
        <VARIABLE TYPE="nature"><NAME>light-on</NAME><OUTCOME>true</OUTCOME><OUTCOME>false</OUTCOME></VARIABLE>
        <VARIABLE TYPE="nature"><NAME>family-out</NAME><OUTCOME>true</OUTCOME><OUTCOME>false</OUTCOME></VARIABLE>
        <DEFINITION><FOR>light-on</FOR><GIVEN>family-out</GIVEN><TABLE>
          0.6 0.4 <!-- away -->
          0.05 0.95</TABLE></DEFINITION>
        <DEFINITION><FOR>family-out</FOR><TABLE>.15 85e-2</TABLE></DEFINITION>
        </NETWORK></BIF>""",
    )
    uai = read("uai", "BAYES\n2\n2 2\n2\n2 1 0  # light-on\n1 1\n\n4\n 0.6 0.4\n 0.05 0.95\n2 0.15 0.85\n")
    assert javabayes == weka
    for network, light, family in ((samiam, "variable0", "variable1"), (uai, "0", "1")):
        assert network.parents[light] == (family,)
        np.testing.assert_array_equal(network.tables[light], weka.tables["light-on"])
        np.testing.assert_array_equal(network.tables[family], weka.tables["family-out"])


def test_printed_rows_are_normalised_up_to_1e_5():
    text = "network n {{}} variable a {{ type discrete [3] {{ x, y, z }}; }} probability (a) {{ table {}; }}"
    third = read("bif", text.format("0.333333, 0.333333, 0.333333"))
    np.testing.assert_array_equal(third.tables["a"], np.full(3, 0.333333) / np.full(3, 0.333333).sum())
    with pytest.raises(ValueError, match="sum to 1"):
        read("bif", text.format("0.3333, 0.3333, 0.3333"))
    np.testing.assert_allclose(read("bif", text.format("2, 1, 1"), normalise=True).tables["a"], [0.5, 0.25, 0.25])


NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
STATES = st.one_of(
    st.lists(NAMES, min_size=1, max_size=3, unique=True),
    st.lists(st.integers(), min_size=1, max_size=3, unique=True),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=3, unique_by=str),
    st.just([False, True]),
    st.just(["1", 2, False, 0.5]),
)


@st.composite
def networks(draw):
    names = draw(st.lists(NAMES.filter(bool), min_size=1, max_size=4, unique=True))
    states = {name: tuple(draw(STATES)) for name in names}
    for name in names:
        if len(set(states[name])) < len(states[name]):  # 0.0 and −0.0
            states[name] = states[name][:1]
    parents = {name: tuple(draw(st.permutations(names[:i])))[: draw(st.integers(0, 2))] for i, name in enumerate(names)}
    rng = np.random.default_rng(draw(st.integers(0, 9999)))
    order = draw(st.permutations(names))
    tables = {
        name: rng.dirichlet(np.ones(len(states[name])), size=[len(states[parent]) for parent in parents[name]])
        for name in names
    }
    properties = {order[0]: tuple(draw(st.lists(NAMES.filter(str.strip).map(str.strip), max_size=2)))}
    return NetworkDefinition({name: states[name] for name in order}, parents, tables, draw(NAMES), properties)


def is_xml(text):
    return all(c in "\t\n\r" or (c >= " " and c not in "\ufffe\uffff") for c in text)


@settings(max_examples=80)
@given(networks())
def test_round_trips_keep_everything(network):
    texts = [network.name, *network.nodes, *network.properties[network.nodes[0]]]
    texts += [state for states in network.states.values() for state in states if isinstance(state, str)]
    for format in ("bif", "net", "xmlbif"):
        if format == "xmlbif" and not all(map(is_xml, texts)):
            with pytest.raises(SaveError, match="XML cannot hold the character"):
                through(format, network)
            continue
        again = through(format, network)
        assert again == network, format
        assert again.properties.get(network.nodes[0], ()) == network.properties[network.nodes[0]]
        assert again.name == (network.name if format != "bif" or network.name != "unknown" else "")


@settings(max_examples=25)
@given(networks())
def test_uai_keeps_numbers_and_refuses_names(network):
    with pytest.raises(SaveError, match=r"UAI file cannot hold the names .* lossy=True"):
        through("uai", NetworkDefinition({"x": ("a",)}, {}, {"x": [1.0]}))
    again = read("uai", "".join(FORMATS["uai"][1](network, True)))
    assert again.nodes == tuple(map(str, range(len(network.nodes))))
    for node, table in zip(network.nodes, again.tables.values(), strict=True):
        np.testing.assert_array_equal(table, network.tables[node])
    assert through("uai", again) == again


def test_states_that_no_file_can_hold_are_named(tmp_path):
    for state in ((1, 2), 1j, b"x", float("inf")):
        network = NetworkDefinition({"a": ("x", state)}, {}, {"a": [0.5, 0.5]})
        with pytest.raises(SaveError, match=r"of 'a' cannot be written"):
            write_network(network, tmp_path / "a.bif")
    with pytest.raises(SaveError, match="Two states of 'a' are written '1'"):
        write_network(NetworkDefinition({"a": ("1", 1)}, {}, {"a": [0.5, 0.5]}), tmp_path / "a.net")
    with pytest.raises(SaveError, match="lone surrogate"):
        write_network(NetworkDefinition({"a": ("\ud800",)}, {}, {"a": [1.0]}), tmp_path / "a.bif")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", ["bif", "BIF", "bif.gz", "xmlbif", "bifxml", "xml", "net", "net.gz", "xml.gz"])
def test_endings_choose_the_format(tmp_path, ending):
    network = read_network(DATA / "asia.bif")
    path = tmp_path / f"my.asia.{ending}"
    write_network(network, path)
    first = path.read_bytes()
    assert first.startswith(b"\x1f\x8b") == ending.endswith("gz")
    write_network(network, path)
    assert path.read_bytes() == first
    assert read_network(path) == network
    if ending.endswith("gz"):  # what is in the file counts, not its name
        plain = tmp_path / f"plain.{ending}"
        plain.write_bytes(gzip.decompress(first))
        assert read_network(plain) == network


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.bif"
    path.write_text("old")
    with pytest.raises(SaveError):
        write_network(NetworkDefinition({"a": ((),)}, {}, {"a": [1.0]}), path)
    assert path.read_text() == "old"
    with pytest.raises(StorageError):
        write_network(read_network(DATA / "asia.bif"), tmp_path / "none" / "a.bif")
    with pytest.raises(ParameterError, match="the path of a file"):
        write_network(read_network(DATA / "asia.bif"), 3)
