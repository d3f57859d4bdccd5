"""`PLSA`: p(w | d) = λ p_B(w) + (1 − λ) Σ_z p(w | z) p(z | d), by EM."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.errors import ParameterError
from credo.inference.em import EMFit, em
from credo.models.topics.base import TopicEstimator
from credo.models.topics.cells import TopicSource
from credo.models.topics.equations import MixtureTopics, TopicParameters
from credo.models.topics.overview import Overview
from credo.saving.registry import register

__all__ = ["PLSA"]


@register
class PLSA(TopicEstimator):
    """Probabilistic latent semantic analysis: every document mixes topics, every topic is a distribution over words.

        p(w | d) = λ p_B(w) + (1 − λ) Σ_z p(w | z) p(z | d)

    fitted by EM on the counts of words in documents; with Dirichlet priors, its posterior mode (MAP-LDA).

    Parameters
    ----------
    n_components : K, the number of topics
    background : None; True, the corpus's own frequencies of words; or (V,) frequencies ≥ 0. It takes up words that are
        common everywhere, so that topics need not.
    background_weight : λ in [0, 1), the same for every document; None learns it, which rarely leaves much of a
        background that the topics could imitate
    doc_topic_prior, topic_word_prior : Dirichlet concentrations α of p(z | d), η of p(w | z), numbers ≥ 1; None is 1,
        maximum likelihood. A mode adds α − 1 and η − 1 to every count, so that no word is without a probability; 1.5
        and 1.1 predict new documents well. Below 1 there is no mode inside: use `LatentDirichletAllocation`.
    n_init : starts, of which the one with the highest bound is kept
    init : "documents" (each topic begins as a document drawn at random, mixed with the corpus), "random", or (K, V)
    max_iter, tol : stop when a step raises the log-likelihood by less than `tol` a token. 1e-5 leaves perplexity within
        a few tenths of a percent of where it would end.
    random_state : int, Generator or None

    Attributes
    ----------
    components_ : p(w | z) (K, V); rows sum to 1. topic_word_ is the same.
    topic_shares_ : p(z) (K,), shares of the tokens that are not from the background
    background_ : p_B (V,) or None; background_weight_ : λ
    word_frequencies_ : p(w) (V,) in the corpus
    lower_bound_ : log-likelihood (+ log prior) a token, in nats; lower_bounds_, of every start
    n_iter_, converged_, result_ ; n_features_in_, feature_names_in_

    Raises
    ------
    DataError, ParameterError : see `fit`.

    Notes
    -----
    A step costs O(stored counts × K), in memory beside the data O((documents + words) × K); from a `Source` the shares
    of documents are kept on disk while it runs. `fit_transform` is `fit` followed by `transform`, so that a document's
    shares are the same whether or not it was in the corpus. Answers do not depend on the number of threads.

    References
    ----------
    Hofmann (1999), Probabilistic latent semantic indexing, SIGIR. Zhai, Velivelli and Yu (2004), A cross-collection
    mixture model for comparative text mining, KDD (the background).

    Examples
    --------
    >>> import numpy as np
    >>> counts = np.array([[5, 4, 0, 0], [3, 6, 0, 0], [0, 0, 7, 2], [0, 0, 3, 5]])
    >>> model = PLSA(2, random_state=0).fit(counts)
    >>> sorted(model.transform(counts).round(2).tolist())
    [[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]
    """

    def __init__(
        self,
        n_components: int = 10,
        *,
        background: Any = None,
        background_weight: float | None = 0.5,
        doc_topic_prior: float | None = None,
        topic_word_prior: float | None = None,
        n_init: int = 1,
        init: Any = "documents",
        max_iter: int = 1000,
        tol: float = 1e-5,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.background = background
        self.background_weight = background_weight
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.n_init = n_init
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @property
    def topic_word_(self) -> np.ndarray:
        """p(w | z) (K, V); rows sum to 1."""
        return self.components_

    def _check_priors(self) -> None:
        for name in ("doc_topic_prior", "topic_word_prior"):
            value = getattr(self, name)
            if value is not None and not (np.ndim(value) == 0 and np.isfinite(value) and value >= 1.0):
                raise ParameterError(
                    "PLSA", name, "None or a finite number ≥ 1", value,
                    "Below 1 the posterior has no mode inside: use LatentDirichletAllocation.",
                )  # fmt: skip
        weight = self.background_weight
        if weight is not None and not (np.ndim(weight) == 0 and 0.0 <= weight < 1.0):
            raise ParameterError("PLSA", "background_weight", "None or a number in [0, 1)", weight)

    def _frequencies(self, seen: Overview) -> np.ndarray | None:
        """p_B (V,) as stated."""
        if self.background is None or self.background is False:
            return None
        if self.background is True:
            return seen.words / seen.tokens
        given = np.asarray(self.background)
        fine = given.shape == seen.words.shape and given.dtype.kind in "fiu" and np.all(np.isfinite(given))
        if not (fine and np.all(given >= 0.0) and given.sum() > 0.0):
            raise ParameterError(
                "PLSA", "background", f"None, True or {seen.words.size} frequencies ≥ 0", self.background
            )
        return given / given.sum()

    def _fit_from(self, source: TopicSource, seen: Overview, documents: np.ndarray, words: np.ndarray) -> EMFit:
        background = self._frequencies(seen)
        learned = background is not None and self.background_weight is None
        share = 0.0 if background is None else 0.5 if learned else float(self.background_weight or 0.0)
        model = MixtureTopics(words.shape, background, learned)
        alpha, eta = (1.0 if prior is None else float(prior) for prior in (self.doc_topic_prior, self.topic_word_prior))
        start = model.parameters(documents, words, share, alpha, eta)
        return em(model, source, start, tol=float(self.tol), scale=seen.tokens, max_iter=int(self.max_iter))

    def _settle(self, fit: EMFit, seen: Overview) -> None:
        tokens = fit.statistics.words.sum(axis=0)
        self.components_ = np.ascontiguousarray(fit.params.words.T)
        self.topic_shares_ = tokens / tokens.sum() if tokens.sum() > 0.0 else np.full(tokens.size, 1.0 / tokens.size)
        self.background_ = self._frequencies(seen)
        self.background_weight_ = fit.params.share
        self.word_frequencies_ = seen.words / seen.tokens

    def _folding(self) -> tuple[MixtureTopics, TopicParameters]:
        model = MixtureTopics(self.components_.shape[::-1], self.background_)
        alpha = 1.0 if self.doc_topic_prior is None else float(self.doc_topic_prior)
        nobody = np.empty((0, len(self.components_)))
        return model, model.parameters(nobody, self.components_.T, self.background_weight_, alpha, 1.0)

    def _blended(self) -> tuple[np.ndarray | None, float]:
        return self.background_, self.background_weight_
