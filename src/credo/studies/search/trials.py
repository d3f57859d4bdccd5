"""The loop: ask, fit on all folds, tell; what a storage keeps of the folds, and how it is read back."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from credo.errors import CredoError, SpaceExhaustedError
from credo.studies.leases import Heart
from credo.studies.search.folds import Fold
from credo.studies.study import Study
from credo.studies.trial import Trial

__all__ = ["Loop", "Row"]

# A study's remark that names the columns of what its trials report.
HEAD = "columns of a fold: "


@dataclass(frozen=True)
class Row:
    """A candidate that was fitted: its point, and numbers of shape (folds, columns)."""

    point: Mapping[str, Any]
    numbers: np.ndarray


@dataclass
class Loop:
    """The state of one search.

    evaluate : points → for each the `Fold`s; metric : what the study maximises, from the metrics' names
    error_score : "raise", or the score of a fold that failed; stored : whether the study outlives this process
    """

    study: Study
    evaluate: Callable[[Sequence[Mapping[str, Any]]], list[list[Fold]]]
    metric: Callable[[list[str]], str]
    n_splits: int
    error_score: Any
    stored: bool
    said: Callable[[Trial, Mapping[str, float]], None]
    columns: list[str] = field(default_factory=list)
    rows: dict[int, Row] = field(default_factory=dict)
    failures: list[Exception] = field(default_factory=list)
    running: dict[int, Trial] = field(default_factory=dict)

    def run(self, total: int, batch: int) -> None:
        """Until the study has `total` trials, or no point is left; what was fitted before is read back."""
        self._recall()
        with Heart(self.study.storage, self.study.name, self.study.lease, lambda: list(self.running)):
            try:
                while self._ask(total, batch):
                    trials = list(self.running.values())
                    for trial, folds in zip(trials, self.evaluate([trial.params for trial in trials])):
                        self._take(trial, folds)
                        del self.running[trial.id]
            finally:
                self._release()
        self._recall()  # what other processes did meanwhile
        for trial_id, row in self.rows.items():
            if not row.numbers.size and self.columns:  # it failed before anyone knew the metrics' names
                self.rows[trial_id] = Row(row.point, self._numbers([Fold()] * self.n_splits))

    def _ask(self, total: int, batch: int) -> bool:
        while len(self.running) < batch:
            try:
                trial = self.study._ask(self.study.lease, True, total)
            except SpaceExhaustedError:
                break
            if trial is None:
                break
            self.running[trial.id] = trial
        return bool(self.running)

    def _release(self) -> None:
        """After an interruption: what ran will bring nothing."""
        for trial in self.running.values():
            with contextlib.suppress(CredoError):
                self.study.release(trial, "interrupted")
        self.running.clear()

    def _take(self, trial: Trial, folds: list[Fold]) -> None:
        failures = [fold.failure for fold in folds if fold.failure is not None]
        if failures and self.error_score == "raise":
            raise failures[0]
        self.failures += failures
        good = next((fold for fold in folds if fold.failure is None), None)
        if good is not None and not self.columns:
            self._name_columns(list(good.numbers))
        self.rows[trial.id] = Row(trial.params, self._numbers(folds))
        if self.stored:
            for step, number in enumerate(self.rows[trial.id].numbers.ravel().tolist()):
                self.study.report(trial, step, number)
        self._tell(trial, failures)

    def _name_columns(self, columns: list[str]) -> None:
        self.columns = columns
        if self.stored:
            self.study.note(HEAD + json.dumps(columns))

    def _numbers(self, folds: list[Fold]) -> np.ndarray:
        """Of shape (folds, columns); the error score for those that failed."""
        failed = {name: 0.0 if name.endswith("_time") else self.error_score for name in self.columns}
        table = [{**failed, **fold.numbers} for fold in folds]
        return np.array([[fold[name] for name in self.columns] for fold in table], dtype=np.float64)

    def _tell(self, trial: Trial, failures: list[Exception]) -> None:
        scores: dict[str, float] = {}
        if self.columns:
            means = self.rows[trial.id].numbers.mean(axis=0)
            scores = {name: float(mean) for name, mean in zip(self.columns, means)}
        self.said(trial, scores)
        value = scores[f"test_{self.metric(self.columns)}"] if scores else float(self.error_score)
        if math.isfinite(value):
            self.study.tell(trial, value)
        else:
            reason = f"{type(failures[0]).__name__}: {failures[0]}" if failures else f"the mean score is {value}"
            self.study.fail(trial, reason)

    def _recall(self) -> None:
        """Rows of trials that another run, or another process, has fitted."""
        if not self.stored:
            return
        self.study.refresh()
        heads = [note for note in self.study.notes if note.startswith(HEAD)]
        if heads:
            self.columns = json.loads(heads[0].removeprefix(HEAD))
        shape = (self.n_splits, len(self.columns))
        for trial in self.study.records:
            if trial.id in self.rows or trial.state not in ("told", "failed"):
                continue
            told = dict(trial.reported)
            values = [told.get(step) for step in range(shape[0] * shape[1])] if told else []
            numbers = np.array([math.nan if value is None else value for value in values], dtype=np.float64)
            self.rows[trial.id] = Row(trial.params, numbers.reshape(shape) if told else np.empty((shape[0], 0)))
