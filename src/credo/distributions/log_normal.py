"""Log-normal: log p(x) = −log x − ½ log 2π − log σ − ½ ((log x − μ)/σ)², x > 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from credo.distributions.base import FINITE, POSITIVE_VALUE, Constraint, observations
from credo.distributions.fitting import posterior_mode
from credo.distributions.gamma import check_positive_moments
from credo.distributions.normal import LOG_2PI
from credo.distributions.scalar import ScalarFamily, arguments, within
from credo.distributions.statistics import WeightedMoments
from credo.distributions.support import POSITIVE, Support
from credo.errors import DataError

__all__ = ["LogNormal"]


@dataclass(frozen=True, eq=False)
class LogNormal(ScalarFamily):
    """Log-normal distribution: log x is Normal(mu, sigma).

    Parameters
    ----------
    mu : real, the mean of log x (the median of x is e^mu)
    sigma : > 0, the standard deviation of log x

    Examples
    --------
    >>> import credo as cr
    >>> cr.LogNormal.from_moments(10.0, 5.0).sd.round(9).item()
    5.0

    References
    ----------
    Johnson, Kotz and Balakrishnan (1994), Continuous Univariate Distributions, vol. 1, ch. 14.
    """

    mu: Any = 0.0
    sigma: Any = 1.0

    domain: ClassVar[dict[str, Constraint]] = {"mu": FINITE, "sigma": POSITIVE_VALUE}

    @property
    def support(self) -> Support:
        return POSITIVE

    @property
    def mean(self) -> Any:
        """exp(μ + σ²/2)."""
        with np.errstate(over="ignore"):
            return self._whole(np.exp(self.mu + 0.5 * np.square(self.sigma)))

    @property
    def variance(self) -> Any:
        """(exp(σ²) − 1) exp(2μ + σ²)."""
        with np.errstate(over="ignore"):
            return self._whole(np.expm1(np.square(self.sigma)) * np.square(self.mean))

    @property
    def entropy(self) -> Any:
        """μ + ½ log 2πe σ², in nats."""
        return self._whole(0.5 * (LOG_2PI + 1.0) + np.log(self.sigma) + self.mu)

    def log_prob(self, x: Any) -> Any:
        xp, x = arguments(x, self.mu, self.sigma)
        inside = (x > 0) & (x < xp.inf)
        log_x = xp.log(xp.where(inside, x, 1.0))
        z = (log_x - self.mu) / self.sigma
        return within(xp, x, inside, -0.5 * z * z - log_x - xp.log(self.sigma) - 0.5 * LOG_2PI)

    def _z(self, xp: Any, x: Any) -> Any:
        # xlogy gives −∞ at 0 without a warning
        return (xp.special.xlogy(1.0, xp.maximum(x, 0.0)) - self.mu) / self.sigma

    def cdf(self, x: Any) -> Any:
        xp, x = arguments(x, self.mu, self.sigma)
        return xp.special.ndtr(self._z(xp, x))

    def survival(self, x: Any) -> Any:
        xp, x = arguments(x, self.mu, self.sigma)
        return xp.special.ndtr(-self._z(xp, x))

    def quantile(self, q: Any) -> Any:
        xp, q = self._levels(q)
        with np.errstate(over="ignore"):
            return xp.exp(self.mu + self.sigma * xp.special.ndtri(q))

    def upper_quantile(self, q: Any) -> Any:
        xp, q = self._levels(q)
        with np.errstate(over="ignore"):
            return xp.exp(self.mu - self.sigma * xp.special.ndtri(q))

    def _draw(self, size: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        return np.exp(self.mu + self.sigma * rng.standard_normal(size + self.batch_shape))

    @classmethod
    def fit(cls, x: Any, weights: Any = None, prior: Any = None) -> Self:
        """MLE: mean and standard deviation of log x; with a dict of families for "mu" and "sigma", the mode."""
        x, w = observations("LogNormal", x, weights, POSITIVE)
        zero = np.flatnonzero(x == 0)
        if zero.size:
            raise DataError(f"LogNormal.fit: row {zero[0]} is 0, of density 0.", rows=zero[:20].tolist(), value=0.0)
        moments = WeightedMoments.accumulate(np.log(x), w)
        if moments.scatter <= 0:
            raise DataError("LogNormal.fit: all observations are equal, so sigma would be 0.", value=x[0])
        start = cls(np.float64(moments.mean), np.sqrt(moments.variance()))
        return posterior_mode(start, x, w, prior, exact=True)

    @classmethod
    def from_moments(cls, mean: Any, sd: Any) -> Self:
        """σ² = log(1 + sd²/mean²), μ = log mean − σ²/2."""
        check_positive_moments("LogNormal", mean, sd)
        variance = np.log1p(np.square(np.divide(sd, mean)))
        return cls(np.log(mean) - 0.5 * variance, np.sqrt(variance))
