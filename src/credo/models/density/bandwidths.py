"""Bandwidths from data: normal reference rules, improved Sheather–Jones, likelihood cross-validation.

Weights count by Kish's effective number n = (Σw)²/Σw², so that multiplying them by a number changes nothing.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from credo.errors import ConvergenceWarning, DataError, warn
from credo.models.density.kernels import log_values
from credo.models.density.ties import spread_ties

__all__ = ["RULES", "columns_sd", "cross_validated", "effective_rows", "improved_sheather_jones", "reference_factor"]

RULES = ("auto", "scott", "silverman", "isj", "cv")

# Of the Sheather–Jones stages 7 and more agree to the third digit (Botev 2010, fig. 2).
_STAGES = 7
# The plug-in works on a histogram, whose cells must resolve the answer: from 2¹² to 2²⁰ of them.
_LEAST_CELLS, _MOST_CELLS = 2**12, 2**20
# A tail beyond this many interquartile ranges would take all cells from the bulk, where the roughness is.
_BULK = 50.0
# Rows that cross-validation compares with each other; more are a random sample, rescaled to n.
_CV_ROWS = 1000
# Cross-validation looks between these multiples of Scott's bandwidth.
_CV_RANGE = (1e-2, 1e1)


def effective_rows(w: np.ndarray | None, n: int) -> float:
    """Kish's effective number of rows."""
    if w is None:
        return float(n)
    share = w / w.max(initial=np.finfo(float).tiny)  # squares neither overflow nor vanish
    return float(share.sum() ** 2 / np.square(share).sum())


def columns_sd(X: np.ndarray, w: np.ndarray | None, names: tuple[str, ...]) -> np.ndarray:
    """sd (d,) of the columns, unbiased variance for `effective_rows` (with equal weights, divided by n − 1).

    Raises
    ------
    DataError : a constant column, or one row.
    """
    n = effective_rows(w, X.shape[0])
    if X.shape[0] < 2:
        raise DataError(
            "KernelDensity cannot choose a bandwidth from 1 sample.", value=X.shape[0],
            remedy="Give more rows, or a bandwidth as a number.",
        )  # fmt: skip
    moved = X - X[0]  # digits of data far from 0 are kept
    size = np.abs(moved).max(axis=0)
    moved /= np.where(size > 0.0, size, 1.0)  # squares neither overflow nor vanish
    mean = np.average(moved, axis=0, weights=w)
    variance = np.average(np.square(moved - mean), axis=0, weights=w) * n / max(n - 1.0, 1e-300)
    constant = [name for name, low, high in zip(names, X.min(axis=0), X.max(axis=0)) if low == high]
    if constant:
        raise DataError(
            f"KernelDensity cannot choose a bandwidth: {', '.join(map(repr, constant))} is constant.",
            columns=constant, remedy="Drop the column, or give a bandwidth as a number.",
        )  # fmt: skip
    return size * np.sqrt(variance)


def reference_factor(rule: str, n: float, d: int) -> float:
    """Bandwidth in standard deviations that is right for a normal density, or nearly.

    Scott (1992): n^(−1/(d+4)). Silverman (1986): (n (d + 2)/4)^(−1/(d+4)).
    """
    return float((n if rule == "scott" else n * (d + 2.0) / 4.0) ** (-1.0 / (d + 4.0)))


def improved_sheather_jones(
    x: np.ndarray, w: np.ndarray | None, support: tuple[float, float] = (-np.inf, np.inf)
) -> float | None:
    """The plug-in bandwidth of a Gaussian kernel in one column, without a normal reference; None if it has no solution.

    h² is the fixed point t = ξ γ^[7](t), where γ estimates the roughness of the second derivative from that of higher
    ones, all from the cosine transform of a histogram; tied values are spread over their gaps first. O(n log n).

    x (n,), w (n,) or None ; support : finite ends are the histogram's

    Reference: Botev, Grotowski and Kroese (2010), Kernel density estimation via diffusion, Annals of Statistics 38.
    """
    from scipy.fft import dct

    x = spread_ties(x, w)
    low, high, n = _bulk(x, w, support)
    quartiles = np.quantile(x, [0.25, 0.75])
    wish = (high - low) / max(1e-2 * (quartiles[1] - quartiles[0]) * n**-0.2, (high - low) / _MOST_CELLS)
    cells = int(min(max(2 ** math.ceil(math.log2(wish)), _LEAST_CELLS), _MOST_CELLS))
    counts, _ = np.histogram(x, bins=cells, range=(low, high), weights=w)
    coefficients: Any = dct(counts / counts.sum())
    a2 = np.square(0.5 * coefficients[1:])
    k2 = np.square(np.arange(1.0, cells))

    def excess(t: float) -> float:
        return t - _plug_in(t, n, k2, a2)

    # t is a squared share of the range: 0.1 is a third of it. The first change of sign is the smallest solution.
    ends = np.geomspace(1e-14, 0.1, 57)
    values = np.array([excess(t) for t in ends])
    crossing = np.flatnonzero((values[:-1] < 0.0) & (values[1:] >= 0.0))
    if crossing.size == 0:
        return None
    i = int(crossing[0])
    t: Any = brentq(excess, ends[i], ends[i + 1])
    # A bandwidth below the histogram's cells has seen its steps: ties or rounded values.
    return float(np.sqrt(t) * (high - low)) if np.sqrt(t) * cells > 1.0 else None


