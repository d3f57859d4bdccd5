"""Laplace: log p(x) = −log 2b − |x − μ|/b."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from credo.distributions.base import FINITE, POSITIVE_VALUE, Constraint, observations
from credo.distributions.fitting import posterior_mode, weighted_quantile
from credo.distributions.scalar import ScalarFamily, arguments
from credo.distributions.support import REAL, Support
from credo.errors import DataError

__all__ = ["Laplace"]


@dataclass(frozen=True, eq=False)
class Laplace(ScalarFamily):
    """Laplace (double exponential) distribution: as a prior the lasso, as noise the absolute loss.

    Parameters
    ----------
    mean : real, any shape; also the median
    scale : b > 0; the standard deviation is √2 b

    Examples
    --------
    >>> import credo as cr
    >>> cr.Laplace(0, 1).quantile(0.9).round(4).item()
    1.6094

    References
    ----------
    Kotz, Kozubowski and Podgórski (2001), The Laplace Distribution and Generalizations.
    """

    mean: Any = 0.0
    scale: Any = 1.0

    domain: ClassVar[dict[str, Constraint]] = {"mean": FINITE, "scale": POSITIVE_VALUE}
    learnable: ClassVar[tuple[str, ...]] = ("scale",)

    @property
    def support(self) -> Support:
        return REAL

    @property
    def variance(self) -> Any:
        """2b²."""
        return self._whole(2.0 * np.square(self.scale))

    @property
    def entropy(self) -> Any:
        """1 + log 2b, in nats."""
        return self._whole(1.0 + np.log(2.0 * np.asarray(self.scale)))

    def log_prob(self, x: Any) -> Any:
        xp, x = arguments(x, self.mean, self.scale)
        return -xp.abs((x - self.mean) / self.scale) - xp.log(self.scale) - np.log(2.0)

    def cdf(self, x: Any) -> Any:
        xp, x = arguments(x, self.mean, self.scale)
        return _cdf(xp, (x - self.mean) / self.scale)

    def survival(self, x: Any) -> Any:
        xp, x = arguments(x, self.mean, self.scale)
        return _cdf(xp, (self.mean - x) / self.scale)

    def quantile(self, q: Any) -> Any:
        xp, q = self._levels(q)
        return self.mean + self.scale * _quantile(xp, q)

    def upper_quantile(self, q: Any) -> Any:
        xp, q = self._levels(q)
        return self.mean - self.scale * _quantile(xp, q)

    def _draw(self, size: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        return self.mean + self.scale * rng.laplace(size=size + self.batch_shape)

    @classmethod
    def fit(cls, x: Any, weights: Any = None, prior: Any = None) -> Self:
        """MLE: the weighted median and the mean absolute deviation from it. `prior`: a dict of families for "mean" and
        "scale"."""
        x, w = observations("Laplace", x, weights, REAL)
        median = weighted_quantile(x, w, 0.5)
        scale = w @ np.abs(x - median) / w.sum()
        if scale <= 0.0:
            raise DataError(
                "Laplace.fit: all observations are equal, so the maximum-likelihood scale is 0.", value=median
            )
        return posterior_mode(cls(np.float64(median), scale), x, w, prior, exact=True)

    @classmethod
    def from_moments(cls, mean: Any, sd: Any) -> Self:
        """scale = sd/√2."""
        return cls(mean, np.asarray(sd)[()] / np.sqrt(2.0))


def _cdf(xp: Any, z: Any) -> Any:
    tail = 0.5 * xp.exp(-xp.abs(z))
    return xp.where(z <= 0, tail, 1.0 - tail)[()]


def _quantile(xp: Any, q: Any) -> Any:
    tail = xp.minimum(q, 1.0 - q)
    return -xp.sign(q - 0.5) * xp.special.xlogy(1.0, 2.0 * tail)
