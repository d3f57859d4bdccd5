"""Linear-contextual arms: the reward of arm k in context x is θ_k·x + noise, (θ_k, σ_k²) Normal–inverse-gamma.

Each arm is a Bayesian linear regression of its own ("disjoint" arms; Li et al. 2010, LinUCB), with the exact engine
behind it: rewards become mergeable statistics, and the expected reward at a context is a Student-t.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from credo.blocks.source import Block
from credo.design.bandits.arms import StudentTView, checked_rewards, checked_size
from credo.distributions.normal_inverse_gamma import NormalInverseGamma
from credo.distributions.student_t import StudentT
from credo.errors import DataError, ParameterError
from credo.inference.exact import LinearBelief, RegressionStatistics
from credo.inference.exact.accumulate import accumulate_moments

__all__ = ["LinearArms", "linear_arms"]


@dataclass(frozen=True, eq=False)
class LinearArms:
    """K linear-contextual beliefs.

    priors : (K,) of `NormalInverseGamma` over the P coefficients and the noise variance
    statistics : of the rewards of each arm, None before the first; beliefs : the posteriors they give

    >>> arms = linear_arms(2, 2).update(0, [1.0, 2.0], context=[[1.0, 0.0], [0.0, 1.0]])
    >>> arms.at([1.0, 1.0]).law.mean.round(3).tolist()      # each coefficient shrunk by 10/11
    [2.727, 0.0]
    """

    priors: tuple[NormalInverseGamma, ...]
    statistics: tuple[RegressionStatistics | None, ...]
    beliefs: tuple[LinearBelief | None, ...]

    @property
    def size(self) -> int:
        return len(self.priors)

    @property
    def n_features(self) -> int:
        return int(np.size(self.priors[0].mean))

    def update(self, arm: int, reward: Any, context: Any = None) -> Self:
        """The belief after rewards (n,) of an arm in contexts (n, P), or one of each. Cost P³."""
        reward = checked_rewards(reward)
        rows = self._rows(context)
        if len(rows) != reward.size:
            raise DataError(f"LinearBandit: {reward.size} rewards for {len(rows)} contexts.", value=reward.size)
        if reward.size == 0:
            return self
        seen = accumulate_moments(Block(X=rows, y=reward))
        before = self.statistics[arm]
        return self.with_statistics(arm, seen if before is None else before.merge(seen))

    def with_statistics(self, arm: int, statistics: RegressionStatistics | None) -> Self:
        belief = None if statistics is None else _posterior(self.priors[arm], statistics)
        return replace(
            self,
            statistics=(*self.statistics[:arm], statistics, *self.statistics[arm + 1 :]),
            beliefs=(*self.beliefs[:arm], belief, *self.beliefs[arm + 1 :]),
        )

    def at(self, context: Any = None) -> StudentTView:
        """The arms in one context (P,)."""
        x = self._rows(context)
        if len(x) != 1:
            raise ParameterError("LinearBandit", "context", f"one row of {self.n_features} numbers", context)
        parts = [_value(p, b, x) for p, b in zip(self.priors, self.beliefs, strict=True)]
        df, mean, square, spread = np.array(parts).T
        counts = np.array([0.0 if s is None else s.count for s in self.statistics])
        return StudentTView(StudentT(df, mean, np.sqrt(square * spread)), counts, None, spread, np.zeros(self.size))

    def _rows(self, context: Any) -> np.ndarray:
        try:
            rows = np.atleast_2d(np.asarray(context, dtype=np.float64))
        except (TypeError, ValueError):
            rows = np.empty((0, 0))
        if context is None or rows.ndim != 2 or rows.shape[1] != self.n_features:
            raise ParameterError("LinearBandit", "context", f"{self.n_features} numbers", context)
        if not np.all(np.isfinite(rows)):
            raise DataError("LinearBandit: a context has NaN or infinite entries.", value=context)
        if not np.all(np.any(rows, axis=1)):
            raise DataError("LinearBandit: a context of zeros says nothing of any arm.", value=context,
                            remedy="Give contexts a constant entry 1, so that arms have an intercept.")  # fmt: skip
        return rows


def linear_arms(n_arms: int, n_features: int | None = None, prior: Any = None) -> LinearArms:
    """Arms of `n_features` coefficients; `prior` one `NormalInverseGamma` over them or a list of K.

    By default mean 0, covariance 10 I in units of the noise variance, shape 1, scale 1: for contexts and rewards of
    order one.
    """
    n_arms = checked_size(n_arms)
    if prior is None:
        if not isinstance(n_features, (int, np.integer)) or n_features < 1:
            raise ParameterError("LinearBandit", "n_features", "an integer ≥ 1, or a prior", n_features)
        prior = NormalInverseGamma(np.zeros(n_features), np.full(n_features, 10.0), shape=1.0, scale=1.0)
    priors = tuple(prior) if isinstance(prior, (list, tuple)) else (prior,) * n_arms
    if len(priors) != n_arms:
        raise ParameterError("LinearBandit", "prior", f"one law, or one for each of {n_arms} arms", prior)
    for each in priors:
        if not isinstance(each, NormalInverseGamma) or np.ndim(each.mean) != 1:
            raise ParameterError("LinearBandit", "prior", "a NormalInverseGamma over coefficients", each)
        if each.mean.size != (n_features or priors[0].mean.size):
            raise ParameterError(
                "LinearBandit", "prior", f"over {n_features or priors[0].mean.size} coefficients", each
            )
    return LinearArms(priors, (None,) * n_arms, (None,) * n_arms)


def _posterior(prior: NormalInverseGamma, statistics: RegressionStatistics) -> LinearBelief:
    from credo.models.linear.estimator import LinearRegression  # sklearn loads with it: only where it is used

    fit: Any = LinearRegression(prior=prior, fit_intercept=False).fit_statistics(statistics)
    return fit.posterior_.belief


def _value(prior: NormalInverseGamma, belief: LinearBelief | None, x: np.ndarray) -> tuple[float, ...]:
    """df, mean, σ² scale and spread xᵀVx of the expected reward at x (1, P)."""
    if belief is None:
        spread = (x @ prior.covariance_matrix @ x.T).item()
        return 2.0 * prior.shape, (x @ prior.mean).item(), prior.scale / prior.shape, spread
    mean, variance = belief.evaluate(x)
    return belief.df, mean.item(), belief.noise_variance.item(), variance.item()
