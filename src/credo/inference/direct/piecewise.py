"""A distribution function and its inverse from a log density alone, with the error in u.

The line is cut into pieces until on each the density is a Chebyshev series of degree 16 to about rounding, which also
must hold at points between those it was made from. The integrated series is the distribution function; its inverse is
found by Newton's method inside a bracket. What no series can resolve (a jump, a pole) is cut down to pieces of
negligible mass, or to the spacing of floats, and what is then left is in the reported error.

References: Derflinger, Hörmann and Leydold (2010), ACM TOMACS 20(4), for numerical inversion with a bound on the error
in u; Trefethen (2013), Approximation Theory and Approximation Practice, chapters 8 and 19.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import chebyshev

from credo.errors import NumericalError
from credo.inference.direct.modes import search

__all__ = ["NumericInverse", "invert_density"]

DEGREE = 16
# Error allowed to one piece, as a share of the mass: a thousand of them keep within U_ERROR.
PIECE_ERROR = 1e-13
# A stop for densities that are noise: the error is then reported as it is.
MAX_PIECES = 6000
# Mass left beyond the outermost piece.
TAIL = 1e-12
# Doublings of the distance from the mode: beyond 2^400 widths what is left of a tail shows no end.
MAX_DOUBLINGS = 400
CHUNK = 16_384  # rows whose coefficients (17 each) stay in the second-level cache

NODES = np.cos(np.pi * (np.arange(DEGREE + 1) + 0.5) / (DEGREE + 1))
#: values at the nodes → coefficients
TO_SERIES = np.cos(np.pi * np.outer(np.arange(DEGREE + 1), np.arange(DEGREE + 1) + 0.5) / (DEGREE + 1)) * (
    np.where(np.arange(DEGREE + 1) == 0, 1.0, 2.0)[:, None] / (DEGREE + 1)
)
#: coefficients → those of the integral from −1
INTEGRATE = np.array([chebyshev.chebint(row, lbnd=-1) for row in np.eye(DEGREE + 1)]).T
#: points between the nodes, and close to the ends where a kink beside a cut hides, where the series must hold too
CHECKS = np.array([-1 + 1e-9, -1 + 1e-5, -0.998, -0.93, -0.7, -0.4, -0.05, 0.31, 0.64, 0.88, 0.997, 1 - 1e-5, 1 - 1e-9])
AT_CHECKS = chebyshev.chebvander(CHECKS, DEGREE)
GRID = np.linspace(-1.0, 1.0, 17)
AT_GRID = chebyshev.chebvander(GRID, DEGREE + 1)


@dataclass(frozen=True)
class NumericInverse:
    """F and F⁻¹ of a density on pieces.

    edges : (P + 1,) ends of the pieces
    series : (P, 17) Chebyshev coefficients of the density on each, times half its length
    below : (P + 1,) mass below each edge, so that below[-1] is all of it
    log_normaliser : log ∫ exp(log density)
    u_error : estimated bound of |F(quantile(u)) − u|: unresolved parts of all pieces, what lies beyond them, rounding
    evaluations : of the density
    """

    edges: np.ndarray
    series: np.ndarray
    below: np.ndarray
    log_normaliser: float
    u_error: float
    evaluations: int

    def cdf(self, x: np.ndarray) -> np.ndarray:
        """F(x), elementwise."""
        x = np.clip(np.asarray(x, dtype=np.float64), self.edges[0], self.edges[-1])
        piece = np.clip(np.searchsorted(self.edges, x, side="right") - 1, 0, len(self.series) - 1)
        a, b = self.edges[piece], self.edges[piece + 1]
        t = np.clip(2.0 * (x - a) / (b - a) - 1.0, -1.0, 1.0)
        value = self.below[piece] + _clenshaw(self.series[piece] @ INTEGRATE.T, t)
        return np.clip(value / self.below[-1], 0.0, 1.0)

    def quantile(self, u: np.ndarray) -> np.ndarray:
        """F⁻¹(u) for u (n,) in [0, 1]. Cost: some 5 evaluations of a series of 17 terms a number."""
        u = np.asarray(u, dtype=np.float64)
        integrals = self.series @ INTEGRATE.T
        on_grid = np.maximum.accumulate(integrals @ AT_GRID[:-1].T, axis=1)
        starts = np.maximum.accumulate((self.below[:-1, None] + on_grid).ravel())
        parts = [self._inverse(part, integrals, starts) for part in np.split(u, range(CHUNK, u.size, CHUNK))]
        return np.concatenate(parts)

    def _inverse(self, u: np.ndarray, integrals: np.ndarray, starts: np.ndarray) -> np.ndarray:
        wanted = u * self.below[-1]
        cell = np.clip(np.searchsorted(starts, wanted, side="right") - 1, 0, starts.size - 1)
        piece, part = np.divmod(cell, GRID.size - 1)
        ends = np.append(starts[1:], self.below[-1])
        rise = ends[cell] - starts[cell]
        share = np.divide(wanted - starts[cell], rise, out=np.full(u.size, 0.5), where=rise > 0.0)
        low, high = GRID[part], GRID[part + 1]
        t = _solve(
            integrals[piece], self.series[piece], wanted - self.below[piece], low, high, share, 1e-16 * self.below[-1]
        )
        a, b = self.edges[piece], self.edges[piece + 1]
        return np.clip(a + 0.5 * (t + 1.0) * (b - a), a, b)


def _solve(
    integral: np.ndarray,
    density: np.ndarray,
    wanted: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    share: np.ndarray,
    tolerance: float,
) -> np.ndarray:
    """t (n,) in [low, high] where each integrated series has the value wanted: Newton's steps, halving outside."""
    t = low + np.clip(share, 0.0, 1.0) * (high - low)
    active = np.arange(t.size)
    for _ in range(60):
        at = t[active]
        excess = _clenshaw(integral[active], at) - wanted[active]
        low[active], high[active] = np.where(excess > 0, low[active], at), np.where(excess > 0, at, high[active])
        with np.errstate(divide="ignore", invalid="ignore"):
            step = at - excess / _clenshaw(density[active], at)
        inside = (step >= low[active]) & (step <= high[active])
        step = np.where(inside, step, 0.5 * (low[active] + high[active]))
        moving = (np.abs(excess) > tolerance) & (np.abs(step - at) > 1e-16)
        t[active] = np.where(moving, step, at)
        active = active[moving]
        if not active.size:
            break
    return t


