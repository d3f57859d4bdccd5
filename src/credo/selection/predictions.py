"""What any estimator believes about new rows: Credo's, a pipeline that ends in one, or a classifier with
probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from credo.errors import ParameterError
from credo.prediction.classes import ClassPredictive
from credo.selection.evidence import evidence_of

__all__ = ["predictive_of", "result_of", "n_parameters"]


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


def result_of(model: Any) -> Any:
    """The `Result` of a fitted model's inference, None where there is none."""
    return result_of(model[-1]) if isinstance(model, Pipeline) else getattr(model, "result_", None)


def n_parameters(model: Any) -> float:
    """What a fitted model learned, as its evidence counts it; else the columns it saw."""
    found = evidence_of(model)
    return found.n_parameters if found is not None else float(getattr(model, "n_features_in_", np.inf))
