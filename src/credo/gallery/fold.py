"""`GalleryState`: the fold over events. Two tabs, or two servers, that have read the same events know the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from credo.design.spaces import Space
from credo.gallery.events import current
from credo.studies.events import Event, take_in

__all__ = ["Action", "Card", "GalleryState", "Person", "Round"]

# What makes another round of it, if it was not late. Pins and favourites leave the cards that are shown.
_MOVES = frozenset({"answered", "narrowed", "dialled", "near", "started"})


@dataclass(frozen=True)
class Card:
    """A point as it was shown: id "ROUND-PLACE"; liking and sd as believed then; why it was proposed."""

    id: str
    params: Mapping[str, Any]
    liking: float | None
    sd: float | None
    why: str


@dataclass(frozen=True)
class Round:
    """Cards shown to a person. basis : the event after which it was proposed; number : 1, 2, … as the person counts."""

    id: str
    person: str
    basis: int
    number: int
    cards: tuple[Card, ...]


@dataclass(frozen=True)
class Action:
    """One thing done. late : an answer to a round that another tab had left; it counts, and changes no round."""

    sequence: int
    kind: str
    data: Mapping[str, Any]
    late: bool = False

    @property
    def moves(self) -> bool:
        """Whether the round after it is another."""
        return self.kind in _MOVES and not self.late


@dataclass
class Person:
    """What somebody did, in order, and what was taken back. Everything else about them follows from `done`."""

    id: str
    name: str
    done: list[Action] = field(default_factory=list)
    undone: list[Action] = field(default_factory=list)
    rounds: dict[int, Round] = field(default_factory=dict)  # by their basis

    @property
    def last_move(self) -> Action | None:
        """What made the present round."""
        return next((action for action in reversed(self.done) if action.moves), None)

    @property
    def basis(self) -> int:
        """The event after which the present round was, or is to be, proposed."""
        return 0 if (last := self.last_move) is None else last.sequence

    @property
    def round(self) -> Round | None:
        """The present round; None if it is still to be proposed."""
        return self.rounds.get(self.basis)

    @property
    def number(self) -> int:
        """Of the present round."""
        return 1 + sum(action.kind == "answered" and not action.late for action in self.done)

    @property
    def answers(self) -> list[Action]:
        """Answers that stand."""
        return [action for action in self.done if action.kind == "answered"]

    @property
    def dial(self) -> float:
        """0 close to what was liked, 1 not yet explored."""
        return next((a.data["dial"] for a in reversed(self.done) if a.kind == "dialled"), 0.5)

    @property
    def near(self) -> str | None:
        """The card that the present round is to be like."""
        last = self.last_move
        return last.data["card"] if last is not None and last.kind == "near" else None

    @property
    def started(self) -> list[str]:
        """Cards that the present round begins with."""
        last = self.last_move
        return list(last.data["cards"]) if last is not None and last.kind == "started" else []

    @property
    def narrowed(self) -> dict[str, Mapping[str, Any]]:
        """{parameter: what it was narrowed to}."""
        found: dict[str, Any] = {}
        for action in self.done:
            if action.kind == "narrowed":
                found[action.data["name"]] = action.data["to"]
        return {name: to for name, to in found.items() if to is not None}


class GalleryState:
    """People, rounds and cards after the events applied so far. `space` is the space as created."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.sequence = 0
        self.people: dict[str, Person] = {}
        self.rounds: dict[str, Round] = {}
        self.cards: dict[str, Card] = {}
        self.keys: dict[str, tuple[Any, ...]] = {}  # card → its point's key in the space

    def apply(self, events: Iterable[Event]) -> None:
        """Take in events in their order; those already taken in are skipped."""
        for event in events:
            self.sequence = take_in(event, self.sequence, "gallery", self._take_current)

    def _take_current(self, event: Event) -> None:
        event = current(event)
        self._take(event, event.data)

    def _take(self, event: Event, data: Mapping[str, Any]) -> None:
        if event.kind == "created":
            return
        if event.kind == "joined":
            self.people[data["person"]] = Person(data["person"], data["name"])
            return
        person = self.people[data["person"]]
        if event.kind == "shown":
            self._shown(event, person, data)
        elif event.kind in ("undone", "redone"):
            source, target = (person.done, person.undone)[:: 1 if event.kind == "undone" else -1]
            if source:  # another tab may have been faster
                target.append(source.pop())
        else:
            late = event.kind == "answered" and self.rounds[data["round"]].basis != person.basis
            person.done.append(Action(event.sequence, event.kind, data, late))
            person.undone.clear()

    def _shown(self, event: Event, person: Person, data: Mapping[str, Any]) -> None:
        id_ = str(event.sequence)
        cards = tuple(
            Card(f"{id_}-{place}", card["params"], card.get("liking"), card.get("sd"), card.get("why", ""))
            for place, card in enumerate(data["cards"])
        )
        found = Round(id_, person.id, data["basis"], data["number"], cards)
        person.rounds[found.basis] = self.rounds[id_] = found
        self.cards.update((card.id, card) for card in cards)
        self.keys.update((card.id, self.space.key(card.params)) for card in cards)

    def chosen(self, person: Person, kind: str) -> dict[tuple[Any, ...], Card]:
        """Cards that are "pinned" or "favoured", by their point: the same point may have been shown several times."""
        found: dict[tuple[Any, ...], Card] = {}
        for action in person.done:
            if action.kind == kind:
                card = self.cards[action.data["card"]]
                key = self.keys[card.id]
                if action.data["on"]:
                    found.setdefault(key, card)
                else:
                    found.pop(key, None)
        return found

    def answered(self, person: Person) -> Iterator[tuple[Round, Mapping[str, Any]]]:
        """(round, answer) in order."""
        for action in person.answers:
            yield self.rounds[action.data["round"]], action.data["answer"]
