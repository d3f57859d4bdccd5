"""Binomial: log p(k) = log C(n, k) + k log p + (n − k) log(1 − p), 0 ≤ k ≤ n."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from credo.distributions import expectation
from credo.distributions.base import PROBABILITY, Constraint, observations
from credo.distributions.bernoulli import beta_mode
from credo.distributions.beta import Beta
from credo.distributions.fitting import posterior_mode
from credo.distributions.scalar import COUNT, ScalarFamily, arguments, within
from credo.distributions.stirling import betaincc, log_binomial
from credo.distributions.support import Support
from credo.errors import DataError, ParameterError
from credo.numerics.inversion import integer_quantile

__all__ = ["Binomial"]


@dataclass(frozen=True, eq=False)
class Binomial(ScalarFamily):
    """Successes in n independent trials.

    Parameters
    ----------
    n : integer ≥ 0, trials
    p : between 0 and 1, probability of success

    Examples
    --------
    >>> import credo as cr
    >>> cr.Binomial(3, 0.5).prob([0, 1, 2, 3]).round(3).tolist()
    [0.125, 0.375, 0.375, 0.125]

    References
    ----------
    Loader (2000), Fast and accurate computation of binomial probabilities.
    """

    n: Any
    p: Any

    domain: ClassVar[dict[str, Constraint]] = {"n": COUNT, "p": PROBABILITY}

    @property
    def support(self) -> Support:
        return Support("integer", 0, self.n)

    @property
    def mean(self) -> Any:
        """n p."""
        return self._whole(np.multiply(self.n, self.p))

    @property
    def variance(self) -> Any:
        """n p (1 − p)."""
        return self._whole(np.multiply(self.n, self.p) * np.subtract(1.0, self.p))

    @property
    def entropy(self) -> Any:
        """−Σ p(k) log p(k), in nats, summed (to about 1e-10)."""
        return expectation.entropy(self)

    def log_prob(self, x: Any) -> Any:
        xp, x = arguments(x, self.n, self.p)
        inside = (x >= 0) & (x <= self.n) & (xp.floor(x) == x)
        k, p = xp.where(inside, x, 0.0), xp.asarray(self.p)
        return within(xp, x, inside, log_binomial(xp, k, self.n - k, p, 1.0 - p))

    def _tails(self, x: Any) -> tuple[Any, Any, Any, Any, Any]:
        """Namespace, x, whether 0 ≤ x < n, and there the two parameters of the beta function k + 1 and n − k."""
        xp, x = arguments(x, self.n, self.p)
        inside = (x >= 0) & (x < self.n)
        k = xp.where(inside, xp.floor(x), 0.0)
        return xp, x, inside, k + 1.0, xp.where(inside, self.n - k, 1.0)

    def cdf(self, x: Any) -> Any:
        xp, x, inside, a, b = self._tails(x)
        value = betaincc(xp, a, b, xp.asarray(self.p) * 1.0)
        return xp.where(xp.isnan(x), xp.nan, xp.where(inside, value, xp.where(x < 0, 0.0, 1.0)))[()]

    def survival(self, x: Any) -> Any:
        xp, x, inside, a, b = self._tails(x)
        value = xp.special.betainc(a, b, xp.asarray(self.p) * 1.0)
        return xp.where(xp.isnan(x), xp.nan, xp.where(inside, value, xp.where(x < 0, 1.0, 0.0)))[()]

    # NumPy only: searches
    def quantile(self, q: Any) -> Any:
        """The smallest k with cdf(k) ≥ q."""
        _, q = self._levels(q)
        return integer_quantile(q, lambda k: self.cdf(k) >= q, (0.0, self.n), 0.0, self.n, self.mean)

    def upper_quantile(self, q: Any) -> Any:
        """The smallest k with P(X > k) ≤ q."""
        _, q = self._levels(q)
        return integer_quantile(q, lambda k: self.survival(k) <= q, (self.n, 0.0), 0.0, self.n, self.mean)

    def _draw(self, size: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        return rng.binomial(np.asarray(self.n, dtype=np.int64), self.p, size + self.batch_shape)

    @classmethod
    def fit(cls, x: Any, weights: Any = None, prior: Any = None, *, n: Any = None) -> Self:
        """MLE of p: Σk/Σn, for `n` trials a row (a number, or one per row). With a `Beta` prior, the posterior mode.

        The result has the `n` that was given.
        """
        if n is None:
            raise ParameterError("Binomial.fit", "n", "given: a number of trials, or one per row", n)
        shape = Support("integer", 0, np.ravel(n) if np.ndim(n) else n)
        x, w = observations("Binomial", x, weights, shape)
        successes, trials = w @ x, float(np.sum(w * n))
        if trials <= 0:
            raise DataError("Binomial.fit: there are no trials.", value=n)
        if isinstance(prior, Beta):
            return cls(n, beta_mode("Binomial", prior, successes, trials - successes))
        return posterior_mode(cls(n, successes / trials), x, w, prior, ("p",), exact=True)

    @classmethod
    def from_moments(cls, mean: Any, sd: Any) -> Self:
        """p = 1 − sd²/mean, n = mean/p, which must be an integer (to six digits) for the pair to be feasible."""
        mean, sd = np.asarray(mean, dtype=np.float64)[()], np.asarray(sd, dtype=np.float64)[()]
        if not np.all(mean > 0):
            raise ParameterError("Binomial.from_moments", "mean", "> 0", mean)
        if not np.all((sd >= 0) & (np.square(sd) < mean)):
            raise ParameterError("Binomial.from_moments", "sd", f"≥ 0 and < √mean = {np.sqrt(mean)}", sd)
        p = 1.0 - np.square(sd) / mean
        n = np.round(mean / p)
        if not np.allclose(n * p, mean, rtol=1e-6, atol=0.0):
            raise ParameterError("Binomial.from_moments", "sd", f"such that n = {mean / p} is an integer", sd)
        return cls(n, mean / n)
