"""Half-normal: log p(x) = ½ log(2/π) − log s − x²/(2s²), x ≥ 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy import special

from credo.distributions.base import POSITIVE_VALUE, Constraint, observations
from credo.distributions.fitting import posterior_mode
from credo.distributions.scalar import ScalarFamily, arguments, implied_sd, within
from credo.distributions.support import NON_NEGATIVE, Support
from credo.errors import DataError, ParameterError

__all__ = ["HalfNormal"]


@dataclass(frozen=True, eq=False)
class HalfNormal(ScalarFamily):
    """The size |z| of a Normal(0, scale): a weakly informative prior for a scale.

    Parameters
    ----------
    scale : s > 0, the sd of the Normal that is folded; mean s √(2/π), variance s² (1 − 2/π)

    Examples
    --------
    >>> import credo as cr
    >>> cr.HalfNormal(2).mean.round(4).item()
    1.5958
    """

    scale: Any = 1.0

    domain: ClassVar[dict[str, Constraint]] = {"scale": POSITIVE_VALUE}

    @property
    def support(self) -> Support:
        return NON_NEGATIVE

    @property
    def mean(self) -> Any:
        """s √(2/π)."""
        return self._whole(np.sqrt(2.0 / np.pi) * np.asarray(self.scale))

    @property
    def variance(self) -> Any:
        """s² (1 − 2/π)."""
        return self._whole((1.0 - 2.0 / np.pi) * np.square(self.scale))

    @property
    def entropy(self) -> Any:
        """½ + ½ log(π s²/2), in nats."""
        return self._whole(0.5 + 0.5 * np.log(0.5 * np.pi) + np.log(self.scale))

    def log_prob(self, x: Any) -> Any:
        xp, x = arguments(x, self.scale)
        z = x / self.scale
        return within(xp, x, x >= 0, 0.5 * np.log(2.0 / np.pi) - xp.log(self.scale) - 0.5 * z * z)

    def cdf(self, x: Any) -> Any:
        xp, x = arguments(x, self.scale)
        return xp.special.erf(xp.maximum(x, 0.0) / (np.sqrt(2.0) * self.scale))

    def survival(self, x: Any) -> Any:
        xp, x = arguments(x, self.scale)
        return xp.special.erfc(xp.maximum(x, 0.0) / (np.sqrt(2.0) * self.scale))

    def quantile(self, q: Any) -> Any:
        return np.sqrt(2.0) * self.scale * special.erfinv(self._levels(q)[1])

    def upper_quantile(self, q: Any) -> Any:
        return np.sqrt(2.0) * self.scale * special.erfcinv(self._levels(q)[1])

    def _draw(self, size: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        return np.abs(self.scale * rng.standard_normal(size + self.batch_shape))

    @classmethod
    def fit(cls, x: Any, weights: Any = None, prior: Any = None) -> Self:
        """MLE: the root mean square; with a family for "scale", the mode."""
        x, w = observations("HalfNormal", x, weights, NON_NEGATIVE)
        largest = x[w > 0].max()
        if largest <= 0:
            raise DataError("HalfNormal.fit: all observations are 0, so the scale would be 0.", value=0.0)
        scale = largest * np.sqrt(w @ np.square(x / largest) / w.sum())
        return posterior_mode(cls(scale), x, w, prior, exact=True)

    @classmethod
    def from_moments(cls, mean: Any, sd: Any = None) -> Self:
        """scale = mean √(π/2); an sd, if given, must equal mean √(π/2 − 1)."""
        if not np.all(np.asarray(mean) > 0):
            raise ParameterError("HalfNormal.from_moments", "mean", "> 0", mean)
        implied_sd("HalfNormal", sd, np.sqrt(np.pi / 2.0 - 1.0) * np.asarray(mean))
        return cls(np.sqrt(np.pi / 2.0) * np.asarray(mean)[()])
