"""A million rows of twenty columns in memory: is the fit near the cost of reading them once?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.case import Bar, Case, Contestant

ROWS, COLUMNS = 1_000_000, 20


def load(_: Path) -> tuple[Any, Any]:
    import numpy as np

    rng = np.random.default_rng(1)
    X = rng.standard_normal((ROWS, COLUMNS))
    return X, 3.0 + X @ rng.standard_normal(COLUMNS) + rng.standard_normal(ROWS)


def credo(data: tuple[Any, Any]) -> Any:
    import credo as cr

    return cr.LinearRegression().fit(*data)


def gram(data: tuple[Any, Any]) -> Any:
    return data[0].T @ data[0]


def scikit_learn(data: tuple[Any, Any]) -> Any:
    from sklearn.linear_model import LinearRegression

    return LinearRegression().fit(*data)


def statsmodels(data: tuple[Any, Any]) -> Any:
    import statsmodels.api as sm

    return sm.OLS(data[1], sm.add_constant(data[0])).fit()


CASE = Case(
    question="An in-memory fit of 1e6 × 20 (input checks, evidence and posterior included) "
    "against one XᵀX through BLAS (NumPy's `X.T @ X`), and against least squares elsewhere.",
    load=load,
    contestants=(
        Contestant("credo LinearRegression", credo),
        Contestant("one XᵀX through BLAS", gram),
        Contestant("scikit-learn LinearRegression", scikit_learn, requires=("scikit-learn",)),
        Contestant("statsmodels OLS", statsmodels, requires=("statsmodels",)),
    ),
    # Credo takes at most four times the XᵀX.
    bars={"one XᵀX through BLAS": Bar("≥", 0.25)},
)
