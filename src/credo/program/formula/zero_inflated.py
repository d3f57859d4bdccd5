"""Poisson counts among more zeros: P(0) = π + (1 − π) e^−λ, P(k) = (1 − π) Poisson(k; λ)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import special

from credo.distributions import Poisson
from credo.distributions.base import NON_NEGATIVE_VALUE, PROBABILITY, Constraint
from credo.distributions.scalar import ScalarFamily
from credo.distributions.slopes import CLOSED_FORMS, unchecked
from credo.distributions.support import COUNTS, Support
from credo.saving import register

__all__ = ["ZeroInflatedPoisson"]


@register
@dataclass(frozen=True, eq=False)
class ZeroInflatedPoisson(ScalarFamily):
    """Counts that are 0 with probability π, and Poisson(λ) otherwise.

    Parameters
    ----------
    rate : λ ≥ 0
    zi : π, between 0 and 1

    Examples
    --------
    >>> law = ZeroInflatedPoisson(2.0, 0.25)
    >>> float(law.mean), float(np.exp(law.log_prob(np.arange(30.0))).sum().round(9))
    (1.5, 1.0)

    References
    ----------
    Lambert (1992), Zero-inflated Poisson regression, with an application to defects in manufacturing.
    """

    rate: Any
    zi: Any

    domain: ClassVar[dict[str, Constraint]] = {"rate": NON_NEGATIVE_VALUE, "zi": PROBABILITY}

    @property
    def support(self) -> Support:
        return COUNTS

    @property
    def _counts(self) -> Poisson:
        return unchecked(Poisson, {"rate": self.rate})

    @property
    def mean(self) -> Any:
        """(1 − π) λ."""
        return (1.0 - np.asarray(self.zi)) * self.rate

    @property
    def variance(self) -> Any:
        """(1 − π) λ (1 + π λ)."""
        return np.asarray(self.mean) * (1.0 + np.asarray(self.zi) * self.rate)

    def log_prob(self, x: Any) -> Any:
        x, zi = np.asarray(x, dtype=np.float64), np.asarray(self.zi, dtype=np.float64)
        with np.errstate(divide="ignore"):
            some = np.log1p(-zi) + self._counts.log_prob(x)
            return np.where(x == 0, np.logaddexp(np.log(zi), some), some)[()]

    def cdf(self, x: Any) -> Any:
        x = np.asarray(x, dtype=np.float64)
        return np.where(x < 0, 0.0, self.zi + (1.0 - np.asarray(self.zi)) * self._counts.cdf(x))[()]

    def survival(self, x: Any) -> Any:
        x = np.asarray(x, dtype=np.float64)
        return np.where(x < 0, 1.0, (1.0 - np.asarray(self.zi)) * self._counts.survival(x))[()]

    def quantile(self, q: Any) -> Any:
        """The smallest count with cdf ≥ q."""
        q, zi = np.asarray(q, dtype=np.float64), np.asarray(self.zi, dtype=np.float64)
        rest = np.clip((q - zi) / (1.0 - zi), 0.0, 1.0)
        return np.where(q <= zi, 0.0, self._counts.quantile(rest))[()]

    def upper_quantile(self, q: Any) -> Any:
        zi = np.asarray(self.zi, dtype=np.float64)
        return self._counts.upper_quantile(np.minimum(np.asarray(q, dtype=np.float64) / (1.0 - zi), 1.0))

    def _draw(self, size: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        shape = (*size, *self.batch_shape)
        counts = rng.poisson(np.broadcast_to(self.rate, shape))
        return np.where(rng.random(shape) < self.zi, 0, counts)


def _slopes(x: Any, rate: Any, zi: Any) -> dict[str, Any]:
    """∂ log p in λ and π; at 0 with q = e^−λ: −(1 − π) q/p₀ and (1 − q)/p₀, p₀ = π + (1 − π) q."""
    zero = np.asarray(x) == 0
    q = np.exp(-np.asarray(rate))
    p0 = zi + (1.0 - zi) * q
    return {
        "rate": lambda: np.where(zero, -(1.0 - zi) * q / p0, x / rate - 1.0),
        "zi": lambda: np.where(zero, special.expm1(-np.asarray(rate)) / -p0, -1.0 / (1.0 - zi)),
    }


CLOSED_FORMS.setdefault("ZeroInflatedPoisson", _slopes)
