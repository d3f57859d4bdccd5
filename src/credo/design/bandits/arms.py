"""What is believed about the arms: conjugate beliefs, one an arm, and what they say of each arm's expected reward.

A belief is a value: `update` returns another one, rewards come in any order and at any delay, and `at(context)` is the
`View` that policies act on. Observations are kept as statistics, so the belief after the same rewards is the same (to
the last bit for Bernoulli rewards, to rounding for others).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from credo.design.bandits.equations import bernoulli_kl_upper, normal_kl_upper
from credo.distributions.bernoulli import Bernoulli
from credo.distributions.beta import Beta
from credo.distributions.conjugate import ConjugateModel
from credo.distributions.normal import Normal
from credo.distributions.normal_inverse_gamma import NormalInverseGamma
from credo.distributions.student_t import StudentT
from credo.errors import DataError, ParameterError

__all__ = ["Arms", "BetaView", "StudentTView", "View", "bernoulli_arms", "gaussian_arms"]


@dataclass(frozen=True, eq=False)
class View:
    """The arms as a policy sees them, in one context.

    law : of the expected rewards, independent, batch shape (K,)
    counts : (K,) rewards seen (or supposed) of each arm
    averages : (K,) their mean, the expected reward where there are none; None where rewards depend on a context
    """

    law: Any
    counts: np.ndarray
    averages: np.ndarray | None

    def observed(self, policy: str) -> np.ndarray:
        """`averages`, or a `ParameterError` where the policy has no meaning."""
        if self.averages is None:
            raise ParameterError(
                "LinearBandit", "policy", "one that reads the belief", policy, "Use 'bayes_ucb' or 'thompson'."
            )
        return self.averages

    @property
    def size(self) -> int:
        return self.counts.size

    @property
    def mean(self) -> np.ndarray:
        """(K,) expected rewards; the centre of a law that has no expectation."""
        return np.atleast_1d(self.law.mean)

    def supposing(self, pending: np.ndarray) -> Self:
        """The view once `pending` (K,) more rewards came, each as expected: only the uncertainty shrinks."""
        raise NotImplementedError

    def kl_upper(self, level: float) -> np.ndarray:
        """(K,) the largest mean q with counts · KL(seen, q) ≤ level; ∞ for an arm seen too little."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class BetaView(View):
    """Arms whose rewards are 0 or 1."""

    def supposing(self, pending: np.ndarray) -> Self:
        law = Beta(self.law.a + self.mean * pending, self.law.b + (1.0 - self.mean) * pending)
        return replace(self, law=law, counts=self.counts + pending)

    def kl_upper(self, level: float) -> np.ndarray:
        bound = bernoulli_kl_upper(self.observed("kl_ucb"), level / np.maximum(self.counts, 1.0))
        return np.where(self.counts > 0, bound, np.inf)


@dataclass(frozen=True, eq=False)
class StudentTView(View):
    """Arms whose rewards are Normal with unknown variance.

    spread : (K,) posterior variance of the expected reward in units of the noise variance
    scatter : (K,) Σ (reward − average)² of the rewards seen; zeros where they depend on a context
    """

    spread: np.ndarray
    scatter: np.ndarray

    def supposing(self, pending: np.ndarray) -> Self:
        shrink = 1.0 / (1.0 + self.spread * pending)
        law = StudentT(self.law.df, self.law.mean, self.law.scale * np.sqrt(shrink))
        return replace(self, law=law, counts=self.counts + pending, spread=self.spread * shrink)

    def kl_upper(self, level: float) -> np.ndarray:
        return normal_kl_upper(self.observed("kl_ucb"), self.scatter, self.counts, level)


@dataclass(frozen=True, eq=False)
class Arms:
    """K conjugate beliefs, one an arm.

    models : the prior, likelihood and statistics of each; `posteriors` their posteriors

    >>> import credo as cr
    >>> arms = bernoulli_arms(2).update(0, 1).update(0, [1, 0])
    >>> arms.at().law.a.tolist(), arms.at().law.b.tolist(), arms.at().counts.tolist()
    ([3.0, 1.0], [2.0, 1.0], [3.0, 0.0])
    """

    models: tuple[ConjugateModel, ...]
    posteriors: tuple[Any, ...]

    @classmethod
    def of(cls, models: tuple[ConjugateModel, ...]) -> Self:
        return cls(models, tuple(model.posterior for model in models))

    @property
    def size(self) -> int:
        return len(self.models)

    def update(self, arm: int, reward: Any, context: Any = None) -> Self:
        """The belief after one reward of an arm, or several."""
        refuse_context(context)
        reward = checked_rewards(reward)
        if reward.size == 0:
            return self
        model = self.models[arm].update(reward)
        return replace(
            self,
            models=(*self.models[:arm], model, *self.models[arm + 1 :]),
            posteriors=(*self.posteriors[:arm], model.posterior, *self.posteriors[arm + 1 :]),
        )

    def at(self, context: Any = None) -> View:
        refuse_context(context)
        return _beta_view(self) if isinstance(self.posteriors[0], Beta) else _student_t_view(self)


