"""Structures: parents of every node, without a cycle; what a search found; which arrows the data could tell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.errors import ParameterError
from credo.inference.result import Result
from credo.models.network.naming import as_name, listed
from credo.saving.registry import register

__all__ = [
    "LearnedStructure",
    "Move",
    "checked_edges",
    "checked_parents",
    "essential_graph",
    "find_cycle",
    "implied_arrows",
    "topological_order",
]


@register
@dataclass(frozen=True)
class Move:
    """One step of a search: kind "add", "delete" or "reverse" of the edge parent → child, and what the score gained."""

    kind: str
    parent: str
    child: str
    gain: float


@register
@dataclass(frozen=True)
class LearnedStructure:
    """A structure that was learned from rows.

    parents : node → its parents, in the order of names
    score_name, score : by which it was chosen, and how high it is; `family_scores` add up to it
    moves : the steps from the start to here; n_families : families that were counted
    result : status and, for restarts, the score of each
    """

    parents: Mapping[str, tuple[str, ...]]
    score_name: str
    score: float
    family_scores: Mapping[str, float]
    moves: tuple[Move, ...] = ()
    n_families: int = 0
    result: Result | None = None

    @property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """(parent, child), in the order of names."""
        return tuple(sorted((parent, child) for child, family in self.parents.items() for parent in family))


def find_cycle(parents: Sequence[Iterable[int]]) -> list[int] | None:
    """The nodes of a directed cycle in the order of its arrows, its first node last too; None without one."""
    state, families = [0] * len(parents), [sorted(family) for family in parents]
    for root in range(len(parents)):
        path, pending = [], [(root, False)]
        while pending:
            node, leaving = pending.pop()
            if leaving:
                state[node] = 2
                path.pop()
            elif state[node] == 1 and node in path:
                return [node, *path[path.index(node) :][::-1]]
            elif state[node] == 0:
                state[node] = 1
                path.append(node)
                pending.append((node, True))
                pending.extend((parent, False) for parent in families[node] if state[parent] != 2)
    return None


def topological_order(parents: Sequence[Iterable[int]]) -> list[int]:
    """Parents before children; the smaller number first where there is a choice. There must be no cycle."""
    import heapq

    waiting, children = [len(set(family)) for family in parents], [[] for _ in parents]
    for child, family in enumerate(parents):
        for parent in set(family):
            children[parent].append(child)
    ready = [node for node, count in enumerate(waiting) if count == 0]
    order = []
    while ready:
        node = heapq.heappop(ready)
        order.append(node)
        for child in children[node]:
            waiting[child] -= 1
            if waiting[child] == 0:
                heapq.heappush(ready, child)
    return order


def checked_edges(owner: str, parameter: str, edges: Any, names: Sequence[str]) -> list[tuple[int, int]]:
    """(parent, child) pairs of names as numbers.

    Raises
    ------
    ParameterError : not pairs; an unknown name; a node to itself.
    """
    place = {name: j for j, name in enumerate(names)}
    found = []
    for edge in () if edges is None else listed(owner, parameter, edges, "pairs (parent, child) of names"):
        if isinstance(edge, str) or not isinstance(edge, Sequence) or len(edge) != 2:
            raise ParameterError(owner, parameter, "pairs (parent, child) of names", edge)
        edge = tuple(as_name(name, place) for name in edge)
        for name in edge:
            if not isinstance(name, str) or name not in place:
                raise ParameterError(owner, parameter, f"pairs of names among {', '.join(names[:12])}", name)
        if edge[0] == edge[1]:
            raise ParameterError(owner, parameter, "edges between different nodes", edge)
        found.append((place[edge[0]], place[edge[1]]))
    return found


def checked_parents(owner: str, parameter: str, parents: Any, names: Sequence[str]) -> list[tuple[int, ...]]:
    """{child: parents} by name, or pairs (parent, child), as a list over nodes of their parents' numbers.

    Parents keep the order in which they are given.

    Raises
    ------
    ParameterError : an unknown or repeated name; a cycle, which is named.
    """
    pairs = parents
    if isinstance(parents, Mapping):
        parents = {as_name(node, names): family for node, family in parents.items()}
        strange = [node for node in parents if node not in names]
        if strange:
            raise ParameterError(owner, parameter, f"about nodes among {', '.join(names[:12])}", strange[0])
        pairs = [
            (parent, child)
            for child, family in parents.items()
            for parent in listed(owner, parameter, family, f"with a list of parents for {child!r}")
        ]
    families: list[tuple[int, ...]] = [() for _ in names]
    for parent, child in checked_edges(owner, parameter, pairs, names):
        if parent in families[child]:
            raise ParameterError(owner, parameter, "without an edge twice", (names[parent], names[child]))
        families[child] = (*families[child], parent)
    cycle = find_cycle(families)
    if cycle is not None:
        path = " → ".join(names[node] for node in cycle)
        raise ParameterError(owner, parameter, "without a cycle", path, "Leave out one of these edges.")
    return families


def essential_graph(edges: np.ndarray) -> np.ndarray:
    """The essential graph of a DAG: arrows (d, d) that every structure with the same independences has.

    Where both entries (a, b) and (b, a) are true the data cannot tell the direction: the score is the same.

    Two DAGs are equivalent if they have the same edges and the same colliders a → c ← b with a, b apart (Verma and
    Pearl 1990). Colliders are kept, and what would make a new one or a cycle follows (Meek 1995). Cost O(d³) a pass.

    >>> chain = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)
    >>> essential_graph(chain).astype(int).tolist()
    [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    """
    edges = np.asarray(edges, dtype=bool)
    linked = edges | edges.T
    compelled = np.zeros_like(edges)
    for child in range(len(edges)):
        family = np.flatnonzero(edges[:, child])
        apart = ~linked[np.ix_(family, family)]
        np.fill_diagonal(apart, False)
        compelled[family[apart.any(axis=1)], child] = True
    while True:
        more = implied_arrows(linked, compelled)
        if not more.any():
            break
        compelled |= more
    return compelled | (linked & ~compelled & ~compelled.T)


def implied_arrows(linked: np.ndarray, compelled: np.ndarray) -> np.ndarray:
    """Arrows that follow from those compelled so far, for edges that have none yet."""
    free = linked & ~compelled & ~compelled.T
    more = np.zeros_like(free)
    for a, b in np.argwhere(free):
        into = compelled[:, a]
        collider = np.any(into & ~linked[:, b] & (np.arange(len(free)) != b))  # c → a − b, c and b apart
        cycle = np.any(compelled[a] & compelled[:, b])  # a → c → b
        through = np.flatnonzero(free[a] & compelled[:, b])  # a − c → b, a − e → b, c and e apart
        pair = ~linked[np.ix_(through, through)]
        np.fill_diagonal(pair, False)
        more[a, b] = collider or cycle or pair.any()
    return more
