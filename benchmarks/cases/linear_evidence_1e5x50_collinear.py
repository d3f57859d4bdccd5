"""Maximising the evidence where the columns are nearly collinear: float64 moments would lose the digits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.case import Case, Contestant, Quality
from benchmarks.cases.linear_evidence_1e5x50 import COLUMNS, ROWS, bayesian_ridge, credo, log_evidence


def load(_: Path) -> tuple[Any, Any]:
    """All columns share one factor but for a part in a thousand: their correlation matrix has condition 1e8."""
    import numpy as np

    rng = np.random.default_rng(2)
    X = rng.standard_normal((ROWS, 1)) + 1e-3 * rng.standard_normal((ROWS, COLUMNS))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, 3.0 + X @ rng.normal(scale=0.5, size=COLUMNS) + rng.standard_normal(ROWS)


CASE = Case(
    question="The evidence fit of 1e5 × 50 once more, on columns that correlate by 0.999999: a second pass in "
    "double-double keeps the digits that moments in float64 would lose.",
    load=load,
    contestants=(
        Contestant('credo LinearRegression(inference="evidence")', credo),
        Contestant("scikit-learn BayesianRidge", bayesian_ridge, requires=("scikit-learn",)),
    ),
    quality=Quality("log evidence reached", log_evidence, "higher", 1e-3),
    repeats=5,
)
