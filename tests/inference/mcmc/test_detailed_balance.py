"""π(x) P(x → y) = π(y) P(y → x), exactly, for every pair of states of a discrete target and every Metropolis
variant."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from credo.inference.mcmc import Independence, MetropolisHastings, Mixture, ParallelGibbs, RandomWalk, State
from credo.inference.target import Evaluation, Target

PI = np.array([0.05, 0.4, 0.2, 0.3, 0.05])
STATES = np.arange(5.0)[:, None]
rng = np.random.default_rng(0)
Q = rng.dirichlet(np.ones(5), size=5)
LINE = Target(lambda x: float(np.log(PI[int(x[0])])), {"x": ()})


def acceptance(kernel, x, y, target=LINE):
    """A(x → y), as the kernel itself reports it when made to propose y."""
    forced = dataclasses.replace(kernel, propose=lambda rng, x: y)
    step = forced.step(np.random.default_rng(0), State(x, target.evaluate(x).log_density))
    asked = next(step)
    assert np.array_equal(asked, y)
    with pytest.raises(StopIteration) as stop:
        step.send(target.evaluate(y))
    return stop.value.value[1].acceptance_rate


def flows(proposal, rates, pi):
    return pi[:, None] * proposal * rates


def assert_balanced(proposal, kernel, states=STATES, pi=PI, target=LINE):
    rates = np.array([[acceptance(kernel, x, y, target) for y in states] for x in states])
    flow = flows(proposal, rates, pi)
    np.testing.assert_allclose(flow, flow.T, rtol=1e-12, atol=1e-15)
    # The rest stays: with it, π P = π.
    transition = proposal * rates
    transition[np.diag_indices(len(pi))] += 1.0 - transition.sum(axis=1)
    np.testing.assert_allclose(pi @ transition, pi, rtol=1e-12)


def log_q(y, x):
    return float(np.log(Q[int(x[0]), int(y[0])]))


def test_any_proposal_with_its_correction():
    assert_balanced(Q, MetropolisHastings(lambda rng, x: x, log_q))


def test_symmetric_proposal():
    assert_balanced((Q + Q.T) / 2, MetropolisHastings(lambda rng, x: x))


def test_independence():
    class Law:
        def sample(self, size, rng):
            return rng.choice(5, p=Q[0])

        def log_prob(self, y):
            return np.log(Q[0, int(y[0])])

    assert_balanced(np.tile(Q[0], (5, 1)), Independence(Law()))


def test_parallel_gibbs():
    table = np.random.default_rng(1).dirichlet(np.ones(6)).reshape(2, 3)
    target = Target(lambda x: float(np.log(table[int(x[0]), int(x[1])])), {"a": (), "b": ()})

    class Law:
        def __init__(self, p):
            self.p = p / p.sum()

        def sample(self, size, rng):
            return rng.choice(len(self.p), p=self.p)

        def log_prob(self, y):
            return np.log(self.p[int(y)])

    conditionals = {"a": lambda v: Law(table[:, int(v["b"])]), "b": lambda v: Law(table[int(v["a"])])}
    states = np.array([[a, b] for a in range(2) for b in range(3)], dtype=float)
    proposal = np.array(
        [[Law(table[:, int(x[1])]).p[int(y[0])] * Law(table[int(x[0])]).p[int(y[1])] for y in states] for x in states]
    )
    assert_balanced(proposal, ParallelGibbs(target, conditionals), states, table.ravel(), target)


@pytest.mark.parametrize("bug", ["missing", "reversed"])
def test_seeded_bugs_break_it(bug):
    wrong = None if bug == "missing" else (lambda y, x: -log_q(y, x))
    with pytest.raises(AssertionError):
        assert_balanced(Q, MetropolisHastings(lambda rng, x: x, wrong))


def test_random_walk_is_symmetric_and_accepts_by_the_ratio():
    kernel = RandomWalk(scale=0.7, covariance=[[2.0, 0.6], [0.6, 1.0]])
    generator = np.random.default_rng(0)
    moves = []
    for _ in range(4000):
        step = kernel.step(generator, State(np.zeros(2), -1.0))
        moves.append(next(step))
        with pytest.raises(StopIteration) as stop:
            step.send(Evaluation(-1.0 - 0.25))
        assert stop.value.value[1].acceptance_rate == pytest.approx(np.exp(-0.25), rel=1e-14)
    # Moves are N(0, s² Σ): symmetric; 5 standard errors.
    np.testing.assert_allclose(
        np.cov(np.array(moves).T), 0.49 * np.array([[2.0, 0.6], [0.6, 1.0]]), atol=5 * 0.98 / 63 * 1.42
    )


def test_mixture_of_reversible_kernels_is_picked_by_weight():
    counts = np.zeros(2)

    def proposal(i):
        def propose(rng, x):
            counts[i] += 1
            return x

        return propose

    kernel = Mixture((MetropolisHastings(proposal(0)), MetropolisHastings(proposal(1))), weights=(1, 3))
    generator = np.random.default_rng(0)
    for _ in range(1000):
        step = kernel.step(generator, State(np.zeros(1), 0.0))
        next(step)
        with pytest.raises(StopIteration):
            step.send(Evaluation(0.0))
    assert abs(counts[0] - 250) < 5 * np.sqrt(1000 * 0.25 * 0.75)


def test_acceptance_happens_at_the_stated_rate():
    kernel = MetropolisHastings(lambda rng, x: x + 1.0)
    generator, taken = np.random.default_rng(0), 0
    for _ in range(4000):
        step = kernel.step(generator, State(np.zeros(1), 0.0))
        next(step)
        with pytest.raises(StopIteration) as stop:
            step.send(Evaluation(np.log(0.3)))
        state, info = stop.value.value
        assert info.accepted == (state.position[0] == 1.0)
        taken += info.accepted
    assert abs(taken - 1200) < 5 * np.sqrt(4000 * 0.3 * 0.7)
