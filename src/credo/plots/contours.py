"""Where a surface over a grid crosses a level: lines along it, and the region above it.

Notation
    x (m,), y (k,) increasing; values (k, m) at (x_i, y_j), between which the surface is taken to be linear
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

__all__ = ["contour", "superlevel", "thinned"]

#: an edge of the grid: (along x or y, row, column) of its lower left end
Edge = tuple[int, int, int]
# Corners of a cell in turn, as (row, column) from its lower left, and the edges between them.
CORNERS = ((0, 0), (0, 1), (1, 1), (1, 0))
EDGES: tuple[Edge, ...] = ((0, 0, 0), (1, 0, 1), (0, 1, 0), (1, 0, 0))


def contour(x: np.ndarray, y: np.ndarray, values: np.ndarray, level: float) -> list[np.ndarray]:
    """Lines (p, 2) on which the surface is at `level`, by marching squares; closed ones end where they start.

    Cost: a loop over the cells that a line crosses.

    >>> line, = contour(np.arange(3.0), np.arange(3.0), np.add.outer(np.arange(3.0), np.zeros(3)), 0.5)
    >>> line.tolist()
    [[0.0, 0.5], [1.0, 0.5], [2.0, 0.5]]
    """
    neighbours: dict[Edge, list[Edge]] = {}
    for a, b in _pieces(values, level):
        neighbours.setdefault(a, []).append(b)
        neighbours.setdefault(b, []).append(a)
    ends = [edge for edge, others in neighbours.items() if len(others) == 1]
    lines = []
    for start in (*ends, *neighbours):
        if not neighbours[start]:
            continue
        chain = [start]
        while neighbours[chain[-1]]:
            following = neighbours[chain[-1]].pop()
            neighbours[following].remove(chain[-1])
            chain.append(following)
        lines.append(np.array([_crossing(edge, x, y, values, level) for edge in chain]))
    return lines


def _pieces(values: np.ndarray, level: float) -> Iterator[tuple[Edge, Edge]]:
    """Pairs of edges that the line joins across a cell."""
    above = values >= level
    total = above[:-1, :-1].astype(int) + above[:-1, 1:] + above[1:, :-1] + above[1:, 1:]
    for j, i in np.argwhere((total > 0) & (total < 4)):
        corners = [bool(above[j + dj, i + di]) for dj, di in CORNERS]
        crossed = [
            (way, int(j + dj), int(i + di))
            for k, (way, dj, di) in enumerate(EDGES)
            if corners[k] != corners[(k + 1) % 4]
        ]
        if len(crossed) == 4 and corners[0] != (values[j : j + 2, i : i + 2].mean() >= level):
            crossed = [crossed[3], *crossed[:3]]  # a saddle: the first corner is cut off from the middle
        yield from zip(crossed[::2], crossed[1::2], strict=True)


def _crossing(edge: Edge, x: np.ndarray, y: np.ndarray, values: np.ndarray, level: float) -> tuple[float, float]:
    way, j, i = edge
    first, second = values[j, i], values[j + (way == 1), i + (way == 0)]
    t = (level - first) / (second - first)
    if way == 0:
        return float(x[i] + t * (x[i + 1] - x[i])), float(y[j])
    return float(x[i]), float(y[j] + t * (y[j + 1] - y[j]))


#: bands as they grow: x, lower, upper
Growing = tuple[list[float], list[float], list[float]]
Interval = tuple[float, float]


# Where an interval moves by more cells than this from one column to the next, the step is taken in so many parts.
STEEP, BETWEEN = 2.0, 8


def superlevel(
    x: np.ndarray, y: np.ndarray, values: np.ndarray, level: float
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """The region where the surface is at `level` or above, as bands (x, lower, upper) that overlap nowhere.

    Intervals of neighbouring columns that meet form a band. Where one meets two, it is cut between them: the wider goes
    on as the band, the other begins or ends at its share of the cut.

    >>> ridge = np.minimum.outer([0.0, 2.0, 0.0], [2.0, 2.0])
    >>> [[list(map(float, each)) for each in band] for band in superlevel(np.arange(2.0), np.arange(3.0), ridge, 1.0)]
    [[[0.0, 1.0], [0.5, 0.5], [1.5, 1.5]]]
    """
    x, values, columns = _refined(x, y, values, level)
    done: list[Growing] = []
    growing: list[Growing] = []
    for i, now in enumerate(columns):
        before = columns[i - 1] if i else []
        after: list[Growing] = [([], [], []) for _ in now]
        meets = [[a[0] <= b[1] and b[0] <= a[1] for b in now] for a in before]
        for a, band in enumerate(growing):
            children = [b for b in range(len(now)) if meets[a][b]]
            if not children:
                _add(band, *_tip(x, y, values, i - 1, i, before[a], level))
                done.append(band)
                continue
            shares = _shares([now[b] for b in children], before[a])
            widest = max(children, key=lambda b: now[b][1] - now[b][0])
            for b, share in zip(children, shares, strict=True):
                parents = [k for k in range(len(before)) if meets[k][b]]
                mine = band if b == widest else ([], [], [])
                if len(children) > 1:
                    _add(mine, x[i - 1], *share)
                if a == max(parents, key=lambda k: before[k][1] - before[k][0]):
                    after[b] = mine
                if len(parents) > 1:
                    _add(mine, x[i], *_shares([before[k] for k in parents], now[b])[parents.index(a)])
                    if after[b] is not mine:
                        done.append(mine)
        for b, interval in enumerate(now):
            if i and not any(row[b] for row in meets):
                _add(after[b], *_tip(x, y, values, i, i - 1, interval, level))
            _add(after[b], x[i], *interval)
        growing = after
    return [(np.array(a), np.array(b), np.array(c)) for a, b, c in (*done, *growing) if len(a) > 1]


def _refined(
    x: np.ndarray, y: np.ndarray, values: np.ndarray, level: float
) -> tuple[np.ndarray, np.ndarray, list[list[Interval]]]:
    """x, values (k, m) and the intervals of each column, with more columns where the rim of the region runs along y."""
    columns = [_intervals(y, column, level) for column in values.T]
    step = STEEP * (y[-1] - y[0]) / (y.size - 1)
    steep = [
        len(a) != len(b) or any(np.abs(np.subtract(p, q)).max() > step for p, q in zip(a, b, strict=True))
        for a, b in itertools.pairwise(columns)
    ]
    if not any(steep):
        return x, values, columns
    at = [i + np.arange(BETWEEN if abrupt else 1) / (BETWEEN if abrupt else 1) for i, abrupt in enumerate(steep)]
    place = np.concatenate([*at, [float(x.size - 1)]])
    low = np.minimum(place.astype(int), x.size - 2)
    share = place - low
    fine = x[low] + share * (x[low + 1] - x[low])
    between = values[:, low] + share * (values[:, low + 1] - values[:, low])
    return fine, between, [_intervals(y, column, level) for column in between.T]


def _tip(
    x: np.ndarray, y: np.ndarray, values: np.ndarray, inside: int, outside: int, interval: Interval, level: float
) -> tuple[float, float, float]:
    """Where the region ends beyond its last interval: a point."""
    rows = np.flatnonzero((y >= interval[0]) & (y <= interval[1]))
    j = int(rows[np.argmax(values[rows, outside])])
    t = (values[j, inside] - level) / (values[j, inside] - values[j, outside])
    return float(x[inside] + t * (x[outside] - x[inside])), float(y[j]), float(y[j])


def _add(band: Growing, *point: float) -> None:
    for values, value in zip(band, point, strict=True):
        values.append(float(value))


def _intervals(y: np.ndarray, column: np.ndarray, level: float) -> list[Interval]:
    """Where a column of the surface is at the level or above, in order."""
    above = np.concatenate([[False], column >= level, [False]])
    starts, stops = np.flatnonzero(~above[:-1] & above[1:]), np.flatnonzero(above[:-1] & ~above[1:]) - 1

    def crossing(inside: int, outside: int) -> float:
        if not 0 <= outside < y.size:
            return float(y[inside])
        t = (column[inside] - level) / (column[inside] - column[outside])
        return float(y[inside] + t * (y[outside] - y[inside]))

    return [(crossing(a, a - 1), crossing(b, b + 1)) for a, b in zip(starts.tolist(), stops.tolist(), strict=True)]


def _shares(parts: list[Interval], whole: Interval) -> list[Interval]:
    """The whole interval cut in the middle of the gaps between parts."""
    gaps = [0.5 * (a[1] + b[0]) for a, b in itertools.pairwise(parts)]
    cuts = [whole[0], *np.clip(gaps, *whole).tolist(), whole[1]]
    return list(itertools.pairwise(cuts))


def thinned(points: np.ndarray, tolerance: float, times: int = 4) -> np.ndarray:
    """Points (p, c) without those that lie within `tolerance` of the chord between their neighbours.

    Every second one may go, up to `times` times; ends stay.

    >>> thinned(np.column_stack([np.arange(9.0), np.zeros(9)]), 1e-3)[:, 0].tolist()
    [0.0, 8.0]
    """
    for _ in range(times):
        inner = np.arange(1, len(points) - 1, 2)
        if not inner.size:
            break
        start, along = points[inner - 1], points[inner + 1] - points[inner - 1]
        away, length = points[inner] - start, np.maximum(np.square(along).sum(axis=1), 1e-300)
        share = np.clip(np.sum(away * along, axis=1) / length, 0.0, 1.0)
        far = np.sqrt(np.square(away - share[:, None] * along).sum(axis=1)) > tolerance
        kept = np.ones(len(points), dtype=bool)
        kept[inner] = far
        points = points[kept]
    return points
