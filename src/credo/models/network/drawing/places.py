"""Where the items of ordered layers stand, from left to right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from credo.models.network.drawing.layers import Layered

__all__ = ["spread", "spaced"]

SWEEPS = 16
# What a link weighs by how many of its two ends are bends: long arrows should be straight where they are alone.
WEIGHTS = (1.0, 2.0, 8.0)


def spread(graph: Layered, widths: Mapping[int, float], n: int, gap: float) -> dict[int, float]:
    """The middle of every item; the leftmost edge is 0.

    Layer after layer, down and up, the squared lengths Σ w (x_a − x_b)² of links to the neighbours are minimised in the
    given order with `gap` between items (`spaced`). widths : of the items (bends 0); n : how many are nodes.
    """
    near: dict[int, list[tuple[int, float]]] = {item: [] for layer in graph.layers for item in layer}
    for a, b in graph.links:
        weight = WEIGHTS[(a >= n) + (b >= n)]
        near[a].append((b, weight))
        near[b].append((a, weight))
    apart = [_apart(layer, widths, n, gap) for layer in graph.layers]
    x: dict[int, float] = {}
    for layer, between in zip(graph.layers, apart, strict=True):
        middle = np.concatenate([[0.0], np.cumsum(between)])
        x.update(zip(layer, (middle - middle.mean()).tolist(), strict=True))
    level = {item: i for i, layer in enumerate(graph.layers) for item in layer}
    for sweep in range(SWEEPS):
        rows = range(len(graph.layers)) if sweep % 2 == 0 else range(len(graph.layers) - 1, -1, -1)
        for i in rows:
            layer = graph.layers[i]
            # To the layer come from; in the last sweeps to both.
            sides = {-1, 1} if sweep >= SWEEPS - 4 else {-1 if sweep % 2 == 0 else 1}
            wanted, weights = [], []
            for item in layer:
                pulls = [(x[other], w) for other, w in near[item] if level[other] - i in sides]
                total = sum(w for _, w in pulls)
                wanted.append(sum(at * w for at, w in pulls) / total if total else x[item])
                weights.append(total or 0.1)
            x.update(zip(layer, spaced(wanted, weights, apart[i]).tolist(), strict=True))
    left = min(at - widths.get(item, 0.0) / 2.0 for item, at in x.items())
    return {item: at - left for item, at in x.items()}


def _apart(layer: Sequence[int], widths: Mapping[int, float], n: int, gap: float) -> np.ndarray:
    """Distances between the middles of neighbours, at least; bends of arrows may be nearer to each other."""
    return np.array(
        [
            (widths.get(a, 0.0) + widths.get(b, 0.0)) / 2.0 + (gap / 2.0 if a >= n and b >= n else gap)
            for a, b in pairwise(layer)
        ]
    )


def spaced(wanted: Sequence[float], weights: Sequence[float], apart: np.ndarray) -> np.ndarray:
    """argmin Σ w (x − wanted)² with x[i + 1] − x[i] ≥ apart[i]: isotonic regression, pooling neighbours that collide.

    >>> spaced([0.0, 0.0, 9.0], [1.0, 1.0, 1.0], np.array([2.0, 2.0])).tolist()
    [-1.0, 1.0, 9.0]
    """
    shift = np.concatenate([[0.0], np.cumsum(apart)])
    pools: list[tuple[float, float, int]] = []  # mean, weight, items
    for value, weight in zip(np.asarray(wanted) - shift, weights, strict=True):
        mean, total, items = float(value), float(weight), 1
        while pools and pools[-1][0] >= mean:
            other, other_total, other_items = pools.pop()
            mean = (mean * total + other * other_total) / (total + other_total)
            total, items = total + other_total, items + other_items
        pools.append((mean, total, items))
    return np.repeat([mean for mean, _, _ in pools], [items for _, _, items in pools]) + shift
