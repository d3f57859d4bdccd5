"""Averages against the best single model, on held-out rows of ten tables: `make reference DATA=...`.

Twice five outer folds. In each, all candidates are compared on the other folds, stacked and averaged by evidence; then
everything predicts the fold. The bar: an average's mean log score is at most one paired standard error below that of
the single model that the comparison ranks best. Weights are learned once a fold, so that folds, not rows, are the units
of that standard error. Recorded beside it: the difference to the candidate that turns out best on the very rows it is
judged on, which no one could have known (the maximum of several noisy means is too high).
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

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


REPEATS = 2
# Where nearly all weight is on one model the paired error is near 0; a thousandth of a nat a row is a match all the
# same.
MATCH = 1e-3
# If a single fold differs, the mean is minus its standard error exactly.
ROUNDING = 1e-12
REPORTED = ("best", "chosen", "stacking", "evidence")


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


def outer_scores(X: np.ndarray, y: np.ndarray, task: str) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Held-out log scores under every candidate, the best and the chosen by comparison, and the two averages; and the
    fold that each belongs to."""
    scores: dict[str, list[np.ndarray]] = {}
    folds: list[np.ndarray] = []
    for seed in range(REPEATS):
        classes = y if task == "classification" else None
        for train, test in make_splits(len(y), 5, np.random.default_rng(seed), classes=classes):
            for name, model in models(X[train], y[train], task).items():
                scores.setdefault(name, []).append(predictive_of(model, X[test]).log_prob(y[test]))
            folds.append(np.full(test.size, len(folds)))
    return {name: np.concatenate(parts) for name, parts in scores.items()}, np.concatenate(folds)


def models(X: np.ndarray, y: np.ndarray, task: str) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # concrete's rows come in groups of mixtures
        warnings.simplefilter("ignore", ConvergenceWarning)  # classes that are all but separated
        listed = candidates(task, X.shape[1], len(y))
        # no evidence, or one on a scale of its own: an average by evidence leaves them out, with a warning
        for name in ("naive_bayes", "process"):
            listed.pop(name, None)
        comparison = compare(listed, X, y)
        by_evidence = average(comparison, by="evidence")  # which says where an evidence is uncertain by nats
    return {
        **comparison.fitted,
        "best": comparison.fitted[comparison.best],
        "chosen": comparison.model,
        "stacking": average(comparison, by="stacking"),
        "evidence": by_evidence,
    }


@pytest.mark.parametrize("name", CASES)
def test_averages_match_the_best_single_model(name, record_property):
    X, y, task = load(name)
    scores, folds = outer_scores(X, y, task)
    lucky = max((each for each in scores if each not in REPORTED), key=lambda each: scores[each].mean())
    record_property("rows × columns", f"{X.shape[0]} × {X.shape[1]}")
    record_property("best single", f"{scores['best'].mean():.4f}")
    for each in REPORTED[1:]:
        mean, error = mean_and_error(scores[each] - scores["best"], units=folds)
        record_property(f"{each} vs best", f"{mean:+.4f} ± {error:.4f}")
    for each in REPORTED:
        mean, error = mean_and_error(scores[each] - scores[lucky], units=folds)
        record_property(f"{each} vs {lucky} in hindsight", f"{mean:+.4f} ± {error:.4f}")
    for each in ("stacking", "evidence"):
        mean, error = mean_and_error(scores[each] - scores["best"], units=folds)
        assert mean >= -max(error, MATCH) - ROUNDING, (each, mean, error)
