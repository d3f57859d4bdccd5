"""The next arms to play, and whether to play on: pure functions of a belief."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.design.bandits.arms import Arms, BetaView
from credo.design.bandits.linear import LinearArms
from credo.design.bandits.maximum import expected_loss, gain_cdf, gain_quantile, probability_best
from credo.design.bandits.policies import as_policy
from credo.errors import ParameterError
from credo.numerics.random import as_generator

__all__ = ["Stopping", "choose", "stopping"]


def choose(
    belief: Arms | LinearArms,
    rng: np.random.Generator,
    policy: Any = "thompson",
    n: int = 1,
    *,
    context: Any = None,
    pending: Any = None,
) -> np.ndarray:
    """Indices (n,) of the arms that `policy` plays next.

    Parameters
    ----------
    policy : "thompson", "bayes_ucb", "ucb1", "kl_ucb", "top_two", "uniform", "greedy" or a `Policy`
    n : arms of a batch, whose rewards come together
    pending : (K,) plays of each arm whose reward is still awaited; None is none. Index policies count them

    >>> from credo.design.bandits import bernoulli_arms
    >>> belief = bernoulli_arms(2).update(0, [0] * 50).update(1, [1] * 50)
    >>> choose(belief, np.random.default_rng(0), n=3).tolist()
    [1, 1, 1]
    """
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
        raise ParameterError("choose", "n", "an integer ≥ 1", n)
    waiting = np.zeros(belief.size) if pending is None else np.asarray(pending, dtype=np.float64)
    if waiting.shape != (belief.size,) or not np.all(waiting >= 0):
        raise ParameterError("choose", "pending", f"{belief.size} counts ≥ 0", pending)
    return as_policy(policy).choose(belief.at(context), as_generator(rng), int(n), waiting)


@dataclass(frozen=True)
class Stopping:
    """Whether to stop, and on what grounds.

    stop : whether the gain still possible is below `tolerance` with probability `mass`
    best : index (or label) of the arm of the highest expected reward, to be kept
    value_remaining : the `mass` quantile of the gain, by how much the truly best arm beats `best`
    tolerance : what that is compared with, in the same units
    relative : whether both are fractions of the reward of `best`
    probability_within : P(gain ≤ tolerance)
    probability_best : (K,) of each arm
    expected_loss : what keeping `best` from now on is expected to lose a play, in units of reward
    """

    stop: bool
    best: Any
    value_remaining: float
    tolerance: float
    relative: bool
    probability_within: float
    probability_best: np.ndarray
    expected_loss: float


def stopping(
    belief: Arms | LinearArms,
    *,
    mass: float = 0.95,
    tolerance: float = 0.01,
    relative: bool | None = None,
    context: Any = None,
) -> Stopping:
    """Stop an experiment once little value remains: the 95 % quantile of the gain is below 1 % of the best arm.

        gain = max_k μ_k/μ_* − 1 for rewards that are 0 or 1, max_k μ_k − μ_* for others

    Parameters
    ----------
    mass : probability with which the gain must be within the tolerance
    tolerance : a fraction where `relative`, else in units of reward
    relative : by default True for Bernoulli arms. For others, where a reward may be 0 or less, the fraction is of
        \\|E μ_*\\|, and the default is False

    Nothing is simulated: see `maximum`.

    >>> from credo.design.bandits import bernoulli_arms
    >>> belief = bernoulli_arms(2).update(0, [1] * 40 + [0] * 60).update(1, [1] * 10 + [0] * 90)
    >>> s = stopping(belief)
    >>> s.stop, s.best, s.value_remaining
    (True, 0, 0.0)

    References
    ----------
    Scott (2015), Multi-armed bandit experiments in the online service economy.
    """
    if not 0.0 < mass < 1.0:
        raise ParameterError("stopping", "mass", "between 0 and 1 (exclusive)", mass)
    if not tolerance >= 0.0:
        raise ParameterError("stopping", "tolerance", "≥ 0", tolerance)
    view = belief.at(context)
    ratios = isinstance(view, BetaView)
    relative = ratios if relative is None else bool(relative)
    best = int(np.argmax(view.mean))
    unit = 1.0
    if relative and not ratios:
        unit = abs(float(view.mean[best]))
        if unit == 0.0:
            raise ParameterError("stopping", "relative", "False while the best expected reward is 0", relative)
    within = gain_cdf(view.law, tolerance * unit, relative=relative and ratios)
    remaining = gain_quantile(view.law, mass, relative=relative and ratios) / unit
    chances, loss = probability_best(view.law), expected_loss(view.law)
    return Stopping(within >= mass, best, remaining, tolerance, relative, within, chances, loss)
