"""From a table to a fitted model: candidates compared on rows held out, one kept or all averaged.

compared = compare_candidates(TableTask.prepare(path, "price"))
model = compared.keep()
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone

from credo.blocks.source import Source
from credo.models.tabular import BOTH, FEATURES, RowSample, TableModel, TableTask, families_of
from credo.models.tabular.task import fit_whole
from credo.selection.average import average
from credo.selection.compare import compare
from credo.selection.comparison import Comparison
from credo.selection.outcomes import OutcomeShape
from credo.selection.registry import SECONDS, Candidates, candidates

__all__ = ["compare_candidates", "ComparedTask", "comparison_record", "plain_model"]

# Rows on which candidates are compared: their scores then differ by what matters, and all are done in ten seconds.
SAMPLE_ROWS = 10_000
# Fewer are taken when the plain model of many columns would be too slow on so many, down to these.
LEAST_ROWS = 2_500
# What a candidate may take on all rows, if it is chosen, in units of its limit in the comparison: two minutes beside
# four seconds.
FIT_TIMES = 30.0

Step = Callable[[str], AbstractContextManager[Any]]


def _silent(doing: str) -> AbstractContextManager[Any]:
    return nullcontext()


@dataclass(frozen=True, eq=False)
class ComparedTask:
    """A task whose candidates were compared.

    sample : the rows they were compared on ; views : name → what the candidate was shown of them
    notes : sentences on the rows ; seed : of the sample and of the folds
    """

    task: TableTask
    comparison: Comparison
    sample: RowSample
    views: dict[str, str]
    notes: tuple[str, ...]
    seed: int

    def keep(self, *, averaged: bool = False, command: str | None = None) -> TableModel:
        """The chosen model, or all by their stacking weights, fitted to every row, with the comparison's record."""
        comparison = self.comparison
        if averaged:
            estimator, name, view = average(comparison, by="stacking"), "average", self._average_view
        else:
            estimator, name, view = comparison.model, comparison.chosen, self.views.get(comparison.chosen, FEATURES)
        if not self.sample.complete:
            estimator = self._on_all_rows(estimator, view)
        record = comparison_record(comparison)
        return self.task.keep(estimator, name, record, self.notes, self.seed, command, view)

    def as_compared(self, command: str | None = None) -> TableModel:
        """The chosen model as it was compared, whatever the rows."""
        chosen, record = self.comparison.chosen, comparison_record(self.comparison)
        view = self.views.get(chosen, FEATURES)
        return self.task.keep(self.comparison.model, chosen, record, self.notes, self.seed, command, view)

    def rows_of(self, model: TableModel) -> RowSample:
        """The rows that were compared on, as a model of this task is given them."""
        view = self._average_view if model.weights else self.views.get(model.name, FEATURES)
        return self.sample.seen_as(view)

    @property
    def _average_view(self) -> str:
        return BOTH if self.comparison.columns else FEATURES

    def _on_all_rows(self, estimator: Any, view: str) -> Any:
        """The same model, or the same weights, fitted to every row."""
        if not hasattr(estimator, "weights_"):
            return _refitted(estimator, self.task.source_of(view))
        kept = {name: part for name, part in estimator.estimators_.items() if estimator.weights_[name] > 0.0}
        estimator.estimators_ = {
            name: _refitted(part, self.task.source_of(self.views.get(name, FEATURES))) for name, part in kept.items()
        }
        return estimator


def _refitted(model: Any, source: Source) -> Any:
    return fit_whole(clone(model), source)


def compare_candidates(
    task: TableTask, *, seconds: float = SECONDS, random_state: int = 0, step: Step = _silent
) -> ComparedTask:
    """Compare the candidates for a task on rows held out.

    seconds : what one candidate may take in the comparison, by estimate; 30 times as much on all rows
    random_state : of the sample of at most 10,000 rows, and of the folds
    step : a context in which something named is done, for progress
    """
    with step(f"Encoding {task.table.name}"):
        sample = task.sample(_sample_rows(task, seconds), random_state)
    notes = ()
    if not sample.complete:
        notes = (f"Candidates are compared on {len(sample):,} rows drawn at random; the model is fitted to all rows.",)
    with step("Comparing models"):
        models = _candidates(task, sample, seconds)
        comparison = compare(
            models,
            sample.seen_as(BOTH if models.columns else FEATURES).X,
            sample.y,
            groups=sample.groups,
            time=sample.time,
            random_state=random_state,
        )
    return ComparedTask(task, comparison, sample, models.views, notes, random_state)


def _candidates(task: TableTask, sample: RowSample, seconds: float) -> Candidates:
    """Candidates that can be compared on a sample and fitted to all rows; the plain model whatever it takes."""
    features, rows = task.encoder.n_features, len(sample)
    families = families_of(task.encoder)
    shape = OutcomeShape.of(sample.y, sample.X, ordered=task.ordered, families=families)

    def found(rows: int | None, **limits: float) -> Candidates:
        return candidates(task.task, features, rows, outcome=shape, families=families, **limits)

    everything, here = found(None), found(rows, seconds=seconds)
    obstacles = dict(here.skipped)
    for name, why in found(task.rows_read, seconds=FIT_TIMES * seconds, memory=float("inf")).skipped.items():
        obstacles.setdefault(name, why)
    obstacles.pop(plain_model(task.task), None)
    kept = [name for name in everything if name not in obstacles]
    views = {name: everything.views[name] for name in kept}
    return Candidates(
        {name: everything[name] for name in kept},
        {name: everything.ranks[name] for name in kept},
        obstacles,
        everything.unfit,
        views,
        _columns(task, views),
    )


def _columns(task: TableTask, views: dict[str, str]) -> dict[str, list[int]]:
    """Where in the rows seen as `BOTH` each candidate's columns are; nothing if all read features."""
    if set(views.values()) <= {FEATURES}:
        return {}
    features = task.encoder.n_features
    both = range(task.views[BOTH].n_features)
    return {name: list(both[:features] if view == FEATURES else both[features:]) for name, view in views.items()}


def _sample_rows(task: TableTask, seconds: float) -> int:
    """Rows to compare on: as many as the plain model takes in the time for one candidate."""
    rows = min(SAMPLE_ROWS, task.rows_read)
    features, plain = task.encoder.n_features, plain_model(task.task)
    while rows // 2 >= LEAST_ROWS and plain in candidates(task.task, features, rows, seconds=seconds).skipped:
        rows //= 2
    return rows


def plain_model(task: str) -> str:
    """The candidate that is always tried: the linear or logistic model of the columns as they are."""
    return "linear" if task == "regression" else "logistic"


def comparison_record(comparison: Comparison) -> dict[str, Any]:
    """The comparison as JSON data, without the clock: one seed, one document."""
    record = json.loads(comparison.to_json())
    for row in record["models"]:
        row.pop("seconds", None)
    return record
