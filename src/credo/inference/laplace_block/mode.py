"""Newton's method for the mode of log p(y, z | θ) in z, and what is known there.

Notation: f(y) = −½ (constant + 2 gᵀy + yᵀH₀y) + Σ_i ℓ_i(η_i), η = A z + offset, y = z − centre; W = −ℓ″. Each step
solves H = H₀ + Aᵀ W A; a line search guards it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from credo.errors import NumericalError
from credo.inference.gaussian_block.block import Quadratic
from credo.inference.gaussian_block.singular import not_identified
from credo.inference.laplace_block.rows import Entries, SiteRows
from credo.inference.laplace_block.several import along
from credo.inference.laplace_block.site import Observed, Site
from credo.inference.newton import MAX_HALVINGS, MAX_ITER, SUFFICIENT

__all__ = ["Cells", "Joint", "Mode", "find_mode", "other_modes"]

# The gain in nats that the last step promises: 5e-5 sds over all latents, and the error left is of the order of its
# square.
TOLERANCE = 1e-9
# The weight of a row that is not believed; how far off log scales begin where other modes are looked for.
DISBELIEF, SHIFT = 1e-4, 2.0


class Cells(NamedTuple):
    """A site at given coefficients: A, the offset Σ b c + A centre (n,), or (K, n) for K predictors, and ψ."""

    site: Site | Observed
    rows: SiteRows
    entries: Entries
    offset: np.ndarray
    psi: tuple[Any, ...]

    def eta(self, y: np.ndarray) -> np.ndarray:
        return self.rows.times(self.entries, y) + self.offset

    def derivatives(self, eta: np.ndarray, order: int) -> tuple[np.ndarray, ...]:
        return self.site.law.derivatives(self.site.y, eta, self.psi, order)

    def take(self, rows: np.ndarray) -> Cells:
        """The outcomes of some rows; A and offset are not cut."""
        site = self.site
        psi = tuple(each[rows] if site.psi_rowwise and np.shape(each) == site.y.shape else each for each in self.psi)
        return self._replace(site=site.take(rows), psi=psi)

    def value(self, eta: np.ndarray) -> float:
        """Σ ℓ, −∞ where it is not a number."""
        with np.errstate(invalid="ignore", over="ignore"):
            total = float(np.sum(self.derivatives(eta, 0)[0]))
        return total if total == total else -np.inf


class Point(NamedTuple):
    """y (p,), f there, η and (ℓ, ℓ′, ℓ″) of each site."""

    y: np.ndarray
    value: float
    etas: list[np.ndarray]
    slopes: list[tuple[np.ndarray, ...]]


class Joint(NamedTuple):
    """log p(y, z | θ) as a function of y = z − centre."""

    precision: Any
    quadratic: Quadratic
    cells: list[Cells]
    name: str

    def value(self, y: np.ndarray, etas: list[np.ndarray]) -> float:
        """f."""
        return sum(cells.value(eta) for cells, eta in zip(self.cells, etas, strict=True)) - 0.5 * self.normal(y)

    def values(self, y: np.ndarray) -> np.ndarray:
        """f (n,) at rows of y (n, p)."""
        total = np.array([-0.5 * self.normal(each) for each in y])
        for cells in self.cells:
            with np.errstate(invalid="ignore", over="ignore"):
                total += cells.derivatives(np.stack([cells.eta(each) for each in y]), 0)[0].sum(axis=1)
        return np.where(np.isnan(total), -np.inf, total)

    def normal(self, y: np.ndarray) -> float:
        """constant + 2 gᵀy + yᵀH₀y."""
        q = self.quadratic
        return q.constant + 2.0 * float(q.g @ y) + float(y @ self.precision.times(q.h, y))

    def point(self, y: np.ndarray, etas: list[np.ndarray]) -> Point:
        """f and the slopes, with one pass over the rows."""
        with np.errstate(invalid="ignore", over="ignore"):
            slopes = [cells.derivatives(eta, 2) for cells, eta in zip(self.cells, etas, strict=True)]
            total = sum(float(each[0].sum()) for each in slopes) - 0.5 * self.normal(y)
        return Point(y, total if total == total else -np.inf, etas, slopes)

    def etas(self, y: np.ndarray) -> list[np.ndarray]:
        return [cells.eta(y) for cells in self.cells]

    def curvature(self, weights: list[np.ndarray]) -> np.ndarray:
        """H₀ + Aᵀ W A, assembled."""
        h = self.quadratic.h.copy()
        for cells, each in zip(self.cells, weights, strict=True):
            cells.rows.add(cells.entries, each, h)
        return h


class Mode(NamedTuple):
    """y (p,), f there, H assembled and its factor, η and (ℓ, ℓ′, ℓ″, ℓ‴) of each site."""

    y: np.ndarray
    value: float
    h: np.ndarray
    factor: Any
    etas: list[np.ndarray]
    slopes: list[tuple[np.ndarray, ...]]


def find_mode(joint: Joint, start: np.ndarray | None) -> Mode:
    """From `start` (p,), or from where each cell by itself would have η. Cost: one factor of H a step, 3 to 10 of them.

    Raises `NotIdentifiedError` where H is singular, `NumericalError` where no mode is found.
    """
    if start is not None:
        found = _newton(joint, start)
        if found is not None:
            return found
    found = _newton(joint, _from_cells(joint))
    if found is None:
        raise NumericalError(
            f"{joint.name}: Newton's method found no mode of the latents in {MAX_ITER} steps.",
            remedy="Check the scales of data and priors, or sample this model (inference='nuts').",
        )
    return found


def _newton(joint: Joint, y: np.ndarray) -> Mode | None:
    q, precision = joint.quadratic, joint.precision
    here = joint.point(y, joint.etas(y))
    if not np.isfinite(here.value):
        return None
    for _ in range(MAX_ITER):
        slope = -(q.g + precision.times(q.h, here.y))
        for cells, each in zip(joint.cells, here.slopes, strict=True):
            slope += cells.rows.back(cells.entries, each[1])
        factor = _factor(joint, here)
        step = factor.solve(slope)
        gain = float(slope @ step)
        there = _search(joint, here, step, gain)
        if 0.5 * gain <= max(TOLERANCE, 8.0 * np.finfo(float).eps * abs(here.value)):
            return _at(joint, there or here)
        if there is None:
            return _at(joint, here) if gain <= 1e-8 * (1.0 + abs(here.value)) else None
        here = there
    return None


def _search(joint: Joint, here: Point, step: np.ndarray, gain: float) -> Point | None:
    """At the first of 1, ½, ¼, … of the step at which f gains enough; None where none does."""
    moves = [cells.rows.times(cells.entries, step) for cells in joint.cells]
    rounding = 64.0 * np.finfo(float).eps * (1.0 + abs(here.value))
    for halvings in range(MAX_HALVINGS):
        scale = 0.5**halvings
        etas = [eta + scale * move for eta, move in zip(here.etas, moves, strict=True)]
        there = joint.point(here.y + scale * step, etas)
        if there.value >= here.value + SUFFICIENT * scale * gain - rounding:
            return there
    return None


def _factor(joint: Joint, here: Point) -> Any:
    """Of the curvature here; of one that is safely positive where a law is not log-concave."""
    weights = [-each[2] for each in here.slopes]
    finite = all(np.isfinite(each).all() for each in weights)
    factor = joint.precision.factor(joint.curvature(weights)) if finite else None
    if factor is None:
        weights = [
            cells.site.law.safe_curvature(cells.site.y, eta, cells.psi)
            for cells, eta in zip(joint.cells, here.etas, strict=True)
        ]
        h = joint.curvature(weights)
        factor = joint.precision.factor(h.copy())
        if factor is None:
            raise not_identified(joint.precision.matrix(h), joint.name)
    return factor


def _at(joint: Joint, here: Point) -> Mode:
    """The true curvature at the mode: error where it is not positive."""
    slopes = [cells.derivatives(eta, 3) for cells, eta in zip(joint.cells, here.etas, strict=True)]
    h = joint.curvature([-each[2] for each in slopes])
    factor = joint.precision.factor(h.copy())
    if factor is None:
        raise not_identified(joint.precision.matrix(h), joint.name)
    return Mode(here.y, here.value, h, factor, here.etas, slopes)


def other_modes(joint: Joint, mode: Mode) -> list[Mode]:
    """Modes that are found from elsewhere; none where laws are log-concave there. Cost: as of `find_mode`, each.

    From where the rows far out, at which a law is not log-concave, are believed and the others are not; where a law
    has a log scale, from much smaller and larger ones, which have the rows believed or not.
    """
    laws = [cells.site.law for cells in joint.cells]
    starts: list[tuple[list[Any], float]] = []
    if any(law.predictors > 1 and not law.log_concave for law in laws):
        ones = [np.ones(cells.rows.cells) for cells in joint.cells]
        starts = [(ones, -SHIFT), (ones, SHIFT)]
    far = [each[2] > 0.0 if law.predictors == 1 else np.zeros(1) for law, each in zip(laws, mode.slopes, strict=True)]
    if any(rows.any() for rows in far):
        starts.append(([np.where(rows, 1.0, DISBELIEF) for rows in far], 0.0))
    found = []
    for shares, shift in starts:
        try:
            found.append(_newton(joint, _between_cells(joint, shares, shift)))
        except NumericalError:
            continue
    return [each for each in found if each is not None]


def _from_cells(joint: Joint) -> np.ndarray:
    """Between all cells; 0 where that is no better a start."""
    origin = np.zeros(len(joint.quadratic.g))
    y = _between_cells(joint, [np.ones(cells.rows.cells) for cells in joint.cells])
    return max((y, origin), key=lambda each: joint.value(each, joint.etas(each)))


def _between_cells(joint: Joint, shares: list[np.ndarray], shift: float = 0.0) -> np.ndarray:
    """y where the Normals of all cells about their own best η, each to the power of its share, and the prior have
    their mode; shift : added to the last of several predictors."""
    q, precision = joint.quadratic, joint.precision
    right, weights = -q.g, []
    for cells, share in zip(joint.cells, shares, strict=True):
        law = cells.site.law
        eta = law.initial_eta(cells.site.y)
        if law.predictors > 1:
            eta[-1] += shift
            slope, bend = cells.derivatives(eta, 1)[1], -law.safe_curvature(cells.site.y, eta, cells.psi)
        else:
            _, slope, bend = cells.derivatives(eta, 2)
            bend = np.minimum(bend, -1e-12)
        weight = -share * bend
        weights.append(weight)
        right = right + cells.rows.back(cells.entries, along(weight, eta - cells.offset) + share * slope)
    h = joint.curvature(weights)
    factor = precision.factor(h.copy())
    if factor is None:
        raise not_identified(precision.matrix(h), joint.name)
    return factor.solve(right)
