"""The trials of `credo tune`: run, shown as they go, interrupted without loss."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from credo.cli.study_parts import assignments, best_so_far, broken_text, value_text
from credo.cli.terminal import Terminal
from credo.cli.tune_parts import Plan
from credo.errors import CredoWarning, StorageError, warn

__all__ = ["run", "write_report"]

FAILED, HUNG_UP, INTERRUPTED = 1, 129, 130
# Seconds between two reports on the way, and the share of the time that they may take.
BETWEEN, SHARE = 10.0, 0.05


def run(study: Any, plan: Plan, terminal: Terminal) -> tuple[int, str | None, Path | None, Any]:
    """The exit code; why it ended before its time, if it did; the report's file, if it was written; what it says is
    left to gain, if anything."""
    from credo.studies.commands import CommandRunner, FailingCommandError, run_commands

    runner = CommandRunner(
        plan.template, plan.answers, study=study.name, value_file=plan.value_file, folder=plan.folder,
        inside=plan.inside, timeout=plan.timeout, reports=plan.prune is not None,
    )  # fmt: skip
    code, stopped = 0, None
    watcher = _Watcher(study, plan, terminal)
    try:
        with _hang_up_ends(), watcher:
            run_commands(study, runner, plan.total, plan.jobs, patient=plan.keep_going, progress=watcher.finished)
    except KeyboardInterrupt:
        code, stopped = INTERRUPTED, "interrupted"
        watcher.forgotten()
    except StorageError as error:
        for note in getattr(error, "__notes__", ()):  # which answer could not be kept
            print(" ".join(note.split()), file=sys.stderr)
        raise
    except FailingCommandError as error:
        code, stopped = FAILED, str(error)
        _explain(error.failures, terminal.quiet)
    try:
        with terminal.step(f"Writing {plan.page}"):
            watcher.report()
    except KeyboardInterrupt:
        code, stopped = INTERRUPTED, "interrupted"
    return code, stopped, watcher.page, watcher.left


@contextlib.contextmanager
def _hang_up_ends() -> Iterator[None]:
    """A terminal that is closed ends the programs too, unless the command was told to survive that (nohup)."""
    number = getattr(signal, "SIGHUP", None)
    if number is None or signal.getsignal(number) is not signal.SIG_DFL:
        yield
        return

    def end(*arguments: Any) -> None:
        raise SystemExit(HUNG_UP)

    signal.signal(number, end)
    try:
        yield
    finally:
        signal.signal(number, signal.SIG_DFL)


def _explain(failures: list[Any], quiet: bool) -> None:
    """What the trials said before they failed, on standard error whatever is quiet."""
    for failure in failures if quiet else ():  # they were told as they ended, otherwise
        print(f"trial {failure.trial} failed: {failure.reason}", file=sys.stderr)
    if failures[-1].lines:
        print(f"The last lines of trial {failures[-1].trial}:", file=sys.stderr)
    for line in failures[-1].lines[-8:]:
        print(f"  | {line[:500]}", file=sys.stderr)


class _Watcher:
    """Tells of every trial that has finished, and writes the report on the way.

    On a terminal: one line that is rewritten, and a line for each failure. Elsewhere a line a trial. Both go to
    standard error; --quiet says nothing.
    """

    def __init__(self, study: Any, plan: Plan, terminal: Terminal) -> None:
        self._study, self._plan, self._terminal = study, plan, terminal
        self.page: Path | None = None
        self.left: Any = None
        self._bar: Any = None
        self._last_report = time.monotonic()
        self._cost = 0.0
        self._failed: list[int] = []

    def __enter__(self) -> _Watcher:
        if not self._terminal.quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

            columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed} of {task.total}"))
            best = TextColumn("{task.fields[best]}", markup=False)
            self._bar = Progress(*columns, TimeElapsedColumn(), best, console=Console(stderr=True), transient=True)
            self._bar.add_task("trials", total=self._plan.total, completed=self._alive(), best=self._best())
            self._bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _alive(self) -> int:
        return sum(trial.is_finished for trial in self._study.records)

    def _best(self) -> str:
        return f"best {best}" if (best := best_so_far(self._study)) else "no value yet"

    def finished(self, trial: Any) -> None:
        """One more."""
        self._failed += [trial.id] if trial.state == "failed" else []
        self._show(trial)
        waited = time.monotonic() - self._last_report
        if waited > BETWEEN and self._cost < SHARE * waited:
            self.report()

    def forgotten(self) -> None:
        """Failures before the first success are not kept when the command ends: that was told of them otherwise."""
        states = {trial.id: trial.state for trial in self._study.refresh().records}
        lost = [f"{i}" for i in self._failed if states[i] == "stale"]
        if lost and not self._terminal.quiet:
            said = f"Failed before any trial did not, {', '.join(lost)} count for nothing: their points are tried anew."
            print(said, file=sys.stderr)

    def _show(self, trial: Any) -> None:
        if self._terminal.quiet:
            return
        failed = trial.state == "failed"
        what = trial.reason if failed or trial.values is None else value_text(trial)
        line = f"trial {trial.id} {trial.state if trial.state != 'told' else ''}".rstrip() + f": {what}"
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=self._alive(), best=self._best())
            if failed:
                self._bar.console.print(line, markup=False, highlight=False, soft_wrap=True)
            return
        if broken := broken_text(self._study, trial):
            line += f", {broken}"
        print(f"{line} ({assignments(trial.params)}; {self._best()})", file=sys.stderr, flush=True)

    def _command(self) -> str | None:
        """As typed, without the password of a database."""
        typed, where = self._terminal.command, self._plan.storage
        return typed if typed is None or where is None else typed.replace(where, self._study.storage.name)

    def report(self) -> None:
        """Write the page as things are now; that it cannot be written ends nothing."""
        if self._plan.page is None:
            return
        begin = time.monotonic()
        try:
            self.left = write_report(self._study, self._plan.page, self._plan.outcomes, self._command())
            self.page = self._plan.page
        except Exception as error:
            if os.environ.get("CREDO_DEBUG") == "1":
                raise
            warn(f"{self._plan.page} was not written: {error or type(error).__name__}", CredoWarning)
        self._last_report = time.monotonic()
        self._cost = self._last_report - begin


def write_report(study: Any, page: Any, outcome: Sequence[str] | None = None, command: str | None = None) -> Any:
    """The study's report, whole or not at all; returned is what it says is left to gain."""
    from credo.reports.study import study_report
    from credo.reports.study_page import write_study_html

    report = study_report(study, outcome=outcome, command=command)
    write_study_html(report, page)
    return report.left
