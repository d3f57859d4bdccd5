"""Beta-binomial: successes in n trials whose probability is Beta(a, b);

log p(k) = log C(n, k) + log B(k + a, n − k + b) − log B(a, b), 0 ≤ k ≤ n.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from credo.distributions import expectation
from credo.distributions.base import POSITIVE_VALUE, Constraint, observations
from credo.distributions.fitting import posterior_mode
from credo.distributions.scalar import COUNT, ScalarFamily, arguments, within
from credo.distributions.stirling import log_binomial
from credo.distributions.support import Support
from credo.errors import ParameterError

__all__ = ["BetaBinomial"]


@dataclass(frozen=True, eq=False)
class BetaBinomial(ScalarFamily):
    """Successes in n exchangeable trials: the predictive of a Beta belief.

    Parameters
    ----------
    n : integer ≥ 0, trials
    a, b : > 0, of the Beta

    `cdf` and `quantile` sum the mass: cost O(n) for each member of the batch.

    Examples
    --------
    >>> import credo as cr
    >>> cr.BetaBinomial(2, 1, 1).prob([0, 1, 2]).round(4).tolist()
    [0.3333, 0.3333, 0.3333]

    References
    ----------
    Johnson, Kemp and Kotz (2005), Univariate Discrete Distributions, section 6.2.2.
    """

    n: Any
    a: Any
    b: Any

    domain: ClassVar[dict[str, Constraint]] = {"n": COUNT, "a": POSITIVE_VALUE, "b": POSITIVE_VALUE}

    @property
    def support(self) -> Support:
        return Support("integer", 0, self.n)

    @property
    def _p(self) -> Any:
        return np.divide(self.a, np.add(self.a, self.b))

    @property
    def mean(self) -> Any:
        """n a/(a + b)."""
        return self._whole(self.n * self._p)

    @property
    def variance(self) -> Any:
        """n p (1 − p) (a + b + n)/(a + b + 1), p = a/(a + b)."""
        total = np.add(self.a, self.b)
        return self._whole(self.n * self._p * (self.b / total) * (total + self.n) / (total + 1.0))

    @property
    def entropy(self) -> Any:
        """−Σ p(k) log p(k), in nats, summed (to about 1e-10)."""
        return expectation.entropy(self)

    def log_prob(self, x: Any) -> Any:
        """A ratio of three binomial masses, whose large terms cancel before they are computed: with any t,

        p(k) = bin(k | n, t) bin(a | a + b, t)/bin(a + k | a + b + n, t) × ab (a + b + n)/((a + b) (a + k) (b + n − k)).
        """
        xp, x = arguments(x, self.n, self.a, self.b)
        inside = (x >= 0) & (x <= self.n) & (xp.floor(x) == x)
        k = xp.where(inside, x, 0.0)
        j, a, b = self.n - k, xp.asarray(self.a) * 1.0, xp.asarray(self.b) * 1.0
        total = a + b + self.n
        t, u = (a + k) / total, (b + j) / total
        masses = log_binomial(xp, k, j, t, u) + log_binomial(xp, a, b, t, u) - log_binomial(xp, a + k, b + j, t, u)
        value = masses - xp.log1p(k / a) - xp.log1p(j / b) + xp.log1p(self.n / (a + b))
        return within(xp, x, inside, value)

    def _sums(self) -> tuple[np.ndarray, np.ndarray]:
        """cdf and P(X ≥ k) over k = 0 … max n, along a leading axis."""
        k = np.arange(np.max(self.n) + 1.0).reshape((-1,) + (1,) * len(self.batch_shape))
        mass = np.exp(self.log_prob(k)) + np.zeros(self.batch_shape)
        return np.minimum(np.cumsum(mass, axis=0), 1.0), np.minimum(np.cumsum(mass[::-1], axis=0)[::-1], 1.0)

    def _at(self, xp: Any, table: np.ndarray, x: Any) -> Any:
        """table[floor(x)], with x broadcast against the batch and clipped to the table."""
        shape = np.broadcast_shapes(np.shape(x), self.batch_shape)
        index = np.nan_to_num(np.clip(np.floor(x), 0, len(table) - 1)).astype(int)
        table = np.broadcast_to(table.reshape((len(table), *(1,) * (len(shape) - table.ndim + 1), *table.shape[1:])),
                                (len(table), *shape))  # fmt: skip
        return np.take_along_axis(table, np.broadcast_to(index, shape)[None], axis=0)[0]

    # cdf and quantiles are NumPy only: a sum over a table of the data's size
    def cdf(self, x: Any) -> Any:
        xp, x = arguments(x)
        value = np.where(x < 0, 0.0, np.where(x >= self.n, 1.0, self._at(xp, self._sums()[0], x)))
        return np.where(np.isnan(x), np.nan, value)[()]

    def survival(self, x: Any) -> Any:
        xp, x = arguments(x)
        value = np.where(x < 0, 1.0, np.where(x >= self.n, 0.0, self._at(xp, self._sums()[1], x + 1.0)))
        return np.where(np.isnan(x), np.nan, value)[()]

    def quantile(self, q: Any) -> Any:
        """The smallest k with cdf(k) ≥ q."""
        _, q = self._levels(q)
        return self._count(q, lambda q, cdf, above: cdf < q)

    def upper_quantile(self, q: Any) -> Any:
        """The smallest k with P(X > k) ≤ q."""
        _, q = self._levels(q)
        return self._count(q, lambda q, cdf, above: np.concatenate([above[1:], 0.0 * above[:1]]) > q)

    def _count(self, q: np.ndarray, short: Any) -> Any:
        """Number of counts that fall short of q, at most n."""
        extra = max(0, q.ndim - len(self.batch_shape))
        cdf, above = (t.reshape((len(t), *(1,) * extra, *t.shape[1:])) for t in self._sums())
        value = np.minimum(np.sum(short(q, cdf, above), axis=0, dtype=np.float64), self.n)
        return np.where(np.isnan(q), np.nan, value)[()]

    def _draw(self, size: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        p = rng.beta(self.a, self.b, size + self.batch_shape)
        return rng.binomial(np.asarray(self.n, dtype=np.int64), p)

    @classmethod
    def fit(cls, x: Any, weights: Any = None, prior: Any = None, *, n: Any = None) -> Self:
        """MLE of a and b for `n` trials a row (a number, or one per row), or the mode under a dict of families.

        Numerical. Raises `DataError` where the counts scatter no more than binomial ones (a, b → ∞).
        """
        if n is None:
            raise ParameterError("BetaBinomial.fit", "n", "given: a number of trials, or one per row", n)
        x, w = observations("BetaBinomial", x, weights, Support("integer", 0, np.ravel(n) if np.ndim(n) else n))
        p = float(np.clip((w @ x) / np.sum(w * n), 0.01, 0.99))
        return posterior_mode(cls(n, 2.0 * p, 2.0 * (1.0 - p)), x, w, prior, ("a", "b"))

    @classmethod
    def from_moments(cls, mean: Any, sd: Any, n: Any = None) -> Self:
        """a and b for `n` trials, which must be given; sd lies between the binomial's and n times a coin's."""
        if n is None or np.any(np.asarray(n) < 2):
            raise ParameterError("BetaBinomial.from_moments", "n", "given, and ≥ 2", n)
        p = np.divide(mean, n)
        if not np.all((p > 0) & (p < 1)):
            raise ParameterError("BetaBinomial.from_moments", "mean", f"between 0 and n = {n} (exclusive)", mean)
        ratio = np.square(sd) / (n * p * (1.0 - p))  # (a + b + n)/(a + b + 1), between 1 and n
        if not np.all((ratio > 1) & (ratio < n)):
            low, high = np.sqrt(n * p * (1 - p)), n * np.sqrt(p * (1 - p))
            raise ParameterError("BetaBinomial.from_moments", "sd", f"between {low} and {high} (exclusive)", sd)
        total = (n - ratio) / (ratio - 1.0)
        return cls(n, p * total, (1.0 - p) * total)
