"""`highest`: where an acquisition function is highest over a cube that may have grids and categories.

1024 even points and perturbations of the best trials are screened; the highest and nine others, drawn by how high they
are, start local searches. Grids are relaxed in these, then rounded, and improved by single steps of a grid or changes
of a level, each followed by a search over what is continuous.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from credo.design.acquisition.functions import Acquisition
from credo.design.acquisition.points import even_points
from credo.design.ascent import ascend
from credo.design.surrogates.cube import Cube, Grid
from credo.errors import ParameterError

__all__ = ["highest", "narrowed"]

CANDIDATES, STARTS = 1024, 10
# Perturbations: of each of so many of the best trials, so many, at each of these sds; a third of the columns move.
AROUND, EACH, WIDTHS = 5, 10, (0.1, 0.02, 0.004)
# All points are looked at where there are no more.
FEW = 4096
# Points nearer than this in every coordinate are the same trial.
SAME = 1e-7
# Rounds of single steps: improvements by more were not seen.
ROUNDS = 20
# What local searches gain beyond, no proposal shows: acquisition functions are in logs or sds.
TOLERANCE = 3e-5
# The first step of a search, as a share of the geometric mean of lengthscales. In units of the lengthscales searches
# were a sixth shorter than in those of the cube, and missed less: .0054 in place of .017 nats in 43 states of studies.
FIRST = 0.1
# Steps by which a search may catch up with the best; None lets all run to their ends. In 36 searches from studies of
# Hartmann's function this halves the evaluations and lost at most .0006 in log EI; on Branin, whose three equal minima
# tie, the regret of 12 of 16 seeds was the same, and the median .3 worse in log10.
RACE = 10.0


def highest(
    acquisition: Acquisition,
    cube: Cube,
    *,
    best: np.ndarray,
    taken: np.ndarray,
    rng: np.random.Generator,
    repeat: bool = False,
    box: tuple[np.ndarray, np.ndarray] | None = None,
    scale: np.ndarray | None = None,
    candidates: int = CANDIDATES,
    starts: int = STARTS,
) -> np.ndarray:
    """The point (d,) where `acquisition` is highest, and that is none of `taken` (m, d).

    best (k, d) : the best trials, best first, to look around
    box : lower and upper bounds (d,) to search within, None for the cube; levels of categories are free in it
    repeat : a space whose points are all taken may be asked again; else `ParameterError`
    scale (d,) : distances over which the acquisition changes alike, as lengthscales of the belief; None for equal ones
    candidates : even points screened; starts : local searches
    """
    cube, low, high = narrowed(cube, box)
    best = cube.snap(np.clip(best, low, high))
    if cube.size <= FEW:
        points = cube.all_points()
        fresh = points[~_among(points, taken)]
        if not len(fresh) and not repeat:
            whole = "space" if box is None else "box"
            raise ParameterError(
                "propose", "X", f"fewer than the {len(points)} points of the {whole}", len(taken),
                "Every point was tried: stop, or state noisy=True to try some again.",
            )  # fmt: skip
        points = fresh if len(fresh) else points
        return points[np.argmax(acquisition.value(points))]
    screened = cube.snap(np.concatenate([
        low + (high - low) * even_points(candidates, cube.d, rng), _around(best[:AROUND], low, high, rng), best[:1]
    ]))  # fmt: skip
    seen = acquisition.value(screened)
    begun = screened[_chosen(seen, starts, rng)]
    movable = np.zeros(cube.d, dtype=bool)
    movable[cube.ordered] = True
    scale = np.ones(cube.d) if scale is None else scale
    points, values = _ascend(acquisition, begun, movable, low, high, scale)
    if _among(points[[np.argmax(values)]], taken)[0]:  # it won over searches that are needed now
        points, values = _ascend(acquisition, begun, movable, low, high, scale, race=None)
    if not cube.is_continuous:
        points = cube.snap(points)
        points, values = _discrete(acquisition, cube, np.concatenate([points, begun]), taken, low, high, scale)
    # All searches may end on a trial that was made; what was screened beside it is then worth more than the next best.
    points, values = np.concatenate([points, screened]), np.concatenate([values, seen])
    order = np.argsort(-values, kind="stable")
    for part in (order[:50], order[50:]):
        fresh = part[~_among(points[part], taken)]
        if fresh.size:
            return points[fresh[0]]
    return cube.snap(low + (high - low) * rng.random((1, cube.d)))[0]


def narrowed(cube: Cube, box: tuple[np.ndarray, np.ndarray] | None) -> tuple[Cube, np.ndarray, np.ndarray]:
    """The part of the cube in a box, with bounds of its columns.

    Grids keep their values in the box, or the one nearest to its middle if there is none; groups keep all levels.

    >>> part, low, high = narrowed(Cube(1, (Grid.of(0, 5),)), (np.array([0.3]), np.array([0.8])))
    >>> part.grids[0].values, low.tolist(), high.tolist()
    ((0.5, 0.75), [0.5], [0.75])
    """
    if box is None:
        return cube, np.zeros(cube.d), np.ones(cube.d)
    low, high = box[0].copy(), box[1].copy()
    grouped = [column for group in cube.groups for column in group]
    low[grouped], high[grouped] = 0.0, 1.0
    grids = []
    for column, values in cube.values.items():
        inside = values[(values >= low[column] - SAME) & (values <= high[column] + SAME)]
        if not inside.size:
            inside = values[[np.argmin(np.abs(values - 0.5 * (low[column] + high[column])))]]
        low[column], high[column] = inside[0], inside[-1]
        grids.append(Grid(column, tuple(inside.tolist())))
    return replace(cube, grids=tuple(grids)), low, high


def _ascend(
    acquisition: Acquisition, starts: np.ndarray, movable: np.ndarray, low: np.ndarray, high: np.ndarray,
    scale: np.ndarray, race: float | None = RACE,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Local searches over the movable columns (d,) of starts (m, d), in coordinates divided by scale (d,)."""
    if not movable.any():
        return starts, acquisition.value(starts)
    all_move, unit = bool(movable.all()), scale[movable]

    def objective(parts: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        X = parts * unit
        if not all_move:
            X = starts[which]
            X[:, movable] = parts * unit
        value, slopes = acquisition.value_and_slopes(X)
        return value, (slopes if all_move else slopes[:, movable]) * unit

    edges = (edge[movable] / unit for edge in (low, high))
    found, values = ascend(objective, starts[:, movable] / unit, *edges, tol=TOLERANCE, race=race, first=FIRST)
    points = starts.copy()
    points[:, movable] = np.clip(found * unit, low[movable], high[movable])
    return points, values


def _around(best: np.ndarray, low: np.ndarray, high: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Perturbations of the best trials, in a third of the columns each."""
    centres = np.tile(best, (EACH * len(WIDTHS), 1))
    widths = np.repeat(WIDTHS, EACH * len(best))[:, None] * (high - low)
    moves = rng.random(centres.shape) < 1.0 / 3.0
    moves[np.arange(len(centres)), rng.integers(centres.shape[1], size=len(centres))] = True
    return np.clip(centres + widths * moves * rng.standard_normal(centres.shape), low, high)


def _chosen(values: np.ndarray, starts: int, rng: np.random.Generator) -> np.ndarray:
    """Numbers (≤ starts,) of candidates to start from: the highest, and others with weight e^(standardised value)."""
    values = np.where(np.isfinite(values), values, -np.inf)
    top = int(np.argmax(values))
    finite = np.flatnonzero(np.isfinite(values))
    if finite.size <= starts:
        return finite if finite.size else np.array([top])
    z = (values[finite] - values[finite].mean()) / max(float(values[finite].std()), 1e-12)
    gumbel = np.minimum(z, 30.0) + rng.gumbel(size=finite.size)
    others = finite[np.argsort(-gumbel)[:starts]]
    return np.concatenate([[top], others[others != top][: starts - 1]])


def _discrete(
    acquisition: Acquisition, cube: Cube, points: np.ndarray, taken: np.ndarray, low: np.ndarray, high: np.ndarray,
    scale: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Steps of grids and changes of levels from the three best of the points, while they gain; untaken ones first."""
    values = np.where(_among(points, taken), -np.inf, acquisition.value(points))
    order = np.argsort(-values, kind="stable")[:3]
    points, values = points[order], values[order]
    movable = np.zeros(cube.d, dtype=bool)
    movable[cube.continuous] = True
    for _ in range(ROUNDS):
        improved = False
        for i in range(len(points)):
            near = cube.snap(np.clip(cube.neighbours(points[i]), low, high))
            near = near[~_among(near, taken)]
            if not len(near):
                continue
            found = acquisition.value(near)
            j = int(np.argmax(found))
            if found[j] > values[i] + TOLERANCE:
                points[i], values[i], improved = near[j], found[j], True
        if movable.any():
            moved, found = _ascend(acquisition, points, movable, low, high, scale)
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
