"""Where trials run: in this thread, in threads, in a process each."""

from __future__ import annotations

import multiprocessing as mp
import multiprocessing.connection
import pickle
import queue
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Protocol

from credo.errors import CredoError, ParameterError
from credo.studies.objective import Outcome, Pruned, Report, evaluate, progress_of

__all__ = ["Outcome", "Pruned", "Runner", "InlineRunner", "ThreadRunner", "ProcessRunner", "runner_of"]


# Seconds that a process may take to begin, before its own time runs.
STARTING = 60.0


class Runner(Protocol):
    """Starts trials and reports."""

    def start(self, trial: int, params: Mapping[str, Any]) -> None:
        """Begin a trial."""
        ...

    def finished(self, wait: float) -> list[tuple[int, Outcome]]:
        """Trials that have come to an end; waits up to `wait` seconds for the first."""
        ...

    def close(self) -> None:
        """End what still runs, where that is possible."""
        ...


class InlineRunner:
    """One trial at a time, in the caller's thread."""

    def __init__(self, function: Callable[..., Any], report: Report | None = None) -> None:
        self._function, self._report = function, report
        self._waiting: list[tuple[int, Mapping[str, Any]]] = []

    def start(self, trial: int, params: Mapping[str, Any]) -> None:
        """See `Runner`."""
        self._waiting.append((trial, params))

    def finished(self, wait: float) -> list[tuple[int, Outcome]]:
        """See `Runner`; the trial runs here, so it takes as long as it takes."""
        trial, params = self._waiting.pop(0)
        return [(trial, _evaluate(self._function, trial, params, self._report))]

    def close(self) -> None:
        """Nothing runs."""


class ThreadRunner:
    """A thread a trial. A thread cannot be ended: after a time-out it is left behind, and its answer is ignored."""

    def __init__(
        self, function: Callable[..., Any], timeout: float | None = None, report: Report | None = None
    ) -> None:
        self._function, self._timeout, self._report = function, timeout, report
        self._done: queue.Queue[tuple[int, Outcome]] = queue.Queue()
        self._started: dict[int, float] = {}

    def start(self, trial: int, params: Mapping[str, Any]) -> None:
        """See `Runner`."""
        self._started[trial] = time.monotonic()
        run = lambda: self._done.put((trial, _evaluate(self._function, trial, params, self._report)))  # noqa: E731
        threading.Thread(target=run, name=f"credo-trial-{trial}", daemon=True).start()

    def finished(self, wait: float) -> list[tuple[int, Outcome]]:
        """See `Runner`."""
        found: list[tuple[int, Outcome]] = []
        try:
            found.append(self._done.get(timeout=_pause(wait, self._started.values(), self._timeout)))
            while True:
                found.append(self._done.get_nowait())
        except queue.Empty:
            pass
        found = [(trial, outcome) for trial, outcome in found if self._started.pop(trial, None) is not None]
        for trial in _late(self._started, self._timeout):
            del self._started[trial]
            found.append((trial, _timed_out(self._timeout)))
        return found

    def close(self) -> None:
        """Threads that still run are daemons: they end with the process."""


