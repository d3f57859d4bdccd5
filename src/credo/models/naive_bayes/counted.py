"""`BernoulliNB` and `MultinomialNB`: words that are in a document, and how often."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from sklearn.utils.validation import check_is_fitted, validate_data

from credo.diagnostics.labels import label_codes
from credo.errors import DataError, ParameterError
from credo.models.generative.family import Part
from credo.models.naive_bayes.counts import BernoulliFamily, MultinomialFamily
from credo.models.naive_bayes.smoothed import SmoothedNB
from credo.models.naive_bayes.smoothing import distribution, per_column, probability
from credo.numerics.random import as_generator
from credo.saving.registry import register

__all__ = ["BernoulliNB", "MultinomialNB"]


@register
class BernoulliNB(SmoothedNB):
    """Naive Bayes with columns of yes and no: P(x_j = 1 | c) = (n_cj1 + m p)/(n_cj + m).

    Parameters
    ----------
    alpha : added to the counts of both values: a number, or one for each column; None is 1 unless the next two are
    equivalent_sample_size : m ≥ 0, a number or one for each column
    prior_estimate : p, of the value 1, a number or one for each column; None is ½. Beside `alpha` an error
    binarize : cells above this are 1; None where they are 0 and 1 already
    fit_prior, class_prior, force_alpha : as `CategoricalNB`

    Attributes
    ----------
    feature_count_, feature_log_prob_ (k, d) : weight of ones, log P(1 | c)
    class_count_, class_log_prior_ (k,) ; classes_, beliefs_, class_belief_, result_

    Raises
    ------
    ParameterError, DataError : bad arguments; cells other than 0 and 1 while binarize is None.

    Notes
    -----
    Dense or sparse; NaN (dense) is integrated out. An absent word is evidence too: cost O(nonzeros + n k) for sparse
    rows. `predict_proba` and `predict_distribution` give the same probabilities, as in `CategoricalNB`.

    References
    ----------
    Manning, Raghavan and Schütze (2008), Introduction to Information Retrieval, §13.3.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1, 1, 0], [0, 1, 0], [0, 1, 1]])
    >>> model = BernoulliNB(equivalent_sample_size=2, prior_estimate=0.1).fit(X, ["a", "a", "b"])
    >>> np.exp(model.feature_log_prob_).round(3).tolist()
    [[0.3, 0.55, 0.05], [0.067, 0.4, 0.4]]
    """

    def __init__(
        self,
        *,
        alpha: Any = None,
        force_alpha: bool = True,
        binarize: float | None = 0.0,
        fit_prior: bool = True,
        class_prior: Any = None,
        equivalent_sample_size: Any = None,
        prior_estimate: Any = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.binarize = binarize
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.equivalent_sample_size = equivalent_sample_size
        self.prior_estimate = prior_estimate

    def _check(self) -> None:
        super()._check()
        value = self.binarize
        if value is not None and not (isinstance(value, (int, float, np.number)) and np.isfinite(value)):
            raise ParameterError("BernoulliNB", "binarize", "a number or None", value)

    def _read(self, X: Any, *, reset: bool, fitting: bool) -> Any:
        rows: Any = validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite="allow-nan"
        )
        if scipy.sparse.issparse(rows) and np.isnan(rows.data).any():
            raise DataError(
                "BernoulliNB: Input X contains NaN in a sparse matrix.", value=np.nan, remedy="Use a dense array."
            )
        return rows

    def _families(self, cells: Any, codes: Any = None, weights: Any = None) -> tuple[Part, ...]:
        d = cells.shape[1]
        smoothing = self._smoothing(d)
        m = 2.0 * smoothing.alpha if smoothing.strength is None else smoothing.strength
        p = probability("BernoulliNB", 0.5 if smoothing.prior is None else smoothing.prior, d)
        return (Part(BernoulliFamily(m * p, m * (1.0 - p), self.binarize)),)

    def _settle(self) -> None:
        super()._settle()
        belief: Any = self.beliefs_[0]
        self.feature_count_ = self.statistics_[1].total
        self.feature_log_prob_ = belief.log_probability[0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


@register
class MultinomialNB(SmoothedNB):
    """Naive Bayes of documents: words drawn one by one, P(w | c) = (n_cw + m p_w)/(n_c + m).

    Parameters
    ----------
    alpha : added to the count of every word: a number, or one for each word; None is 1 unless the next two are given
    equivalent_sample_size : m ≥ 0, how many words the prior is worth
    prior_estimate : p, probabilities (d,) of the words; None is 1/d. Beside `alpha` an error
    fit_prior, class_prior, force_alpha : as `CategoricalNB`

    Attributes
    ----------
    feature_count_, feature_log_prob_ (k, d) ; class_count_, class_log_prior_ (k,)
    classes_, beliefs_, class_belief_, result_

    Raises
    ------
    ParameterError, DataError : bad arguments; negative counts; NaN: a document with an unknown count has no length.

    Notes
    -----
    Counts, dense or sparse, whole or not (tf-idf); float32 stays so while sums are double. Cost O(nonzeros) to fit,
    O(nonzeros k) to predict.

    `predict_proba` plugs in the means of the Dirichlet posteriors, as scikit-learn does. `predict_distribution`
    integrates over them (Dirichlet-multinomial): a word that came once in a class is expected again, so that long
    documents are less overconfident. `log_prob` is that of the words, given how many they are.

    References
    ----------
    Manning, Raghavan and Schütze (2008), Introduction to Information Retrieval, §13.2.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[2, 1, 0, 0], [2, 0, 0, 1], [0, 1, 3, 0]])
    >>> model = MultinomialNB().fit(X, ["a", "a", "b"])
    >>> model.predict_proba([[1, 1, 0, 0]]).round(3).tolist()
    [[0.865, 0.135]]
    """

    def __init__(
        self,
        *,
        alpha: Any = None,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        equivalent_sample_size: Any = None,
        prior_estimate: Any = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.equivalent_sample_size = equivalent_sample_size
        self.prior_estimate = prior_estimate

    def _read(self, X: Any, *, reset: bool, fitting: bool) -> Any:
        rows: Any = validate_data(self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32])
        data = rows.data if scipy.sparse.issparse(rows) else rows
        if data.size and data.min() < 0.0:
            raise DataError(
                "Negative values in data passed to MultinomialNB (input X).",
                value=float(data.min()),
                remedy="Counts are ≥ 0.",
            )
        return rows

    def _families(self, cells: Any, codes: Any = None, weights: Any = None) -> tuple[Part, ...]:
        d = cells.shape[1]
        smoothing = self._smoothing(d)
        if smoothing.strength is None and smoothing.prior is None:
            return (Part(MultinomialFamily(smoothing.alpha)),)
        strength = self.equivalent_sample_size
        m = (
            float(d)
            if strength is None
            else float(per_column("MultinomialNB", "equivalent_sample_size", strength, 1)[0])
        )
        p = np.full(d, 1.0 / d) if smoothing.prior is None else distribution("MultinomialNB", smoothing.prior, d)
        return (Part(MultinomialFamily(m * p)),)

    def _settle(self) -> None:
        super()._settle()
        belief: Any = self.beliefs_[0]
        self.feature_count_ = self.statistics_[1].total
        self.feature_log_prob_ = belief.log_probability

    def sample(
        self, n_samples: int = 1, label: Any = None, random_state: Any = None, *, length: int = 100
    ) -> tuple[np.ndarray, np.ndarray]:
        """New documents of `length` words: (counts (n, d), their labels (n,))."""
        check_is_fitted(self)
        for name, value in (("n_samples", n_samples), ("length", length)):
            if not (isinstance(value, (int, np.integer)) and value >= 1):
                raise ParameterError("MultinomialNB.sample", name, "an integer ≥ 1", value)
        rng = as_generator(random_state)
        if label is None:
            codes = rng.choice(len(self.classes_), size=n_samples, p=self.class_belief_.probability)
        else:
            codes = np.full(n_samples, np.ravel(label_codes(self.classes_, label, "MultinomialNB.sample"))[0])
        belief: Any = self.beliefs_[0]
        return belief.sample_length(codes, int(length), rng), self.classes_[codes]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags
