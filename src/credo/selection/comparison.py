"""`Comparison`: how well models predicted rows they had not seen, and which to take."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from credo.errors import ParameterError
from credo.saving.registry import register

__all__ = ["Comparison", "ComparisonRow"]


@register
@dataclass(frozen=True)
class ComparisonRow:
    """One model.

    score, standard_error : mean held-out score per row (log score: nats, larger is better), and its standard error
    difference, difference_error : score minus the best model's on the same rows (≤ 0), and its paired standard error
    log_evidence : log p(y | X) of the fit to all rows; None where there is none
    complexity : rank, or number of coefficients
    seconds : to fit and score it
    other_scores : name → (mean, standard error) of the scores asked for beside the first
    notes : warnings of its fits
    """

    name: str
    score: float
    standard_error: float
    difference: float
    difference_error: float
    log_evidence: float | None
    complexity: float
    seconds: float
    other_scores: dict[str, tuple[float, float]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def within_one_error(self) -> bool:
        """Whether the best is not clearly better: difference ≥ −difference_error."""
        return bool(math.isfinite(self.score) and -self.difference <= self.difference_error)


@register
@dataclass(frozen=True, eq=False)
class Comparison:
    """Models ranked by held-out score.

    rows : best first
    failed, skipped : name → reason, of models that could not be fitted, or were not tried
    scheme : how rows were held out
    scores : names of the scores; the first ranks
    n_rows : rows given; n_scored : rows that every model scored
    pointwise : name → held-out score of each row (n,), NaN where unscored (the first block in time, a class that no
        other row has)
    fitted : name → model fitted to all rows
    weights : (n,) rows each row stands for, or None
    columns : name → the columns of X that the model was given, where these are not all

    >>> import numpy as np, credo as cr
    >>> from credo.selection import compare, candidates
    >>> X = np.random.default_rng(0).normal(size=(60, 2)); y = X[:, 0] + 0.1 * np.sin(9.0 * X[:, 1])
    >>> comparison = compare(candidates("regression", 2), X, y)
    >>> comparison.chosen, comparison.scheme
    ('linear', '5 shuffled folds')
    """

    rows: tuple[ComparisonRow, ...]
    failed: dict[str, str]
    skipped: dict[str, str]
    scheme: str
    scores: tuple[str, ...]
    n_rows: int
    n_scored: int
    pointwise: dict[str, np.ndarray]
    fitted: dict[str, Any]
    weights: np.ndarray | None = None
    columns: dict[str, Any] = field(default_factory=dict)

    @property
    def best(self) -> str:
        """Name of the model with the highest score."""
        return self.rows[0].name

    @property
    def chosen(self) -> str:
        """Name of the simplest model within one standard error of the best (of equals, the better)."""
        near = [row for row in self.rows if row.within_one_error] or [self.rows[0]]
        return min(near, key=lambda row: (row.complexity, -row.score)).name

    @property
    def model(self) -> Any:
        """The chosen model, fitted to all rows."""
        return self.fitted[self.chosen]

    def __getitem__(self, name: str) -> ComparisonRow:
        for row in self.rows:
            if row.name == name:
                return row
        raise ParameterError("Comparison", "name", f"one of {[row.name for row in self.rows]}", name)

    def to_json(self, *, pointwise: bool = False) -> str:
        """As JSON text; infinities become null. `pointwise` adds the score of every row."""
        record = {
            "best": self.best,
            "chosen": self.chosen,
            "scheme": self.scheme,
            "scores": list(self.scores),
            "n_rows": self.n_rows,
            "n_scored": self.n_scored,
            "models": [{**vars(row), "notes": list(row.notes)} for row in self.rows],
            "failed": self.failed,
            "skipped": self.skipped,
        }
        if pointwise:
            record["pointwise"] = {name: values.tolist() for name, values in self.pointwise.items()}
        return json.dumps(_finite(record), ensure_ascii=False, indent=2)

    def __str__(self) -> str:
        header = ("model", f"{self.scores[0]} score", "vs best", "log evidence", "complexity", "seconds")
        lines = [header, *(_cells(row) for row in self.rows)]
        widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
        table = ["  ".join(cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(line, widths)))
                 for line in lines]  # fmt: skip
        scored = f"{self.n_scored} of {self.n_rows} rows" if self.n_scored < self.n_rows else f"{self.n_rows} rows"
        why = "the best" if self.chosen == self.best else f"simplest within one standard error of the best, {self.best}"
        after = [f"Held out: {self.scheme} ({scored}).", f"Chosen: {self.chosen} ({why})."]
        after += [f"Failed: {name}: {reason}" for name, reason in self.failed.items()]
        after += [f"Not tried: {name}: {reason}" for name, reason in self.skipped.items()]
        after += [f"Note: {row.name}: {note}" for row in self.rows for note in row.notes]
        return "\n".join([*(line.rstrip() for line in table), "", *after])


def _cells(row: ComparisonRow) -> tuple[str, ...]:
    evidence = "" if row.log_evidence is None else f"{row.log_evidence:.2f}"
    difference = "" if row.difference == 0.0 else f"{row.difference:.4f} ± {row.difference_error:.4f}"
    score = f"{row.score:.4f} ± {row.standard_error:.4f}"
    return row.name, score, difference, evidence, f"{row.complexity:g}", f"{row.seconds:.2f}"


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
