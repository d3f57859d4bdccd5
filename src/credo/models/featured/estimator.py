"""`FeaturedModel`: a feature map, then an estimator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from credo.blocks.source import Source
from credo.diagnostics.information import LeaveOneOut
from credo.errors import UnavailableError
from credo.models.evidence import Evidence
from credo.models.featured.source import FeaturedSource, evenly_sampled
from credo.models.reading import Readable
from credo.prediction.law_draws import LawDraws
from credo.saving.registry import register

__all__ = ["FeaturedModel"]


def _inner_has(name: str) -> Any:
    """A check for `available_if`: whether the (fitted) estimator has the method."""
    return lambda self: hasattr(getattr(self, "estimator_", self.estimator), name)


@register
class FeaturedModel(Readable, BaseEstimator):
    """An estimator on the columns that a feature map makes.

    What a scikit-learn `Pipeline` loses stays: `predict_distribution`, `log_evidence_`, `partial_fit`, `Source`s.

    Parameters
    ----------
    features : a transformer (`credo.features`): fitted once, on the first rows seen; later ones are only mapped.
    estimator : a classifier or regressor.

    Attributes
    ----------
    features_, estimator_ : the fitted parts (coefficients, posterior... are the estimator's)
    log_evidence_, result_, classes_ : the estimator's
    n_features_in_, feature_names_in_ : of the columns before the map

    Notes
    -----
    From a `Source` the map is fitted on at most 20,000 rows spread evenly over it, in one more pass; blocks are
    mapped as they are read, in bounded memory.

    Examples
    --------
    >>> import numpy as np, credo as cr
    >>> x = np.linspace(-1, 1, 30)[:, None]; y = x[:, 0] ** 2 + 0.01 * (-1.0) ** np.arange(30)
    >>> model = FeaturedModel(cr.features.PolynomialFeatures(2), cr.LinearRegression()).fit(x, y)
    >>> model.predict_distribution([[0.5]]).mean.round(2).item()
    0.25
    """

    def __init__(self, features: Any, estimator: Any) -> None:
        self.features = features
        self.estimator = estimator

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the map to X, then the estimator to its columns and y; or both to a `Source` of blocks that carry y."""
        features = _fitted_map(self.features, X, sample_weight)
        estimator = _unfitted(self.estimator)
        _fit(estimator.fit, features, X, y, sample_weight)
        return self._settle(features, estimator, X)

    @available_if(_inner_has("partial_fit"))
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None, **options: Any) -> Self:
        """Add rows, seen through the map of the first ones. Options (`classes`) go to the estimator."""
        first = not hasattr(self, "estimator_")
        features = _fitted_map(self.features, X, sample_weight) if first else self.features_
        estimator = _unfitted(self.estimator) if first else self.estimator_
        _fit(estimator.partial_fit, features, X, y, sample_weight, **options)
        return self._settle(features, estimator, X)

    def _settle(self, features: Any, estimator: Any, X: Any) -> Self:
        self.features_ = features
        self.estimator_ = estimator
        self.n_features_in_ = features.n_features_in_
        names = getattr(features, "feature_names_in_", None)
        if names is None and isinstance(X, Source) and X.column_names is not None:
            names = np.asarray(X.column_names, dtype=object)
        if names is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def _mapped(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "estimator_")
        return self.features_.transform(X)

    def get_feature_names_out(self) -> np.ndarray:
        """Names of the columns that the estimator sees, in the order of its coefficients."""
        check_is_fitted(self, "estimator_")
        return self.features_.get_feature_names_out(getattr(self, "feature_names_in_", None))

    @available_if(_inner_has("predict"))
    def predict(self, X: Any) -> np.ndarray:
        """The estimator's `predict` of the mapped rows."""
        Z = self._mapped(X)
        return self.estimator_.predict(Z)

    @available_if(_inner_has("predict_distribution"))
    def predict_distribution(self, X: Any, **options: Any) -> Any:
        """`Predictive` of the mapped rows; options (`noise_scale`) go to the estimator."""
        Z = self._mapped(X)
        return self.estimator_.predict_distribution(Z, **options)

    @available_if(_inner_has("predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities (n, k) of the mapped rows."""
        Z = self._mapped(X)
        return self.estimator_.predict_proba(Z)

    @available_if(_inner_has("decision_function"))
    def decision_function(self, X: Any) -> np.ndarray:
        """The estimator's decision function of the mapped rows."""
        Z = self._mapped(X)
        return self.estimator_.decision_function(Z)

    @available_if(_inner_has("score"))
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The estimator's score: R² or accuracy."""
        Z = self._mapped(X)
        return self.estimator_.score(Z, y, sample_weight)

    @property
    def log_evidence_(self) -> float:
        """log p(y | X) of the estimator, given the map; `UnavailableError` where it has none."""
        check_is_fitted(self, "estimator_")
        if not hasattr(type(self.estimator_), "log_evidence_") and not hasattr(self.estimator_, "log_evidence_"):
            raise UnavailableError(f"{type(self.estimator_).__name__} has no evidence.")
        return self.estimator_.log_evidence_

    # -- reading: the estimator's, of the mapped rows --------------------------------------------------------------

    @property
    def evidence_(self) -> Evidence:
        """The estimator's, given the map."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.evidence_

    def law_draws(self, X: Any, **options: Any) -> LawDraws:
        """The estimator's, of the mapped rows."""
        Z = self._mapped(X)
        return self.estimator_.law_draws(Z, **options)

    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None, **options: Any) -> LeaveOneOut:
        """The estimator's, of the mapped rows: the map, which no outcome went into, stays that of all of them."""
        Z = self._mapped(X)
        return self.estimator_.leave_one_out(Z, y, sample_weight, **options)

    def held_out(self, X: Any, y: np.ndarray, sample_weight: Any, splits: Any) -> Iterator[tuple[np.ndarray, Any]]:
        """The estimator's, of the mapped rows; the map stays that of all rows."""
        Z = self._mapped(X)
        return self.estimator_.held_out(Z, y, sample_weight, splits)

    def coefficient_scale(self, target: str = "y", labels: Sequence[str] = ()) -> str:
        """The estimator's."""
        return self.estimator_.coefficient_scale(target, labels)

    def for_ranking(self) -> Any:
        """A clone around the estimator's."""
        if not hasattr(self.estimator, "for_ranking"):
            return clone(self)
        return clone(self).set_params(estimator=self.estimator.for_ranking())  # type: ignore[union-attr]

    @property
    def result_(self) -> Any:
        return self.estimator_.result_

    @property
    def classes_(self) -> np.ndarray:
        return self.estimator_.classes_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.target_tags = inner.target_tags
        tags.non_deterministic = inner.non_deterministic
        tags.input_tags = get_tags(self.features).input_tags
        return tags


def _unfitted(estimator: Any) -> Any:
    """A clone, whose type scikit-learn leaves open."""
    return clone(estimator)


def _fitted_map(features: Any, X: Any, sample_weight: Any) -> Any:
    if isinstance(X, Source):
        X, sample_weight = evenly_sampled(X)
    weighted = sample_weight is not None and has_fit_parameter(features, "sample_weight")
    return _unfitted(features).fit(X, **({"sample_weight": sample_weight} if weighted else {}))


def _fit(fit: Any, features: Any, X: Any, y: Any, sample_weight: Any, **options: Any) -> None:
    if isinstance(X, Source):
        fit(FeaturedSource(X, features), **options)
        return
    weighted = {} if sample_weight is None else {"sample_weight": sample_weight}
    fit(features.transform(X), y, **weighted, **options)
