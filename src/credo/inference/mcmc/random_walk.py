"""Random-walk Metropolis: y = x + s L ξ, ξ ~ N(0, I), tuned in warm-up to the target's shape and the best acceptance.

The shape L Lᵀ is the covariance of the draws of growing windows, the scale s follows a Robbins–Monro recursion towards
the acceptance rate at which a random walk is fastest: 0.44 in one dimension, falling to 0.234 in many.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from credo.errors import ParameterError
from credo.inference.mcmc.kernel import State, Step, Tuner, initial_state
from credo.inference.mcmc.metropolis import MetropolisInfo, decide
from credo.inference.mcmc.windows import is_window_end
from credo.inference.target import Evaluation, Target
from credo.numerics.cholesky import cholesky

__all__ = ["RandomWalk", "optimal_acceptance"]


def optimal_acceptance(dim: int) -> float:
    """0.44 for one dimension, 0.234 in the limit (Gelman, Roberts and Gilks 1996, table 1, which this line follows
    within 0.02 for 1 ≤ dim ≤ 10)."""
    return 0.234 + 0.206 / dim


@dataclass(frozen=True, eq=False)
class RandomWalk:
    """Random-walk Metropolis, adaptive in warm-up only.

    Parameters
    ----------
    scale : s; None is 2.38/√dim, optimal for a Normal target whose covariance is known (Gelman et al. 1996).
    covariance : (dim, dim), or (dim,) variances, of the steps before scaling; None is the identity.
    adapt : "shape" learns scale and covariance, "scale" the scale alone, None nothing.
    unconstrained : None moves on the support where it is a box (a step outside is rejected), else on the transform.

    Cost: one evaluation and O(dim²) a step.

    References
    ----------
    Roberts, Gelman and Gilks (1997), Annals of Applied Probability 7; Andrieu and Thoms (2008), Statistics and
    Computing 18, algorithm 4.
    """

    scale: float | None = None
    covariance: Any = None
    adapt: str | None = "shape"
    unconstrained: bool | None = None
    inference: str = "metropolis"
    _factor: np.ndarray | None = field(default=None, init=False, repr=False)
    needs_gradient = False

    def __post_init__(self) -> None:
        if self.scale is not None and not 0 < self.scale < math.inf:
            raise ParameterError("RandomWalk", "scale", "None, or finite and > 0", self.scale)
        if self.adapt not in ("shape", "scale", None):
            raise ParameterError("RandomWalk", "adapt", '"shape", "scale" or None', self.adapt)
        if self.covariance is not None:
            given = np.asarray(self.covariance, dtype=np.float64)
            if given.ndim == 1 and not np.all(given > 0):
                raise ParameterError("RandomWalk", "covariance", "positive", given)
            factor = np.sqrt(given) if given.ndim == 1 else cholesky(given, "RandomWalk.covariance").lower
            object.__setattr__(self, "_factor", factor)

    def init(self, position: np.ndarray, target: Target) -> State:
        return initial_state(position, target, gradient=False)

    def step(self, rng: np.random.Generator, state: State) -> Step:
        if state.log_density is None:
            state = State(state.position, *(yield state.position))
        x = state.position
        move = rng.standard_normal(x.size)
        if self._factor is not None:
            move = self._factor * move if self._factor.ndim == 1 else self._factor @ move
        y = x + (self.scale or 2.38 / math.sqrt(x.size)) * move
        return decide(rng, state, State(y, *(yield y)), 0.0)

    def tuner(self, dim: int, warmup: int) -> Tuner:
        return RandomWalkTuner(self, dim, warmup)


class Record(NamedTuple):
    """`log_scale`; `steps` since the last reshaping; `draws` of the present window; `iteration`."""

    log_scale: float
    steps: int
    draws: list[np.ndarray]
    iteration: int


@dataclass(frozen=True)
class RandomWalkTuner:
    """log s ← log s + t^{−0.6} (accepted − wanted), t counted from the last reshaping.

    The exponent lies in (½, 1], as convergence demands; 0.6 forgets a bad first scale fast (Andrieu and Thoms 2008,
    §4).
    """

    kernel: RandomWalk
    dim: int
    warmup: int

    def start(
        self, rng: np.random.Generator, state: State
    ) -> Generator[np.ndarray, Evaluation, tuple[Record, RandomWalk]]:
        return Record(math.log(self.kernel.scale or 2.38 / math.sqrt(self.dim)), 0, [], 0), self.kernel
        yield

    def update(
        self, record: Record, kernel: RandomWalk, state: State, info: MetropolisInfo
    ) -> tuple[Record, RandomWalk]:
        if kernel.adapt is None:
            return record, kernel
        steps, iteration = record.steps + 1, record.iteration + 1
        gain = 3.0 * steps**-0.6  # the first steps may move the scale by a factor of 20: it can start anywhere
        log_scale = record.log_scale + gain * (info.acceptance_rate - optimal_acceptance(self.dim))
        draws = record.draws
        if kernel.adapt == "shape":
            draws.append(state.position)  # in place: the record is the only holder
            if is_window_end(iteration, self.warmup) and len(draws) > 2 * self.dim:
                kernel = replace(kernel, covariance=_shape(np.array(draws)))
                log_scale, steps, draws = math.log(2.38 / math.sqrt(self.dim)), 0, []
        return Record(log_scale, steps, draws, iteration), self._scaled(kernel, log_scale)

    def finish(self, record: Record, kernel: RandomWalk) -> RandomWalk:
        return kernel

    @staticmethod
    def _scaled(kernel: RandomWalk, log_scale: float) -> RandomWalk:
        # `replace` would factor the covariance again at every step
        scaled = object.__new__(RandomWalk)
        scaled.__dict__.update(kernel.__dict__, scale=math.exp(log_scale))
        return scaled


def _shape(draws: np.ndarray) -> np.ndarray:
    """Covariance of a window, shrunk towards its diagonal by dim/(dim + moves): few moves say little about shape."""
    dim = draws.shape[1]
    moves = 1 + int(np.any(np.diff(draws, axis=0) != 0, axis=1).sum())
    covariance = np.atleast_2d(np.cov(draws, rowvar=False))
    variances = np.maximum(np.diag(covariance), np.finfo(float).tiny ** 0.5)
    weight = dim / (dim + moves)
    return (1.0 - weight) * covariance + np.diag(weight * variances)
