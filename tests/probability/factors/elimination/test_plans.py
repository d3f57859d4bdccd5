"""The engine by itself: orders, pruning, records, the kernel against NumPy in logarithms, products left to BLAS."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from credo.errors import ParameterError, ZeroProbabilityError
from credo.probability.factors.elimination import compile_plan, execution, layout, orders, pack, run, trace_back
from tests.probability.factors.brute import random_case


def described(case):
    shapes = [factor.shape for factor in case.graph.factors]
    return shapes, [factor.names for factor in case.graph.factors], pack([f.values for f in case.graph.factors])


def grid(rows, columns):
    """Scopes of a grid with a table for every edge and every vertex."""
    number = np.arange(rows * columns).reshape(rows, columns)
    pairs = [*zip(number[:-1].ravel(), number[1:].ravel()), *zip(number[:, :-1].ravel(), number[:, 1:].ravel())]
    return [(int(a), int(b)) for a, b in pairs] + [(int(v),) for v in number.ravel()]


@pytest.mark.parametrize("seed", range(40))
def test_orders_of_small_graphs_are_near_the_best(seed):
    rng = np.random.default_rng(seed)
    n = 6
    masks = [sum(1 << int(v) for v in rng.choice(n, rng.integers(1, 4), replace=False)) for _ in range(8)]
    weight = np.log2(rng.integers(2, 6, n)).tolist()
    near = orders.neighbours(masks, n)
    best = min(orders.total_entries(order, near, weight) for order in itertools.permutations(range(n)))
    (found,) = orders.elimination_orders(masks, weight, [(1 << n) - 1])
    assert sorted(found) == list(range(n))
    assert orders.total_entries(found, near, weight) <= 1.35 * best


def test_a_grid_is_swept_along_its_length():
    scopes = grid(40, 8)
    plan = compile_plan([(2,) * len(scope) for scope in scopes], scopes)
    # column by column: tables of nine variables, for each of 320
    assert plan.entries <= 320 * 2**9
    assert np.array_equal(plan.code, compile_plan([(2,) * len(scope) for scope in scopes], scopes).code)


def test_groups_are_eliminated_one_after_the_other():
    masks = [0b0011, 0b0110, 0b1100]
    (found,) = orders.elimination_orders(masks, [1.0] * 4, [0b0101, 0b1010])
    assert set(found[:2]) == {0, 2}


def test_tables_that_cannot_matter_are_left_out():
    # a → b → c, a → d; e apart
    scopes = [("a",), ("a", "b"), ("b", "c"), ("a", "d"), ("e",)]
    shapes = [(2,) * len(scope) for scope in scopes]
    sums = {0: ["a"], 1: ["b"], 2: ["c"], 3: ["d"], 4: ["e"]}
    assert compile_plan(shapes, scopes, ["b"], sums_to_one=sums).tables == (0, 1)
    assert compile_plan(shapes, scopes, ["b"], ["d"], sums_to_one=sums).tables == (0, 1, 3)
    assert compile_plan(shapes, scopes, ["b"]).tables == (0, 1, 2, 3)
    assert compile_plan(shapes, scopes, ["b"], keep_total=True).tables == (0, 1, 2, 3, 4)
    assert compile_plan(shapes, scopes, sums_to_one=sums).tables == ()
    # evidence apart from the target still has to be possible
    assert compile_plan(shapes, scopes, ["b"], ["e"], sums_to_one=sums).tables == (0, 1, 4)
    assert len(compile_plan(shapes, scopes, (), (), "max", keep_total=True).tables) == 5


@pytest.mark.parametrize("seed", range(40))
def test_kernel_and_logarithms_agree(seed):
    case = random_case(seed)
    shapes, scopes, packed = described(case)
    targets, evidence, _ = case.split()
    states = np.array(list(evidence.values()), dtype=np.int64)
    for semiring, marginals in itertools.product(("sum", "max"), (False, True)):
        plan = compile_plan(shapes, scopes, targets, list(evidence), semiring, marginals=marginals)
        one = run(plan, packed, states)
        other = execution.run_in_logs(plan, packed, states, np.empty(0))
        assert one.log_total == pytest.approx(other.log_total, abs=1e-10)
        for place in range(len(plan.outputs)):
            assert np.allclose(one.probabilities(place), other.probabilities(place), rtol=1e-10, atol=1e-15)
    plan = compile_plan(shapes, scopes, (), list(evidence), "max")
    logs = execution.run_in_logs(plan, packed, states, np.empty(0))
    assert trace_back(run(plan, packed, states), packed, states) == trace_back(logs, packed, states)


@pytest.mark.parametrize("seed", range(20))
def test_products_left_to_blas(seed, monkeypatch):
    case = random_case(seed)
    shapes, scopes, packed = described(case)
    targets, evidence, table = case.split()
    states = np.array(list(evidence.values()), dtype=np.int64)
    hidden = [name for name in case.names if name not in evidence][:1]
    vectors = case.rng.random((case.sizes[case.names.index(hidden[0])], 4))
    monkeypatch.setattr(layout, "LARGE", 1)
    monkeypatch.setattr(layout, "SIDE", 1)
    plan = compile_plan(shapes, scopes, targets, list(evidence))
    wanted = case.over(table, targets, np.sum)
    assert np.allclose(run(plan, packed, states).probabilities(), wanted / wanted.sum(), rtol=1e-10)
    plan = compile_plan(shapes, scopes, (), list(evidence), likelihoods=hidden, batch=4)
    axis = case.names.index(hidden[0])
    totals = np.moveaxis(table, axis, -1).reshape(-1, table.shape[axis]).sum(axis=0) @ vectors
    found = np.broadcast_to(run(plan, packed, states, vectors.ravel()).log_total, 4) + packed.log_scale.sum()
    assert np.allclose(found, np.log(totals), rtol=1e-10, atol=1e-12)


def test_products_of_large_matrices():
    n = 256
    rng = np.random.default_rng(0)
    a, b = rng.random((n, n)), rng.random((n, n))
    plan = compile_plan([a.shape, b.shape], [("x", "y"), ("y", "z")], ["x", "z"])
    assert len(plan.pieces) == 1
    assert plan.pieces[0][1] == layout.MATRICES
    assert np.allclose(run(plan, pack([a, b])).probabilities(), (a @ b) / (a @ b).sum(), rtol=1e-12)
    a[:, 1:] = 0.0
    b[0] = 0.0
    with pytest.raises(ZeroProbabilityError):
        run(plan, pack([a, b]))
    # entries that floating point would lose, and that matter in the end
    tiny = pack([np.where(a > 0, 1.0, 1e-200), np.where(b > 0, 1e-200, 1.0)])
    assert run(plan, tiny).log_scale == pytest.approx(run(plan, tiny).log_scale)


def test_what_a_plan_was_not_made_for():
    plan = compile_plan([(2, 2)], [("a", "b")], ["a"], ["b"])
    packed = pack([np.ones((2, 2))])
    with pytest.raises(ParameterError, match="for which the plan was made"):
        run(plan, packed)
    with pytest.raises(ParameterError):
        run(plan, pack([np.ones((3, 3))]), np.zeros(1, dtype=np.int64))
    with pytest.raises(ParameterError, match="variables of some table, got 'z'"):
        compile_plan([(2, 2)], [("a", "b")], ["z"])
    with pytest.raises(ParameterError, match="semiring"):
        compile_plan([(2, 2)], [("a", "b")], ["a"], (), "min")


def test_room_is_used_again():
    length = 200
    scopes = [(t, t + 1) for t in range(length)]
    plan = compile_plan([(50, 50)] * length, scopes, [length])
    assert plan.size < 6 * 50 + length + 10
    assert plan.peak_bytes == 8 * plan.size


def test_space_joins_what_is_given_back():
    space = layout.Space()
    places = [space.take(10) for _ in range(4)]
    for place in (places[1], places[3], places[2]):
        space.give(place, 10)
    assert space.take(30) == places[1]
    assert space.take(1) == space.size - 1
    assert math.isclose(space.size, 42)


def test_axes_that_step_alike_are_one_loop():
    scopes = [("a", "b", "c", "d"), ("c", "d")]
    plan = compile_plan([(2, 3, 4, 5), (4, 5)], scopes, ["a", "b", "c", "d"])
    assert plan.code[13] == 2
    plan = compile_plan([(2, 3, 4, 5)], scopes[:1], ["a", "b", "c", "d"])
    assert plan.code[layout.HEAD + 4 : layout.HEAD + 8].tolist()[0] == 120
