"""The no-U-turn sampler: a trajectory doubled, forwards or backwards in time, until it turns back on itself.

Draws come from the trajectory by weight e^{−H} (multinomial), the latest doubling preferred; a stretch with ends r₋, r₊
and sum of momenta ρ has turned when ρ·r₋ ≤ 0 or ρ·r₊ ≤ 0 (the generalised criterion, here in whitened coordinates,
where the metric is the identity). Every balanced sub-stretch is tested as it is completed, and across its seam too:
without these extra tests a near-periodic trajectory can run on for a full period.

References: Hoffman and Gelman (2014), JMLR 15; Betancourt (2017), arXiv:1701.02434, appendix A; for the seam tests, the
report "NUTS misses U-turns" on Stan's forum (2019).
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from credo.errors import ParameterError
from credo.inference.mcmc.hamiltonian import (
    MAX_ENERGY_ERROR,
    HamiltonianTuner,
    check_settings,
    drift,
    jittered,
    kick,
)
from credo.inference.mcmc.kernel import State, Step, Tuner, initial_state
from credo.inference.mcmc.metric import Diagonal, Metric
from credo.inference.target import Evaluation, Target

__all__ = ["NUTS", "NUTSInfo"]


class NUTSInfo(NamedTuple):
    """Of one trajectory: mean acceptance over its points, H of the draw, doublings, leapfrog steps (= gradients),
    whether it diverged, whether the depth limit cut it short, step size."""

    acceptance_rate: float
    energy: float
    tree_depth: int
    n_steps: int
    divergent: bool
    reached_max_depth: bool
    step_size: float


class Stretch(NamedTuple):
    """A run of 2^k leapfrog steps: momenta at its first and last point, and the sum over all its points."""

    first: np.ndarray
    last: np.ndarray
    total: np.ndarray

    def reversed(self) -> Stretch:
        """Seen from the other end; the criterion is the same in both directions of time."""
        return Stretch(self.last, self.first, self.total)


class Point(NamedTuple):
    """An end of the trajectory: position q, whitened momentum r and gradient h."""

    q: np.ndarray
    r: np.ndarray
    h: np.ndarray


class Growth(NamedTuple):
    """What a doubling found: its far end, its stretch (None if it turned or diverged within), the log of its summed
    weights relative to the start, a draw among its points by weight, and what it cost."""

    end: Point
    stretch: Stretch | None
    log_weight: float
    draw: State | None
    energy: float
    acceptance: float
    n_steps: int
    divergent: bool


def turned(a: Stretch, b: Stretch, total: np.ndarray) -> bool:
    """Whether stretch a followed by b has turned, over its whole or across its seam."""
    if total.dot(a.first) <= 0.0 or total.dot(b.last) <= 0.0:
        return True
    if a.first is a.last:  # two points: the seam tests repeat the first two
        return False
    seam = a.total + b.first
    if seam.dot(a.first) <= 0.0 or seam.dot(b.first) <= 0.0:
        return True
    seam = b.total + a.last
    return seam.dot(a.last) <= 0.0 or seam.dot(b.last) <= 0.0


def log_add(a: float, b: float) -> float:
    """log(eᵃ + eᵇ)."""
    if a < b:
        a, b = b, a
    return a if b == -math.inf else a + math.log1p(math.exp(b - a))


def grow(
    rng: np.random.Generator, metric: Metric, e: float, depth: int, end: Point, energy_start: float
) -> Generator[np.ndarray, Evaluation, Growth]:
    """2^depth leapfrog steps of size e from `end`, stopped as soon as any balanced sub-stretch has turned.

    Completed sub-stretches wait on a stack, at most one of each size, and are merged like the carries of a binary
    counter: memory is O(depth), and there is one merge a step on average.
    """
    q, r, h = end
    stack: list[Stretch] = []
    log_weight, draw, energy, acceptance = -math.inf, None, energy_start, 0.0
    for leaf in range(1 << depth):
        half, q = drift(metric, e, q, r, h)
        value, gradient = yield q
        r, h = kick(metric, e, half, gradient)  # type: ignore[arg-type]
        after = 0.5 * r.dot(r) - value
        gain = energy_start - after
        if not gain > -MAX_ENERGY_ERROR:  # NaN too
            return Growth(end, None, log_weight, draw, energy, acceptance, leaf + 1, True)
        acceptance += 1.0 if gain > 0.0 else math.exp(gain)
        log_weight = log_add(log_weight, gain)
        if rng.random() < math.exp(gain - log_weight):
            draw, energy = State(q, value, gradient), after
        latest, carries = Stretch(r, r, r), leaf
        while carries & 1:
            earlier = stack.pop()
            total = earlier.total + latest.total
            if turned(earlier, latest, total):
                return Growth(end, None, log_weight, draw, energy, acceptance, leaf + 1, False)
            latest = Stretch(earlier.first, latest.last, total)
            carries >>= 1
        stack.append(latest)
    return Growth(Point(q, r, h), stack[0], log_weight, draw, energy, acceptance, 1 << depth, False)


@dataclass(frozen=True, eq=False)
class NUTS:
    """The no-U-turn sampler, multinomial, with step size and metric tuned in warm-up.

    Parameters
    ----------
    step_size : None is found and tuned in warm-up.
    metric : a `Metric`; None is learned. `metric_from` makes one of a covariance, such as Laplace's.
    adapt_metric : "auto" (dense up to 100 dimensions, else low rank), "diagonal", "low_rank", "dense", or None to keep
        the metric as given.
    target_acceptance : mean acceptance over a trajectory; 0.8 is near the cheapest (Betancourt, Byrne and Girolami
        2014), more is safer where the curvature varies.
    max_depth : at most 2^max_depth steps a draw; 10 lets a trajectory be 1,000 times longer than the step.
    jitter : step sizes uniform within ±jitter.

    Cost: one gradient and, in plain NumPy, about 15 µs of bookkeeping a leapfrog step.

    >>> NUTS(target_acceptance=0.9).max_depth
    10
    """

    step_size: float | None = None
    metric: Metric | None = None
    adapt_metric: str | None = "auto"
    target_acceptance: float = 0.8
    max_depth: int = 10
    jitter: float = 0.0
    inference: str = "nuts"
    needs_gradient = True
    unconstrained = True

    def __post_init__(self) -> None:
        check_settings(self)
        if self.max_depth < 1:
            raise ParameterError("NUTS", "max_depth", "≥ 1", self.max_depth)

    def init(self, position: np.ndarray, target: Target) -> State:
        return initial_state(position, target, gradient=True)

    def step(self, rng: np.random.Generator, state: State) -> Step:
        if state.gradient is None:
            state = State(state.position, *(yield state.position))
        metric = self.metric or Diagonal(np.ones(state.position.size))
        step_size = jittered(rng, self.step_size or 1.0, self.jitter)
        r = rng.standard_normal(state.position.size)
        start = Point(state.position, r, metric.whiten(state.gradient))  # type: ignore[arg-type]
        energy_start = 0.5 * r.dot(r) - state.log_density  # type: ignore[operator]
        ends = {1.0: start, -1.0: start}
        tree, log_weight = Stretch(r, r, r), 0.0  # `tree` runs backwards to forwards in time
        draw, energy = state, energy_start
        depth, n_steps, acceptance, divergent, going = 0, 0, 0.0, False, True
        while going and depth < self.max_depth:
            sign = 1.0 if rng.random() < 0.5 else -1.0
            new = yield from grow(rng, metric, sign * step_size, depth, ends[sign], energy_start)
            n_steps += new.n_steps
            acceptance += new.acceptance
            divergent = new.divergent
            if new.stretch is None or new.draw is None:
                break
            depth += 1
            ends[sign] = new.end
            if new.log_weight >= log_weight or rng.random() < math.exp(new.log_weight - log_weight):
                draw, energy = new.draw, new.energy
            log_weight = log_add(log_weight, new.log_weight)
            near = tree if sign > 0.0 else tree.reversed()
            total = near.total + new.stretch.total
            going = not turned(near, new.stretch, total)
            tree = Stretch(near.first, new.stretch.last, total)
            tree = tree if sign > 0.0 else tree.reversed()
        limited = going and depth == self.max_depth
        return draw, NUTSInfo(acceptance / n_steps, energy, depth, n_steps, divergent, limited, step_size)

    def tuner(self, dim: int, warmup: int) -> Tuner:
        return HamiltonianTuner(self, dim, warmup)
