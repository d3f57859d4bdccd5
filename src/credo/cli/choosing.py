"""From a table to a fitted model: candidates compared, one chosen or all averaged."""

from __future__ import annotations

import json
import re
import warnings
from typing import Any

from credo.cli.options import Reading
from credo.cli.terminal import Terminal
from credo.errors import CredoWarning, ParameterError, warn

__all__ = ["prepared", "checked_limit", "compared", "fitted", "report_sample"]

# Rows on which candidates are compared: their scores then differ by what matters, and all are done in ten seconds.
SAMPLE_ROWS = 10_000
# Fewer are taken when the plain model of many columns would be too slow on so many, down to these.
LEAST_ROWS = 2_500
# What a candidate may take on all rows, if it is chosen, in units of its limit in the comparison: two minutes beside
# four seconds.
FIT_TIMES = 30.0


def prepared(data: str, target: str, reading: Reading, terminal: Terminal, task: str | None, **roles: Any) -> Any:
    """The `TableTask` of the command's arguments."""
    from credo.models.tabular import TASKS, TableTask

    if task is not None and task not in TASKS:
        raise ParameterError("", "--task", " or ".join(TASKS), task)
    with terminal.step(f"Reading {data}"):
        return TableTask.prepare(reading.open(data), target, task=task, **roles)


def compared(job: Any, terminal: Terminal, seed: int, seconds: float) -> tuple[Any, bool, list[str]]:
    """(the `Comparison`, whether it saw all rows, what to say of the rows); `seconds` are what one
    candidate may take."""
    from credo.selection import compare

    with terminal.step(f"Encoding {job.table.name}"):
        sample = job.sample(_sample_rows(job, seconds), seed)
    notes = []
    if not sample.complete:
        notes.append(
            f"Candidates are compared on {len(sample):,} rows drawn at random; the model is fitted to all rows."
        )
    with terminal.step("Comparing models"), warnings.catch_warnings(record=True) as caught:
        comparison = compare(
            _candidates(job, sample, seconds),
            sample.X,
            sample.y,
            groups=sample.groups,
            time=sample.time,
            random_state=seed,
        )
    for warning in caught:
        warn(_as_typed(str(warning.message), job.encoder.feature_names), warning.category)
    return comparison, sample.complete, notes


def checked_limit(limit: float | None) -> float:
    """The time that one candidate may take, in seconds."""
    from credo.selection.registry import SECONDS

    if limit is not None and not limit > 0.0:
        raise ParameterError("", "--time-limit", "> 0", limit)
    return SECONDS if limit is None else limit


def report_sample(job: Any, seed: int, seconds: float) -> Any:
    """The rows that a report is made from: those that the candidates were compared on."""
    with warnings.catch_warnings():  # said already when they were compared
        warnings.simplefilter("ignore", CredoWarning)
        return job.sample(_sample_rows(job, seconds), seed)


def _candidates(job: Any, sample: Any, seconds: float) -> Any:
    """Candidates that can be compared on a sample and fitted to all rows; the plain model whatever it takes."""
    from credo.selection import OutcomeShape, candidates

    features, rows = job.encoder.n_features, len(sample)
    outcome = OutcomeShape.of(sample.y, sample.X, ordered=job.ordered)
    everything = candidates(job.task, features, outcome=outcome)
    models = candidates(job.task, features, rows, outcome=outcome, seconds=seconds)
    obstacles = dict(models.skipped)
    for name, why in candidates(
        job.task, features, job.rows_read, outcome=outcome, seconds=FIT_TIMES * seconds, memory=float("inf")
    ).skipped.items():
        obstacles.setdefault(name, why)
    obstacles.pop(plain_model(job.task), None)
    kept = {name: model for name, model in everything.items() if name not in obstacles}
    return type(models)(kept, {name: everything.ranks[name] for name in kept}, obstacles)


def _sample_rows(job: Any, seconds: float) -> int:
    """Rows to compare on: as many as the plain model takes in the time for one candidate."""
    from credo.selection import candidates

    rows = min(SAMPLE_ROWS, job.rows_read)
    features, plain = job.encoder.n_features, plain_model(job.task)
    while rows // 2 >= LEAST_ROWS and plain in candidates(job.task, features, rows, seconds=seconds).skipped:
        rows //= 2
    return rows


def plain_model(task: str) -> str:
    """The candidate that is always tried: the linear or logistic model of the columns as they are."""
    return "linear" if task == "regression" else "logistic"


def fitted(job: Any, terminal: Terminal, *, average: bool, seed: int, seconds: float) -> tuple[Any, list[Any]]:
    """(the `TableModel`, its comparison in lines and tables)."""
    from credo.cli.text import comparison_table
    from credo.selection import average as averaged

    comparison, complete, notes = compared(job, terminal, seed, seconds)
    record = comparison_record(comparison)
    with terminal.step("Fitting"):
        estimator, name = (
            (averaged(comparison, by="stacking"), "average") if average else (comparison.model, comparison.chosen)
        )
        if not complete:
            estimator = _on_all_rows(estimator, job)
    model = job.keep(estimator, name, record, tuple(notes), seed, terminal.command)
    return model, comparison_table(record, choosing=not average)


def _on_all_rows(estimator: Any, job: Any) -> Any:
    """The same model, or the same weights, fitted to every row."""
    from sklearn.base import clone

    def refitted(model: Any) -> Any:
        fresh: Any = clone(model)
        return fresh.fit(job.source)

    if not hasattr(estimator, "weights_"):
        return refitted(estimator)
    kept = {name: part for name, part in estimator.estimators_.items() if estimator.weights_[name] > 0.0}
    estimator.estimators_ = {name: refitted(part) for name, part in kept.items()}
    return estimator


def comparison_record(comparison: Any) -> dict[str, Any]:
    """The comparison as JSON data, without the clock: one seed, one document."""
    record = json.loads(comparison.to_json())
    for row in record["models"]:
        row.pop("seconds", None)
    return record


def _as_typed(message: str, features: tuple[str, ...]) -> str:
    """A message of the library in the words of the command line.

    >>> _as_typed("alike within levels of column 1. Pass groups= if so", ("a", "b"))
    "alike within levels of 'b'. Give --group COLUMN if so"
    """
    message = re.sub(r"levels of column (\d+)", lambda found: f"levels of {features[int(found[1])]!r}", message)
    message = message.removeprefix("compare: ").replace("pass time=", "give --time COLUMN")
    return message.replace("Pass groups=", "Give --group COLUMN")
