"""ElasticNet: log p(x) = −|x|/b − x²/(2s²) − log s√(2π) erfcx(s/(b√2))."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import special

from credo.distributions.base import POSITIVE_VALUE, Constraint
from credo.distributions.scalar import ScalarFamily, arguments
from credo.distributions.support import REAL, Support

__all__ = ["ElasticNet"]

LOG_SQRT_2PI = 0.5 * float(np.log(2.0 * np.pi))
# Levels of the continued fraction below: the moments' relative error is then < 1e-14 for s/b ≥ FRACTION_FROM.
FRACTION_TERMS = 80
FRACTION_FROM = 3.0


@dataclass(frozen=True, eq=False)
class ElasticNet(ScalarFamily):
    """The product of Laplace(0, b) and Normal(0, s): as a prior on coefficients, the elastic net.

    |x| is a Normal with mean −s²/b and sd s, given that it is positive. With noise σ² the penalty on ½‖y − Xw‖² is
    (σ²/b)‖w‖₁ + ½(σ²/s²)‖w‖².

    Parameters
    ----------
    laplace_scale : b > 0
    normal_sd : s > 0; s → ∞ is Laplace(0, b), b → ∞ is Normal(0, s)

    Examples
    --------
    >>> import credo as cr
    >>> cr.ElasticNet(1.0, 1.0).sd.round(4).item()
    0.6891

    References
    ----------
    Zou and Hastie (2005), JRSS B 67; Li and Lin (2010), The Bayesian elastic net, Bayesian Analysis 5.
    """

    laplace_scale: Any = 1.0
    normal_sd: Any = 1.0

    domain: ClassVar[dict[str, Constraint]] = {"laplace_scale": POSITIVE_VALUE, "normal_sd": POSITIVE_VALUE}

    @property
    def support(self) -> Support:
        return REAL

    @property
    def _bend(self) -> Any:
        """s/b: where the Laplace's slope meets the Normal's, in units of s."""
        return np.divide(self.normal_sd, self.laplace_scale)

    @property
    def _log_normaliser(self) -> Any:
        return np.log(self.normal_sd) + LOG_SQRT_2PI + np.log(special.erfcx(self._bend / np.sqrt(2.0)))

    @property
    def mean(self) -> Any:
        """0."""
        return self._whole(0.0)

    @property
    def variance(self) -> Any:
        """s² (1 − αh + α²), α = s/b and h the Normal's hazard at α."""
        first, second = _moments(np.asarray(self._bend, dtype=np.float64))
        return self._whole(np.square(self.normal_sd) * first * second)

    @property
    def entropy(self) -> Any:
        """E|x|/b + E x²/(2s²) + log of the normaliser, in nats."""
        first, second = _moments(np.asarray(self._bend, dtype=np.float64))
        return self._whole(self._bend * first + 0.5 * first * second + self._log_normaliser)

    def log_prob(self, x: Any) -> Any:
        xp, x = arguments(x, self.laplace_scale, self.normal_sd)
        return -xp.abs(x) / self.laplace_scale - 0.5 * xp.square(x / self.normal_sd) - self._log_normaliser

    def _tail(self, x: Any) -> Any:
        """P(X > x) for x ≥ 0: ½ Φ(−x/s − α)/Φ(−α)."""
        with np.errstate(over="ignore", invalid="ignore"):
            z = x / self.normal_sd
            fall = np.exp(-z * (0.5 * z + self._bend))
            ratio = special.erfcx((z + self._bend) / np.sqrt(2.0)) / special.erfcx(self._bend / np.sqrt(2.0))
            return 0.5 * np.where(np.isinf(z), np.where(np.isnan(z), z, 0.0), fall * ratio)

    def cdf(self, x: Any) -> Any:
        x = np.asarray(x, dtype=np.float64)
        tail = self._tail(np.abs(x))
        return np.where(x <= 0, tail, 1.0 - tail)[()]

    def survival(self, x: Any) -> Any:
        return self.cdf(np.negative(x))

    def _reach(self, tail: Any) -> Any:
        """x ≥ 0 with P(X > x) = tail ≤ ½."""
        tail, bend = np.broadcast_arrays(np.asarray(tail, dtype=np.float64), self._bend)
        with np.errstate(divide="ignore"):
            log_level = np.log(2.0 * tail) + special.log_ndtr(-bend)
        z = -special.ndtri_exp(log_level) - bend
        # −α cancels where the Laplace rules: there the solution is polished on the tail itself, which keeps its digits
        for _ in range(4):
            with np.errstate(all="ignore"):
                upper = special.erfcx((z + bend) / np.sqrt(2.0))
                gap = np.log(upper / special.erfcx(bend / np.sqrt(2.0))) - z * (0.5 * z + bend) - np.log(2.0 * tail)
                z = np.where(np.isfinite(z), np.maximum(z + gap * upper * np.sqrt(0.5 * np.pi), 0.0), z)
        return z * self.normal_sd

    def quantile(self, q: Any) -> Any:
        _, q = self._levels(q)
        return (np.sign(np.subtract(q, 0.5)) * self._reach(np.minimum(q, np.subtract(1.0, q))))[()]

    def upper_quantile(self, q: Any) -> Any:
        return -self.quantile(q)

    def _draw(self, size: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        shape = size + self.batch_shape
        u = 1.0 - rng.random(shape)
        return np.where(rng.random(shape) < 0.5, -1.0, 1.0) * self._reach(0.5 * u)


def _moments(bend: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """J₁/J₀ and J₂/J₁ for J_k = ∫₀^∞ tᵏ exp(−αt − t²/2) dt.

    By parts, J_{k+1} + α J_k = k J_{k−1}: a continued fraction for large α, where the closed form cancels.
    """
    hazard = np.sqrt(2.0 / np.pi) / special.erfcx(bend / np.sqrt(2.0))
    near_first = hazard - bend
    near_second = (1.0 - bend * near_first) / np.where(near_first > 0.0, near_first, 1.0)
    tail = np.zeros_like(bend)
    ratio = tail
    far = np.maximum(bend, FRACTION_FROM)
    for k in range(FRACTION_TERMS, 0, -1):
        tail, ratio = ratio, k / (far + ratio)
    return np.where(bend < FRACTION_FROM, near_first, ratio), np.where(bend < FRACTION_FROM, near_second, tail)
