"""`highest`: where an acquisition function is highest over a cube that may have grids and categories.

2048 even points and perturbations of the best trials are screened; the highest and nine others, drawn by how high they
are, start local searches. Grids are relaxed in these, then rounded, and improved by single steps of a grid or changes
of a level, each followed by a search over what is continuous.
"""

from __future__ import annotations

import numpy as np

from credo.design.acquisition.ascent import ascend
from credo.design.acquisition.functions import Acquisition
from credo.design.acquisition.points import even_points
from credo.design.surrogates.cube import Cube
from credo.errors import ParameterError

__all__ = ["highest"]

CANDIDATES, STARTS = 2048, 10
# Perturbations: of each of so many of the best trials, so many, at each of these sds; a third of the columns move.
AROUND, EACH, WIDTHS = 5, 10, (0.1, 0.02, 0.004)
# All points are looked at where there are no more.
FEW = 4096
# Points nearer than this in every coordinate are the same trial.
SAME = 1e-7
# Rounds of single steps: improvements by more were not seen.
ROUNDS = 20
# What local searches gain beyond, no proposal shows: acquisition functions are in logs or sds.
TOLERANCE = 1e-5


def highest(
    acquisition: Acquisition,
    cube: Cube,
    *,
    best: np.ndarray,
    taken: np.ndarray,
    rng: np.random.Generator,
    repeat: bool = False,
    box: tuple[np.ndarray, np.ndarray] | None = None,
) -> np.ndarray:
    """The point (d,) where `acquisition` is highest, and that is none of `taken` (m, d).

    best (k, d) : the best trials, best first, to look around; box : lower and upper bounds (d,), None for the cube
    repeat : a space whose points are all taken may be asked again; else `ParameterError`
    """
    low, high = (np.zeros(cube.d), np.ones(cube.d)) if box is None else box
    if cube.size <= FEW:
        points = cube.all_points()
        fresh = points[~_among(points, taken)]
        if not len(fresh) and not repeat:
            raise ParameterError(
                "propose", "X", f"fewer than the {len(points)} points of the space", len(taken),
                "Every point was tried: stop, or state noisy=True to try some again.",
            )  # fmt: skip
        points = fresh if len(fresh) else points
        return points[np.argmax(acquisition.value(points))]
    candidates = cube.snap(np.concatenate([
        low + (high - low) * even_points(CANDIDATES, cube.d, rng), _around(best[:AROUND], low, high, rng), best[:1]
    ]))  # fmt: skip
    values = acquisition.value(candidates)
    starts = candidates[_chosen(values, rng)]
    movable = np.zeros(cube.d, dtype=bool)
    movable[cube.ordered] = True
    points, values = _ascend(acquisition, starts, movable, low, high)
    if not cube.is_continuous:
        points = cube.snap(points)
        points, values = _discrete(acquisition, cube, np.concatenate([points, starts]), taken, low, high)
    order = np.argsort(-values, kind="stable")
    fresh = order[~_among(points[order], taken)]
    if fresh.size:
        return points[fresh[0]]
    again = np.concatenate([points[order], candidates])
    fresh = np.flatnonzero(~_among(again, taken))
    return again[fresh[0]] if fresh.size else cube.snap(low + (high - low) * rng.random((1, cube.d)))[0]


def _ascend(
    acquisition: Acquisition, starts: np.ndarray, movable: np.ndarray, low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Local searches over the movable columns (d,) of starts (m, d)."""
    if not movable.any():
        return starts, acquisition.value(starts)
    rest = ~movable

    def objective(parts: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        X = np.empty((len(parts), movable.size))
        X[:, movable], X[:, rest] = parts, starts[which][:, rest]
        value, slopes = acquisition.value_and_slopes(X)
        return value, slopes[:, movable]

    found, values = ascend(objective, starts[:, movable], low[movable], high[movable], tol=TOLERANCE)
    points = starts.copy()
    points[:, movable] = found
    return points, values


def _around(best: np.ndarray, low: np.ndarray, high: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Perturbations of the best trials, in a third of the columns each."""
    centres = np.tile(best, (EACH * len(WIDTHS), 1))
    widths = np.repeat(WIDTHS, EACH * len(best))[:, None] * (high - low)
    moves = rng.random(centres.shape) < 1.0 / 3.0
    moves[np.arange(len(centres)), rng.integers(centres.shape[1], size=len(centres))] = True
    return np.clip(centres + widths * moves * rng.standard_normal(centres.shape), low, high)


def _chosen(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Numbers (≤ `STARTS`,) of candidates to start from: the highest, and others with weight e^(standardised value)."""
    values = np.where(np.isfinite(values), values, -np.inf)
    top = int(np.argmax(values))
    finite = np.flatnonzero(np.isfinite(values))
    if finite.size <= STARTS:
        return finite if finite.size else np.array([top])
    z = (values[finite] - values[finite].mean()) / max(float(values[finite].std()), 1e-12)
    gumbel = np.minimum(z, 30.0) + rng.gumbel(size=finite.size)
    others = finite[np.argsort(-gumbel)[:STARTS]]
    return np.concatenate([[top], others[others != top][: STARTS - 1]])


def _discrete(
    acquisition: Acquisition, cube: Cube, points: np.ndarray, taken: np.ndarray, low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Steps of grids and changes of levels from the three best of the points, while they gain; untaken ones first."""
    values = np.where(_among(points, taken), -np.inf, acquisition.value(points))
    order = np.argsort(-values, kind="stable")[:3]
    points, values = points[order], values[order]
    movable = np.zeros(cube.d, dtype=bool)
    movable[cube.continuous] = True
    for _ in range(ROUNDS):
        improved = False
        for i in range(len(points)):
            near = cube.neighbours(points[i])
            near = near[np.all((near >= low) & (near <= high), axis=1) & ~_among(near, taken)]
            if not len(near):
                continue
            found = acquisition.value(near)
            j = int(np.argmax(found))
            if found[j] > values[i] + TOLERANCE:
                points[i], values[i], improved = near[j], found[j], True
        if movable.any():
            moved, found = _ascend(acquisition, points, movable, low, high)
            better = found > values + TOLERANCE
            points, values = np.where(better[:, None], moved, points), np.where(better, found, values)
        if not improved:
            break
    return points, values


def _among(points: np.ndarray, taken: np.ndarray) -> np.ndarray:
    """(m,) whether each point (m, d) is one of `taken`."""
    if not len(points) or not len(taken):
        return np.zeros(len(points), dtype=bool)
    from scipy.spatial.distance import cdist

    return cdist(points, taken, "chebyshev").min(axis=1) <= SAME
