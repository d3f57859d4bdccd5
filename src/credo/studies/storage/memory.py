"""`MemoryStorage`: events in this process, for studies that need not outlive it."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from credo.errors import ParameterError
from credo.studies.events import Event
from credo.studies.storage.base import SlotTaken

__all__ = ["MemoryStorage"]


class MemoryStorage:
    """Safe for threads; data go through JSON as in a database, so that nothing works here only."""

    name = "memory"

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._events: dict[str, list[Event]] = {}
        self._slots: dict[tuple[str, str], Event] = {}
        self._beats: dict[str, Counter[int]] = {}

    def create(self, study: str, data: Mapping[str, Any]) -> bool:
        """See `Storage.create`."""
        with self._lock:
            if study in self._events:
                return False
            self._events[study] = [Event(1, "created", None, json.loads(json.dumps(data)), time.time())]
            self._beats[study] = Counter()
            return True

    def studies(self) -> list[str]:
        """See `Storage.studies`."""
        return list(self._events)

    def append(
        self, study: str, kind: str, trial: int | None, data: Mapping[str, Any], slot: str | None = None
    ) -> Event:
        """See `Storage.append`."""
        data = json.loads(json.dumps(data))
        with self._lock:
            events = self._of(study)
            if slot is not None and (study, slot) in self._slots:
                raise SlotTaken(self._slots[study, slot])
            event = Event(len(events) + 1, kind, trial, data, time.time())
            events.append(event)
            if slot is not None:
                self._slots[study, slot] = event
            return event

    def events(self, study: str, after: int = 0) -> list[Event]:
        """See `Storage.events`."""
        with self._lock:
            return self._of(study)[after:]

    def beat(self, study: str, trials: Iterable[int]) -> None:
        """See `Storage.beat`."""
        with self._lock:
            self._of(study)
            self._beats[study].update(set(trials))

    def beats(self, study: str) -> dict[int, int]:
        """See `Storage.beats`."""
        with self._lock:
            self._of(study)
            return dict(self._beats[study])

    def close(self) -> None:
        """Nothing to let go of."""

    def _of(self, study: str) -> list[Event]:
        if study not in self._events:
            raise ParameterError("Study", "name", f"one of {list(self._events)}", study)
        return self._events[study]
