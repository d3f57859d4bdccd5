"""What can happen in a gallery, as data. Events are appended to the storage of studies and never changed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from credo.errors import FileFormatError
from credo.studies.events import Event

__all__ = ["KINDS", "VERSION", "current", "stamped"]

#: of the data below; each event says its own, so that one gallery may hold events of several
VERSION = 1

#: what can happen → what its data hold; all but the first two happen to a person
KINDS: dict[str, str] = {
    "created": 'space, direction: "taste", seed, gallery: the version, title',
    "joined": "person: an identifier, name",
    "shown": "basis: the event that it follows, number, cards: params, liking, sd and why of each",
    "answered": "round, answer: see `answers`",
    "narrowed": "name, to: {low, high}, {choices}, {value}, or null for the range as created",
    "dialled": "dial: 0 close to what was liked, 1 not yet explored",
    "near": "card: more like this, or null",
    "started": "cards: the next round begins with these",
    "pinned": "card, on: it stays in the next rounds",
    "favoured": "card, on",
    "undone": "the last that was done",
    "redone": "the last that was undone",
}

# From version i + 1 to i + 2; a version never changes once released.
_STEPS: tuple[Callable[[str, dict[str, Any]], dict[str, Any]], ...] = ()


def stamped(data: Mapping[str, Any]) -> dict[str, Any]:
    """Data with the present version, as they are written."""
    return {**data, "v": VERSION}


def current(event: Event, steps: Sequence[Callable[[str, dict[str, Any]], dict[str, Any]]] = _STEPS) -> Event:
    """The event as the present version has it.

    Raises
    ------
    FileFormatError : a newer Credo wrote it, or something else than a gallery.
    """
    version = event.data.get("v", 1)
    if version > len(steps) + 1 or event.kind not in KINDS:
        raise FileFormatError(
            f"Event {event.sequence} of the gallery is a {event.kind!r} of version {version}; this Credo knows "
            f"versions up to {len(steps) + 1}.",
            value=event.kind,
            remedy="A newer Credo wrote it (pip install -U credo), or it is no gallery's.",
        )  # fmt: skip
    data = dict(event.data)
    for step in steps[version - 1 :]:
        data = step(event.kind, data)
    return dataclasses.replace(event, data=data)