def _clenshaw(coefficients: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Σ_k c_k T_k(t), one series (row) a point."""
    ahead, now = np.zeros_like(t), np.zeros_like(t)
    for k in range(coefficients.shape[1] - 1, 0, -1):
        ahead, now = now, coefficients[:, k] + 2.0 * t * now - ahead
    return coefficients[:, 0] + t * now - ahead


def invert_density(
    log_density: Callable[[np.ndarray], np.ndarray],
    low: float,
    high: float,
    start: float | None = None,
    breaks: np.ndarray | None = None,
) -> NumericInverse:
    """The distribution function of exp(log_density) on (low, high), either end of which may be infinite.

    log_density : (n,) → (n,), up to a constant, −inf where the density is zero
    start : a point where the density is positive; breaks : points to cut at, such as kinks and far modes

    Raises `NumericalError` for a density that is zero wherever it was looked at, or improper. Cost: a few thousand
    evaluations, in some 60 calls.

    >>> inverse = invert_density(lambda x: -x, 0.0, np.inf)
    >>> abs(inverse.quantile(np.array([0.5]))[0] - np.log(2.0)) < 1e-9, inverse.u_error < 1e-10
    (np.True_, True)
    """
    counted = _Counted(log_density)
    landscape = search(counted, low, high, start)
    scale = landscape.top
    edges = landscape.edges(np.empty(0) if breaks is None else breaks)
    pieces = _resolve(counted, edges[:-1], edges[1:], scale)
    beyond = 0.0
    for side, limit in ((0, low), (1, high)):
        grown, left = _extend(counted, pieces, side, limit, landscape.width, scale)
        pieces, beyond = pieces.joined(grown), beyond + left
    pieces = pieces.ordered()
    mass = np.maximum(pieces.series @ INTEGRATE.T @ np.ones(DEGREE + 2), 0.0)
    below = np.concatenate([[0.0], np.cumsum(mass)])
    if not below[-1] > 0.0:
        raise NumericalError(
            f"inversion: the density is positive at {landscape.modes[0]:.6g}, and no mass was found around it.",
            value=float(landscape.modes[0]),
            remedy="It is far narrower than 1: rescale it.",
        )
    rounding = 4.0 * np.finfo(float).eps * np.sqrt(mass.size)
    u_error = float((pieces.error.sum() + _unresolvable(pieces) + beyond) / below[-1] + rounding)
    edges = np.append(pieces.left, pieces.right[-1])
    return NumericInverse(edges, pieces.series, below, scale + float(np.log(below[-1])), u_error, counted.count)


class _Counted:
    def __init__(self, log_density: Callable[[np.ndarray], np.ndarray]) -> None:
        self.log_density, self.count = log_density, 0

    def __call__(self, x: np.ndarray) -> np.ndarray:
        self.count += x.size
        return self.log_density(x)


@dataclass(frozen=True)
class _Pieces:
    left: np.ndarray
    right: np.ndarray
    series: np.ndarray
    error: np.ndarray

    @property
    def mass(self) -> np.ndarray:
        return self.series @ INTEGRATE.T @ np.ones(DEGREE + 2)

    def joined(self, other: _Pieces) -> _Pieces:
        mine, its = self.__dict__.values(), other.__dict__.values()
        return _Pieces(*(np.concatenate(pair) for pair in zip(mine, its)))

    def at(self, index: np.ndarray) -> _Pieces:
        return _Pieces(self.left[index], self.right[index], self.series[index], self.error[index])

    def ordered(self) -> _Pieces:
        return self.at(np.argsort(self.left))


def _fit(log_density: Callable, left: np.ndarray, right: np.ndarray, scale: float) -> _Pieces:
    """The series on each piece, times half its length, and how far it is off in mass."""
    half = 0.5 * (right - left)
    points = np.concatenate([NODES, CHECKS])
    x = left[:, None] + half[:, None] * (points + 1.0)
    x = np.clip(x, np.nextafter(left, np.inf)[:, None], np.maximum(np.nextafter(right, -np.inf), left)[:, None])
    with np.errstate(over="ignore"):
        values = np.exp(log_density(x.ravel()).reshape(x.shape) - scale) * half[:, None]
    at_nodes, at_checks = values[:, : DEGREE + 1], values[:, DEGREE + 1 :]
    series = at_nodes @ TO_SERIES.T
    missed = np.max(np.abs(at_checks - series @ AT_CHECKS.T), axis=1)
    error = 2.0 * np.maximum(missed, np.abs(series[:, -2:]).sum(axis=1))
    return _Pieces(left, right, series, error)


def _resolve(log_density: Callable, left: np.ndarray, right: np.ndarray, scale: float, mass: float = 0.0) -> _Pieces:
    """Pieces halved until each is resolved to PIECE_ERROR of the mass (`mass`, or that found), or cannot be halved."""
    done: list[_Pieces] = []
    count, found = 0, 0.0
    while left.size:
        level = _fit(log_density, left, right, scale)
        whole = max(mass, found + float(level.mass.sum()))
        middle = 0.5 * left + 0.5 * right
        settled = (level.error <= PIECE_ERROR * whole) | _is_atomic(left, right)
        count += int(settled.sum())
        if count + 2 * int((~settled).sum()) > MAX_PIECES:
            settled[:] = True
        done.append(level.at(np.flatnonzero(settled)))
        found += float(done[-1].mass.sum())
        split = np.flatnonzero(~settled)
        left, right = np.append(left[split], middle[split]), np.append(middle[split], right[split])
    return _Pieces(*(np.concatenate([getattr(part, name) for part in done]) for name in _Pieces.__annotations__))


def _unresolvable(pieces: _Pieces) -> float:
    """Mass that may hide in pieces as short as the spacing of floats, where the neighbours rise to a pole.

    Pieces halved towards a pole |x − c|^(a − 1) lose a constant share of mass each: what is nearer than the last is a
    geometric series again.
    """
    mass, length, n = np.maximum(pieces.mass, 0.0), pieces.right - pieces.left, pieces.left.size
    atomic = np.pad(_is_atomic(pieces.left, pieces.right), 1).astype(int)
    firsts, lasts = np.flatnonzero(np.diff(atomic) == 1), np.flatnonzero(np.diff(atomic) == -1) - 1
    hidden = 0.0
    for first, last in zip(firsts, lasts):  # a run of pieces that cannot be halved
        near = [2.0 * float(mass[first : last + 1].sum())]
        for inner, outer in ((first - 1, first - 2), (last + 1, last + 2)):
            if min(inner, outer) >= 0 and max(inner, outer) < n and length[outer] > 1.5 * length[inner]:
                ratio = min(mass[inner] / mass[outer], 0.999) if mass[outer] > 0.0 else 0.0
                near.append(float(mass[inner] * ratio / (1.0 - ratio)))
        hidden += max(near)
    return hidden


def _is_atomic(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Which pieces have no two floats strictly inside, to halve between."""
    middle = 0.5 * left + 0.5 * right
    return ~((middle > np.nextafter(left, np.inf)) & (middle < np.nextafter(right, -np.inf)))


def _extend(
    log_density: Callable, pieces: _Pieces, side: int, limit: float, width: float, scale: float
) -> tuple[_Pieces, float]:
    """Pieces beyond the outermost one, each twice as far out, until what is left is negligible; and what is left."""
    sign = 1.0 if side else -1.0
    edge = float(pieces.right.max() if side else pieces.left.min())
    whole = float(pieces.mass.sum())
    grown = pieces.at(np.empty(0, dtype=int))
    reach, previous = width, np.inf
    for _ in range(MAX_DOUBLINGS):
        if edge == limit:
            return grown, 0.0
        reach *= 2.0
        outer = edge + sign * reach
        outer = min(outer, limit) if side else max(outer, limit)
        ends = (edge, outer) if side else (outer, edge)
        more = _resolve(log_density, np.array([ends[0]]), np.array([ends[1]]), scale, whole)
        grown, edge = grown.joined(more), outer
        mass = float(more.mass.sum())
        ratio = mass / previous if previous > 0.0 else 0.0
        # Doubled pieces of a tail x^(−a) lose a constant share: the rest is a geometric series.
        left = mass * ratio / (1.0 - ratio) if ratio < 0.99 else np.inf
        if left <= TAIL * whole and previous < np.inf:
            return grown, left
        previous, whole = mass, whole + mass
    raise NumericalError(
        f"inversion: the density does not fall off towards {'+' if side else '−'}∞: {previous / whole:.2g} of the mass "
        f"is still between {edge:.3g} and half of that.",
        value=edge,
        remedy="It is improper, or nearly: check its sign, or state the support.",
    )
