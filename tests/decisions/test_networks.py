"""`DecisionNetwork` against sums and maxima over the whole joint table, all policies, and known answers."""

import itertools
import pickle

import numpy as np
import pytest

import credo as cr
from credo.decisions.networks import DecisionNetwork
from credo.errors import MemoryLimitError, ParameterError, ZeroProbabilityError
from credo.saving import load, save


def wildcatter():
    """Raiffa (1968), Decision Analysis: an oil wildcatter may sound out the ground (10) before drilling (70)."""
    result = {
        ("dry", "yes"): [0.6, 0.3, 0.1, 0.0],
        ("wet", "yes"): [0.3, 0.4, 0.3, 0.0],
        ("soaking", "yes"): [0.1, 0.4, 0.5, 0.0],
    } | {(oil, "no"): [0.0, 0.0, 0.0, 1.0] for oil in ("dry", "wet", "soaking")}
    return DecisionNetwork(
        [("oil", "result"), ("test", "result"), ("result", "drill"), ("test", "cost"), ("oil", "profit"),
         ("drill", "profit")],
        {"oil": {"dry": 0.5, "wet": 0.3, "soaking": 0.2}, "result": result},
        utilities={
            "cost": {"yes": -10, "no": 0},
            "profit": lambda oil, drill: {"dry": -70, "wet": 50, "soaking": 200}[oil] * (drill == "drill"),
        },
        decisions={"test": ["yes", "no"], "drill": ["drill", "leave"]},
        states={"result": ["none", "open", "closed", "not tested"]},
    )  # fmt: skip


def test_oil_wildcatter():
    network = wildcatter()
    policy = network.solve()
    # with the test, by hand: none −21 + 4.5 + 4 < 0; open −10.5 + 6 + 16 = 11.5; closed −3.5 + 4.5 + 20 = 21
    assert policy.expected_utility == pytest.approx(11.5 + 21.0 - 10.0)
    assert policy.act() == "yes"
    assert [policy.act({"test": "yes", "result": r}) for r in ("none", "open", "closed")] == ["leave", "drill", "drill"]
    assert policy.act({"test": "no", "result": "not tested"}) == "drill"
    assert network.expected_utility({"test": "no", "drill": "drill"}) == pytest.approx(20.0)
    assert network.expected_utility(policy) == pytest.approx(policy.expected_utility)
    assert set(policy["drill"].observed) == {"test", "result"}
    regrets = dict(zip(policy["drill"].to_dict(), policy["drill"].regrets.reshape(-1, 2), strict=True))
    key = ("yes", "none") if next(iter(policy["drill"].observed)) == "test" else ("none", "yes")
    np.testing.assert_allclose(regrets[key], [12.5 / 0.41, 0.0])
    # knowing the oil: .3 · 50 + .2 · 200 = 55
    assert network.value_of_perfect_information() == pytest.approx(55.0 - 22.5)
    assert network.value_of_information("drill", "oil") == pytest.approx(55.0 - 22.5)
    assert network.value_of_information("drill", "result") == 0.0


def test_monty_hall():
    doors = ["1", "2", "3"]

    def host(prize, pick):
        closed = [d for d in doors if d not in (prize, pick)]
        return {d: (d in closed) / len(closed) for d in doors}

    def wins(prize, pick, opened, switch):
        final = next(d for d in doors if d not in (pick, opened)) if switch and opened != pick else pick
        return float(final == prize)

    network = DecisionNetwork(
        [("prize", "opened"), ("pick", "opened"), ("opened", "switch"), ("prize", "win"), ("pick", "win"),
         ("opened", "win"), ("switch", "win")],
        {"prize": dict.fromkeys(doors, 1 / 3), "opened": {k: host(*k) for k in itertools.product(doors, doors)}},
        utilities={"win": wins},
        decisions={"pick": doors, "switch": [False, True]},
    )  # fmt: skip
    policy = network.solve()
    assert policy.expected_utility == pytest.approx(2 / 3)
    assert policy.act() == "1"  # all doors are tied: the first
    assert policy.act({"pick": "1", "opened": "3"}) is True
    assert network.expected_utility({"pick": "1", "switch": False}) == pytest.approx(1 / 3)
    assert network.value_of_information("switch", "prize") == pytest.approx(1 / 3)


