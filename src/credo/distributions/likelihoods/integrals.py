"""Integrals over a Gaussian predictor, η ~ N(m, v), right from v = 0 to v = 1e4 and wherever m lies.

Fixed Gauss–Hermite nodes are the usual way and fail where it matters: against a wide Gaussian a likelihood is a step
of width 1 that falls between the nodes (v = 1e4: errors of several per cent with 64 nodes), against a narrow
likelihood the Gaussian is flat. Here the nodes are laid where the integrand is, and the trapezoid rule, exponentially
accurate for analytic functions that vanish at both ends, does the rest.

Notation: s = √v, z = (η − m)/s; j nodes, n rows.

Reference: Trefethen and Weideman (2014), The Exponentially Convergent Trapezoidal Rule, SIAM Review 56.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import scipy.special

__all__ = [
    "log_gaussian_integral",
    "log_mixture_integral",
    "log_moments",
    "expected_step",
    "expected_smooth",
    "lattice_normals",
]

HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))

# exp(−40) = 4e-18: what lies beyond adds less than rounding.
NEGLIGIBLE = 40.0
# Nodes × rows of one chunk: 2 MB of float64 stay in cache.
CHUNK = 2**18
# A likelihood bends over a unit of η (its poles are π away). 72 even nodes over 22 units are 0.3 apart: errors of
# exp(−2π · π/0.3) from the poles and exp(−2π²/0.27²) from the Gaussian. Wider integrands take nodes that thin out
# from the bend, 0.05 apart there and 0.05 of the distance farther out.
NARROW, NARROW_NODES, WIDE_NODES = 22.0, 72, 360

RowFunction = Callable[[np.ndarray, np.ndarray], np.ndarray]


def log_gaussian_integral(
    log_f: RowFunction,
    slopes: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, ...]],
    bend: np.ndarray,
    m: np.ndarray,
    v: np.ndarray,
) -> np.ndarray:
    """log ∫ exp(log_f(η)) N(η; m, v) dη for each row; log_f concave, smooth on the scale of one unit of η.

    log_f(rows, η) and slopes(rows, η) → (first, second derivative), with η (n,) or (j, n) for the index array `rows`
    (n,); `bend` is a finite point near the mode of log_f, or near its turn if it is monotone.

    Finds the mode of log_f(m + s z) − z²/2 by bracketed Newton, the two points 40 below it by bisection, and lays
    η = bend + sinh between them. Absolute error below 1e-10. Cost about 110 evaluations a row, 400 where s is large.
    """
    shape = m.shape
    m, bend = m.ravel(), np.broadcast_to(bend, shape).ravel()
    # Where v = 0 a width too small to matter gives log_f(m) by the same path.
    s = np.maximum(np.sqrt(v.ravel()), 1e-150)
    result = np.empty(m.size)
    # e^η may overflow to an infinite slope on the way: ∞ · 0 then fails every test below, and the bracket halves.
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for start in range(0, m.size, CHUNK // NARROW_NODES):
            rows = np.arange(start, min(start + CHUNK // NARROW_NODES, m.size))
            result[rows] = _integrate(log_f, slopes, rows, bend[rows], m[rows], s[rows])
    return result.reshape(shape)[()]


def _integrate(
    log_f: RowFunction, slopes: Callable, rows: np.ndarray, bend: np.ndarray, m: np.ndarray, s: np.ndarray
) -> np.ndarray:
    """`log_gaussian_integral` of one chunk of rows."""
    mode, width = _mode(slopes, rows, bend, m, s)
    peak = log_f(rows, m + s * mode) - 0.5 * mode**2

    def drop(offset: np.ndarray) -> np.ndarray:
        z = mode + offset
        return peak - (log_f(rows, m + s * z) - 0.5 * z**2)

    low, high = (mode + side * _reach(drop, side, width) for side in (-1.0, 1.0))
    center = np.clip((bend - m) / s, low, high)
    result = np.empty(m.size)
    wide = s * (high - low) > NARROW
    for group, nodes in ((np.flatnonzero(~wide), NARROW_NODES), (np.flatnonzero(wide), WIDE_NODES)):
        for part in np.array_split(group, -(-group.size * nodes // CHUNK)) if group.size else ():
            c, scale = center[part], 1.0 / s[part]
            left, right = (np.arcsinh((edge[part] - c) / scale) for edge in (low, high))
            u = left + (right - left) * np.linspace(0.0, 1.0, nodes)[:, None]
            z = c + scale * np.sinh(u)
            log_terms = log_f(rows[part], m[part] + s[part] * z) - 0.5 * z**2 - peak[part]
            total = np.sum(np.exp(log_terms) * np.cosh(u), axis=0) * (scale * (right - left) / (nodes - 1))
            result[part] = peak[part] + np.log(total) - HALF_LOG_2PI
    return result


def _mode(
    slopes: Callable, rows: np.ndarray, bend: np.ndarray, m: np.ndarray, s: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mode of log_f(m + s z) − z²/2 and its width 1/√curvature, to a hundredth of that width.

    The mode is the fixed point of the decreasing map T(z) = s log_f′(m + s z): it lies between z and T(z) for every z,
    here 0 and the bend. Newton inside the bracket, halved where Newton leaves it or lags.
    """
    at_bend = (bend - m) / s
    first, image = s * slopes(rows, m)[0], s * slopes(rows, bend)[0]
    low = np.maximum(np.minimum(0.0, first), np.minimum(at_bend, image))
    high = np.minimum(np.maximum(0.0, first), np.maximum(at_bend, image))
    z = np.clip(0.0, low, high)
    last = high - low
    width = np.ones_like(m)
    for _ in range(80):
        gradient, curvature = slopes(rows, m + s * z)
        residual, steepness = s * gradient - z, 1.0 - s * s * curvature
        width = 1.0 / np.sqrt(steepness)
        if np.all((np.abs(residual) * width < 1e-2) | (high - low <= 1e-14 * np.abs(z))):
            break
        low, high = np.where(residual > 0, z, low), np.where(residual > 0, high, z)
        step = residual / steepness
        middle = 0.5 * (low + high)
        good = (z + step > low) & (z + step < high) & (np.abs(step) < 0.5 * last)
        last = np.where(good, np.abs(step), 0.5 * (high - low))
        z = np.where(good, z + step, middle)
    return z, width


