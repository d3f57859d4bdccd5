"""Normal: log p(x) = −½ log 2π − log σ − ½ ((x − μ)/σ)²."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from credo.distributions.base import FINITE, POSITIVE_VALUE, Constraint, Family, observations
from credo.distributions.fitting import posterior_mode
from credo.distributions.scalar import ScalarFamily, arguments
from credo.distributions.statistics import WeightedMoments
from credo.distributions.support import REAL, Support
from credo.errors import DataError, ParameterError

__all__ = ["Normal"]

LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True, eq=False)
class Normal(ScalarFamily):
    """Normal distribution with `mean` μ and standard deviation `sd` σ > 0.

    Parameters
    ----------
    mean : real, any shape
    sd : > 0, any shape broadcastable with `mean`; a standard deviation, never a variance. As the prior of an
        estimator `sd` may be None: the scale is then learned from the evidence.

    Examples
    --------
    >>> import credo as cr
    >>> cr.Normal(0, 2).interval(0.9)[1].round(4).item()
    3.2897
    >>> cr.Normal.fit([1.0, 2.0, 3.0]).sd.round(4).item()
    0.8165

    References
    ----------
    Johnson, Kotz and Balakrishnan (1994), Continuous Univariate Distributions, vol. 1, ch. 13.
    """

    mean: Any = 0.0
    sd: Any = 1.0

    domain: ClassVar[dict[str, Constraint]] = {"mean": FINITE, "sd": POSITIVE_VALUE}
    learnable: ClassVar[tuple[str, ...]] = ("sd",)

    @property
    def support(self) -> Support:
        return REAL

    @property
    def variance(self) -> Any:
        """σ²."""
        return self._whole(np.square(self.sd))

    @property
    def entropy(self) -> Any:
        """½ log 2πe σ², in nats."""
        return self._whole(0.5 * (LOG_2PI + 1.0) + np.log(self.sd))

    def log_prob(self, x: Any) -> Any:
        xp, x = arguments(x, self.mean, self.sd)
        z = (x - self.mean) / self.sd
        return -0.5 * z * z - xp.log(self.sd) - 0.5 * LOG_2PI

    def cdf(self, x: Any) -> Any:
        xp, x = arguments(x, self.mean, self.sd)
        return xp.special.ndtr((x - self.mean) / self.sd)

    def survival(self, x: Any) -> Any:
        xp, x = arguments(x, self.mean, self.sd)
        return xp.special.ndtr((self.mean - x) / self.sd)

    def quantile(self, q: Any) -> Any:
        xp, q = self._levels(q)
        return self.mean + self.sd * xp.special.ndtri(q)

    def upper_quantile(self, q: Any) -> Any:
        xp, q = self._levels(q)
        return self.mean - self.sd * xp.special.ndtri(q)

    def _draw(self, size: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        return self.mean + self.sd * rng.standard_normal(size + self.batch_shape)

    @classmethod
    def fit(cls, x: Any, weights: Any = None, prior: Any = None) -> Self:
        """MLE: mean and √(Σ w (x − μ)²/Σ w). With `prior` a `NormalInverseGamma` on (μ, σ²): the joint mode; with a
        dict of families for "mean" and "sd": the mode over (mean, sd), found numerically."""
        x, w = observations("Normal", x, weights, REAL)
        moments = WeightedMoments.accumulate(x, w)
        mean, variance = moments.mean, moments.variance()
        if isinstance(prior, Family) and not isinstance(prior, ScalarFamily):
            from credo.distributions.normal_inverse_gamma import NormalInverseGamma

            if isinstance(prior, NormalInverseGamma):
                from credo.distributions.conjugate import normal_inverse_gamma_mode

                mean, variance = normal_inverse_gamma_mode(prior, moments.total, float(mean), float(moments.scatter))
                return cls(np.float64(mean), np.sqrt(variance))
        if variance <= 0.0:
            raise DataError(
                "Normal.fit: all observations are equal, so the maximum-likelihood sd is 0.",
                value=mean,
                remedy="Give a NormalInverseGamma prior on (mean, variance) or more data.",
            )
        return posterior_mode(cls(np.float64(mean), np.sqrt(variance)), x, w, prior, exact=True)

    @classmethod
    def from_moments(cls, mean: Any, sd: Any) -> Self:
        if np.any(np.asarray(sd) <= 0):
            raise ParameterError("Normal.from_moments", "sd", "> 0", sd)
        return cls(mean, sd)
