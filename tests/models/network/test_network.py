"""`BayesianNetwork` against known answers, and against the joint table of random networks."""

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest

import credo as cr
from credo.errors import MemoryLimitError, ParameterError, SaveError, ZeroProbabilityError
from credo.models.network.definition import NetworkDefinition
from credo.models.network.network import BayesianNetwork
from credo.models.network.nodes import Deterministic
from credo.probability.factors import Factor

from .random_networks import Enumeration, drawn_row, random_network

DATA = Path(__file__).parents[2] / "data" / "bayesnets"

YN = ("no", "yes")


def yes(*p):
    """Rows (no, yes) from the probabilities of yes."""
    p = np.array(p[0] if len(p) == 1 else p)
    return np.stack([1 - p, p], axis=-1)


@pytest.fixture(scope="module")
def sprinkler():
    return BayesianNetwork(
        [("cloudy", "sprinkler"), ("cloudy", "rain"), ("sprinkler", "wet"), ("rain", "wet")],
        {
            "cloudy": [0.5, 0.5],
            "sprinkler": yes(0.5, 0.1),
            "rain": yes(0.2, 0.8),
            "wet": yes([0.0, 0.9], [0.9, 0.99]),
        },
        dict.fromkeys(("cloudy", "sprinkler", "rain", "wet"), YN),
    )


def test_sprinkler(sprinkler):
    wet = {"wet": "yes"}
    assert sprinkler.query("wet")["yes"] == pytest.approx(0.6471, abs=1e-12)
    assert sprinkler.probability(wet) == pytest.approx(0.6471, abs=1e-12)
    assert sprinkler.query("sprinkler", wet)["yes"] == pytest.approx(0.4297636, abs=5e-8)
    assert sprinkler.query("rain", wet)["yes"] == pytest.approx(0.7079277, abs=5e-8)
    assert sprinkler.query("sprinkler", {**wet, "rain": "yes"})["yes"] == pytest.approx(0.1944990, abs=5e-8)
    assert sprinkler.query("rain", {**wet, "sprinkler": "yes"})["yes"] == pytest.approx(0.3203883, abs=5e-8)
    done = sprinkler.do({"sprinkler": "yes"})
    assert done.query("rain", wet)["yes"] == pytest.approx(0.5238095, abs=5e-8)
    assert done.query("rain")["yes"] == pytest.approx(0.5, abs=1e-12)
    assert done.edges == (("cloudy", "rain"), ("sprinkler", "wet"), ("rain", "wet"))
    assert sprinkler.mpe(wet).states == {"cloudy": "yes", "sprinkler": "no", "rain": "yes"}


def test_three_nodes():
    garden = BayesianNetwork(
        [("rain", "sprinkler"), ("sprinkler", "wet"), ("rain", "wet")],
        {"rain": yes(0.2), "sprinkler": yes(0.4, 0.01), "wet": yes([0, 0.8], [0.9, 0.99])},
    )
    assert garden.query("wet")[1] == pytest.approx(0.44838, abs=1e-12)
    assert garden.query("rain", {"wet": 1})[1] == pytest.approx(0.3576877, abs=5e-8)


def test_student():
    student = BayesianNetwork(
        [("i", "g"), ("d", "g"), ("i", "s"), ("g", "l")],
        {
            "d": yes(0.4),
            "i": yes(0.3),
            "g": [[[0.3, 0.4, 0.3], [0.05, 0.25, 0.7]], [[0.9, 0.08, 0.02], [0.5, 0.3, 0.2]]],
            "s": yes(0.05, 0.8),
            "l": yes(0.9, 0.6, 0.01),
        },
    )
    assert student.query("l")[1] == pytest.approx(0.502336, abs=5e-7)
    assert student.query("l", {"i": 0})[1] == pytest.approx(0.3886, abs=5e-5)
    assert student.query("l", {"i": 0, "d": 0})[1] == pytest.approx(0.513, abs=1e-12)
    assert student.query("i", {"g": 2})[1] == pytest.approx(0.0789474, abs=5e-8)
    assert student.query("i", {"g": 2, "s": 1})[1] == pytest.approx(0.5783133, abs=5e-8)
    assert student.query("i", {"l": 0})[1] == pytest.approx(0.1400222, abs=5e-8)