def _bulk(x: np.ndarray, w: np.ndarray | None, support: tuple[float, float]) -> tuple[float, float, float]:
    """(low, high, effective rows within): the data with a tenth of their range on open sides, far tails cut."""
    quarter, half, three = np.quantile(x, [0.25, 0.5, 0.75])
    room = _BULK * (three - quarter) or np.inf
    least, most = max(float(x.min()), half - room), min(float(x.max()), half + room)
    inside = (x >= least) & (x <= most)
    n = effective_rows(None if w is None else w[inside], int(np.count_nonzero(inside)))
    margin = 0.1 * (most - least)
    low = support[0] if np.isfinite(support[0]) and least == x.min() else least - margin
    high = support[1] if np.isfinite(support[1]) and most == x.max() else most + margin
    return float(low), float(high), n


def _plug_in(t: float, n: float, k2: np.ndarray, a2: np.ndarray) -> float:
    """ξ γ^[7](t); ‖f^(s)‖² = 2 π^(2s) Σ k^(2s) a_k² exp(−k² π² t) in units of the range."""
    # exp(−700) is 0 beside what precedes it, and powers of k there may overflow.
    most = int(min(k2.size, np.sqrt(700.0 / (np.pi**2 * t)) + 1))
    k2, a2 = k2[:most], a2[:most]

    def roughness(s: int, t: float) -> float:
        return float(2.0 * np.pi ** (2 * s) * np.sum(k2**s * a2 * np.exp(-k2 * (np.pi**2 * t))))

    f = roughness(_STAGES, t)
    for s in range(_STAGES - 1, 1, -1):
        odd = math.prod(range(1, 2 * s, 2)) / math.sqrt(2.0 * math.pi)
        c = (1.0 + 0.5 ** (s + 0.5)) / 3.0
        if not (f > 0.0 and np.isfinite(f)):
            return np.inf
        f = roughness(s, (2.0 * c * odd / (n * f)) ** (2.0 / (3.0 + 2.0 * s)))
    return (2.0 * n * math.sqrt(math.pi) * f) ** -0.4 if f > 0.0 else np.inf


def cross_validated(Z: np.ndarray, w: np.ndarray | None, kernel: str, rng: np.random.Generator) -> float:
    """The factor on the bandwidth that maximises Σ w_i log f_{−i}(x_i), the density without row i at row i.

    Z (n, d) in units of the bandwidth to be scaled. Rows equal to row i are left out with it: they would pull the
    bandwidth to 0. Of more than 1,000 rows a random sample is compared, and the factor is scaled by (m/n)^(1/(d+4)).
    O(m²) a step, some 30 steps.

    References: Habbema, Hermans and van den Broek (1974); Hall, Marron and Robinson (2014) for sampling.
    """
    n, d = Z.shape
    rows = np.arange(n) if n <= _CV_ROWS else rng.choice(n, _CV_ROWS, replace=False)
    points, weights = Z[rows], np.ones(rows.size) if w is None else w[rows]
    gram = points @ points.T
    square = np.square(points).sum(axis=1)
    distance = np.sqrt(np.maximum(square[:, None] + square - 2.0 * gram, 0.0))
    tied = distance <= 1e-7 * np.sqrt(square.max())
    with np.errstate(divide="ignore"):
        log_w = np.where(tied, -np.inf, np.log(weights))

    def loss(log_h: float) -> float:
        h = np.exp(log_h)
        terms = log_values(kernel, distance / h) + log_w
        top = terms.max(axis=1, keepdims=True)
        top[~np.isfinite(top)] = 0.0
        values = top[:, 0] + np.log(np.exp(np.subtract(terms, top, out=terms), out=terms).sum(axis=1)) - d * log_h
        return -float(np.average(values, weights=weights))

    ends = np.log(_CV_RANGE).tolist()
    # A compact kernel has likelihood 0 until every row has a neighbour: a coarse look finds where that ends.
    coarse = np.linspace(ends[0], ends[1], 15)
    with np.errstate(divide="ignore"):
        values = np.array([loss(v) for v in coarse])
    if not np.isfinite(values).any():
        best = ends[1]
    else:
        i = int(np.argmin(values))
        bracket = (coarse[max(i - 1, 0)], coarse[min(i + 1, coarse.size - 1)])
        with np.errstate(divide="ignore", invalid="ignore"):
            found: Any = minimize_scalar(loss, bounds=bracket, method="bounded", options={"xatol": 1e-3})
        best = float(found.x) if found.fun <= values[i] else float(coarse[i])
    if best <= ends[0] + 0.01 or best >= ends[1] - 0.01:
        warn(
            "KernelDensity: the likelihood has no maximum between 0.01 and 10 times Scott's bandwidth; the end is "
            "taken. Far rows or many ties do this: try bandwidth='isj', or a number.",
            ConvergenceWarning,
        )
    return float(np.exp(best)) * (rows.size / n) ** (1.0 / (d + 4.0))
