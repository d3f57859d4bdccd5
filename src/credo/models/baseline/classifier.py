"""`InterceptOnlyClassifier`: unknown class probabilities, whatever the columns say."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.special
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from credo.blocks.array import ArraySource
from credo.blocks.reduction import reduce
from credo.blocks.source import Block, Source
from credo.diagnostics.information import LeaveOneOut
from credo.distributions.categorical import Categorical
from credo.errors import DataError, ParameterError
from credo.inference.result import Result
from credo.models.columns import checked_rows, checked_weights, note_columns
from credo.models.evidence import Evidence, Outcomes
from credo.models.reading import Readable
from credo.prediction.classes import ClassPredictive
from credo.prediction.law_draws import LawDraws
from credo.saving.registry import register

__all__ = ["InterceptOnlyClassifier"]

# Monte Carlo error of a mean is then 1.6 % of the sd.
DRAWS = 4000


@register
class InterceptOnlyClassifier(Readable, ClassifierMixin, BaseEstimator):
    """Classes of unknown probabilities, the same for every row: the baseline of classification.

    p ~ Dirichlet(α) a priori and Dirichlet(α + n_c) a posteriori, so that P(c) = (n_c + α)/(n + kα).

    Parameters
    ----------
    concentration : α ≥ 0 of every class. None is 0: flat in the log-odds, as `LogisticRegression` has its intercept, so
        that the two evidences are on one scale; P(c) is then the frequency of the class.

    Attributes
    ----------
    classes_ (k,), counts_ (k,) : labels and their weights
    log_evidence_ : log ∫ Π p_c^{n_c} dπ(p), −∞ while a class of α = 0 has no rows
    result_ ; n_features_in_, feature_names_in_

    Raises
    ------
    ParameterError, DataError : a bad concentration; one class.

    Notes
    -----
    One pass over y, O(n). `sample_weight` counts rows. The evidence is that of the labels in their order: no
    multinomial coefficient.

    Examples
    --------
    >>> import numpy as np
    >>> model = InterceptOnlyClassifier(concentration=1.0).fit(np.zeros((3, 1)), ["a", "b", "b"])
    >>> model.predict_proba([[0.0]]).tolist(), round(float(np.exp(model.log_evidence_)), 6)
    ([[0.4, 0.6]], 0.083333)
    """

    def __init__(self, *, concentration: float | None = None) -> None:
        self.concentration = concentration

    @property
    def evidence_(self) -> Evidence:
        """log P(y): relative to flat log-odds for α = 0."""
        check_is_fitted(self)
        outcomes = Outcomes.of_counts(self.classes_.tolist(), self.counts_.tolist())
        improper = frozenset() if self._alpha() > 0.0 else frozenset({"intercept"})
        value = self.log_evidence_ if np.isfinite(self.log_evidence_) else None
        why = "" if value is not None else "a class without rows has probability 0"
        return Evidence(value, outcomes, self.counts_.size - 1.0, improper, "mass", missing=why)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to labels y (n,), or to a `Source` of blocks that carry y; X says how many columns to expect."""
        counts = self._count(X, y, sample_weight, reset=True)
        if len(counts) < 2:
            raise DataError(
                f"InterceptOnlyClassifier needs two classes, got one class: {list(counts)}.", value=list(counts)
            )
        return self._settle(counts)

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add rows; `classes` announces labels that later rows may hold."""
        first = not hasattr(self, "counts_")
        counts = {} if first else dict(zip(self.classes_.tolist(), self.counts_.tolist(), strict=True))
        for label in [] if classes is None else np.asarray(classes).tolist():
            counts.setdefault(label, 0.0)
        for label, weight in self._count(X, y, sample_weight, reset=first).items():
            counts[label] = counts.get(label, 0.0) + weight
        return self._settle(counts)

    def _alpha(self) -> float:
        value = 0.0 if self.concentration is None else self.concentration
        if not (np.ndim(value) == 0 and np.isfinite(value) and value >= 0.0):
            raise ParameterError("InterceptOnlyClassifier", "concentration", "a finite number ≥ 0, or None", value)
        return float(value)

    def _count(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> dict[Any, float]:
        self._alpha()
        if isinstance(X, Source):
            if reset:
                note_columns(self, X, next(block.X.shape[1] for block in X if block.n_rows))
            return reduce(X, _label_counts, _merged)
        X, y = validate_data(self, X, y, reset=reset, ensure_all_finite=False)
        check_classification_targets(y)
        sample_weight = checked_weights("InterceptOnlyClassifier", sample_weight, X)
        return reduce(ArraySource(np.empty((len(y), 1)), y, sample_weight), _label_counts, _merged)

    def _settle(self, counts: dict[Any, float]) -> Self:
        labels = np.asarray(sorted(counts))
        n = np.array([counts[label] for label in labels.tolist()])
        alpha = self._alpha()
        # Flat over logits that sum to 0, as softmax regression has it, is 1/√k of flat over their differences.
        normaliser = -0.5 * float(np.log(n.size)) if n.size > 2 else 0.0
        if alpha > 0.0:
            normaliser = scipy.special.gammaln(alpha * n.size) - n.size * scipy.special.gammaln(alpha)
        with np.errstate(divide="ignore"):
            value = scipy.special.gammaln(n + alpha).sum() - scipy.special.gammaln((n + alpha).sum()) + normaliser
        self.classes_ = labels
        self.counts_ = n
        self.log_evidence_ = float(value) if np.all(n + alpha > 0.0) else -np.inf
        self.result_ = Result("exact", "exact")
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Predictive probabilities (n, k), the same in every row."""
        return self.predict_distribution(X).probabilities

    def predict(self, X: Any) -> np.ndarray:
        """The most frequent class, for every row (the first of ties)."""
        n = self._count_rows(X)
        return np.repeat(self.classes_[[np.argmax(self.counts_)]], n)

    def predict_distribution(self, X: Any) -> ClassPredictive:
        """`ClassPredictive` of the Dirichlet posterior, the same for every row; E[H(y | p)] in closed form."""
        n = self._count_rows(X)
        a = self.counts_ + self._alpha()
        p = a / a.sum()
        entropy = -float(p @ (scipy.special.digamma(a + 1.0) - scipy.special.digamma(a.sum() + 1.0)))
        return ClassPredictive(np.tile(p, (n, 1)), self.classes_, np.full(n, entropy))

    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None, **options: Any) -> LeaveOneOut:
        """log P(y_i | the other rows) (n,) for the rows of `fit`, exactly. Cost O(n)."""
        codes = np.searchsorted(self.classes_, np.asarray(y))
        w = 1.0 if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        a = self.counts_ + self._alpha()
        with np.errstate(divide="ignore"):
            return LeaveOneOut(np.log(np.maximum(a[codes] - w, 0.0)) - np.log(a.sum() - w))

    def law_draws(self, X: Any, **options: Any) -> LawDraws:
        """4,000 draws of the class probabilities, the same for every row; a class of weight 0 keeps probability 0."""
        n = self._count_rows(X)
        gamma = np.random.default_rng(0).standard_gamma(np.tile(self.counts_ + self._alpha(), (DRAWS, 1)))
        law = Categorical((gamma / gamma.sum(axis=1, keepdims=True))[:, None])
        return LawDraws(np.full(DRAWS, 1.0 / DRAWS), lambda rows: law, n, self.classes_)

    def _count_rows(self, X: Any) -> int:
        return checked_rows(self, X, ensure_all_finite=False).shape[0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        tags.input_tags.allow_nan = True
        return tags


def _label_counts(block: Block) -> dict[Any, float]:
    if block.y is None:
        raise DataError("The blocks of the source carry no y.", remedy="Name the target column of the source.")
    labels, codes = np.unique(block.y, return_inverse=True)
    totals = np.bincount(codes.ravel(), block.weights, minlength=labels.size).tolist()
    return {label: float(total) for label, total in zip(labels.tolist(), totals, strict=True) if total > 0.0}


def _merged(a: dict[Any, float], b: dict[Any, float]) -> dict[Any, float]:
    return {label: a.get(label, 0.0) + b.get(label, 0.0) for label in {**a, **b}}
