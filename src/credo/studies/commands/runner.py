"""`CommandRunner`: trials as programs, several at once."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
import threading
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from credo.errors import StorageError
from credo.studies.commands.answers import Answer, Answers, NoAnswer
from credo.studies.commands.process import GRACE, Process, TimeUp
from credo.studies.commands.template import CommandTemplate
from credo.studies.objective import Outcome, Report

__all__ = ["CommandRunner", "Failure"]

# An intermediate result: a line of a whole number and a number.
_REPORT = re.compile(r"\s*(\d+)[\s,]+([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:nan|inf))\s*", re.IGNORECASE)
# Failures of which more than the reason is kept.
_KEPT = 3


class Failure(NamedTuple):
    """What is known of a trial that failed: `lines` are the last of standard error, or of standard output."""

    trial: int
    reason: str
    lines: list[str]


class CommandRunner:
    """Runs a program a trial, and reads its answer: a `Runner`.

    Parameters
    ----------
    template, answers : what is run, how its answer is read
    value_file : where the answer is, as a JSON file, relative to the trial's folder if there is one; may hold
        ``{trial}``. Its date is set back before the trial, which tells whether it was written. None reads the last line
        of standard output.
    folder : if given, each trial has a folder in it, with params.json, stdout.txt and stderr.txt
    inside : whether programs run in their trial's folder
    timeout : seconds until a program is ended, with all that it started
    reports : whether lines ``STEP VALUE`` are intermediate results: `report` gets them, and may end the trial
    """

    def __init__(
        self, template: CommandTemplate, answers: Answers, *, study: str = "", value_file: str | None = None,
        folder: Path | None = None, inside: bool = False, timeout: float | None = None, reports: bool = False,
    ) -> None:  # fmt: skip
        self._template, self._answers, self._study = template, answers, study
        self._folder = None if folder is None else folder.absolute()
        self._value_file = None if value_file is None else CommandTemplate([value_file], [], (), ("trial", "dir"))
        self._inside, self._timeout, self._reports = inside, timeout, reports
        #: takes intermediate results; the reason to end the trial, or None
        self.report: Report = lambda trial, step, value: None
        self._done: queue.SimpleQueue[tuple[int, Outcome]] = queue.SimpleQueue()
        self._running: dict[int, Process] = {}
        self._lock = threading.Lock()
        self._closed = False
        self.failures: deque[Failure] = deque(maxlen=_KEPT)

    def start(self, trial: int, params: Mapping[str, Any]) -> None:
        """See `Runner`."""
        run = lambda: self._done.put((trial, self._outcome(trial, dict(params))))  # noqa: E731
        threading.Thread(target=run, name=f"credo-trial-{trial}", daemon=True).start()

    def finished(self, wait: float) -> list[tuple[int, Outcome]]:
        """See `Runner`."""
        found = []
        try:
            found.append(self._done.get(timeout=wait))
            while True:
                found.append(self._done.get_nowait())
        except queue.Empty:
            return found

    def close(self) -> None:
        """End what still runs, all at once."""
        with self._lock:
            self._closed = True
            left = list(self._running.values())
        for process in left:
            process.ask_to_end()
        enders = [threading.Thread(target=process.end, daemon=True) for process in left]
        for thread in enders:
            thread.start()
        for thread in enders:
            thread.join(2 * GRACE)

    # -- one trial, in a thread of its own ---------------------------------------------------------------------

    def _outcome(self, trial: int, params: dict[str, Any]) -> Outcome:
        try:
            return self._run(trial, params)
        except Exception as error:  # the loop waits for an answer, whatever it is
            return self._failed(trial, f"{type(error).__name__}: {error}", [])

    def _run(self, trial: int, params: dict[str, Any]) -> Outcome:
        special = self._prepared(trial, params)
        words = self._template.fill(params, special)
        folder = Path(special["dir"]) if "dir" in special else None
        environment = {**os.environ, **{f"CREDO_{name.upper()}": str(value) for name, value in special.items()}}
        if self._inside and os.sep in words[0]:
            words[0] = os.path.abspath(words[0])
        try:
            with self._lock:
                if self._closed:
                    return Outcome("failed", None, "interrupted")
                process = self._running[trial] = Process(
                    words, folder=folder if self._inside else None, environment=environment, timeout=self._timeout,
                    logs=folder,
                )  # fmt: skip
        except (OSError, ValueError) as error:  # ValueError: a NUL in a word
            why = getattr(error, "strerror", None) or str(error)
            return self._failed(trial, f"{words[0]} cannot be run: {why}", [])
        try:
            return self._followed(trial, process, special.get("value_file"))
        finally:
            with self._lock:
                del self._running[trial]

    def _prepared(self, trial: int, params: dict[str, Any]) -> dict[str, Any]:
        """The special places of a trial; its folder is made, and an old value file dated back."""
        special: dict[str, Any] = {"trial": trial, "study": self._study, "params": json.dumps(params)}
        if self._folder is not None:
            folder = self._folder / f"{trial:04}"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "params.json").write_text(json.dumps(params, indent=2) + "\n", encoding="utf-8")
            special["dir"] = str(folder)
        if self._value_file is not None:
            base = self._folder / f"{trial:04}" if self._folder is not None else Path.cwd()
            path = base / self._value_file.fill({}, special)[0]
            with contextlib.suppress(FileNotFoundError):
                os.utime(path, (0, 0))  # so that what an earlier trial left is not taken for this one's answer
            special["value_file"] = str(path)
        return special

    def _followed(self, trial: int, process: Process, value_file: str | None) -> Outcome:
        tail: deque[str] = deque(maxlen=20)
        reported = last = ""
        try:
            for line in process.lines():
                tail.append(line)
                report = _REPORT.fullmatch(line) if self._reports else None
                if report is None:
                    last = line
                    continue
                reported = report[2]
                reason = self.report(trial, int(report[1]), float(reported))
                if reason is not None:
                    process.end()
                    return Outcome("pruned", float(reported), reason)
        except TimeUp:
            process.end()
            return self._failed(trial, f"no answer after {self._timeout:g} s", process.errors or list(tail))
        except StorageError as error:  # nothing that the program did
            process.end()
            return Outcome("broken", None, str(error), error)
        said = process.errors or list(tail)
        if (failure := process.failure) is not None:
            return self._failed(trial, f"{failure}{f': {process.errors[-1]}' if process.errors else ''}", said)
        try:
            return Outcome("told", self._answer(last or reported, value_file).checked().as_returned)
        except NoAnswer as error:
            return self._failed(trial, str(error), said)

    def _answer(self, line: str, value_file: str | None) -> Answer:
        if value_file is None:
            return self._answers.of_line(line)
        path = Path(value_file)
        if path.exists() and path.stat().st_mtime_ns == 0:
            raise NoAnswer(f"it did not write {path}, which an earlier one left")
        return self._answers.of_file(path)

    def _failed(self, trial: int, reason: str, lines: list[str]) -> Outcome:
        self.failures.append(Failure(trial, reason, lines))
        return Outcome("failed", None, reason)
