"""The best of independent arms, by quadrature: who it is, what stopping now would lose, how much could still be gained.

Notation: μ_k the unknown expected reward of arm k, with density f_k, distribution F_k and S_k = 1 − F_k; * the arm of
the highest posterior mean.

    P(k is best)       = ∫ f_k(x) Π_{j≠k} F_j(x) dx
    E max μ − E μ_*    = ∫ F_*(x) (1 − Π_{j≠*} F_j(x)) dx        a positive integrand: nothing cancels
    P(gain ≤ v)        = ∫ f_*(x) Π_{j≠*} F_j(x + v) dx          gain = max μ − μ_*; x (1 + v) where it is relative

Gauss–Legendre on panels as wide as the narrowest law there. A Beta is integrated over its log-odds t, where
its density xᵃ(1 − x)ᵇ/B is smooth whatever a and b, and both tails keep their digits; a Student-t over x, on panels
that grow in proportion to the distance, as its tails do.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from scipy import optimize, special

from credo.distributions.beta import Beta
from credo.distributions.student_t import StudentT
from credo.errors import NumericalError, ParameterError

__all__ = ["expected_loss", "gain_cdf", "gain_quantile", "probability_best"]

# Mass left out beyond the last panel of a law, below the rounding of what is summed.
TAIL = 1e-18
# Nodes of a panel: e^(±8) over one of them is then integrated to 1e-15.
ORDER = 16
# Probabilities that miss a sum of 1 by more were not resolved.
SUM_TOLERANCE = 1e-6


class _LogOdds:
    """Beta laws (K,) over t = log x/(1 − x)."""

    def __init__(self, law: Beta) -> None:
        a, b = np.broadcast_arrays(np.atleast_1d(law.a), np.atleast_1d(law.b))
        self.a, self.b = a[:, None].astype(float), b[:, None].astype(float)
        self.mean = np.atleast_1d(law.mean)

    def tails(self, t: np.ndarray, keep: slice | np.ndarray = slice(None)) -> tuple[np.ndarray, np.ndarray]:
        """F and S at t, (K, N), each with its own digits."""
        a, b = self.a[keep], self.b[keep]
        left = t <= 0.0
        small = special.expit(-np.abs(t))
        part = special.betainc(np.where(left, a, b), np.where(left, b, a), small)
        return np.where(left, part, 1.0 - part), np.where(left, 1.0 - part, part)

    def density(self, t: np.ndarray, k: int | slice = slice(None)) -> np.ndarray:
        """dF/dt."""
        a, b = self.a[k], self.b[k]
        return np.exp(a * special.log_expit(t) + b * special.log_expit(-t) - special.betaln(a, b))

    def slope(self, t: np.ndarray) -> np.ndarray:
        """dx/dt."""
        return special.expit(t) * special.expit(-t)

    def span(self) -> tuple[np.ndarray, np.ndarray]:
        """(K,) ends beyond which TAIL of the mass lies; 700 is where exp leaves the floats."""
        with np.errstate(divide="ignore"):
            low = special.logit(special.betaincinv(self.a, self.b, TAIL)[:, 0])
            high = -special.logit(special.betaincinv(self.b, self.a, TAIL)[:, 0])
        return np.fmax(low, -700.0), np.fmin(high, 700.0)

    def breaks(self) -> np.ndarray:
        """Panels of one sd about each centre, and of doubling width from 0, whose poles at ±iπ bind only there."""
        centre, sd = np.log(self.a / self.b), np.sqrt(1.0 / self.a + 1.0 / self.b)
        far = 2.0 ** np.arange(10)
        return np.concatenate([(centre + sd * np.arange(-9.0, 10.0)).ravel(), -far, [0.0], far])

    def shifted(self, t: np.ndarray, v: float, relative: bool, sign: int = 1) -> np.ndarray:
        """The log-odds of x (1 + v)^sign or x + sign · v, clipped to the ends."""
        x, y = special.expit(t), special.expit(-t)
        if relative:
            x, y = (x * (1.0 + v), y - x * v) if sign > 0 else (x / (1.0 + v), (y + v) / (1.0 + v))
        else:
            x, y = x + sign * v, y - sign * v
        with np.errstate(divide="ignore"):
            return np.log(np.maximum(x, 0.0)) - np.log(np.maximum(y, 0.0))


class _Real:
    """Student-t laws (K,) over x itself."""

    def __init__(self, law: StudentT) -> None:
        parts = np.broadcast_arrays(*(np.atleast_1d(v) for v in (law.df, law.mean, law.scale)))
        self.df, self.centre, self.scale = (part[:, None].astype(float) for part in parts)
        self.mean = self.centre[:, 0]

    def tails(self, t: np.ndarray, keep: slice | np.ndarray = slice(None)) -> tuple[np.ndarray, np.ndarray]:
        z = (t - self.centre[keep]) / self.scale[keep]
        part = special.stdtr(self.df[keep], -np.abs(z))
        return np.where(z <= 0.0, part, 1.0 - part), np.where(z <= 0.0, 1.0 - part, part)

    def density(self, t: np.ndarray, k: int | slice = slice(None)) -> np.ndarray:
        df, scale = self.df[k], self.scale[k]
        law = StudentT(df, self.centre[k], scale)
        return np.exp(law.log_prob(t))

    def slope(self, t: np.ndarray) -> np.ndarray:
        return np.ones_like(t)

    def _reach(self) -> np.ndarray:
        """(K,) in units of the scale; where df is barely above 1, far enough for the tail of the expectation too."""
        df = self.df[:, 0]
        with np.errstate(divide="ignore", over="ignore"):
            expectation = np.where(df > 1.0, 1e14 ** (1.0 / (df - 1.0)), 0.0)
        return np.minimum(np.maximum(-special.stdtrit(df, TAIL), np.where(df < 20.0, expectation, 0.0)), 1e150)

    def span(self) -> tuple[np.ndarray, np.ndarray]:
        reach = self._reach() * self.scale[:, 0]
        return self.mean - reach, self.mean + reach

    def breaks(self) -> np.ndarray:
        """Panels of one scale within 8 of the centre, then growing by half."""
        parts = []
        for centre, scale, reach in zip(self.mean, self.scale[:, 0], self._reach(), strict=True):
            steps = max(0, int(np.ceil(np.log(reach / 8.0) / np.log(1.5))))
            offsets = np.concatenate([np.arange(1.0, 9.0), 8.0 * 1.5 ** np.arange(1.0, steps + 1.0)])
            parts.append(centre + scale * np.concatenate([-offsets, [0.0], offsets]))
        return np.concatenate(parts)

    def shifted(self, t: np.ndarray, v: float, relative: bool, sign: int = 1) -> np.ndarray:
        return t + sign * v


def _axis(law: Beta | StudentT) -> _LogOdds | _Real:
    return _LogOdds(law) if isinstance(law, Beta) else _Real(law)


@lru_cache(maxsize=1)
def _legendre() -> tuple[np.ndarray, np.ndarray]:
    nodes, weights = np.polynomial.legendre.leggauss(ORDER)
    return 0.5 * (nodes + 1.0), 0.5 * weights


def _rule(breaks: np.ndarray, low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights (N,) of the composite rule on [low, high]."""
    inside = breaks[(breaks > low) & (breaks < high)]
    ends = np.unique(np.concatenate([[low], inside, [high]]))
    width = np.diff(ends)
    nodes, weights = _legendre()
    return (ends[:-1, None] + width[:, None] * nodes).ravel(), (width[:, None] * weights).ravel()


