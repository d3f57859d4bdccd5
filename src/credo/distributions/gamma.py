"""Gamma: log p(x) = a log r − log Γ(a) + (a − 1) log x − r x, x ≥ 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy

from credo.distributions.base import POSITIVE_VALUE, Constraint, is_concrete, observations
from credo.distributions.fitting import posterior_mode
from credo.distributions.scalar import ScalarFamily, arguments, within
from credo.distributions.stirling import deviance, log_minus_digamma, log_poisson, log_poisson_mode
from credo.distributions.support import POSITIVE, Support
from credo.errors import DataError, ParameterError
from credo.numerics.namespace import namespace

__all__ = ["Gamma"]


@dataclass(frozen=True, eq=False, init=False)
class Gamma(ScalarFamily):
    """Gamma distribution, by keyword: `Gamma(shape=, rate=)` or `Gamma(shape=, scale=)`.

    Parameters
    ----------
    shape : a > 0
    rate : r > 0; mean a/r, variance a/r²
    scale : 1/r, instead of the rate

    Examples
    --------
    >>> import credo as cr
    >>> g = cr.Gamma.from_moments(5.0, 0.1)          # a run of 5 km, give or take 100 m
    >>> round(float(g.shape)), round(float(g.rate))
    (2500, 500)

    References
    ----------
    Johnson, Kotz and Balakrishnan (1994), Continuous Univariate Distributions, vol. 1, ch. 17.
    """

    shape: Any
    rate: Any

    domain: ClassVar[dict[str, Constraint]] = {"shape": POSITIVE_VALUE, "rate": POSITIVE_VALUE}

    def __init__(self, *, shape: Any, rate: Any = None, scale: Any = None) -> None:
        if (rate is None) == (scale is None):
            raise ParameterError("Gamma", "rate", "given, or scale instead of it (one of the two)", (rate, scale))
        if rate is None:
            if is_concrete(scale) and not np.all(POSITIVE_VALUE.holds(np.asarray(scale, dtype=np.float64))):
                raise ParameterError("Gamma", "scale", POSITIVE_VALUE.text, scale)
            rate = 1.0 / (np.asarray(scale, dtype=np.float64)[()] if isinstance(scale, (list, tuple)) else scale)
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "rate", rate)
        self.__post_init__()

    @property
    def scale(self) -> Any:
        """1/rate."""
        return 1.0 / self.rate

    @property
    def support(self) -> Support:
        return POSITIVE

    @property
    def mean(self) -> Any:
        """a/r."""
        return self._whole(np.divide(self.shape, self.rate))

    @property
    def variance(self) -> Any:
        """a/r²."""
        return self._whole(np.divide(self.shape, self.rate) / self.rate)

    @property
    def entropy(self) -> Any:
        """a − log r + log Γ(a) + (1 − a) ψ(a), in nats, without cancellation at large a."""
        xp, a = namespace(0.0), np.asarray(self.shape, dtype=np.float64)
        return self._whole((a - 1.0) * log_minus_digamma(xp, a) - log_poisson_mode(xp, a) - np.log(self.rate))

    def log_prob(self, x: Any) -> Any:
        xp, x = arguments(x, self.shape, self.rate)
        inside = (x >= 0) & (x < xp.inf)
        a, t = xp.asarray(self.shape) * 1.0, xp.where(inside & (x > 0), x, 1.0)
        value = log_poisson(xp, a, self.rate * t) + xp.log(a) - xp.log(t)
        at_zero = xp.special.xlogy(a - 1.0, 0.0) + xp.log(self.rate)  # ∞, log r or −∞ as a <, =, > 1
        return within(xp, x, inside, xp.where(x == 0, at_zero, value))

    def cdf(self, x: Any) -> Any:
        xp, x = arguments(x, self.shape, self.rate)
        return xp.special.gammainc(self.shape, self.rate * xp.maximum(x, 0.0))

    def survival(self, x: Any) -> Any:
        xp, x = arguments(x, self.shape, self.rate)
        return xp.special.gammaincc(self.shape, self.rate * xp.maximum(x, 0.0))

    # NumPy only: JAX has no inverse of the incomplete gamma function
    def quantile(self, q: Any) -> Any:
        return scipy.special.gammaincinv(self.shape, self._levels(q)[1]) / self.rate

    def upper_quantile(self, q: Any) -> Any:
        return scipy.special.gammainccinv(self.shape, self._levels(q)[1]) / self.rate

    def _draw(self, size: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        return rng.standard_gamma(self.shape, size + self.batch_shape) / self.rate

    @classmethod
    def fit(cls, x: Any, weights: Any = None, prior: Any = None) -> Self:
        """MLE by Newton's method on log a − ψ(a) = log x̄ − mean log x; with a dict of families for "shape" and
        "rate", the mode."""
        x, w = observations("Gamma", x, weights, POSITIVE)
        shape, rate = gamma_mle("Gamma", x, w)
        return posterior_mode(cls(shape=shape, rate=rate), x, w, prior, exact=True)

    @classmethod
    def from_moments(cls, mean: Any, sd: Any) -> Self:
        """shape = mean²/sd², rate = mean/sd²; both must be > 0."""
        check_positive_moments("Gamma", mean, sd)
        mean, sd = np.asarray(mean, dtype=np.float64)[()], np.asarray(sd, dtype=np.float64)[()]
        return cls(shape=np.square(mean / sd), rate=mean / sd / sd)


def check_positive_moments(owner: str, mean: Any, sd: Any) -> None:
    """A mean and an sd that must both be positive."""
    for name, value in (("mean", mean), ("sd", sd)):
        if not np.all(np.isfinite(value) & (np.asarray(value) > 0)):
            raise ParameterError(f"{owner}.from_moments", name, "finite and > 0", value)


def gamma_mle(owner: str, x: np.ndarray, weights: np.ndarray) -> tuple[Any, Any]:
    """Shape and rate of greatest likelihood.

    log x̄ − mean log x is the mean of D(x̄, x)/x̄, a sum of squares where the logs would cancel.
    """
    zero = np.flatnonzero((x == 0) & (weights > 0))
    if zero.size:
        raise DataError(f"{owner}.fit: row {zero[0]} is 0, of likelihood 0.", rows=zero[:20].tolist(),
                        value=0.0, remedy="Drop or censor the zeros, or model them apart.")  # fmt: skip
    xp, x, weights = namespace(0.0), x[weights > 0], weights[weights > 0]
    mean = weights @ x / weights.sum()
    gap = weights @ deviance(xp, mean, x) / mean / weights.sum()
    if not gap > 0:
        raise DataError(f"{owner}.fit: all observations are equal, so the likelihood has no maximum.", value=mean)
    shape = (3.0 - gap + np.sqrt((gap - 3.0) ** 2 + 24.0 * gap)) / (12.0 * gap)  # within 1.5 % (Minka 2002)
    for _ in range(20):
        # Newton in 1/a, in which the equation is nearly straight
        excess = log_minus_digamma(xp, shape) - gap
        # ψ′(a) − 1/a, from its series where the two cancel
        slope = (
            scipy.special.polygamma(1, shape) - 1.0 / shape if shape < 1e4 else (0.5 + 1.0 / (6.0 * shape)) / shape**2
        )
        new = 1.0 / (1.0 / shape - excess / (slope * shape * shape))
        done, shape = abs(new - shape) <= 1e-15 * shape, new
        if done:
            break
    return shape, shape / mean
