"""`Gains`: what the score gains if one edge comes or goes, for every pair of nodes, counted when first needed."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from credo.models.network.learning.counts import DENSE_CELLS, Counter, compressed, count_beside, packed
from credo.models.network.learning.rows import CodedRows
from credo.models.network.learning.scores import Score

__all__ = ["FamilyGains", "Gains"]


class FamilyGains:
    """Scores of families, one node more or less: every move of a search is a sum of one or two of these.

    names : of the nodes
    toggles[a, b] : the score of b's family with a among its parents (out of them, if it was one) minus that without
    known[a, b] : whether it has been computed for b's family as it is
    families : the score of each node's family as it is
    n_counted : families scored so far

    A subclass scores one family (`_score_of`), and may score many with one parent more at once (`_extend`).
    """

    def __init__(self, names: Sequence[str]) -> None:
        d = len(names)
        self.names = tuple(names)
        self.parents: list[tuple[int, ...]] = [()] * d
        self.toggles, self.known = np.zeros((d, d)), np.zeros((d, d), dtype=bool)
        self.families = np.zeros(d)
        self._scores: dict[tuple[int, tuple[int, ...]], float] = {}

    def _score_of(self, child: int, parents: tuple[int, ...]) -> float:
        raise NotImplementedError

    def _extend(self, child: int, candidates: list[int]) -> None:
        """Score the family of `child` with each candidate as one more parent."""
        for candidate in candidates:
            self._scored(child, tuple(sorted((*self.parents[child], candidate))))

    @property
    def n_counted(self) -> int:
        return len(self._scores)

    def settle(self, child: int, parents: tuple[int, ...]) -> None:
        """Let this be the family of `child` from now on."""
        self.parents[child] = parents
        self.families[child] = self._scored(child, parents)
        self.known[:, child] = False
        for parent in parents:
            fewer = tuple(p for p in parents if p != parent)
            self.toggles[parent, child] = self._scored(child, fewer) - self.families[child]
            self.known[parent, child] = True

    def need(self, wanted: np.ndarray) -> None:
        """Compute the entries where `wanted` (d, d) that are not known."""
        wanted = wanted & ~self.known
        for child in np.flatnonzero(wanted.any(axis=0)).tolist():
            candidates = np.flatnonzero(wanted[:, child])
            larger = [(child, tuple(sorted((*self.parents[child], c)))) for c in candidates.tolist()]
            self._extend(child, [c for c, key in zip(candidates.tolist(), larger) if key not in self._scores])
            self.toggles[candidates, child] = [self._scores[key] for key in larger] - self.families[child]
            self.known[candidates, child] = True

    def _scored(self, child: int, parents: tuple[int, ...]) -> float:
        if (child, parents) not in self._scores:
            self._scores[child, parents] = self._score_of(child, parents)
        return self._scores[child, parents]


class Gains(FamilyGains):
    """Of rows of states: a family is counted by one pass over one column; a parent less is a sum over the counts at
    hand."""

    def __init__(self, rows: CodedRows, score: Score, dense_cells: int = DENSE_CELLS) -> None:
        super().__init__(rows.names)
        self.rows, self.score, self.dense_cells = rows, score, dense_cells
        self._counter = Counter(rows, dense_cells)

    def _score_of(self, child: int, parents: tuple[int, ...]) -> float:
        return self.score.of_family(self._counter.count(child, parents))

    def _extend(self, child: int, candidates: list[int]) -> None:
        if not candidates:
            return
        family, sizes = self.parents[child], self.rows.sizes
        q, r = prod(sizes[p] for p in family), sizes[child]
        key, n_keys = self._key(child, family, q, r)
        batch: list[int] = []
        held = 0
        for candidate in candidates:
            cells = n_keys * r * sizes[candidate]
            if cells > self.dense_cells:
                self._scored(child, tuple(sorted((*family, candidate))))
                continue
            if held + cells > self.dense_cells:
                self._score(child, batch, key, n_keys, q)
                batch, held = [], 0
            batch.append(candidate)
            held += cells
        if batch:
            self._score(child, batch, key, n_keys, q)

    def _key(self, child: int, family: tuple[int, ...], q: int, r: int) -> tuple[np.ndarray, int]:
        """Each row's place in (configurations of the family, states of the child), and how many configurations."""
        columns, sizes = self.rows.columns, self.rows.sizes
        if q * r <= self.dense_cells:
            return packed(columns, sizes, (*family, child)), q
        key, first = compressed(columns, sizes, family)
        return key * r + columns[child], len(first)

    def _score(self, child: int, batch: list[int], key: np.ndarray, n_keys: int, q: int) -> None:
        sizes, r, family = self.rows.sizes, self.rows.sizes[child], self.parents[child]
        cells, edges = count_beside(self.rows, key, n_keys * r, batch)
        for i, candidate in enumerate(batch):
            s = sizes[candidate]
            value = self.score.of(cells[edges[i] : edges[i + 1]], n_keys, r, s, q * s)
            self._scores[child, tuple(sorted((*family, candidate)))] = value