def test_asia():
    asia = BayesianNetwork.read(DATA / "asia.bif")
    assert asia.query("tub")["yes"] == pytest.approx(0.0104, abs=1e-12)
    assert asia.query("lung")["yes"] == pytest.approx(0.055, abs=1e-12)
    assert asia.query("xray")["yes"] == pytest.approx(0.110290, abs=5e-7)
    assert asia.query("dysp")["yes"] == pytest.approx(0.435971, abs=5e-7)
    evidence = {"asia": "yes", "dysp": "yes"}
    found = asia.query(["tub", "lung", "bronc"], evidence)
    assert list(found) == ["tub", "lung", "bronc"]
    assert [f["yes"] for f in found.values()] == pytest.approx([0.087751, 0.099525, 0.811402], abs=5e-7)
    assert asia.probability(evidence) == pytest.approx(0.004501375, abs=1e-12)


def test_earthquake():
    names = ("burglary", "quake", "alarm", "john", "mary")
    network = BayesianNetwork(
        [("burglary", "alarm"), ("quake", "alarm"), ("alarm", "john"), ("alarm", "mary")],
        {
            "burglary": yes(0.001),
            "quake": yes(0.002),
            "alarm": yes([0.001, 0.29], [0.94, 0.95]),
            "john": yes(0.05, 0.9),
            "mary": yes(0.01, 0.7),
        },
        dict.fromkeys(names, YN),
    )
    assert network.query("burglary", {"john": "yes", "mary": "yes"})["yes"] == pytest.approx(0.2841718, abs=5e-8)


def test_monty_hall():
    doors = ("a", "b", "c")

    def opened(prize, choice):  # a door that is neither; of two, either
        free = [door for door in doors if door not in (prize, choice)]
        return {door: (door in free) / len(free) for door in doors}

    show = BayesianNetwork(
        [("prize", "opened"), ("choice", "opened")],
        {
            "prize": np.full(3, 1 / 3),
            "choice": np.full(3, 1 / 3),
            "opened": {p: {c: opened(p, c) for c in doors} for p in doors},
        },
        {"prize": doors, "choice": doors},
    )
    prize = show.query("prize", {"choice": "a", "opened": "b"})
    assert [prize["a"], prize["b"], prize["c"]] == pytest.approx([1 / 3, 0, 2 / 3], abs=1e-12)
    with pytest.raises(ZeroProbabilityError, match=r"choice='a', opened='a' cannot occur together"):
        show.query("prize", {"choice": "a", "opened": "a"})


def check_every_question(seed):
    """Everything a random network can be asked, with and without evidence, soft and hard."""
    network, rng = random_network(seed)
    truth, nodes = Enumeration(network), list(network.nodes)
    row = drawn_row(network, rng)
    chosen = list(rng.permutation(nodes))
    evidence = {name: row[name] for name in chosen[: int(rng.integers(0, len(nodes)))]}
    free = [name for name in nodes if name not in evidence]
    mixed = dict(evidence)
    if len(free) > 1:  # soft evidence on one that is not asked for
        vector = rng.random(len(network.states[free[-1]])) + 0.01
        mixed[free[-1]] = dict(zip(network.states[free[-1]], vector)) if rng.random() < 0.5 else vector
    for seen in (evidence, mixed):
        close(network.probability(seen), truth.probability(seen))
        close(network.query(free[0], seen).values, truth.law([free[0]], seen))
        for name, law in network.marginals(seen).items():
            assert tuple(law) == network.states[name]
            close(list(law.values()), truth.law([name], seen))
        hard = {name for name in seen if name in evidence}
        mpe = network.mpe(seen)
        assert set(mpe.states) == set(nodes) - hard
        best = truth.given(seen).max()
        close(mpe.log_probability, np.log(best))
        close(truth.given(seen)[where(network, {**row, **mpe.states})], best)
    targets = free[:2][::-1]
    close(network.query(targets, evidence, joint=True).values, truth.law(targets, evidence))
    apart = network.query(targets, evidence)
    for name in targets:
        close(apart[name].values, truth.law([name], evidence))
    found = network.map(targets, evidence)
    close(found.log_probability, np.log(truth.best(targets, evidence)))
    close(np.exp(network.log_probability({**evidence, **found.states})), truth.best(targets, evidence))
    check_do(network, row, evidence, free)


