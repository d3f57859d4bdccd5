"""`FactorGraph` against the whole joint table on 1,000 random graphs, known answers, and what must be refused."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest

from credo.errors import MemoryLimitError, ParameterError, ZeroProbabilityError
from credo.probability.factors import Factor, FactorGraph
from tests.probability.factors.brute import random_case

YN = ["no", "yes"]


def cpt(child, parents, values):
    """P(child | parents) of yes-no variables; `values` lists P(yes), the last parent fastest."""
    p = np.reshape(values, [2] * len(parents))
    return Factor([*parents, child], np.stack([1.0 - p, p], axis=-1), dict.fromkeys([*parents, child], YN))


def asia():
    return FactorGraph([
        cpt("asia", [], 0.01), cpt("tub", ["asia"], [0.01, 0.05]), cpt("smoke", [], 0.5),
        cpt("lung", ["smoke"], [0.01, 0.1]), cpt("bronc", ["smoke"], [0.3, 0.6]),
        cpt("either", ["tub", "lung"], [0.0, 1.0, 1.0, 1.0]), cpt("xray", ["either"], [0.05, 0.98]),
        cpt("dysp", ["either", "bronc"], [0.1, 0.8, 0.7, 0.9]),
    ])  # fmt: skip


@pytest.mark.parametrize("start", range(0, 1000, 100))
def test_a_thousand_random_graphs(start):
    for seed in range(start, start + 100):
        case = random_case(seed)
        graph, (targets, evidence, table) = case.graph, case.split()
        total = table.sum()
        joint = graph.query(targets, evidence)
        assert np.allclose(joint.values, case.over(table, targets, np.sum) / total, rtol=1e-10, atol=1e-15), seed
        again = graph.query(targets, evidence)
        assert np.array_equal(again.values, joint.values), seed
        assert np.isclose(graph.log_partition(evidence), np.log(total), rtol=1e-12, atol=1e-12), seed
        for name, law in graph.marginals(evidence).items():
            wanted = case.over(table, [name], np.sum) / total
            if name in evidence:
                assert law[evidence[name]] == 1.0
            else:
                assert np.allclose(law.values, wanted, rtol=1e-10, atol=1e-15), (seed, name)
        best, log_value = graph.most_probable(evidence)
        assert set(best) | set(evidence) == set(case.names)
        place = tuple({**best, **evidence}[name] for name in case.names)
        assert np.isclose(case.joint[place], table.max(), rtol=1e-10), seed
        assert np.isclose(log_value, np.log(table.max()), rtol=1e-12, atol=1e-12), seed
        best, log_value = graph.most_probable(evidence, maximise=targets)
        summed = case.over(table, targets, np.sum)
        assert np.isclose(summed[tuple(best[name] for name in targets)], summed.max(), rtol=1e-10), seed
        assert np.isclose(log_value, np.log(summed.max()), rtol=1e-12, atol=1e-12), seed


@pytest.mark.parametrize("seed", range(30))
def test_batches_equal_their_rows(seed):
    case = random_case(seed)
    graph, (targets, evidence, _) = case.graph, case.split()
    soft = [name for name in case.names if name not in evidence][:2]
    rows = int(case.rng.integers(1, 12))
    vectors = {name: case.rng.random((case.sizes[case.names.index(name)], rows)) + 0.01 for name in soft}
    laws = graph.marginals(evidence, likelihoods=vectors)
    joint = graph.query(targets, evidence, likelihoods=vectors)
    totals = graph.log_partition(evidence, likelihoods=vectors)
    best, logs = graph.most_probable(evidence, likelihoods=vectors)
    largest, _ = graph.most_probable(evidence, maximise=targets, likelihoods=vectors)
    assert joint.batch == rows
    for row in range(rows):
        one = {name: vector[:, row] for name, vector in vectors.items()}
        # a likelihood is one more factor
        other = FactorGraph([*graph.factors, *(Factor(name, vector) for name, vector in one.items())])
        assert np.allclose(joint.values[row], other.query(targets, evidence).values, rtol=1e-10)
        assert np.allclose(graph.query(targets, evidence, likelihoods=one).values, joint.values[row], rtol=1e-10)
        assert np.isclose(totals[row], other.log_partition(evidence))
        for name, law in other.marginals(evidence).items():
            if name not in evidence:
                assert np.allclose(laws[name].values[row], law.values, rtol=1e-10)
        states, log_value = other.most_probable(evidence)
        assert np.isclose(logs[row], log_value)
        assert {name: column[row] for name, column in best.items()} == states
        assert {name: column[row] for name, column in largest.items()} == other.most_probable(
            evidence, maximise=targets
        )[0]


def test_many_rows_go_in_blocks():
    graph = asia()
    rng = np.random.default_rng(0)
    seen = {name: rng.choice(["no", "yes", None], 700).tolist() for name in ("xray", "dysp", "smoke")}
    vectors = {name: graph.indicators(name, column) for name, column in seen.items()}
    lung = graph.query("lung", likelihoods=vectors)
    assert lung.batch == 700
    for row in range(0, 700, 37):
        evidence = {name: column[row] for name, column in seen.items() if column[row] is not None}
        assert np.allclose(lung.values[row], graph.query("lung", evidence).values, rtol=1e-12)


def test_asia():
    graph = asia()
    prior = {name: law["yes"] for name, law in graph.marginals().items()}
    assert prior["tub"] == pytest.approx(0.0104, abs=1e-12)
    assert prior["lung"] == pytest.approx(0.055, abs=1e-12)
    assert prior["xray"] == pytest.approx(0.110290, abs=5e-7)
    assert prior["dysp"] == pytest.approx(0.435971, abs=5e-7)
    evidence = {"asia": "yes", "dysp": "yes"}
    assert np.exp(graph.log_partition(evidence)) == pytest.approx(0.00450137, abs=5e-9)
    for name, wanted in {"tub": 0.087751, "lung": 0.099525, "bronc": 0.811402}.items():
        assert graph.query(name, evidence)["yes"] == pytest.approx(wanted, abs=5e-7)
        assert graph.query([name], evidence, joint=False)[name]["yes"] == pytest.approx(wanted, abs=5e-7)


def test_sprinkler_student_and_earthquake():
    lawn = FactorGraph([
        cpt("cloudy", [], 0.5), cpt("sprinkler", ["cloudy"], [0.5, 0.1]), cpt("rain", ["cloudy"], [0.2, 0.8]),
        cpt("wet", ["sprinkler", "rain"], [0.0, 0.9, 0.9, 0.99]),
    ])  # fmt: skip
    assert lawn.query("wet")["yes"] == pytest.approx(0.6471, abs=1e-12)
    assert lawn.query("sprinkler", {"wet": "yes"})["yes"] == pytest.approx(0.4297636, abs=5e-8)
    assert lawn.query("rain", {"wet": "yes"})["yes"] == pytest.approx(0.7079277, abs=5e-8)
    assert lawn.query("sprinkler", {"wet": "yes", "rain": "yes"})["yes"] == pytest.approx(0.1944990, abs=5e-8)
    assert lawn.query("rain", {"sprinkler": "yes", "wet": "yes"})["yes"] == pytest.approx(0.3203883, abs=5e-8)

    alarm = FactorGraph([
        cpt("B", [], 0.001), cpt("E", [], 0.002), cpt("A", ["B", "E"], [0.001, 0.29, 0.94, 0.95]),
        cpt("J", ["A"], [0.05, 0.9]), cpt("M", ["A"], [0.01, 0.7]),
    ])  # fmt: skip
    assert alarm.query("B", {"J": "yes", "M": "yes"})["yes"] == pytest.approx(0.2841718, abs=5e-8)

    grades = [[[0.3, 0.4, 0.3], [0.05, 0.25, 0.7]], [[0.9, 0.08, 0.02], [0.5, 0.3, 0.2]]]
    student = FactorGraph([
        Factor("d", [0.6, 0.4]), Factor("i", [0.7, 0.3]), Factor(["i", "d", "g"], grades, {"g": [1, 2, 3]}),
        Factor(["i", "s"], [[0.95, 0.05], [0.2, 0.8]]),
        Factor(["g", "l"], [[0.1, 0.9], [0.4, 0.6], [0.99, 0.01]], {"g": [1, 2, 3]}),
    ])  # fmt: skip
    assert student.query("l")[1] == pytest.approx(0.502336, abs=1e-12)
    assert student.query("l", {"i": 0})[1] == pytest.approx(0.3886, abs=1e-12)
    assert student.query("l", {"i": 0, "d": 0})[1] == pytest.approx(0.513, abs=1e-12)
    assert student.query("i", {"g": 3})[1] == pytest.approx(0.0789474, abs=5e-8)
    assert student.query("i", {"g": 3, "s": 1})[1] == pytest.approx(0.5783133, abs=5e-8)
    assert student.query("i", {"l": 0})[1] == pytest.approx(0.1400222, abs=5e-8)


def test_monty_hall_exactly():
    F, doors = Fraction, [1, 2, 3]
    opened = [[[F(0) if o in (c, p) else F(1, 2) if c == p else F(1) for o in doors] for c in doors] for p in doors]
    third = [F(1, 3)] * 3
    names = dict.fromkeys(("prize", "choice", "opened"), doors)
    game = FactorGraph([
        Factor("prize", third, [doors]), Factor("choice", third, [doors]),
        Factor(["prize", "choice", "opened"], opened, names),
    ])  # fmt: skip
    seen = {"choice": 1, "opened": 3}
    assert game.query("prize", seen).to_dict() == {1: F(1, 3), 2: F(2, 3), 3: F(0)}
    assert game.marginals(seen)["prize"].to_dict() == {1: F(1, 3), 2: F(2, 3), 3: F(0)}
    with pytest.raises(ZeroProbabilityError):
        game.query("prize", {"choice": 1, "opened": 1})
    assert game.most_probable(seen)[0] == {"prize": 2}


def test_evidence_that_cannot_be_is_an_error_and_never_a_number():
    graph = asia()
    impossible = {"lung": "yes", "either": "no"}
    with pytest.raises(ZeroProbabilityError, match="probability 0"):
        graph.query("smoke", impossible)
    with pytest.raises(ZeroProbabilityError):
        graph.query("smoke", impossible)  # again, from the cache
    with pytest.raises(ZeroProbabilityError):
        graph.query("asia", {"tub": "no", **impossible})  # far away from the target
    with pytest.raises(ZeroProbabilityError):
        graph.marginals(impossible)
    with pytest.raises(ZeroProbabilityError):
        graph.most_probable(impossible)
    assert graph.log_partition(impossible) == -np.inf
    vectors = {
        "lung": graph.indicators("lung", ["yes", "yes", None]),
        "either": graph.indicators("either", YN + YN[:1]),
    }
    for question in (lambda: graph.query("smoke", likelihoods=vectors), lambda: graph.marginals(likelihoods=vectors)):
        with pytest.raises(ZeroProbabilityError, match=r"rows \[0\]") as caught:
            question()
        assert caught.value.value.tolist() == [0]
    assert np.isfinite(graph.log_partition(likelihoods=vectors)).tolist() == [False, True, True]


def test_beyond_the_range_of_floating_point():
    # 2,000 observations whose likelihoods multiply to 1e-1200 and 1e-1201: the posterior is 10 : 1
    weak = FactorGraph([Factor("x", [0.5, 0.5])] + [Factor("x", [1e-3, 1e-3])] * 400 + [Factor("x", [1.0, 0.1])])
    assert weak.query("x")[0] == pytest.approx(10 / 11)
    # what looks impossible at first turns out certain: log-likelihoods −3000 against −2000, then −0 against −5000
    logs = FactorGraph([
        Factor("x", [0.5, 0.5]), Factor.from_log("x", [-3000.0, -2000.0]), Factor.from_log("x", [0.0, -5000.0]),
    ])  # fmt: skip
    assert logs.log_partition() == pytest.approx(np.log(0.5) - 3000.0)
    assert logs.query("x")[0] == 1.0
    assert logs.most_probable() == ({"x": 0}, pytest.approx(np.log(0.5) - 3000.0))
    assert logs.marginals()["x"][1] == 0.0
    batch = logs.query("x", likelihoods={"x": [[1.0, 0.0], [1.0, 1.0]]})
    assert batch.values.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert logs.log_partition(likelihoods={"x": [[1.0, 0.0], [1.0, 1.0]]}) == pytest.approx(
        np.log(0.5) - np.array([3000.0, 7000.0])
    )


def test_what_underflow_hides_is_found():
    # state 1 falls to 1e-360 of state 0, beyond floating point, and then wins by 1e140
    falls, rises = [[1.0, 1e-120]] * 3, [[1e-100, 1.0]] * 5
    tables = falls + rises
    odds = -3 * 120 + 5 * 100
    for ordered in (tables, tables[::-1]):
        chain = [Factor("s0", ordered[0])]
        for t, table in enumerate(ordered[1:]):
            chain += [Factor([f"s{t}", f"s{t + 1}"], np.eye(2)), Factor(f"s{t + 1}", table)]
        graph = FactorGraph(chain)
        assert graph.query("s7").values.tolist() == pytest.approx([10.0**-odds, 1.0], rel=1e-9)
        assert graph.marginals()["s3"].values.tolist() == pytest.approx([10.0**-odds, 1.0], rel=1e-9)
        assert graph.log_partition() == pytest.approx(-360 * np.log(10.0))
        assert set(graph.most_probable()[0].values()) == {1}
        free = FactorGraph([f for f in chain if len(f.names) == 2])
        vectors = {f"s{t}": np.transpose([table, [1.0, 1.0]]) for t, table in enumerate(ordered)}
        batch = free.query("s4", likelihoods=vectors)
        assert batch.values[0] == pytest.approx([10.0**-odds, 1.0], rel=1e-9)
        assert batch.values[1] == pytest.approx([0.5, 0.5])


def test_small_likelihoods_are_no_impossible_ones():
    graph = FactorGraph([Factor(["x", "y"], [[0.4, 0.1], [0.1, 0.4]])])
    faint = {"x": [1e-300, 3e-300], "y": [[2e-300, 1.0], [1e-300, 1.0]]}
    # in units of 1e-600: x = 0 has .4 × 2 + .1 × 1, x = 1 three times .1 × 2 + .4 × 1
    assert graph.query("x", likelihoods=faint).values[0] == pytest.approx(np.array([0.9, 1.8]) / 2.7)
    totals = graph.log_partition(likelihoods=faint)
    assert totals[0] == pytest.approx(np.log(2.7) - 600 * np.log(10.0))
    assert totals[1] == pytest.approx(np.log(0.5 + 3 * 0.5) - 300 * np.log(10.0))


@pytest.mark.parametrize("seed", range(20))
def test_logarithms_give_the_same(seed):
    case = random_case(seed)
    graph, (targets, evidence, _) = case.graph, case.split()
    # the first factor a thousand orders of magnitude down in one place forces the range, not the answer
    extreme = Factor.from_log("w", [0.0, -3000.0])
    undo = Factor.from_log("w", [-3000.0, 0.0])
    other = FactorGraph([*graph.factors, extreme, undo])
    assert np.allclose(other.query(targets, evidence).values, graph.query(targets, evidence).values, rtol=1e-10)
    assert other.log_partition(evidence) == pytest.approx(graph.log_partition(evidence) - 3000.0 + np.log(2.0))
    assert other.most_probable(evidence)[1] == pytest.approx(graph.most_probable(evidence)[1] - 3000.0)


def test_a_long_chain_keeps_its_scale():
    step = np.array([[0.9, 0.1], [0.2, 0.8]]) * 1e-5
    chain = FactorGraph([Factor("s0", [1.0, 1.0])] + [Factor([f"s{t}", f"s{t + 1}"], step) for t in range(500)])
    exact = np.log(np.ones(2) @ np.linalg.matrix_power(step * 1e5, 500) @ np.ones(2)) - 500 * np.log(1e5)
    assert chain.log_partition() == pytest.approx(exact, rel=1e-12)
    assert chain.marginals()["s250"].values == pytest.approx(chain.query("s250").values, rel=1e-12)


def test_memory_is_predicted_and_refused():
    n = 60
    rng = np.random.default_rng(0)
    pairs = [tuple(rng.choice(n, 2, replace=False)) for _ in range(400)]
    dense = FactorGraph([Factor([f"v{i}", f"v{j}"], np.ones((2, 2))) for i, j in pairs])
    with pytest.raises(MemoryLimitError, match="GiB") as caught:
        dense.log_partition()
    assert caught.value.value > 4 * 2**30
    assert isinstance(caught.value, MemoryError)
    small = FactorGraph([Factor(["a", "b"], np.ones((9, 9))), Factor(["b", "c"], np.ones((9, 9)))], memory_limit=100)
    with pytest.raises(MemoryLimitError):
        small.query(["a", "c"])
    cost = asia().plan_size("lung", ["xray"])
    assert 8 < cost["entries"] < 200
    assert 0 < cost["bytes"] < 2000


def test_a_batch_that_is_too_wide_goes_in_narrower_blocks():
    rng = np.random.default_rng(0)
    factors = [Factor(["a", "b"], rng.random((20, 20))), Factor(["b", "c"], rng.random((20, 20)))]
    vectors = {"a": rng.random((20, 300))}
    wide = FactorGraph(factors)
    narrow = FactorGraph(factors, memory_limit=8 * 20 * 40)
    assert np.allclose(
        narrow.query("c", likelihoods=vectors).values, wide.query("c", likelihoods=vectors).values, rtol=1e-12
    )
    assert {plan.batch for plan in narrow._plans.values()} < {8, 16}


def test_graphs_travel():
    graph = asia()
    graph.query("lung")
    back = pickle.loads(pickle.dumps(graph))
    assert back.query("lung")["yes"] == graph.query("lung")["yes"]
    assert repr(back) == "FactorGraph(8 variables, 8 factors)"


def test_what_is_left_of_nothing():
    assert FactorGraph([]).log_partition() == 0.0
    assert FactorGraph([]).most_probable() == ({}, 0.0)
    everything = dict.fromkeys(asia().variables, "no")
    graph = asia()
    assert graph.most_probable(everything)[0] == {}
    assert graph.log_partition(everything) == pytest.approx(graph.most_probable(everything)[1])
    assert all(law["no"] == 1.0 for law in graph.marginals(everything).values())


def test_states_of_one_name_are_put_in_one_order():
    graph = FactorGraph([Factor("x", [0.9, 0.1], [YN]), Factor("x", [0.5, 0.25], [["yes", "no"]])])
    assert graph.query("x").to_dict() == pytest.approx({"no": 9 / 11, "yes": 2 / 11})


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda g: g.query("nobody"), "targets must be variables of the graph, got 'nobody'"),
        (lambda g: g.query("lung", {"lung": "yes"}), "variables without evidence"),
        (lambda g: g.query("lung", {"xray": "maybe"}), r"state of 'xray' must be one of \['no', 'yes'\], got 'maybe'"),
        (lambda g: g.query("lung", {"ray": "yes"}), "evidence must be about variables"),
        (lambda g: g.query("lung", {"xray": ["yes"]}), "state of 'xray'"),
        (lambda g: g.query(["lung", "lung"]), "distinct"),
        (lambda g: g.query("lung", likelihoods={"xray": [1.0]}), r"of shape \(2,\)"),
        (lambda g: g.query("lung", likelihoods={"xray": [1.0, -1.0]}), "finite and ≥ 0"),
        (lambda g: g.query("lung", {"xray": "yes"}, likelihoods={"xray": [1.0, 1.0]}), "without evidence"),
        (lambda g: g.query("lung", likelihoods={"xray": np.ones((2, 3)), "dysp": np.ones((2, 4))}), "of 3 rows"),
        (lambda g: g.indicators("xray", ["yes", "maybe"]), r"states\[1\]"),
        (lambda g: FactorGraph([3]), r"factors\[0\] must be a Factor"),
        (lambda g: FactorGraph([Factor("x", np.ones((3, 2)))]), "one table"),
        (lambda g: FactorGraph([Factor("x", [1.0, 1.0]), Factor("x", [1.0, 1.0, 1.0])]), "states of 'x'"),
    ],
)
def test_named_errors(ask, message):
    with pytest.raises(ParameterError, match=message):
        ask(asia())
