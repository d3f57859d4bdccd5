"""What the model believes: coefficients that can be compared, noise, and the certificate of the inference."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from credo.models.tabular import Coefficient
from credo.plots.beliefs import CoefficientForest, forest
from credo.reports.rows import Rows

__all__ = ["Belief", "belief", "design_of"]


@dataclass(frozen=True)
class Belief:
    """model, inference : names ; coefficients in the columns' own units, with intervals of `mass`
    forest : the same for a step of comparable size, None where there are no coefficients
    about : what a coefficient is of ; noise_scale ; certificate ; weights : of an average ; advice : sentences
    """

    model: str
    inference: str
    mass: float
    coefficients: tuple[Coefficient, ...]
    forest: CoefficientForest | None
    about: str
    noise_scale: float | None
    certificate: dict[str, Any] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)
    advice: tuple[str, ...] = ()


def belief(rows: Rows, mass: float = 0.9) -> Belief:
    model = rows.model
    summary = model.summary(mass)
    coefficients = model.coefficients(mass)
    picture = None
    if any(c.name != "intercept" for c in coefficients):
        of = model.estimator.coefficient_scale(model.target, tuple(map(str, model.labels))).partition(",")[0]
        picture = forest(coefficients, mass, _steps(rows, coefficients), f"change in {of} for a step of the column")
    return Belief(
        model.name, summary["inference"], mass, coefficients, picture, " ".join(model.coefficient_notes),
        model.noise_scale,
        summary["certificate"], model.weights, tuple(summary["warnings"]),
    )  # fmt: skip


def design_of(estimator: Any, X: np.ndarray) -> np.ndarray:
    """The columns in which an estimator is linear: X behind its feature map, if it has one."""
    features = getattr(estimator, "features_", None)
    return np.asarray(X if features is None else features.transform(X), dtype=np.float64)


def _steps(rows: Rows, coefficients: tuple[Coefficient, ...]) -> dict[str, float]:
    """The step for each coefficient: two sd of a column, which compares with the whole step of a 0/1 column.

    Reference: Gelman, Statistics in Medicine 27 (2008) 2865-2873.
    """
    design = design_of(rows.model.estimator, rows.X)
    names = list(dict.fromkeys(c.name for c in coefficients if c.name != "intercept"))
    if design.shape[1] != len(names):
        return {}
    binary = np.all((design == 0.0) | (design == 1.0), axis=0)
    return {name: 1.0 if two else 2.0 * float(sd) for name, two, sd in zip(names, binary, design.std(axis=0))}
