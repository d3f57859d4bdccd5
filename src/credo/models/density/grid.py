"""Gaussian sums by FFT on a grid, d ≤ 3, to a stated relative error.

Every point is spread over the p nodes about it in each column by Lagrange's weights, the grid is convolved with the
kernel, and queries are read off with the same weights. Spreading and reading each err by the remainder of Lagrange's
formula, at most Π_p K^(p) / (m^p p!), where m nodes make a bandwidth, Π_p = Π_j (j − ½)² over j ≤ p/2, and K^(p)/K is
the Hermite polynomial He_p of the distance. A sum above exp(−½ R²) of the total weight has points within R, so
that its relative error is at most 2 Π_p max|He_p| / (m^p p!) over distances to R: m follows from the tolerance. Smaller
sums are left to `sums`.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Plan", "grid_sums", "plan"]

# Columns → (nodes p a column, R), of which the cheapest is taken: more columns make cells dear, and higher orders need
# fewer of them.
_ORDERS = {1: ((2, 6.0), (4, 6.0)), 2: ((4, 5.0), (6, 5.0)), 3: ((8, 4.5),)}
# Cells at most: 2²⁴ doubles and their transform take 400 MB.
MOST_CELLS = 2**24
# Beyond R the kernel must fall below the tolerance before the grid wraps around: exp(½(8² − 6²)) = 1e6.
_WRAP = 2.0
# Rows at once, whose arrays of 128 kB stay in the cache and in the allocator's hands.
_CHUNK = 2**14
# Measured on one core (AVX2): nanoseconds for a cell's two transforms, for a node of a point or query, for a pair.
_CELL_NS, _NODE_NS, _PAIR_NS = 25.0, 8.0, 3.0


@dataclass(frozen=True)
class Plan:
    """nodes : p ; per_bandwidth : m ; least : the sums, relative to the total weight, that hold the tolerance."""

    nodes: int
    per_bandwidth: float
    least: float
    low: np.ndarray
    shape: tuple[int, ...]


def plan(Z: np.ndarray, queries: int, rtol: float) -> Plan | None:
    """How to sum on a grid to a relative error `rtol`; None where pairs are cheaper, or the grid would be too large."""
    n, d = Z.shape
    if d not in _ORDERS or rtol < 1e-9:  # below, rounding of the transforms counts
        return None
    low, high = Z.min(axis=0), Z.max(axis=0)
    best, found = _PAIR_NS * n * queries, None
    for p, radius in _ORDERS[d]:
        m = per_bandwidth(p, radius, d, rtol)
        cells = np.ceil((high - low + 2.0 * radius + _WRAP) * m) + p
        size = float(np.prod(cells))
        cost = _CELL_NS * size + _NODE_NS * (n + queries) * p**d
        if size <= MOST_CELLS and cost < best:
            best, found = cost, (p, radius, m, cells)
    if found is None:
        return None
    from scipy.fft import next_fast_len

    p, radius, m, cells = found
    shape: Any = tuple(next_fast_len(int(c), real=True) for c in cells)
    return Plan(p, m, math.exp(-0.5 * radius**2), low - radius - 0.5 * p / m, shape)


@functools.cache
def per_bandwidth(p: int, radius: float, d: int, rtol: float) -> float:
    """m: nodes a bandwidth that keep the relative error below `rtol`.

    >>> round(per_bandwidth(4, 6.0, 1, 1e-4), 1)
    26.7
    """
    coefficients = np.zeros(p + 1)
    coefficients[p] = 1.0
    hermite = np.abs(np.polynomial.hermite_e.hermeval(np.linspace(0.0, radius, 1000), coefficients))
    product = math.prod((j + 0.5) ** 2 for j in range(p // 2))
    worst = hermite.max() + (d - 1) * hermite[0]
    return float((2.0 * product * worst / (math.factorial(p) * rtol)) ** (1.0 / p))


def grid_sums(found: Plan, Z: np.ndarray, w: np.ndarray | None, Y: np.ndarray) -> np.ndarray:
    """Σ_i w_i exp(−½|y − z_i|²) for rows of Y (q, d), accurate where above `found.least` Σ w; 0 off the grid.

    w None: 1/n each.
    """
    from scipy.fft import irfftn, rfftn

    counts = _linear_counts(found, Z) if w is None and found.nodes == 2 else _spread(found, Z, w)
    spectrum: Any = rfftn(counts.reshape(found.shape))
    for axis in range(len(found.shape)):
        spectrum *= _transfer(found, axis)
    smooth: Any = irfftn(spectrum, found.shape)
    values = smooth.ravel()
    if w is None:
        values /= Z.shape[0]
    inside = _inside(found, Y)
    result, read, (cell, nodes) = np.zeros(Y.shape[0]), np.zeros(inside.size), _stencil(found, Y[inside])
    for offset, weight in nodes:
        read += weight * values[offset:][cell]
    result[inside] = read
    return result


def _spread(found: Plan, Z: np.ndarray, w: np.ndarray | None) -> np.ndarray:
    """Weights at the nodes, flat."""
    size = math.prod(found.shape)
    counts, (cell, nodes) = np.zeros(size), _stencil(found, Z)
    for offset, weight in nodes:
        share = weight if w is None else w * weight
        if size > Z.shape[0]:
            np.add.at(counts[offset:], cell, share)
        else:  # a third of the time where the grid is the smaller
            counts[offset:] += np.bincount(cell, share, size - offset)
    return counts


def _linear_counts(found: Plan, Z: np.ndarray) -> np.ndarray:
    """`_spread` for two nodes, one column and equal weights, in half the passes: the first node gets 1 − t.

    In chunks: memory that is asked for anew costs three times the arithmetic.
    """
    counts = np.zeros(found.shape[0])
    for start in range(0, Z.shape[0], _CHUNK):
        cell, t = _cells(Z[start : start + _CHUNK, 0], found.low[0], found.per_bandwidth)
        right = np.bincount(cell, t, counts.size)
        counts -= right
        counts[1:] += right[:-1]
        counts += np.bincount(cell, minlength=counts.size)
    return counts


def _cells(x: np.ndarray, low: float, m: float) -> tuple[np.ndarray, np.ndarray]:
    """(number of the node to the left, distance to it in nodes)."""
    t = x - low
    t *= m
    left = np.floor(t)
    t -= left
    return left.astype(np.int64), t


def _transfer(found: Plan, axis: int) -> np.ndarray:
    """The kernel's transform along an axis; what it folds back, exp(−½(πm)²), is below rounding for m > 3."""
    size, m = found.shape[axis], found.per_bandwidth
    last = axis == len(found.shape) - 1
    j = np.arange(size // 2 + 1 if last else size)
    transform = np.sqrt(2.0 * np.pi) * m * np.exp(-0.5 * np.square(2.0 * np.pi * m / size * np.minimum(j, size - j)))
    return transform.reshape([-1 if k == axis else 1 for k in range(len(found.shape))])


def _inside(found: Plan, Y: np.ndarray) -> np.ndarray:
    """Numbers of the rows whose nodes are on the grid."""
    margin = 0.5 * found.nodes / found.per_bandwidth
    low, high = found.low + margin, found.low - margin + (np.array(found.shape) - 1) / found.per_bandwidth
    return np.flatnonzero(np.all((low < Y) & (high > Y), axis=1))


def _stencil(found: Plan, points: np.ndarray) -> tuple[np.ndarray, Iterator[tuple[int, np.ndarray]]]:
    """(cell of the first node of every point; the p^d nodes as offset from it and weights)."""
    cell, columns, stride = np.zeros(1, dtype=np.int64), [], 1
    for j in reversed(range(points.shape[1])):
        first, place = _cells(points[:, j], found.low[j], found.per_bandwidth)
        columns.append([(k * stride, weight) for k, weight in enumerate(_lagrange(place, found.nodes))])
        cell = cell + (first - (found.nodes // 2 - 1)) * stride if stride > 1 else first - (found.nodes // 2 - 1)
        stride *= found.shape[j]
    return cell, map(_together, itertools.product(*columns))


def _together(nodes: tuple[tuple[int, np.ndarray], ...]) -> tuple[int, np.ndarray]:
    return sum(offset for offset, _ in nodes), functools.reduce(operator.mul, (weight for _, weight in nodes))


def _lagrange(t: np.ndarray, p: int) -> list[np.ndarray]:
    """Weights of the nodes 1 − p/2 … p/2 for a point at t in [0, 1)."""
    at = [k - (p // 2 - 1) for k in range(p)]
    away = [t - node if node else t for node in at]
    result = []
    for k in range(p):
        scale = 1.0 / math.prod(at[k] - node for node in at if node != at[k])
        weight = functools.reduce(operator.mul, (away[i] for i in range(p) if i != k))
        result.append(weight if scale == 1.0 else weight * scale)
    return result
