"""Geometric: log p(k) = log p + k log(1 − p), k = 0, 1, … failures before the first success."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy import special

from credo.distributions.base import Constraint, observations
from credo.distributions.bernoulli import beta_mode
from credo.distributions.beta import Beta
from credo.distributions.fitting import posterior_mode
from credo.distributions.scalar import (
    POSITIVE_PROBABILITY,
    ScalarFamily,
    arguments,
    implied_sd,
    within,
)
from credo.distributions.support import COUNTS, Support
from credo.errors import ParameterError
from credo.numerics.inversion import integer_quantile

__all__ = ["Geometric"]


@dataclass(frozen=True, eq=False)
class Geometric(ScalarFamily):
    """Number of failures before the first success: the support starts at 0 (SciPy's, which counts trials, at 1).

    Parameters
    ----------
    p : 0 < p ≤ 1, probability of success; mean (1 − p)/p

    Examples
    --------
    >>> import credo as cr
    >>> cr.Geometric(0.5).prob([0, 1, 2]).round(3).tolist()
    [0.5, 0.25, 0.125]
    """

    p: Any

    domain: ClassVar[dict[str, Constraint]] = {"p": POSITIVE_PROBABILITY}

    @property
    def support(self) -> Support:
        return COUNTS

    @property
    def mean(self) -> Any:
        """(1 − p)/p."""
        return self._whole(np.subtract(1.0, self.p) / self.p)

    @property
    def variance(self) -> Any:
        """(1 − p)/p²."""
        return self._whole(np.subtract(1.0, self.p) / np.square(self.p))

    @property
    def entropy(self) -> Any:
        """[−p log p − (1 − p) log(1 − p)]/p, in nats."""
        p = np.asarray(self.p)
        return self._whole((special.entr(p) - special.xlog1py(1.0 - p, -p)) / p)

    def log_prob(self, x: Any) -> Any:
        xp, x = arguments(x, self.p)
        inside = (x >= 0) & (x < xp.inf) & (xp.floor(x) == x)
        k = xp.where(inside, x, 0.0)
        return within(xp, x, inside, xp.log(self.p) + xp.special.xlog1py(k, -xp.asarray(self.p)))

    def _log_survival(self, xp: Any, x: Any) -> Any:
        return xp.special.xlog1py(xp.floor(xp.maximum(x, -1.0)) + 1.0, -xp.asarray(self.p))

    def cdf(self, x: Any) -> Any:
        xp, x = arguments(x, self.p)
        return -xp.expm1(self._log_survival(xp, x))

    def survival(self, x: Any) -> Any:
        xp, x = arguments(x, self.p)
        return xp.exp(self._log_survival(xp, x))

    def quantile(self, q: Any) -> Any:
        """The smallest k with cdf(k) ≥ q."""
        _, q = self._levels(q)
        return integer_quantile(q, lambda k: self.cdf(k) >= q, (0.0, self._top), 0.0, np.inf, self.mean)

    def upper_quantile(self, q: Any) -> Any:
        """The smallest k with P(X > k) ≤ q."""
        _, q = self._levels(q)
        return integer_quantile(q, lambda k: self.survival(k) <= q, (self._top, 0.0), 0.0, np.inf, self.mean)

    @property
    def _top(self) -> Any:
        return np.where(np.equal(self.p, 1), 0.0, np.inf)

    def _draw(self, size: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        return rng.geometric(self.p, size + self.batch_shape) - 1

    @classmethod
    def fit(cls, x: Any, weights: Any = None, prior: Any = None) -> Self:
        """MLE: n/(n + Σx). With a `Beta` prior on p: the mode of Beta(a + n, b + Σx)."""
        x, w = observations("Geometric", x, weights, COUNTS)
        n, failures = w.sum(), w @ x
        if isinstance(prior, Beta):
            return cls(beta_mode("Geometric", prior, n, failures))
        return posterior_mode(cls(n / (n + failures)), x, w, prior, exact=True)

    @classmethod
    def from_moments(cls, mean: Any, sd: Any = None) -> Self:
        """p = 1/(1 + mean); an sd, if given, must equal √(mean (1 + mean))."""
        mean = np.asarray(mean, dtype=np.float64)[()]
        if not np.all((mean >= 0) & np.isfinite(mean)):
            raise ParameterError("Geometric.from_moments", "mean", "finite and ≥ 0", mean)
        implied_sd("Geometric", sd, np.sqrt(mean * (1.0 + mean)))
        return cls(1.0 / (1.0 + mean))
