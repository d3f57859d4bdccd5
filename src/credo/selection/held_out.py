"""Fits without the held-out rows, and what they predict of them.

A linear regression learns from its rows through mergeable statistics, so its fit without a block is finished from the
statistics of the others: each row is read once however many rounds there are. (Others are merged; nothing is subtracted
from a total, which would cancel digits.) Feature maps are fitted once to all rows, whose y they never see. Other
models are fitted again.
"""

from __future__ import annotations

import copy
import functools
import warnings
from collections.abc import Iterator
from functools import singledispatch
from typing import Any

import numpy as np
from sklearn.base import clone

from credo.blocks.array import ArraySource
from credo.diagnostics.labels import label_codes
from credo.errors import ConvergenceWarning
from credo.inference.exact.statistics import combine, summarise
from credo.models.featured.estimator import FeaturedModel
from credo.models.glm import LogisticRegression
from credo.models.linear import LinearRegression
from credo.selection.predictions import predictive_of
from credo.selection.splits import Splits

__all__ = ["held_out_predictives", "fit_model", "rows_of", "unseen_classes"]


@singledispatch
def held_out_predictives(
    model: Any, X: Any, y: np.ndarray, sample_weight: np.ndarray | None, splits: Splits
) -> Iterator[tuple[np.ndarray, Any]]:
    """(rows scored, `Predictive` of them from a fit to the other side) for each round.

    `model` has been fitted to all rows, and is left as it is. Rows whose class the other side lacks are left out.
    """
    for train, test in splits:
        test = test[~unseen_classes(model, y, train, test)]
        if test.size:
            fitted = fit_model(clone(model), rows_of(X, train), y[train], rows_of(sample_weight, train))
            yield test, predictive_of(fitted, rows_of(X, test))


@held_out_predictives.register
def _(model: FeaturedModel, X: Any, y: Any, sample_weight: Any, splits: Splits) -> Iterator[tuple[np.ndarray, Any]]:
    return held_out_predictives(model.estimator_, model.features_.transform(X), y, sample_weight, splits)


@held_out_predictives.register
def _(model: LinearRegression, X: Any, y: Any, sample_weight: Any, splits: Splits) -> Iterator[tuple[np.ndarray, Any]]:
    X, single = np.asarray(X), np.ndim(y) == 1
    known: Any = None if model.noise is None else model.noise.scale
    scale = np.asarray(known, dtype=np.float64) if np.ndim(known) == 1 else None
    blocks = [np.flatnonzero(splits.blocks == b) for b in range(int(splits.blocks.max()) + 1)]
    statistics = [
        summarise(ArraySource(X[rows], y[rows], rows_of(sample_weight, rows)), rows_of(scale, rows)) for rows in blocks
    ]
    for taught_by, scored in splits.rounds:
        fitted = copy.copy(model)
        fitted._settle(functools.reduce(combine, [statistics[b] for b in taught_by]), single)
        rows = blocks[scored]
        yield rows, fitted.predict_distribution(X[rows], rows_of(scale, rows))


@held_out_predictives.register
def _(
    model: LogisticRegression, X: Any, y: Any, sample_weight: Any, splits: Splits
) -> Iterator[tuple[np.ndarray, Any]]:
    # Sampling every round would cost minutes to rank models: the weighted Gaussian serves, certified or not, and the
    # model that is kept has climbed as far as it needed.
    cheaper: Any = clone(model)
    if cheaper.inference == "auto":
        cheaper.set_params(inference="laplace")
    for train, test in splits:
        test = test[~unseen_classes(model, y, train, test)]
        if test.size:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                fitted = fit_model(clone(cheaper), rows_of(X, train), y[train], rows_of(sample_weight, train))
            yield test, predictive_of(fitted, rows_of(X, test))


def fit_model(model: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    """`model.fit`, with weights where there are some."""
    if sample_weight is None:
        return model.fit(X, y)
    return model.fit(X, y, sample_weight=sample_weight)


def rows_of(table: Any, rows: np.ndarray) -> Any:
    """Some rows of an array or data frame; None stays None."""
    if table is None:
        return None
    if hasattr(table, "iloc"):
        return table.iloc[rows]
    return table[rows]


def unseen_classes(model: Any, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    """(test,) whether a row's class is missing from the rows to learn from; False for numbers."""
    classes = getattr(model, "classes_", None)
    if classes is None or np.ndim(y) != 1:
        return np.zeros(test.size, dtype=bool)
    seen = np.bincount(label_codes(np.asarray(classes), y[train], "compare"), minlength=len(classes))
    return seen[label_codes(np.asarray(classes), y[test], "compare")] == 0
