"""Lomax: log p(x) = log a/s − (a + 1) log(1 + x/s), x ≥ 0; the Pareto moved to 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from credo.distributions.base import POSITIVE_VALUE, Constraint, observations
from credo.distributions.fitting import posterior_mode
from credo.distributions.gamma import check_positive_moments
from credo.distributions.pareto import tail_variance
from credo.distributions.scalar import ScalarFamily, arguments, within
from credo.distributions.statistics import WeightedMoments
from credo.distributions.support import NON_NEGATIVE, Support
from credo.errors import DataError, ParameterError

__all__ = ["Lomax"]


@dataclass(frozen=True, eq=False)
class Lomax(ScalarFamily):
    """Lomax (Pareto type II) distribution: an exponential whose rate is Gamma(shape=a, rate=s).

    Parameters
    ----------
    shape : a > 0; P(X > x) = (1 + x/s)⁻ᵃ. The mean is ∞ for a ≤ 1, the variance for a ≤ 2
    scale : s > 0

    Examples
    --------
    >>> import credo as cr
    >>> cr.Lomax(3, 4).mean.item()
    2.0
    """

    shape: Any
    scale: Any = 1.0

    domain: ClassVar[dict[str, Constraint]] = {"shape": POSITIVE_VALUE, "scale": POSITIVE_VALUE}

    @property
    def support(self) -> Support:
        return NON_NEGATIVE

    @property
    def mean(self) -> Any:
        """s/(a − 1), ∞ for a ≤ 1."""
        a = np.asarray(self.shape, dtype=np.float64)
        return self._whole(np.where(a > 1, self.scale / np.where(a > 1, a - 1.0, 1.0), np.inf))

    @property
    def variance(self) -> Any:
        """s² a/((a − 1)²(a − 2)), ∞ for a ≤ 2."""
        return self._whole(tail_variance(self.shape, self.scale))

    @property
    def entropy(self) -> Any:
        """log(s/a) + 1 + 1/a, in nats."""
        return self._whole(np.log(np.divide(self.scale, self.shape)) + 1.0 + np.divide(1.0, self.shape))

    def _log_ratio(self, xp: Any, x: Any) -> Any:
        """log(1 + x/s); 0 below 0."""
        return xp.log1p(xp.maximum(x, 0.0) / self.scale)

    def log_prob(self, x: Any) -> Any:
        xp, x = arguments(x, self.shape, self.scale)
        value = xp.log(self.shape) - xp.log(self.scale) - (self.shape + 1.0) * self._log_ratio(xp, x)
        return within(xp, x, x >= 0, value)

    def cdf(self, x: Any) -> Any:
        xp, x = arguments(x, self.shape, self.scale)
        return -xp.expm1(-self.shape * self._log_ratio(xp, x))

    def survival(self, x: Any) -> Any:
        xp, x = arguments(x, self.shape, self.scale)
        return xp.exp(-self.shape * self._log_ratio(xp, x))

    def quantile(self, q: Any) -> Any:
        xp, q = self._levels(q)
        with np.errstate(over="ignore"):
            return self.scale * xp.expm1(-xp.special.xlog1py(1.0 / np.asarray(self.shape), -q))

    def upper_quantile(self, q: Any) -> Any:
        xp, q = self._levels(q)
        with np.errstate(over="ignore"):
            return self.scale * xp.expm1(-xp.special.xlogy(1.0 / np.asarray(self.shape), q))

    def _draw(self, size: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        return self.scale * np.expm1(rng.standard_exponential(size + self.batch_shape) / self.shape)

    @classmethod
    def fit(cls, x: Any, weights: Any = None, prior: Any = None) -> Self:
        """MLE, or the mode with a dict of families for "shape" and "scale"; numerical.

        Raises `DataError` where the tail is no heavier than an exponential's (the likelihood then rises without end as
        both parameters grow).
        """
        x, w = observations("Lomax", x, weights, NON_NEGATIVE)
        moments = WeightedMoments.accumulate(x, w)
        mean = float(moments.mean)
        if mean <= 0:
            raise DataError("Lomax.fit: all observations are 0.", value=0.0)
        if prior is None and moments.variance() <= mean * mean:
            raise DataError(
                "Lomax.fit: the sd is not above the mean, so the likelihood rises towards the exponential.",
                value=float(np.sqrt(moments.variance())),
                remedy="Use Exponential, or give a prior.",
            )
        return posterior_mode(cls(2.0, mean), x, w, prior)

    @classmethod
    def from_moments(cls, mean: Any, sd: Any) -> Self:
        """shape = 2c/(c − 1), scale = mean (shape − 1), with c = sd²/mean², which must be > 1."""
        check_positive_moments("Lomax", mean, sd)
        if not np.all(np.greater(sd, mean)):
            raise ParameterError(
                "Lomax.from_moments", "sd", f"> mean = {mean} (its tail is heavier than exponential)", sd
            )
        ratio = np.square(np.divide(sd, mean))
        shape = 2.0 * ratio / (ratio - 1.0)
        return cls(shape, mean * (shape - 1.0))
