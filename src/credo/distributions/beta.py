"""Beta: log p(x) = (a − 1) log x + (b − 1) log(1 − x) − log B(a, b), 0 ≤ x ≤ 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy

from credo.distributions.base import POSITIVE_VALUE, Constraint, observations
from credo.distributions.fitting import posterior_mode
from credo.distributions.scalar import ScalarFamily, arguments, within
from credo.distributions.statistics import WeightedMoments
from credo.distributions.stirling import betaincc, log_binomial, log_minus_digamma, log_poisson_mode
from credo.distributions.support import UNIT_INTERVAL, Support
from credo.errors import DataError, ParameterError
from credo.numerics.namespace import namespace

__all__ = ["Beta"]


@dataclass(frozen=True, eq=False)
class Beta(ScalarFamily):
    """Beta distribution on [0, 1]: belief about a probability after a − 1 successes and b − 1 failures.

    Parameters
    ----------
    a, b : > 0; mean a/(a + b), variance ab/((a + b)²(a + b + 1))

    Examples
    --------
    >>> import credo as cr
    >>> prior = cr.Beta.from_moments(0.27, 0.1)      # a batting average
    >>> round(float(prior.a), 4), round(float(prior.b), 4)
    (5.0517, 13.6583)

    References
    ----------
    Johnson, Kotz and Balakrishnan (1995), Continuous Univariate Distributions, vol. 2, ch. 25.
    """

    a: Any
    b: Any

    domain: ClassVar[dict[str, Constraint]] = {"a": POSITIVE_VALUE, "b": POSITIVE_VALUE}

    @property
    def support(self) -> Support:
        return UNIT_INTERVAL

    @property
    def mean(self) -> Any:
        """a/(a + b)."""
        return self._whole(self.a / np.add(self.a, self.b))

    @property
    def variance(self) -> Any:
        """ab/((a + b)²(a + b + 1))."""
        n = np.add(self.a, self.b)
        return self._whole((self.a / n) * (self.b / n) / (n + 1.0))

    @property
    def entropy(self) -> Any:
        """log B(a, b) − (a − 1) ψ(a) − (b − 1) ψ(b) + (a + b − 2) ψ(a + b), in nats, without its cancellation."""
        xp = namespace(0.0)
        a, b = np.asarray(self.a, dtype=np.float64), np.asarray(self.b, dtype=np.float64)
        n = a + b
        slopes = (a - 1.0) * log_minus_digamma(xp, a) + (b - 1.0) * log_minus_digamma(xp, b)
        modes = log_poisson_mode(xp, a) + log_poisson_mode(xp, b) - log_poisson_mode(xp, n)
        return self._whole(slopes - (n - 2.0) * log_minus_digamma(xp, n) - np.log(n) - modes)

    def log_prob(self, x: Any) -> Any:
        xp, x = arguments(x, self.a, self.b)
        a, b = xp.asarray(self.a) * 1.0, xp.asarray(self.b) * 1.0
        t = xp.where((x > 0) & (x < 1), x, 0.5)
        value = log_binomial(xp, a, b, t, 1.0 - t) + xp.log(a) - xp.log(t) + xp.log(b / (a + b)) - xp.log1p(-t)
        # at an end: ∞ where its exponent is below 0, the other parameter where it is 0, else −∞
        at_zero = xp.special.xlogy(a - 1.0, 0.0) + xp.log(b)
        at_one = xp.special.xlogy(b - 1.0, 0.0) + xp.log(a)
        return within(xp, x, (x >= 0) & (x <= 1), xp.where(x == 0, at_zero, xp.where(x == 1, at_one, value)))

    def cdf(self, x: Any) -> Any:
        xp, x = arguments(x, self.a, self.b)
        return xp.special.betainc(self.a, self.b, xp.clip(x, 0.0, 1.0))

    def survival(self, x: Any) -> Any:
        xp, x = arguments(x, self.a, self.b)
        return betaincc(xp, self.a, self.b, xp.clip(x, 0.0, 1.0))

    # NumPy only: JAX has no inverse of the incomplete beta function
    def quantile(self, q: Any) -> Any:
        return scipy.special.betaincinv(self.a, self.b, self._levels(q)[1])

    def upper_quantile(self, q: Any) -> Any:
        return scipy.special.betainccinv(self.a, self.b, self._levels(q)[1])

    def _draw(self, size: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        return rng.beta(self.a, self.b, size + self.batch_shape)

    @classmethod
    def fit(cls, x: Any, weights: Any = None, prior: Any = None) -> Self:
        """MLE by Newton's method (the log-likelihood is concave), or the mode under a dict of families for "a", "b".

        An observation of exactly 0 or 1 leaves no maximum: a `DataError`.
        """
        x, w = observations("Beta", x, weights, UNIT_INTERVAL)
        bad = np.flatnonzero((w > 0) & ((x == 0) | (x == 1)))
        if bad.size:
            raise DataError(
                f"Beta.fit: row {bad[0]} is exactly {x[bad[0]]:g}, where the likelihood has no maximum.",
                rows=bad[:20].tolist(),
                value=x[bad[:20]],
                remedy="Move such values inward by their rounding error.",
            )
        moments = WeightedMoments.accumulate(x, w)
        if moments.scatter <= 0:
            raise DataError("Beta.fit: all observations are equal, so the likelihood has no maximum.", value=x[0])
        start = cls.from_moments(moments.mean, np.sqrt(moments.variance()))
        logs = WeightedMoments.accumulate(np.column_stack([np.log(x), np.log1p(-x)])[w > 0], w[w > 0])
        a, b = _mle(float(start.a), float(start.b), logs.mean)
        return posterior_mode(cls(a, b), x, w, prior, exact=True)

    @classmethod
    def from_moments(cls, mean: Any, sd: Any) -> Self:
        """a = mean ν, b = (1 − mean) ν with ν = mean (1 − mean)/sd² − 1, which must be > 0."""
        mean, sd = np.asarray(mean, dtype=np.float64)[()], np.asarray(sd, dtype=np.float64)[()]
        if not np.all((mean > 0) & (mean < 1)):
            raise ParameterError("Beta.from_moments", "mean", "between 0 and 1 (exclusive)", mean)
        largest = np.sqrt(mean * (1.0 - mean))
        if not np.all((sd > 0) & (sd < largest)):
            raise ParameterError(
                "Beta.from_moments", "sd", f"> 0 and < √(mean (1 − mean)) = {largest}, the sd of a coin", sd
            )
        total = mean * (1.0 - mean) / np.square(sd) - 1.0
        return cls(mean * total, (1.0 - mean) * total)


def _mle(a: float, b: float, target: np.ndarray) -> tuple[np.float64, np.float64]:
    """Solve ψ(a) − ψ(a + b) = mean log x, ψ(b) − ψ(a + b) = mean log(1 − x), by Newton in (log a, log b)."""

    def value(t: np.ndarray) -> float:
        a, b = np.exp(t)
        return float((a - 1.0) * target[0] + (b - 1.0) * target[1] - scipy.special.betaln(a, b))

    theta = np.log([a, b])
    for _ in range(100):
        p = np.exp(theta)
        score = p * (target - scipy.special.digamma(p) + scipy.special.digamma(p.sum()))
        information = np.diag(p * p * scipy.special.polygamma(1, p)) - np.outer(p, p) * scipy.special.polygamma(
            1, p.sum()
        )
        step = np.linalg.solve(information, score)
        while np.max(np.abs(step)) > 1e-6 and not value(theta + step) >= value(theta):
            step *= 0.5
        theta = theta + step
        if np.max(np.abs(step)) < 1e-13:
            break
    return np.exp(theta[0]), np.exp(theta[1])
