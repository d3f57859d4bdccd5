"""Moves of a search: which are legal, what each gains, and which comes first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from credo.models.network.learning.acyclicity import Ancestry
from credo.models.network.learning.gains import FamilyGains
from credo.models.network.learning.structure import Move

__all__ = ["Constraints", "Searcher", "KINDS"]

KINDS = ("add", "delete", "reverse")


@dataclass(frozen=True, eq=False)
class Constraints:
    """required, forbidden (d, d): edges [parent, child] that must, or must not, be there; max_parents of a node."""

    required: np.ndarray
    forbidden: np.ndarray
    max_parents: int


class Searcher:
    """A structure, and what may be changed about it.

    Scores of equal structures differ by rounding with the order of additions; gains that differ by less than `tie` are
    equal, and the first of them is taken: additions, then deletions, then reversals, by number of parent and child.
    """

    def __init__(self, gains: FamilyGains, constraints: Constraints, parents: list[tuple[int, ...]]) -> None:
        d = len(parents)
        self.gains, self.constraints = gains, constraints
        self._zobrist = np.random.default_rng(0).integers(2**63, size=(d, d), dtype=np.uint64)
        self.restart(parents)
        # Some hundred terms as large as the score are summed, each rounded to 1e-16 of it.
        self.tie = 1e-9 + 1e-12 * abs(self.score)

    def restart(self, parents: list[tuple[int, ...]]) -> None:
        """Go on from another structure."""
        self.ancestry = Ancestry(parents)
        for child, family in enumerate(parents):
            self.gains.settle(child, tuple(sorted(family)))
        self.hash = np.bitwise_xor.reduce(self._zobrist[self.ancestry.edges], initial=np.uint64(0))

    @property
    def score(self) -> float:
        return float(self.gains.families.sum())

    def legal(self) -> np.ndarray:
        """(3, d, d) over `KINDS`: the moves of the edge [parent, child]."""
        edges, rule = self.ancestry.edges, self.constraints
        room = edges.sum(axis=0) < rule.max_parents
        loose = edges & ~rule.required
        return np.stack(
            [
                self.ancestry.addable() & ~rule.forbidden & room,
                loose,
                self.ancestry.reversible() & loose & ~rule.forbidden.T & room[:, None],
            ]
        )

    def best(self, visited: list[np.uint64]) -> tuple[int, int, int] | None:
        """The move (kind, parent, child) that gains most, not back to a structure among `visited`; None without any."""
        legal = self.legal()
        if visited:
            legal &= ~np.isin(self._hashes(), np.array(visited, dtype=np.uint64))
        if not legal.any():
            return None
        self.gains.need(legal[0] | legal[2].T)
        toggles = self.gains.toggles
        value = np.where(legal, np.stack([toggles, toggles, toggles + toggles.T]), -np.inf)
        kind, parent, child = np.unravel_index(int(np.argmax(value >= value.max() - self.tie)), value.shape)
        return int(kind), int(parent), int(child)

    def _hashes(self) -> np.ndarray:
        """Of the structure after every move."""
        z = self._zobrist
        return self.hash ^ np.stack([z, z, z ^ z.T])

    def gain(self, move: tuple[int, int, int]) -> float:
        kind, parent, child = move
        toggles = self.gains.toggles
        return float(toggles[parent, child] + (toggles[child, parent] if kind == 2 else 0.0))

    def apply(self, move: tuple[int, int, int]) -> None:
        kind, parent, child = move
        if kind == 0:
            self.ancestry.add(parent, child)
        else:
            self.ancestry.remove(parent, child)
        if kind == 2:
            self.ancestry.add(child, parent)
            self.gains.settle(parent, self.ancestry.families[parent])
            self.hash ^= self._zobrist[child, parent]
        self.gains.settle(child, self.ancestry.families[child])
        self.hash ^= self._zobrist[parent, child]

    def turn(self, n_turns: int, rng: np.random.Generator) -> None:
        """Turn round random covered edges a → b: those where b's other parents are a's, so that the score stays."""
        rule = self.constraints
        for _ in range(n_turns):
            parents, children = np.nonzero(self.ancestry.edges & ~rule.required & ~rule.forbidden.T)
            differ = self.ancestry.edges[:, parents] ^ self.ancestry.edges[:, children]
            covered = np.flatnonzero(differ.sum(axis=0) == 1)  # in the edge's own parent alone
            if not covered.size:
                return
            at = covered[rng.integers(covered.size)]
            move = (2, int(parents[at]), int(children[at]))
            wanted = np.zeros_like(self.ancestry.edges)
            wanted[move[2], move[1]] = True
            self.gains.need(wanted)
            self.apply(move)

    def named(self, move: tuple[int, int, int]) -> Move:
        names = self.gains.names
        return Move(KINDS[move[0]], names[move[1]], names[move[2]], self.gain(move))
