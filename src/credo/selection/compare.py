"""`compare`: models ranked by how well they predict rows they have not seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from credo.errors import CredoError, DataError, DataWarning, ModelWarning, ParameterError, warn
from credo.numerics.random import as_generator
from credo.selection.comparison import Comparison, ComparisonRow
from credo.selection.evidence import evidence_of
from credo.selection.held_out import fit_model
from credo.selection.independence import find_dependence
from credo.selection.paired import mean_and_error
from credo.selection.posteriors import compare_posteriors, posteriors_in
from credo.selection.predictions import n_parameters, predictive_of, result_of
from credo.selection.registry import Candidates
from credo.selection.scoring import SCORES, Table, Trial, checked_models, fit_all, hold_out
from credo.selection.splits import Splits

__all__ = ["compare"]


def compare(
    models: Any,
    X: Any = None,
    y: Any = None,
    *,
    groups: Any = None,
    time: Any = None,
    sample_weight: Any = None,
    cv: Any = "auto",
    scores: tuple[str, ...] = ("log",),
    categories: Mapping[str, Any] | None = None,
    columns: Mapping[str, Any] | None = None,
    random_state: Any = 0,
) -> Comparison:
    """Compare models on rows held out: mean log score, and the paired standard error of every difference.

    Parameters
    ----------
    models : dict name → estimator (or a list): Credo's, a pipeline that ends in one, or a classifier with
        `predict_proba`. They are cloned, and the fits to all rows returned in `fitted`. Or posteriors of a `Model`,
        without X and y: they hold their data, and are compared by leave-one-out densities from their draws.
    X (n, columns), y (n,) or (n, targets) : arrays or a data frame
    groups : (n,) labels; no group is both learned from and scored, and groups are the units of the standard error
    time : (n,) moments; blocks in time, each predicted from all earlier rows, and units of the standard error
    sample_weight : (n,) rows that each row stands for
    cv : "auto": leave-one-out where every model has it in closed form, else five folds; "loo"; or the number of
        folds (of blocks scored, with `time`)
    scores : "log", "crps", "brier", oriented so that larger is better; the first one ranks
    categories : name → (n,) labels of columns (not necessarily in X) whose levels may be groups; residuals are
        checked for them
    columns : name → the columns of X that this model is given (positions or a slice; names of a data frame); a model
        that is not named is given all
    random_state : of the folds

    Returns
    -------
    Comparison : `.best`, `.chosen` (simplest within one standard error), `.rows`, `.pointwise`; prints as a table.

    Raises
    ------
    ParameterError, DataError : bad arguments; or, when no model could be fitted, the first failure.

    Warns
    -----
    ModelWarning : rows were taken as independent, and the residuals of the best model say that they are not.
    DataWarning : rows that no model could be scored on.

    Notes
    -----
    One model that fails does not stop the others: `failed` has the reason. Linear regressions are not fitted again in
    folds but finished from the statistics of the other folds. Where some models predict counts and others numbers,
    these are scored by the probability of the whole number, F(y + ½) − F(y − ½), in folds.
    Of `candidates` the chosen one is fitted again, by sampling, if its Laplace posterior was not certified; and one
    that predicts every row as a simpler one does, since it adds nothing on these columns, is among the `skipped`.

    References
    ----------
    Vehtari, Gelman and Gabry (2017), Statistics and Computing 27; Hastie, Tibshirani and Friedman (2009), §7.10 (one
    standard error).

    Examples
    --------
    >>> import numpy as np, credo as cr
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 1)); y = X[:, 0] + rng.normal(size=80)
    >>> curve = cr.features.PolynomialFeatures(5)
    >>> from credo.models.featured import FeaturedModel
    >>> models = {"line": cr.LinearRegression(), "curve": FeaturedModel(curve, cr.LinearRegression())}
    >>> compare(models, X, y).chosen
    'line'
    """
    posteriors = None if isinstance(models, Candidates) else posteriors_in(models)
    if posteriors is not None:
        return compare_posteriors(posteriors)
    named = checked_models("compare", models)
    if X is None or y is None:
        raise ParameterError("compare", "X" if X is None else "y", "given, to compare estimators", None)
    scores = (scores,) if isinstance(scores, str) else tuple(scores)
    if not scores or any(name not in SCORES for name in scores):
        raise ParameterError("compare", "scores", f"some of {tuple(SCORES)}", scores)
    table = Table.checked(X, y, sample_weight, groups, time)
    rng = as_generator(random_state)
    columns = dict(getattr(models, "columns", {}) if columns is None else columns)
    trials = fit_all(named, table, columns, ranking=isinstance(models, Candidates))
    scheme, splits = hold_out(trials, table, cv, scores, rng)
    scored = [trial for trial in trials if trial.failure is None]
    if not scored:
        raise trials[0].failure or DataError("There is nothing to compare.")
    skipped = dict(getattr(models, "skipped", {}))
    if isinstance(models, Candidates):
        scored, repeated = _distinct(scored, scores[0])
        skipped |= repeated
    rows, n_scored = _rank(scored, table, splits, scores, getattr(models, "ranks", {}))
    if groups is None and time is None:
        best = next(trial for trial in scored if trial.name == rows[0].name)
        _warn_of_dependence(best, table, {**_codes(scored[0].of(table.X)), **(categories or {})}, rng)
    comparison = Comparison(
        rows=rows,
        failed={trial.name: f"{type(trial.failure).__name__}: {trial.failure}" for trial in trials if trial.failure},
        skipped=skipped,
        scheme=scheme,
        scores=scores,
        n_rows=len(table.y),
        n_scored=n_scored,
        pointwise={trial.name: trial.pointwise[scores[0]] for trial in scored},
        fitted={trial.name: trial.fitted for trial in scored},
        weights=table.weights,
        columns=columns,
    )
    if isinstance(models, Candidates):
        chosen = next(trial for trial in scored if trial.name == comparison.chosen)
        comparison.fitted[chosen.name] = _certified(chosen, named[chosen.name], table)
    return comparison


# Nats a row. Two fits of one model differ by rounding, and by what a quadrature leaves: 1e-8 and less.
_SAME = 1e-6


def _distinct(trials: list[Trial], score: str) -> tuple[list[Trial], dict[str, str]]:
    """The candidates (from simple to complex) that differ in a score, and why the others were left out."""
    kept: list[Trial] = []
    repeated: dict[str, str] = {}
    for trial in trials:
        own = trial.pointwise[score]
        twin = next((k for k in kept if np.allclose(own, k.pointwise[score], 0.0, _SAME, equal_nan=True)), None)
        if twin is None:
            kept.append(trial)
        else:
            repeated[trial.name] = f"the same model as {twin.name} on these columns."
    return kept, repeated


def _certified(trial: Trial, model: Any, table: Table) -> Any:
    """The model to keep: candidates are ranked by fits of bounded cost, and the one taken climbs the ladder if its
    certificate failed."""
    result = result_of(trial.fitted)
    if result is None or result.ok:
        return trial.fitted
    return fit_model(clone(model), trial.of(table.X), table.y, table.weights)


def _rank(
    trials: list[Trial], table: Table, splits: Splits | None, scores: tuple[str, ...], ranks: Mapping[str, float]
) -> tuple[tuple[ComparisonRow, ...], int]:
    """The rows of the comparison, best first, and how many rows of data they stand on."""
    unscored = np.any([np.isnan(trial.pointwise[name]) for trial in trials for name in scores], axis=0)
    expected = np.isin(splits.blocks, [b for _, b in splits.rounds]) if splits is not None else True
    odd = int(np.count_nonzero(unscored & expected))
    if odd:
        message = f"compare: {odd} rows could not be scored: the rows to learn from held none of their class."
        warn(message, DataWarning)
    keep = np.flatnonzero(~unscored)
    if keep.size < 2:
        raise DataError("compare: fewer than two rows could be scored.", value=keep.size, remedy="Use fewer folds.")
    weights = None if table.weights is None else table.weights[keep]
    units = None if splits is None or splits.units is None else splits.units[keep]
    known = {trial.name: trial.pointwise[scores[0]][keep] for trial in trials}
    best = max(known, key=lambda name: _mean(known[name], weights, units)[0])

    def row(trial: Trial) -> ComparisonRow:
        score, error = _mean(known[trial.name], weights, units)
        difference, difference_error = (
            (0.0, 0.0) if trial.name == best else _mean(known[trial.name] - known[best], weights, units)
        )
        return ComparisonRow(
            trial.name,
            score,
            error,
            difference,
            difference_error,
            evidence.log_value if (evidence := evidence_of(trial.fitted)) is not None else None,
            float(ranks.get(trial.name, n_parameters(trial.fitted))),
            trial.seconds,
            {name: _mean(trial.pointwise[name][keep], weights, units) for name in scores[1:]},
            trial.notes,
        )

    return tuple(sorted(map(row, trials), key=lambda each: (-each.score, each.complexity))), keep.size


def _mean(values: np.ndarray, weights: Any, units: Any) -> tuple[float, float]:
    """Mean and standard error; a probability of 0 for what happened is −∞, of which nothing is known."""
    if np.all(np.isfinite(values)):
        return mean_and_error(values, weights, units)
    return -np.inf, np.inf


def _warn_of_dependence(trial: Trial, table: Table, categories: Mapping[str, Any], rng: np.random.Generator) -> None:
    try:
        residuals, sorted_ = _residuals(trial, table)
    except CredoError:  # a predictive without a mean has no residuals to look at
        return
    for found in find_dependence(residuals, categories, rng, ordered=not sorted_):
        warn(f"compare: {found.message}", ModelWarning)


def _residuals(trial: Trial, table: Table) -> tuple[np.ndarray, bool]:
    """Outcome minus expectation, and whether the table is sorted by the outcome."""
    predictive = predictive_of(trial.fitted, trial.of(table.X))
    if is_classifier(trial.fitted):
        codes = np.searchsorted(predictive.classes, table.y)
        indicators = np.eye(len(predictive.classes))[codes]
        runs = 1 + np.count_nonzero(np.diff(codes))
        return indicators - predictive.probabilities, runs == np.unique(codes).size
    steps = np.diff(table.y, axis=0)
    return table.y - predictive.mean, bool(np.all(steps >= 0) or np.all(steps <= 0))


def _codes(X: Any) -> dict[str, np.ndarray]:
    """Columns that may be codes of groups: text, or whole numbers, of three levels or more that repeat.

    Two levels a model already tells apart.
    """
    frame = hasattr(X, "columns")
    names = [str(name) for name in X.columns] if frame else [f"column {j}" for j in range(X.shape[1])]
    found = {}
    for j, name in enumerate(names):
        column = np.asarray(X[X.columns[j]] if frame else X[:, j])
        if column.ndim != 1 or (column.dtype.kind == "f" and not np.all(column == np.floor(column))):
            continue
        if column.dtype.kind not in "fiubOUST":
            continue
        try:
            levels = np.unique(column).size
        except TypeError:  # text beside missing cells has no order
            continue
        if 3 <= levels <= column.size / 2:
            found[name] = column
    return found
