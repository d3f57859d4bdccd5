"""How many bins of equal width: Freedman–Diaconis, Scott, Knuth."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln

from credo.errors import DataWarning, warn
from credo.models.density.ties import spread_ties

__all__ = ["RULES", "edges_by_rule"]

RULES = ("fd", "scott", "knuth", "blocks")

# More bins than a rule may ask for: a far outlier stretches the range, and the bins with it.
MOST_BINS = 10_000
# Knuth's posterior is computed for every number of bins up to four times Freedman and Diaconis', at least 200 and at
# most this.
_MOST_KNUTH, _LEAST_KNUTH = 2000, 200


def edges_by_rule(rule: str, x: np.ndarray, w: np.ndarray, column: str) -> np.ndarray:
    """Edges (k + 1,) of equal bins over the range of x (n,), with counts w (n,)."""
    if x.min() == x.max():
        return one_bin(float(x[0]))
    if rule == "knuth":
        x = spread_ties(x, w)
    k = _knuth(x, w, column) if rule == "knuth" else _bins_of_width(_width(rule, x, w), x, column, rule)
    return np.linspace(float(x.min()), float(x.max()), k + 1)


def one_bin(value: float) -> np.ndarray:
    """A bin about a single value: ±½, or ±1 % where that is more, so that its edges differ from it."""
    room = max(0.5, 0.01 * abs(value))
    return np.array([value - room, value + room])


def _width(rule: str, x: np.ndarray, w: np.ndarray) -> float:
    """Freedman and Diaconis (1981): 2 IQR n^(−1/3), or Scott's where the IQR is 0. Scott (1979): 3.49 sd n^(−1/3)."""
    n = float(w.sum())
    if rule == "fd":
        quartiles = np.quantile(x, [0.25, 0.75], weights=w, method="inverted_cdf")
        if quartiles[1] > quartiles[0]:
            return float(2.0 * (quartiles[1] - quartiles[0]) * n ** (-1.0 / 3.0))
    mean = np.average(x, weights=w)
    return float((24.0 * math.sqrt(math.pi) / n) ** (1.0 / 3.0) * np.sqrt(np.average(np.square(x - mean), weights=w)))


def _bins_of_width(width: float, x: np.ndarray, column: str, rule: str) -> int:
    wish = float(np.ptp(x)) / width
    if wish > MOST_BINS:
        warn(
            f"Histogram: column {column!r} would need {wish:.3g} bins by {rule!r}; {MOST_BINS:,} are used. Far values "
            "stretch the range: bins='blocks' adapts to them.",
            DataWarning,
        )
    return max(1, math.ceil(min(wish, MOST_BINS)))


def _knuth(x: np.ndarray, w: np.ndarray, column: str) -> int:
    """The number of bins M of highest posterior (Knuth 2006, flat prior on M, Jeffreys' on the masses).

    n log M + log Γ(M/2) − M log Γ(½) − log Γ(n + M/2) + Σ_k log Γ(n_k + ½), for every M; ties have been spread, as
    bins narrower than the grid of rounded values would fit the grid.
    """
    order = np.argsort(x, kind="stable")
    x, total = x[order], np.concatenate([[0.0], np.cumsum(w[order])])
    n, span = float(total[-1]), float(x[-1] - x[0])
    quartiles = x[[x.size // 4, (3 * x.size) // 4]]
    fd = span / (2.0 * (quartiles[1] - quartiles[0]) * n ** (-1.0 / 3.0)) if quartiles[1] > quartiles[0] else np.inf
    most = int(min(x.size, max(_LEAST_KNUTH, min(4.0 * fd, _MOST_KNUTH))))
    best, chosen = -np.inf, 1
    for m in range(1, most + 1):
        inner = np.searchsorted(x, x[0] + span * np.arange(1, m) / m, side="left")
        counts = np.diff(total[np.concatenate([[0], inner, [x.size]])])
        value = n * np.log(m) + gammaln(0.5 * m) - m * gammaln(0.5) - gammaln(n + 0.5 * m) + gammaln(counts + 0.5).sum()
        if value > best:
            best, chosen = value, m
    if chosen > 0.99 * _MOST_KNUTH:
        warn(
            f"Histogram: column {column!r} would have more than the {_MOST_KNUTH:,} bins that 'knuth' tries. Far "
            "values stretch the range: bins='blocks' adapts to them.",
            DataWarning,
        )
    return chosen
