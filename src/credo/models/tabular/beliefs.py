"""What a fitted estimator believes, as plain records: coefficients with intervals, noise, certificate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.errors import CredoError

__all__ = ["Coefficient", "coefficients", "noise_scale", "result_of", "log_evidence"]


@dataclass(frozen=True)
class Coefficient:
    """Belief about one coefficient.

    name : of the feature, or "intercept"
    outcome : the class whose log-odds it moves, None for a number
    mean, sd ; lower, upper : ends of the interval ; prob_positive : P(coefficient > 0)
    """

    name: str
    outcome: str | None
    mean: float
    sd: float
    lower: float
    upper: float
    prob_positive: float


def inner(estimator: Any) -> Any:
    """The estimator behind a feature map, or itself."""
    return getattr(estimator, "estimator_", estimator)


def coefficients(
    estimator: Any, features: tuple[str, ...], labels: tuple[str, ...] = (), mass: float = 0.9
) -> tuple[Coefficient, ...]:
    """Belief about every coefficient; () for models that have none (baselines, averages, points without spread).

    features : names of the columns the estimator was fitted to
    labels : class names in the order of the estimator's classes. Of two classes the coefficients are the second's.
    """
    posterior = getattr(inner(estimator), "posterior_", None)
    if posterior is None:
        return ()
    try:
        summary = posterior.summary(mass)
    except CredoError:  # a point estimate has no spread to report
        return ()
    # An estimator fitted to arrays knows no names.
    names = list(estimator.features_.get_feature_names_out(features) if hasattr(estimator, "features_") else features)
    names = ["intercept", *names] if len(summary) > len(names) else names
    rows = []
    for name, belief in zip(names, summary.values(), strict=True):
        each = {key: np.atleast_1d(value) for key, value in belief.items()}
        n = each["mean"].size
        outcomes = [None] if not labels else list(labels[-1:]) if n == 1 else list(labels)
        rows += [Coefficient(name, outcomes[i], *(float(value[i]) for value in each.values())) for i in range(n)]
    return tuple(rows)


def noise_scale(estimator: Any) -> float | None:
    """The sd of the noise, where the model has one."""
    scale = getattr(inner(estimator), "noise_scale_", None)
    return float(scale) if scale is not None and np.ndim(scale) == 0 else None


def log_evidence(estimator: Any) -> float | None:
    """log p(y | X), where it is defined."""
    try:
        value = getattr(estimator, "log_evidence_", None)
    except CredoError:
        return None
    return None if value is None else float(value)


def result_of(estimator: Any) -> Any:
    """The `Result` of the inference, None where there is none (an average)."""
    return getattr(estimator, "result_", None)
