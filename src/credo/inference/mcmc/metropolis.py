"""Metropolis–Hastings with any proposal: y ~ Q(x → ·) is accepted with probability

    A(x → y) = min{1, π(y) Q(y → x) / (π(x) Q(x → y))},

otherwise the chain stays at x, and x counts again. The ratio of the Q is the proposal's *correction*; it is 1 for a
symmetric proposal, and leaving it out of another one samples the wrong distribution.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from credo.errors import ParameterError
from credo.inference.mcmc.kernel import NoTuning, State, Step, Tuner, initial_state
from credo.inference.target import Target

__all__ = ["MetropolisInfo", "MetropolisHastings", "Independence", "decide"]


class MetropolisInfo(NamedTuple):
    """`acceptance_rate` min{1, ratio} of this step, `accepted` whether the proposal was taken."""

    acceptance_rate: float
    accepted: bool


def decide(
    rng: np.random.Generator, state: State, proposed: State, log_correction: float
) -> tuple[State, MetropolisInfo]:
    """Accept or stay; `log_correction` = log Q(y → x) − log Q(x → y). A density that is not a number is a rejection."""
    log_ratio = proposed.log_density - state.log_density + log_correction  # type: ignore[operator]
    rate = 0.0 if math.isnan(log_ratio) else math.exp(min(log_ratio, 0.0))
    accepted = bool(rng.random() < rate)
    return proposed if accepted else state, MetropolisInfo(rate, accepted)


@dataclass(frozen=True)
class MetropolisHastings:
    """Metropolis–Hastings with a proposal of your own.

    Parameters
    ----------
    propose : (rng, x (dim,)) → y (dim,).
    log_proposal : (y, x) → log Q(x → y), up to a constant common to both directions; None states that the proposal is
        symmetric.
    unconstrained : whether x is on the support (False) or on the transformed real line.

    Examples
    --------
    A multiplicative walk on the positive axis; its correction is y/x:

    >>> kernel = MetropolisHastings(
    ...     lambda rng, x: x * np.exp(0.5 * rng.standard_normal(1)), lambda y, x: -np.log(y[0])
    ... )

    References
    ----------
    Hastings (1970), Biometrika 57, 97–109.
    """

    propose: Callable[[np.random.Generator, np.ndarray], Any]
    log_proposal: Callable[[np.ndarray, np.ndarray], float] | None = None
    unconstrained: bool | None = False
    inference: str = "metropolis"
    needs_gradient = False

    def init(self, position: np.ndarray, target: Target) -> State:
        return initial_state(position, target, gradient=False)

    def step(self, rng: np.random.Generator, state: State) -> Step:
        if state.log_density is None:
            state = State(state.position, *(yield state.position))
        x = state.position
        y = np.asarray(self.propose(rng, x), dtype=np.float64)
        if y.shape != x.shape:
            raise ParameterError("MetropolisHastings", "propose", f"a function to positions of shape {x.shape}", y)
        proposed = State(y, *(yield y))
        correction = 0.0
        if self.log_proposal is not None and proposed.log_density > -math.inf:  # type: ignore[operator]
            correction = float(self.log_proposal(x, y)) - float(self.log_proposal(y, x))
        return decide(rng, state, proposed, correction)

    def tuner(self, dim: int, warmup: int) -> Tuner:
        return NoTuning(self)


def Independence(distribution: Any, unconstrained: bool | None = False) -> MetropolisHastings:
    """Metropolis–Hastings whose proposals ignore where the chain is: y ~ Q, corrected by Q(x)/Q(y).

    `distribution` has `sample(None, rng)` → (dim,) and `log_prob(x)` → a number (summed if elementwise), such as a
    family or a Laplace approximation. Geometrically ergodic only if Q's tails are at least as heavy as the target's
    (Mengersen and Tweedie 1996, Annals of Statistics 24): prefer a StudentT to a Normal.

    >>> from credo.distributions.normal import Normal
    >>> Independence(Normal(np.zeros(2), 3.0)).inference
    'metropolis'
    """
    return MetropolisHastings(
        lambda rng, x: np.reshape(distribution.sample(None, rng), x.shape),
        lambda y, x: float(np.sum(distribution.log_prob(y))),
        unconstrained,
    )
