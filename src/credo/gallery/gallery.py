"""`Gallery`: what people like, remembered in the storage of studies."""

from __future__ import annotations

import secrets
import threading
import zlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from credo.design.spaces import Space
from credo.errors import NumericalError, ParameterError
from credo.gallery import answers, ranges, tastes
from credo.gallery.events import VERSION, current, stamped
from credo.gallery.fold import Card, GalleryState, Person, Round
from credo.studies.events import Event
from credo.studies.storage import SlotTaken, Storage

__all__ = ["Gallery"]

# Another server may propose the same round first; nothing else takes the slot.
_MOST_RACES = 100
_MOST_PEOPLE = 100
_LONGEST_NAME, _LONGEST_KEY = 40, 64


class _Believed(NamedTuple):
    key: tuple[Any, ...]
    belief: Any


class Gallery:
    """People, what they were shown, and what they answered.

    Parameters
    ----------
    space : what can be shown
    storage : of studies; the gallery `name` in it is resumed, or begun
    seed : of the proposals; of a new gallery 0. Proposal and seed and what was done before determine each other.
    cards : how many a round, 2 to 9
    title : of a new gallery

    Every method is safe for threads, and several servers may have the same storage. What a method has returned is
    stored.

    Raises
    ------
    ParameterError : the gallery that is there has another space or seed, or the name is a study's.

    Examples
    --------
    >>> import credo as cr
    >>> gallery = Gallery(cr.Space(x=cr.Real(0, 1)), cr.studies.open_storage(), seed=1)
    >>> ada = gallery.join("Ada")
    >>> shown = gallery.round(ada)
    >>> gallery.answer(ada, {"round": shown.id, "kind": "best", "chosen": shown.cards[0].id})
    >>> gallery.round(ada).number, len(gallery.person(ada).answers)
    (2, 1)
    >>> gallery.undo(ada)
    >>> gallery.round(ada) == shown
    True
    """

    def __init__(
        self, space: Space, storage: Storage, *, name: str = "gallery", seed: int | None = None, cards: int = 4,
        title: str | None = None,
    ) -> None:  # fmt: skip
        if isinstance(cards, bool) or not isinstance(cards, int) or not 2 <= cards <= 9:
            raise ParameterError("Gallery", "cards", "an integer 2 to 9", cards)
        self.space, self.storage, self.name, self.cards = space, storage, name, cards
        #: held by whoever reads several things that must belong together
        self.lock = threading.RLock()
        self._beliefs: dict[str, _Believed] = {}
        created = {
            "space": space.state(strict=False), "direction": "taste", "seed": seed or 0, "gallery": VERSION,
            "title": title or name,
        }  # fmt: skip
        stored: Mapping[str, Any] = created
        if not storage.create(name, stamped(created)):
            stored = current(storage.events(name)[0]).data
            self._agree(stored, created, seed)
        self.seed, self.title = int(stored["seed"]), str(stored.get("title") or name)
        self._state = GalleryState(space)
        self.refresh()

    def _agree(self, stored: Mapping[str, Any], created: Mapping[str, Any], seed: int | None) -> None:
        anew = f"{self.name!r} in {self.storage.name} has another: --name NEW starts anew."
        if "gallery" not in stored:
            remedy = f"{self.name!r} in {self.storage.name} is a study: give the gallery another --name."
            raise ParameterError("Gallery", "name", "a gallery's", self.name, remedy)
        if stored["space"] != created["space"]:
            a, b = stored["space"]["parameters"], created["space"]["parameters"]
            differ = [name for name in sorted({*a, *b}) if a.get(name) != b.get(name)] or ["constraints"]
            raise ParameterError(
                "Gallery", "space", f"the one it began with (it differs in {', '.join(differ)})", self.name, anew
            )
        if seed is not None and seed != stored["seed"]:
            raise ParameterError("Gallery", "seed", f"{stored['seed']}, or left out", seed, anew)

    # -- what is there ---------------------------------------------------------------------------------------------

    def refresh(self) -> GalleryState:
        """The state after all events that are stored."""
        with self.lock:
            self._state.apply(self.storage.events(self.name, self._state.sequence))
            return self._state

    @property
    def people(self) -> list[Person]:
        """Everybody, in order of joining."""
        return list(self._state.people.values())

    def person(self, id_: str) -> Person:
        """By identifier."""
        found = self._state.people.get(id_)
        if found is None:
            raise ParameterError("gallery", "person", "somebody who has joined", id_)
        return found

    def shown(self, id_: str) -> Round:
        """A round by identifier."""
        return self._state.rounds[id_]

    def card(self, id_: Any) -> Card:
        """By identifier, of any round and person."""
        found = self._state.cards.get(id_) if isinstance(id_, str) else None
        if found is None:
            raise ParameterError("gallery", "card", "a card that was shown", id_)
        return found

    def key(self, card: Card) -> tuple[Any, ...]:
        """Of a card's point: two cards share it exactly if they show the same."""
        return self._state.keys[card.id]

    def chosen(self, person: str, kind: str) -> list[Card]:
        """Cards "pinned" or "favoured"."""
        return list(self._state.chosen(self.person(person), kind).values())

    def space_of(self, person: str) -> Space:
        """As the person has narrowed it."""
        return ranges.narrowed(self.space, self.person(person).narrowed)

    # -- people ----------------------------------------------------------------------------------------------------

    def join(self, name: Any) -> str:
        """Somebody new; the identifier."""
        if not isinstance(name, str) or not name.strip() or len(name) > _LONGEST_NAME or not name.isprintable():
            raise ParameterError("gallery", "name", f"1 to {_LONGEST_NAME} letters", name)
        with self.lock:
            if len(self.refresh().people) >= _MOST_PEOPLE:
                raise ParameterError("gallery", "people", f"at most {_MOST_PEOPLE}", len(self.people))
            id_ = secrets.token_urlsafe(9)  # a permalink holds it
            self._append("joined", {"person": id_, "name": name.strip()})
            return id_

    def first(self) -> str:
        """Who is meant where nobody is named: the first who joined; who that is agree all tabs."""
        with self.lock:
            if not self.refresh().people:
                self._append("joined", {"person": secrets.token_urlsafe(9), "name": "You"}, "joined:first")
            return next(iter(self._state.people))

    # -- rounds ----------------------------------------------------------------------------------------------------

    def round(self, person: str) -> Round:
        """The present round: the one that all tabs see, proposed now if nobody asked before."""
        with self.lock:
            self.refresh()
            for _ in range(_MOST_RACES):
                who = self.person(person)
                if who.round is not None:
                    return who.round
                data = {"person": person, "basis": who.basis, "number": who.number, "cards": self._proposal(who)}
                self._append("shown", data, f"shown:{person}:{who.basis}")
        raise NumericalError(f"{_MOST_RACES} other servers in a row proposed the round first.")

    def _proposal(self, who: Person) -> list[dict[str, Any]]:
        rng = np.random.default_rng([self.seed, who.basis, zlib.crc32(who.id.encode())])
        held = [self.card(id_) for id_ in who.started] or self.chosen(who.id, "pinned")
        near = None if who.near is None else self.card(who.near)
        return tastes.proposed(
            self.belief(who.id), self.space_of(who.id), self.cards, who.dial, held[: self.cards], near, rng
        )

    def belief(self, person: str) -> Any:
        """What is believed of the person's taste now. A function of all answers: asked again, it is the same."""
        with self.lock:
            who = self.person(person)
            key = tuple((each.id, action.sequence) for each in self.people for action in each.answers)
            known = self._beliefs.get(person)
            if known is None or known.key != key:
                rng = np.random.default_rng([self.seed, zlib.crc32(person.encode())])
                earlier = None if known is None else known.belief
                known = self._beliefs[person] = _Believed(key, tastes.believed(self._state, who, earlier, rng))
            return known.belief

    # -- what a person does ----------------------------------------------------------------------------------------

    def answer(self, person: str, sent: Mapping[str, Any]) -> None:
        """An answer to the round `sent["round"]`, also where another tab has left it.

        The same answer to the same round counts once, and so does one of the same `sent["key"]`: pages send again what
        they do not know to have arrived.
        """
        key = sent.get("key")
        if key is not None and not (isinstance(key, str) and 1 <= len(key) <= _LONGEST_KEY):
            raise ParameterError("answer", "key", f"1 to {_LONGEST_KEY} letters", key)
        with self.lock:
            shown = self.refresh().rounds.get(str(sent.get("round")))
            if shown is None or shown.person != person:
                raise ParameterError("answer", "round", "a round that was shown", sent.get("round"))
            data = {"round": shown.id, "answer": answers.checked(sent, shown)}
            given = [{"round": a.data["round"], "answer": a.data["answer"]} for a in self.person(person).answers]
            if data not in given:
                self._do(person, "answered", data, None if key is None else f"answered:{person}:{key}")

    def undo(self, person: str) -> None:
        """Take the last back, whatever it was; without one nothing happens."""
        self._turn(person, "undone")

    def redo(self, person: str) -> None:
        """Do again what was undone last."""
        self._turn(person, "redone")

    def _turn(self, person: str, kind: str) -> None:
        with self.lock:
            self.refresh()
            who = self.person(person)
            if who.done if kind == "undone" else who.undone:
                self._do(person, kind, {})

    def dial(self, person: str, value: Any) -> None:
        """0 close to what was liked, 1 not yet explored."""
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.0 <= value <= 1.0:
            raise ParameterError("gallery", "dial", "a number 0 to 1", value)
        self._change(person, "dialled", {"dial": float(value)}, lambda who: who.dial == float(value))

    def narrow(self, person: str, sent: Mapping[str, Any]) -> None:
        """A parameter's range made smaller, or the value it is fixed at; see `ranges.checked`."""
        with self.lock:
            self.refresh()
            others = {n: to for n, to in self.person(person).narrowed.items() if n != sent.get("name")}
            name, to = ranges.checked(self.space, sent, others)
            self._change(person, "narrowed", {"name": name, "to": to}, lambda who: who.narrowed.get(name) == to)

    def near(self, person: str, card: Any) -> None:
        """More like this one; None ends that."""
        id_ = None if card is None else self.card(card).id
        self._change(person, "near", {"card": id_}, lambda who: who.near == id_)

    def start(self, person: str, cards: Any) -> None:
        """A round of these cards, favourites say, filled up with others."""
        if not isinstance(cards, list) or not 1 <= len(cards) <= self.cards:
            raise ParameterError("gallery", "cards", f"a list of 1 to {self.cards} cards", cards)
        self._change(person, "started", {"cards": [self.card(id_).id for id_ in cards]}, lambda who: False)

    def pin(self, person: str, card: Any, on: Any) -> None:
        """Whether a card stays in the next rounds."""
        own = self.key(self.card(card))
        held = [key for key in self._state.chosen(self.person(person), "pinned") if key != own]
        if on and len(held) >= self.cards - 1:
            remedy = "A round of nothing new teaches nothing: unpin one first."
            raise ParameterError("gallery", "pinned", f"at most {self.cards - 1} cards", len(held) + 1, remedy)
        self._choose(person, "pinned", card, on)

    def favour(self, person: str, card: Any, on: Any) -> None:
        """Whether a card is among the favourites."""
        self._choose(person, "favoured", card, on)

    def _choose(self, person: str, kind: str, card: Any, on: Any) -> None:
        if not isinstance(on, bool):
            raise ParameterError("gallery", kind, "true or false", on)
        key = self.key(self.card(card))
        self._change(person, kind, {"card": card, "on": on}, lambda who: (key in self._state.chosen(who, kind)) == on)

    def _change(self, person: str, kind: str, data: dict[str, Any], done: Callable[[Person], bool]) -> None:
        """Do it, unless that is how things are."""
        with self.lock:
            self.refresh()
            if not done(self.person(person)):
                self._do(person, kind, data)

    # -- events ----------------------------------------------------------------------------------------------------

    def _do(self, person: str, kind: str, data: dict[str, Any], slot: str | None = None) -> None:
        self.person(person)
        self._append(kind, {"person": person, **data}, slot)

    def _append(self, kind: str, data: Mapping[str, Any], slot: str | None = None) -> Event | None:
        """None if another server filled the slot first; up to date in any case."""
        try:
            event = self.storage.append(self.name, kind, None, stamped(data), slot)
        except SlotTaken:
            event = None
        self.refresh()
        return event

    def close(self) -> None:
        """Let go of the storage's files and connections."""
        self.storage.close()