def bernoulli_arms(n_arms: int, prior: Beta | None = None) -> Arms:
    """Arms that pay 0 or 1; `prior` Beta(1, 1) unless given, the same for all or a batch of K."""
    return _arms(n_arms, Beta(1.0, 1.0) if prior is None else prior, Bernoulli)


def gaussian_arms(n_arms: int, prior: NormalInverseGamma | list | None = None) -> Arms:
    """Arms that pay Normal rewards of unknown mean and variance.

    prior : one `NormalInverseGamma`, or a list of K. By default (0, 100, shape 1, scale 1), for rewards of order one.
    """
    return _arms(n_arms, NormalInverseGamma(0.0, 100.0, shape=1.0, scale=1.0) if prior is None else prior, Normal)


def _arms(n_arms: int, prior: Any, likelihood: type) -> Arms:
    n_arms = checked_size(n_arms)
    if isinstance(prior, Beta) and prior.batch_shape:
        if prior.batch_shape != (n_arms,):
            raise ParameterError("bandit", "prior", f"one law, or one for each of {n_arms} arms", prior)
        a, b = np.broadcast_arrays(prior.a, prior.b)
        prior = [Beta(float(a[k]), float(b[k])) for k in range(n_arms)]
    priors = list(prior) if isinstance(prior, (list, tuple)) else [prior] * n_arms
    if len(priors) != n_arms:
        raise ParameterError("bandit", "prior", f"one law, or one for each of {n_arms} arms", prior)
    family = Beta if likelihood is Bernoulli else NormalInverseGamma
    for each in priors:
        if not isinstance(each, family) or np.ndim(getattr(each, "mean", 0.0)):
            raise ParameterError("bandit", "prior", f"a {family.__name__} of one arm", each)
    return Arms.of(tuple(ConjugateModel(each, likelihood) for each in priors))


def _beta_view(arms: Arms) -> BetaView:
    a = np.array([float(p.a) for p in arms.posteriors])
    b = np.array([float(p.b) for p in arms.posteriors])
    seen = [np.zeros(2) if m.statistics is None else m.statistics.sums[:2] for m in arms.models]
    wins, losses = np.array(seen).T
    counts = wins + losses
    return BetaView(Beta(a, b), counts, np.where(counts > 0, wins / np.maximum(counts, 1.0), a / (a + b)))


def _student_t_view(arms: Arms) -> StudentTView:
    table = np.array([[p.mean, p.covariance, p.shape, p.scale] for p in arms.posteriors], dtype=np.float64)
    mean, spread, shape, scale = table.T
    moments: list[Any] = [None if m.statistics is None else m.statistics.moments for m in arms.models]
    counts = np.array([0.0 if m is None else m.total for m in moments])
    averages = np.array([mean[k] if m is None else float(m.mean) for k, m in enumerate(moments)])
    scatter = np.array([0.0 if m is None else float(m.scatter) for m in moments])
    return StudentTView(StudentT(2.0 * shape, mean, np.sqrt(scale / shape * spread)), counts, averages, spread, scatter)


def checked_size(n_arms: Any) -> int:
    if isinstance(n_arms, bool) or not isinstance(n_arms, (int, np.integer)) or n_arms < 1:
        raise ParameterError("bandit", "arms", "an integer ≥ 1, or labels", n_arms)
    return int(n_arms)


def checked_rewards(reward: Any) -> np.ndarray:
    """(n,) finite rewards."""
    try:
        values = np.asarray(reward, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        raise DataError("bandit: a reward must be a number.", value=reward) from None
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise DataError(
            f"bandit: reward {values[bad[0]]} is not finite.",
            rows=bad[:20].tolist(),
            value=reward,
            remedy="Do not tell a reward that was lost: the arm stays pending, and the belief as it was.",
        )
    return values


def refuse_context(context: Any) -> None:
    if context is not None:
        raise ParameterError("bandit", "context", "None for arms without one", context, "Use LinearBandit.")
