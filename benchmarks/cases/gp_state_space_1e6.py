"""A million irregular rows of one column, state space: one evidence, and one with its gradient."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.case import Case, Contestant, Limit

ROWS, NOISE = 1_000_000, 0.3


def load(_: Path) -> tuple[Any, Any]:
    """(X, y): two waves over 10,000 lengthscales, in no order."""
    import numpy as np

    rng = np.random.default_rng(0)
    x = rng.uniform(0.0, 10_000.0, ROWS)
    return x[:, None], np.sin(x) + 0.5 * np.cos(0.21 * x) + NOISE * rng.normal(size=ROWS)


def _factor(X: Any) -> Any:
    import numpy as np

    from credo.kernels import Matern
    from credo.models.gaussian_process.solvers.state_space import StateSpace

    return StateSpace()(1.0 * Matern(1.0, nu=1.5), X, np.full(len(X), NOISE**2))


def evidence(data: tuple[Any, Any]) -> float:
    """−½ yᵀK_y⁻¹y − ½ log|K_y|."""
    X, y = data
    factor = _factor(X)
    return -0.5 * float(y @ factor.solve(y[:, None])[:, 0]) - 0.5 * factor.log_determinant


def gradient(data: tuple[Any, Any]) -> Any:
    X, y = data
    factor = _factor(X)
    value = -0.5 * float(y @ factor.solve(y[:, None])[:, 0]) - 0.5 * factor.log_determinant
    return value, factor.gradient(y[:, None])


CASE = Case(
    question="A Gaussian process of 1e6 irregular rows in one column, Matérn 3/2, exactly: one evidence; evidence and "
    "gradient.",
    load=load,
    contestants=(
        Contestant("credo evidence", evidence),
        Contestant("credo evidence and gradient", gradient),
    ),
    limits={"credo evidence": Limit("seconds", 5.0)},
    repeats=3,
)
