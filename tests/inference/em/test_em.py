"""The EM engine on models small enough to check by hand: two coins, and two Normals that overlap."""

from __future__ import annotations

import numpy as np
import pytest

from credo.blocks.array import ArraySource
from credo.errors import BoundFellError, NumericalError, ParameterError, UnavailableError
from credo.inference.em import EMModel, OnlineEM, anneal, best_of, em

TOSSES = np.array([[5.0, 5.0], [9, 1], [8, 2], [4, 6], [7, 3]])


class TwoCoins(EMModel):
    """Rows of (heads, tails) from one of two coins, chosen evenly; q's entropy and E log p are kept for the gap."""

    power = 1.0

    def accumulate(self, block, bias):
        log_p = block.X @ np.log([bias, 1.0 - bias]) + np.log(0.5)
        total = np.logaddexp(*(self.power * log_p).T)
        share = np.exp(self.power * log_p - total[:, None])
        entropy = -np.sum(share * np.log(np.maximum(share, 1e-300)))
        return {"tosses": share.T @ block.X, "bound": total.sum() / self.power, "entropy": entropy, "n": len(block.X)}

    def finalize(self, statistics):
        heads, tails = statistics["tosses"].T
        return heads / (heads + tails)

    def bound(self, statistics, bias):
        return statistics["bound"]

    def expected(self, statistics, bias):
        complete = np.sum(statistics["tosses"] * np.log([bias, 1.0 - bias]).T) + statistics["n"] * np.log(0.5)
        return complete + statistics["entropy"]

    def pack(self, bias):
        return np.log(bias / (1.0 - bias))

    def unpack(self, vector):
        return 1.0 / (1.0 + np.exp(-vector))

    def tempered(self, power):
        model = type(self)()
        model.power = power
        return model


class Backwards(TwoCoins):
    def finalize(self, statistics):
        return 1.0 - super().finalize(statistics)


def overlapping(n=400, seed=0, gap=0.13):
    rng = np.random.default_rng(seed)
    p = np.where(rng.random(n) < 0.5, 0.45, 0.45 + gap)
    heads = rng.binomial(10, p).astype(float)
    return np.column_stack([heads, 10.0 - heads])


def log_likelihood(tosses, bias):
    return np.logaddexp(*(tosses @ np.log([bias, 1.0 - bias]) + np.log(0.5)).T).sum()


def test_finds_the_maximum_of_the_likelihood():
    fit = em(TwoCoins(), TOSSES, np.array([0.6, 0.5]), tol=1e-14)
    assert fit.result.status == "converged"
    assert fit.bound == pytest.approx(log_likelihood(TOSSES, fit.params), rel=1e-14)
    step = 1e-5
    for i in range(2):
        for sign in (-1, 1):
            moved = fit.params.copy()
            moved[i] += sign * step
            assert log_likelihood(TOSSES, moved) < fit.bound + 1e-12


def test_bound_rises_and_the_gap_is_the_divergence():
    fit = em(TwoCoins(), TOSSES, np.array([0.6, 0.5]), tol=1e-14)
    assert np.all(np.diff(fit.result.objective) >= -1e-12)
    assert len(fit.gaps) == len(fit.result.objective) - 1
    assert min(fit.gaps) >= -1e-12
    assert fit.gaps[0] > 1e-3  # the first M-step moves, so that q is no longer the posterior
    assert fit.gaps[-1] < 1e-10


def test_a_broken_m_step_is_an_error_with_both_values():
    with pytest.raises(BoundFellError, match="fell from") as caught:
        em(Backwards(), TOSSES, np.array([0.8, 0.5]))
    assert caught.value.after < caught.value.before


def test_the_check_never_fires_on_random_fits():
    rng = np.random.default_rng(1)
    for _ in range(1000):
        heads = rng.integers(0, 11, size=rng.integers(1, 12)).astype(float)
        rows = np.column_stack([heads + 0.5, 10.5 - heads])  # half a toss each way keeps the logarithms finite
        em(TwoCoins(), rows, rng.uniform(0.05, 0.95, 2), tol=1e-12, max_iter=60)


def test_acceleration_takes_fewer_passes_to_the_same_bound():
    rows, start = overlapping(2000, gap=0.06), np.array([0.6, 0.4])
    plain = em(TwoCoins(), rows, start, tol=1e-13, max_iter=20_000)
    fast = em(TwoCoins(), rows, start, tol=1e-13, max_iter=20_000, acceleration="squarem")
    assert fast.bound >= plain.bound - 1e-9
    assert plain.n_passes >= 3 * fast.n_passes
    assert np.all(np.diff(fast.result.objective) >= -1e-9)


