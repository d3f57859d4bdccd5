"""Cauchy: log p(x) = −log πγ − log(1 + ((x − x₀)/γ)²)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from credo.distributions.base import FINITE, POSITIVE_VALUE, Constraint, observations
from credo.distributions.fitting import posterior_mode, weighted_quantile
from credo.distributions.scalar import ScalarFamily, arguments
from credo.distributions.student_t import log1p_square
from credo.distributions.support import REAL, Support
from credo.errors import DataError, UnavailableError

__all__ = ["Cauchy"]


@dataclass(frozen=True, eq=False)
class Cauchy(ScalarFamily):
    """Cauchy distribution: no mean, no variance (both NaN).

    Parameters
    ----------
    location : real; the median and mode
    scale : γ > 0; half the interquartile range

    Examples
    --------
    >>> import credo as cr
    >>> cr.Cauchy(0, 1).quantile(0.75).round(6).item()
    1.0

    References
    ----------
    Johnson, Kotz and Balakrishnan (1994), Continuous Univariate Distributions, vol. 1, ch. 16.
    """

    location: Any = 0.0
    scale: Any = 1.0

    domain: ClassVar[dict[str, Constraint]] = {"location": FINITE, "scale": POSITIVE_VALUE}

    @property
    def support(self) -> Support:
        return REAL

    @property
    def mean(self) -> Any:
        """NaN: undefined."""
        return self._whole(np.nan)

    @property
    def variance(self) -> Any:
        """NaN: undefined."""
        return self._whole(np.nan)

    @property
    def entropy(self) -> Any:
        """log 4πγ, in nats."""
        return self._whole(np.log(4.0 * np.pi * np.asarray(self.scale)))

    def log_prob(self, x: Any) -> Any:
        xp, x = arguments(x, self.location, self.scale)
        return -np.log(np.pi) - xp.log(self.scale) - log1p_square(xp, (x - self.location) / self.scale)

    def cdf(self, x: Any) -> Any:
        xp, x = arguments(x, self.location, self.scale)
        return xp.arctan2(1.0, (self.location - x) / self.scale) / np.pi

    def survival(self, x: Any) -> Any:
        xp, x = arguments(x, self.location, self.scale)
        return xp.arctan2(1.0, (x - self.location) / self.scale) / np.pi

    def quantile(self, q: Any) -> Any:
        xp, q = self._levels(q)
        return self.location + self.scale * _quantile(xp, q)

    def upper_quantile(self, q: Any) -> Any:
        xp, q = self._levels(q)
        return self.location - self.scale * _quantile(xp, q)

    def _draw(self, size: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        return self.location + self.scale * rng.standard_cauchy(size + self.batch_shape)

    @classmethod
    def fit(cls, x: Any, weights: Any = None, prior: Any = None) -> Self:
        """The local maximum of the likelihood (times `prior`, a dict of families) nearest the median and the
        quartiles; the likelihood of a few points can have others."""
        x, w = observations("Cauchy", x, weights, REAL)
        scale = 0.5 * (weighted_quantile(x, w, 0.75) - weighted_quantile(x, w, 0.25))
        if scale <= 0.0:
            raise DataError("Cauchy.fit: half of the observations are equal, so the scale would be 0.", value=scale)
        return posterior_mode(cls(weighted_quantile(x, w, 0.5), scale), x, w, prior)

    @classmethod
    def from_moments(cls, mean: Any, sd: Any) -> Self:
        raise UnavailableError("A Cauchy has no mean and no sd.", remedy="Use its quartiles, location ± scale.")


def _quantile(xp: Any, q: Any) -> Any:
    """−1/tan πq from the nearer end, where q keeps its digits; ∓∞ at the ends."""
    tail = xp.minimum(q, 1.0 - q)
    size = 1.0 / xp.tan(np.pi * xp.where(tail > 0, tail, 0.5))
    return xp.where(q == 0.5, 0.0, xp.sign(q - 0.5) * xp.where(tail == 0, xp.inf, xp.where(tail > 0, size, xp.nan)))[()]
