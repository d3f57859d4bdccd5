"""Policies: which arms to play, given what is believed. Pure functions of (view, rng, n, pending).

t is 1 + the number of rewards seen or awaited. Ties go to a random one of the best.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.design.bandits.arms import View
from credo.design.bandits.maximum import probability_best
from credo.errors import ParameterError

__all__ = [
    "KLUCB",
    "UCB1",
    "BayesUCB",
    "Greedy",
    "POLICIES",
    "Policy",
    "Thompson",
    "TopTwoThompson",
    "Uniform",
    "as_policy",
]

# Joint draws in search of a challenger, before the exact probabilities are computed.
CHALLENGER_DRAWS = 256


class Policy:
    """`choose(view, rng, n, pending)` → (n,) indices of arms; `pending` (K,) counts plays whose reward is awaited."""

    def choose(self, view: View, rng: np.random.Generator, n: int, pending: np.ndarray) -> np.ndarray:
        raise NotImplementedError


@dataclass(frozen=True)
class Uniform(Policy):
    """Every arm alike: the yardstick, whose regret grows linearly."""

    def choose(self, view: View, rng: np.random.Generator, n: int, pending: np.ndarray) -> np.ndarray:
        return rng.integers(view.size, size=n)


@dataclass(frozen=True)
class Greedy(Policy):
    """The highest expected reward: right when nothing more can be learned, and prey to early bad luck before."""

    def choose(self, view: View, rng: np.random.Generator, n: int, pending: np.ndarray) -> np.ndarray:
        return np.array([_best(view.mean, rng) for _ in range(n)])


@dataclass(frozen=True)
class Thompson(Policy):
    """Each arm with the probability that it is the best: the best in one draw of the belief.

    Reference: Thompson (1933); Kaufmann, Korda and Munos (2012), an asymptotically optimal finite-time analysis.
    """

    def choose(self, view: View, rng: np.random.Generator, n: int, pending: np.ndarray) -> np.ndarray:
        return np.argmax(view.law.sample(n, rng), axis=1)


@dataclass(frozen=True)
class TopTwoThompson(Policy):
    """Thompson's arm with probability `beta`, else the best of the first later draw that has another best.

    For finding the best arm soon, rather than for reward on the way: ½ of the plays go to the challengers.
    Reference: Russo (2020), Simple Bayesian algorithms for best-arm identification, Operations Research 68.
    """

    beta: float = 0.5

    def __post_init__(self) -> None:
        if not 0.0 < self.beta <= 1.0:
            raise ParameterError("TopTwoThompson", "beta", "in (0, 1]", self.beta)

    def choose(self, view: View, rng: np.random.Generator, n: int, pending: np.ndarray) -> np.ndarray:
        leaders = np.argmax(view.law.sample(n, rng), axis=1)
        if view.size == 1:
            return leaders
        second = rng.random(n) >= self.beta
        return np.array([_challenger(view, k, rng) if s else k for k, s in zip(leaders, second, strict=True)])


def _challenger(view: View, leader: int, rng: np.random.Generator) -> int:
    """The best arm of the next draw in which `leader` is not: k with probability P(k best)/(1 − P(leader best))."""
    drawn = np.argmax(view.law.sample(CHALLENGER_DRAWS, rng), axis=1)
    other = drawn[drawn != leader]
    if other.size:
        return int(other[0])
    p = probability_best(view.law)
    p[leader] = 0.0
    return int(rng.choice(p.size, p=p / p.sum())) if p.sum() > 0 else _best(np.where(p > 0, p, view.mean), rng)


class IndexPolicy(Policy):
    """The arm of the highest `index(view, t)`; plays awaited count as if their rewards came as expected.

    Reference for the batch: Desautels, Krause and Burdick (2014), JMLR 15.
    """

    def index(self, view: View, t: float) -> np.ndarray:
        raise NotImplementedError

    def choose(self, view: View, rng: np.random.Generator, n: int, pending: np.ndarray) -> np.ndarray:
        pending = pending.astype(np.float64)
        chosen = np.empty(n, dtype=np.intp)
        for i in range(n):
            supposed = view.supposing(pending) if pending.any() else view
            chosen[i] = _best(self.index(supposed, 1.0 + supposed.counts.sum()), rng)
            pending[chosen[i]] += 1.0
        return chosen


@dataclass(frozen=True)
class BayesUCB(IndexPolicy):
    """The posterior quantile at 1 − 1/(t log(t)^c), capped so that the first level is ½.

    Reference: Kaufmann, Cappé and Garivier (2012), On Bayesian upper confidence bounds; c = 0 as in its experiments.
    """

    c: float = 0.0

    def index(self, view: View, t: float) -> np.ndarray:
        return view.law.upper_quantile(1.0 / ((t + 1.0) * max(np.log(t + 1.0), 1.0) ** self.c))


@dataclass(frozen=True)
class UCB1(IndexPolicy):
    """Average + width √(2 log t/n), an unplayed arm first; `width` is the range of the rewards.

    Reference: Auer, Cesa-Bianchi and Fischer (2002), Finite-time analysis of the multiarmed bandit problem.
    """

    width: float = 1.0

    def __post_init__(self) -> None:
        if not self.width > 0:
            raise ParameterError("UCB1", "width", "> 0, the range of the rewards", self.width)

    def index(self, view: View, t: float) -> np.ndarray:
        played = view.counts > 0
        n = np.where(played, view.counts, 1.0)
        return np.where(played, view.observed("ucb1") + self.width * np.sqrt(2.0 * np.log(t) / n), np.inf)


@dataclass(frozen=True)
class KLUCB(IndexPolicy):
    """The largest mean whose n KL stays within log t + c log log t of the rewards seen; see `equations`.

    Reference: Garivier and Cappé (2011), who recommend c = 0.
    """

    c: float = 0.0

    def index(self, view: View, t: float) -> np.ndarray:
        level = np.log(t) + self.c * np.log(max(np.log(max(t, 2.0)), 1.0))
        return view.kl_upper(level)


POLICIES: dict[str, type[Policy]] = {
    "thompson": Thompson,
    "bayes_ucb": BayesUCB,
    "ucb1": UCB1,
    "kl_ucb": KLUCB,
    "top_two": TopTwoThompson,
    "uniform": Uniform,
    "greedy": Greedy,
}


def as_policy(policy: Any) -> Policy:
    """A policy, or its name."""
    if isinstance(policy, Policy):
        return policy
    if not isinstance(policy, str) or policy not in POLICIES:
        names = ", ".join(map(repr, POLICIES))
        raise ParameterError("bandit", "policy", f"a Policy or one of {names}", policy)
    return POLICIES[policy]()


def _best(index: np.ndarray, rng: np.random.Generator) -> int:
    ties = np.flatnonzero(index == index.max())
    return int(ties[0]) if ties.size == 1 else int(rng.choice(ties))
