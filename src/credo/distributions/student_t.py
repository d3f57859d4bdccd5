"""Student's t: log p(x) = log Γ((ν+1)/2) − log Γ(ν/2) − ½ log πν − log σ − (ν+1)/2 log(1 + z²/ν), z = (x − μ)/σ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy

from credo.distributions.base import FINITE, POSITIVE_VALUE, Constraint, observations
from credo.distributions.fitting import posterior_mode, weighted_quantile
from credo.distributions.normal import LOG_2PI, Normal
from credo.distributions.scalar import ScalarFamily, arguments
from credo.distributions.stirling import betaincc, log_minus_digamma, stirling_error
from credo.distributions.support import REAL, Support
from credo.errors import DataError, ParameterError
from credo.numerics.namespace import namespace

__all__ = ["StudentT"]


@dataclass(frozen=True, eq=False)
class StudentT(ScalarFamily):
    """Student's t with `df` ν degrees of freedom, centre `mean` μ and `scale` σ.

    Parameters
    ----------
    df : ν > 0; 1 is the Cauchy, ν → ∞ the Normal
    mean : real; the centre and median always, the expectation for ν > 1 only
    scale : σ > 0, not the standard deviation: the variance is σ² ν/(ν − 2), ∞ for 1 < ν ≤ 2, undefined (NaN) for ν ≤ 1

    Examples
    --------
    >>> import credo as cr
    >>> cr.StudentT(4, 0, 1).interval(0.95)[1].round(4).item()
    2.7764

    References
    ----------
    Johnson, Kotz and Balakrishnan (1995), Continuous Univariate Distributions, vol. 2, ch. 28.
    """

    df: Any
    mean: Any = 0.0
    scale: Any = 1.0

    domain: ClassVar[dict[str, Constraint]] = {"df": POSITIVE_VALUE, "mean": FINITE, "scale": POSITIVE_VALUE}
    learnable: ClassVar[tuple[str, ...]] = ("scale",)

    @property
    def support(self) -> Support:
        return REAL

    @property
    def variance(self) -> Any:
        """σ² ν/(ν − 2) for ν > 2, ∞ for 1 < ν ≤ 2, NaN for ν ≤ 1."""
        df = np.asarray(self.df, dtype=np.float64)
        ratio = df / np.where(df > 2, df - 2.0, 1.0)
        return self._whole(np.square(self.scale) * np.where(df > 2, ratio, np.where(df > 1, np.inf, np.nan)))

    @property
    def entropy(self) -> Any:
        """(ν+1)/2 [ψ((ν+1)/2) − ψ(ν/2)] − log Γ((ν+1)/2) + log Γ(ν/2) + ½ log πν + log σ, in nats."""
        xp = namespace(0.0)
        half = 0.5 * np.asarray(self.df, dtype=np.float64)
        slope = np.log1p(0.5 / half) + log_minus_digamma(xp, half) - log_minus_digamma(xp, half + 0.5)
        return self._whole((half + 0.5) * slope - _log_constant(xp, half) + np.log(self.scale))

    def log_prob(self, x: Any) -> Any:
        xp, x = arguments(x, self.df, self.mean, self.scale)
        z = (x - self.mean) / self.scale
        half = 0.5 * xp.asarray(self.df)
        kernel = (half + 0.5) * log1p_square(xp, z / xp.sqrt(2.0 * half))
        return _log_constant(xp, half) - xp.log(self.scale) - kernel

    def cdf(self, x: Any) -> Any:
        xp, x = arguments(x, self.df, self.mean, self.scale)
        return _cdf(xp, (x - self.mean) / self.scale, self.df)

    def survival(self, x: Any) -> Any:
        xp, x = arguments(x, self.df, self.mean, self.scale)
        return _cdf(xp, (self.mean - x) / self.scale, self.df)

    def quantile(self, q: Any) -> Any:
        _, q = self._levels(q)
        return self.mean + self.scale * _quantile(q, self.df)

    def upper_quantile(self, q: Any) -> Any:
        _, q = self._levels(q)
        return self.mean - self.scale * _quantile(q, self.df)

    def _draw(self, size: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        return self.mean + self.scale * rng.standard_t(self.df, size + self.batch_shape)

    @classmethod
    def fit(cls, x: Any, weights: Any = None, prior: Any = None, *, df: float | None = None) -> Self:
        """MLE, or the mode under a dict of families for "df", "mean" and "scale"; `df` fixes the degrees of freedom.

        Numerical, from the median. Raises `DataError` where the likelihood rises towards ν = ∞, the Normal.
        """
        x, w = observations("StudentT", x, weights, REAL)
        centre = weighted_quantile(x, w, 0.5)
        spread = 0.5 * (weighted_quantile(x, w, 0.75) - weighted_quantile(x, w, 0.25))
        spread = spread or float(w @ np.abs(x - centre) / w.sum())
        if spread <= 0.0:
            raise DataError("StudentT.fit: all observations are equal.", value=centre)
        free = ("df", "mean", "scale") if df is None else ("mean", "scale")
        found = posterior_mode(cls(4.0 if df is None else df, centre, spread), x, w, prior, free)
        if prior is None and df is None:
            at_infinity = float(w @ Normal.fit(x, w).log_prob(x))
            if not float(w @ found.log_prob(x)) > at_infinity + 1e-9 * abs(at_infinity):
                raise DataError(
                    "StudentT.fit: the tails are no heavier than a Normal's, and the likelihood rises as df goes to ∞.",
                    value=found,
                    remedy="Use Normal, fix df=, or give a prior on df.",
                )
        return found

    @classmethod
    def from_moments(cls, mean: Any, sd: Any, df: Any = None) -> Self:
        """scale = sd √((ν − 2)/ν); `df` > 2 must be given, two moments do not determine it."""
        if df is None or np.any(np.asarray(df) <= 2):
            raise ParameterError("StudentT.from_moments", "df", "given, and > 2 for the sd to exist", df)
        return cls(df, mean, sd * np.sqrt((np.asarray(df) - 2.0) / df))


def log1p_square(xp: Any, y: Any) -> Any:
    """log(1 + y²), without overflow of y²."""
    size = xp.abs(y)
    near = xp.minimum(size, 1.0)
    return xp.where(size < 1.0, xp.log1p(near * near), 2.0 * xp.log(xp.hypot(1.0, xp.maximum(size, 1.0))))[()]


def _log_constant(xp: Any, half: Any) -> Any:
    """log Γ(h + ½) − log Γ(h) − ½ log 2πh, h = ν/2: small, where the gamma functions cancel."""
    small = half * xp.log1p(0.5 / half) - 0.5 + stirling_error(xp, half + 0.5) - stirling_error(xp, half)
    return small - 0.5 * LOG_2PI


def _cdf(xp: Any, z: Any, df: Any) -> Any:
    """½ ± ½ I(y; ½, ν/2) at the centre, its complement in the tails; y = z²/(ν + z²), or 1 − y once y nears 1."""
    ratio, half = xp.abs(z) / xp.sqrt(xp.asarray(df) * 1.0), 0.5 * xp.asarray(df)
    near, far = xp.minimum(ratio, 1.0) ** 2, (1.0 / xp.maximum(ratio, 1.0)) ** 2
    y, w = near / (1.0 + near), far / (1.0 + far)
    tail = 0.5 * xp.where(ratio < 1.0, betaincc(xp, 0.5, half, y), xp.special.betainc(half, 0.5, w))
    centre = 0.5 + 0.5 * xp.sign(z) * xp.special.betainc(0.5, half, y)
    return xp.where(xp.abs(z) < 0.5, centre, xp.where(z < 0, tail, 1.0 - tail))[()]


def _quantile(q: Any, df: Any) -> Any:
    """NumPy only: JAX has no inverse of the incomplete beta function.

    In the far tail, where the inverse gives up, I(w; a, ½) = wᵃ/(a B(a, ½)) (1 + O(w)) with w = ν/(ν + t²), a = ν/2.
    """
    a, tail = 0.5 * np.asarray(df, dtype=np.float64), np.minimum(q, 1.0 - q)
    log_w = (scipy.special.xlogy(1.0, 2.0 * tail) + np.log(a) + scipy.special.betaln(a, 0.5)) / a
    with np.errstate(over="ignore"):
        far = -np.sqrt(df) * np.exp(np.where(log_w < -40.0, -0.5 * log_w, 0.0))  # 40: w is below rounding
    t = np.where(log_w < -40.0, far, scipy.special.stdtrit(df, tail))
    # SciPy's inverse loses |t| < 1e-6 altogether: one Newton step where the cdf is a safe guide
    standard, xp = StudentT(df), namespace(0.0)
    centre = np.where(tail > 0.25, t, 0.0)
    correction = (_cdf(xp, centre, df) - tail) / np.exp(standard.log_prob(centre))
    return (np.where(q < 0.5, 1.0, -1.0) * np.where(tail > 0.25, centre - correction, t))[()]
