"""`Event`: a set of outcomes, with the algebra of sets."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import ParameterError, ZeroProbabilityError

if TYPE_CHECKING:
    from credo.probability.spaces import SampleSpace

__all__ = ["Event"]

# Products of a few floating probabilities agree to this where independence holds.
ROUNDING = 1e-12


class Event:
    """A set of outcomes of a `SampleSpace`: `a & b`, `a | b`, `a - b`, `a ^ b`, `~a`, `a <= b`, `outcome in a`.

    Made by `space.event(...)`.
    """

    __slots__ = ("mask", "space")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, space: SampleSpace, mask: np.ndarray) -> None:
        self.space, self.mask = space, mask

    @property
    def probability(self) -> Any:
        """P(A)."""
        return self.space.probability(self)

    def given(self, other: Any) -> Any:
        """P(A | B) = P(A ∩ B)/P(B)."""
        other = self.space.event(other)
        below = other.probability
        if below == 0:
            raise ZeroProbabilityError(f"P({self!r} | {other!r}) is undefined: P(given) is 0.", value=other)
        return (self & other).probability / below

    def is_independent(self, other: Any) -> bool:
        """P(A ∩ B) = P(A) P(B): exact, or within 1e-12."""
        other = self.space.event(other)
        return (self & other)._factorises([self, other])

    def _factorises(self, parts: Sequence[Event]) -> bool:
        product: Any = 1
        for part in parts:
            product = product * part.probability
        mine = self.probability
        return bool(mine == product if self.space.is_exact else abs(mine - product) <= ROUNDING)

    def __invert__(self) -> Event:
        return Event(self.space, ~self.mask)

    def __and__(self, other: Event) -> Event:
        return Event(self.space, self.mask & self._other(other))

    def __or__(self, other: Event) -> Event:
        return Event(self.space, self.mask | self._other(other))

    def __xor__(self, other: Event) -> Event:
        return Event(self.space, self.mask ^ self._other(other))

    def __sub__(self, other: Event) -> Event:
        return Event(self.space, self.mask & ~self._other(other))

    def __le__(self, other: Event) -> bool:
        return not np.any(self.mask & ~self._other(other))

    def __lt__(self, other: Event) -> bool:
        return self <= other and not self == other

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Event) and np.array_equal(self.mask, self._other(other))

    def isdisjoint(self, other: Event) -> bool:
        """Whether no outcome is in both."""
        return not np.any(self.mask & self._other(other))

    def __len__(self) -> int:
        return int(self.mask.sum())

    def __bool__(self) -> bool:
        return bool(self.mask.any())

    def __iter__(self) -> Iterator[Hashable]:
        return itertools.compress(self.space.outcomes, self.mask.tolist())

    def __contains__(self, outcome: Hashable) -> bool:
        position = self.space._index.get(outcome) if isinstance(outcome, Hashable) else None
        return position is not None and bool(self.mask[position])

    def __repr__(self) -> str:
        members = [repr(o) for o in itertools.islice(self, 6)]
        return "{" + ", ".join([*members, "…"] if len(self) > 6 else members) + "}"

    def _other(self, other: Event) -> np.ndarray:
        if not isinstance(other, Event):
            raise ParameterError("Event", "other", "an Event of the same space", other, "Make one by space.event().")
        return self.space.mask(other)
