"""What every storage of studies must do. `reopen` opens the same place anew, as another process would.

For a storage of your own: `check_storage(lambda: MyStorage(place))`, on an empty place.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from credo.errors import ParameterError
from credo.studies.storage import SlotTaken, Storage

__all__ = ["check_storage", "check_concurrent"]


def check_storage(reopen: Callable[[], Storage], *, persistent: bool = True) -> None:
    """Assert what one writer sees: numbers, slots, names, data that survive."""
    storage = reopen()
    data = {"text": "Ω ' \" \\ \n", "number": 0.1 + 0.2, "none": None, "list": [1, True, -1e300], "nested": {"a": []}}
    assert storage.create("one", data) is True
    assert storage.create("one", {"other": 1}) is False
    assert storage.create("two", {}) is True
    assert storage.studies() == ["one", "two"]

    (created,) = storage.events("one")
    assert (created.sequence, created.kind, created.trial, created.data) == (1, "created", None, data)
    assert storage.append("one", "asked", 0, data, slot="asked:0").sequence == 2
    assert storage.append("two", "asked", 0, {}, slot="asked:0").sequence == 2  # slots belong to their study
    taken = _raised(SlotTaken, lambda: storage.append("one", "asked", 0, {"late": 1}, slot="asked:0"))
    assert (taken.event.sequence, taken.event.data) == (2, data)
    assert storage.append("one", "note", None, {}).sequence == 3, "the refused event left a gap"
    assert storage.append("one", "note", None, {}).sequence == 4, "events without a slot do not compete"

    storage.beat("one", [0, 3])
    storage.beat("one", [3, 3])
    storage.beat("one", [])
    beats = storage.beats("one")
    assert (beats.get(0), beats.get(3), beats.get(1, 0)) == (1, 2, 0)
    assert storage.beats("two") == {}

    for call in (
        lambda: storage.events("absent"),
        lambda: storage.append("absent", "note", None, {}),
        lambda: storage.beat("absent", [0]),
        lambda: storage.beats("absent"),
    ):
        assert _raised(ParameterError, call).value == "absent"

    events = storage.events("one")
    assert [e.sequence for e in events] == [1, 2, 3, 4]
    assert storage.events("one", after=2) == events[2:]
    assert storage.events("one", after=9) == []
    storage.close()
    assert storage.events("one") == events, "a closed storage opens again"
    if persistent:
        other = reopen()
        assert other.events("one") == events
        assert other.beats("one") == beats
        other.close()
    storage.close()


def _raised(kind: type[BaseException], call: Callable[[], Any]) -> Any:
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


def check_concurrent(reopen: Callable[[], Storage], *, writers: int = 4, events: int = 25) -> None:
    """Assert what several writers and a reader see: no number missing or twice, one winner a slot, all in order."""
    first = reopen()
    first.create("busy", {})
    first.close()
    wins: list[int] = []
    errors: list[BaseException] = []
    gate = threading.Barrier(writers + 1)

    def write(storage: Storage) -> None:
        gate.wait()
        for i in range(events):
            try:
                storage.append("busy", "asked", i, {}, slot=f"asked:{i}")
                wins.append(i)
            except SlotTaken:
                storage.append("busy", "note", None, {"text": i})
            storage.beat("busy", [i % 3])

    def guarded(storage: Storage) -> None:
        try:
            write(storage)
        except BaseException as error:
            errors.append(error)
        storage.close()

    threads = [threading.Thread(target=guarded, args=(reopen(),)) for _ in range(writers)]
    for thread in threads:
        thread.start()
    reader, seen = reopen(), 1
    gate.wait()
    while any(thread.is_alive() for thread in threads):
        new: list[Any] = [e.sequence for e in reader.events("busy", seen)]
        assert new == list(range(seen + 1, seen + 1 + len(new))), "a later event was seen before an earlier one"
        seen += len(new)
    for thread in threads:
        thread.join()
    assert not errors, errors
    assert sorted(wins) == list(range(events))
    assert [e.sequence for e in reader.events("busy")] == list(range(1, 2 + writers * events))
    assert sum(reader.beats("busy").values()) == writers * events
    reader.close()
