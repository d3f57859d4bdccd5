"""What the arrows of a Markov chain alone say: communicating classes, which are closed, and their periods."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse.csgraph as graphs

__all__ = ["Structure", "structure_of"]


@dataclass(frozen=True, eq=False)
class Structure:
    """`labels` (n,): the class of each state. `closed` (c,): whether a class is never left, so that it is recurrent.

    `order` and `ends` list the members class by class: class k is `order[ends[k]:ends[k + 1]]`.
    """

    labels: np.ndarray
    closed: np.ndarray
    order: np.ndarray
    ends: np.ndarray

    @property
    def n_classes(self) -> int:
        return self.closed.size

    def members(self, k: int) -> np.ndarray:
        """Numbers of the states of class k, ascending."""
        return self.order[self.ends[k] : self.ends[k + 1]]


def structure_of(arrows: Any) -> Structure:
    """Strongly connected components, numbered by their first state. Cost O(states + arrows)."""
    n = arrows.shape[0]
    count, raw = graphs.connected_components(arrows, directed=True, connection="strong")
    first = np.full(count, n)
    np.minimum.at(first, raw, np.arange(n))
    rank = np.empty(count, dtype=np.int64)
    rank[np.argsort(first)] = np.arange(count)
    labels = rank[raw]
    closed = np.ones(count, dtype=bool)
    tails = np.repeat(labels, np.diff(arrows.indptr))
    closed[tails[tails != labels[arrows.indices]]] = False
    order = np.argsort(labels, kind="stable")
    return Structure(labels, closed, order, np.concatenate([[0], np.cumsum(np.bincount(labels, minlength=count))]))


def period(arrows: Any) -> int:
    """Period of an irreducible chain: gcd of depth(i) + 1 − depth(j) over its arrows i → j, depths by breadth first.

    0 where there is no arrow: a state that is left at once and never seen again.
    """
    if arrows.nnz == 0:
        return 0
    depth = graphs.dijkstra(arrows, indices=0, unweighted=True).astype(np.int64)
    tails = np.repeat(np.arange(arrows.shape[0]), np.diff(arrows.indptr))
    return math.gcd(*np.unique(np.abs(depth[tails] + 1 - depth[arrows.indices])).tolist())
