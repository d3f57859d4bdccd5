"""What a fitted estimator believes, as plain records: coefficients with intervals, noise, certificate."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.errors import CredoError, UnavailableError
from credo.models.coefficients import Coefficient, CoefficientTable, coefficients

__all__ = ["Coefficient", "believed", "coefficient_notes", "log_evidence", "noise_scale", "result_of"]


def inner(estimator: Any) -> Any:
    """The estimator behind a feature map, or itself."""
    return getattr(estimator, "estimator_", estimator)


def believed(
    estimator: Any, features: tuple[str, ...], labels: tuple[str, ...] = (), mass: float = 0.9
) -> CoefficientTable:
    """Belief about every coefficient; empty for models that have none (baselines, averages, points without spread).

    features : names of the columns the estimator was fitted to
    labels : class names in the order of the estimator's classes. Of two classes the coefficients are the second's.
    """
    try:
        return coefficients(estimator, mass, features=features, outcomes=labels)
    except UnavailableError:
        return CoefficientTable()


def coefficient_notes(estimator: Any, target: str, labels: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Sentences on what a coefficient is of, from the estimator and its feature map; () where there is none."""
    if not hasattr(estimator, "coefficient_scale"):
        return ()
    scale = estimator.coefficient_scale(target, labels)
    about = getattr(getattr(estimator, "features_", None), "about", "")
    said = f"Coefficients are changes in {scale} for one unit of the model's column."
    return (said, about) if about else (said,)


def noise_scale(estimator: Any) -> float | None:
    """The scale of the noise, where the model has one."""
    scale = getattr(inner(estimator), "noise_scale_", None)
    return float(scale) if scale is not None and np.ndim(scale) == 0 else None


def log_evidence(estimator: Any) -> float | None:
    """log p(y | X), where it is defined."""
    try:
        record = getattr(estimator, "evidence_", None)
    except CredoError:
        return None
    return None if record is None else record.log_value


def result_of(estimator: Any) -> Any:
    """The `Result` of the inference, None where there is none (an average)."""
    return getattr(estimator, "result_", None)
