"""A whole fit of a million irregular rows of one column, which `solver="auto"` gives to the state-space solver."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.case import Case, Contestant, Quality
from benchmarks.cases.gp_state_space_1e6 import load as rows


def load(_: Path) -> tuple[Any, Any]:
    return rows(_)


def credo(data: tuple[Any, Any]) -> Any:
    from credo.kernels import Matern
    from credo.models.gaussian_process import GaussianProcessRegressor

    return GaussianProcessRegressor(1.0 * Matern(1.0, nu=1.5)).fit(*data)


CASE = Case(
    question="A Gaussian process of 1e6 irregular rows in one column, Matérn 3/2: variance, lengthscale, noise and "
    "level from their defaults to the highest evidence, exactly.",
    load=load,
    contestants=(Contestant("credo GaussianProcessRegressor", credo),),
    quality=Quality("log evidence", lambda data, result: float(result.log_evidence_), "higher", 0.1),
    repeats=1,
    warmups=0,
)
