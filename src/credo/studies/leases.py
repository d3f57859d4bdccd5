"""Whose trial is whose. A worker that runs trials beats for them; a trial without beats has lost its worker.

Nothing compares clocks of two machines, or a clock before and after a jump: a watcher counts its *own* monotonic
seconds for which another's count of beats has not moved.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path

from credo.errors import CredoError
from credo.studies.storage import Storage
from credo.studies.trial import Trial

__all__ = ["Heart", "Watch", "worker_identity", "is_gone"]

# Beats in a lease: three may be late before anyone doubts.
BEATS_PER_LEASE = 4


def worker_identity() -> str:
    """This process, so that another on the same machine can tell whether it still runs: host, boot, number, start."""
    return "|".join([socket.gethostname(), _boot(), str(os.getpid()), _started(os.getpid())])


def is_gone(worker: str | None) -> bool:
    """Whether the process is known to have ended; False if it is of another machine, or cannot be told."""
    parts = (worker or "").split("|")
    if len(parts) != 4 or parts[:2] != [socket.gethostname(), _boot()] or not parts[1] or not parts[3]:
        return False
    return _started(int(parts[2])) != parts[3]


@cache
def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _started(pid: int) -> str:
    """When the process started, in ticks since the boot: numbers are used again, not together with this. A zombie has
    ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]


class Heart:
    """A thread that beats for the trials that `running` names, until closed."""

    def __init__(self, storage: Storage, study: str, lease: float, running: Callable[[], Iterable[int]]) -> None:
        self._storage, self._study, self._running = storage, study, running
        self._pause = lease / BEATS_PER_LEASE
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="credo-heart", daemon=True)

    def _beat(self) -> None:
        while not self._stop.wait(self._pause):
            try:
                self._storage.beat(self._study, list(self._running()))
            except CredoError:  # the loop meets the same storage, and raises where someone sees it
                continue

    def __enter__(self) -> Heart:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stop.set()
        self._thread.join()


class Watch:
    """What one process has seen of others' beats."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: dict[int, tuple[int, float]] = {}

    def lost(self, pending: Iterable[Trial], beats: Mapping[int, int], own: Iterable[int]) -> list[tuple[Trial, str]]:
        """Trials whose worker is gone, and how that is known. Those asked without a lease are somebody's to answer."""
        mine, now, found = set(own), self._clock(), []
        for trial in pending:
            if trial.lease is None or trial.id in mine:
                continue
            if is_gone(trial.worker):
                found.append((trial, "its process has ended"))
                continue
            count = beats.get(trial.id, 0)
            if self._seen.get(trial.id, (-1, 0.0))[0] != count:
                self._seen[trial.id] = (count, now)
            elif now - self._seen[trial.id][1] > trial.lease:
                found.append((trial, f"no sign of its worker for {trial.lease:g} s"))
        return found
