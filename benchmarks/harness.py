"""Runs a case: one process a contestant, taking turns, so that the machine's noise hits all of them alike.

Ratios are taken within each round (contestant / Credo, seconds apart) and then summarised by their median.
"""

from __future__ import annotations

import compileall
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol, TypeVar

from benchmarks.case import Case, Contestant, Limit, load_case
from benchmarks.machine import interpreter_with, machine_class, thread_environment, versions

__all__ = ["ContestantFailed", "compile_as_pip_does", "run_case"]

ROOT = Path(__file__).resolve().parent.parent
T = TypeVar("T")
WORKER = ("-m", "benchmarks.worker")


class ContestantFailed(Exception):
    """A contestant's process ended, answered nothing or ran out of time; the message is its last words."""


@dataclass(frozen=True)
class Work:
    """One run of a case: its file, its directory, the environment of every process."""

    path: Path
    case: Case
    directory: Path
    environment: dict[str, str]


class Runner(Protocol):
    def warm_up(self) -> None: ...
    def call(self) -> dict[str, Any]: ...
    def close(self) -> None: ...


@contextlib.contextmanager
def deadline(process: subprocess.Popen[str], seconds: float) -> Iterator[None]:
    """Kill the process if the block takes over `seconds`; its reader sees the end of its output."""
    timer = threading.Timer(seconds, process.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def last_words(process: subprocess.Popen[str], errors: IO[bytes], timeout: float) -> str:
    code = process.wait()
    errors.seek(0)
    lines = errors.read().decode(errors="replace").strip().splitlines()
    said = lines[-1] if lines else ""
    if code < 0:
        return f"killed (out of memory, or over {timeout:g} s) {said}".rstrip()
    return said or f"ended with exit code {code}"


class Warm:
    """A process that keeps its data and its libraries, and makes one call at each request."""

    def __init__(self, work: Work, contestant: Contestant, python: str):
        case = work.case
        self.timeout = case.timeout
        self.warmups = case.warmups
        self.call_mb = 0.0
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 — closed by `close`
        self.process = subprocess.Popen(
            [python, *WORKER, str(work.path), contestant.name, str(work.directory)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True,
            env=work.environment, cwd=ROOT,
        )  # fmt: skip

    def warm_up(self) -> None:
        """Wait for the data, call until the libraries are there, then once more to measure memory."""
        self._answer()
        for _ in range(self.warmups):
            self._ask("run")
        if self.warmups:
            self.call_mb = self._ask("memory")["call_mb"]

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        with deadline(self.process, self.timeout):
            line = self.process.stdout.readline()
        if not line:
            raise ContestantFailed(last_words(self.process, self.errors, self.timeout))
        return json.loads(line)

    def _ask(self, request: str) -> dict[str, Any]:
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # then there is no answer, and that is reported
            self.process.stdin.write(f"{request}\n")
            self.process.stdin.flush()
        return self._answer()

    def call(self) -> dict[str, Any]:
        answer = self._ask("run")
        return {**answer, "call_mb": max(answer["call_mb"], self.call_mb)}

    def close(self) -> None:
        self.process.kill()
        with contextlib.suppress(BrokenPipeError):
            self.process.communicate()
        self.errors.close()


class Fresh:
    """A new process at each call, timed from its start to its end, less what judging the result took."""

    def __init__(self, work: Work, contestant: Contestant, python: str):
        own = (python, *WORKER, str(work.path), contestant.name, "{directory}", "--once")
        command = contestant.command or own
        self.arguments = [each.replace("{directory}", str(work.directory)) for each in command]
        self.answers = contestant.command is None
        self.timeout = work.case.timeout
        self.environment = work.environment
        self.warmups = work.case.warmups

    def warm_up(self) -> None:
        for _ in range(self.warmups):  # fills the file cache
            self.call()

    def call(self) -> dict[str, Any]:
        with tempfile.TemporaryFile() as errors, tempfile.TemporaryFile("w+") as output:
            start = time.perf_counter()
            process = subprocess.Popen(
                self.arguments, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, text=True,
                env=self.environment, cwd=ROOT,
            )  # fmt: skip
            with deadline(process, self.timeout):
                _, status, usage = os.wait4(process.pid, 0)
            seconds = time.perf_counter() - start
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                raise ContestantFailed(last_words(process, errors, self.timeout))
            output.seek(0)
            told = {"quality": None, "judging": 0.0, "process_mb": usage.ru_maxrss / 1024}
            answer = json.loads(output.read()) if self.answers else told
        return {**answer, "seconds": seconds - answer["judging"], "call_mb": None}

    def close(self) -> None:
        pass


def attempt(action: Callable[[], T], outcome: dict[str, Any]) -> T | None:
    """What the action returns, or None with its failure written into the outcome."""
    try:
        return action()
    except ContestantFailed as failure:
        outcome.clear()
        outcome.update(status="failed", error=str(failure))
        return None


def measure(
    path: Path, case: Case, repeats: int, environment: dict[str, str], interpreters: tuple[str, ...]
) -> dict[str, dict[str, Any]]:
    """Contestant → {"status", "error" or "calls"}, in rounds A B C, A B C, ..."""
    kind = Warm if case.mode == "warm" else Fresh
    outcomes: dict[str, dict[str, Any]] = {}
    runners: dict[str, Runner] = {}
    with tempfile.TemporaryDirectory(prefix="credo-benchmark-") as name, contextlib.ExitStack() as stack:
        work = Work(path, case, Path(name), environment)
        homes = {each.name: interpreter_with(each.requires, interpreters) for each in case.contestants}
        present = [each for each in case.contestants if homes[each.name]]
        if case.prepare is not None and present:
            arguments = [sys.executable, *WORKER, str(path), "-", name, "--prepare"]
            subprocess.run(arguments, check=True, env=environment, cwd=ROOT)
        for contestant in case.contestants:
            python = homes[contestant.name]
            if python is None:
                error = f"not installed: {', '.join(contestant.requires)}"
                outcomes[contestant.name] = {"status": "missing", "error": error}
                continue
            outcomes[contestant.name] = {"status": "ok", "calls": []}
            runner: Runner = kind(work, contestant, python)
            stack.callback(runner.close)
            runners[contestant.name] = runner
            attempt(runner.warm_up, outcomes[contestant.name])
        for _ in range(repeats):
            for competitor, runner in runners.items():
                outcome = outcomes[competitor]
                if outcome["status"] == "ok" and (call := attempt(runner.call, outcome)):
                    outcome["calls"].append(call)
    return outcomes


def spread(values: list[float]) -> dict[str, float]:
    return {"median": statistics.median(values), "low": min(values), "high": max(values)}


def taken(limit: Limit, rounds: list[dict[str, Any]] | None, calls: dict[str, list[dict[str, Any]]]) -> float | None:
    """The limited figure, median over rounds; None where it, or what it goes beyond, was not measured."""
    base = [{limit.figure: 0.0}] * len(rounds or ()) if limit.beyond is None else calls.get(limit.beyond)
    if not rounds or not base:
        return None
    return statistics.median(call[limit.figure] - other[limit.figure] for call, other in zip(rounds, base))


def summarise(case: Case, outcomes: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """One record a contestant: times, ratios to the first one, memory, quality, whether its bar is met."""
    calls = {name: outcome["calls"] for name, outcome in outcomes.items() if outcome["status"] == "ok"}
    credo = calls.get(case.contestants[0].name)
    qualities = {name: rounds[-1]["quality"] for name, rounds in calls.items()}
    rows = []
    for contestant in case.contestants:
        outcome = outcomes[contestant.name]
        row: dict[str, Any] = {
            "name": contestant.name,
            "status": outcome["status"],
            "error": outcome.get("error"),
        }
        rounds = calls.get(contestant.name)
        if rounds:
            row["seconds"] = spread([call["seconds"] for call in rounds])
            row["call_mb"] = max((call["call_mb"] for call in rounds), key=lambda mb: mb or 0.0)
            row["process_mb"] = max(call["process_mb"] for call in rounds)
            row["quality"] = qualities[contestant.name]
            if case.quality is not None and row["quality"] is not None:  # a command is not judged
                judged = [value for value in qualities.values() if value is not None]
                row["reached"] = case.quality.reached(row["quality"], judged)
            if credo:
                row["ratio"] = spread([call["seconds"] / ours["seconds"] for call, ours in zip(rounds, credo)])
        limit = case.limits.get(contestant.name)
        if limit is not None:
            row["limit"] = str(limit)
            row["taken"] = taken(limit, rounds, calls)
            row["limit_met"] = None if row["taken"] is None else row["taken"] <= limit.most
        bar = case.bars.get(contestant.name)
        if bar is not None:
            row["bar"] = str(bar)
            row["bar_met"] = bar.met(row["ratio"]["median"]) if "ratio" in row else None
        rows.append(row)
    return rows


def compile_as_pip_does() -> None:
    """Byte code of Credo's own modules, as installing leaves every peer's, whatever PYTHONDONTWRITEBYTECODE says here:
    a fresh process should not be timed compiling."""
    for folder in ("src/credo", "benchmarks"):
        compileall.compile_dir(ROOT / folder, quiet=2)


def run_case(path: Path, *, repeats: int | None = None, threads: int = 1, peers: str | None = None) -> dict[str, Any]:
    """Measure the case in the file `path`; a record that holds only JSON values.

    `peers` is a second Python interpreter, for contestants whose packages this one lacks.
    """
    interpreters = (sys.executable,) if peers is None else (sys.executable, peers)
    case = load_case(path)
    repeats = case.repeats if repeats is None else repeats
    compile_as_pip_does()
    outcomes = measure(path, case, repeats, thread_environment(threads), interpreters)
    return {
        "case": path.stem,
        "question": case.question,
        "mode": case.mode,
        "repeats": repeats,
        "threads": threads,
        "memory_limit_mb": None if case.memory_limit is None else case.memory_limit / 2**20,
        "quality": None if case.quality is None else case.quality.name,
        "machine": machine_class(),
        "versions": versions((name for each in case.contestants for name in each.requires), interpreters),
        "contestants": summarise(case, outcomes),
    }
