"""`Storage`: an append-only list of events a study, safe under concurrent writers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from credo.studies.events import Event

__all__ = ["Storage", "SlotTaken"]


class SlotTaken(Exception):
    """Someone filled the slot first; `event` is what stands there. Never leaves `credo.studies`."""

    def __init__(self, event: Event) -> None:
        super().__init__(event)
        self.event = event


class Storage(Protocol):
    """What a study needs of a storage. `credo.testing.storages.check_storage` tests one.

    Every method is one transaction: it happened wholly or not at all, and when it has returned, it outlives `kill -9`.
    """

    #: for error messages
    name: str

    def create(self, study: str, data: Mapping[str, Any]) -> bool:
        """Write the event "created" as number 1 of a new study; False, and nothing written, if there is one already."""
        ...

    def studies(self) -> list[str]:
        """Names of all studies, in order of creation."""
        ...

    def append(
        self, study: str, kind: str, trial: int | None, data: Mapping[str, Any], slot: str | None = None
    ) -> Event:
        """Append an event under the next number. Of all appends that name the same `slot` of a study one succeeds, and
        the others raise `SlotTaken`."""
        ...

    def events(self, study: str, after: int = 0) -> list[Event]:
        """Events with a number above `after`, in order. A number seen once never appears below one seen later."""
        ...

    def beat(self, study: str, trials: Iterable[int]) -> None:
        """Count one heartbeat for each of these trials."""
        ...

    def beats(self, study: str) -> dict[int, int]:
        """Heartbeats counted, by trial; a trial without any may be absent."""
        ...

    def close(self) -> None:
        """Let go of files and connections; the storage opens them again when used."""
        ...
