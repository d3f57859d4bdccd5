"""Exponential: log p(x) = log r − r x, x ≥ 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from credo.distributions.base import POSITIVE_VALUE, Constraint, observations
from credo.distributions.fitting import posterior_mode
from credo.distributions.gamma import Gamma
from credo.distributions.scalar import ScalarFamily, arguments, implied_sd, within
from credo.distributions.support import NON_NEGATIVE, Support
from credo.errors import DataError, ParameterError

__all__ = ["Exponential"]


@dataclass(frozen=True, eq=False)
class Exponential(ScalarFamily):
    """Exponential distribution of waiting times.

    Parameters
    ----------
    rate : r > 0; mean and standard deviation 1/r

    Examples
    --------
    >>> import credo as cr
    >>> cr.Exponential.fit([1.0, 3.0]).rate.item()
    0.5
    >>> cr.Exponential.fit([1.0, 3.0], prior=cr.Gamma(shape=3, rate=4)).rate.item()
    0.5
    """

    rate: Any

    domain: ClassVar[dict[str, Constraint]] = {"rate": POSITIVE_VALUE}

    @property
    def support(self) -> Support:
        return NON_NEGATIVE

    @property
    def mean(self) -> Any:
        """1/r."""
        return self._whole(np.divide(1.0, self.rate))

    @property
    def variance(self) -> Any:
        """1/r²."""
        return self._whole(np.square(np.divide(1.0, self.rate)))

    @property
    def entropy(self) -> Any:
        """1 − log r, in nats."""
        return self._whole(1.0 - np.log(self.rate))

    def log_prob(self, x: Any) -> Any:
        xp, x = arguments(x, self.rate)
        return within(xp, x, x >= 0, xp.log(self.rate) - self.rate * x)

    def cdf(self, x: Any) -> Any:
        xp, x = arguments(x, self.rate)
        return -xp.expm1(-self.rate * xp.maximum(x, 0.0))

    def survival(self, x: Any) -> Any:
        xp, x = arguments(x, self.rate)
        return xp.exp(-self.rate * xp.maximum(x, 0.0))

    def quantile(self, q: Any) -> Any:
        xp, q = self._levels(q)
        return -xp.special.xlog1py(1.0, -q) / self.rate

    def upper_quantile(self, q: Any) -> Any:
        xp, q = self._levels(q)
        return -xp.special.xlogy(1.0, q) / self.rate

    def _draw(self, size: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        return rng.standard_exponential(size + self.batch_shape) / self.rate

    @classmethod
    def fit(cls, x: Any, weights: Any = None, prior: Any = None) -> Self:
        """MLE: n/Σx. With a `Gamma` prior on the rate: (shape − 1 + n)/(rate + Σx); any other family for "rate" by
        climbing."""
        x, w = observations("Exponential", x, weights, NON_NEGATIVE)
        n, total = w.sum(), w @ x
        if isinstance(prior, Gamma):
            if prior.shape + n <= 1:
                raise ParameterError("Exponential.fit", "prior", f"of shape > {1 - n} for a mode above 0", prior)
            return cls((prior.shape - 1.0 + n) / (prior.rate + total))
        if total <= 0:
            raise DataError("Exponential.fit: all observations are 0, so the rate would be infinite.", value=0.0)
        return posterior_mode(cls(n / total), x, w, prior, exact=True)

    @classmethod
    def from_moments(cls, mean: Any, sd: Any = None) -> Self:
        """rate = 1/mean; an sd, if given, must equal the mean."""
        if not np.all(np.asarray(mean) > 0):
            raise ParameterError("Exponential.from_moments", "mean", "> 0", mean)
        implied_sd("Exponential", sd, mean)
        return cls(np.divide(1.0, mean))
