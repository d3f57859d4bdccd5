"""`CostSensitive`: any scikit-learn classifier, made to act."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from credo.decisions.decide import decide
from credo.decisions.losses import CostMatrix, ZeroOne, as_loss
from credo.errors import ParameterError
from credo.prediction.classes import ClassPredictive

__all__ = ["CostSensitive"]

CALIBRATIONS = ("sigmoid", "isotonic", "temperature")


class CostSensitive(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """A classifier whose `predict` returns the action of least expected loss.

    Probabilities decide, so they had better be calibrated: with `calibration` the classifier is refitted on
    folds and its scores are mapped to probabilities on the rows left out (scikit-learn's
    `CalibratedClassifierCV`).

    Parameters
    ----------
    estimator : a scikit-learn classifier; with `predict_proba`, or `decision_function` if calibrated
    loss : a loss over labels of `cr.losses`, or a function of (action, class); None is ZeroOne
    calibration : None, "sigmoid" (Platt), "isotonic" (1,000 rows or more; it says 0 and 1), "temperature" (one
        number for all classes; needs scikit-learn ≥ 1.8)
    cv : folds of the calibration, as in scikit-learn; None is 5

    Attributes
    ----------
    classes_ : (k,) labels
    estimator_ : the fitted classifier
    n_features_in_, feature_names_in_ : of the fitted classifier, where it has them

    Examples
    --------
    >>> import credo as cr
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = [[0.0], [0.5], [2.5], [3.0]], ["healthy", "healthy", "ill", "ill"]
    >>> costs = cr.losses.CostMatrix([[0, 50], [1, 1]], actions=["wait", "test"], states=["healthy", "ill"])
    >>> CostSensitive(GaussianNB(), costs).fit(X, y).predict([[0.2], [1.45]]).tolist()
    ['wait', 'test']

    References
    ----------
    Elkan, IJCAI (2001) 973-978; Guo et al., ICML (2017) for temperature.
    """

    def __init__(self, estimator: Any, loss: Any = None, calibration: str | None = None, cv: Any = None) -> None:
        self.estimator = estimator
        self.loss = loss
        self.calibration = calibration
        self.cv = cv

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> CostSensitive:
        """Fit (and calibrate) the classifier; costs play no part in it."""
        if self.calibration is not None and self.calibration not in CALIBRATIONS:
            raise ParameterError("CostSensitive", "calibration", f"None or one of {CALIBRATIONS}", self.calibration)
        as_loss(self._loss())
        if self.calibration is None:
            classifier: Any = clone(self.estimator)
        else:
            classifier = CalibratedClassifierCV(clone(self.estimator), method=self.calibration, cv=self.cv)
        if sample_weight is None:
            classifier.fit(X, y)
        elif has_fit_parameter(classifier, "sample_weight"):
            classifier.fit(X, y, sample_weight=sample_weight)
        else:
            raise ParameterError(
                "CostSensitive",
                "sample_weight",
                f"None: {type(classifier).__name__} takes no weights",
                sample_weight,
            )
        self.estimator_ = classifier
        self.classes_ = classifier.classes_
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(classifier, name):
                setattr(self, name, getattr(classifier, name))
        return self

    def predict_distribution(self, X: Any) -> ClassPredictive:
        """Class probabilities as a predictive, with its split where the classifier supplies one."""
        check_is_fitted(self)
        if hasattr(self.estimator_, "predict_distribution"):
            return self.estimator_.predict_distribution(X)
        if not hasattr(self.estimator_, "predict_proba"):
            raise ParameterError(
                "CostSensitive", "estimator", "a classifier with predict_proba", self.estimator,
                "Set calibration='sigmoid' to get probabilities from its decision_function.",
            )  # fmt: skip
        return ClassPredictive(self.estimator_.predict_proba(X), self.classes_)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities (n, k), calibrated if asked."""
        return self.predict_distribution(X).probabilities

    def predict(self, X: Any) -> np.ndarray:
        """The action of least expected loss for each row."""
        return decide(self.predict_distribution(X), self._loss())

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Minus the mean loss of the actions: larger is better, so that a grid search minimises cost."""
        actions, loss = self.predict(X), as_loss(self._loss())
        if isinstance(loss, CostMatrix):
            loss = loss.stated(self.classes_)
        return -float(np.average(loss(actions, y), weights=sample_weight))

    def _loss(self) -> Any:
        return ZeroOne() if self.loss is None else self.loss

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = getattr(self.estimator, "__sklearn_tags__", None)
        if inner is not None:
            inner = inner()
            tags.input_tags, tags.classifier_tags = inner.input_tags, inner.classifier_tags
        return tags
