"""Points worth considering for a page: even ones, some near what is liked, some where mean + β sd is highest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from credo.design.ascent import ascend
from credo.design.spaces import Choice, Constant, Integer, Ordinal, Real, Space
from credo.design.tastes.answers import Point
from credo.design.tastes.prior import columns_of_kinds, rows_of

if TYPE_CHECKING:
    from credo.design.tastes.belief import TasteBelief

__all__ = ["around", "box_of", "climbed", "pool_of"]

# Even points; perturbations of each of the best seen, at each width; a third of the parameters move.
EVEN, BEST, EACH, WIDTHS = 512, 6, 12, (0.2, 0.06)
# What searches climb: from the best mean to the largest uncertainty worth having, so many starts each.
BETAS, STARTS = (0.0, 0.7, 1.5, 3.0), 4
# Of a joint draw over so many points, the factor takes some ten milliseconds.
MOST = 320


def pool_of(
    belief: TasteBelief, space: Space, rng: np.random.Generator, *, even: int = EVEN, most: int = MOST
) -> np.ndarray:
    """At most `most` different encoded points (n, width) of `space`, a part of the belief's."""
    X = belief.space.encode(space.design(even, rng)).X
    if not belief.answers and not belief.people:
        return np.unique(X, axis=0)[:most]
    seen = liked(belief, space)[:BEST]
    begun = np.concatenate([X, around(belief, space, [belief.points[i] for i in seen], WIDTHS, EACH, rng)])
    mean, sd = belief.liking_at(begun)
    starts, betas = [], []
    for beta in BETAS:
        starts.append(begun[np.argsort(-(mean + beta * sd), kind="stable")[:STARTS]])
        betas.append(np.full(len(starts[-1]), beta))
    found = climbed(belief, space, np.concatenate(starts), np.concatenate(betas))
    X = np.unique(np.concatenate([begun, found]), axis=0)
    return X if len(X) <= most else X[_varied(*belief.liking_at(X), most)]


def liked(belief: TasteBelief, space: Space) -> list[int]:
    """Numbers of the points that answers named and that `space` has, best first."""
    has = _member(belief.space, space)
    return [i for i in np.argsort(-belief.likings[0], kind="stable").tolist() if has(belief.points[i])]


def _member(whole: Space, space: Space) -> Callable[[Point], bool]:
    """Whether `space` has a point of the whole: where it differs in ranges alone, these alone are looked at."""
    if space is whole:
        return lambda point: True
    if space.constraints != whole.constraints:
        return space.contains
    changed = {name: part for name, part in space.parameters.items() if part is not whole.parameters[name]}
    return lambda point: all(part.contains(point[name]) for name, part in changed.items() if name in point)


def around(
    belief: TasteBelief, space: Space, centres: Sequence[Point], widths: Sequence[float], each: int,
    rng: np.random.Generator,
) -> np.ndarray:  # fmt: skip
    """Encoded perturbations of points: `each` of every centre at every width, a third of the parameters moved."""
    if not centres:
        return np.zeros((0, belief.space.width))
    ordered, groups = columns_of_kinds(belief.space)
    low, high = box_of(belief.space, space)
    X = np.tile(belief.space.encode(list(centres)).X, (each * len(widths), 1))
    size = np.repeat(np.asarray(widths), each * len(centres))[:, None]
    moves = rng.random((len(X), ordered.size)) < 1.0 / 3.0
    if ordered.size:
        moves[np.arange(len(X)), rng.integers(ordered.size, size=len(X))] = True
    step = size * (high - low)[ordered] * moves * rng.standard_normal(moves.shape)
    X[:, ordered] = np.clip(X[:, ordered] + step, low[ordered], high[ordered])
    for columns in groups:
        # a change of level is a large step: rarer where steps are small
        change = np.flatnonzero(rng.random(len(X)) < size[:, 0])
        allowed = columns[high[columns] > 0.0]
        X[np.ix_(change, columns)] = 0.0
        X[change, rng.choice(allowed, size=change.size)] = 1.0
    return settled(belief.space, space, X)


def climbed(belief: TasteBelief, space: Space, starts: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """Where mean + β sd is locally highest from encoded starts (n, width), over what is ordered; put back into `space`.

    Points that break a constraint are left out.
    """
    ordered, _ = columns_of_kinds(belief.space)
    low, high = box_of(belief.space, space)
    movable = ordered[high[ordered] > low[ordered]]
    if not movable.size or not len(starts):
        return starts
    rows = rows_of(belief.space, starts)
    places = np.searchsorted(ordered, movable)

    def objective(parts: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        R = rows[which].copy()
        R[:, places] = parts
        value, slopes = belief.bound_and_slopes(R, beta[which])
        return value, slopes[:, places]

    found, _ = ascend(objective, starts[:, movable], low[movable], high[movable], max_iter=25, tol=1e-4)
    X = starts.copy()
    X[:, movable] = found
    return settled(belief.space, space, X)


def settled(whole: Space, space: Space, X: np.ndarray) -> np.ndarray:
    """The nearest points of the space to coordinates, without those that `space` does not have."""
    points = whole.decode(X)
    if space is not whole or whole.constraints:
        points = [point for point in points if space.contains(point)]
    return whole.encode(points).X if points else np.zeros((0, whole.width))


def box_of(whole: Space, space: Space) -> tuple[np.ndarray, np.ndarray]:
    """Bounds (width,) of the part's points in the whole's encoding."""
    low, high, start = np.zeros(whole.width), np.ones(whole.width), 0
    for name, parameter in whole.parameters.items():
        columns, start = slice(start, start + parameter.width), start + parameter.width
        part = space.parameters[name]
        if part is parameter or not parameter.width:
            continue
        if isinstance(part, Constant):
            values = [part.value]
        elif isinstance(part, (Choice, Ordinal)):
            values = list(part.choices)
        else:
            assert isinstance(part, (Real, Integer))
            values = [part.low, part.high]
        ends = parameter.to_unit(values)
        low[columns], high[columns] = ends.min(axis=0), ends.max(axis=0)
    return low, high


def _varied(mean: np.ndarray, sd: np.ndarray, most: int) -> np.ndarray:
    """Numbers of points that are high for some β, the same share for each."""
    orders = [np.argsort(-(mean + beta * sd), kind="stable") for beta in (*BETAS, 1e3)]
    merged = np.stack(orders, axis=1).ravel()
    _, first = np.unique(merged, return_index=True)
    return merged[np.sort(first)][:most]
