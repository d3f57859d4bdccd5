"""Pointwise held-out scores of several models on the same rows."""

from __future__ import annotations

import time as clock
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from credo.diagnostics.brier import brier
from credo.diagnostics.scores import crps, log_score
from credo.errors import ConvergenceWarning, CredoError, DataError, ParameterError, UnavailableError
from credo.prediction.rounded import RoundedPredictive
from credo.selection.evidence import evidence_of
from credo.selection.held_out import fit_model, for_ranking, held_out_predictives, rows_of
from credo.selection.leave_one_out import leave_one_out
from credo.selection.predictions import predictive_of
from credo.selection.splits import Splits, make_splits

__all__ = ["SCORES", "Trial", "Table", "checked_models", "columns_of", "fit_all", "hold_out", "mixed_kinds"]

FOLDS = 5  # Kohavi (1995), IJCAI: five to ten; more gain little on the scores and cost as many fits


def _log(predictive: Any, y: np.ndarray) -> np.ndarray:
    score = log_score(predictive, y)
    return score if score.ndim == 1 else score.sum(axis=1)


def _crps(predictive: Any, y: np.ndarray) -> np.ndarray:
    score = crps(predictive, y)
    return score if score.ndim == 1 else score.sum(axis=1)


#: name → (score per row, sign that makes larger better)
SCORES: dict[str, tuple[Callable[[Any, np.ndarray], np.ndarray], float]] = {
    "log": (_log, 1.0),
    "crps": (_crps, -1.0),
    "brier": (lambda predictive, y: brier(predictive, y).scores, -1.0),
}


@dataclass
class Trial:
    """A model on its way through a comparison: fitted to all rows, scored on held-out ones, or failed.

    columns : those of X that it is given; None: all
    """

    name: str
    columns: Any = None
    fitted: Any = None
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    failure: Exception | None = None
    pointwise: dict[str, np.ndarray] = field(default_factory=dict)

    def of(self, X: Any) -> Any:
        """What the model is given of X."""
        return columns_of(X, self.columns)

    def attempt(self, work: Callable[[], Any]) -> Any:
        """Do `work` on this model's clock; its warnings become notes, its failure a reason."""
        start = clock.perf_counter()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                return work()
            except (CredoError, ValueError, TypeError, ArithmeticError, np.linalg.LinAlgError) as error:
                self.failure = error
                return None
            finally:
                self.seconds += clock.perf_counter() - start
                texts = [f"{w.category.__name__}: {' '.join(str(w.message).split())}" for w in caught]
                self.notes = tuple(dict.fromkeys([*self.notes, *texts]))


@dataclass(frozen=True)
class Table:
    """Rows to compare on: X, y (n,) or (n, targets), weights, and what ties rows together."""

    X: Any
    y: np.ndarray
    weights: np.ndarray | None
    groups: Any = None
    time: Any = None

    @classmethod
    def checked(cls, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, time: Any = None) -> Table:
        """Lengths agree, weights are ≥ 0; lists become arrays."""
        if y is None:
            raise DataError("A comparison requires y to be passed, but the target y is None.")
        if hasattr(X, "tocsr"):
            raise DataError("Models are compared on dense rows, and X is sparse.", remedy="Use X.toarray().")
        X = X if hasattr(X, "shape") else np.asarray(X)
        y = np.asarray(y)
        y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
        if len(X.shape) != 2 or y.ndim not in (1, 2) or len(y) != X.shape[0]:
            raise DataError(
                f"Models are compared on X (rows, columns) and a y for each row, got shapes {X.shape} and {y.shape}.",
                value=(X.shape, y.shape),
            )
        if sample_weight is None:
            return cls(X, y, None, groups, time)
        w = np.asarray(sample_weight, dtype=np.float64)
        if w.shape != (len(y),) or not np.all(np.isfinite(w) & (w >= 0)) or not w.sum() > 0:
            raise ParameterError("compare", "sample_weight", f"{len(y)} numbers ≥ 0, not all zero", sample_weight)
        return cls(X, y, w, groups, time)


def columns_of(X: Any, columns: Any) -> Any:
    """Some columns of an array (positions or a slice) or of a data frame (names); None is all of them."""
    if columns is None:
        return X
    return X[list(columns)] if hasattr(X, "columns") else X[:, columns]


def checked_models(owner: str, models: Any) -> dict[str, Any]:
    """Name → estimator, from a mapping or a sequence (then named by class, numbered where that is not unique)."""
    if isinstance(models, Mapping):
        named = dict(models)
    elif isinstance(models, (list, tuple)):
        names = [type(model).__name__ for model in models]
        named = {
            name if names.count(name) == 1 else f"{name}{names[:i].count(name) + 1}": model
            for i, (name, model) in enumerate(zip(names, models, strict=True))
        }
    else:
        raise ParameterError(owner, "models", "a dict name → estimator, or a list of estimators", models)
    if not named or not all(isinstance(name, str) and hasattr(model, "fit") for name, model in named.items()):
        raise ParameterError(owner, "models", "at least one estimator, each with a name", models)
    others = [name for name, model in named.items() if not hasattr(model, "get_params")]
    if others:
        raise ParameterError(
            owner, f"models[{others[0]!r}]", "an estimator, or a fitted posterior", named[others[0]],
            "Models are compared by their posteriors: {name: model.fit()}, without X and y.",
        )  # fmt: skip
    if len({is_classifier(model) for model in named.values()}) > 1:
        raise ParameterError(owner, "models", "all regressors or all classifiers", named)
    return named