def check_do(network, row, evidence, free):
    """Truncated factorisation: the joint table without the factor of what is done."""
    acted = free[0]
    changed = network.do({acted: row[acted]})
    d = network.definition_
    tables = {name: np.full_like(t, float(name == acted)) if name == acted else t for name, t in d.tables.items()}
    joint = np.ones([len(s) for s in d.states.values()])
    for place in np.ndindex(*joint.shape):
        at = dict(zip(d.states, place))
        joint[place] = at[acted] == d.states[acted].index(row[acted])
        for name in d.states:
            joint[place] *= tables[name][tuple(at[p] for p in (*d.parents[name], name))]
    truth = Enumeration.__new__(Enumeration)
    truth.nodes, truth.states, truth.joint = network.nodes, dict(network.states), joint
    close(changed.probability(evidence), truth.probability(evidence))
    if truth.probability(evidence) > 0.0:
        for name in free:
            close(changed.query(name, evidence).values, truth.law([name], evidence))


def where(network, row):
    return tuple(network.states[name].index(row[name]) for name in network.nodes)


def close(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-13)


def test_every_question_equals_enumeration():
    for seed in range(200):
        check_every_question(seed)


@pytest.mark.slow
def test_every_question_equals_enumeration_on_a_thousand_networks(replicates):
    for seed in range(200, 200 + replicates(100, 800)):
        check_every_question(seed)


def test_tables_may_be_factors_and_rules():
    a = Factor("a", [0.3, 0.7], [YN])
    network = BayesianNetwork([("a", "b")], {"a": a, "b": Deterministic(lambda a: a == "yes")}, {"b": (False, True)})
    assert network.query("b")[True] == pytest.approx(0.7)
    assert network.table("b").names == ("a", "b")
    assert network.table("a").values.tolist() == [0.3, 0.7]
    assert network.parents("b") == ("a",)
    assert network.children("a") == ("b",)
    assert network.states["b"] == (False, True)


def test_unknown_names_and_states_come_with_those_alike(sprinkler):
    cases = [
        (lambda: sprinkler.query("rian"), "target must be a node.*Did you mean 'rain'"),
        (lambda: sprinkler.query(["rain", "wett"]), "Did you mean 'wet'"),
        (lambda: sprinkler.query("rain", {"Wet": "yes"}), r"evidence must be a node.*Did you mean 'wet'"),
        (lambda: sprinkler.query("rain", {"wet": "Yes"}), r"evidence\['wet'\] must be a state of 'wet'.*mean 'yes'"),
        (lambda: sprinkler.marginals({"wet": 3}), r"evidence\['wet'\] must be a state"),
        (lambda: sprinkler.mpe({"wet": None}), r"evidence\['wet'\] must be a state"),
        (lambda: sprinkler.log_probability({"moon": "yes"}), "evidence must be a node"),
        (lambda: sprinkler.query("rain", {"rain": "yes"}), "target must be nodes without evidence"),
        (lambda: sprinkler.query("rain", ["wet"]), "evidence must be a mapping"),
        (lambda: sprinkler.query(3), "target must be a node"),
        (lambda: sprinkler.map(["rain", "moon"]), "target must be a node"),
        (lambda: sprinkler.do({"rain": "si"}), r"actions\['rain'\] must be a state"),
        (lambda: sprinkler.do({"moon": 1}), "actions must be a node"),
        (lambda: sprinkler.do(["rain"]), "actions must be a mapping"),
        (lambda: sprinkler.parents("moon"), "node must be a node"),
        (lambda: sprinkler.query("rain", {"wet": {"yes": 1.0}}), r"a likelihood for each state.*Add 'no'"),
        (lambda: sprinkler.query("rain", {"wet": {"yes": 1, "no": 1, "or": 1}}), r"must be a state of 'wet'"),
        (lambda: sprinkler.query("rain", {"wet": [1, 2, 3]}), r"must be 2 numbers"),
        (lambda: sprinkler.query("rain", {"wet": [1, -2]}), r"finite and ≥ 0"),
        (lambda: sprinkler.query("rain", {"wet": ["a", "b"]}), r"2 numbers"),
        (lambda: sprinkler.query("rain", {"moon": [1, 2]}), "evidence must be a node"),
        (lambda: BayesianNetwork.of("asia"), "definition must be a NetworkDefinition"),
        (lambda: BayesianNetwork.of(sprinkler.definition_, memory_limit=0), "memory_limit"),
    ]
    for call, message in cases:
        with pytest.raises(ParameterError, match=message):
            call()


