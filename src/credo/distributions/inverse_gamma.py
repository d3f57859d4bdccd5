"""Inverse gamma: log p(x) = a log s − log Γ(a) − (a + 1) log x − s/x, x > 0; 1/x is Gamma(shape a, rate s)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy

from credo.distributions.base import POSITIVE_VALUE, Constraint, observations
from credo.distributions.fitting import posterior_mode
from credo.distributions.gamma import check_positive_moments, gamma_mle
from credo.distributions.scalar import ScalarFamily, arguments, within
from credo.distributions.stirling import log_minus_digamma, log_poisson, log_poisson_mode
from credo.distributions.support import POSITIVE, Support
from credo.errors import DataError
from credo.numerics.namespace import namespace

__all__ = ["InverseGamma"]


@dataclass(frozen=True, eq=False, kw_only=True)
class InverseGamma(ScalarFamily):
    """Inverse gamma distribution, by keyword: the conjugate prior of a Normal's variance.

    Parameters
    ----------
    shape : a > 0
    scale : s > 0; mean s/(a − 1), ∞ for a ≤ 1; variance s²/((a − 1)²(a − 2)), ∞ for a ≤ 2

    Examples
    --------
    >>> import credo as cr
    >>> cr.InverseGamma(shape=3, scale=4).mean.item()
    2.0
    """

    shape: Any
    scale: Any

    domain: ClassVar[dict[str, Constraint]] = {"shape": POSITIVE_VALUE, "scale": POSITIVE_VALUE}

    @property
    def support(self) -> Support:
        return POSITIVE

    @property
    def mean(self) -> Any:
        """s/(a − 1), ∞ for a ≤ 1."""
        a = np.asarray(self.shape, dtype=np.float64)
        return self._whole(np.where(a > 1, self.scale / np.where(a > 1, a - 1.0, 1.0), np.inf))

    @property
    def variance(self) -> Any:
        """s²/((a − 1)²(a − 2)), ∞ for a ≤ 2."""
        a = np.asarray(self.shape, dtype=np.float64)
        b = np.where(a > 2, a, 3.0)
        return self._whole(np.where(a > 2, np.square(self.scale / (b - 1.0)) / (b - 2.0), np.inf))

    @property
    def entropy(self) -> Any:
        """a + log s + log Γ(a) − (1 + a) ψ(a), in nats, without cancellation at large a."""
        xp, a = namespace(0.0), np.asarray(self.shape, dtype=np.float64)
        sigma = log_minus_digamma(xp, a)
        return self._whole((a + 1.0) * sigma - log_poisson_mode(xp, a) - 2.0 * np.log(a) + np.log(self.scale))

    def log_prob(self, x: Any) -> Any:
        xp, x = arguments(x, self.shape, self.scale)
        rate = self._reciprocal(xp.where(x > 0, x, 1.0))
        inside = (x > 0) & (x < xp.inf) & (rate < xp.inf)
        t, rate = xp.where(inside, x, 1.0), xp.where(inside, rate, 1.0)
        value = log_poisson(xp, xp.asarray(self.shape) * 1.0, rate) + xp.log(self.shape) - xp.log(t)
        return within(xp, x, inside, value)

    def _reciprocal(self, x: Any) -> Any:
        """s/x; ∞ at 0, and for subnormal x."""
        with np.errstate(divide="ignore", over="ignore"):
            return self.scale / x

    # below 0 the reciprocal is ∞, as at 0
    def cdf(self, x: Any) -> Any:
        xp, x = arguments(x, self.shape, self.scale)
        return xp.special.gammaincc(self.shape, self._reciprocal(xp.maximum(x, 0.0)))

    def survival(self, x: Any) -> Any:
        xp, x = arguments(x, self.shape, self.scale)
        return xp.special.gammainc(self.shape, self._reciprocal(xp.maximum(x, 0.0)))

    # NumPy only: JAX has no inverse of the incomplete gamma function
    def quantile(self, q: Any) -> Any:
        return self._reciprocal(scipy.special.gammainccinv(self.shape, self._levels(q)[1]))

    def upper_quantile(self, q: Any) -> Any:
        return self._reciprocal(scipy.special.gammaincinv(self.shape, self._levels(q)[1]))

    def _draw(self, size: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        return self._reciprocal(rng.standard_gamma(self.shape, size + self.batch_shape))

    @classmethod
    def fit(cls, x: Any, weights: Any = None, prior: Any = None) -> Self:
        """MLE: the Gamma fit of 1/x; with a dict of families for "shape" and "scale", the mode."""
        x, w = observations("InverseGamma", x, weights, POSITIVE)
        zero = np.flatnonzero(x == 0)
        if zero.size:
            raise DataError(f"InverseGamma.fit: row {zero[0]} is 0, of density 0.", rows=zero[:20].tolist(), value=0.0)
        shape, scale = gamma_mle("InverseGamma", 1.0 / x, w)
        return posterior_mode(cls(shape=shape, scale=scale), x, w, prior, exact=True)

    @classmethod
    def from_moments(cls, mean: Any, sd: Any) -> Self:
        """shape = 2 + mean²/sd², scale = mean (shape − 1)."""
        check_positive_moments("InverseGamma", mean, sd)
        shape = 2.0 + np.square(np.divide(mean, sd))
        return cls(shape=shape, scale=mean * (shape - 1.0))
