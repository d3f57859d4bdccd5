"""Pareto: log p(x) = log a + a log s − (a + 1) log x, x ≥ s."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from credo.distributions.base import POSITIVE_VALUE, Constraint, observations
from credo.distributions.fitting import posterior_mode
from credo.distributions.gamma import check_positive_moments
from credo.distributions.scalar import ScalarFamily, arguments, within
from credo.distributions.support import POSITIVE, Support
from credo.errors import DataError

__all__ = ["Pareto"]


@dataclass(frozen=True, eq=False)
class Pareto(ScalarFamily):
    """Pareto (type I) distribution above its scale.

    Parameters
    ----------
    shape : a > 0; P(X > x) = (s/x)ᵃ. The mean is ∞ for a ≤ 1, the variance for a ≤ 2
    scale : s > 0, the smallest value

    Examples
    --------
    >>> import credo as cr
    >>> cr.Pareto(3, 2).mean.item()
    3.0

    References
    ----------
    Johnson, Kotz and Balakrishnan (1994), Continuous Univariate Distributions, vol. 1, ch. 20.
    """

    shape: Any
    scale: Any = 1.0

    domain: ClassVar[dict[str, Constraint]] = {"shape": POSITIVE_VALUE, "scale": POSITIVE_VALUE}

    @property
    def support(self) -> Support:
        return Support("real", self.scale, np.inf)

    @property
    def mean(self) -> Any:
        """s a/(a − 1), ∞ for a ≤ 1."""
        a = np.asarray(self.shape, dtype=np.float64)
        return self._whole(np.where(a > 1, self.scale * a / np.where(a > 1, a - 1.0, 1.0), np.inf))

    @property
    def variance(self) -> Any:
        """s² a/((a − 1)²(a − 2)), ∞ for a ≤ 2."""
        return self._whole(tail_variance(self.shape, self.scale))

    @property
    def entropy(self) -> Any:
        """log(s/a) + 1 + 1/a, in nats."""
        return self._whole(np.log(np.divide(self.scale, self.shape)) + 1.0 + np.divide(1.0, self.shape))

    def log_prob(self, x: Any) -> Any:
        xp, x = arguments(x, self.shape, self.scale)
        inside = (x >= self.scale) & (x < xp.inf)
        t = xp.where(inside, x, self.scale)
        return within(xp, x, inside, xp.log(self.shape) - xp.log(t) - self.shape * self._log_ratio(xp, t))

    def _log_ratio(self, xp: Any, x: Any) -> Any:
        """log(x/s), accurate at x ≈ s; 0 below s."""
        return xp.log1p(xp.maximum(x - self.scale, 0.0) / self.scale)

    def cdf(self, x: Any) -> Any:
        xp, x = arguments(x, self.shape, self.scale)
        return -xp.expm1(-self.shape * self._log_ratio(xp, x))

    def survival(self, x: Any) -> Any:
        xp, x = arguments(x, self.shape, self.scale)
        return xp.exp(-self.shape * self._log_ratio(xp, x))

    def quantile(self, q: Any) -> Any:
        xp, q = self._levels(q)
        with np.errstate(over="ignore"):
            return self.scale * xp.exp(-xp.special.xlog1py(1.0 / np.asarray(self.shape), -q))

    def upper_quantile(self, q: Any) -> Any:
        xp, q = self._levels(q)
        with np.errstate(over="ignore"):
            return self.scale * xp.exp(-xp.special.xlogy(1.0 / np.asarray(self.shape), q))

    def _draw(self, size: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        return self.scale * np.exp(rng.standard_exponential(size + self.batch_shape) / self.shape)

    @classmethod
    def fit(cls, x: Any, weights: Any = None, prior: Any = None) -> Self:
        """MLE: the smallest observation, and n/Σ log(x/min). A prior may be on "shape" only: `scale` sits at its bound,
        where only a flat prior leaves it."""
        x, w = observations("Pareto", x, weights, POSITIVE)
        x, w = x[w > 0], w[w > 0]
        scale = x.min()
        total = w @ np.log1p((x - scale) / scale) if scale > 0 else 0.0
        if total <= 0:
            raise DataError(
                "Pareto.fit: the observations must be > 0 and not all equal; the likelihood has no maximum.",
                value=scale,
            )
        return posterior_mode(cls(w.sum() / total, scale), x, w, prior, ("shape",), exact=True)

    @classmethod
    def from_moments(cls, mean: Any, sd: Any) -> Self:
        """shape = 1 + √(1 + mean²/sd²), scale = mean (shape − 1)/shape."""
        check_positive_moments("Pareto", mean, sd)
        root = np.hypot(1.0, np.divide(mean, sd))
        return cls(1.0 + root, mean * root / (1.0 + root))


def tail_variance(shape: Any, scale: Any) -> np.ndarray:
    """s² a/((a − 1)²(a − 2)) for a > 2, else ∞: of Pareto and Lomax, which differ by a shift."""
    a = np.asarray(shape, dtype=np.float64)
    b = np.where(a > 2, a, 3.0)
    return np.where(a > 2, np.square(scale / (b - 1.0)) * b / (b - 2.0), np.inf)