def test_impossible_evidence_names_a_smallest_conflict(sprinkler):
    with pytest.raises(ZeroProbabilityError) as caught:
        sprinkler.query("cloudy", {"wet": "yes", "rain": "no", "sprinkler": "no"})
    assert caught.value.value == {"wet": "yes", "rain": "no", "sprinkler": "no"}
    surplus = sprinkler.do({"cloudy": "no"})
    for call in (surplus.marginals, surplus.mpe, lambda e: surplus.map("rain", e)):
        with pytest.raises(ZeroProbabilityError, match="set 'cloudy' to 'no', so that it cannot be seen as 'yes'"):
            call({"wet": "yes", "cloudy": "yes", "sprinkler": "no"})
    assert surplus.log_probability({"cloudy": "yes"}) == -np.inf
    assert surplus.probability({"cloudy": "yes"}) == 0.0
    with pytest.raises(ZeroProbabilityError, match="wet"):
        sprinkler.query("rain", {"wet": [0.0, 0.0]})


def test_conflict_sets_are_minimal_on_random_networks():
    met = 0
    for seed in range(200):
        network, rng = random_network(seed, zeros=0.5)
        truth = Enumeration(network)
        evidence = {name: own[rng.integers(len(own))] for name, own in network.states.items()}
        del evidence[network.nodes[0]]
        if truth.probability(evidence) > 0.0:
            continue
        met += 1
        with pytest.raises(ZeroProbabilityError) as caught:
            network.query(network.nodes[0], evidence)
        core = caught.value.value
        assert truth.probability(core) == 0.0
        for name in core:
            assert truth.probability({n: s for n, s in core.items() if n != name}) > 0.0
    assert met > 50


def test_saved_pickled_copied_and_compared(sprinkler, tmp_path):
    limited = BayesianNetwork.of(sprinkler.definition_, memory_limit=1 << 20)
    sprinkler.query("rain", {"wet": "yes"})
    cr.save(limited, tmp_path / "net.credo")
    for other in (
        cr.load(tmp_path / "net.credo"),
        pickle.loads(pickle.dumps(limited)),
        copy.copy(limited),
        copy.deepcopy(limited),
    ):
        assert other == sprinkler
        assert other.memory_limit == 1 << 20
        assert other.query("rain", {"wet": "yes"})["yes"] == sprinkler.query("rain", {"wet": "yes"})["yes"]
    assert sprinkler != sprinkler.do({"rain": "yes"})
    assert sprinkler != "sprinkler"
    with pytest.raises(TypeError):
        hash(sprinkler)
    assert repr(sprinkler) == "<BayesianNetwork 4 nodes, 4 edges, 9 parameters>"


def test_states_keep_their_types_through_files_and_answers(tmp_path):
    network = BayesianNetwork(
        [("a", "b")],
        {"a": [0.5, 0.5], "b": [[0.2, 0.8], [0.6, 0.4]]},
        {"a": ("Asy/Patch", "a-b c"), "b": (False, True)},
        name="odd names",
    )
    network.write(tmp_path / "odd.bif")
    again = BayesianNetwork.read(tmp_path / "odd.bif")
    assert again.states["a"] == ("Asy/Patch", "a-b c")
    cr.save(network, tmp_path / "odd.credo")
    loaded = cr.load(tmp_path / "odd.credo")
    assert loaded == network
    assert [type(s) for s in loaded.states["b"]] == [bool, bool]


def test_a_question_beyond_the_memory_limit_is_answered_by_parts_or_refused_before_it_is_run():
    rng = np.random.default_rng(0)
    names = [f"x{i}" for i in range(12)]
    tables = {name: np.full(4, 0.25) for name in names}
    tables["y"] = rng.dirichlet(np.ones(2), size=(4,) * 6)
    tables["z"] = rng.dirichlet(np.ones(2), size=(4,) * 6)
    edges = [(n, "y") for n in names[:6]] + [(n, "z") for n in names[4:10]]
    network = BayesianNetwork(edges, tables, memory_limit=1000)
    with pytest.raises(MemoryLimitError) as caught:
        network.query(["x0", "x1"], {"y": 0, "z": 0}, joint=True)
    assert caught.value.value > 1000
    whole = BayesianNetwork(edges, tables).query("x0", {"y": 0, "z": 0})
    np.testing.assert_allclose(network.query("x0", {"y": 0, "z": 0}).values, whole.values, rtol=1e-12)  # by a cut-set
    with pytest.raises(MemoryLimitError):
        network.sensitivity("x0", 0, {"y": 0, "z": 0})


