"""`BernoulliBandit`, `GaussianBandit`, `LinearBandit`: a belief, a policy and a generator behind ask and tell."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable
from typing import Any, ClassVar, Self

import numpy as np

from credo.design.bandits import state as states
from credo.design.bandits.arms import bernoulli_arms, gaussian_arms
from credo.design.bandits.choose import Stopping, choose, stopping
from credo.design.bandits.linear import linear_arms
from credo.design.bandits.maximum import expected_loss, probability_best
from credo.design.bandits.policies import as_policy
from credo.distributions.normal_inverse_gamma import NormalInverseGamma
from credo.errors import ParameterError
from credo.numerics.random import as_generator

__all__ = ["BernoulliBandit", "GaussianBandit", "LinearBandit"]


class Bandit:
    """What the three share; arrays are in the order of `arms`.

    arms : labels of the arms
    belief : the present belief, a value
    pending : (K,) plays asked for whose reward has not been told
    """

    kind: ClassVar[str]

    def __init__(self, arms: Any, belief: Any, policy: Any, random_state: Any) -> None:
        self.arms, self.belief, self.policy = arms, belief, as_policy(policy)
        self.pending = np.zeros(len(arms))
        self._rng = as_generator(random_state)

    def ask(self, context: Any = None, n: int | None = None) -> Any:
        """The label of the arm to play next; with `n`, a list of n of them whose rewards may come in any order."""
        chosen = choose(
            self.belief, self._rng, self.policy, 1 if n is None else n, context=context, pending=self.pending
        )
        np.add.at(self.pending, chosen, 1.0)
        labels = [self.arms[k] for k in chosen]
        return labels[0] if n is None else labels

    def tell(self, arm: Any, reward: Any, context: Any = None) -> Self:
        """Record a reward (or several) of an arm, asked for or not, at any delay. Returns the bandit."""
        k = self._index(arm)
        self.belief = self.belief.update(k, reward, context)
        self.pending[k] = max(0.0, self.pending[k] - np.size(reward))
        return self

    def mean(self, context: Any = None) -> np.ndarray:
        """(K,) expected rewards under the belief."""
        return self.belief.at(context).mean

    def interval(self, mass: float = 0.9, context: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """(K,) and (K,): central intervals of the expected rewards."""
        return self.belief.at(context).law.interval(mass)

    def probability_best(self, context: Any = None) -> np.ndarray:
        """(K,) P(this arm's expected reward is the largest), exact to quadrature, summing to 1."""
        return probability_best(self.belief.at(context).law)

    def expected_loss(self, context: Any = None) -> float:
        """E max_k μ_k − max_k E μ_k: what a play is expected to lose if the best arm of now is kept for ever."""
        return expected_loss(self.belief.at(context).law)

    def stopping(
        self, mass: float = 0.95, tolerance: float = 0.01, relative: bool | None = None, context: Any = None
    ) -> Stopping:
        """Whether little value remains in playing on: see `credo.design.bandits.stopping`; `best` is a label."""
        found = stopping(self.belief, mass=mass, tolerance=tolerance, relative=relative, context=context)
        return dataclasses.replace(found, best=self.arms[found.best])

    def to_dict(self) -> dict[str, Any]:
        """Everything, as numbers, strings and lists that JSON holds; the generator too, so that it goes on alike."""
        return states.bandit_state(self)

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> Self:
        """The bandit of `to_dict`, which gives the same answers from there on."""
        return states.restored(cls, state)

    def _index(self, arm: Any) -> int:
        for k, label in enumerate(self.arms):
            if label == arm and isinstance(label, bool) == isinstance(arm, bool):
                return k
        raise ParameterError(type(self).__name__, "arm", f"one of {self.arms}", arm)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.arms!r}, policy={self.policy!r})"


