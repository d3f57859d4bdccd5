"""BetaNegativeBinomial: failures before the r-th success when the probability of success is Beta(a, b);

log p(k) = log Γ(r + k)/(Γ(r) k!) + log B(a + r, b + k) − log B(a, b), k = 0, 1, …
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.special

from credo.distributions import expectation
from credo.distributions.base import POSITIVE_VALUE, Constraint
from credo.distributions.beta import Beta
from credo.distributions.scalar import ScalarFamily, arguments, within
from credo.distributions.stirling import log_binomial
from credo.distributions.support import COUNTS, Support
from credo.numerics.inversion import integer_quantile

__all__ = ["BetaNegativeBinomial"]


@dataclass(frozen=True, eq=False)
class BetaNegativeBinomial(ScalarFamily):
    """Failures before success number `shape`: the predictive of a Beta belief about trials of unknown probability.

    Parameters
    ----------
    shape : r > 0, successes waited for; 1 is the beta-geometric law
    a, b : > 0, of the Beta

    Its tail falls as k^−(a + 1): the mean needs a > 1, the variance a > 2, and are infinite otherwise. `cdf` and
    `survival` integrate over the probability of success.

    Examples
    --------
    >>> p = BetaNegativeBinomial(shape=1, a=1, b=1)
    >>> p.prob([0, 1, 2]).round(4).tolist()
    [0.5, 0.1667, 0.0833]
    >>> p.cdf(2).round(4).item()
    0.75

    References
    ----------
    Johnson, Kemp and Kotz (2005), Univariate Discrete Distributions, section 6.2.3.
    """

    shape: Any
    a: Any
    b: Any

    domain: ClassVar[dict[str, Constraint]] = {"shape": POSITIVE_VALUE, "a": POSITIVE_VALUE, "b": POSITIVE_VALUE}

    @property
    def support(self) -> Support:
        return COUNTS

    @property
    def mean(self) -> Any:
        """r b/(a − 1), infinite for a ≤ 1."""
        excess = np.subtract(self.a, 1.0)
        value = np.multiply(self.shape, self.b) / np.where(excess > 0, excess, 1.0)
        return self._whole(np.where(excess > 0, value, np.inf))[()]

    @property
    def variance(self) -> Any:
        """r b (a + r − 1)(a + b − 1)/((a − 2)(a − 1)²), infinite for a ≤ 2."""
        r, a, b = (np.asarray(v, dtype=np.float64) for v in (self.shape, self.a, self.b))
        finite = a > 2.0
        below = np.where(finite, (a - 2.0) * np.square(a - 1.0), 1.0)
        return self._whole(np.where(finite, r * b * (a + r - 1.0) * (a + b - 1.0) / below, np.inf))[()]

    @property
    def entropy(self) -> Any:
        """−Σ p(k) log p(k), in nats, summed (about 1e-10)."""
        return expectation.entropy(self)

    def log_prob(self, x: Any) -> Any:
        """As a ratio of binomial masses at real counts, whose large terms cancel before they are computed."""
        xp, x = arguments(x, self.shape, self.a, self.b)
        inside = (x >= 0) & (x < xp.inf) & (xp.floor(x) == x)
        k = xp.where(inside, x, 0.0)
        r, a, b = (xp.asarray(v) * 1.0 for v in (self.shape, self.a, self.b))
        total = a + r + b + k
        t, u = (a + r) / total, (b + k) / total
        masses = log_binomial(xp, r, k, t, u) + log_binomial(xp, a, b, t, u) - log_binomial(xp, a + r, b + k, t, u)
        value = masses - xp.log1p(r / a) - xp.log1p(k / b) + xp.log(r / (r + k)) + xp.log(total / (a + b))
        return within(xp, x, inside, value)

    # NumPy only: quadrature
    def cdf(self, x: Any) -> Any:
        return self._integrated(x, lambda r, k, p: scipy.special.betainc(r, k + 1.0, p), 0.0, 1.0)

    def survival(self, x: Any) -> Any:
        return self._integrated(x, lambda r, k, p: scipy.special.betaincc(r, k + 1.0, p), 1.0, 0.0)

    def _integrated(self, x: Any, tail: Any, below: float, above: float) -> Any:
        """E tail(r, k, p) over p ~ Beta(a, b), one element at a time; the values left of 0 and at ∞ are given."""

        def one(x: float, r: float, a: float, b: float) -> float:
            if np.isnan(x):
                return np.nan
            if x < 0 or x == np.inf:
                return below if x < 0 else above
            return float(expectation.expect(Beta(a, b), lambda p: tail(r, np.floor(x), p)))

        return np.vectorize(one, otypes=[float])(x, self.shape, self.a, self.b)[()]

    def quantile(self, q: Any) -> Any:
        """The smallest k with cdf(k) ≥ q."""
        _, q = self._levels(q)
        return integer_quantile(q, lambda k: self.cdf(k) >= q, (0.0, np.inf), 0.0, np.inf, self._guess())

    def upper_quantile(self, q: Any) -> Any:
        """The smallest k with P(X > k) ≤ q."""
        _, q = self._levels(q)
        return integer_quantile(q, lambda k: self.survival(k) <= q, (np.inf, 0.0), 0.0, np.inf, self._guess())

    def _guess(self) -> Any:
        """A finite centre to search from: the mean at p = a/(a + b)."""
        return np.multiply(self.shape, np.divide(self.b, self.a))

    def _draw(self, size: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        shape = size + self.batch_shape
        # odds of failure as a ratio of gammas: 1 − p keeps its digits, and a Poisson of a gamma rate needs no p at all
        odds = rng.standard_gamma(self.b, shape) / rng.standard_gamma(self.a, shape)
        return rng.poisson(rng.standard_gamma(self.shape, shape) * odds)
