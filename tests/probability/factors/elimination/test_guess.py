"""Questions planned by the compiled loop, against the planner in Python and the whole joint table."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from credo.errors import MemoryLimitError
from credo.probability.factors import Factor, FactorGraph
from credo.probability.factors.elimination import Tables, execution, pack, plan, plan_for, run
from credo.probability.factors.elimination.guess import guess
from tests.models.network.random_networks import random_network
from tests.probability.factors.brute import random_case

MOST = 1 << 15


def tables_of(case, laws=None):
    factors = case.graph.factors
    tables = Tables([factor.shape for factor in factors], [factor.names for factor in factors], laws)
    return tables, pack([factor.values for factor in factors])


@pytest.mark.parametrize("seed", range(120))
def test_the_answers_are_those_of_the_joint(seed):
    case = random_case(seed)
    tables, packed = tables_of(case)
    for _ in range(4):
        targets, evidence, given = case.split()
        made = plan_for(tables, targets, tuple(evidence))
        assert guess(tables, [tables.number[t] for t in targets], [tables.number[e] for e in evidence], False, MOST)
        states = np.array(list(evidence.values()), dtype=np.int64)
        expected = case.over(given, targets, np.sum)
        found = run(made, packed, states)
        assert found.probabilities() == pytest.approx(expected / expected.sum(), abs=1e-12)
        # the same records in logarithms, by NumPy
        other = execution.run_in_logs(made, packed, states, np.empty(0))
        assert other.probabilities() == pytest.approx(expected / expected.sum(), abs=1e-12)
        total = run(plan_for(tables, (), tuple(evidence), keep_total=True), packed, states)
        assert total.log_total + packed.log_scale.sum() == pytest.approx(np.log(given.sum()), abs=1e-11)


@pytest.mark.parametrize("seed", range(60))
def test_it_is_the_plan_that_python_makes(seed, monkeypatch):
    network, rng = random_network(seed)
    tables = network.graph._conditional
    for _ in range(4):
        names = list(rng.permutation(list(network.nodes)))
        targets, evidence = tuple(names[:1]), tuple(names[1 : rng.integers(1, len(names) + 1)])
        for keep_total in (False, True):
            quick = plan_for(tables, targets, evidence, keep_total=keep_total)
            with monkeypatch.context() as patch:
                patch.setattr(plan, "guess", lambda *_: None)
                slow = plan_for(tables, targets, evidence, keep_total=keep_total)
            assert (quick.tables, quick.entries, quick.formed) == (slow.tables, slow.entries, slow.formed)
            assert len(quick.roots) == len(slow.roots)
            assert quick.outputs[0].shape == slow.outputs[0].shape


def test_what_is_not_easy_is_left_to_the_search():
    n = 24  # every pair shares a table: no order forms fewer than 2²⁴ entries
    scopes = [(a, b) for a in range(n) for b in range(a)]
    tables = Tables([(2, 2)] * len(scopes), scopes)
    assert guess(tables, [0], [], False, MOST) is None
    assert guess(tables, [0], list(range(1, n)), False, MOST) is not None  # all but one observed
    with pytest.raises(MemoryLimitError):
        plan_for(tables, (0,), memory_limit=1000)


def test_variables_of_one_state_and_many_axes():
    scopes = [tuple(range(40)), tuple(range(40)), (39, 40)]
    tables = Tables([(1,) * 40, (1,) * 40, (1, 3)], scopes)
    assert guess(tables, [40], [], False, MOST) is None  # more axes than there is room for
    assert plan_for(tables, (40,)).outputs[0].shape == (3,)
    narrow = Tables([(1, 1), (1, 3)], [(0, 1), (1, 2)])
    found = run(plan_for(narrow, (2,)), pack([np.ones((1, 1)), np.array([[0.25, 0.25, 0.5]])]))
    assert found.probabilities() == pytest.approx([0.25, 0.25, 0.5])


def test_a_target_keeps_its_only_table():
    """Which sums to 1 over another variable, so that it would be left out."""
    graph = FactorGraph([Factor(["t", "x"], [[0.5, 0.5], [0.3, 0.7]])])
    assert graph.query("t").values == pytest.approx([0.5, 0.5])
    assert graph.query("x").values == pytest.approx([0.4, 0.6])
    likely = graph.query("t", likelihoods={"x": np.array([[1.0, 0.0], [0.0, 1.0]])})
    assert likely.values == pytest.approx(np.array([[5 / 8, 3 / 8], [5 / 12, 7 / 12]]))
    assert graph.query("t", likelihoods={"t": [0.2, 0.6]}).values == pytest.approx([0.25, 0.75])


def test_threads_plan_apart():
    case = random_case(3)
    tables, _ = tables_of(case)
    wanted = [plan_for(tables, (name,)).code for name in case.names]
    same = []

    def ask():
        same.extend(
            np.array_equal(plan_for(tables, (name,)).code, code)
            for _ in range(50)
            for name, code in zip(case.names, wanted, strict=True)
        )

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert same == [True] * (150 * len(case.names))
