"""Layers of a directed acyclic graph, ordered so that few arrows cross."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

__all__ = ["Layered", "crossings", "layered"]

# Sweeps down and up, from so many first orders where that is cheap: each ends where no exchange of neighbours helps.
SWEEPS, STARTS, SMALL = 12, 6, 120


@dataclass(frozen=True)
class Layered:
    """layers : items from left to right, top layer first; items 0 … n − 1 are nodes, the others bends of long arrows

    links : (above, below) items in adjacent layers; routes : (parent, child) → the items that the arrow passes
    """

    layers: tuple[tuple[int, ...], ...]
    links: tuple[tuple[int, int], ...]
    routes: Mapping[tuple[int, int], tuple[int, ...]]


def layered(parents: Sequence[Sequence[int]], order: Sequence[int]) -> Layered:
    """Layers of nodes with these parents; `order` has parents before children.

    Every arrow points down. A node stands below its lowest parent; those with more children than parents are then
    lowered towards these, which shortens arrows. An arrow over several layers gets a bend in each. Within a layer,
    items are sorted by the mean place of their neighbours above, then below, and so on, and neighbours change places
    where that helps; the order with the fewest crossings is kept, from several first orders on small graphs.

    Cost O(sweeps × links log links), and some more for exchanges.

    References
    ----------
    Sugiyama, Tagawa and Toda (1981), Methods for visual understanding of hierarchical system structures, IEEE Trans.
    SMC 11; Gansner, Koutsofios, North and Vo (1993), A technique for drawing directed graphs, IEEE Trans. SE 19.

    >>> layered([(), (0,), (0, 1)], [0, 1, 2]).layers  # 0 → 2 bends at item 3
    ((0,), (1, 3), (2,))
    """
    level = _levels(parents, order)
    layers: list[list[int]] = [[] for _ in range(max(level) + 1)]
    for node in order:
        layers[level[node]].append(node)
    links, routes, count = [], {}, len(parents)
    for child, family in enumerate(parents):
        for parent in family:
            route = [parent]
            for between in range(level[parent] + 1, level[child]):
                layers[between].append(count)
                route.append(count)
                count += 1
            route.append(child)
            links += list(pairwise(route))
            routes[parent, child] = tuple(route)
    return Layered(_ordered(layers, links), tuple(links), routes)


def _levels(parents: Sequence[Sequence[int]], order: Sequence[int]) -> list[int]:
    level, children = [0] * len(parents), [[] for _ in parents]
    for node in order:
        level[node] = max((level[p] + 1 for p in parents[node]), default=0)
        for p in parents[node]:
            children[p].append(node)
    for node in reversed(order):
        if len(children[node]) > len(parents[node]):
            level[node] = min(level[c] for c in children[node]) - 1
    return level


def crossings(above: Sequence[int], below: Sequence[int], links: Sequence[tuple[int, int]]) -> int:
    """How often links between two layers in these orders cross.

    >>> crossings([0, 1], [2, 3], [(0, 3), (1, 2)])
    1
    """
    first = {item: i for i, item in enumerate(above)}
    second = {item: i for i, item in enumerate(below)}
    pairs = sorted((first[a], second[b]) for a, b in links)
    ends = np.array([b for _, b in pairs])
    starts = np.array([a for a, _ in pairs])
    # A later start with a smaller end.
    return int(np.sum((starts[:, None] < starts) & (ends[:, None] > ends)))


def _ordered(layers: list[list[int]], links: list[tuple[int, int]]) -> tuple[tuple[int, ...], ...]:
    up: dict[int, list[int]] = {item: [] for layer in layers for item in layer}
    down: dict[int, list[int]] = {item: [] for layer in layers for item in layer}
    for a, b in links:
        down[a].append(b)
        up[b].append(a)
    between = [[(a, b) for a in layer for b in down[a]] for layer in layers[:-1]]

    def total() -> int:
        return sum(crossings(layers[i], layers[i + 1], between[i]) for i in range(len(between)))

    best, fewest = [list(layer) for layer in layers], total()
    rng = np.random.default_rng(0)
    for start in range(STARTS if len(up) <= SMALL else 1):
        for layer in layers if start else ():
            layer[:] = rng.permutation(layer).tolist()
        for sweep in range(SWEEPS):
            if not fewest:
                return tuple(map(tuple, best))
            # Of items with equal means the later one comes first in every other pair of sweeps.
            turn = -1 if sweep % 4 > 1 else 1
            rows = range(1, len(layers)) if sweep % 2 == 0 else range(len(layers) - 2, -1, -1)
            for i in rows:
                fixed, near = (layers[i - 1], up) if sweep % 2 == 0 else (layers[i + 1], down)
                layers[i] = _by_mean(layers[i][::turn], fixed, near)
            _exchange(layers, up, down)
            found = total()
            if found < fewest:
                best, fewest = [list(layer) for layer in layers], found
    return tuple(map(tuple, best))


def _by_mean(layer: list[int], fixed: Sequence[int], near: Mapping[int, Sequence[int]]) -> list[int]:
    """Items in the order of their neighbours' mean place; those without neighbours stay where they are."""
    place = {item: i for i, item in enumerate(fixed)}
    movable = [item for item in layer if near[item]]
    mean = {item: sum(place[other] for other in near[item]) / len(near[item]) for item in movable}
    ranked = iter(sorted(movable, key=mean.__getitem__))
    return [next(ranked) if near[item] else item for item in layer]


def _exchange(layers: list[list[int]], up: Mapping[int, list[int]], down: Mapping[int, list[int]]) -> None:
    """Neighbours change places while fewer of their links cross for it."""
    for i, layer in enumerate(layers):
        sides = []
        for j, near in ((i - 1, up), (i + 1, down)):
            if 0 <= j < len(layers):
                place = {item: k for k, item in enumerate(layers[j])}
                sides.append({item: np.array([place[other] for other in near[item]]) for item in layer})
        improved = True
        while improved:
            improved = False
            for k in range(len(layer) - 1):
                a, b = layer[k], layer[k + 1]
                gain = sum(_crossed(side[a], side[b]) - _crossed(side[b], side[a]) for side in sides)
                if gain > 0:
                    layer[k], layer[k + 1] = b, a
                    improved = True


def _crossed(left: np.ndarray, right: np.ndarray) -> int:
    """Crossings of the links of two items, the one left of the other."""
    return int(np.sum(left[:, None] > right))
