"""`Event`: one thing that happened to a study. Events are appended and never changed; their order is their number."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from credo.errors import FileFormatError

__all__ = ["Event", "KINDS", "take_in"]

#: what can happen → what its data hold
KINDS: dict[str, str] = {
    "created": "space, direction (two: a list), seed, sampler, noisy, pruner",
    "queued": "params to be asked before any other",
    "guessed": "params, sd: someone thinks the best is near",
    "asked": "params; why (its mean: lower is better); memory of the sampler; lease, worker; queued: whence, if so",
    "reported": "step, value: an intermediate result",
    "told": "value, or values of two objectives; constraints, if any",
    "failed": "reason",
    "pruned": "reason, value: the last one, if any",
    "stale": "reason: the worker is gone, so the point is asked again; a late answer still counts",
    "narrowed": "ranges, fixed",
    "note": "text",
    "described": "keys, constraints (as text), command, of `credo tune`; the last one counts",
}


@dataclass(frozen=True)
class Event:
    """What happened, as JSON data.

    sequence : 1, 2, … within the study, without gaps: the only order that counts
    kind : one of `KINDS`; trial : its number, or None; data : see `KINDS`
    time : seconds since 1970 by the clock of whoever wrote it, for people: clocks jump, so nothing depends on it
    """

    sequence: int
    kind: str
    trial: int | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
    time: float = 0.0


def take_in(event: Event, after: int, what: str, take: Callable[[Event], None]) -> int:
    """Take in the event that follows number `after`, and return its number; one already taken in is skipped. A gap, or
    an event that lacks something, is a `FileFormatError` about `what` they belong to."""
    if event.sequence <= after:
        return after
    if event.sequence != after + 1:
        raise FileFormatError(
            f"The {what}'s events {after + 1} to {event.sequence - 1} are missing.",
            value=event.sequence,
            remedy="The storage is damaged: restore a copy.",
        )
    try:
        take(event)
    except (KeyError, TypeError) as error:
        raise FileFormatError(
            f"Event {event.sequence} ({event.kind}) of the {what} is incomplete: {error!r}.", value=event
        ) from error
    return event.sequence
