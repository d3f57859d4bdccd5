"""`Preferences`: what people chose, in order, as an immutable record that each `with_…` extends and `undo` shortens.

Two records share one growing list of events and differ in how much of it is theirs, so that adding one and taking
one back both cost the same however long the history is.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from credo.errors import ParameterError, UnavailableError
from credo.saving.registry import register

__all__ = ["Event", "Preferences"]

#: every kind of event: what `first` and `second` hold
KINDS = {
    "duels": "winners and losers, one pair a place",
    "ties": "two items a place that were called equal",
    "ranking": "the order, best first; then what was shown and not ranked, all of it below",
    "ratings": "the items rated; nothing. `values` are numbers",
    "grades": "the items graded; nothing. `values` are levels 0, 1, …",
}


@register
@dataclass(frozen=True, eq=False)
class Event:
    """One entry of a history. `first` and `second` are item numbers; see `KINDS`.

    values : (m,) marks, or how often each duel or tie was seen; user : whose, None for nobody in particular, or one a
    place
    """

    kind: str
    first: np.ndarray
    second: np.ndarray
    values: np.ndarray
    user: Any = None


@register
class Preferences:
    """An immutable history of choices between items.

    Parameters
    ----------
    items : how many there are (they are then called 0 … n − 1), or their names

    Every `with_…` returns a longer record and leaves this one as it was; `undo` returns the record before the last
    event. `user` says who chose: any hashable label, None for nobody in particular.

    Raises
    ------
    ParameterError : an item that is not among `items`, an item against itself, a count or level that is none.

    Examples
    --------
    >>> tea = Preferences(["assam", "darjeeling", "sencha"])
    >>> tasted = tea.with_duel("assam", "sencha").with_tie("assam", "darjeeling").with_rating("sencha", 6.5)
    >>> len(tasted), len(tasted.undo()), len(tea)
    (3, 2, 0)
    >>> tasted.with_duel("assam", "matcha")
    Traceback (most recent call last):
    credo.errors.ParameterError: Preferences.item must be one of the 3 items, got 'matcha'.
    """

    __slots__ = ("items", "_number", "_shared", "_length")

    def __init__(self, items: Any) -> None:
        if isinstance(items, (int, np.integer)) and not isinstance(items, bool):
            names: tuple[Hashable, ...] = tuple(range(int(items)))
        elif isinstance(items, (str, bytes, bool)) or not hasattr(items, "__iter__"):
            raise ParameterError("Preferences", "items", "their number, or a sequence of distinct names", items)
        else:
            names = tuple(each.item() if isinstance(each, np.generic) else each for each in items)
        self.items = names
        self._number = {name: i for i, name in enumerate(names)}
        if not names or len(self._number) != len(names):
            raise ParameterError("Preferences", "items", "at least one, each named once", items)
        self._shared: list[Event] = []
        self._length = 0

    # -- reading ---------------------------------------------------------------------------------------------------

    @property
    def events(self) -> tuple[Event, ...]:
        """All events, oldest first."""
        return tuple(self._shared[: self._length])

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def __repr__(self) -> str:
        return f"Preferences({len(self.items)} items, {self._length} events)"

    def number(self, item: Any) -> int:
        """The place of an item in `items`."""
        try:
            return self._number[item]
        except (KeyError, TypeError):
            constraint = f"one of the {len(self.items)} items"
            raise ParameterError("Preferences", "item", constraint, item) from None

    def numbers(self, items: Any) -> np.ndarray:
        """The places of several."""
        if isinstance(items, np.ndarray) and items.dtype.kind in "iu" and self.items == tuple(range(len(self.items))):
            bad = np.flatnonzero((items < 0) | (items >= len(self.items)))
            if bad.size:
                self.number(int(items.flat[bad[0]]))
            return items.astype(np.intp)
        return np.array([self.number(item) for item in items], dtype=np.intp)

    # -- growing and shrinking -------------------------------------------------------------------------------------

    def undo(self) -> Self:
        """The history before the last event, which `with_…` added whole. `UnavailableError` where there is none."""
        if not self._length:
            raise UnavailableError("There is nothing to undo: the history is empty.")
        return self._record(self._shared, self._length - 1)

    def with_duel(self, winner: Any, loser: Any, *, count: float = 1, user: Hashable = None) -> Self:
        """`winner` was preferred to `loser`, `count` times (or with that weight: half of it for half a win)."""
        return self.with_duels([winner], [loser], counts=[count], users=_label(user))

    def with_duels(self, winners: Any, losers: Any, *, counts: Any = None, users: Any = None) -> Self:
        """Many duels as one event: winners[k] was preferred to losers[k], counts[k] times, by users[k]."""
        return self._paired("duels", winners, losers, counts, users)

    def with_tie(self, item: Any, other: Any, *, count: float = 1, user: Hashable = None) -> Self:
        """Neither was preferred."""
        return self.with_ties([item], [other], counts=[count], users=_label(user))

    def with_ties(self, items: Any, others: Any, *, counts: Any = None, users: Any = None) -> Self:
        """Many ties as one event."""
        return self._paired("ties", items, others, counts, users)

    def with_choice(self, best: Any, among: Sequence[Any], *, user: Hashable = None) -> Self:
        """`best` was chosen out of all of `among`, which may list it too."""
        return self.with_ranking([best], [item for item in among if item != best], user=user)

    def with_ranking(self, order: Sequence[Any], below: Sequence[Any] = (), *, user: Hashable = None) -> Self:
        """Items from best to worst, and items that were shown but not ranked: all of them below the last."""
        first, second = self.numbers(order), self.numbers(below)
        everything = [*first.tolist(), *second.tolist()]
        if first.size == 0 or len(everything) < 2 or len(set(everything)) != len(everything):
            shown = (list(order), list(below))
            raise ParameterError("Preferences", "order", "two or more different items, one of them ranked", shown)
        return self._with(Event("ranking", first, second, np.ones(1), _label(user)))

    def with_rating(self, item: Any, value: float, *, user: Hashable = None) -> Self:
        """A number given to one item, on a scale of the rater's own; larger is better."""
        return self.with_ratings([item], [value], users=_label(user))

    def with_ratings(self, items: Any, values: Any, *, users: Any = None) -> Self:
        """Many ratings as one event."""
        return self._marked("ratings", items, values, users, "finite numbers, one an item", np.isfinite)

    def with_grade(self, item: Any, level: int, *, user: Hashable = None) -> Self:
        """An ordered class given to one item: 0 the worst, 1, 2, …"""
        return self.with_grades([item], [level], users=_label(user))

    def with_grades(self, items: Any, levels: Any, *, users: Any = None) -> Self:
        """Many grades as one event."""
        return self._marked("grades", items, levels, users, "whole numbers ≥ 0, one an item", _whole)

    def with_clicks(self, shown: Sequence[Any], clicked: Sequence[Any], *, user: Hashable = None) -> Self:
        """A list from top to bottom, and what was clicked: a click is preferred to all above it that were skipped.

        Who reads a list from the top has seen what is above a click, and passed over it; of what is below nothing is
        known. The rule was found to agree with explicit judgements about as well as judges agree with each other.

        References
        ----------
        Joachims (2002), Optimizing search engines using clickthrough data, KDD; Joachims, Granka, Pan, Hembrooke and
        Gay (2005), Accurately interpreting clickthrough data as implicit feedback, SIGIR.

        Examples
        --------
        >>> event = Preferences(5).with_clicks([3, 0, 4, 1, 2], clicked=[3, 1]).events[0]
        >>> list(zip(event.first.tolist(), event.second.tolist()))
        [(1, 0), (1, 4)]
        """
        order, chosen = self.numbers(shown).tolist(), set(self.numbers(clicked).tolist())
        if len(set(order)) != len(order) or not chosen <= set(order):
            raise ParameterError("Preferences", "clicked", "among the items shown, each shown once", list(clicked))
        pairs = [(a, b) for k, a in enumerate(order) if a in chosen for b in order[:k] if b not in chosen]
        first, second = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
        return self._with(Event("duels", first, second, np.ones(first.size), _label(user)))

    # -- saving ----------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        return {"items": list(self.items), "events": list(self.events)}

    @classmethod
    def from_state(cls, state: dict[str, Any], version: int) -> Self:
        return cls(state["items"])._record(state["events"], len(state["events"]))

    def __reduce__(self) -> Any:
        return _restored, (type(self), self.state())

    # -- inside ----------------------------------------------------------------------------------------------------

    def _record(self, shared: list[Event], length: int) -> Self:
        other = object.__new__(type(self))
        other.items, other._number, other._shared, other._length = self.items, self._number, shared, length
        return other

    def _with(self, event: Event) -> Self:
        shared = self._shared if len(self._shared) == self._length else self._shared[: self._length]
        shared.append(event)
        return self._record(shared, self._length + 1)

    def _paired(self, kind: str, first: Any, second: Any, counts: Any, users: Any) -> Self:
        a, b = self.numbers(first), self.numbers(second)
        values = np.ones(a.size) if counts is None else np.asarray(counts, dtype=np.float64)
        if a.shape != b.shape or a.ndim != 1 or values.shape != a.shape:
            shapes = (a.shape, b.shape, values.shape)
            raise ParameterError("Preferences", kind, "as many items as others and counts", shapes)
        if np.any(a == b):
            at = int(np.flatnonzero(a == b)[0])
            raise ParameterError("Preferences", kind, "between two different items", self.items[a[at]])
        if not np.all(np.isfinite(values) & (values >= 0.0)):
            raise ParameterError("Preferences", "counts", "finite numbers ≥ 0", counts)
        return self._with(Event(kind, a, b, values, _labels(users, a.size)))

    def _marked(self, kind: str, items: Any, values: Any, users: Any, constraint: str, good: Any) -> Self:
        first, marks = self.numbers(items), np.asarray(values, dtype=np.float64)
        if marks.shape != first.shape or not np.all(good(marks)):
            raise ParameterError("Preferences", kind, constraint, values)
        return self._with(Event(kind, first, np.zeros(0, dtype=np.intp), marks, _labels(users, first.size)))


def _restored(cls: type[Preferences], state: dict[str, Any]) -> Preferences:
    return cls.from_state(state, 1)


def _whole(values: np.ndarray) -> np.ndarray:
    return np.isfinite(values) & (values >= 0) & (values == np.floor(values))


def _labels(users: Any, m: int) -> Any:
    """One label for all, or a list of one a place."""
    if not isinstance(users, (list, np.ndarray)):
        return _label(users)
    if len(users) != m:
        raise ParameterError("Preferences", "users", f"a label, or a list or array of {m}", users)
    return [_label(user) for user in users]


def _label(user: Any) -> Any:
    user = user.item() if isinstance(user, np.generic) else user
    if not isinstance(user, Hashable):
        raise ParameterError("Preferences", "user", "a hashable label, such as a name", user)
    return user
