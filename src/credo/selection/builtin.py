"""The candidates that Credo brings.

Seconds are estimates for one core of 2020, within a factor of two or so (`benchmarks` measure them).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from credo.distributions.normal import Normal
from credo.models.baseline import InterceptOnlyClassifier, InterceptOnlyRegressor
from credo.models.featured import FeaturedModel, Quadratic
from credo.models.glm import LogisticRegression
from credo.models.linear import LinearRegression
from credo.selection.registry import Candidate, register_candidate

__all__: list[str] = []

# Multiply-adds a second of BLAS on one core, and of elementwise work.
BLAS = 1e10
ELEMENTWISE = 2e8
# Student-t quantiles a second: what places the importance points.
QUANTILES = 5e5


# Within a comparison every fit has the same bounded cost, and an evidence: where Laplace's certificate fails, "auto"
# would sample. The note in the table says so, and `compare` does it for the model it chooses.
def logistic(**options: Any) -> LogisticRegression:
    return LogisticRegression(inference="laplace", **options)


# One scale for all coefficients of `Quadratic`'s columns, which are standardised and share out the prior's variance.
def curved(model: Callable[..., Any], interactions: bool) -> FeaturedModel:
    return FeaturedModel(Quadratic(interactions=interactions), model(prior=Normal(0, None)))


def squares(p: int) -> int:
    return 2 * p


def interactions(p: int) -> int:
    return p * (p + 3) // 2


def none(p: int) -> int:
    return 0


def baseline_seconds(n: int, columns: int) -> float:
    return 1e-8 * n


def linear_seconds(n: int, columns: int) -> float:
    """Moments, a decomposition, and 16 nodes of leverages for every row."""
    return (n * columns**2 + 10.0 * columns**3) / BLAS + 20.0 * n * columns / ELEMENTWISE


def logistic_seconds(n: int, columns: int) -> float:
    """Fifteen Newton passes and the importance points; six such fits where leave-one-out is not to be had."""
    points = min(4096.0, max(256.0, 4e7 / n)) + 8.0 * columns
    newton = 15.0 * (n * columns**2 + columns**3 / 3.0) / BLAS
    draws = points * columns / QUANTILES
    fit = newton + points * n * columns / BLAS + points * n / ELEMENTWISE + draws
    return fit * (1.0 if columns <= 50 and n >= 20 * columns else 6.0)


for _candidate in (
    Candidate("baseline", "regression", 0, InterceptOnlyRegressor, none, baseline_seconds),
    Candidate("linear", "regression", 10, LinearRegression, int, linear_seconds),
    Candidate("squares", "regression", 20, lambda: curved(LinearRegression, False), squares, linear_seconds),
    Candidate(
        "interactions",
        "regression",
        30,
        lambda: curved(LinearRegression, True),
        interactions,
        linear_seconds,
    ),
    Candidate("baseline", "classification", 0, InterceptOnlyClassifier, none, baseline_seconds),
    Candidate("logistic", "classification", 10, logistic, int, logistic_seconds),
    Candidate("squares", "classification", 20, lambda: curved(logistic, False), squares, logistic_seconds),
    Candidate(
        "interactions",
        "classification",
        30,
        lambda: curved(logistic, True),
        interactions,
        logistic_seconds,
    ),
):
    register_candidate(_candidate)
