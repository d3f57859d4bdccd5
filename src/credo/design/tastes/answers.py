"""What a person may say of the points shown. Each answer is a frozen record whose `state()` is JSON data.

Points are dicts of parameters, as `Space` has them. A point that is shown twice counts once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from credo.errors import ParameterError

__all__ = ["Answer", "Best", "Duel", "NoneOfThem", "Order", "Rating", "Skip", "Tie", "answer_from_state"]

Point = Mapping[str, Any]

# Fields that hold one point, and those that hold several; the latter become tuples.
ONE, SEVERAL = ("chosen", "winner", "loser", "item"), ("shown", "ranking", "items")


@dataclass(frozen=True)
class Answer:
    """Base of all answers. `ParameterError` where a point is no dict of parameters, or several are no list of them."""

    kind: ClassVar[str] = ""

    def __post_init__(self) -> None:
        owner = type(self).__name__
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.name in ONE:
                _point(owner, field.name, value)
            elif field.name in SEVERAL:
                object.__setattr__(self, field.name, _points(owner, field.name, value))

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
    """All that was shown, best first. `ParameterError` where a point is ranked twice.

    >>> Order([{"x": 0.1}, {"x": 0.9}, {"x": 0.1}])
    Traceback (most recent call last):
    credo.errors.ParameterError: Order.ranking must be of different points, got {'x': 0.1} twice.
    """

    ranking: Sequence[Point]
    kind: ClassVar[str] = "order"

    def __post_init__(self) -> None:
        super().__post_init__()
        for i, point in enumerate(self.ranking):
            if point in self.ranking[:i]:
                raise ParameterError("Order", "ranking", "of different points", _Twice(point))

    @property
    def points(self) -> tuple[Point, ...]:
        return tuple(self.ranking)


@dataclass(frozen=True)
class Duel(Answer):
    """`winner` is liked better than `loser`; they differ."""

    winner: Point
    loser: Point
    kind: ClassVar[str] = "duel"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.winner == self.loser:
            raise ParameterError("Duel", "loser", "another point than the winner", self.loser)

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
        super().__post_init__()
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


class _Twice:
    """A value as the message about a repeated one shows it."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __repr__(self) -> str:
        return f"{self._value!r} twice"


def _point(owner: str, name: str, value: Any) -> None:
    if not isinstance(value, Mapping):
        raise ParameterError(owner, name, "a point, a dict of parameters", value)


def _points(owner: str, name: str, values: Any) -> tuple[Point, ...]:
    if isinstance(values, (str, Mapping)) or not isinstance(values, (Sequence, np.ndarray)):
        raise ParameterError(owner, name, "a list of points", values)
    for value in values:
        _point(owner, name, value)
    return tuple(values)


def _between(value: Any, low: float, high: float) -> bool:
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    return bool(number and low <= value <= high)


def _plain(value: Any) -> Any:
    """As JSON has it: numbers of numpy are Python's."""
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value.item() if isinstance(value, np.generic) else value
