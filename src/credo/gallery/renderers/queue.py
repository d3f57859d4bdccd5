"""Programs that make pictures: waiting in turn, running a few at once, their files remembered."""

from __future__ import annotations

import contextlib
import itertools
import os
import queue
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from credo.errors import shown
from credo.studies.commands.process import Process, TimeUp

__all__ = ["Made", "RenderQueue"]

# Waiting programs beyond this are refused: a page shows nine cards in two sizes, so that is several people's rounds.
MOST_WAITING = 64
# Bytes of one picture, and of all that are remembered.
LARGEST, MOST_BYTES = 64 << 20, 512 << 20
# Failures that are remembered, so that a page that asks again does not run them again.
MOST_FAILURES = 256


@dataclass(frozen=True)
class Made:
    """path : the file; or failure : why there is none; or position : how many programs go first."""

    path: Path | None = None
    failure: str | None = None
    position: int | None = None
    full: bool = False


class RenderQueue:
    """Runs commands that each leave one file, `jobs` at once, those of low `rank` first, the latest of a rank first.

    folder : of the files, named by the key of what they show; timeout : seconds until a program is ended
    """

    def __init__(self, folder: Path, jobs: int, timeout: float) -> None:
        self._folder, self._timeout = folder, timeout
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._waiting: queue.PriorityQueue[tuple[int, int, str]] = queue.PriorityQueue()
        self._jobs: dict[str, tuple[list[str], Path, Path]] = {}  # waiting or running
        self._failures: dict[str, str] = {}
        self._running: set[Process] = set()
        self._count, self._closed = itertools.count(), False
        self._workers = [threading.Thread(target=self._work, name="credo-render", daemon=True) for _ in range(jobs)]
        for worker in self._workers:
            worker.start()

    def made(self, key: str, suffix: str, rank: int, words: Sequence[str], out: Path, again: bool = False) -> Made:
        """The file of a key, which `words` writes as `out`; begins to make it. again : try what failed once more."""
        path = self._folder / f"{key}.{suffix}"
        with self._lock:
            if path.is_file():
                with contextlib.suppress(OSError):
                    os.utime(path)  # those unseen for longest are forgotten first
                return Made(path)
            if again:
                self._failures.pop(key, None)
            if key in self._failures:
                return Made(failure=self._failures[key])
            if key not in self._jobs:
                if self._waiting.qsize() >= MOST_WAITING or self._closed:
                    return Made(full=True)
                self._jobs[key] = (list(words), out, path)
                self._waiting.put((rank, -next(self._count), key))
            return Made(position=self._waiting.qsize())

    def kept(self, key: str, suffix: str) -> Path | None:
        """The file of a key, if it is made."""
        path = self._folder / f"{key}.{suffix}"
        return path if path.is_file() else None

    def _work(self) -> None:
        while True:
            _, _, key = self._waiting.get()
            if self._closed:
                return
            words, out, path = self._jobs[key]
            try:
                failure = self._run(words, out, path)
            except Exception as error:  # the worker goes on whatever one job did
                failure = f"it could not be run: {shown(str(error), 300)}"
            finally:
                with contextlib.suppress(OSError):
                    out.unlink(missing_ok=True)
            with self._lock:
                del self._jobs[key]
                if failure is not None:
                    while len(self._failures) >= MOST_FAILURES:
                        self._failures.pop(next(iter(self._failures)))
                    self._failures[key] = failure

    def _run(self, words: list[str], out: Path, path: Path) -> str | None:
        """Why there is no file, or None."""
        try:
            process = Process(words, timeout=self._timeout)
        except (OSError, ValueError) as error:
            return f"the program cannot be run: {getattr(error, 'strerror', None) or error}"
        with self._lock:
            self._running.add(process)
            late = self._closed
        try:
            if late:  # `close` did not know of it
                process.end()
                return "the gallery was closed"
            for _ in process.lines():
                pass
        except TimeUp:
            process.end()
            return f"it took longer than {self._timeout:g} s"
        finally:
            with self._lock:
                self._running.discard(process)
        if process.failure is not None:
            last = process.errors[-1] if process.errors else ""
            return f"{process.failure}{': ' + shown(last, 300) if last else ''}"
        return self._kept(out, path)

    def _kept(self, out: Path, path: Path) -> str | None:
        if out.is_symlink() or not out.is_file():
            return "it ended well, and left no file where {out} says"
        size = out.stat().st_size
        if not 0 < size <= LARGEST:
            return f"its file holds {size} bytes, of at most {LARGEST}"
        os.replace(out, path)
        self._forget(path)
        return None

    def _forget(self, newest: Path) -> None:
        """Files beyond the limit, those unseen for longest first."""
        files = [(each.stat().st_mtime_ns, each.stat().st_size, each) for each in self._folder.glob("*.*")]
        total = sum(size for _, size, _ in files)
        for _, size, each in sorted(files):
            if total <= MOST_BYTES:
                return
            if each != newest:
                with contextlib.suppress(OSError):
                    each.unlink()
                total -= size

    def close(self) -> None:
        """End what runs."""
        with self._lock:
            self._closed = True
            running = list(self._running)
        for _ in self._workers:
            self._waiting.put((-1, 0, ""))
        for process in running:
            process.ask_to_end()
        for process in running:
            process.end()
        for worker in self._workers:
            worker.join(5.0)
