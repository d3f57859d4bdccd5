"""The rows a report is made from: what the model says of them, and what it would have said had it not seen them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.errors import CredoError
from credo.models.tabular import RowSample, TableModel
from credo.numerics.random import as_generator
from credo.prediction.classes import ClassPredictive
from credo.prediction.mixture import mix
from credo.prediction.predictive import Predictive
from credo.selection.held_out import held_out_predictives
from credo.selection.scoring import columns_of
from credo.selection.splits import Splits, make_splits

__all__ = ["Rows", "HeldOut", "held_out"]

# Rows that are predicted from others: a share is then known to a percentage point, in five fits of a second at most.
HELD_OUT_ROWS = 2000
FOLDS = 5  # as `compare` has it


@dataclass(frozen=True)
class Rows:
    """A model and the rows it was fitted to, or a sample of them. `X` encoded, `y` numbers or labels."""

    model: TableModel
    sample: RowSample

    @property
    def X(self) -> np.ndarray:
        return self.sample.X

    @property
    def y(self) -> np.ndarray:
        return self.labelled(self.sample.y)

    def labelled(self, y: np.ndarray) -> np.ndarray:
        """Codes of classes as labels; numbers as they are."""
        return np.asarray(self.model.labels)[np.asarray(y).astype(int)] if self.model.labels else y

    def predict(self, X: np.ndarray) -> Any:
        """The `Predictive` of encoded rows, with labels."""
        return self.named(self.model.estimator.predict_distribution(X))

    def named(self, predictive: Any) -> Any:
        if not isinstance(predictive, ClassPredictive):
            return predictive
        return predictive.relabelled(self.labelled(predictive.classes))


@dataclass(frozen=True, eq=False, repr=False)
class Joined(Predictive):
    """Predictives of numbers for consecutive runs of rows, as one."""

    parts: tuple[Predictive, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return (sum(len(part) for part in self.parts),)

    @property
    def mean(self) -> np.ndarray:
        return np.concatenate([part.mean for part in self.parts])

    @property
    def variance(self) -> np.ndarray:
        return np.concatenate([part.variance for part in self.parts])

    def cdf(self, y: Any) -> np.ndarray:
        return self._each("cdf", y)

    def log_prob(self, y: Any) -> np.ndarray:
        return self._each("log_prob", y)

    def quantile(self, q: Any) -> np.ndarray:
        return np.concatenate([part.quantile(q) for part in self.parts], axis=-1)

    def _each(self, method: str, y: Any) -> np.ndarray:
        y, ends = np.asarray(y), np.cumsum([len(part) for part in self.parts])[:-1]
        pieces = np.split(np.broadcast_to(y, np.broadcast_shapes(y.shape, self.shape)), ends, axis=-1)
        return np.concatenate([getattr(part, method)(piece) for part, piece in zip(self.parts, pieces)], axis=-1)


@dataclass(frozen=True)
class HeldOut:
    """Predictions of rows from fits to the others.

    scheme : how they were held out ; rows : (n,) their positions in the sample ; y (n,) and the predictive of them
    """

    scheme: str
    rows: np.ndarray
    y: np.ndarray
    predictive: Any


def held_out(rows: Rows, seed: int | None) -> HeldOut | str:
    """Predictions of rows held out, or why there are none."""
    rng = as_generator(seed)
    sample = rows.sample
    if len(sample) > HELD_OUT_ROWS:
        chosen = np.sort(rng.choice(len(sample), HELD_OUT_ROWS, replace=False))
        sample = sample.take(chosen)
    else:
        chosen = np.arange(len(sample))
    classes = sample.y if rows.model.labels else None
    try:
        splits = make_splits(len(sample), FOLDS, rng, classes=classes, groups=sample.groups, time=sample.time)
        found = list(_predictives(rows.model.estimator, sample, splits))
    except CredoError as error:
        return f"rows could not be predicted from the others: {error}"
    if not found:
        return "no row could be predicted from the others"
    at = np.concatenate([where for where, _ in found])
    joined = _joined([rows.named(predictive) for _, predictive in found])
    return HeldOut(f"{splits.description}, {at.size:,} rows", chosen[at], rows.labelled(sample.y[at]), joined)


def _joined(parts: list[Any]) -> Any:
    if not isinstance(parts[0], ClassPredictive):
        return Joined(tuple(parts))
    return ClassPredictive(np.concatenate([part.probabilities for part in parts]), parts[0].classes)


def _predictives(estimator: Any, sample: RowSample, splits: Splits) -> Iterator[tuple[np.ndarray, Any]]:
    """(rows, predictive) of each fold; of an average the parts are held out and keep their weights."""
    weights = getattr(estimator, "weights_", None)
    if not isinstance(weights, dict):
        yield from held_out_predictives(estimator, sample.X, sample.y, None, splits)
        return
    used = [name for name, weight in weights.items() if weight > 0.0]
    given = estimator.columns or {}
    each = [
        held_out_predictives(estimator.estimators_[name], columns_of(sample.X, given.get(name)), sample.y, None, splits)
        for name in used
    ]
    for folds in zip(*each, strict=True):
        yield folds[0][0], mix([weights[name] for name in used], [predictive for _, predictive in folds])
