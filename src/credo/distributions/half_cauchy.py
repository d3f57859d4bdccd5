"""Half-Cauchy: log p(x) = log 2/(πs) − log(1 + x²/s²), x ≥ 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from credo.distributions.base import POSITIVE_VALUE, Constraint, observations
from credo.distributions.fitting import posterior_mode, weighted_quantile
from credo.distributions.scalar import ScalarFamily, arguments, within
from credo.distributions.student_t import log1p_square
from credo.distributions.support import NON_NEGATIVE, Support
from credo.errors import DataError, UnavailableError

__all__ = ["HalfCauchy"]


@dataclass(frozen=True, eq=False)
class HalfCauchy(ScalarFamily):
    """The size |z| of a Cauchy(0, scale): a heavy-tailed prior for a scale; mean and variance are ∞.

    Parameters
    ----------
    scale : s > 0; the median

    Examples
    --------
    >>> import credo as cr
    >>> cr.HalfCauchy(5).median.round(9).item()
    5.0

    References
    ----------
    Gelman (2006), Prior distributions for variance parameters in hierarchical models.
    """

    scale: Any = 1.0

    domain: ClassVar[dict[str, Constraint]] = {"scale": POSITIVE_VALUE}

    @property
    def support(self) -> Support:
        return NON_NEGATIVE

    @property
    def mean(self) -> Any:
        """∞."""
        return self._whole(np.inf)

    @property
    def variance(self) -> Any:
        """∞."""
        return self._whole(np.inf)

    @property
    def entropy(self) -> Any:
        """log 2πs, in nats."""
        return self._whole(np.log(2.0 * np.pi * np.asarray(self.scale)))

    def log_prob(self, x: Any) -> Any:
        xp, x = arguments(x, self.scale)
        value = np.log(2.0 / np.pi) - xp.log(self.scale) - log1p_square(xp, x / self.scale)
        return within(xp, x, x >= 0, value)

    def cdf(self, x: Any) -> Any:
        xp, x = arguments(x, self.scale)
        return 2.0 / np.pi * xp.arctan(xp.maximum(x, 0.0) / self.scale)

    def survival(self, x: Any) -> Any:
        xp, x = arguments(x, self.scale)
        return 2.0 / np.pi * xp.arctan2(1.0, xp.maximum(x, 0.0) / self.scale)

    def quantile(self, q: Any) -> Any:
        xp, q = self._levels(q)
        return xp.where(q == 1, xp.inf, self.scale * xp.tan(0.5 * np.pi * q))[()]

    def upper_quantile(self, q: Any) -> Any:
        xp, q = self._levels(q)
        tangent = xp.tan(0.5 * np.pi * xp.where(q == 0, 1.0, q))
        return xp.where(q == 0, xp.inf, xp.where(q == 1, 0.0, self.scale / tangent))[()]

    def _draw(self, size: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        return np.abs(self.scale * rng.standard_cauchy(size + self.batch_shape))

    @classmethod
    def fit(cls, x: Any, weights: Any = None, prior: Any = None) -> Self:
        """MLE, or the mode with a family for "scale"; numerical, from the median (the likelihood is unimodal)."""
        x, w = observations("HalfCauchy", x, weights, NON_NEGATIVE)
        scale = weighted_quantile(x, w, 0.5)
        if scale <= 0:
            raise DataError("HalfCauchy.fit: half of the observations are 0, so the scale would be 0.", value=0.0)
        return posterior_mode(cls(scale), x, w, prior)

    @classmethod
    def from_moments(cls, mean: Any, sd: Any) -> Self:
        raise UnavailableError("A HalfCauchy has an infinite mean and sd.", remedy="Its scale is the median.")
