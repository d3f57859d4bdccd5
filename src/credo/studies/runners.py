"""Where trials run: in this thread, in threads, in a process each."""

from __future__ import annotations

import multiprocessing as mp
import multiprocessing.connection
import pickle
import queue
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol

from credo.errors import ParameterError

__all__ = ["Outcome", "Pruned", "Runner", "InlineRunner", "ThreadRunner", "ProcessRunner", "runner_of"]


class Pruned(Exception):
    """Raise it in an objective to give a trial up early; the argument, if any, is the last value seen."""


class Outcome(NamedTuple):
    """kind "told" (value), "failed" or "pruned" (reason); `error` is the exception itself, where there is one here."""

    kind: str
    value: Any = None
    reason: str | None = None
    error: BaseException | None = None


def evaluate(function: Callable[[dict[str, Any]], Any], params: Mapping[str, Any]) -> Outcome:
    """Call the objective; what it raises becomes an outcome."""
    try:
        return Outcome("told", function(dict(params)))
    except Pruned as pruned:
        return Outcome("pruned", pruned.args[0] if pruned.args else None, "pruned by the objective")
    except Exception as error:
        return Outcome("failed", None, f"{type(error).__name__}: {error}", error)


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

    def __init__(self, function: Callable[[dict[str, Any]], Any]) -> None:
        self._function = function
        self._waiting: list[tuple[int, Mapping[str, Any]]] = []

    def start(self, trial: int, params: Mapping[str, Any]) -> None:
        """See `Runner`."""
        self._waiting.append((trial, params))

    def finished(self, wait: float) -> list[tuple[int, Outcome]]:
        """See `Runner`; the trial runs here, so it takes as long as it takes."""
        trial, params = self._waiting.pop(0)
        return [(trial, evaluate(self._function, params))]

    def close(self) -> None:
        """Nothing runs."""


class ThreadRunner:
    """A thread a trial. A thread cannot be ended: after a time-out it is left behind, and its answer is ignored."""

    def __init__(self, function: Callable[[dict[str, Any]], Any], timeout: float | None = None) -> None:
        self._function, self._timeout = function, timeout
        self._done: queue.Queue[tuple[int, Outcome]] = queue.Queue()
        self._started: dict[int, float] = {}

    def start(self, trial: int, params: Mapping[str, Any]) -> None:
        """See `Runner`."""
        self._started[trial] = time.monotonic()
        run = lambda: self._done.put((trial, evaluate(self._function, params)))  # noqa: E731
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

    def __init__(self, function: Callable[[dict[str, Any]], Any], timeout: float | None = None) -> None:
        try:
            pickle.dumps(function)
        except Exception as error:
            remedy = "Define it at the top level of a module, or use backend='threads'."
            raise ParameterError(
                "Study.optimize", "f", f"picklable for processes ({error})", function, remedy
            ) from None
        self._function, self._timeout = function, timeout
        # A fork server starts a process in milliseconds, and forks from a process without threads, which is safe.
        self._context = mp.get_context("forkserver" if "forkserver" in mp.get_all_start_methods() else "spawn")
        self._running: dict[int, tuple[Any, multiprocessing.connection.Connection]] = {}
        self._started: dict[int, float] = {}

    def start(self, trial: int, params: Mapping[str, Any]) -> None:
        """See `Runner`."""
        ours, theirs = self._context.Pipe(duplex=False)
        process = self._context.Process(  # type: ignore[attr-defined]
            target=_in_process, args=(self._function, dict(params), theirs), name=f"credo-trial-{trial}", daemon=True
        )
        process.start()
        theirs.close()  # so that the pipe ends with the process
        self._running[trial], self._started[trial] = (process, ours), time.monotonic()

    def finished(self, wait: float) -> list[tuple[int, Outcome]]:
        """See `Runner`."""
        pipes = {connection: trial for trial, (_, connection) in self._running.items()}
        pause = _pause(wait, self._started.values(), self._timeout)
        found = []
        for connection in multiprocessing.connection.wait(list(pipes), pause):
            trial = pipes[connection]  # type: ignore[index]
            process = self._running[trial][0]
            try:
                outcome = Outcome(*connection.recv())  # type: ignore[union-attr]
            except EOFError:
                process.join()
                outcome = Outcome("failed", None, f"the process ended with exit code {process.exitcode}")
            self._end(trial)
            found.append((trial, outcome))
        for trial in _late(self._started, self._timeout):
            self._end(trial, kill=True)
            found.append((trial, _timed_out(self._timeout)))
        return found

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


def _in_process(function: Callable[[dict[str, Any]], Any], params: dict[str, Any], pipe: Any) -> None:
    outcome = evaluate(function, params)
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


def runner_of(backend: str, function: Callable[[dict[str, Any]], Any], n_jobs: int, timeout: float | None) -> Runner:
    """The runner for these options."""
    if backend == "processes":
        return ProcessRunner(function, timeout)
    if backend != "threads":
        raise ParameterError("Study.optimize", "backend", "'threads' or 'processes'", backend)
    return InlineRunner(function) if n_jobs == 1 and timeout is None else ThreadRunner(function, timeout)
