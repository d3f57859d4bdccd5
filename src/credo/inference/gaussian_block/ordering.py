"""In which order the columns of a sparse precision are eliminated: independent groups first, round after round.

Notation: the graph has an edge i – j where H_ij may differ from 0. Columns with the same closed neighbourhood are one
*group* (intercept and slope of a subject). A round takes many groups no two of which are joined, so that they can be
eliminated side by side; what they were joined to then becomes joined (fill). Rounds go on while they save work;
the rest is treated as one dense matrix. So the groups of a multilevel model fall in the first round, their parents in
the next, of two crossed factors the one with fewer joins, and a chain is halved log₂ p times (cyclic reduction).
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

__all__ = ["Elimination", "elimination_order"]

# Multiply-adds a second of the compiled loops and of LAPACK, one thread: only their ratio matters.
LOOP_SPEED, LAPACK_SPEED = 1e9, 1.5e10
# Columns that LAPACK does in less time than it takes to look further.
SMALL_REST = 48
# A round must save this part of the work: looking for it costs, too.
LEAST_SAVING = 0.03


@dataclass(frozen=True)
class Elimination:
    """groups : columns of each group, in the order of elimination; neighbours : the later columns each is joined to
    (sorted by that order); rest : columns of the dense remainder; rounds : groups eliminated in each round."""

    groups: list[np.ndarray]
    neighbours: list[np.ndarray]
    rest: np.ndarray
    rounds: tuple[int, ...]


def elimination_order(adjacency: Any) -> Elimination:
    """The order for a symmetric pattern (p, p) in CSR form that holds its diagonal."""
    members = [np.array([j]) for j in range(adjacency.shape[0])]
    graph = _boolean(adjacency)
    groups: list[np.ndarray] = []
    joined: list[np.ndarray] = []
    rounds: list[int] = []
    while True:
        graph, members = _merge(graph, members)
        size = np.array([len(each) for each in members])
        chosen = _independent(graph, size)
        if not len(chosen) or not _worth_it(graph, size, chosen):
            break
        for node in chosen:
            around = graph.indices[graph.indptr[node] : graph.indptr[node + 1]]
            groups.append(members[node])
            joined.append(np.concatenate([members[k] for k in around if k != node] or [np.empty(0, dtype=np.int64)]))
        rounds.append(len(chosen))
        graph, members = _eliminated(graph, members, chosen)
    rest = np.sort(np.concatenate(members)) if members else np.empty(0, dtype=np.int64)
    place = np.empty(adjacency.shape[0], dtype=np.int64)
    place[np.concatenate([*groups, rest])] = np.arange(len(place))
    joined = [each[np.argsort(place[each])] for each in joined]
    return Elimination(groups, joined, rest, tuple(rounds))


def _boolean(pattern: Any) -> Any:
    ones = np.ones(len(pattern.indices), dtype=np.int64)
    graph = scipy.sparse.csr_array((ones, pattern.indices, pattern.indptr), shape=pattern.shape)
    graph.sort_indices()
    return graph


def _merge(graph: Any, members: list[np.ndarray]) -> tuple[Any, list[np.ndarray]]:
    """Groups with the same closed neighbourhood made one. Told by a sum of random 63-bit labels."""
    labels = np.random.default_rng(0).integers(2**63, size=len(members))
    _, first, which = np.unique(graph @ labels, return_index=True, return_inverse=True)
    if len(first) == len(members):
        return graph, members
    order = np.argsort(first)  # the groups keep the order of their first columns
    first = first[order]
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    together: list[list[np.ndarray]] = [[] for _ in first]
    for each, group in zip(members, place[which], strict=True):
        together[group].append(each)
    return _boolean(graph[first][:, first]), [np.concatenate(each) for each in together]


def _independent(graph: Any, size: np.ndarray) -> np.ndarray:
    """Groups no two of which are joined: the next is one with the smallest share of its neighbours not yet ruled out,
    among equals one with the fewest. So one side of a graph with two is taken whole.

    A group joined to more than a quarter of all columns costs more alone than in the dense rest.
    """
    total = size.sum()
    degree = graph @ size - size
    allowed = degree < 0.25 * total
    if total <= SMALL_REST or not allowed.any():
        return np.empty(0, dtype=np.int64)
    indices, indptr, weight = graph.indices.tolist(), graph.indptr.tolist(), size.tolist()
    around = graph @ (size * allowed) - size * allowed
    left, share = around.tolist(), (1.0 / np.maximum(around, 1)).tolist()
    tie = (1e-9 * degree).tolist()
    open_ = allowed.tolist()
    heap = [(left[k] * share[k] + tie[k], k) for k in np.flatnonzero(allowed).tolist()]
    heapq.heapify(heap)
    chosen = []
    while heap:
        key, node = heapq.heappop(heap)
        if not open_[node] or key != left[node] * share[node] + tie[node]:
            continue
        chosen.append(node)
        open_[node] = False
        touched = set()
        for other in indices[indptr[node] : indptr[node + 1]]:
            if open_[other]:
                open_[other] = False
                for third in indices[indptr[other] : indptr[other + 1]]:
                    if open_[third]:
                        left[third] -= weight[other]
                        touched.add(third)
        for third in touched:
            if open_[third]:
                heapq.heappush(heap, (left[third] * share[third] + tie[third], third))
    return np.sort(np.array(chosen, dtype=np.int64))


def _worth_it(graph: Any, size: np.ndarray, chosen: np.ndarray) -> bool:
    """Whether eliminating the groups by loops beats leaving them to the dense rest: b³/3 + b² d + b d² each, thrice
    (factor, solve, selected inverse), against n³."""
    b = size[chosen].astype(float)
    d = (graph @ size - size)[chosen].astype(float)
    loops = 3.0 * np.sum(b**3 / 3.0 + b * b * d + 0.5 * b * d * d) / LOOP_SPEED
    total = float(size.sum())
    return loops + (total - b.sum()) ** 3 / LAPACK_SPEED < (1.0 - LEAST_SAVING) * total**3 / LAPACK_SPEED


def _eliminated(graph: Any, members: list[np.ndarray], chosen: np.ndarray) -> tuple[Any, list[np.ndarray]]:
    """What is left of the graph, with the neighbours of each eliminated group joined."""
    gone = np.zeros(len(members), dtype=bool)
    gone[chosen] = True
    rest = np.flatnonzero(~gone)
    across = graph[chosen][:, rest]
    left = _boolean((graph[rest][:, rest] + across.T @ across).tocsr())
    return left, [members[k] for k in rest]
