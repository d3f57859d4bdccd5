"""In which order to eliminate variables: a portfolio of greedy rules, scored on total table entries.

Eliminating v joins its neighbours to each other; the table then formed has one entry for each state of v and of them.
The best order is NP-hard to find, and one rule alone can lose a factor of thirty, so that several are tried, and on
hard graphs hundreds more with random ties (`search_kernel`). Effort is counted in scores computed, not in seconds: the
same graph always gets the same order.

Reference: Koller and Friedman (2009), §9.4.3; Fishelson and Geiger (2004), Optimizing exact genetic linkage
computations, J. Comput. Biol. 11 (weights and random ties).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

__all__ = ["EASY", "EFFORT", "PATIENCE", "bits", "elimination_orders", "total_entries"]

# Sums of tables up to this many entries take less time than looking for a better order.
EASY = 1 << 11
# Beyond this many the search is called for, whatever rule comes next.
HARD = 1 << 14
# Scores computed in search of a better order on a hard graph: less than a tenth of a second. And no more than that many
# for each entry: with forty, the search takes as long as some thousand runs.
EFFORT = 500_000
PATIENCE = 40.0
# Orders of a hard graph that are written out as products of two tables, to compare the entries of all of these.
CANDIDATES = 3
# Up to this many variables Python looks first, as most such graphs are easy and the compiled search takes long to load.
SMALL = 128

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
    m = sum(mask.bit_count() for mask in groups)
    if m == 0:
        return [[]]
    if len(weight) <= SMALL:
        entries, order = _by_rules(adjacency, weight, groups, hasty=patience < PATIENCE)
        if entries <= EASY:
            return [order]
    return _by_search(adjacency, weight, groups, m, effort, patience)


def _by_rules(
    adjacency: list[int], weight: Sequence[float], groups: Sequence[int], hasty: bool
) -> tuple[float, list[int]]:
    """The best of the rules, each used once; the first alone, where it will do and haste is asked for."""
    rules: list[Rule] = [fill, size] if len(set(weight)) == 1 else [fill, size, weighted_fill]
    best = (math.inf, [])
    for rule in rules:
        best = min(best, _greedy(rule, adjacency, weight, groups), key=lambda found: found[0])
        # the other rules cost more than they save, or the search sees to it
        if (best[0] <= EASY and hasty) or best[0] > HARD:
            break
    return best


def _by_search(
    adjacency: list[int], weight: Sequence[float], groups: Sequence[int], m: int, effort: int, patience: float
) -> list[list[int]]:
    from credo.probability.factors.elimination.search_kernel import search

    n = len(weight)
    words = (n + 63) // 64
    raw = b"".join(near.to_bytes(8 * words, "little") for near in adjacency)
    graph = np.frombuffer(raw, dtype="<u8").astype(np.uint64).reshape(n, words)
    group = np.array([sum(k + 1 for k, mask in enumerate(groups) if mask >> v & 1) for v in range(n)], dtype=np.int64)
    pool, totals = np.empty((CANDIDATES, m), dtype=np.int64), np.empty(CANDIDATES)
    found = search(
        graph, np.empty_like(graph), np.exp2(weight), group, np.empty(m, dtype=np.int64), np.empty(n), pool, totals,
        effort, patience, float(EASY), len(set(weight)) > 1,
    )  # fmt: skip
    return pool[: 1 if totals[0] <= EASY else found].tolist()


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


def _greedy(
    rule: Rule, adjacency: list[int], weight: Sequence[float], groups: Sequence[int]
) -> tuple[float, list[int]]:
    """(entries of the tables formed, order): always whom the rule scores lowest."""
    near, order, entries = list(adjacency), [], 0.0
    for group in groups:
        current = {v: rule(v, near, weight) for v in bits(group)}
        heap = [(score, v) for v, score in current.items()]
        heapq.heapify(heap)
        while current:
            score, v = heapq.heappop(heap)
            if current.get(v) != score:
                continue
            del current[v]
            order.append(v)
            entries += math.exp2(size(v, near, weight))
            touched = joined = _eliminate(v, near)
            if rule is not size:  # a new edge changes the fill of whoever sees both its ends
                for u in bits(joined):
                    touched |= near[u]
            for u in bits(touched):
                if u in current:
                    current[u] = rule(u, near, weight)
                    heapq.heappush(heap, (current[u], u))
    return entries, order
