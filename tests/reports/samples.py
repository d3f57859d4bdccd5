"""Reports of a number, of two classes, of three, of an average and of a comparison alone."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import polars as pl

from credo.models.tabular import TableModel, TableTask
from credo.reports import Report, report
from credo.selection import average, candidates, compare
from credo.selection.choosing import comparison_record


def made(frame: pl.DataFrame, target: str, estimator: Any = None, **settings: Any) -> tuple[TableModel, Report]:
    """A model of the target and its report."""
    task = TableTask.prepare(frame, target, **settings)
    model = task.fit(estimator, seed=0, command=f"credo fit data.csv --target {target}")
    return model, report(model, task.sample(10_000, 0), warnings=("A warning.",))


def numbers(n: int = 160, seed: int = 0) -> pl.DataFrame:
    """A number that a line explains, with a category, missing cells, and a date."""
    rng = np.random.default_rng(seed)
    size, kind = rng.gamma(4.0, 20.0, n), rng.choice(["flat", "house", "yard"], n, p=[0.6, 0.3, 0.1])
    price = 50.0 + 2.0 * size + 40.0 * (kind == "house") + 15.0 * rng.normal(size=n)
    rooms = pl.Series([None if rng.random() < 0.1 else int(r) for r in rng.integers(1, 6, n)])
    return pl.DataFrame({"size": size, "kind": kind, "rooms": rooms, "price": price})


@functools.cache
def compared(averaged: bool = False) -> tuple[TableModel, Report]:
    """What `credo fit` does: candidates compared, one kept or all averaged."""
    task = TableTask.prepare(numbers(), "price")
    sample = task.sample(10_000, 0)
    comparison = compare(candidates("regression", task.encoder.n_features), sample.X, sample.y)
    estimator, name = (
        (average(comparison, by="stacking"), "average") if averaged else (comparison.model, comparison.chosen)
    )
    model = task.keep(
        estimator, name, comparison_record(comparison), ("A note.",), 0, "credo fit data.csv --target price"
    )
    return model, report(model, sample)


@functools.cache
def classified(k: int) -> tuple[TableModel, Report]:
    rng = np.random.default_rng(k)
    x = rng.normal(size=(180, 2))
    logits = np.column_stack([np.zeros(180), 1.5 * x[:, 0], x[:, 1] - x[:, 0]])[:, :k]
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    y = [["no", "yes", "perhaps"][rng.choice(k, p=row)] for row in p]
    return made(pl.DataFrame({"a": x[:, 0], "b": x[:, 1], "answer": y}), "answer")
