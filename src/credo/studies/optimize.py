"""The loop that asks, runs and tells."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from credo.errors import DataWarning, ParameterError, warn
from credo.studies.leases import Heart
from credo.studies.proposal import SpaceExhaustedError
from credo.studies.runners import Outcome, Runner, runner_of
from credo.studies.trial import Trial
from credo.studies.values import number_of

if TYPE_CHECKING:
    from credo.studies.study import Study

__all__ = ["optimize"]

# How long the loop sleeps at most before it looks again whether workers were lost: a fraction of their leases.
GLANCES_PER_LEASE = 4


def optimize(
    study: Study, function: Callable[[dict[str, Any]], Any], n_trials: int | None, total: int | None, n_jobs: int,
    backend: str, timeout: float | None, progress: Callable[[Trial], Any] | None,
) -> None:  # fmt: skip
    """See `Study.optimize`."""
    _check(function, n_trials, total, n_jobs, timeout)
    runner = runner_of(backend, function, n_jobs, timeout)
    loop = _Loop(study, runner, n_trials, total, n_jobs, progress)
    with Heart(study.storage, study.name, study.lease, lambda: list(loop.running)):
        try:
            loop.run()
        finally:
            loop.abandon()
    loop.report()


class _Loop:
    """The state of one call."""

    def __init__(
        self, study: Study, runner: Runner, n_trials: int | None, total: int | None, n_jobs: int,
        progress: Callable[[Trial], Any] | None,
    ) -> None:  # fmt: skip
        self.study, self.runner, self.n_jobs, self.progress = study, runner, n_jobs, progress
        self.n_trials, self.total = n_trials, total
        self.running: dict[int, Trial] = {}
        self.asked = 0
        self.failures: list[str] = []
        self.complete = False

    def run(self) -> None:
        while True:
            while len(self.running) < self.n_jobs and self._wanted():
                try:
                    trial = self.study._ask(self.study.lease, True, self.total)
                except SpaceExhaustedError:
                    trial = None
                if trial is None:
                    self.complete = True
                    break
                self.running[trial.id] = trial
                self.asked += 1
                self.runner.start(trial.id, trial.params)
            if self.running:
                for trial_id, outcome in self.runner.finished(self.study.lease / GLANCES_PER_LEASE):
                    self._tell(self.running[trial_id], outcome)
                    del self.running[trial_id]
            elif not self._wanted():
                return

    def _wanted(self) -> bool:
        return not self.complete and (self.n_trials is None or self.asked < self.n_trials)

    def _tell(self, trial: Trial, outcome: Outcome) -> None:
        if outcome.kind == "told":
            try:
                value = number_of(outcome.value)
            except ParameterError as error:
                finished = self.study.fail(trial, str(error))
            else:
                finished = self.study.tell(trial, value, quiet=True)
        elif outcome.kind == "pruned":
            finished = self.study.prune(trial, outcome.value, reason=outcome.reason or "pruned")
        else:
            finished = self.study.fail(trial, outcome.reason or "failed")
        if finished.state == "failed":
            self.failures.append(finished.reason or "failed")
        if self.progress is not None:
            self.progress(finished)

    def abandon(self) -> None:
        """After an interruption: what runs will bring nothing, so others may ask it again."""
        self.runner.close()
        for trial in self.running.values():
            self.study.release(trial, "interrupted")
        self.running.clear()

    def report(self) -> None:
        if self.failures:
            warn(
                f"{len(self.failures)} of {self.asked} trials failed; the last: {self.failures[-1]}. "
                "See study.trials for all.",
                DataWarning,
            )


def _check(function: Any, n_trials: Any, total: Any, n_jobs: Any, timeout: Any) -> None:
    owner = "Study.optimize"
    if not callable(function):
        raise ParameterError(owner, "f", "a function of a dict of parameters", function)
    if n_trials is None and total is None:
        raise ParameterError(owner, "n_trials", "given, or total", None)
    for name, value, least in (("n_trials", n_trials, 0), ("total", total, 0), ("n_jobs", n_jobs, 1)):
        if value is None and name != "n_jobs":
            continue
        if isinstance(value, bool) or not isinstance(value, numbers.Integral) or int(value) < least:
            raise ParameterError(owner, name, f"an integer ≥ {least}", value)
    if timeout is not None and not (isinstance(timeout, numbers.Real) and float(timeout) > 0):
        raise ParameterError(owner, "timeout", "seconds > 0 or None", timeout)
