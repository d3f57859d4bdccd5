"""The compiled search for orders, and tables absorbed before the first elimination."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.cases.factor_plans import credo, load
from credo.probability.factors.elimination import compile_plan, orders, pack, plan, run, trace_back
from tests.probability.factors.brute import random_case


def random_graph(rng, n, tables):
    masks = [sum(1 << int(v) for v in rng.choice(n, rng.integers(1, 4), replace=False)) for _ in range(tables)]
    return masks, np.log2(rng.integers(2, 5, n)).tolist()


@pytest.mark.parametrize("n", [1, 2, 7, 63, 64, 65, 130])
def test_what_the_search_says_of_its_orders_is_so(n, monkeypatch):
    monkeypatch.setattr(orders, "EASY", 0)
    rng = np.random.default_rng(n)
    masks, weight = random_graph(rng, n, 2 * n) if n > 3 else ([(1 << n) - 1], [1.0] * n)
    near = orders.neighbours(masks, n)
    found = orders._by_search(near, weight, [(1 << n) - 1], n, 3_000, np.inf)
    entries = [orders.total_entries(order, near, weight) for order in found]
    assert entries == sorted(entries)
    assert all(sorted(order) == list(range(n)) for order in found)
    rules = [orders._greedy(rule, near, weight, [(1 << n) - 1]) for rule in (orders.fill, orders.size)]
    assert entries[0] <= min(rules)[0] * (1 + 1e-9)
    assert found == orders._by_search(near, weight, [(1 << n) - 1], n, 3_000, np.inf)


def test_groups_go_one_after_the_other_and_the_rest_stays():
    rng = np.random.default_rng(1)
    masks, weight = random_graph(rng, 40, 70)
    first, second = (1 << 12) - 1, ((1 << 12) - 1) << 20
    for order in orders._by_search(orders.neighbours(masks, 40), weight, [first, second], 24, 5_000, np.inf):
        assert set(order[:12]) == set(range(12))
        assert set(order[12:]) == set(range(20, 32))


@pytest.mark.parametrize("seed", range(60))
def test_searched_and_absorbed_plans_answer_as_the_joint(seed, monkeypatch):
    """As on hard graphs, here on graphs small enough to enumerate."""
    for module in (orders, plan):
        monkeypatch.setattr(module, "EASY", -1)
    monkeypatch.setattr(orders, "SMALL", 0)
    case = random_case(seed)
    factors = case.graph.factors
    shapes, scopes, packed = [f.shape for f in factors], [f.names for f in factors], pack([f.values for f in factors])
    targets, evidence, given = case.split()
    states = np.array(list(evidence.values()), dtype=np.int64)
    expected = case.over(given, targets, np.sum)
    found = run(compile_plan(shapes, scopes, targets, tuple(evidence)), packed, states)
    assert found.probabilities() == pytest.approx(expected / expected.sum(), abs=1e-12)
    hidden = [name for name in case.names if name not in evidence]
    every = run(compile_plan(shapes, scopes, hidden, tuple(evidence), marginals=True), packed, states)
    for place, name in enumerate(hidden):
        expected = case.over(given, [name], np.sum)
        assert every.probabilities(place) == pytest.approx(expected / expected.sum(), abs=1e-12)
    best = run(compile_plan(shapes, scopes, (), tuple(evidence), "max", keep_total=True), packed, states)
    assert best.log_total + packed.log_scale.sum() == pytest.approx(np.log(given.max()), abs=1e-11)
    at = {**trace_back(best, packed, states), **evidence}
    assert case.joint[tuple(at[name] for name in case.names)] == pytest.approx(given.max(), rel=1e-11)


def test_orders_are_at_least_as_good_as_those_of_cotengra():
    """log₂ of the products formed that the best of cotengra 0.8.3's greedy, random-greedy (0.1 s) and hyper-optimised
    (0.1 s) trees need on graphs of `benchmarks/cases/factor_plans.py`."""
    theirs = {
        "grid 40 × 8": 16.87, "grid 10 × 10": 15.58, "60 variables, 90 tables of 2": 12.65,
        "80 variables, 48 tables of 3": 11.64,
    }  # fmt: skip
    graphs = load(Path())
    ours = credo({name: graphs[name] for name in theirs})
    assert {name: ours[name] for name in theirs if ours[name] > theirs[name]} == {}
