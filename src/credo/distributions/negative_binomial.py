"""Negative binomial: a Poisson whose rate is Gamma(shape s, mean m);

log p(k) = log Γ(k + s) − log Γ(s) − log k! + s log(s/(s + m)) + k log(m/(s + m)), k = 0, 1, …
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from credo.distributions import expectation
from credo.distributions.base import POSITIVE_VALUE, Constraint, observations
from credo.distributions.fitting import posterior_mode
from credo.distributions.gamma import check_positive_moments
from credo.distributions.scalar import POSITIVE_PROBABILITY, ScalarFamily, arguments, within
from credo.distributions.statistics import WeightedMoments
from credo.distributions.stirling import log_binomial
from credo.distributions.support import COUNTS, Support
from credo.errors import DataError, ParameterError
from credo.numerics.inversion import integer_quantile

__all__ = ["NegativeBinomial"]


@dataclass(frozen=True, eq=False)
class NegativeBinomial(ScalarFamily):
    """Overdispersed counts.

    Parameters
    ----------
    mean : m > 0
    shape : s > 0; the variance is m + m²/s, so that s → ∞ is the Poisson

    `NegativeBinomial.from_successes(n, p)` takes the textbook parameters: failures before the n-th success.

    Examples
    --------
    >>> import credo as cr
    >>> cr.NegativeBinomial(mean=10, shape=2).variance.item()
    60.0
    >>> cr.NegativeBinomial.from_successes(n=3, p=0.5).mean.item()
    3.0

    References
    ----------
    Johnson, Kemp and Kotz (2005), Univariate Discrete Distributions, ch. 5.
    """

    mean: Any
    shape: Any

    domain: ClassVar[dict[str, Constraint]] = {"mean": POSITIVE_VALUE, "shape": POSITIVE_VALUE}

    @classmethod
    def from_successes(cls, n: Any, p: Any) -> Self:
        """Failures before the n-th success (n > 0 real) in trials of probability p: mean n (1 − p)/p."""
        p = np.asarray(p, dtype=np.float64)[()]
        if not np.all(POSITIVE_PROBABILITY.holds(p) & (p < 1)):
            raise ParameterError("NegativeBinomial.from_successes", "p", "between 0 and 1 (exclusive)", p)
        return cls(n * (1.0 - p) / p, n)

    @property
    def p(self) -> Any:
        """Probability of a success, s/(s + m)."""
        return self._whole(self.shape / np.add(self.shape, self.mean))

    @property
    def support(self) -> Support:
        return COUNTS

    @property
    def variance(self) -> Any:
        """m + m²/s."""
        return self._whole(np.multiply(self.mean, 1.0 + np.divide(self.mean, self.shape)))

    @property
    def entropy(self) -> Any:
        """−Σ p(k) log p(k), in nats, summed (to about 1e-10)."""
        return expectation.entropy(self)

    def _odds(self, xp: Any) -> tuple[Any, Any, Any]:
        """s as an array, and the probabilities s/(s + m) and m/(s + m)."""
        s = xp.asarray(self.shape) * 1.0
        return s, s / (s + self.mean), self.mean / (s + self.mean)

    def log_prob(self, x: Any) -> Any:
        xp, x = arguments(x, self.mean, self.shape)
        inside = (x >= 0) & (x < xp.inf) & (xp.floor(x) == x)
        k = xp.where(inside, x, 0.0)
        s, p, q = self._odds(xp)
        return within(xp, x, inside, log_binomial(xp, s, k, p, q) - xp.log1p(k / s))

    def cdf(self, x: Any) -> Any:
        xp, x = arguments(x, self.mean, self.shape)
        s, p, _ = self._odds(xp)
        k = xp.floor(xp.where(x < xp.inf, xp.maximum(x, 0.0), 0.0))
        value = xp.special.betainc(s, k + 1.0, p)
        return xp.where(x < 0, 0.0, xp.where(x == xp.inf, 1.0, xp.where(xp.isnan(x), xp.nan, value)))[()]

    def survival(self, x: Any) -> Any:
        xp, x = arguments(x, self.mean, self.shape)
        s, _, q = self._odds(xp)
        k = xp.floor(xp.where(x < xp.inf, xp.maximum(x, 0.0), 0.0))
        value = xp.special.betainc(k + 1.0, s, q)
        return xp.where(x < 0, 1.0, xp.where(x == xp.inf, 0.0, xp.where(xp.isnan(x), xp.nan, value)))[()]

    # NumPy only: searches
    def quantile(self, q: Any) -> Any:
        """The smallest k with cdf(k) ≥ q."""
        _, q = self._levels(q)
        return integer_quantile(q, lambda k: self.cdf(k) >= q, (0.0, np.inf), 0.0, np.inf, self.mean)

    def upper_quantile(self, q: Any) -> Any:
        """The smallest k with P(X > k) ≤ q."""
        _, q = self._levels(q)
        return integer_quantile(q, lambda k: self.survival(k) <= q, (np.inf, 0.0), 0.0, np.inf, self.mean)

    def _draw(self, size: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        rate = rng.standard_gamma(self.shape, size + self.batch_shape) * np.divide(self.mean, self.shape)
        return rng.poisson(rate)

    @classmethod
    def fit(cls, x: Any, weights: Any = None, prior: Any = None) -> Self:
        """MLE: the sample mean, and the shape by climbing; or the mode under a dict of families for "mean" and "shape".

        Raises `DataError` where the variance is not above the mean: the likelihood then rises as shape → ∞.
        """
        x, w = observations("NegativeBinomial", x, weights, COUNTS)
        moments = WeightedMoments.accumulate(x, w)
        mean, variance = float(moments.mean), float(moments.variance())
        if mean <= 0:
            raise DataError("NegativeBinomial.fit: all observations are 0.", value=0.0, remedy="Use Poisson(0).")
        overdispersed = variance > mean
        if not overdispersed and prior is None:
            raise DataError(
                f"NegativeBinomial.fit: the variance {variance:.6g} is not above the mean {mean:.6g}; the likelihood "
                "rises as shape goes to ∞.",
                value=variance,
                remedy="Use Poisson, or give a prior on shape.",
            )
        start = cls(mean, mean * mean / (variance - mean) if overdispersed else 10.0 * mean)
        if prior is not None:
            return posterior_mode(start, x, w, prior)
        return posterior_mode(start, x, w, None, ("shape",))  # the mean is its own estimate, whatever the shape

    @classmethod
    def from_moments(cls, mean: Any, sd: Any) -> Self:
        """shape = mean²/(sd² − mean); sd must exceed √mean."""
        check_positive_moments("NegativeBinomial", mean, sd)
        excess = np.square(sd) - np.asarray(mean, dtype=np.float64)
        if not np.all(excess > 0):
            raise ParameterError(
                "NegativeBinomial.from_moments", "sd", f"> √mean = {np.sqrt(mean)}", sd, "Use Poisson."
            )
        return cls(mean, np.square(mean) / excess)