def _log_cdf(tails: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    below, above = tails
    floor = np.finfo(float).tiny  # a finite logarithm, so that an arm's own can be taken out of the sum
    return np.where(above < 0.5, np.log1p(-np.minimum(above, 0.5)), np.log(np.maximum(below, floor)))


def probability_best(law: Beta | StudentT) -> np.ndarray:
    """P(μ_k is the largest) of independent arms, (K,), summing to 1.

    Error below 1e-10 (tests/design/bandits). Cost: K² · 500 evaluations of a distribution function.

    >>> probability_best(Beta([2.0, 1.0], [1.0, 1.0])).round(6).tolist()    # 2/3: E x for x ~ Beta(2, 1)
    [0.666667, 0.333333]
    """
    axis = _axis(law)
    if axis.mean.size == 1:
        return np.ones(1)
    low, high = axis.span()
    t, w = _rule(axis.breaks(), float(low.max()), float(high.max()))
    logs = _log_cdf(axis.tails(t))
    p = (axis.density(t) * np.exp(logs.sum(axis=0) - logs)) @ w
    if not abs(p.sum() - 1.0) < SUM_TOLERANCE:
        raise NumericalError(
            f"probability_best: the probabilities sum to {p.sum():.9g}, not 1.",
            value=law,
            remedy="A law this wide is not resolved: state a prior worth more observations.",
        )
    return p / p.sum()


def expected_loss(law: Beta | StudentT) -> float:
    """E max_k μ_k − max_k E μ_k ≥ 0: what keeping the arm of the highest mean from now on is expected to lose.

    ∞ where a Student-t has df ≤ 1 and so no expectation.

    >>> expected_loss(Beta([1.0, 1.0], [1.0, 1.0]))    # E max of two uniforms is 2/3
    0.1666666666...
    """
    axis = _axis(law)
    if axis.mean.size == 1:
        return 0.0
    if isinstance(axis, _Real) and np.any(axis.df <= 1.0):
        return float("inf")
    best = int(np.argmax(axis.mean))
    low, high = axis.span()
    t, w = _rule(axis.breaks(), float(low[best]), float(high.max()))
    tails = axis.tails(t)
    others = np.delete(_log_cdf(tails), best, axis=0).sum(axis=0)
    return float((tails[0][best] * -np.expm1(others) * axis.slope(t)) @ w)


def gain_cdf(law: Beta | StudentT, v: float, *, relative: bool = False) -> float:
    """P(max_k μ_k − μ_* ≤ v), or where `relative` P(max_k μ_k ≤ (1 + v) μ_*), for v ≥ 0 and * of the highest mean.

    Only rewards that cannot be negative (Beta laws) have a relative gain.

    >>> gain_cdf(Beta([1.0, 1.0], [1.0, 1.0]), 0.5)    # 1 − ½ · ½²
    0.875
    """
    axis = _axis(law)
    if relative and isinstance(axis, _Real):
        raise ParameterError("gain_cdf", "relative", "False for laws on the real line", relative)
    if axis.mean.size == 1:
        return 1.0
    best = int(np.argmax(axis.mean))
    low, high = axis.span()
    others = np.flatnonzero(np.arange(axis.mean.size) != best)
    breaks = axis.breaks()
    breaks = np.concatenate([breaks, axis.shifted(breaks, v, relative, -1)])
    t, w = _rule(breaks[np.isfinite(breaks)], float(low[best]), float(high[best]))
    logs = _log_cdf(axis.tails(axis.shifted(t, v, relative), others)).sum(axis=0)
    return float(np.clip((axis.density(t, slice(best, best + 1))[0] * np.exp(logs)) @ w, 0.0, 1.0))


def gain_quantile(law: Beta | StudentT, mass: float, *, relative: bool = False) -> float:
    """The v with P(gain ≤ v) = `mass`; 0 where the best arm is best with at least that probability.

    >>> round(gain_quantile(Beta([1.0, 1.0], [1.0, 1.0]), 0.875), 9)
    0.5
    """
    if gain_cdf(law, 0.0, relative=relative) >= mass:
        return 0.0
    high = 1e-6
    while gain_cdf(law, high, relative=relative) < mass:
        high *= 4.0
        if high > 1e150:
            raise NumericalError("gain_quantile: no finite gain has this probability.", value=mass)
    low = 0.0 if high == 1e-6 else high / 4.0
    tolerances: Any = {"xtol": 1e-14, "rtol": 1e-10}
    root: Any = optimize.brentq(lambda v: gain_cdf(law, v, relative=relative) - mass, low, high, **tolerances)
    return float(root)