class ProcessRunner:
    """A fresh process a trial: it may crash, leak or hang without harm to the study, and is killed when its time is up.

    The function is pickled, so it must be importable (not a lambda, not defined at the prompt).
    """

    def __init__(
        self, function: Callable[..., Any], timeout: float | None = None, report: Report | None = None
    ) -> None:
        try:
            pickle.dumps(function)
        except Exception as error:
            remedy = "Define it at the top level of a module, or use backend='threads'."
            raise ParameterError(
                "Study.optimize", "f", f"picklable for processes ({error})", function, remedy
            ) from None
        self._function, self._timeout, self._report = function, timeout, report
        # A fork server starts a process in milliseconds, and forks from a process without threads, which is safe.
        self._context = mp.get_context("forkserver" if "forkserver" in mp.get_all_start_methods() else "spawn")
        self._running: dict[int, tuple[Any, multiprocessing.connection.Connection]] = {}
        self._started: dict[int, float] = {}

    def start(self, trial: int, params: Mapping[str, Any]) -> None:
        """See `Runner`."""
        ours, theirs = self._context.Pipe(duplex=self._report is not None)
        process = self._context.Process(  # type: ignore[attr-defined]
            target=_in_process, args=(self._function, dict(params), theirs, self._report is not None),
            name=f"credo-trial-{trial}", daemon=True,
        )  # fmt: skip
        process.start()
        theirs.close()  # so that the pipe ends with the process
        # Its time runs from when it says that it began: importing the function's module may take longer than a trial.
        self._running[trial], self._started[trial] = (process, ours), time.monotonic() + STARTING

    def finished(self, wait: float) -> list[tuple[int, Outcome]]:
        """See `Runner`."""
        pipes = {connection: trial for trial, (_, connection) in self._running.items()}
        pause = _pause(wait, self._started.values(), self._timeout)
        found = []
        for connection in multiprocessing.connection.wait(list(pipes), pause):
            trial = pipes[connection]  # type: ignore[index]
            outcome = self._heard(trial)
            if outcome is not None:
                self._end(trial)
                found.append((trial, outcome))
        for trial in _late(self._started, self._timeout):
            self._end(trial, kill=True)
            found.append((trial, _timed_out(self._timeout)))
        return found

    def _heard(self, trial: int) -> Outcome | None:
        """What the process says: an outcome; that it began; or an intermediate value, which is answered."""
        process, connection = self._running[trial]
        try:
            message = connection.recv()
            if message[0] == "began":
                self._started[trial] = time.monotonic()
                return None
            if message[0] != "reported":
                return Outcome(*message)
            assert self._report is not None
            try:
                connection.send((self._report(trial, *message[1:]), None))
            except ParameterError as error:
                connection.send((None, str(error)))
            return None
        except (EOFError, ConnectionError):
            process.join()
            return Outcome("failed", None, f"the process ended with exit code {process.exitcode}")

    def _end(self, trial: int, kill: bool = False) -> None:
        process, connection = self._running.pop(trial)
        del self._started[trial]
        if kill:
            process.kill()
        process.join()
        process.close()
        connection.close()

    def close(self) -> None:
        """Kill what still runs."""
        for trial in list(self._running):
            self._end(trial, kill=True)


def _evaluate(function: Callable[..., Any], trial: int, params: Mapping[str, Any], report: Report | None) -> Outcome:
    return evaluate(function, params, None if report is None else progress_of(partial(report, trial)))


def _in_process(function: Callable[..., Any], params: dict[str, Any], pipe: Any, reports: bool) -> None:
    def report(step: Any, value: Any) -> str | None:
        pipe.send(("reported", step, value))
        reason, refused = pipe.recv()
        if refused is not None:
            raise CredoError(refused)
        return reason

    pipe.send(("began",))
    outcome = evaluate(function, params, progress_of(report) if reports else None)
    try:
        pipe.send((outcome.kind, outcome.value, outcome.reason))
    except Exception as error:  # a value that cannot be pickled
        pipe.send(("failed", None, f"the value cannot be sent back ({error})"))
    pipe.close()


def _pause(wait: float, started: Iterable[float], timeout: float | None) -> float:
    """No longer than until the next trial is late."""
    if timeout is None:
        return wait
    return max(0.0, min([wait, *(begin + timeout - time.monotonic() for begin in started)]))


def _late(started: Mapping[int, float], timeout: float | None) -> list[int]:
    now = time.monotonic()
    return [] if timeout is None else [trial for trial, begin in started.items() if now - begin >= timeout]


def _timed_out(timeout: float | None) -> Outcome:
    return Outcome("failed", None, f"no answer after {timeout:g} s")


def runner_of(
    backend: str, function: Callable[..., Any], n_jobs: int, timeout: float | None, report: Report | None = None
) -> Runner:
    """The runner for these options; with `report`, the objective gets a `progress`."""
    if backend == "processes":
        return ProcessRunner(function, timeout, report)
    if backend != "threads":
        raise ParameterError("Study.optimize", "backend", "'threads' or 'processes'", backend)
    if n_jobs == 1 and timeout is None:
        return InlineRunner(function, report)
    return ThreadRunner(function, timeout, report)
