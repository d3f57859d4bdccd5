"""`Algebra`: a σ-algebra over finitely many outcomes, which is all unions of its atoms."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from credo.errors import ParameterError

__all__ = ["Algebra"]


@dataclass(frozen=True, eq=False)
class Algebra:
    """`atoms` (n,): the number of the atom that each outcome belongs to; 2^(number of atoms) events in all."""

    atoms: np.ndarray

    @classmethod
    def generated(cls, masks: Sequence[np.ndarray], n: int) -> Algebra:
        """The smallest that holds these sets: outcomes that no set tells apart share an atom."""
        signatures = np.array(masks, dtype=bool).reshape(len(masks), n)
        return cls(np.unique(signatures.T, axis=0, return_inverse=True)[1].ravel())

    @classmethod
    def of(cls, outcomes: Sequence[Hashable], masks: Sequence[np.ndarray]) -> Algebra:
        """The one that `masks` lists in full; a set that is missing is named.

        A finite collection with Ω that is closed under complement and the union of two is one; it is then all 2^a
        unions of the a atoms, so that counting finds what is missing without trying every pair of the listed.
        """
        n = len(outcomes)
        algebra = cls.generated(masks, n)
        listed = {mask.tobytes() for mask in masks}
        if len(listed) == 1 << algebra.size:
            return algebra
        for name, mask in _required(masks, n):
            if mask.tobytes() not in listed:
                members = {o for o, inside in zip(outcomes, mask, strict=True) if inside}
                raise ParameterError(
                    "SampleSpace",
                    "events",
                    "a σ-algebra: ∅, Ω, and closed under complement and union",
                    members or "∅ missing",
                    f"{name} is missing; `space.generated(events)` completes a collection.",
                )
        raise AssertionError("a closed collection has 2^atoms members")

    @property
    def size(self) -> int:
        """Number of atoms."""
        return int(self.atoms.max()) + 1

    def holds(self, mask: np.ndarray) -> bool:
        """Whether the set is a union of atoms."""
        inside = np.bincount(self.atoms, weights=mask, minlength=self.size)
        return bool(np.all((inside == 0) | (inside == np.bincount(self.atoms))))

    def restricted(self, mask: np.ndarray) -> Algebra:
        """The traces of the events on a subset."""
        return Algebra(np.unique(self.atoms[mask], return_inverse=True)[1].ravel())


def _required(masks: Sequence[np.ndarray], n: int):
    """What a σ-algebra with these members must hold too, with its name."""
    yield "Ω", np.ones(n, dtype=bool)
    yield "∅", np.zeros(n, dtype=bool)
    for mask in masks:
        yield "the complement of an event", ~mask
    for a in masks:
        for b in masks:
            yield "the union of two events", a | b