def test_probabilities_far_below_floating_point():
    n = 400
    names = [f"c{i}" for i in range(n)]
    tables = {"root": [0.5, 0.5], **{name: [[1e-3, 0.999], [2e-3, 0.998]] for name in names}}
    star = BayesianNetwork([("root", name) for name in names], tables)
    evidence = dict.fromkeys(names, 0)
    assert star.log_probability(evidence) == pytest.approx(n * np.log(2e-3) + np.log(0.5), rel=1e-12)
    assert star.query("root", evidence)[0] == pytest.approx(0.5**n, rel=1e-9)


def test_a_definition_is_read_as_it_stands():
    definition = NetworkDefinition({"a": ("x",)}, {}, {"a": [1.0]})
    network = BayesianNetwork.of(definition)
    assert network.definition_ is definition
    assert network.query("a")["x"] == 1.0
    assert network.mpe().states == {"a": "x"}
    assert network.marginals({"a": "x"}) == {"a": {"x": 1.0}}


def test_tables_from_rows(sprinkler):
    rows = {"cloudy": ["yes", "yes", "no"], "sprinkler": ["no", "yes", "no"], "rain": ["yes"] * 3, "wet": ["yes"] * 3}
    fitted = sprinkler.fit(rows, prior="k2")
    assert fitted.edges == sprinkler.edges
    assert fitted.states == sprinkler.states
    assert fitted.table("cloudy").to_dict() == pytest.approx({"no": 2 / 5, "yes": 3 / 5})
    assert fitted.table("sprinkler")["yes", "yes"] == pytest.approx(2 / 4)
    learned = BayesianNetwork.learn({"a": [0, 1] * 50, "b": [0, 1] * 50, "c": [0, 0, 1, 1] * 25})
    assert len(learned.edges) == 1
    assert learned.query("a", {"b": 1})[1] > 0.98


def test_what_do_set_is_not_seen_otherwise(sprinkler, tmp_path):
    cr.save(sprinkler.do({"sprinkler": "yes"}), tmp_path / "a.credo")
    for acted in (sprinkler.do({"rain": "no"}).do({"sprinkler": "yes"}), cr.load(tmp_path / "a.credo")):
        for ask in (lambda n, e: n.query("cloudy", e), lambda n, e: n.conflict(e)):
            with pytest.raises(ZeroProbabilityError, match=r"do\(\) set 'sprinkler' to 'yes', .* seen as 'no'"):
                ask(acted, {"sprinkler": "no"})
        assert acted.query("cloudy", {"sprinkler": "yes"})["yes"] == pytest.approx(0.5)
    with pytest.raises(ZeroProbabilityError, match=r"wet='yes' is impossible by itself after do\(sprinkler='no'\), do"):
        sprinkler.do({"sprinkler": "no", "rain": "no"}).query("cloudy", {"wet": "yes"})


def test_options_of_files_pass_through(sprinkler, tmp_path):
    with pytest.raises(SaveError, match="lossy=True"):
        sprinkler.write(tmp_path / "a.uai")
    sprinkler.write(tmp_path / "a.uai", lossy=True)
    sprinkler.write(tmp_path / "a.txt", format="bif")
    assert BayesianNetwork.read(tmp_path / "a.txt", format="bif", encoding="utf-8") == sprinkler
    assert BayesianNetwork.read(tmp_path / "a.uai").edges == (("0", "1"), ("0", "2"), ("1", "3"), ("2", "3"))
    with pytest.raises(ParameterError, match=r"credo\.load"):
        BayesianNetwork.read(tmp_path / "a.credo")


def test_messages_for_common_slips(sprinkler):
    with pytest.raises(ParameterError, match="Leave 'wet' out where it was not observed"):
        sprinkler.query("rain", {"wet": None})
    with pytest.raises(ParameterError, match=r"a state for each of .*'rain', 'wet'"):
        sprinkler.table("wet")["yes"]
    with pytest.raises(ParameterError, match=r"^BayesianNetwork.tables\['a'\] must be rows that sum to 1"):
        BayesianNetwork([], {"a": [0.5, 0.4]})
    assert sprinkler.value_of_information("rain", candidates="wet").keys() == {"wet"}
