"""A candidate on a fold: scores and times, or what went wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sklearn.base import clone
from sklearn.model_selection import cross_validate

__all__ = ["Fold", "candidate", "fitted_fold"]


@dataclass(frozen=True)
class Fold:
    """What came of a fit and its scoring.

    numbers : "fit_time", "score_time", and "test_…" and "train_…" for each metric; without the scores if it failed
    failure : what was raised
    """

    numbers: Mapping[str, float] = field(default_factory=dict)
    failure: Exception | None = None


def candidate(estimator: Any, params: Mapping[str, Any]) -> Any:
    """A clone with these parameters; those that are estimators, such as the steps of a pipeline, are cloned too."""
    fresh: Any = clone(estimator)
    return fresh.set_params(**{name: clone(value, safe=False) for name, value in params.items()})


def fitted_fold(
    estimator: Any, params: Mapping[str, Any], X: Any, y: Any, split: tuple[Any, Any], scoring: Any,
    metadata: Mapping[str, Any], train_scores: bool,
) -> Fold:  # fmt: skip
    """Fit a clone with these parameters on the rows of `split[0]`, and score it on those of `split[1]`.

    What the fit or the scorers raise is in the `Fold`; a parameter that the estimator does not have is raised here.
    """
    fresh = candidate(estimator, params)
    try:
        found = cross_validate(
            fresh,
            X,
            y,
            cv=[split],
            scoring=scoring,
            params=dict(metadata) or None,
            return_train_score=train_scores,
            error_score="raise",  # pyright: ignore[reportArgumentType]
        )
    except Exception as failure:
        return Fold(failure=failure)
    return Fold({name: float(values[0]) for name, values in found.items()})
