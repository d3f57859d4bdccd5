"""Decisions equal brute-force minimisation over 1,000 random pairs of loss and predictive."""

import numpy as np
import pytest

from credo.decisions import decide, evaluate, losses
from credo.prediction.classes import ClassPredictive
from credo.prediction.draws import DrawsPredictive
from credo.prediction.mixture import MixturePredictive
from credo.prediction.normal import NormalPredictive
from credo.prediction.student_t import StudentTPredictive


def random_real(rng, rows=3):
    where, noise, spread = rng.normal(size=rows) * 10, *np.exp(rng.normal(size=(2, rows)))
    normal = NormalPredictive(where, noise, spread)
    kind = rng.integers(4)
    if kind == 0:
        return normal
    if kind == 1:
        return DrawsPredictive(rng.normal(where, noise, size=(rng.integers(2, 40), rows)))
    if kind == 2:
        return StudentTPredictive(rng.uniform(2.2, 20), where, noise, spread)
    other = NormalPredictive(where + rng.normal(size=rows), spread, noise)
    return MixturePredictive(rng.dirichlet(np.ones(2)), [normal, other])


def random_real_loss(rng, tails):
    options = [
        losses.Square(),
        losses.Absolute(),
        losses.Pinball(rng.uniform(0.02, 0.98)),
        losses.Linear(over=rng.exponential(), under=rng.exponential()),
    ]
    return options[rng.integers(4)] if tails or rng.random() < 0.8 else losses.Linex(rng.normal())


@pytest.mark.parametrize("block", range(5))
def test_numbers(block):
    rng = np.random.default_rng(block)
    for _ in range(100):
        p = random_real(rng)
        loss = random_real_loss(rng, tails=isinstance(p, StudentTPredictive))
        chosen = evaluate(p, loss)
        grid = chosen.actions + np.concatenate([rng.normal(size=100), rng.normal(size=100) * 1e-3])[:, None]
        table = loss.expected(p, grid)
        assert np.all(chosen.expected_loss <= table.min(axis=0) + 1e-12 * np.abs(table).max(axis=0))
        assert np.all(chosen.expected_loss >= 0)
        # Candidates: the brute-force argmin over the same table.
        candidates = rng.normal(size=7) * 10
        by_hand = candidates[np.argmin([loss.expected(p, a) for a in candidates], axis=0)]
        np.testing.assert_array_equal(decide(p, loss, actions=candidates), by_hand)


@pytest.mark.parametrize("block", range(5))
def test_labels(block):
    rng = np.random.default_rng(100 + block)
    for _ in range(100):
        k, m = rng.integers(2, 6, size=2)
        classes = np.array(list("vwxyz"))[rng.permutation(5)[:k]]
        p = ClassPredictive(rng.dirichlet(np.full(k, 0.5), size=4), classes)
        costs = rng.normal(size=(m, k))
        kind = rng.integers(4)
        if kind == 0:
            loss, actions, table = losses.CostMatrix(costs, actions=np.arange(m)), list(range(m)), costs
        elif kind == 1:
            loss, actions, table = losses.ZeroOne(), classes.tolist(), 1 - np.eye(k)
        elif kind == 2:
            cost = rng.random()
            loss, actions = losses.Reject(cost), [*classes.tolist(), None]
            table = np.vstack([1 - np.eye(k), np.full(k, cost)])
        else:
            price = {(a, c): costs[a, j] for a in range(m) for j, c in enumerate(classes.tolist())}
            loss = losses.Callable(lambda a, y, price=price: price[a, y], actions=list(range(m)))
            actions, table = list(range(m)), costs
        chosen = evaluate(p, loss)
        for row, action, expected in zip(p.probabilities, chosen.actions.tolist(), chosen.expected_loss):
            by_hand = [sum(q * c for q, c in zip(row, line)) for line in table]
            assert action == actions[int(np.argmin(by_hand))]
            assert expected == pytest.approx(min(by_hand), abs=1e-12)