class BernoulliBandit(Bandit):
    """Arms that pay 1 or 0: pages that are clicked or not.

    Parameters
    ----------
    arms : how many, or their labels
    prior : `Beta`, one or a batch of K; by default Beta(1, 1)
    policy : "thompson", "bayes_ucb", "ucb1", "kl_ucb", "top_two", "uniform", "greedy", or a `Policy`
    random_state : seed, Generator or None

    Examples
    --------
    >>> import credo as cr
    >>> bandit = BernoulliBandit(["old", "new"], random_state=0)
    >>> bandit = bandit.tell("old", [1] * 30 + [0] * 70).tell("new", [1] * 45 + [0] * 55)
    >>> bandit.probability_best().round(4).tolist()
    [0.0145, 0.9855]
    >>> bandit.stopping().stop, bandit.stopping(tolerance=0.05).value_remaining
    (True, 0.0)

    References
    ----------
    Russo et al. (2018), A Tutorial on Thompson Sampling.
    """

    kind = "bernoulli"

    def __init__(self, arms: Any, prior: Any = None, policy: Any = "thompson", random_state: Any = None) -> None:
        labels = _labels(arms)
        super().__init__(labels, bernoulli_arms(len(labels), prior), policy, random_state)


class GaussianBandit(Bandit):
    """Arms that pay Normal rewards, mean and variance unknown.

    Parameters
    ----------
    arms : how many, or their labels
    prior : `NormalInverseGamma`, one or a list of K; by default mean 0, covariance 100, shape 1 and scale 1, for
        rewards of order one. State it in your own units
    policy, random_state : as for `BernoulliBandit`; "ucb1" needs `UCB1(width=)`, the range of the rewards

    Examples
    --------
    >>> bandit = GaussianBandit(3, random_state=0).tell(0, [1.0, 1.2, 0.9]).tell(1, [0.1, -0.2]).tell(2, [0.3, 0.5])
    >>> bandit.mean().round(3).tolist()
    [1.03, -0.05, 0.398]
    >>> bandit.ask(n=2)
    [0, 0]
    """

    kind = "gaussian"

    def __init__(self, arms: Any, prior: Any = None, policy: Any = "thompson", random_state: Any = None) -> None:
        labels = _labels(arms)
        super().__init__(labels, gaussian_arms(len(labels), prior), policy, random_state)


class LinearBandit(Bandit):
    """Arms whose expected reward is linear in a context: θ_k·x, a Bayesian linear regression an arm.

    Parameters
    ----------
    arms : how many, or their labels
    n_features : P, the length of a context. Give contexts an entry 1 if arms have an intercept
    prior : `NormalInverseGamma` over P coefficients, one or a list of K; by default mean 0, covariance 10 I, shape 1
        and scale 1, for contexts and rewards of order one
    policy : "thompson", "bayes_ucb", "top_two", "uniform", "greedy", or a `Policy`; the classical bounds have no
        context
    random_state : seed, Generator or None

    Examples
    --------
    >>> bandit = LinearBandit(["a", "b"], n_features=2, random_state=0)
    >>> for x in ([1.0, -1.0], [1.0, 0.5], [1.0, 1.0]):
    ...     bandit = bandit.tell("a", 2.0 * x[1], context=x).tell("b", -x[1], context=x)
    >>> bandit.ask(context=[1.0, 1.0]), bandit.ask(context=[1.0, -1.0])
    ('a', 'b')

    References
    ----------
    Li, Chu, Langford and Schapire (2010), A contextual-bandit approach; Agrawal and Goyal (2013), Thompson sampling for
    contextual bandits with linear payoffs.
    """

    kind = "linear"

    def __init__(
        self,
        arms: Any,
        n_features: int | None = None,
        prior: NormalInverseGamma | list | None = None,
        policy: Any = "thompson",
        random_state: Any = None,
    ) -> None:
        labels = _labels(arms)
        super().__init__(labels, linear_arms(len(labels), n_features, prior), policy, random_state)


def _labels(arms: Any) -> tuple[Hashable, ...]:
    if isinstance(arms, (int, np.integer)) and not isinstance(arms, bool):
        if arms < 1:
            raise ParameterError("bandit", "arms", "an integer ≥ 1, or labels", arms)
        return tuple(range(int(arms)))
    labels = tuple(arms.tolist() if isinstance(arms, np.ndarray) else arms) if np.iterable(arms) else ()
    plain = all(isinstance(label, (str, int, float, bool)) for label in labels)
    if isinstance(arms, str) or not labels or not plain or len(set(labels)) != len(labels):
        raise ParameterError("bandit", "arms", "an integer ≥ 1, or distinct labels (texts or numbers)", arms)
    return labels