def _reach(drop: Callable[[np.ndarray], np.ndarray], side: float, width: np.ndarray) -> np.ndarray:
    """Offset > 0 at which the integrand is exp(−40) of its peak, found to a few per cent by bisecting its logarithm.

    The Gaussian alone drops by 40 within √80.
    """
    low, high = np.log(1e-3 * width), np.full(width.shape, 0.5 * np.log(2.0 * NEGLIGIBLE))
    for _ in range(10):
        middle = 0.5 * (low + high)
        inside = drop(side * np.exp(middle)) < NEGLIGIBLE
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return np.exp(high)


def log_mixture_integral(log_f: RowFunction, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """log ∫ exp(log_f(u)) du for each row: the first of `log_moments`."""
    return log_moments(log_f, low, high)[0]


def log_moments(log_f: RowFunction, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """log ∫ exp(log_f(u)) du for each row, and the mean and variance of u under exp(log_f).

    log_f(rows, u), u (j, n), is smooth but may have several peaks; [low, high] (n,) holds all of it. Zooms in on what
    is within 40 of its highest value and doubles the trapezoid's nodes until the integral moves by less than 1e-11 (64
    to 16,384 nodes).
    """
    result = np.empty((3, low.size))
    with np.errstate(under="ignore"):
        for start in range(0, low.size, CHUNK // 1024):
            rows = np.arange(start, min(start + CHUNK // 1024, low.size))
            left, right = _bulk(log_f, rows, low[rows], high[rows])
            nodes, pending, total = 64, np.arange(rows.size), np.full(rows.size, -np.inf)
            while pending.size and nodes <= 2**14:
                a, b = left[pending], right[pending]
                u = a + (b - a) * np.linspace(0.0, 1.0, nodes + 1)[:, None]
                log_terms = log_f(rows[pending], u)
                peak = log_terms.max(axis=0)
                mass = np.exp(log_terms - peak)
                sums = mass.sum(axis=0)
                value = peak + np.log(sums * (b - a) / nodes)
                mass /= sums
                mean = np.sum(mass * (u - a), axis=0)
                result[:, rows[pending]] = value, a + mean, np.sum(mass * (u - a - mean) ** 2, axis=0)
                moved = np.abs(value - total[pending]) > 1e-11 * np.maximum(1.0, np.abs(value))
                total[pending] = value
                pending, nodes = pending[moved], 2 * nodes
    return result[0], result[1], result[2]


def _bulk(log_f: RowFunction, rows: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The stretch of [low, high] outside which log_f is 40 below its highest value, to a fiftieth of a grid cell."""
    low, high = low.copy(), high.copy()
    # Peaks far narrower than a cell are zoomed in on: each pass keeps what may hold e⁻⁴⁰ of the best seen so far.
    for _ in range(8):
        u = low + (high - low) * np.linspace(0.0, 1.0, 257)[:, None]
        value = log_f(rows, u)
        inside = value > value.max(axis=0) - NEGLIGIBLE
        first, last = inside.argmax(axis=0), 256 - inside[::-1].argmax(axis=0)
        cell = (high - low) / 256.0
        low, high = np.maximum(low, low + (first - 1) * cell), np.minimum(high, low + (last + 1) * cell)
        if np.all(last - first > 64):
            break
    return low, high


@cache
def _normal_nodes() -> tuple[np.ndarray, np.ndarray]:
    """Trapezoid nodes and weights of N(0, 1), 0.25 apart up to 11.

    Truncation below 1e-27; with poles π/2 away (π/s at s = 2) an aliasing error of exp(−2π · (π/2)/0.25) = 1e-17.
    """
    z = np.arange(-44, 45) * 0.25
    weights = np.exp(-0.5 * z**2)
    return z, weights / weights.sum()


@cache
def _panel_nodes() -> tuple[np.ndarray, np.ndarray]:
    """Gauss–Legendre nodes and weights on [−40, 0] and [0, 40], 64 each."""
    nodes, weights = np.polynomial.legendre.leggauss(64)
    t = 20.0 * (nodes + 1.0)
    return np.concatenate([-t[::-1], t]), 20.0 * np.concatenate([weights[::-1], weights])


def expected_step(
    f: Callable[[np.ndarray, np.ndarray], np.ndarray], m: np.ndarray, v: np.ndarray, low: Any, high: Any
) -> np.ndarray:
    """E f(η), η ~ N(m, v), for f analytic within π of the line that tends to `low` at −∞ and `high` at ∞ like e^−|η|.

    f(rows, η) with η (j, n). For s ≤ 2 the trapezoid rule in z; above, the step has an exact mean
    low Φ(−m/s) + high Φ(m/s) and the rest lives within 40 of 0. Absolute error below 1e-12 of f's size.
    """
    low, high = (np.broadcast_to(np.asarray(a, dtype=np.float64), m.shape) for a in (low, high))
    s = np.sqrt(v)
    result = np.empty(m.shape)
    for wide in (False, True):
        group = np.flatnonzero((s > 2.0) == wide)
        nodes, weights = _panel_nodes() if wide else _normal_nodes()
        for part in np.array_split(group, -(-group.size * nodes.size // CHUNK)) if group.size else ():
            if not wide:
                result[part] = weights @ f(part, m[part] + nodes[:, None] * s[part])
                continue
            z = (nodes[:, None] - m[part]) / s[part]
            density = np.exp(-0.5 * z**2 - HALF_LOG_2PI) / s[part]
            rest = f(part, nodes[:, None]) - np.where(nodes[:, None] < 0, low[part], high[part])
            below_above = scipy.special.ndtr(np.array([-1.0, 1.0])[:, None] * (m[part] / s[part]))
            result[part] = low[part] * below_above[0] + high[part] * below_above[1] + weights @ (rest * density)
    return result


def expected_smooth(
    f: Callable[[np.ndarray, np.ndarray], np.ndarray], m: np.ndarray, v: np.ndarray, low: Any, high: Any
) -> np.ndarray:
    """E f(η), η ~ N(m, v), for f analytic within π/2 of the line only: what `expected_step` does at thrice its cost.

    For s ≤ 2 the trapezoid rule in z, 0.1 apart: aliasing exp(−2π · (π/2)/0.2) = 4e-22. Above, a smooth step of the
    same ends has the mean low + (high − low) Φ(m/√(1 + v)), and the rest lives within 40 of 0, 0.2 apart.
    """
    low, high = (np.broadcast_to(np.asarray(a, dtype=np.float64), m.shape) for a in (low, high))
    s = np.sqrt(v)
    result = np.empty(m.shape)
    for wide in (False, True):
        group = np.flatnonzero((s > 2.0) == wide)
        z = np.arange(-200, 201)[:, None] * 0.2 if wide else np.arange(-110, 111)[:, None] * 0.1
        for part in np.array_split(group, -(-group.size * z.size // CHUNK)) if group.size else ():
            if not wide:
                weights = np.exp(-0.5 * z[:, 0] ** 2)
                result[part] = weights @ f(part, m[part] + z * s[part]) / weights.sum()
                continue
            rise = high[part] - low[part]
            density = np.exp(-0.5 * ((z - m[part]) / s[part]) ** 2 - HALF_LOG_2PI) / s[part]
            rest = f(part, z) - low[part] - rise * scipy.special.ndtr(z)
            mean = low[part] + rise * scipy.special.ndtr(m[part] / np.sqrt(1.0 + v[part]))
            result[part] = mean + 0.2 * np.sum(rest * density, axis=0)
    return result


@cache
def lattice_normals(points: int, d: int) -> np.ndarray:
    """Standard normals (points, d) from a rank-one lattice, symmetric about 0: a deterministic stand-in for draws.

    `points` prime. The generator is built a component at a time to least worst-case error in the Korobov space of
    smoothness 2; the tent map makes it fit functions that are not periodic.

    Reference: Dick, Kuo and Sloan (2013), High-dimensional integration, Acta Numerica 22, §5.
    """
    index = np.arange(points)

    def kernel(k: np.ndarray) -> np.ndarray:
        x = k / points
        return 2.0 * np.pi**2 * (x * x - x + 1.0 / 6.0)

    table = kernel(index)
    product, generator = np.ones(points), []
    candidates = np.arange(1, (points + 1) // 2)
    for j in range(d):
        # Candidates z and points − z give mirror images, so half of them will do; weights 1/(j + 1)² favour the first.
        errors = np.array([product @ table[index * z % points] for z in candidates])
        best = int(candidates[np.argmin(errors)])
        generator.append(best)
        candidates = candidates[candidates != best]
        product = product * (1.0 + table[index * best % points] / (j + 1.0) ** 2)
    # A quarter of a cell keeps every coordinate evenly spaced after folding: (i + ½)/points, never 0 or 1.
    x = (np.outer(index, generator) + 0.25) / points % 1.0
    half = scipy.special.ndtri(1.0 - np.abs(2.0 * x - 1.0))
    # The lattice stops short of the tails; with unit covariance restored, cubics are integrated exactly.
    half = np.linalg.solve(np.linalg.cholesky(half.T @ half / points), half.T).T
    return np.concatenate([half, -half])