def test_losses_are_negative_utilities():
    """The example of `cr.value_of_information`: the same numbers from the other side."""
    drill = cr.losses.CostMatrix([[0, 0], [70, -130]], actions=["leave", "drill"])
    joint = np.array([[0.48, 0.12], [0.08, 0.32]])
    v = cr.value_of_information(joint, drill, states=["dry", "oil"])
    network = DecisionNetwork(
        [("oil", "survey"), ("oil", "gain"), ("drill", "gain")],
        {"oil": {"dry": 0.6, "oil": 0.4}, "survey": joint / joint.sum(axis=1, keepdims=True)},
        utilities={"gain": -np.array([[0, 70], [0, -130]])},
        decisions={"drill": ["leave", "drill"]},
    )
    policy = network.solve()
    assert policy.act() == v.action
    assert policy.expected_utility == pytest.approx(-v.loss)
    assert network.value_of_perfect_information() == pytest.approx(v.perfect)
    assert network.value_of_information("drill", "survey") == pytest.approx(v.sample)
    after = network._informed("drill", ["survey"]).solve()
    assert [after.act({"survey": s}) for s in (0, 1)] == v.signal_actions.tolist()


# -- random diagrams ---------------------------------------------------------------------------------------------------


def random_diagram(rng, n_decisions, n_chance):
    """Nodes in a random causal order; each decision is told of some chance nodes that come before it."""
    names = [f"D{i}" for i in range(n_decisions)] + [f"C{i}" for i in range(n_chance)]
    line = [names[i] for i in rng.permutation(len(names))]
    ds = [n for n in line if n[0] == "D"]
    sizes = {n: int(rng.integers(2, 4)) if n[0] == "C" else 2 for n in names}
    edges, parents, tables = [], {}, {}
    for place, node in enumerate(line):
        before = line[:place]
        chosen = [n for n in before if rng.random() < 0.5][:3]
        if node[0] == "C":
            parents[node] = chosen
            table = rng.dirichlet(np.ones(sizes[node]), [sizes[p] for p in chosen])
            if rng.random() < 0.3:  # some impossible states
                table = table * (rng.random(table.shape) < 0.7)
                table[..., 0] += 0.05
                table /= table.sum(axis=-1, keepdims=True)
            tables[node] = table
            edges += [(p, node) for p in chosen]
    information = {d: [n for n in line[: line.index(d)] if n[0] == "C" and rng.random() < 0.5] for d in ds}
    utilities, scopes = {}, {}
    for k in range(int(rng.integers(1, 4))):
        scope = [n for n in line if rng.random() < 0.5][:3] or [line[-1]]
        scopes[f"U{k}"] = scope
        utilities[f"U{k}"] = rng.normal(size=[sizes[n] for n in scope]) * 10
        edges += [(n, f"U{k}") for n in scope]
    network = DecisionNetwork(edges, tables, utilities, {d: [0, 1] for d in ds}, information)
    return network, line, ds, sizes, parents, tables, scopes, utilities, information


def spread(table, scope, line):
    """The table with an axis for each node of the line."""
    order = sorted(range(len(scope)), key=lambda i: line.index(scope[i]))
    shape = [table.shape[scope.index(n)] if n in scope else 1 for n in line]
    return table.transpose(order).reshape(shape)


def joint_tables(line, sizes, parents, tables, scopes, utilities):
    full = [sizes[n] for n in line]
    p = np.ones(full)
    for node, table in tables.items():
        p = p * spread(table, [*parents[node], node], line)
    u = np.zeros(full)
    for name, table in utilities.items():
        u = u + spread(table, scopes[name], line)
    return p, u


