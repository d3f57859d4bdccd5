"""`SmoothedNB`: what the estimators with Dirichlet priors share: smoothing, and priors of the classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.errors import ParameterError
from credo.models.generative.classes import checked_class_prior
from credo.models.generative.estimator import GenerativeClassifier
from credo.models.naive_bayes.smoothing import Smoothing, checked_smoothing, floored

__all__ = ["SmoothedNB"]


class SmoothedNB(GenerativeClassifier):
    """Base of `CategoricalNB`, `BernoulliNB` and `MultinomialNB`; not public."""

    alpha: Any
    force_alpha: bool
    fit_prior: bool
    class_prior: Any
    equivalent_sample_size: Any
    prior_estimate: Any

    def _check(self) -> None:
        owner = type(self).__name__
        for name in ("force_alpha", "fit_prior"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise ParameterError(owner, name, "True or False", getattr(self, name))

    def _check_alpha(self) -> Any:
        """alpha as it is used."""
        return floored(type(self).__name__, self.alpha, self.force_alpha, getattr(self, "n_features_in_", 0))

    def _smoothing(self, n_columns: int) -> Smoothing:
        return checked_smoothing(type(self).__name__, self, n_columns)

    def _known_classes(self, n_classes: int) -> np.ndarray | None:
        stated = checked_class_prior(type(self).__name__, "class_prior", self.class_prior, n_classes)
        if stated is None and not self.fit_prior:
            return np.full(n_classes, 1.0 / n_classes)
        return stated

    def _settle(self) -> None:
        self.class_log_prior_ = self.class_belief_.log_probability

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # of columns that are no counts
        return tags