def test_weights_and_partitions_do_not_change_the_answer():
    rows = overlapping(200)
    whole = em(TwoCoins(), ArraySource(rows, block_rows=200), np.array([0.6, 0.4]), max_iter=20)
    parts = em(TwoCoins(), ArraySource(rows, block_rows=7), np.array([0.6, 0.4]), max_iter=20)
    np.testing.assert_allclose(parts.params, whole.params, rtol=1e-12)
    one, two = (
        em(TwoCoins(), ArraySource(rows, block_rows=7), np.array([0.6, 0.4]), max_iter=20, threads=t) for t in (1, 2)
    )
    assert one.params.tobytes() == two.params.tobytes()


def test_stopping_rules():
    rows, start = overlapping(), np.array([0.6, 0.4])
    stopped = em(TwoCoins(), rows, start, tol=0.0, max_iter=5)
    assert stopped.result.status == "max_iter"
    assert "still rising" in stopped.result.advice[0]
    loose = em(TwoCoins(), rows, start, tol=1e-3, scale=400.0)
    tight = em(TwoCoins(), rows, start, tol=1e-3, scale=400.0, parameter_tol=1e-6, max_iter=20_000)
    assert tight.n_passes > loose.n_passes


def test_several_starts_and_annealing_leave_a_bad_one():
    rows = overlapping()
    middle = np.array([0.5, 0.5])  # a saddle: both coins alike, where EM stays
    stuck = em(TwoCoins(), rows, middle)
    best = best_of(TwoCoins(), rows, [middle, np.array([0.6, 0.4])], tol=1e-10)
    assert best.bound > stuck.bound + 0.5
    assert len(best.result.certificate["starts"]) == 2
    screened = best_of(TwoCoins(), rows, [middle, np.array([0.6, 0.4])], screen=3, tol=1e-10)
    assert screened.bound == pytest.approx(best.bound, abs=1e-6)
    annealed = anneal(TwoCoins(), rows, middle, np.random.default_rng(0), tol=1e-13, max_iter=20_000)
    assert annealed.bound == pytest.approx(best.bound, abs=1e-4)


def test_online_em_comes_near_the_batch_fit():
    rows = overlapping(20_000, seed=3)
    batch = em(TwoCoins(), rows, np.array([0.6, 0.4]), tol=1e-10, max_iter=5000)
    online = OnlineEM(TwoCoins(), np.array([0.6, 0.4]))
    for block in ArraySource(rows, block_rows=50):
        online.update(block)
    assert log_likelihood(rows, online.params) > batch.bound - 3.0  # nats, of 20,000 rows
    assert online.rows == 20_000


def test_online_statistics_keep_the_number_of_rows():
    online = OnlineEM(TwoCoins(), np.array([0.6, 0.4]))
    for block in ArraySource(overlapping(100), block_rows=9):
        online.update(block)
    assert online.statistics["n"] == pytest.approx(100.0, rel=1e-12)


def test_refusals():
    with pytest.raises(ParameterError, match="acceleration"):
        em(TwoCoins(), TOSSES, np.array([0.6, 0.5]), acceleration="warp")
    with pytest.raises(ParameterError, match="tol"):
        em(TwoCoins(), TOSSES, np.array([0.6, 0.5]), tol=-1.0)
    with pytest.raises(ParameterError, match="starts"):
        best_of(TwoCoins(), TOSSES, [])
    with pytest.raises(ParameterError, match="powers"):
        anneal(TwoCoins(), TOSSES, np.array([0.6, 0.5]), np.random.default_rng(0), powers=(0.9, 0.1))
    with pytest.raises(ParameterError, match="forgetting"):
        OnlineEM(TwoCoins(), np.array([0.6, 0.5]), forgetting=0.2)

    class Plain(TwoCoins):
        pack = EMModel.pack

    with pytest.raises(UnavailableError, match="accelerated"):
        em(Plain(), overlapping(), np.array([0.6, 0.4]), acceleration="squarem", tol=1e-12)


def test_a_bound_that_is_not_finite_is_an_error():
    class Collapsing(TwoCoins):
        def bound(self, statistics, bias):
            return np.inf

    with pytest.raises(NumericalError, match="inf"):
        em(Collapsing(), TOSSES, np.array([0.6, 0.5]))


def test_interruption_returns_what_was_reached():
    def stop(step, params, bound):
        if step == 3:
            raise KeyboardInterrupt

    fit = em(TwoCoins(), overlapping(), np.array([0.6, 0.4]), tol=0.0, callback=stop)
    assert fit.result.status == "interrupted"
    assert len(fit.result.objective) == 4


def test_finishing_with_an_m_step_is_free_and_no_worse():
    start = np.array([0.6, 0.5])
    once = em(TwoCoins(), TOSSES, start, max_iter=1, finish=True)
    assert once.n_passes == 1
    np.testing.assert_array_equal(once.params, em(TwoCoins(), TOSSES, start, max_iter=1).params)
    ended = em(TwoCoins(), TOSSES, start, tol=1e-4, finish=True)
    assert ended.result.status == "converged"
    assert log_likelihood(TOSSES, ended.params) > ended.bound