def fit_all(
    models: Mapping[str, Any], table: Table, columns: Mapping[str, Any] | None = None, *, ranking: bool = False
) -> list[Trial]:
    """Every model fitted to all rows, at the settings that suffice to rank it if so asked.

    columns : name → the columns of X that the model is given, where these are not all
    """
    fresh = for_ranking if ranking else clone
    if strange := set(columns or {}) - set(models):
        raise ParameterError("", "columns", f"for models among {list(models)}", sorted(strange))
    trials = [Trial(name, (columns or {}).get(name)) for name in models]
    for trial, model in zip(trials, models.values(), strict=True):
        trial.fitted = trial.attempt(
            lambda trial=trial, model=model: fit_model(fresh(model), trial.of(table.X), table.y, table.weights)
        )
    return trials


def hold_out(
    trials: list[Trial], table: Table, cv: Any, scores: tuple[str, ...], rng: np.random.Generator
) -> tuple[str, Splits | None]:
    """Fill in the pointwise scores of the models that were fitted; returns the scheme and the splits (None: one row
    out).

    "auto" leaves one row out at no cost where every model can, since models are only comparable on one scheme. Where
    some models predict counts and others numbers, these are rounded, so that both are scored by a probability.
    """
    able = [trial for trial in trials if trial.failure is None]
    rounding = mixed_kinds(able, table.X)
    free = table.groups is None and table.time is None and scores == ("log",) and not rounding
    if isinstance(cv, str) and cv not in ("auto", "loo"):
        raise ParameterError("compare", "cv", "'auto', 'loo' or an integer ≥ 2", cv)
    if cv == "loo" and not free:
        why = "with groups, time or further scores, or where counts are compared with numbers"
        raise ParameterError("compare", "cv", f"'auto' or an integer {why}", cv)
    if isinstance(cv, str) and free and _leave_one_out(able, table, demanded=cv == "loo"):
        return "exact leave-one-out", None
    k = FOLDS if isinstance(cv, str) else cv
    stratify = table.y if table.y.ndim == 1 and any(is_classifier(trial.fitted) for trial in able) else None
    splits = make_splits(len(table.y), k, rng, classes=stratify, groups=table.groups, time=table.time)
    for trial in able:
        trial.attempt(lambda trial=trial: _score_folds(trial, table, splits, scores, rounding))
    return splits.description + ("; numbers are scored as whole ones" if rounding else ""), splits


def mixed_kinds(trials: list[Trial], X: Any) -> bool:
    """Whether some of the fitted models predict counts and others numbers."""
    first = rows_of(X, np.arange(1))
    kinds = set()
    for trial in trials:
        try:
            kinds.add(predictive_of(trial.fitted, trial.of(first)).kind)
        except CredoError:  # it will say so where it is scored
            continue
    return {"real", "count"} <= kinds


def _leave_one_out(able: list[Trial], table: Table, *, demanded: bool) -> bool:
    """Whether every model has scores without fitting again; where they are demanded, the others fail."""
    for trial in able:
        values = trial.attempt(lambda trial=trial: _left_out(trial, table))
        if values is not None:
            trial.pointwise["log"] = np.where(_alone(trial.fitted, table), np.nan, values)
        elif not demanded:
            for other in able:
                other.failure, other.pointwise = None, {}
            return False
    return True


def _left_out(trial: Trial, table: Table) -> np.ndarray:
    """Leave-one-out scores that can be trusted in every row."""
    if getattr(evidence_of(trial.fitted), "maximised", False):
        # plugged in, they have seen the row: on yacht that is worth .48 nats a row to a Gaussian process
        raise UnavailableError(
            "Leave-one-out is at hyperparameters that were set where the evidence of all rows is highest, so that it "
            "flatters.",
            remedy="Use folds (cv=5), or integrate over them.",
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of the rows that are refused here
        found = leave_one_out(trial.fitted, trial.of(table.X), table.y, table.weights)
    if not found.reliable:
        raise UnavailableError(
            f"Leave-one-out is unreliable in {found.unreliable.size} rows (Pareto k̂ ≥ 0.7).", remedy="Use folds (cv=5)."
        )
    return found.pointwise


def _alone(model: Any, table: Table) -> np.ndarray:
    """(n,) whether a row is the only one of its class: leaving it out, there is nothing to predict it with."""
    if not is_classifier(model):
        return np.zeros(len(table.y), dtype=bool)
    codes, counts = np.unique(table.y, return_inverse=True, return_counts=True)[1:]
    return counts[codes.ravel()] == 1


def _score_folds(trial: Trial, table: Table, splits: Splits, scores: tuple[str, ...], rounding: bool) -> None:
    trial.pointwise = {name: np.full(len(table.y), np.nan) for name in scores}
    for rows, predictive in held_out_predictives(trial.fitted, trial.of(table.X), table.y, table.weights, splits):
        if rounding and predictive.kind == "real":
            predictive = RoundedPredictive(predictive)
        for name in scores:
            score, sign = SCORES[name]
            trial.pointwise[name][rows] = sign * score(predictive, table.y[rows])
