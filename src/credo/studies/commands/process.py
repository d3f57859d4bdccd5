"""One program: its lines as they come, its time, how it ended."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

__all__ = ["Process", "TimeUp"]

# Seconds between asking a program to end and ending it.
GRACE = 2.0
# Seconds for what a program has started, and left, to close its output.
AFTERWARDS = 0.5
# A longer line comes in pieces.
LONGEST = 1 << 20
# Lines of standard error that are kept.
KEPT = 20
_EXITED, _CLOSED = object(), object()


class TimeUp(Exception):
    """The time is up. Never leaves `credo.studies`."""


class Process:
    """A program that runs, in a process group of its own, so that what it starts ends with it.

    words : program and arguments, handed to the operating system as they are: no shell
    timeout : seconds, or None; logs : a folder for stdout.txt and stderr.txt

    Raises `OSError` where it cannot be started.
    """

    def __init__(
        self, words: Sequence[str], *, folder: Path | None = None, environment: Mapping[str, str] | None = None,
        timeout: float | None = None, logs: Path | None = None,
    ) -> None:  # fmt: skip
        own_group: dict[str, Any] = {"process_group": 0} if os.name == "posix" else {}
        self._process = subprocess.Popen(
            list(words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder,
            env=None if environment is None else dict(environment), encoding="utf-8", errors="replace", **own_group,
        )  # fmt: skip
        self._until = None if timeout is None else time.monotonic() + timeout
        self._said: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._errors: deque[str] = deque(maxlen=KEPT)
        self._readers = [
            self._thread(self._read, self._process.stdout, logs and logs / "stdout.txt", self._said.put),
            self._thread(self._read, self._process.stderr, logs and logs / "stderr.txt", self._errors.append),
        ]
        self._thread(self._wait)

    def _thread(self, target: Any, *arguments: Any) -> threading.Thread:
        thread = threading.Thread(target=target, args=arguments, name="credo-command", daemon=True)
        thread.start()
        return thread

    def _read(self, stream: IO[str], log: Path | None, keep: Any) -> None:
        with contextlib.ExitStack() as stack:
            stack.callback(self._said.put, _CLOSED)
            stack.enter_context(stream)
            copy = None
            with contextlib.suppress(OSError):  # a full disk is no reason to lose the answer
                copy = None if log is None else stack.enter_context(open(log, "w", encoding="utf-8"))
            while line := stream.readline(LONGEST):
                if copy is not None:
                    with contextlib.suppress(OSError):
                        copy.write(line)
                        copy.flush()
                if line.strip():
                    keep(line.rstrip("\n"))

    def _wait(self) -> None:
        self._process.wait()
        self._said.put(_EXITED)

    def lines(self) -> Iterator[str]:
        """Lines of standard output that are not empty, as they come, until the program has ended.

        Raises
        ------
        TimeUp : the program still runs, and should be ended.
        """
        exited, open_ = False, len(self._readers)
        while not exited or open_:
            try:
                item = self._said.get(timeout=AFTERWARDS if exited else self._left())
            except queue.Empty:
                if exited:  # what it left behind, a server say, holds on to its output
                    return
                raise TimeUp from None
            if item is _EXITED:
                exited = True
            elif item is _CLOSED:
                open_ -= 1
            else:
                yield item

    def _left(self) -> float | None:
        return None if self._until is None else max(0.0, self._until - time.monotonic())

    @property
    def errors(self) -> list[str]:
        """The last lines of standard error."""
        return list(self._errors)

    @property
    def failure(self) -> str | None:
        """How it ended, if not well."""
        code = self._process.poll()
        if code is None:
            return "it has not ended"
        if code < 0:
            try:
                return f"killed by {signal.Signals(-code).name}"
            except ValueError:
                return f"killed by signal {-code}"
        return f"exit code {code}" if code else None

    def ask_to_end(self) -> None:
        """SIGTERM, to all that it started too."""
        self._signal(signal.SIGTERM)

    def end(self) -> None:
        """Ask it to end, and after a while end it."""
        self.ask_to_end()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE)
        self._signal(getattr(signal, "SIGKILL", signal.SIGTERM))
        self._process.wait()

    def _signal(self, number: int) -> None:
        with contextlib.suppress(OSError):  # it has ended already
            if os.name == "posix":
                os.killpg(self._process.pid, number)
            else:
                self._process.send_signal(number)
