"""`Ancestry`: which node reaches which along arrows, kept while edges come and go."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from credo.models.network.learning.structure import topological_order

__all__ = ["Ancestry"]


class Ancestry:
    """edges[a, b]: a → b; reaches[a, b]: a path of arrows leads from a to b ≠ a. Both (d, d), one byte an entry.

    families : the parents of each node, ascending

    Adding an edge costs O(d²) byte operations, removing one O(d · edges) for the ancestors it had.
    """

    def __init__(self, parents: Sequence[Iterable[int]]) -> None:
        d = len(parents)
        self.edges, self.reaches = np.zeros((d, d), dtype=bool), np.zeros((d, d), dtype=bool)
        self.families = [tuple(sorted(family)) for family in parents]
        for child, family in enumerate(parents):
            self.edges[list(family), child] = True
        self._trace(np.ones(d, dtype=bool))

    def add(self, parent: int, child: int) -> None:
        self.edges[parent, child] = True
        self.families[child] = tuple(sorted((*self.families[child], parent)))
        above, below = self.reaches[:, parent].copy(), self.reaches[child].copy()
        above[parent] = below[child] = True
        self.reaches[above] |= below

    def remove(self, parent: int, child: int) -> None:
        self.edges[parent, child] = False
        self.families[child] = tuple(p for p in self.families[child] if p != parent)
        above = self.reaches[:, parent].copy()
        above[parent] = True
        self._trace(above)

    def _trace(self, nodes: np.ndarray) -> None:
        """Find again what these nodes reach; what the others reach must be right."""
        for node in reversed(topological_order(self.families)):
            if nodes[node]:
                children = self.edges[node]
                self.reaches[node] = children | self.reaches[children].any(axis=0)

    def addable(self) -> np.ndarray:
        """[a, b]: the edge a → b is not there, nor b → a, and closes no cycle."""
        free = ~(self.edges | self.reaches.T)
        np.fill_diagonal(free, False)
        return free

    def reversible(self) -> np.ndarray:
        """[a, b]: a → b is there, and b → a in its place would close no cycle."""
        parents, children = np.nonzero(self.edges)
        roundabout = (self.edges[parents] & self.reaches[:, children].T).any(axis=1)
        free = np.zeros_like(self.edges)
        free[parents[~roundabout], children[~roundabout]] = True
        return free
