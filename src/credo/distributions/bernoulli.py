"""Bernoulli: log p(x) = x log p + (1 − x) log(1 − p), x ∈ {0, 1}."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy import special

from credo.distributions.base import PROBABILITY, Constraint, observations
from credo.distributions.beta import Beta
from credo.distributions.fitting import posterior_mode
from credo.distributions.scalar import ScalarFamily, arguments, implied_sd, within
from credo.distributions.support import BOOLEAN, Support
from credo.errors import ParameterError

__all__ = ["Bernoulli"]


@dataclass(frozen=True, eq=False)
class Bernoulli(ScalarFamily):
    """A coin: 1 with probability p, else 0.

    Parameters
    ----------
    p : between 0 and 1

    Examples
    --------
    >>> import credo as cr
    >>> cr.Bernoulli.fit([1, 0, 0, 0]).p.item()
    0.25
    >>> cr.Bernoulli.fit([1, 0, 0, 0], prior=cr.Beta(2, 2)).p.round(4).item()
    0.3333
    """

    p: Any

    domain: ClassVar[dict[str, Constraint]] = {"p": PROBABILITY}

    @property
    def support(self) -> Support:
        return BOOLEAN

    @property
    def mean(self) -> Any:
        """p."""
        return self._whole(self.p)

    @property
    def variance(self) -> Any:
        """p (1 − p)."""
        return self._whole(np.multiply(self.p, np.subtract(1.0, self.p)))

    @property
    def entropy(self) -> Any:
        """−p log p − (1 − p) log(1 − p), in nats."""
        return self._whole(special.entr(self.p) + special.entr(np.subtract(1.0, self.p)))

    def log_prob(self, x: Any) -> Any:
        xp, x = arguments(x, self.p)
        inside = (x == 0) | (x == 1)
        t = xp.where(inside, x, 0.0)
        value = xp.special.xlogy(t, self.p) + xp.special.xlog1py(1.0 - t, -xp.asarray(self.p))
        return within(xp, x, inside, value)

    def cdf(self, x: Any) -> Any:
        xp, x = arguments(x, self.p)
        value = xp.where(x < 0, 0.0, xp.where(x < 1, 1.0 - xp.asarray(self.p), 1.0))
        return xp.where(xp.isnan(x), xp.nan, value)[()]

    def survival(self, x: Any) -> Any:
        xp, x = arguments(x, self.p)
        return xp.where(xp.isnan(x), xp.nan, xp.where(x < 0, 1.0, xp.where(x < 1, self.p, 0.0)))[()]

    def quantile(self, q: Any) -> Any:
        """0 up to 1 − p, then 1."""
        xp, q = self._levels(q)
        one = (q > 1.0 - np.asarray(self.p)) | (q == 1)
        return xp.where(xp.isnan(q), xp.nan, xp.where(one, 1.0, 0.0))[()]

    def upper_quantile(self, q: Any) -> Any:
        """1 below p, then 0."""
        xp, q = self._levels(q)
        return xp.where(xp.isnan(q), xp.nan, xp.where((q < self.p) | (q == 0), 1.0, 0.0))[()]

    def _draw(self, size: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        return (rng.random(size + self.batch_shape) < self.p).astype(np.int64)

    @classmethod
    def fit(cls, x: Any, weights: Any = None, prior: Any = None) -> Self:
        """MLE: the share of ones. With a `Beta(a, b)` prior: (a − 1 + ones)/(a + b − 2 + n)."""
        x, w = observations("Bernoulli", x, weights, BOOLEAN)
        ones, total = w @ x, w.sum()
        if isinstance(prior, Beta):
            return cls(beta_mode("Bernoulli", prior, ones, total - ones))
        return posterior_mode(cls(ones / total), x, w, prior, exact=True)

    @classmethod
    def from_moments(cls, mean: Any, sd: Any = None) -> Self:
        """p = mean; an sd, if given, must equal √(mean (1 − mean))."""
        mean = np.asarray(mean, dtype=np.float64)[()]
        if not np.all((mean >= 0) & (mean <= 1)):
            raise ParameterError("Bernoulli.from_moments", "mean", "between 0 and 1", mean)
        implied_sd("Bernoulli", sd, np.sqrt(mean * (1.0 - mean)))
        return cls(mean)


def beta_mode(owner: str, prior: Beta, successes: Any, failures: Any) -> Any:
    """Mode of Beta(a + successes, b + failures) in [0, 1]; at an end where the density rises to it."""
    a, b = prior.a + successes - 1.0, prior.b + failures - 1.0
    if np.any((a < 0) & (b < 0)) or np.any((a == 0) & (b == 0)):
        raise ParameterError(f"{owner}.fit", "prior", "such that the posterior of p has one mode", prior)
    a, b = np.maximum(a, 0.0), np.maximum(b, 0.0)
    return a / (a + b)
