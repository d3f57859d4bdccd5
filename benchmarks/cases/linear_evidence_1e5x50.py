"""Maximising the evidence: prior scale and noise scale of a ridge regression, to the same optimum."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.case import Bar, Case, Contestant, Quality

ROWS, COLUMNS = 100_000, 50
# BayesianRidge's default, and the loosest power of ten that reaches the optimum (measured 1e-1 to 1e-7).
TOL = 1e-3


def load(_: Path) -> tuple[Any, Any]:
    """Neighbouring columns correlate by about 0.7; all have mean 0 and sd 1.

    So Credo's prior, which is on standardised columns, is BayesianRidge's. The coefficients are about as large as
    their standard errors: the prior matters, also at 1e5 rows.
    """
    import numpy as np

    rng = np.random.default_rng(1)
    X = rng.standard_normal((ROWS, COLUMNS))
    for j in range(1, COLUMNS):
        X[:, j] += 0.7 * X[:, j - 1]  # a first-order autoregression from column to column
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, 3.0 + X @ rng.normal(scale=0.005, size=COLUMNS) + rng.standard_normal(ROWS)


def credo(data: tuple[Any, Any]) -> tuple[float, float]:
    """(noise precision α, prior precision λ)"""
    import credo as cr

    model = cr.LinearRegression(inference="evidence").fit(*data)
    return model.noise_scale_**-2.0, model.prior_scale_**-2.0


def bayesian_ridge(data: tuple[Any, Any]) -> tuple[Any, Any]:
    """Without hyperpriors its objective is the evidence."""
    from sklearn.linear_model import BayesianRidge

    model = BayesianRidge(tol=TOL, max_iter=1000, alpha_1=0.0, alpha_2=0.0, lambda_1=0.0, lambda_2=0.0).fit(*data)
    return model.alpha_, model.lambda_


def log_evidence(data: tuple[Any, Any], precisions: tuple[Any, Any]) -> float:
    """log p(y | α, λ) with a flat intercept integrated out, from its definition:

    ½ [(n−1) log α + P log λ − log|λI + αXᵀX| − α‖y − Xm‖² − λ‖m‖² − (n−1) log 2π − log n],  X and y centred.
    """
    import numpy as np

    X, y = data
    alpha, lambda_ = precisions
    n, P = X.shape
    y = y - y.mean()
    precision = lambda_ * np.eye(P) + alpha * X.T @ X
    m = alpha * np.linalg.solve(precision, X.T @ y)
    fit = alpha * np.sum(np.square(y - X @ m)) + lambda_ * m @ m
    constant = (n - 1) * np.log(2 * np.pi) + np.log(n)
    return 0.5 * ((n - 1) * np.log(alpha) + P * np.log(lambda_) - np.linalg.slogdet(precision)[1] - fit - constant)


CASE = Case(
    question="An evidence fit of 1e5 × 50 (prior and noise scale by type-II maximum likelihood) "
    "against scikit-learn's BayesianRidge without hyperpriors, to the same log evidence.",
    load=load,
    contestants=(
        Contestant('credo LinearRegression(inference="evidence")', credo),
        Contestant("scikit-learn BayesianRidge", bayesian_ridge, requires=("scikit-learn",)),
    ),
    # A thousandth of a nat: far below what could change a conclusion, and above the 1e-5 by which the two
    # objectives' optima differ (BayesianRidge counts n rows where integrating the intercept leaves n − 1).
    quality=Quality("log evidence reached", log_evidence, "higher", 1e-3),
    bars={"scikit-learn BayesianRidge": Bar("≥", 15)},
    repeats=7,
)
