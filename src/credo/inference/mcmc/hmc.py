"""Hamiltonian Monte Carlo: a trajectory of fixed length in fictitious time, accepted as a whole (Neal 2011)."""

from __future__ import annotations

import math
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
from credo.inference.target import Target

__all__ = ["HMC", "HMCInfo"]


class HMCInfo(NamedTuple):
    """Of one trajectory: acceptance, whether taken, H after, leapfrog steps (= gradients), divergence, step size."""

    acceptance_rate: float
    accepted: bool
    energy: float
    n_steps: int
    divergent: bool
    step_size: float


@dataclass(frozen=True, eq=False)
class HMC:
    """Hamiltonian Monte Carlo with leapfrog trajectories of a fixed `length`.

    Parameters
    ----------
    length : fictitious time of a trajectory, in whitened units; π/2 carries a whitened Normal to an independent draw.
    step_size : None is found and tuned in warm-up.
    metric : a `Metric`; None is learned. `metric_from` makes one of a covariance.
    adapt_metric : "auto", "diagonal", "low_rank", "dense", or None to leave the metric as given.
    target_acceptance : 0.8, near the optimum of cost per independent draw for short trajectories (Betancourt, Byrne and
        Girolami 2014: 0.6 to 0.9).
    jitter : step sizes are uniform within ±10 %: a fixed one may resonate with a period of the target and never mix.

    >>> HMC(length=1.0).target_acceptance
    0.8
    """

    length: float = math.pi / 2
    step_size: float | None = None
    metric: Metric | None = None
    adapt_metric: str | None = "auto"
    target_acceptance: float = 0.8
    jitter: float = 0.1
    max_steps: int = 1024
    inference: str = "hmc"
    needs_gradient = True
    unconstrained = True

    def __post_init__(self) -> None:
        check_settings(self)
        if not 0 < self.length < math.inf:
            raise ParameterError("HMC", "length", "finite and > 0", self.length)
        if self.max_steps < 1:
            raise ParameterError("HMC", "max_steps", "≥ 1", self.max_steps)

    def init(self, position: np.ndarray, target: Target) -> State:
        return initial_state(position, target, gradient=True)

    def step(self, rng: np.random.Generator, state: State) -> Step:
        if state.gradient is None:
            state = State(state.position, *(yield state.position))
        metric = self.metric or Diagonal(np.ones(state.position.size))
        nominal = self.step_size or 1.0
        n_steps = min(self.max_steps, max(1, math.ceil(self.length / nominal)))
        # The step is shortened so that n_steps of them make the length: overshooting towards a half period would leave
        # |q| nearly unchanged from draw to draw.
        e = jittered(rng, min(nominal, self.length / n_steps), self.jitter)
        q, value, gradient = state
        r, h = rng.standard_normal(q.size), metric.whiten(gradient)  # type: ignore[arg-type]
        energy = 0.5 * r.dot(r) - value  # type: ignore[operator]
        after = energy
        taken = 0
        while taken < n_steps:
            taken += 1
            half, q = drift(metric, e, q, r, h)
            value, gradient = yield q
            r, h = kick(metric, e, half, gradient)  # type: ignore[arg-type]
            after = 0.5 * r.dot(r) - value
            if not after - energy < MAX_ENERGY_ERROR:  # NaN too
                break
        divergent = not after - energy < MAX_ENERGY_ERROR
        rate = 0.0 if divergent else math.exp(min(0.0, energy - after))
        accepted = bool(rng.random() < rate)
        if accepted:
            state, energy = State(q, value, gradient), after
        return state, HMCInfo(rate, accepted, energy, taken, divergent, nominal)

    def tuner(self, dim: int, warmup: int) -> Tuner:
        return HamiltonianTuner(self, dim, warmup)
