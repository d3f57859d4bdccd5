"""The loop that asks, runs programs and tells, and gives up on a command that never works."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from credo.errors import CredoError, UnavailableError
from credo.studies.commands.runner import CommandRunner, Failure
from credo.studies.leases import Heart
from credo.studies.objective import Outcome
from credo.studies.optimize import Loop
from credo.studies.trial import Trial

if TYPE_CHECKING:
    from credo.studies.study import Study

__all__ = ["FailingCommandError", "run_commands"]

# So many failures in a row, before anything else, speak against the command and not against the points.
MOST_FAILURES = 3
# Of a study that goes on, unless more than this share of its trials failed before: then three in a row may be chance.
USUAL_FAILURES = 0.2


class FailingCommandError(UnavailableError):
    """The first three trials failed; `failures` say how."""

    def __init__(self, failures: list[Failure]) -> None:
        self.failures = failures
        super().__init__(
            f"The first {len(failures)} trials failed, so that the command is in doubt rather than the points.",
            value=[failure.reason for failure in failures],
        )


def run_commands(
    study: Study, runner: CommandRunner, total: int, n_jobs: int = 1, *, patient: bool = False,
    progress: Callable[[Trial], Any] | None = None,
) -> None:  # fmt: skip
    """Ask, run, tell, until the study has `total` trials, over all workers and interruptions, or no point is left.

    Raises `FailingCommandError` where the first three trials of this call fail, unless `patient`, or the study has
    seen many failures. They are then not told as failed, since they say nothing of the points, which are asked again.
    """
    loop = _Commands(study, None, total, n_jobs, progress)
    loop.runner, runner.report = runner, loop.reported
    loop.trusted = patient or _often_fails(study.records)
    with Heart(study.storage, study.name, study.lease, lambda: loop.alive):
        try:
            loop.run()
            loop.trust()
        finally:
            loop.abandon()


def _often_fails(trials: Iterable[Trial]) -> bool:
    """Whether failures are usual where there are successes too."""
    states = [trial.state for trial in trials]
    failed = states.count("failed")
    succeeded = states.count("told") + states.count("pruned")
    return succeeded > 0 and failed > USUAL_FAILURES * (failed + succeeded)


class _Commands(Loop):
    """Withholds first failures until it is known whether the command works at all."""

    runner: CommandRunner
    trusted = False

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.withheld: list[tuple[Trial, Outcome]] = []

    @property
    def alive(self) -> list[int]:
        """Trials that are somebody's."""
        return [*self.running, *(trial.id for trial, _ in list(self.withheld))]

    def tell(self, trial: Trial, outcome: Outcome) -> None:
        if not self.trusted and outcome.kind == "failed":
            self.withheld.append((trial, outcome))
            if self.progress is not None:
                self.progress(replace(trial, state="failed", reason=outcome.reason))
            if len(self.withheld) >= MOST_FAILURES:
                raise FailingCommandError(list(self.runner.failures))
            return
        self.trust()
        super().tell(trial, outcome)

    def trust(self) -> None:
        """The command works, so what failed was the points."""
        self.trusted = True
        while self.withheld:
            trial, outcome = self.withheld[0]
            self.study.fail(trial, outcome.reason or "failed")
            del self.withheld[0]

    def abandon(self) -> None:
        """What runs, and what was withheld, brings nothing: others may ask it again."""
        for trial, outcome in self.withheld:
            self.running.pop(trial.id, None)
            with contextlib.suppress(CredoError):
                self.study.release(trial, f"the command failed: {outcome.reason}")
        super().abandon()