def rolled_back(p, u, line, ds, information, evidence):
    """Σ over what is never seen, max over the last decision, Σ over what it was told, … of the whole table."""
    w = p * u
    keep = tuple(slice(evidence[n], evidence[n] + 1) if n in evidence else slice(None) for n in line)
    w, p = w[keep], p[keep]
    total = p.sum() / np.prod([2 for _ in ds])
    told, seen = {}, set(evidence)
    for d in ds:
        told[d] = [n for n in information[d] if n not in seen]
        seen |= set(information[d])
    w = w.sum(axis=tuple(i for i, n in enumerate(line) if n[0] == "C" and n not in seen), keepdims=True)
    for d in reversed(ds):
        w = w.max(axis=line.index(d), keepdims=True)
        w = w.sum(axis=tuple(line.index(n) for n in told[d]), keepdims=True)
    return w.sum() / total


@pytest.mark.parametrize("seed", range(60))
def test_random_diagrams_are_rolled_back(seed):
    rng = np.random.default_rng(seed)
    network, line, ds, sizes, parents, tables, scopes, utilities, information = random_diagram(
        rng, int(rng.integers(1, 4)), int(rng.integers(1, 5))
    )
    p, u = joint_tables(line, sizes, parents, tables, scopes, utilities)
    policy = network.solve()
    assert policy.expected_utility == pytest.approx(rolled_back(p, u, line, ds, information, {}), abs=1e-9)
    assert policy.optimal == "global"
    assert network.expected_utility(policy) == pytest.approx(policy.expected_utility)
    for rule in policy.rules.values():
        assert np.all(~(rule.regrets < 0))
    first = line[0]
    if first[0] == "C":  # hangs on no decision
        state = int(np.argmax(tables[first]))
        seen = network.solve({first: state})
        expected = rolled_back(p, u, line, ds, information, {first: state})
        assert seen.expected_utility == pytest.approx(expected, abs=1e-9)
        worth = network.value_of_information(ds[0], first)
        told = {**information, ds[0]: list(dict.fromkeys([*information[ds[0]], first]))}
        better = rolled_back(p, u, line, ds, told, {})
        assert worth == pytest.approx(better - policy.expected_utility, abs=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_no_policy_is_better(seed):
    """All policies of two decisions, the second looking at what it knows, one by one."""
    rng = np.random.default_rng(100 + seed)
    tables = {"a": rng.dirichlet(np.ones(2)), "b": rng.dirichlet(np.ones(2), (2, 2))}
    value = rng.normal(size=(2, 2, 2, 2))
    network = DecisionNetwork(
        [("a", "b"), ("x", "b"), ("b", "y"), ("a", "u"), ("x", "u"), ("b", "u"), ("y", "u")],
        tables, {"u": value}, {"x": [0, 1], "y": [0, 1]},
    )  # fmt: skip
    best = -np.inf
    for x in (0, 1):
        for choice in itertools.product((0, 1), repeat=2):  # y by b; x is the same all along
            total = sum(
                tables["a"][a] * tables["b"][a, x, b] * value[a, x, b, choice[b]] for a in (0, 1) for b in (0, 1)
            )
            best = max(best, total)
    assert network.solve().expected_utility == pytest.approx(best)


@pytest.mark.parametrize("seed", range(5))
def test_all_policies_of_two_decisions_one_by_one(seed):
    """x knows a; y knows a, x and b: 4 rules times 256."""
    rng = np.random.default_rng(500 + seed)
    a, b, h = rng.dirichlet(np.ones(2)), rng.dirichlet(np.ones(2), (2, 2)), rng.dirichlet(np.ones(3), (2, 2))
    u, v = rng.normal(size=(3, 2)), rng.normal(size=(2, 2))
    network = DecisionNetwork(
        [("a", "b"), ("x", "b"), ("a", "h"), ("b", "h"), ("h", "u"), ("y", "u"), ("x", "v"), ("y", "v")],
        {"a": a, "b": b, "h": h}, {"u": u, "v": v}, {"x": [0, 1], "y": [0, 1]}, {"x": ["a"], "y": ["b"]},
    )  # fmt: skip
    weight = np.einsum("a,axb,abh->axbh", a, b, h)
    gain = np.einsum("axbh,hy->axby", weight, u) + np.einsum("axbh,xy->axby", weight, v)
    all_y = np.eye(2)[np.array(list(itertools.product((0, 1), repeat=8))).reshape(-1, 2, 2, 2)]  # (256, a, x, b, y)
    totals = [
        np.einsum("ax,paxby,axby->p", np.eye(2)[list(rule)], all_y, gain).max()
        for rule in itertools.product((0, 1), repeat=2)
    ]
    policy = network.solve()
    assert policy.expected_utility == pytest.approx(max(totals))
    apart = DecisionNetwork(
        network.edges, {"a": a, "b": b, "h": h}, {"u": u, "v": v}, {"x": [0, 1], "y": [0, 1]}, no_forgetting=False
    )
    forgetful = apart.solve()
    assert forgetful.expected_utility <= policy.expected_utility + 1e-12
    assert apart.expected_utility(forgetful) == pytest.approx(forgetful.expected_utility)


def test_a_decision_process_is_dynamic_programming():
    """12 steps, states seen: each rule looks at the last state alone, as Bellman's equation does."""
    rng = np.random.default_rng(0)
    steps, move, reward = 12, rng.dirichlet(np.ones(3), (3, 2)), rng.normal(size=(3, 2))
    edges, tables = [], {"s0": np.full(3, 1 / 3)}
    for t in range(steps):
        edges += [(f"s{t}", f"a{t}"), (f"s{t}", f"r{t}"), (f"a{t}", f"r{t}")]
        if t + 1 < steps:
            edges += [(f"s{t}", f"s{t + 1}"), (f"a{t}", f"s{t + 1}")]
            tables[f"s{t + 1}"] = move
    network = DecisionNetwork(
        edges, tables, {f"r{t}": reward for t in range(steps)}, {f"a{t}": [0, 1] for t in range(steps)}
    )
    value = np.zeros(3)
    for _ in range(steps):
        q = reward + move @ value
        value = q.max(axis=1)
    policy = network.solve()
    assert policy.expected_utility == pytest.approx(value.mean())
    assert all(tuple(rule.observed) == (f"s{t}",) for t, rule in enumerate(policy.rules.values()))
    np.testing.assert_array_equal(policy["a0"].choices, q.argmax(axis=1))


def test_forgetting_is_worth_less_and_said():
    """Two who cannot speak guess a coin; both must be right. The second is told of nothing."""
    make = {
        "edges": [("coin", "first"), ("coin", "u"), ("first", "u"), ("second", "u")],
        "tables": {"coin": {"h": 0.5, "t": 0.5}},
        "utilities": {"u": lambda coin, first, second: float(coin == first == second)},
        "decisions": {"first": ["h", "t"], "second": ["h", "t"]},
    }
    assert DecisionNetwork(**make).solve().expected_utility == pytest.approx(1.0)
    apart = DecisionNetwork(**make, no_forgetting=False)
    policy = apart.solve()
    assert policy.optimal == "global"  # the first has four rules, the second two: all are gone through
    assert policy.expected_utility == pytest.approx(0.5)
    assert policy["second"].observed == {}


@pytest.mark.parametrize("seed", range(6))
def test_what_forgets_is_the_best_of_all_policies(seed):
    """x knows a, y knows b alone: 4 × 4 policies, each valued by sums over the joint table."""
    rng = np.random.default_rng(700 + seed)
    a, b, u = rng.dirichlet(np.ones(2)), rng.dirichlet(np.ones(2), 2), rng.normal(size=(2, 2, 2, 2))
    network = DecisionNetwork(
        [("a", "b"), ("a", "u"), ("b", "u"), ("x", "u"), ("y", "u"), ("a", "x"), ("b", "y")],
        {"a": a, "b": b}, {"u": u}, {"x": [0, 1], "y": [0, 1]}, no_forgetting=False,
    )  # fmt: skip
    joint = a[:, None] * b
    rules = list(itertools.product((0, 1), repeat=2))
    best = max(sum(joint[i, j] * u[i, j, x[i], y[j]] for i in (0, 1) for j in (0, 1)) for x in rules for y in rules)
    policy = network.solve()
    assert policy.optimal == "global"
    assert policy.expected_utility == pytest.approx(best)
    assert network.expected_utility(policy) == pytest.approx(best)


def test_a_process_without_memory_is_solved_exactly():
    """Each step sees the state alone, and its reward and the next state hang on nothing else: one pass is exact."""
    rng = np.random.default_rng(1)
    steps, move, reward = 6, rng.dirichlet(np.ones(3), (3, 2)), rng.normal(size=(3, 2))
    edges, tables = [], {"s0": np.full(3, 1 / 3)}
    for t in range(steps):
        edges += [(f"s{t}", f"a{t}"), (f"s{t}", f"r{t}"), (f"a{t}", f"r{t}")]
        if t + 1 < steps:
            edges += [(f"s{t}", f"s{t + 1}"), (f"a{t}", f"s{t + 1}")]
            tables[f"s{t + 1}"] = move
    given = edges, tables, {f"r{t}": reward for t in range(steps)}, {f"a{t}": [0, 1] for t in range(steps)}
    forgets, remembers = DecisionNetwork(*given, no_forgetting=False).solve(), DecisionNetwork(*given).solve()
    assert forgets.optimal == "global"
    assert forgets.expected_utility == pytest.approx(remembers.expected_utility)
    assert forgets.to_dict() == remembers.to_dict()


def test_too_many_policies_are_a_local_optimum_that_no_single_rule_betters():
    """Two who know ten states each of a shared secret: 2^10 rules each, too many to go through."""
    rng = np.random.default_rng(2)
    a, b, u = rng.dirichlet(np.ones(10)), rng.dirichlet(np.ones(10), 10), rng.normal(size=(10, 10, 2, 2))
    network = DecisionNetwork(
        [("a", "b"), ("a", "u"), ("b", "u"), ("x", "u"), ("y", "u"), ("a", "x"), ("b", "y")],
        {"a": a, "b": b}, {"u": u}, {"x": [0, 1], "y": [0, 1]}, no_forgetting=False,
    )  # fmt: skip
    policy = network.solve()
    assert policy.optimal == "local"
    weight = a[:, None] * b
    x, y = policy["x"].choices, policy["y"].choices
    i, j = np.arange(10), np.arange(10)
    value = np.sum(weight * u[i[:, None], j, x[:, None], y])
    assert policy.expected_utility == pytest.approx(value)
    of_x = np.einsum("ij,ijk->ik", weight, u[i[:, None], j, :, y[None, :]])
    of_y = np.einsum("ij,ijk->jk", weight, u[i[:, None], j, x[:, None], :])
    assert of_x.max(axis=1).sum() == pytest.approx(value)
    assert of_y.max(axis=1).sum() == pytest.approx(value)
    assert network.solve().to_dict() == policy.to_dict()


def test_ties_take_the_first_option():
    network = DecisionNetwork(
        [("c", "u"), ("d", "u")], {"c": [0.1, 0.2, 0.7]}, {"u": np.tile([[0.3], [0.1], [0.2]], (1, 3)) * [1, 1, 1]},
        {"d": ["x", "y", "z"]}, {"d": ["c"]},
    )  # fmt: skip
    assert network.solve()["d"].to_dict() == {0: "x", 1: "x", 2: "x"}


def test_evidence_that_cannot_be():
    network = DecisionNetwork(
        [("a", "b"), ("d", "u"), ("b", "u")], {"a": [1.0, 0.0], "b": [[1.0, 0.0], [0.0, 1.0]]}, {"u": np.eye(2)},
        {"d": [0, 1]},
    )  # fmt: skip
    with pytest.raises(ZeroProbabilityError, match=r"DecisionNetwork: P\(evidence\) = 0: b=1 cannot be"):
        network.solve({"b": 1})
    with pytest.raises(ParameterError, match=r"DecisionNetwork.evidence\['b'\] must be a state of 'b'"):
        network.solve({"b": 2})


BASE = {
    "edges": [("c", "d"), ("d", "e"), ("c", "u"), ("d", "u")],
    "tables": {"c": [0.5, 0.5], "e": [[0.5, 0.5], [0.1, 0.9]]},
    "utilities": {"u": np.eye(2)},
    "decisions": {"d": [0, 1]},
}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"information": {"d": ["e"]}}, r"information\['d'\] must be known before it, but it hangs on itself, got 'e'"),
        ({"decisions": {"d": [0, 1], "f": [0, 1]}, "information": {"d": ["f"]}}, "hangs on the later decision 'f'"),
        ({"information": {"q": ["c"]}}, "about decisions"),
        ({"information": {"d": ["q"]}}, "a node of the network"),
        ({"utilities": {"u": np.ones(3)}}, r"of shape \(2, 2\) \(states: 2 of c, 2 of d\), got \(3,\)"),
        ({"utilities": {"u": {0: {0: 1.0}}}}, "a number for all states of the parents"),
        ({"utilities": {"u": {0: {7: 1.0}}}}, "keyed by states of d"),
        ({"utilities": {"u": [[1, np.inf], [0, 0]]}}, "finite"),
        ({"utilities": {"u": "high"}}, "numbers: an array, a dict, or a function"),
        ({"utilities": {"c": np.ones(2)}}, "of one kind each"),
        ({"utilities": {"u": lambda weather: 1.0}}, "a function of c, d by name"),
        ({"information": 5}, "a mapping from names"),
        ({"information": {"d": 5}}, "a name or several"),
        ({"edges": 5}, "pairs of names"),
        ({"states": 5}, "a mapping from names"),
        ({"utilities": {}}, "at least one"),
        ({"decisions": {}}, "at least one"),
        ({"decisions": {"d": []}}, "at least one state"),
        ({"edges": [("u", "c")]}, "none out of a utility"),
        ({"edges": [*BASE["edges"], ("c", "u")]}, "all different"),
        ({"tables": {"c": [0.5, 0.5]}}, "a table for every node"),
        ({"edges": [*BASE["edges"], ("e", "c")], "tables": {"c": np.full((2, 2), 0.5), "e": np.full((2, 2), 0.5)}},
         "hangs on itself"),
    ],
)  # fmt: skip
def test_bad_diagrams_are_named(change, words):
    with pytest.raises(ParameterError, match=words):
        DecisionNetwork(**{**BASE, **change})


