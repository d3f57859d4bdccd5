"""`cv_results_`: what came of every candidate on every fold, in scikit-learn's names."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import rankdata

__all__ = ["add_gaps", "metrics_of", "results_table"]


def metrics_of(columns: Sequence[str]) -> list[str]:
    """Names of the metrics, from those of a fold's numbers: "score" if there is one without a name."""
    return [name.removeprefix("test_") for name in columns if name.startswith("test_")]


def results_table(params: Sequence[Mapping[str, Any]], columns: Sequence[str], numbers_: np.ndarray) -> dict[str, Any]:
    """The table of n candidates, from numbers of shape (n, k folds, columns).

    Times and scores: mean and sd over folds (divided by k, as in scikit-learn); scores also by fold; rank 1 is the
    best mean, equal means share the better rank, NaN comes last.
    """
    table: dict[str, Any] = {}
    for j, name in enumerate(columns):
        values = numbers_[:, :, j]
        if not name.endswith("_time"):
            table |= {f"split{k}_{name}": values[:, k] for k in range(values.shape[1])}
        table[f"mean_{name}"] = values.mean(axis=1)
        table[f"std_{name}"] = values.std(axis=1)
        if name.startswith("test_"):
            table[f"rank_{name}"] = _ranks(table[f"mean_{name}"])
        if j == 1 or (j == 0 and len(columns) == 1):  # after the times, as scikit-learn has them
            table |= _masked(params)
            table["params"] = [dict(row) for row in params]
    return table


def _ranks(means: np.ndarray) -> np.ndarray:
    if np.isnan(means).all():
        return np.ones(len(means), dtype=np.int32)
    filled = np.where(np.isnan(means), np.nanmin(means) - 1.0, means)
    return rankdata(-filled, method="min").astype(np.int32)


def _masked(params: Sequence[Mapping[str, Any]]) -> dict[str, np.ma.MaskedArray]:
    """A column for each parameter, masked where a candidate does not have it."""
    names = list(dict.fromkeys(name for row in params for name in row))
    table = {}
    for name in names:
        given = [row[name] for row in params if name in row]
        column = np.ma.masked_all(len(params), dtype=_dtype(given))
        for i, row in enumerate(params):
            if name in row:
                column[i] = row[name]
        table[f"param_{name}"] = column
    return table


def _dtype(values: Sequence[Any]) -> type:
    if all(isinstance(value, (bool, np.bool_)) for value in values):
        return bool
    if any(isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real) for value in values):
        return object
    return int if all(isinstance(value, numbers.Integral) for value in values) else float


def add_gaps(table: dict[str, Any], metric: str, best: int, sizes: Sequence[tuple[int, int]]) -> None:
    """How far each candidate is below candidate `best`, by differences within folds, and the standard error of that.

    gap = mean of dₖ, se = sd(dₖ) √(1/k + n_test/n_train), where folds' training rows overlap (Nadeau & Bengio 2003).
    sizes : of the training and test rows of each fold
    """
    scores = np.column_stack([table[f"split{k}_test_{metric}"] for k in range(len(sizes))])
    apart = scores[best] - scores
    k = len(sizes)
    ratio = float(np.mean([test / train for train, test in sizes]))
    spread = apart.std(axis=1, ddof=1) if k > 1 else np.full(len(apart), np.nan)
    table[f"gap_test_{metric}"] = apart.mean(axis=1)
    table[f"se_gap_test_{metric}"] = spread * math.sqrt(1.0 / k + ratio)
