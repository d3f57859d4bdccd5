"""The joint density with the groups integrated out, given the rest c: its mode, its weights, draws.

Notation: z = (u, c) as in `groups`; about the mode, c ~ N(c*, S⁻¹) with S = H_cc − H_cu H_uu⁻¹ H_uc, the Schur
complement. Laplace's c, the mode of p(u, c) jointly, lies off the mode c* of p(c) = ∫ p(u, c) du by an amount that does
not fall with the number of groups while sds do: so c* is looked for, by Newton's method with S and exact slopes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from credo.inference.laplace_block.groups import Groups, Partition
from credo.inference.laplace_block.mode import Joint, Mode
from credo.inference.laplace_block.rows import COMPILES
from credo.inference.laplace_block.tables import Integrals, first_grids, integrate, settled
from credo.inference.laplace_block.targets import GroupTarget

__all__ = ["MOST_CELLS", "Nested", "log_proposal", "proposed"]

# c* is near enough where the step left is this many sds: proposals a tenth of a sd off lose 1% of the effective draws.
NEAR = 0.1
MOST_STEPS = 8
# Rows of all draws that are looked at together.
MOST_CELLS = 2**17
# Share of draws that come from a wider Normal.
WIDE_SHARE = 0.1


def proposed(p: int, q: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """(p, n) draws to be coloured: standard Normals, some pairs of them wider, every second draw the opposite of that
    before: means then err by the weights alone. q : how many numbers are weighed (see `log_proposal`)"""
    white = rng.standard_normal((p, n))
    white *= np.where(rng.random(n) < WIDE_SHARE, _width(q), 1.0)
    white[:, 1::2] = -white[:, : n // 2 * 2 : 2]
    return white


def log_proposal(square: np.ndarray, q: int) -> np.ndarray:
    """log density of `proposed` less that of a standard Normal at its mode, at squared distances (n,).

    The wider part is there for tails that fall more slowly than a Normal's: weights would know nothing of them.
    """
    s = _width(q)
    return np.logaddexp(
        np.log1p(-WIDE_SHARE) - 0.5 * square, np.log(WIDE_SHARE) - q * np.log(s) - 0.5 * square / (s * s)
    )


def _width(q: int) -> float:
    return 1.0 + 2.0 / np.sqrt(max(q, 1))


class Given(NamedTuple):
    """What n values of c set: y (n, p) with u = 0, η there for each site (n, rows), the targets and centres of the
    groups, n times over, and log p (n,) of what no group touches."""

    y: np.ndarray
    etas: list[np.ndarray]
    targets: list[GroupTarget]
    centres: list[np.ndarray]
    outside: np.ndarray


class Nested:
    """Given θ. `start`: c* − ĉ (q,) of an earlier θ, to look from: within `NEAR`, where c* is found depends on it."""

    def __init__(self, joint: Joint, mode: Mode, parts: Partition, start: np.ndarray | None) -> None:
        self.joint, self.mode, self.parts = joint, mode, parts
        precision = joint.precision
        self._whole = precision.whole(mode.h)
        at = [precision.once(k.columns[:, :, None], k.columns[:, None, :]) for k in parts.kinds]
        self.prior = [joint.quadratic.h[each] for each in at]
        blocks = [mode.h[each] for each in at]
        self._inverse = [np.linalg.inv(each) for each in blocks]
        self.log_det = sum(float(np.linalg.slogdet(each)[1].sum()) for each in blocks)
        self._targets = [self._target(at, k) for at, k in enumerate(parts.kinds)]
        self._free = [cells.take(free) for cells, free in zip(joint.cells, parts.free, strict=True)]
        self.grids = [first_grids(each) for each in self._inverse]
        self.c = mode.y[parts.rest] + (0.0 if start is None else start)
        self.correction = self._find()

    def _target(self, at: int, k: Groups) -> GroupTarget:
        """The groups of one kind, c left open."""
        rows = [
            (cells.take(own.rows), np.zeros((*own.where.shape[:-2], len(own.of))), own.entries(cells.entries), own.of)
            for cells, own in zip(self.joint.cells, k.rows, strict=True)
        ]
        target = GroupTarget(self.prior[at], np.zeros(k.columns.shape), rows)
        compiles = self.joint.precision.compiles or sum(len(own.of) for own in k.rows) > COMPILES
        return target.formed(compiles)

    @property
    def start(self) -> np.ndarray:
        """c* − ĉ, for the next θ."""
        return self.c - self.mode.y[self.parts.rest]

    def log_density(self, tables: list[Integrals], outside: np.ndarray) -> np.ndarray:
        """log p(y, c) (n,), relative to Laplace's p(y) times the density of N(c*, S⁻¹) at its mode."""
        groups = sum(each.log_integral.reshape(len(outside), -1).sum(axis=1) for each in tables)
        width = len(self.mode.y) - len(self.c)
        return outside + groups + 0.5 * self.log_det - 0.5 * width * np.log(2.0 * np.pi) - self.mode.value

    def square(self, d: np.ndarray) -> float:
        """dᵀS d."""
        _, along, inner = self._regress(d)
        return inner - sum(float(np.einsum("gi,gij,gj->", r, S, r)) for r, S in zip(along, self._inverse, strict=True))

    def covers(self, move: np.ndarray) -> np.ndarray:
        """(p,) whether the grid of a latent's group reaches from the mode to the mode + move (p,)."""
        reached = np.zeros(len(move), dtype=bool)
        for k, grids in zip(self.parts.kinds, self.grids, strict=True):
            nodes = np.linalg.solve(grids.half, (move[k.columns] - grids.move)[:, :, None])[:, :, 0]
            reached[k.columns] = (np.linalg.norm(nodes, axis=1) < grids.radius)[:, None]
        return reached

    def _regress(self, d: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray], float]:
        """How u's mean moves with c by d, H_uc d, and dᵀH_cc d."""
        v = np.zeros(len(self.mode.y))
        v[self.parts.rest] = d
        r = self.joint.precision.times(self._whole, v)
        along = [r[k.columns] for k in self.parts.kinds]
        moves = [-np.einsum("gij,gj->gi", S, each) for S, each in zip(self._inverse, along, strict=True)]
        return moves, along, float(v @ r)

    def given(self, c: np.ndarray) -> Given:
        """At c (n, q)."""
        joint, q, rest, n = self.joint, self.joint.quadratic, self.parts.rest, len(c)
        y = np.zeros((n, len(self.mode.y)))
        y[:, rest] = c
        etas = [np.stack(each) for each in zip(*(joint.etas(each) for each in y), strict=True)]
        t, outside, moves = np.empty_like(y), np.empty(n), []
        for k in range(n):
            t[k] = q.g + joint.precision.times(q.h, y[k])
            outside[k] = -0.5 * (q.constant + float(y[k] @ (q.g + t[k])))
            moves.append(self._regress(c[k] - self.mode.y[rest])[0])
        for cells, rows, eta in zip(self._free, self.parts.free, etas, strict=True):
            if len(rows):
                outside += [cells.value(each[..., rows]) for each in eta]
        targets, centres = [], []
        for at, k in enumerate(self.parts.kinds):
            offsets = [eta[..., own.rows] for eta, own in zip(etas, k.rows, strict=True)]
            one = self._targets[at].at(t[0][k.columns], [each[0] for each in offsets])
            targets.append(one if n == 1 else one.tile(t[:, k.columns], offsets))
            centres.append(np.concatenate([self.mode.y[k.columns] + each[at] for each in moves]))
        return Given(y, etas, targets, centres, outside)

    def tables(self, given: Given, rng: np.random.Generator, repeats: int) -> list[Integrals]:
        """Of every kind of groups, n times over, with `repeats` draws of each."""
        every = []
        for target, centre, grids in zip(given.targets, given.centres, self.grids, strict=True):
            G, w = centre.shape
            shift, uniforms = rng.uniform(-0.5, 0.5, (G, w)), rng.random((repeats, G))
            every.append(integrate(target, centre, grids.tile(len(given.y)), shift, uniforms))
        return every

    def _settled(self, given: Given) -> list[Integrals]:
        """Tables with E ℓ′ at one c, on grids that are set by it and not shifted."""
        tables = []
        for at, (target, centre) in enumerate(zip(given.targets, given.centres, strict=True)):
            self.grids[at], table = settled(target, centre, self.grids[at])
            tables.append(table)
        return tables

    def slope(self, given: Given, tables: list[Integrals]) -> np.ndarray:
        """∂ log p(y, c)/∂c (q,) = E ∂ log p(y, u, c)/∂c over u given one c."""
        joint, q = self.joint, self.joint.quadratic
        y, total = given.y[0].copy(), np.zeros(given.y.shape[1])
        means = [np.zeros(eta.shape[1:]) for eta in given.etas]
        for table, k in zip(tables, self.parts.kinds, strict=True):
            y[k.columns] = table.mean
            for out, own, each in zip(means, k.rows, table.slopes, strict=True):
                out[..., own.rows] = each
        for at, cells in enumerate(joint.cells):
            rows = self.parts.free[at]
            if len(rows):
                means[at][..., rows] = self._free[at].derivatives(given.etas[at][0][..., rows], 1)[1]
            total += cells.rows.back(cells.entries, means[at])
        return (total - q.g - joint.precision.times(q.h, y))[self.parts.rest]

    def _find(self) -> float:
        """Moves c to the mode of p(y, c); returns log ∫ p(y, c) dc by Laplace's method there, less that of z."""
        rest, slope = self.parts.rest, np.zeros(len(self.mode.y))
        value, gain, best, step = -np.inf, 0.0, self.c, np.zeros(len(self.c))
        for _ in range(MOST_STEPS):
            given = self.given(self.c[None])
            tables = self._settled(given)
            reached = float(self.log_density(tables, given.outside)[0])
            if reached < value - 0.01:  # too far
                step = 0.5 * step
                self.c = best + step
                continue
            value, best = reached, self.c
            if not len(rest):
                break
            slope[rest] = self.slope(given, tables)
            step = self.mode.factor.solve(slope)[rest]
            gain = float(step @ slope[rest])
            if gain < NEAR**2:
                break
            self.c = best + step
        self.c = best
        return value + 0.5 * gain

    def draw(self, n: int, rng: np.random.Generator, repeats: int) -> tuple[np.ndarray, np.ndarray]:
        """y (n, repeats, p) and log weights (n,)."""
        rest, p = self.parts.rest, len(self.mode.y)
        c = self.c + self.mode.factor.unwhiten(proposed(p, len(rest), n, rng))[rest].T
        y, log_w = np.empty((n, repeats, p)), np.empty(n)
        rows = sum(len(own.of) for k in self.parts.kinds for own in k.rows) + self.parts.count
        step = max(1, MOST_CELLS // rows)
        for start in range(0, n, step):
            part = slice(start, start + step)
            given = self.given(c[part])
            tables = self.tables(given, rng, repeats)
            squares = np.array([self.square(each - self.c) for each in c[part]])
            log_w[part] = self.log_density(tables, given.outside) - log_proposal(squares, len(rest))
            y[part][:, :, rest] = c[part][:, None]
            for table, k in zip(tables, self.parts.kinds, strict=True):
                draws = table.draws.reshape(repeats, len(given.y), *k.columns.shape)
                y[part][:, :, k.columns] = draws.swapaxes(0, 1)
        return y, log_w
