"""What any estimator believes about new rows: Credo's, a pipeline that ends in one, or a classifier with
probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from credo.errors import ParameterError
from credo.prediction.classes import ClassPredictive

__all__ = ["predictive_of", "core_of", "n_parameters"]


def predictive_of(model: Any, X: Any) -> Any:
    """`Predictive` of the rows X under a fitted model; `predict_proba` alone counts as a plug-in one."""
    if hasattr(model, "predict_distribution"):
        return model.predict_distribution(X)
    last: Any = model[-1] if isinstance(model, Pipeline) else None
    if hasattr(last, "predict_distribution"):
        return last.predict_distribution(model[:-1].transform(X))
    if hasattr(model, "predict_proba"):
        return ClassPredictive(model.predict_proba(X), model.classes_)
    raise ParameterError(
        "",
        "models",
        "estimators with predict_distribution (or predict_proba)",
        model,
        "A regressor that predicts only a number has no log score: use one of Credo's.",
    )


def core_of(model: Any) -> Any:
    """The estimator behind feature maps and pipelines (fitted if the whole is)."""
    if isinstance(model, Pipeline):
        return core_of(model[-1])
    inner = getattr(model, "estimator_", None)
    if inner is None and hasattr(model, "features"):
        inner = getattr(model, "estimator", None)
    return model if inner is None or not hasattr(model, "features") else core_of(inner)


def n_parameters(model: Any) -> float:
    """Coefficients and intercepts of a fitted model; the columns it saw where it has none."""
    core = core_of(model)
    if hasattr(core, "coef_"):
        return float(np.size(core.coef_) + np.size(core.intercept_))
    if hasattr(core, "intercept_"):
        return float(np.size(core.intercept_))
    if hasattr(core, "counts_"):
        return float(np.size(core.counts_) - 1)
    return float(getattr(model, "n_features_in_", np.inf))