def test_bad_questions_are_named():
    network = DecisionNetwork(**BASE)
    with pytest.raises(ParameterError, match="known before any decision, but 'd' influences 'e'"):
        network.solve({"e": 1})
    with pytest.raises(ParameterError, match="hangs on itself"):
        network.value_of_information("d", "e")
    with pytest.raises(ParameterError, match="one of \\['d'\\]"):
        network.value_of_information("x", "e")
    with pytest.raises(ParameterError, match=r"a mapping \{node: state\}"):
        network.solve().act(3)
    with pytest.raises(ParameterError, match="with a rule for 'd'"):
        network.expected_utility({})
    with pytest.raises(ParameterError, match="with a state of 'c'"):
        network.solve().act()
    with pytest.raises(ParameterError, match="memory_limit must be a number of bytes"):
        DecisionNetwork(**BASE, memory_limit=0)
    with pytest.raises(MemoryLimitError):
        DecisionNetwork(**BASE, memory_limit=8).solve()


def test_saved_and_loaded(tmp_path):
    network = wildcatter()
    save(network, tmp_path / "oil.credo")
    again = load(tmp_path / "oil.credo")
    assert again.solve().to_dict() == network.solve().to_dict()
    assert pickle.loads(pickle.dumps(network)).information == network.information
    policy = network.solve()
    save(policy, tmp_path / "policy.credo")
    assert load(tmp_path / "policy.credo").act({"test": "yes", "result": "none"}) == "leave"
