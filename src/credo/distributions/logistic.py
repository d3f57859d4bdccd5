"""Logistic: log p(x) = −z − log s − 2 log(1 + e⁻ᶻ), z = (x − μ)/s."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from credo.distributions.base import FINITE, POSITIVE_VALUE, Constraint, observations
from credo.distributions.fitting import posterior_mode
from credo.distributions.scalar import ScalarFamily, arguments
from credo.distributions.statistics import WeightedMoments
from credo.distributions.support import REAL, Support
from credo.errors import DataError

__all__ = ["Logistic"]


@dataclass(frozen=True, eq=False)
class Logistic(ScalarFamily):
    """Logistic distribution: its cdf is the logistic function of (x − mean)/scale.

    Parameters
    ----------
    mean : real; also the median
    scale : s > 0; the standard deviation is πs/√3

    Examples
    --------
    >>> import credo as cr
    >>> cr.Logistic(0, 1).cdf(0.0).item()
    0.5

    References
    ----------
    Johnson, Kotz and Balakrishnan (1995), Continuous Univariate Distributions, vol. 2, ch. 23.
    """

    mean: Any = 0.0
    scale: Any = 1.0

    domain: ClassVar[dict[str, Constraint]] = {"mean": FINITE, "scale": POSITIVE_VALUE}

    @property
    def support(self) -> Support:
        return REAL

    @property
    def variance(self) -> Any:
        """π² s²/3."""
        return self._whole(np.pi**2 / 3.0 * np.square(self.scale))

    @property
    def entropy(self) -> Any:
        """2 + log s, in nats."""
        return self._whole(2.0 + np.log(self.scale))

    def log_prob(self, x: Any) -> Any:
        xp, x = arguments(x, self.mean, self.scale)
        z = xp.abs((x - self.mean) / self.scale)
        return -z - 2.0 * xp.log1p(xp.exp(-z)) - xp.log(self.scale)

    def cdf(self, x: Any) -> Any:
        xp, x = arguments(x, self.mean, self.scale)
        return xp.special.expit((x - self.mean) / self.scale)

    def survival(self, x: Any) -> Any:
        xp, x = arguments(x, self.mean, self.scale)
        return xp.special.expit((self.mean - x) / self.scale)

    def quantile(self, q: Any) -> Any:
        xp, q = self._levels(q)
        return self.mean + self.scale * xp.special.logit(q)

    def upper_quantile(self, q: Any) -> Any:
        xp, q = self._levels(q)
        return self.mean - self.scale * xp.special.logit(q)

    def _draw(self, size: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        return self.mean + self.scale * rng.logistic(size=size + self.batch_shape)

    @classmethod
    def fit(cls, x: Any, weights: Any = None, prior: Any = None) -> Self:
        """MLE (numerical; unique, the density is log-concave), or the mode under a dict of families for "mean" and
        "scale"."""
        x, w = observations("Logistic", x, weights, REAL)
        moments = WeightedMoments.accumulate(x, w)
        if moments.scatter <= 0.0:
            raise DataError(
                "Logistic.fit: all observations are equal, so the maximum-likelihood scale is 0.", value=x[0]
            )
        return posterior_mode(cls.from_moments(moments.mean, np.sqrt(moments.variance())), x, w, prior)

    @classmethod
    def from_moments(cls, mean: Any, sd: Any) -> Self:
        """scale = √3 sd/π."""
        return cls(mean, np.asarray(sd)[()] * (np.sqrt(3.0) / np.pi))
