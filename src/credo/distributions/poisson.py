"""Poisson: log p(k) = k log λ − λ − log k!, k = 0, 1, …"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from credo.distributions import expectation
from credo.distributions.base import NON_NEGATIVE_VALUE, Constraint, observations
from credo.distributions.fitting import posterior_mode
from credo.distributions.gamma import Gamma
from credo.distributions.scalar import ScalarFamily, arguments, implied_sd, within
from credo.distributions.stirling import log_poisson
from credo.distributions.support import COUNTS, Support
from credo.errors import ParameterError
from credo.numerics.inversion import integer_quantile

__all__ = ["Poisson"]


@dataclass(frozen=True, eq=False)
class Poisson(ScalarFamily):
    """Counts of rare, independent events.

    Parameters
    ----------
    rate : λ ≥ 0, mean and variance (0 is the certain count 0)

    Examples
    --------
    >>> import credo as cr
    >>> cr.Poisson.fit([2, 4]).rate.item()
    3.0
    >>> cr.Poisson.fit([2, 4], prior=cr.Gamma(shape=3, rate=2)).rate.item()
    2.0

    References
    ----------
    Loader (2000), Fast and accurate computation of binomial probabilities.
    """

    rate: Any

    domain: ClassVar[dict[str, Constraint]] = {"rate": NON_NEGATIVE_VALUE}

    @property
    def support(self) -> Support:
        return COUNTS

    @property
    def mean(self) -> Any:
        """λ."""
        return self._whole(self.rate)

    @property
    def variance(self) -> Any:
        """λ."""
        return self._whole(self.rate)

    @property
    def entropy(self) -> Any:
        """−Σ p(k) log p(k), in nats, summed (to about 1e-10)."""
        return expectation.entropy(self)

    def log_prob(self, x: Any) -> Any:
        xp, x = arguments(x, self.rate)
        inside = (x >= 0) & (x < xp.inf) & (xp.floor(x) == x)
        return within(xp, x, inside, log_poisson(xp, xp.where(inside, x, 0.0), xp.asarray(self.rate) * 1.0))

    def cdf(self, x: Any) -> Any:
        xp, x = arguments(x, self.rate)
        value = xp.special.gammaincc(xp.floor(xp.maximum(x, 0.0)) + 1.0, self.rate)
        return xp.where(x < 0, 0.0, xp.where(x == xp.inf, 1.0, value))[()]

    def survival(self, x: Any) -> Any:
        xp, x = arguments(x, self.rate)
        value = xp.special.gammainc(xp.floor(xp.maximum(x, 0.0)) + 1.0, self.rate)
        return xp.where(x < 0, 1.0, xp.where(x == xp.inf, 0.0, value))[()]

    # NumPy only: searches
    def quantile(self, q: Any) -> Any:
        """The smallest k with cdf(k) ≥ q."""
        _, q = self._levels(q)
        top = np.where(np.equal(self.rate, 0), 0.0, np.inf)
        return integer_quantile(q, lambda k: self.cdf(k) >= q, (0.0, top), 0.0, np.inf, self.rate)

    def upper_quantile(self, q: Any) -> Any:
        """The smallest k with P(X > k) ≤ q."""
        _, q = self._levels(q)
        top = np.where(np.equal(self.rate, 0), 0.0, np.inf)
        return integer_quantile(q, lambda k: self.survival(k) <= q, (top, 0.0), 0.0, np.inf, self.rate)

    def _draw(self, size: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        return rng.poisson(self.rate, size + self.batch_shape)

    @classmethod
    def fit(cls, x: Any, weights: Any = None, prior: Any = None) -> Self:
        """MLE: the mean. With a `Gamma` prior on the rate: (shape − 1 + Σx)/(rate + n), 0 where that is negative."""
        x, w = observations("Poisson", x, weights, COUNTS)
        total, n = w @ x, w.sum()
        if isinstance(prior, Gamma):
            return cls(np.maximum(prior.shape - 1.0 + total, 0.0) / (prior.rate + n))
        return posterior_mode(cls(total / n), x, w, prior, exact=True)

    @classmethod
    def from_moments(cls, mean: Any, sd: Any = None) -> Self:
        """rate = mean; an sd, if given, must equal √mean."""
        if not np.all(np.asarray(mean) >= 0):
            raise ParameterError("Poisson.from_moments", "mean", "≥ 0", mean)
        implied_sd("Poisson", sd, np.sqrt(mean))
        return cls(mean)
