"""Which models are worth trying on a table, from simple to complex: a registry, and who fits in the time and memory
there are.

A model joins by one `register_candidate` in `builtin` (models lie below this folder and cannot register themselves).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.errors import ParameterError
from credo.selection.outcomes import OutcomeShape

__all__ = ["Candidate", "Candidates", "candidates", "register_candidate", "TASKS"]

#: what is predicted
TASKS = ("regression", "classification")
# A comparison of all should take ten seconds, of which the largest candidate may have about half; several are in
# memory at once.
SECONDS = 4.0
BYTES = 2e9


@dataclass(frozen=True)
class Candidate:
    """A model that may be tried.

    task : one of `TASKS`
    rank : complexity, compared within a task; of models that predict equally well the lowest is chosen
    make : () → an unfitted estimator
    columns : n_features → columns the estimator makes use of
    seconds : (n_rows, columns) → time to fit and score it on one core, in seconds
    unfit : what the outcomes look like → why it is not for them, or None; a candidate without it is for any outcomes
    view : what it is shown of a table: "features", or "cells" (categories and missing cells as they are)
    families : the parameter that takes what each column of the cells holds, or None
    """

    name: str
    task: str
    rank: float
    make: Callable[[], Any]
    columns: Callable[[int], int]
    seconds: Callable[[int, int], float]
    unfit: Callable[[OutcomeShape], str | None] | None = None
    view: str = "features"
    families: str | None = None

    def made(self, families: Sequence[str] | None) -> Any:
        """The estimator, told what the columns hold if it asks."""
        model = self.make()
        if self.families is not None and families is not None:
            model.set_params(**{self.families: tuple(families)})
        return model

    def obstacle(self, n_features: int, n_rows: int, seconds: float, bytes_: float) -> str | None:
        """Why it would not fit, or None."""
        columns = self.columns(n_features)
        # the columns in float64, and three matrices of moments
        size = 8.0 * (n_rows * columns + 3.0 * columns**2)
        what = f"{columns:,} columns × {n_rows:,} rows would take about"
        if size > bytes_:
            return f"{what} {size / 1e9:.1f} GB of memory (limit {bytes_ / 1e9:.1f})."
        time = self.seconds(n_rows, columns)
        return f"{what} {time:,.0f} s (limit {seconds:g} s)." if time > seconds else None


class Candidates(dict[str, Any]):
    """Name → unfitted estimator, from simple to complex; `ranks` their complexity, `skipped` name → why it was left
    out, `unfit` name → why it is not for such outcomes, `views` name → what it is shown of a table, and `columns` name
    → the columns of X it is given (others: all)."""

    def __init__(
        self,
        models: Mapping[str, Any],
        ranks: Mapping[str, float],
        skipped: Mapping[str, str],
        unfit: Mapping[str, str] | None = None,
        views: Mapping[str, str] | None = None,
        columns: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(models)
        self.ranks = dict(ranks)
        self.skipped = dict(skipped)
        self.unfit = dict(unfit or {})
        self.views = dict(views or {})
        self.columns = dict(columns or {})


_REGISTRY: dict[tuple[str, str], Candidate] = {}


def register_candidate(candidate: Candidate) -> Candidate:
    """Add a candidate; one of the same task and name is replaced."""
    if candidate.task not in TASKS:
        raise ParameterError("Candidate", "task", f"one of {TASKS}", candidate.task)
    _REGISTRY[candidate.task, candidate.name] = candidate
    return candidate


def candidates(
    task: str,
    n_features: int,
    n_rows: int | None = None,
    *,
    outcome: OutcomeShape | None = None,
    seconds: float = SECONDS,
    memory: float = BYTES,
    families: Sequence[str] | None = None,
) -> Candidates:
    """Models worth comparing on a table, from simple to complex.

    Parameters
    ----------
    task : "regression" or "classification"
    n_features : columns of numbers, ≥ 1
    n_rows : rows; None leaves nothing out
    outcome : `OutcomeShape.of(y, X)`, by which models of counts, of positive skewed numbers, of heavy-tailed noise and
        of ordered classes join where they fit; None leaves them out
    seconds, memory : what one candidate may take, in seconds of one core and in bytes; estimates
    families : what each column of a table holds, for candidates that read cells (`credo.models.tabular.families_of`)

    Returns
    -------
    Candidates : a dict name → unfitted estimator, with `.ranks`, `.skipped` and `.unfit` (name → reason).

    >>> from credo.selection import OutcomeShape
    >>> list(candidates("regression", 5, outcome=OutcomeShape.of([0, 2, 1, 0, 3, 9])))
    ['baseline', 'poisson', 'negative_binomial', 'linear', 'squares', 'interactions', 'process']
    >>> list(candidates("regression", n_features=5))
    ['baseline', 'linear', 'squares', 'interactions', 'process']
    >>> candidates("classification", 300, 10_000).skipped["interactions"]
    '45,450 columns × 10,000 rows would take about 53.2 GB of memory (limit 2.0).'
    """
    import credo.selection.builtin  # noqa: F401  # fills the registry

    if task not in TASKS:
        raise ParameterError("candidates", "task", f"one of {TASKS}", task)
    for name, value in (("n_features", n_features), ("n_rows", 1 if n_rows is None else n_rows)):
        if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
            raise ParameterError("candidates", name, "an integer ≥ 1", value)
    found = sorted((c for (t, _), c in _REGISTRY.items() if t == task), key=lambda c: c.rank)
    unfit = {c.name: reason for c in found if (reason := _unfit(c, outcome)) is not None}
    found = [c for c in found if c.name not in unfit]
    obstacles = {
        c.name: None if n_rows is None else c.obstacle(int(n_features), int(n_rows), seconds, memory) for c in found
    }
    kept = [c for c in found if obstacles[c.name] is None]
    skipped = {name: reason for name, reason in obstacles.items() if reason is not None}
    return Candidates(
        {c.name: c.made(families) for c in kept},
        {c.name: c.rank for c in kept},
        skipped,
        unfit,
        {c.name: c.view for c in kept},
    )


def _unfit(candidate: Candidate, outcome: OutcomeShape | None) -> str | None:
    if candidate.unfit is None:
        return None
    return "nothing is known of the outcomes" if outcome is None else candidate.unfit(outcome)
