"""Points to look at: even ones, and neighbours of good ones. A forest has no slopes to climb.

A candidate is a row (parameters,) of [0, 1], what `Space.from_uniform` reads: an inactive parameter has a value there
too, which comes to count when the parameter it hangs on changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, NamedTuple

import numpy as np

from credo.design.forest.table import Table
from credo.design.spaces import Constant
from credo.design.spaces.choices import Choice

__all__ = ["Looked", "best_of", "look"]

# Even points; of them and of trials, so many start a local search, of at most so many rounds.
EVEN, STARTS, ROUNDS = 1024, 8, 8
# Neighbours in each numeric parameter, at sds drawn log-uniformly between; in each category at most so many.
EACH, NARROW, WIDE = 4, 0.005, 0.3
CATEGORIES = 8


class Looked(NamedTuple):
    """Candidates U (m, parameters), their points, and what they are worth (m,)."""

    U: np.ndarray
    points: list[dict[str, Any]]
    worth: np.ndarray


Worth = Callable[[np.ndarray, Sequence[Mapping[str, Any]]], np.ndarray]


def look(table: Table, U: np.ndarray, worth: Worth, taken: Set[tuple[Any, ...]]) -> Looked:
    """The candidates that are points of the space, not `taken`, and none of them twice. worth : of columns (m, k)
    and points."""
    kept, points, seen = [], [], set(taken)
    for i, point in enumerate(table.space.from_uniform(U)):
        key = table.space.key(point)
        if key not in seen and table.space.feasible(point):
            seen.add(key)
            kept.append(i)
            points.append(point)
    return Looked(U[kept], points, worth(table.columns(points), points) if points else np.empty(0))


def best_of(
    table: Table, good: np.ndarray, worth: Worth, taken: Set[tuple[Any, ...]], rng: np.random.Generator
) -> Looked:
    """Candidates of which the best is found: even ones, then climbs from the best of these and from around `good` rows
    (best trials), each to a better neighbour while there is one."""
    from credo.design.acquisition.points import even_points

    width = len(table.space.parameters)
    around = np.concatenate([neighbours(table, row, rng) for row in good]) if len(good) else np.empty((0, width))
    found = look(table, np.concatenate([even_points(EVEN, width, rng), around]), worth, taken)
    if not found.points:
        return found
    order = np.argsort(-found.worth, kind="stable")[:STARTS]
    current = Looked(found.U[order], [found.points[i] for i in order], found.worth[order])
    for _ in range(ROUNDS):
        near = [neighbours(table, row, rng) for row in current.U]
        owner = np.repeat(np.arange(len(near)), [len(rows) for rows in near])
        tried = _looked_by_owner(table, np.concatenate(near), owner, worth, taken)
        better = tried.worth > current.worth + 1e-9
        if not better.any():
            break
        current = Looked(
            np.where(better[:, None], tried.U, current.U),
            [new if up else old for up, new, old in zip(better, tried.points, current.points)],
            np.where(better, tried.worth, current.worth),
        )
    return current


def _looked_by_owner(
    table: Table, U: np.ndarray, owner: np.ndarray, worth: Worth, taken: Set[tuple[Any, ...]]
) -> Looked:
    """For each owner its best candidate; worth −∞ where it has none."""
    points = table.space.from_uniform(U)
    values = worth(table.columns(points), points)
    best = []
    for own in np.split(np.arange(len(U)), np.flatnonzero(np.diff(owner)) + 1):
        order = own[np.argsort(-values[own], kind="stable")]
        new = (i for i in order.tolist() if table.space.key(points[i]) not in taken and table.space.feasible(points[i]))
        best.append(next(new, -1))
    found = np.array(best)
    return Looked(U[found], [points[i] for i in best], np.where(found >= 0, values[found], -np.inf))


def neighbours(table: Table, row: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Rows (m, parameters) that differ from one in a parameter, active or not."""
    found = []
    for j, parameter in enumerate(table.space.parameters.values()):
        if isinstance(parameter, Constant):
            continue
        if isinstance(parameter, Choice):
            k = len(parameter.choices)
            values = (rng.permutation(k)[:CATEGORIES] + 0.5) / k
        else:
            sd = NARROW * (WIDE / NARROW) ** rng.random(EACH)
            if np.isfinite(parameter.count):  # at least a step, on average
                sd = np.maximum(sd, 1.0 / parameter.count)
            values = np.clip(row[j] + sd * rng.standard_normal(EACH), 0.0, 1.0)
        rows = np.tile(row, (len(values), 1))
        rows[:, j] = values
        found.append(rows)
    return np.concatenate(found) if found else row[None]
