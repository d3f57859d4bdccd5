"""From a table to a fitted model: candidates compared, one chosen or all averaged."""

from __future__ import annotations

import json
import re
import warnings
from typing import Any

from credo.cli.options import Reading
from credo.cli.terminal import Terminal

__all__ = ["prepared", "compared", "fitted"]

# Rows on which candidates are compared: their scores then differ by what matters, and all are done in ten seconds.
SAMPLE_ROWS = 10_000
# What a candidate may take on all rows, if it is chosen.
FIT_SECONDS = 120.0


def prepared(data: str, target: str, reading: Reading, terminal: Terminal, **roles: Any) -> Any:
    """The `TableTask` of the command's arguments."""
    from credo.models.tabular import TableTask

    with terminal.step(f"Reading {data}"):
        return TableTask.prepare(reading.open(data), target, **roles)


def compared(job: Any, terminal: Terminal, seed: int) -> tuple[Any, bool, list[str]]:
    """(the `Comparison`, whether it saw all rows, what to say of the rows)."""
    from credo.selection import compare

    with terminal.step(f"Encoding {job.table.name}"):
        sample = job.sample(SAMPLE_ROWS, seed)
    notes = []
    if not sample.complete:
        notes.append(f"Candidates are compared on {len(sample):,} rows drawn at random; the model is fitted to all rows.")
    with terminal.step("Comparing models"), warnings.catch_warnings(record=True) as caught:
        comparison = compare(
            _candidates(job, len(sample)), sample.X, sample.y, groups=sample.groups, time=sample.time, random_state=seed
        )
    for warning in caught:
        warnings.warn(_as_typed(str(warning.message), job.encoder.feature_names), warning.category, stacklevel=2)
    return comparison, sample.complete, notes


def _candidates(job: Any, rows: int) -> Any:
    """Candidates that can be compared on `rows` rows and fitted to all of them."""
    from credo.selection import candidates

    models = candidates(job.task, job.encoder.n_features, rows)
    feasible = candidates(job.task, job.encoder.n_features, job.rows_read, seconds=FIT_SECONDS, memory=float("inf"))
    for name in [name for name in models if name in feasible.skipped]:
        del models[name]
        models.skipped[name] = feasible.skipped[name]
    return models


def fitted(job: Any, terminal: Terminal, *, average: bool, seed: int) -> tuple[Any, list[Any]]:
    """(the `TableModel`, its comparison in lines and tables)."""
    from credo.cli.text import comparison_table
    from credo.selection import average as averaged

    comparison, complete, notes = compared(job, terminal, seed)
    record = comparison_record(comparison)
    with terminal.step("Fitting"):
        estimator, name = (averaged(comparison, by="stacking"), "average") if average else (comparison.model, comparison.chosen)
        if not complete:
            estimator = _on_all_rows(estimator, job)
    model = job.keep(estimator, name, record, tuple(notes), seed, terminal.command)
    return model, comparison_table(record)


def _on_all_rows(estimator: Any, job: Any) -> Any:
    """The same model, or the same weights, fitted to every row."""
    from sklearn.base import clone

    if not hasattr(estimator, "weights_"):
        return clone(estimator).fit(job.source)
    kept = {name: part for name, part in estimator.estimators_.items() if estimator.weights_[name] > 0.0}
    estimator.estimators_ = {name: clone(part).fit(job.source) for name, part in kept.items()}
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
