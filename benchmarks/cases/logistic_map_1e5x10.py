"""The mode of a logistic regression of 1e5 × 10 under a Normal prior, to the same gradient."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.case import Bar, Case, Contestant, Quality

ROWS, COLUMNS, PRIOR_SD = 100_000, 10, 2.5


def load(_: Path) -> tuple[Any, Any]:
    import numpy as np

    rng = np.random.default_rng(0)
    X = rng.standard_normal((ROWS, COLUMNS))
    p = 1.0 / (1.0 + np.exp(-0.5 - X @ rng.standard_normal(COLUMNS)))
    return X, (rng.random(ROWS) < p).astype(np.int64)


def credo(data: tuple[Any, Any]) -> tuple[Any, Any]:
    import credo as cr

    model = cr.LogisticRegression(prior=cr.Normal(0, PRIOR_SD), inference="map").fit(*data)
    return model.intercept_, model.coef_


def newton_cholesky(data: tuple[Any, Any]) -> tuple[Any, Any]:
    """C = sd² makes the penalty the same prior. With `tol` 1e-6 it stops a step earlier, at 1e-7 a row."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(solver="newton-cholesky", C=PRIOR_SD**2, tol=1e-8).fit(*data)
    return model.intercept_, model.coef_


def gradient_norm(data: tuple[Any, Any], fitted: tuple[Any, Any]) -> float:
    """Largest partial derivative of the log posterior, as log10 of its size a row."""
    import numpy as np

    (X, y), (intercept, coef) = data, fitted
    coef = np.ravel(coef)
    rest = y - 1.0 / (1.0 + np.exp(-np.ravel(intercept) - X @ coef))
    gradient = np.append(X.T @ rest - coef / PRIOR_SD**2, rest.sum())
    return float(np.log10(np.abs(gradient).max() / ROWS + 1e-300))


CASE = Case(
    question="The mode of a logistic regression of 1e5 × 10 with prior N(0, 2.5²), in memory and with input checks, "
    "against scikit-learn's newton-cholesky at the same penalty and an equal gradient.",
    load=load,
    contestants=(
        Contestant('credo LogisticRegression(inference="map")', credo),
        Contestant("scikit-learn newton-cholesky", newton_cholesky, requires=("scikit-learn",)),
    ),
    # At 1e-10 a row the mode is known to 1e-8 of a posterior sd; below, rounding would be compared.
    quality=Quality("log10 gradient a row, -10 at least", lambda d, f: max(gradient_norm(d, f), -10.0), "lower", 0.0),
    bars={"scikit-learn newton-cholesky": Bar("≥", 1)},
    repeats=9,
)
