"""Is a sample uniform? Its empirical cdf against a band that uniform values leave with a stated probability.

At K points z the count of values ≤ z is Binomial(n, z); the band joins pointwise binomial intervals of one
level, chosen so that all K hold at once with probability `mass`. Counts at successive points form a Markov
chain with binomial steps, which gives that probability exactly.

Reference: Säilynoja, Bürkner and Vehtari, Statistics and Computing 32:32 (2022).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from credo.diagnostics.binomial import binomial_cdf, binomial_quantile
from credo.errors import DataError, ParameterError

__all__ = ["Envelope", "uniform_envelope"]

# Points at which the cdf is looked at; more would raise the cost K n for features finer than 1 %.
MAX_POINTS = 100
# Above this many values the pointwise level of 3,000 is used; the band then holds with 0.945 where 0.95 was asked.
MAX_EXACT = 3_000
# Below this pointwise level 1 − P(inside) is rounding, and its band wide enough to take seconds; the sum of the tails
# bounds it from above and is nearly it.
BONFERRONI = 1e-10


@dataclass(frozen=True)
class Envelope:
    """Empirical cdf at points, with its simultaneous band under uniformity.

    points, ecdf, lower, upper : (K,)
    mass : simultaneous probability of the band
    n : values
    """

    points: np.ndarray
    ecdf: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    mass: float
    n: int

    @property
    def inside(self) -> bool:
        return bool(np.all((self.ecdf >= self.lower) & (self.ecdf <= self.upper)))

    @property
    def departure(self) -> str:
        """Where the values gather, if they leave the band: "low", "high", "ends", "middle"; "" if they do not.

        Told by the gap of the cdf, its mean against its slope about the middle.
        """
        if self.inside:
            return ""
        gap = self.ecdf - self.points
        mean, tilt = float(gap.mean()), float(np.mean(gap * np.sign(0.5 - self.points)))
        if abs(mean) > abs(tilt):
            return "low" if mean > 0 else "high"
        return "ends" if tilt > 0 else "middle"

    @functools.cached_property
    def p_value(self) -> float:
        """Probability that uniform values stray as far somewhere, in pointwise level. Cost as the band's."""
        counts = np.round(self.ecdf * self.n)
        # P(≥ k) = P(Binomial(n, 1 − z) ≤ n − k)
        below = binomial_cdf(counts, self.n, self.points)
        above = binomial_cdf(self.n - counts, self.n, 1.0 - self.points)
        level = float(np.min(np.minimum(below, above)))
        if level < BONFERRONI:
            return min(1.0, 2.0 * len(self.points) * level)
        # Values stray less when they stay inside the band of a level just above the one observed.
        return float(np.clip(1.0 - _inside_probability(min(self.n, MAX_EXACT), level * (1.0 + 1e-9)), 0.0, 1.0))


def uniform_envelope(values: np.ndarray, mass: float = 0.95) -> Envelope:
    """Test n values in [0, 1] for uniformity. 0.6 s the first time for n ≥ 3,000; cached by (n, mass).

    >>> uniform_envelope((np.arange(200) + 0.5) / 200).inside
    True
    """
    values = np.asarray(values, dtype=np.float64).ravel()
    if values.size == 0 or not np.all((values >= 0) & (values <= 1)):
        raise DataError("uniform_envelope needs values between 0 and 1.", value=values)
    if not 0.0 < mass < 1.0:
        raise ParameterError("uniform_envelope", "mass", "between 0 and 1 (exclusive)", mass)
    n = values.size
    points = _points(n)
    counts = np.searchsorted(np.sort(values), points, side="right").astype(np.float64)
    level = _pointwise_level(min(n, MAX_EXACT), mass)
    lower, upper = _band(n, points, level)
    return Envelope(points, counts / n, lower / n, upper / n, mass, n)


def _points(n: int) -> np.ndarray:
    k = min(max(n, 2), MAX_POINTS)
    return np.arange(1, k) / k


def _band(n: int, points: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Smallest and largest counts whose tail probabilities P(≤ k), P(≥ k) are both at least `level`."""
    return binomial_quantile(level, n, points), n - binomial_quantile(level, n, 1.0 - points)


def _inside_probability(n: int, level: float) -> float:
    """P(the counts of n uniform values stay within the band of this pointwise level at every point)."""
    points, log_factorial = _points(n), gammaln(np.arange(n + 1.0) + 1.0)
    states, chance, before = np.zeros(1, dtype=np.intp), np.ones(1), 0.0
    for z, low, high in zip(points, *_band(n, points, level)):
        arrived = np.arange(int(low), int(high) + 1)
        # Of the n − s values still to come each falls in (before, z] with probability p.
        p = (z - before) / (1.0 - before)
        k, left = arrived[:, None] - states, n - states
        possible = (k >= 0) & (k <= left)
        k = np.where(possible, k, 0)
        log_pmf = log_factorial[left] - log_factorial[k] - log_factorial[left - k] + k * np.log(p)
        step = np.where(possible, np.exp(log_pmf + (left - k) * np.log1p(-p)), 0.0)
        states, chance, before = arrived, step @ chance, z
    return float(chance.sum())


@functools.lru_cache(maxsize=256)
def _pointwise_level(n: int, mass: float) -> float:
    """Largest pointwise level whose band holds with at least `mass`; bisection on its logarithm to 1 %."""
    low, high = np.log(1e-12), np.log(0.5 * (1.0 - mass))
    while high - low > 0.01:
        middle = 0.5 * (low + high)
        if _inside_probability(n, float(np.exp(middle))) >= mass:
            low = middle
        else:
            high = middle
    return float(np.exp(low))
