"""What a person may say of the points shown. Each answer is a frozen record whose `state()` is JSON data.

Points are dicts of parameters, as `Space` has them. A point that is shown twice counts once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from credo.errors import ParameterError

__all__ = ["Answer", "Best", "Duel", "NoneOfThem", "Order", "Rating", "Skip", "Tie", "answer_from_state"]

Point = Mapping[str, Any]


@dataclass(frozen=True)
class Answer:
    """Base of all answers."""

    kind: ClassVar[str] = ""

    @property
    def points(self) -> tuple[Point, ...]:
        """Every point that the answer names."""
        raise NotImplementedError

    def state(self) -> dict[str, Any]:
        """The answer as JSON data, for `answer_from_state`."""
        return {"kind": self.kind, **{f.name: _plain(getattr(self, f.name)) for f in dataclasses.fields(self)}}


@dataclass(frozen=True)
class Best(Answer):
    """`chosen` is liked best of all that was shown.

    >>> Best({"x": 0.1}, [{"x": 0.1}, {"x": 0.9}]).state()
    {'kind': 'best', 'chosen': {'x': 0.1}, 'shown': [{'x': 0.1}, {'x': 0.9}]}
    """

    chosen: Point
    shown: Sequence[Point]
    kind: ClassVar[str] = "best"

    @property
    def points(self) -> tuple[Point, ...]:
        return (self.chosen, *self.shown)


@dataclass(frozen=True)
class Order(Answer):
    """All that was shown, best first."""

    ranking: Sequence[Point]
    kind: ClassVar[str] = "order"

    @property
    def points(self) -> tuple[Point, ...]:
        return tuple(self.ranking)


@dataclass(frozen=True)
class Duel(Answer):
    """`winner` is liked better than `loser`."""

    winner: Point
    loser: Point
    kind: ClassVar[str] = "duel"

    @property
    def points(self) -> tuple[Point, ...]:
        return (self.winner, self.loser)


@dataclass(frozen=True)
class Tie(Answer):
    """No difference is felt between the items; each is better than what else was shown, if that is said."""

    items: Sequence[Point]
    shown: Sequence[Point] = ()
    kind: ClassVar[str] = "tie"

    @property
    def points(self) -> tuple[Point, ...]:
        return (*self.items, *self.shown)


@dataclass(frozen=True)
class NoneOfThem(Answer):
    """Nothing of what was shown will do."""

    shown: Sequence[Point]
    kind: ClassVar[str] = "none"

    @property
    def points(self) -> tuple[Point, ...]:
        return tuple(self.shown)


@dataclass(frozen=True)
class Rating(Answer):
    """One item, by 1 to 5 `stars` or on a `slider` from 0 to 1: one of the two.

    >>> Rating({"x": 0.1}, stars=4).value
    0.75
    >>> Rating({"x": 0.1}, slider=1.5)
    Traceback (most recent call last):
    credo.errors.ParameterError: Rating.slider must be a number from 0 to 1, got 1.5.
    """

    item: Point
    stars: float | None = None
    slider: float | None = None
    kind: ClassVar[str] = "rating"

    def __post_init__(self) -> None:
        if (self.stars is None) == (self.slider is None):
            raise ParameterError("Rating", "stars", "given, or else slider, not both", (self.stars, self.slider))
        if self.stars is not None and not _between(self.stars, 1, 5):
            raise ParameterError("Rating", "stars", "a number from 1 to 5", self.stars)
        if self.slider is not None and not _between(self.slider, 0, 1):
            raise ParameterError("Rating", "slider", "a number from 0 to 1", self.slider)

    @property
    def value(self) -> float:
        """0 to 1, for both ways of saying it."""
        return float(self.slider) if self.slider is not None else (float(self.stars or 1.0) - 1.0) / 4.0

    @property
    def points(self) -> tuple[Point, ...]:
        return (self.item,)


@dataclass(frozen=True)
class Skip(Answer):
    """No answer: nothing is learned, and what was shown is not shown again soon."""

    shown: Sequence[Point] = ()
    kind: ClassVar[str] = "skip"

    @property
    def points(self) -> tuple[Point, ...]:
        return tuple(self.shown)


_KINDS: dict[str, type[Answer]] = {each.kind: each for each in (Best, Order, Duel, Tie, NoneOfThem, Rating, Skip)}


def answer_from_state(state: Mapping[str, Any]) -> Answer:
    """The answer of `state()`; fields that this version does not know are left out.

    ParameterError : a kind that is none; a field that is missing.

    >>> answer_from_state({"kind": "rating", "item": {"x": 0.1}, "stars": 5}).value
    1.0
    """
    if not isinstance(state, Mapping):
        raise ParameterError("answer_from_state", "state", "a dict, as `Answer.state` gives it", state)
    said = state.get("kind")
    if not isinstance(said, str) or said not in _KINDS:
        raise ParameterError("answer_from_state", "kind", f"one of {sorted(_KINDS)}", said)
    fields = dataclasses.fields(_KINDS[said])
    for field in fields:
        if field.default is dataclasses.MISSING and field.name not in state:
            raise ParameterError("answer_from_state", field.name, f"given in a state of kind {said!r}", None)
    return _KINDS[said](**{field.name: state[field.name] for field in fields if field.name in state})


def _between(value: Any, low: float, high: float) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and low <= value <= high


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    return [dict(each) for each in value] if isinstance(value, (list, tuple)) else value
