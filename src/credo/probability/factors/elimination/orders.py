"""In which order to eliminate variables: a portfolio of greedy rules, scored on total table entries.

Eliminating v joins its neighbours to each other; the table then formed has one entry for each state of v and of them.
The best order is NP-hard to find, and one rule alone can lose a factor of thirty, so that several are tried, and on
hard graphs again with random ties. Effort is counted in scores computed, not in seconds: the same graph always gets
the same order.

Reference: Koller and Friedman (2009), §9.4.3; Fishelson and Geiger (2004), Optimizing exact genetic linkage
computations, J. Comput. Biol. 11 (weights and random ties).
"""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Callable, Iterator, Sequence

__all__ = ["EFFORT", "PATIENCE", "bits", "elimination_orders", "total_entries"]

# Sums of tables up to this many entries take less time than looking for a better order.
EASY = 1 << 11
# Scores computed in search of a better order on a hard graph: about a tenth of a second. And no more than that many for
# each entry: with four, the search takes as long as some ten thousand runs.
EFFORT = 20_000
PATIENCE = 4.0
# Orders of a hard graph that are written out as products of two tables, to compare the entries of all of these.
CANDIDATES = 2

Rule = Callable[[int, list[int], Sequence[float]], float]


def bits(mask: int) -> Iterator[int]:
    """Numbers of the bits set, ascending."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def fill(v: int, adjacency: list[int], weight: Sequence[float]) -> float:
    """Edges that eliminating v adds."""
    near = adjacency[v]
    missing = 0
    rest = near
    while rest:
        low = rest & -rest
        missing += (near & ~adjacency[low.bit_length() - 1]).bit_count() - 1
        rest ^= low
    return missing


def weighted_fill(v: int, adjacency: list[int], weight: Sequence[float]) -> float:
    """The same, an edge counting as many as it has pairs of states."""
    near = adjacency[v]
    missing = 0.0
    for u in bits(near):
        for w in bits(near & ~adjacency[u] & ~(1 << u)):
            missing += math.exp2(weight[u] + weight[w])
    return missing


def size(v: int, adjacency: list[int], weight: Sequence[float]) -> float:
    """log₂ entries of the table formed."""
    return weight[v] + sum(weight[u] for u in bits(adjacency[v]))


def elimination_orders(
    masks: Sequence[int],
    weight: Sequence[float],
    groups: Sequence[int],
    effort: int = EFFORT,
    patience: float = PATIENCE,
) -> list[list[int]]:
    """Good orders of the variables in `groups`, group by group; the best first, and alone if the graph is easy.

    masks : scope of each table, a bit a variable ; weight : log₂ states of each variable
    groups : masks of the variables to eliminate; those of the second only after all of the first
    effort, patience : scores to compute at most, on hard graphs; and at most for each entry of the best order so far
    """
    adjacency = neighbours(masks, len(weight))
    rules: list[Rule] = [fill, size]
    if len(set(weight)) > 1:
        rules.append(weighted_fill)
    search = _Search(adjacency, weight, groups)
    for rule in rules:
        search.attempt(rule, None, math.inf)
        if search.entries <= EASY and patience < 1.0:  # the other rules cost more than they save
            break
    rng = random.Random(0)
    turn = 0
    while search.entries > EASY and search.computed < min(effort, patience * search.entries):
        # min-fill most often wins; the noise lets nearly equal candidates pass each other
        search.attempt(rules[(0, 0, 1, -1)[turn % 4]], rng, search.bar)
        turn += 1
    return [order for _, order in search.found[: 1 if search.entries <= EASY else CANDIDATES]]


def neighbours(masks: Sequence[int], n: int) -> list[int]:
    """Who shares a table with whom."""
    adjacency = [0] * n
    for mask in masks:
        for v in bits(mask):
            adjacency[v] |= mask
    return [near & ~(1 << v) for v, near in enumerate(adjacency)]


def total_entries(order: Sequence[int], adjacency: Sequence[int], weight: Sequence[float]) -> float:
    """Σ over eliminations of the entries of the table formed."""
    near, entries = list(adjacency), 0.0
    for v in order:
        entries += math.exp2(size(v, near, weight))
        _eliminate(v, near)
    return entries


def _eliminate(v: int, adjacency: list[int]) -> int:
    near = adjacency[v]
    away = ~(1 << v)
    for u in bits(near):
        adjacency[u] = (adjacency[u] | (near & ~(1 << u))) & away
    return near


class _Search:
    """The best orders so far, and how many scores have been computed."""

    def __init__(self, adjacency: list[int], weight: Sequence[float], groups: Sequence[int]) -> None:
        self.adjacency, self.weight, self.groups = adjacency, weight, groups
        self.found: list[tuple[float, list[int]]] = []
        self.computed = 0

    @property
    def entries(self) -> float:
        """Of the best."""
        return self.found[0][0] if self.found else math.inf

    @property
    def bar(self) -> float:
        """What an order must stay below to be kept."""
        return self.found[-1][0] if len(self.found) == CANDIDATES else math.inf

    def attempt(self, rule: Rule, rng: random.Random | None, bar: float) -> None:
        """One greedy order; given up as soon as it exceeds the bar."""
        near, weight, order, entries = list(self.adjacency), self.weight, [], 0.0
        for group in self.groups:
            heap: list[tuple[float, float, int, float]] = []
            current = {}
            for v in bits(group):
                current[v] = self._push(heap, v, rule(v, near, weight), rng)
            while current:
                key, _, v, _ = heapq.heappop(heap)
                if current.get(v) != key:
                    continue
                del current[v]
                order.append(v)
                entries += math.exp2(size(v, near, weight))
                if entries >= bar:
                    return
                touched = joined = _eliminate(v, near)
                if rule is not size:  # a new edge changes the fill of whoever sees both its ends
                    for u in bits(joined):
                        touched |= near[u]
                for u in bits(touched):
                    if u in current:
                        current[u] = self._push(heap, u, rule(u, near, weight), rng)
        if all(entries != other for other, _ in self.found):
            self.found = sorted([*self.found, (entries, order)])[:CANDIDATES]

    def _push(self, heap: list, v: int, score: float, rng: random.Random | None) -> float:
        self.computed += 1
        if rng is None:
            heapq.heappush(heap, (score, 0.0, v, 0.0))
            return score
        key = score * (1.0 + 0.1 * rng.random()) + 0.3 * rng.random()
        heapq.heappush(heap, (key, 0.0, v, 0.0))
        return key
