"""Averages against the best single model, on held-out rows of ten tables: `make reference DATA=...`.

Five outer folds. In each, all candidates are compared on the other folds, stacked and averaged by evidence; then everything predicts
the fold. The bar: the average's mean log score is at most one paired standard error below that of the single model that
turned out best on the very rows it is judged on.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from credo.errors import ConvergenceWarning, ModelWarning
from credo.selection import average, candidates, compare, make_splits
from credo.selection.paired import mean_and_error
from credo.selection.predictions import predictive_of

TABLES = Path(os.environ["CREDO_REFERENCE_DATA"]) / "tables"

#: file, target, task, columns left out
CASES = {
    "yacht": ("uci_yacht.csv", "residuary_resistance", "regression", ()),
    "concrete": ("uci_concrete.csv", "strength_mpa", "regression", ()),
    "power plant": ("uci_power_plant.csv.gz", "PE", "regression", ()),
    "kin8nm": ("uci_kin8nm.csv.gz", "y", "regression", ()),
    "diabetes": ("diabetes_lars.csv", "progression", "regression", ()),
    "prostate": ("prostate.csv", "lpsa", "regression", ("train",)),
    "wine": ("wine.csv", "class", "classification", ()),
    "WDBC": ("breast_cancer_wdbc.csv", "diagnosis", "classification", ()),
    "titanic": ("titanic.csv", "survived", "classification", ("name", "ticket", "cabin")),
    "penguins": ("penguins.csv", "species", "classification", ()),
}


def load(name: str) -> tuple[np.ndarray, np.ndarray, str]:
    """Numbers as they are, text as indicators of all levels but the first; rows with missing cells left out."""
    file, target, task, dropped = CASES[name]
    frame = pl.read_csv(TABLES / file, infer_schema_length=None).drop(dropped).drop_nulls()
    y = frame[target].to_numpy()
    columns = []
    for column in frame.drop(target):
        if column.dtype.is_numeric():
            columns.append(column.cast(pl.Float64).to_numpy())
        else:
            columns += [(column == level).cast(pl.Float64).to_numpy() for level in sorted(set(column))[1:]]
    return np.column_stack(columns), y.astype(np.float64) if task == "regression" else y, task


def outer_scores(X: np.ndarray, y: np.ndarray, task: str) -> dict[str, np.ndarray]:
    """Held-out log score of each row under every candidate, the two averages and the chosen model."""
    splits = make_splits(len(y), 5, np.random.default_rng(0), classes=y if task == "classification" else None)
    scores: dict[str, np.ndarray] = {}
    for train, test in splits:
        with warnings.catch_warnings():
            # Concrete holds groups of mixtures in order, and uncertified fits are part of what is weighed.
            warnings.simplefilter("ignore", (ModelWarning))
            warnings.simplefilter("ignore", (ConvergenceWarning))
            comparison = compare(candidates(task, X.shape[1], train.size), X[train], y[train])
        models = {
            **comparison.fitted,
            "chosen": comparison.model,
            "stacking": average(comparison, by="stacking"),
            "evidence": average(comparison, by="evidence"),
        }
        for name, model in models.items():
            scores.setdefault(name, np.empty(len(y)))[test] = predictive_of(model, X[test]).log_prob(y[test])
    return scores


@pytest.mark.parametrize("name", CASES)
def test_averages_match_the_best_single_model(name, record_property):
    X, y, task = load(name)
    scores = outer_scores(X, y, task)
    single = [each for each in scores if each not in ("chosen", "stacking", "evidence")]
    best = max(single, key=lambda each: scores[each].mean())
    record_property("rows × columns", f"{X.shape[0]} × {X.shape[1]}")
    record_property("best single", f"{best} {scores[best].mean():.4f}")
    differences = {}
    for each in ("stacking", "evidence", "chosen"):
        mean, error = mean_and_error(scores[each] - scores[best])
        record_property(each, f"{mean:+.4f} ± {error:.4f}")
        differences[each] = (mean, error)
    for each in ("stacking", "evidence"):
        mean, error = differences[each]
        assert mean >= -error, (each, best, mean, error)
