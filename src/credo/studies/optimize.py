"""The loop that asks, runs and tells."""

from __future__ import annotations

import contextlib
import numbers
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import CredoError, DataWarning, ParameterError, SpaceExhaustedError, StorageError, warn
from credo.studies.leases import Heart
from credo.studies.objective import Outcome, takes_progress
from credo.studies.runners import runner_of
from credo.studies.trial import Trial
from credo.studies.values import answer_of

if TYPE_CHECKING:
    from credo.studies.runners import Runner
    from credo.studies.study import Study

__all__ = ["Loop", "optimize"]

# How long the loop sleeps at most before it looks again whether workers were lost: a fraction of their leases.
GLANCES_PER_LEASE = 4


def optimize(
    study: Study, function: Callable[..., Any], n_trials: int | None, total: int | None, n_jobs: int,
    backend: str, timeout: float | None, progress: Callable[[Trial], Any] | None,
) -> None:  # fmt: skip
    """See `Study.optimize`."""
    _check(function, n_trials, total, n_jobs, timeout)
    n_jobs = _workers(n_jobs)
    loop = Loop(study, n_trials, total, n_jobs, progress)
    loop.runner = runner_of(backend, function, n_jobs, timeout, loop.reported if takes_progress(function) else None)
    with Heart(study.storage, study.name, study.lease, lambda: list(loop.running)):
        try:
            loop.run()
        finally:
            loop.abandon()
    loop.report()


class Loop:
    """The state of one call."""

    def __init__(
        self, study: Study, n_trials: int | None, total: int | None, n_jobs: int,
        progress: Callable[[Trial], Any] | None,
    ) -> None:  # fmt: skip
        self.study, self.n_jobs, self.progress = study, n_jobs, progress
        self.runner: Runner
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
                self._take(self.runner.finished(self.study.lease / GLANCES_PER_LEASE))
            elif not self._wanted():
                return

    def _wanted(self) -> bool:
        return not self.complete and (self.n_trials is None or self.asked < self.n_trials)

    def _take(self, outcomes: list[tuple[int, Outcome]]) -> None:
        """Tell all of them, though the storage may refuse one: another may be a day's work."""
        refused: BaseException | None = None
        for trial_id, outcome in outcomes:
            if outcome.kind == "broken":
                refused = outcome.error
                continue
            try:
                self.tell(self.running[trial_id], outcome)
            except StorageError as error:
                error.add_note(f"Trial {trial_id} was {outcome.kind}: {outcome.value!r}. It can still be told.")
                refused = error
            else:
                del self.running[trial_id]
        if refused is not None:
            raise refused

    def reported(self, trial_id: int, step: Any, value: Any) -> str | None:
        """An intermediate value; the reason to give the trial up, or None."""
        if trial_id not in self.running:
            return "nobody awaits its answer any more"  # a thread that is late may end here
        self.study.report(trial_id, step, value)
        return self.study._reason_to_prune(trial_id)

    def tell(self, trial: Trial, outcome: Outcome) -> None:
        if outcome.kind == "told":
            try:
                kind, data = self.study._answer(*answer_of(outcome.value))
            except ParameterError as error:
                finished = self.study.fail(trial, str(error))
            else:
                finished = self.study._finish(trial, kind, data)
        elif outcome.kind == "pruned":
            last = outcome.value if isinstance(outcome.value, (numbers.Real, np.ndarray)) else None
            finished = self.study.prune(trial, last, reason=outcome.reason or "pruned")
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
            with contextlib.suppress(CredoError):  # what interrupted says more; others see that this process has ended
                self.study.release(trial, "interrupted")
        self.running.clear()

    def report(self) -> None:
        if self.failures:
            warn(
                f"{len(self.failures)} of {self.asked} trials failed; the last: {self.failures[-1].rstrip('.')}. "
                "See study.trials for all.",
                DataWarning,
            )


def _workers(n_jobs: int) -> int:
    """As in scikit-learn: −1 is as many as there are processors, −2 one less."""
    if n_jobs > 0:
        return n_jobs
    from joblib import effective_n_jobs  # a worker that states its number need not pay for the import

    return effective_n_jobs(n_jobs)


def _check(function: Any, n_trials: Any, total: Any, n_jobs: Any, timeout: Any) -> None:
    owner = "Study.optimize"
    if not callable(function):
        raise ParameterError(owner, "f", "a function of a dict of parameters", function)
    if n_trials is None and total is None:
        raise ParameterError(owner, "n_trials", "given, or total", None)
    for name, value, least in (("n_trials", n_trials, 0), ("total", total, 0)):
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, numbers.Integral) or int(value) < least:
            raise ParameterError(owner, name, f"an integer ≥ {least}", value)
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, numbers.Integral) or int(n_jobs) == 0:
        raise ParameterError(owner, "n_jobs", "an integer ≥ 1, or −1 for all processors", n_jobs)
    if timeout is not None and not (isinstance(timeout, numbers.Real) and float(timeout) > 0):
        raise ParameterError(owner, "timeout", "seconds > 0 or None", timeout)
