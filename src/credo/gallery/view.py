"""What the page sees of a gallery, as JSON data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from credo.gallery import ranges, tastes
from credo.gallery.fold import Card
from credo.gallery.gallery import Gallery

__all__ = ["Picture", "best_card", "card_view", "map_view", "slice_view", "state_view"]


class Picture(Protocol):
    """How a card looks; see `renderers`."""

    def described(self, card: Card) -> dict[str, Any]:
        """What the page needs to show the card: kind, and what that kind needs."""
        ...


def state_view(gallery: Gallery, person: str, picture: Picture) -> dict[str, Any]:
    """Everything the page shows. Proposes the round if there is none yet."""
    with gallery.lock:  # another tab may answer meanwhile
        return _state_view(gallery, person, picture)


def _state_view(gallery: Gallery, person: str, picture: Picture) -> dict[str, Any]:
    shown = gallery.round(person)
    who, belief = gallery.person(person), gallery.belief(person)
    marks = _Marks(gallery, person, picture)
    favourites = gallery.chosen(person, "favoured")
    return {
        "session": who.id,
        "title": gallery.title,
        "person": {"id": who.id, "name": who.name},
        "people": [{"id": each.id, "name": each.name, "answers": len(each.answers)} for each in gallery.people],
        "round": {
            "id": shown.id,
            "number": shown.number,
            "cards": [marks.view(card, card.liking, card.sd) for card in shown.cards],
        },
        "space": ranges.described(gallery.space, who.narrowed),
        "answers": len(who.answers),
        "sure": float(belief.sure),
        "favourites": marks.believed(favourites, belief),
        "pinned": [card.id for card in gallery.chosen(person, "pinned")],
        "near": who.near,
        "best": best_card(gallery, person, picture),
        "can_undo": bool(who.done),
        "can_redo": bool(who.undone),
        "dial": who.dial,
    }


class _Marks:
    """Cards with the marks that a person gave them."""

    def __init__(self, gallery: Gallery, person: str, picture: Picture) -> None:
        self._key, self._picture = gallery.key, picture
        self._pinned, self._favoured = (
            {gallery.key(card) for card in gallery.chosen(person, kind)} for kind in ("pinned", "favoured")
        )

    def view(self, card: Card, liking: float | None, sd: float | None) -> dict[str, Any]:
        """One card, with what is believed of it."""
        key = self._key(card)
        marks = {"pinned": key in self._pinned, "favourite": key in self._favoured}
        return card_view(card, self._picture) | {"liking": liking, "sd": sd, "why": card.why, **marks}

    def believed(self, cards: Sequence[Card], belief: Any) -> list[dict[str, Any]]:
        """Cards of earlier rounds, with what is believed of them now."""
        if not cards:
            return []
        mean, sd = belief.liking([dict(card.params) for card in cards])
        return [self.view(card, float(m), float(s)) for card, m, s in zip(cards, mean, sd)]


def card_view(card: Card, picture: Picture) -> dict[str, Any]:
    """A card as such."""
    params = dict(card.params)
    return {"id": card.id, "params": params, "shown": ranges.shown(params), "render": picture.described(card)}


def best_card(gallery: Gallery, person: str, picture: Picture) -> dict[str, Any] | None:
    """The card shown to the person that is believed to be liked most; None before there is an answer."""
    if not gallery.person(person).answers:
        return None
    cards = seen(gallery, person)
    best, liking, sd = gallery.belief(person).best_of([card.params for card in cards])
    return _Marks(gallery, person, picture).view(cards[best], liking, sd)


def seen(gallery: Gallery, person: str) -> list[Card]:
    """Cards that the person has answered about, each point once, the latest card of it last in order of first sight."""
    found: dict[Any, Card] = {}
    for action in gallery.person(person).answers:
        for card in gallery.shown(action.data["round"]).cards:
            found[gallery.key(card)] = card
    return list(found.values())


def slice_view(gallery: Gallery, person: str, name: str, at: Card | None) -> dict[str, Any]:
    """The belief along a parameter, the others as at a card (by default the best one)."""
    point = _point(gallery, person, at)
    found = tastes.slice_of(gallery.belief(person), gallery.space, name, point)
    parameter = gallery.space.parameters[name]
    return {"name": name, "type": parameter.kind, "at": point.get(name), **found}


def map_view(gallery: Gallery, person: str, a: str, b: str, at: Card | None) -> dict[str, Any]:
    """Liking and its sd over two parameters."""
    return tastes.map_of(gallery.belief(person), gallery.space, a, b, _point(gallery, person, at))


def _point(gallery: Gallery, person: str, at: Card | None) -> Mapping[str, Any]:
    if at is not None:
        return dict(at.params)
    cards = seen(gallery, person) or list(gallery.round(person).cards)
    return dict(cards[gallery.belief(person).best_of([card.params for card in cards])[0]].params)
