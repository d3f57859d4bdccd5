"""Log-likelihood of the rows: every duel, tie and grade is the probability of an interval, every rating a density.

    ℓ = log [F(b) − F(a)],   a = low − κ η,  b = high − κ η        F Normal or logistic
    ℓ = log N(low; κ η, 1)                                         ratings, in units of their noise

All are concave in η.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special

from credo.distributions.likelihoods import Likelihood
from credo.distributions.likelihoods.interval import log_normal_interval, normal_interval_slopes
from credo.models.preference.outcomes import GRADE, RATING, TIE, WIN, Outcomes
from credo.models.preference.scales import Scales

__all__ = ["RowTerms", "row_terms"]

HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))


@dataclass(frozen=True, eq=False)
class RowTerms(Likelihood):
    """The terms of r rows, as a `Likelihood` whose outcomes are row numbers.

    low, high, kappa (r,) : see the module; level (r,) : added to ℓ; point (r,) : whether the row is a rating
    logistic : whether F is
    """

    low: np.ndarray
    high: np.ndarray
    kappa: np.ndarray
    level: np.ndarray
    point: np.ndarray
    logistic: bool

    kind = "class"

    def check(self, y: Any) -> np.ndarray:
        return np.asarray(y)

    def initial_eta(self, y: Any) -> np.ndarray:
        """The middle of the interval, or one unit inside its only end."""
        low, high = self.low[np.asarray(y, dtype=np.intp)], self.high[np.asarray(y, dtype=np.intp)]
        middle = np.where(np.isfinite(low), np.where(np.isfinite(high), 0.5 * (low + high), low + 1.0), high - 1.0)
        return middle / self.kappa[np.asarray(y, dtype=np.intp)]

    def _log_prob(self, y: Any, eta: Any, *natural: Any) -> Any:
        rows = np.broadcast_to(np.asarray(y, dtype=np.intp), np.shape(eta))
        low, high, kappa = self.low[rows], self.high[rows], self.kappa[rows]
        a, b = low - kappa * eta, high - kappa * eta
        point = self.point[rows]
        b = np.where(point, np.inf, b)
        value = log_logistic_interval(a, b) if self.logistic else log_normal_interval(a, b)
        return np.where(point, -0.5 * a * a - HALF_LOG_2PI, value) + self.level[rows]

    def _derivatives(self, y: Any, eta: np.ndarray, order: int, *natural: Any) -> tuple[Any, ...]:
        low, high, kappa, point = self.low[y], self.high[y], self.kappa[y], self.point[y]
        a = low - kappa * eta
        b = np.where(point, np.inf, high - kappa * eta)
        slopes = logistic_interval_slopes(a, b) if self.logistic else normal_interval_slopes(a, b)[:3]
        first = kappa * np.where(point, a, -slopes[0])
        second = kappa**2 * np.where(point, -1.0, slopes[1])
        return first, second, kappa**3 * np.where(point, 0.0, -slopes[2])

    def tilted_moments(
        self, y: Any, m: Any, v: Any, psi: Any = None, power: Any = 1.0
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """In closed form (power 1) but for logistic intervals: a Normal η only widens the noise, to √(1 + κ² v)."""
        log_z, mean, variance = self._closed(y, m, v)
        numeric = np.flatnonzero(~self.point[y]) if self.logistic else np.zeros(0, dtype=int)
        if numeric.size:
            found = super().tilted_moments(y[numeric], m[numeric], v[numeric], psi, power)
            log_z[numeric], mean[numeric], variance[numeric] = found
        return log_z, mean, variance

    def _closed(self, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        kappa, point = self.kappa[y], self.point[y]
        s = np.sqrt(1.0 + kappa**2 * v)
        a = (self.low[y] - kappa * m) / s
        b = np.where(point, np.inf, (self.high[y] - kappa * m) / s)
        first, second, _, _ = normal_interval_slopes(a, b)
        first, second = np.where(point, -a, first), np.where(point, -1.0, second)
        log_z = np.where(point, -0.5 * a * a - HALF_LOG_2PI - np.log(s), log_normal_interval(a, b)) + self.level[y]
        share = kappa * v / s
        return log_z, m - share * first, v + share**2 * second


def row_terms(outcomes: Outcomes, scales: Scales) -> RowTerms:
    """The terms of these outcomes at given scales."""
    r = outcomes.kind.size
    low, high, kappa, level = np.zeros(r), np.full(r, np.inf), np.full(r, scales.duel), np.zeros(r)
    kind, t = outcomes.kind, scales.duel * scales.threshold
    low[kind == WIN] = t
    low[kind == TIE], high[kind == TIE] = -t, t
    grades, ratings = kind == GRADE, kind == RATING
    if scales.cutpoints is not None:
        edges = np.concatenate([[-np.inf], scales.cutpoints, [np.inf]])
        code = outcomes.value[grades].astype(np.intp)
        low[grades], high[grades], kappa[grades] = edges[code], edges[code + 1], scales.grade_slope
    if scales.ratings is not None:
        offset, slope, noise = scales.ratings
        low[ratings] = (outcomes.value[ratings] - offset) / noise
        kappa[ratings], level[ratings] = slope / noise, -np.log(noise)
    return RowTerms(low, high, kappa, level, ratings, scales.link == "logit")


def log_logistic_interval(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """log [F(b) − F(a)], F logistic: −log(1 + e^−b) − log(1 + e^a) + log(1 − e^{a−b})."""
    return -np.logaddexp(0.0, -b) - np.logaddexp(0.0, a) + np.log(-np.expm1(a - b))


def logistic_interval_slopes(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Three derivatives of `log_logistic_interval` in a common shift of a and b."""
    fa, ga, fb, gb = (scipy.special.expit(x) for x in (a, -a, b, -b))
    pa, pb = fa * ga, fb * gb
    return gb - fa, -pb - pa, -pb * (gb - fb) - pa * (ga - fa)
