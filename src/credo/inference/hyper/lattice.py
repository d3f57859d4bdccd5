"""Nested lattices in whitened coordinates, flooded from the mode outwards.

The trapezoid rule over a whole lattice is exact up to the density's Fourier transform at the points of the dual
lattice (Poisson): for a Normal and spacing h (in sds) it errs by some exp(−2π²/h²), 4 % at h = 2, 5e-8 at h = 1.
Level 0 is h ℤᵈ; level 1 adds the centres of its cells, 2 is (h/2) ℤᵈ, and so on (in one dimension every level halves).
The two halves of level 1 err with opposite signs, so that what level 1 changes shows the error of level 0, and a
power of it bounds that of level 1.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from credo.inference.hyper.density import Density

__all__ = ["Lattice"]

# Levels are counted in units of h/2^FINEST.
FINEST = 6


class Lattice:
    """Nodes evaluated so far: `units` (J, d) integers, `log_p` (J,); θ = origin + T u, u = units · step/2^FINEST.

    sparing : whether nodes are left out that a log-concave density would not need.
    """

    def __init__(self, density: Density, origin: np.ndarray, T: np.ndarray, step: float, sparing: bool = False) -> None:
        self.density, self.origin, self.T = density, origin, T
        self.unit = step / 2.0**FINEST
        self.sparing = sparing
        self.d = len(origin)
        self.units = np.zeros((0, self.d), dtype=np.int64)
        self.log_p = np.zeros(0)
        self._known: dict[tuple[int, ...], int] = {}

    def u(self) -> np.ndarray:
        """Whitened positions (J, d)."""
        return self.units * self.unit

    def theta(self, units: np.ndarray) -> np.ndarray:
        return self.origin + (units * self.unit) @ self.T.T

    def nearest(self, theta: np.ndarray) -> np.ndarray:
        """Units of the nearest points (B, d) of level 0."""
        whole = 2**FINEST
        u = np.linalg.solve(self.T, (theta - self.origin).T).T
        return np.rint(u / (self.unit * whole)).astype(np.int64) * whole

    def moves(self, level: int) -> np.ndarray:
        """Steps from a point of a level to its neighbours there."""
        if self.d == 1:
            return np.array([[1], [-1]]) * 2 ** (FINEST - level)
        size = 2 ** (FINEST - level // 2)
        along = np.concatenate([np.eye(self.d, dtype=np.int64), -np.eye(self.d, dtype=np.int64)]) * size
        if level % 2 == 0:
            return along
        return np.concatenate([np.array(list(product((1, -1), repeat=self.d))) * (size // 2), along])

    def on(self, level: int) -> np.ndarray:
        """(J,) which of the nodes belong to a level."""
        size = 2 ** (FINEST - (level if self.d == 1 else level // 2))
        on = (self.units % size == 0).all(axis=1)
        if level % 2 == 1 and self.d > 1:
            on |= ((self.units - size // 2) % size == 0).all(axis=1)
        return on

    def centres(self) -> np.ndarray:
        """The points of level 1 next to the origin (2ᵈ, d)."""
        return np.array(list(product((1, -1), repeat=self.d))) * 2 ** (FINEST - 1)

    def cell(self, level: int) -> float:
        """Volume of θ that a node of a level stands for."""
        return abs(float(np.linalg.det(self.T))) * (self.unit * 2**FINEST) ** self.d / self.refinement(level)

    def refinement(self, level: int) -> float:
        """How many nodes a level has for one of level 0."""
        return 2.0**level if self.d == 1 else 2.0 ** (self.d * (level // 2) + level % 2)

    def add(self, units: np.ndarray) -> None:
        """Evaluates points (B, d) that are not known yet."""
        new = []
        for key in map(tuple, units.tolist()):
            if key not in self._known:
                self._known[key] = len(self._known)
                new.append(key)
        if new:
            fresh = np.array(new, dtype=np.int64)
            self.units = np.concatenate([self.units, fresh])
            self.log_p = np.concatenate([self.log_p, self.density.rows(self.theta(fresh))])

    def flood(self, level: int, depth: float, limit: int) -> bool:
        """Adds neighbours of every node within `depth` of the highest until there are none; False beyond `limit`.

        If `sparing` those are left out that would lie below `depth` if the density were log-concave.
        """
        moves, seen = self.moves(level), 0
        while True:
            # Once too low, a node stays too low: only new ones can be gone on from.
            floor = self.log_p.max() - depth
            high = seen + np.flatnonzero(self.log_p[seen:] > floor)
            seen = len(self.log_p)
            if not len(high):
                return True
            if seen > limit:
                return False
            around = self.units[high][:, None] + moves
            if self.sparing:
                around = around[self._may_reach(high, moves, floor)]
            self.add(np.unique(around.reshape(-1, self.d), axis=0))

    def _may_reach(self, nodes: np.ndarray, moves: np.ndarray, floor: float) -> np.ndarray:
        """(N, M) whether a concave log density may be above `floor` one move on: it falls at least as it did before."""
        behind = self.units[nodes][:, None] - moves
        before = np.array(
            [[self._value(tuple(key)) for key in row] for row in behind.tolist()], dtype=np.float64
        ).reshape(len(nodes), len(moves))
        here = self.log_p[nodes][:, None]
        return ~(2.0 * here - before < floor)  # unknown ones are NaN, and may

    def _value(self, key: tuple[int, ...]) -> float:
        at = self._known.get(key)
        return np.nan if at is None else self.log_p[at]

    def peaks(self, level: int, depth: float) -> list[int]:
        """Nodes that are peaks within `depth` of the highest: every path between nodes leaves them by falling by ≥ 1.

        Nodes join from the highest down; where two hills meet, the lower one ends (its persistence).
        """
        moves = self.moves(level)
        if level % 2 == 0 and self.d > 1:  # diagonal neighbours, too: a ridge across is no row of peaks
            moves = np.array([m for m in product((-1, 0, 1), repeat=self.d) if any(m)]) * 2 ** (FINEST - level // 2)
        top, found = self.log_p.max(), []
        hill: dict[int, int] = {}

        def summit(at: int) -> int:
            while hill[at] != at:
                hill[at] = at = hill[hill[at]]
            return at

        for at in np.argsort(-self.log_p, kind="stable").tolist():
            if self.log_p[at] < top - depth - 1.0:
                break
            hill[at] = at
            for key in (self.units[at] + moves).tolist():
                other = self._known.get(tuple(key))
                if other is None or other not in hill:
                    continue
                one, two = sorted((summit(at), summit(other)), key=lambda k: -self.log_p[k])
                if one != two:
                    hill[two] = one
                    if self.log_p[two] > max(top - depth, self.log_p[at] + 1.0):
                        found.append(two)
        return found + [at for at, of in hill.items() if at == of and self.log_p[at] > top - depth]
