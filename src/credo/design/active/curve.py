"""Learning curves: a way of choosing labels against choosing them at random, on rows whose labels are known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn.base

from credo.design.active.beliefs import is_class
from credo.design.active.select import select
from credo.errors import DataError, ParameterError
from credo.numerics.random import as_generator

__all__ = ["LearningCurve", "accuracy", "learning_curve"]

OWNER = "learning_curve"


@dataclass(frozen=True)
class LearningCurve:
    """Scores on test rows as labels come in, higher being better; both strategies start from the same rows.

    labels : (Q,) how many rows were labelled
    chosen, random : (seeds, Q) the score of each seed
    by : how rows were chosen
    """

    labels: np.ndarray
    chosen: np.ndarray
    random: np.ndarray
    by: Any

    @property
    def area_differences(self) -> np.ndarray:
        """(seeds,) mean over the curve of chosen − random, its common start left out."""
        return (self.chosen - self.random)[:, 1:].mean(axis=1)

    @property
    def area_difference(self) -> float:
        """Mean over the seeds: by how much the chosen curve lies above the random one."""
        return float(self.area_differences.mean())

    @property
    def se(self) -> float:
        """Standard error of `area_difference`, from the pairs; NaN for one seed."""
        each = self.area_differences
        return float(each.std(ddof=1) / np.sqrt(each.size)) if each.size > 1 else float("nan")


def learning_curve(
    model: Any,
    X: Any,
    y: Any,
    *,
    start: int = 10,
    n_queries: int = 20,
    by: Any = "bald",
    batch: int = 1,
    test: tuple[Any, Any] | None = None,
    seeds: int = 10,
    score: Callable[[Any, np.ndarray], float] | None = None,
    diversity: str | None = "auto",
    rng: Any = None,
) -> LearningCurve:
    """What choosing labels `by` a score gains over choosing them at random, over paired seeds.

    Parameters
    ----------
    model : an estimator with `predict_distribution`; clones of it are fitted
    X, y : (N, P), (N,) the pool and its labels, seen one by one as they are asked for
    start : labels to begin with, drawn at random with every class among them
    n_queries, batch : how often to ask, and for how many labels at a time
    test : (X, y) to score on; None holds out 3/10 of the rows, others for each seed
    seeds : independent repetitions; start and test rows are the same for both strategies
    score : (predictive, y) → number, higher is better; by default the mean log probability of the test labels
    rng : seed, Generator or None

    Cost: 2 · seeds · (n_queries + 1) fits.

    >>> import credo as cr
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2))
    >>> y = X @ [1.0, -1.0] + 0.1 * rng.normal(size=60)
    >>> curve = learning_curve(cr.LinearRegression(), X, y, start=5, n_queries=3, by="reduction", seeds=2, rng=0)
    >>> curve.labels.tolist(), curve.chosen.shape
    ([5, 6, 7, 8], (2, 4))
    """
    X, y = np.asarray(X), np.asarray(y)
    if y.ndim != 1 or len(X) != len(y):
        raise DataError(f"{OWNER}: {len(X)} rows and labels of shape {y.shape}.", value=y.shape)
    for name, value in (("start", start), ("n_queries", n_queries), ("batch", batch), ("seeds", seeds)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
            raise ParameterError(OWNER, name, "an integer ≥ 1", value)
    measure = _log_score if score is None else score
    streams = as_generator(rng).spawn(seeds)
    chosen, random = [], []
    for stream in streams:
        pool, scored = _split(X, y, test, stream)
        first = _start(pool[1], start, start + n_queries * batch, sklearn.base.is_classifier(model), stream)
        for strategy, curves in ((by, chosen), ("random", random)):
            # One stream each: what one strategy draws does not move the other.
            own = stream.spawn(1)[0]
            curves.append(_run(model, pool, scored, first, n_queries, batch, strategy, diversity, measure, own))
    labels = start + batch * np.arange(n_queries + 1)
    return LearningCurve(labels, np.array(chosen), np.array(random), by)


def _log_score(predictive: Any, y: np.ndarray) -> float:
    return float(np.mean(predictive.log_prob(y)))


def accuracy(predictive: Any, y: np.ndarray) -> float:
    """Share of rows whose most probable class is right, a `score` of `learning_curve`."""
    if not is_class(predictive):
        raise ParameterError(OWNER, "score", "for numbers, not for classes", "accuracy")
    return float(np.mean(predictive.mode == y))


def _split(X: np.ndarray, y: np.ndarray, test: Any, rng: np.random.Generator) -> tuple[Any, Any]:
    if test is not None:
        return (X, y), (np.asarray(test[0]), np.asarray(test[1]))
    order = rng.permutation(len(y))
    cut = max(1, round(0.3 * len(y)))
    return (X[order[cut:]], y[order[cut:]]), (X[order[:cut]], y[order[:cut]])


def _start(y: np.ndarray, start: int, needed: int, classes: bool, rng: np.random.Generator) -> np.ndarray:
    """Rows to begin with: one of each class, the rest at random."""
    if needed > len(y):
        raise ParameterError(OWNER, "start + n_queries · batch", f"at most the {len(y)} rows of the pool", needed)
    order = rng.permutation(len(y))
    if not classes:
        return order[:start]
    _, first = np.unique(y[order], return_index=True)
    if start < first.size:
        raise ParameterError(OWNER, "start", f"at least one row for each of {first.size} classes", start)
    rest = np.delete(order, first)
    return np.concatenate([order[first], rest[: start - first.size]])


def _run(
    model: Any, pool: Any, scored: Any, first: np.ndarray, n_queries: int, batch: int, by: Any, diversity: Any,
    measure: Callable, rng: np.random.Generator,
) -> list[float]:  # fmt: skip
    X, y = pool
    known = np.zeros(len(y), dtype=bool)
    known[first] = True
    values = []
    for query in range(n_queries + 1):
        copy: Any = sklearn.base.clone(model)
        fitted = copy.fit(X[known], y[known])
        values.append(measure(fitted.predict_distribution(scored[0]), scored[1]))
        if query < n_queries:
            open_rows = np.flatnonzero(~known)
            known[open_rows[select(fitted, X[open_rows], batch, by, rng, diversity=diversity)]] = True
    return values
