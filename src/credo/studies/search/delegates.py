"""What a search does by the estimator that it refitted: predict, score and the like."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from credo.errors import UnavailableError
from credo.studies.search.routing import router_of, scoring_metadata

__all__ = ["Delegates"]


def _needs_refit(search: Any, what: str) -> None:
    if not search.refit:
        raise UnavailableError(
            f"CredoSearchCV(refit=False) has no {what}.", remedy="Fit the estimator with best_params_ yourself."
        )


def _has(what: str) -> Callable[[Any], bool]:
    """A check for `available_if`: whether the refitted estimator, before `fit` the one given, has the method."""

    def check(search: Any) -> bool:
        _needs_refit(search, what)
        return hasattr(getattr(search, "best_estimator_", search.estimator), what)

    return check


class Delegates(MetaEstimatorMixin, BaseEstimator):
    """Methods and attributes of `best_estimator_`; each is there if the estimator has it."""

    estimator: Any
    refit: Any
    scoring: Any
    cv: Any
    best_estimator_: Any
    scorer_: Any
    multimetric_: bool

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = deepcopy(inner.classifier_tags)
        tags.regressor_tags = deepcopy(inner.regressor_tags)
        tags.target_tags = deepcopy(inner.target_tags)
        tags.input_tags.pairwise = inner.input_tags.pairwise
        tags.input_tags.sparse = inner.input_tags.sparse
        return tags

    def get_metadata_routing(self) -> Any:
        """To the estimator's fit, the scorers and the splitter, as scikit-learn's own searches."""
        return router_of(self)

    def _fitted(self) -> Any:
        check_is_fitted(self)
        return self.best_estimator_

    def score(self, X: Any, y: Any = None, **params: Any) -> float:
        """The score of the refitted estimator by `scoring`; with several metrics by the one of `refit`."""
        _needs_refit(self, "score")
        best = self._fitted()
        metadata = scoring_metadata(self, params)
        if isinstance(self.scorer_, dict):
            if not isinstance(self.refit, str):
                raise UnavailableError(
                    "CredoSearchCV.score: several metrics, and refit names none of them.",
                    remedy="Call one of scorer_.values() yourself.",
                )
            return self.scorer_[self.refit](best, X, y, **metadata)
        found = self.scorer_(best, X, y, **metadata)
        return found[self.refit] if self.multimetric_ else found

    @available_if(_has("predict"))
    def predict(self, X: Any) -> Any:
        """`predict` of the refitted estimator."""
        return self._fitted().predict(X)

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: Any) -> Any:
        """`predict_proba` of the refitted estimator."""
        return self._fitted().predict_proba(X)

    @available_if(_has("predict_log_proba"))
    def predict_log_proba(self, X: Any) -> Any:
        """`predict_log_proba` of the refitted estimator."""
        return self._fitted().predict_log_proba(X)

    @available_if(_has("predict_distribution"))
    def predict_distribution(self, X: Any) -> Any:
        """`predict_distribution` of the refitted estimator, if it is one of Credo's."""
        return self._fitted().predict_distribution(X)

    @available_if(_has("decision_function"))
    def decision_function(self, X: Any) -> Any:
        """`decision_function` of the refitted estimator."""
        return self._fitted().decision_function(X)

    @available_if(_has("score_samples"))
    def score_samples(self, X: Any) -> Any:
        """`score_samples` of the refitted estimator."""
        return self._fitted().score_samples(X)

    @available_if(_has("transform"))
    def transform(self, X: Any) -> Any:
        """`transform` of the refitted estimator."""
        return self._fitted().transform(X)

    @available_if(_has("inverse_transform"))
    def inverse_transform(self, X: Any) -> Any:
        """`inverse_transform` of the refitted estimator."""
        return self._fitted().inverse_transform(X)

    @property
    def n_features_in_(self) -> int:
        """Number of columns of X in `fit`, if refitted."""
        return self._of_best("n_features_in_")

    @property
    def classes_(self) -> Any:
        """The classes, of a refitted classifier."""
        return self._of_best("classes_")

    def _of_best(self, name: str) -> Any:
        if not hasattr(self, "best_estimator_"):
            raise AttributeError(f"{type(self).__name__} has no {name} before it is fitted with refit.")
        return getattr(self.best_estimator_, name)
