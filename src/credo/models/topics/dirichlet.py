"""LDA by variational Bayes: the pass of PLSA on other weights, with Dirichlet q(θ_d) and q(φ_z).

    log p(words) ≥ Σ c log Σ_z exp(E log θ_dz + E log φ_wz) − Σ_d KL(q(θ_d) ‖ Dir(α)) − Σ_z KL(q(φ_z) ‖ Dir(η))

with the assignments of tokens at their best. Blei, Ng and Jordan (2003), Latent Dirichlet allocation, JMLR 3.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.special

from credo.models.topics.equations import MixtureTopics, TopicParameters, TopicStatistics
from credo.models.topics.hyperparameters import symmetric_concentration, topic_concentrations

__all__ = ["DirichletTopics", "divergence", "expected_log"]


@dataclass(frozen=True, eq=False)
class DirichletTopics(MixtureTopics):
    """`documents` and `words` are the parameters γ, λ of Dirichlet q(θ_d), q(φ_z).

    learn_doc_prior, learn_word_prior : whether α (one a topic) and η are learned, by maximising the bound
    """

    learn_doc_prior: bool = False
    learn_word_prior: bool = False

    def parameters(
        self, documents: np.ndarray, words: np.ndarray, share: float, doc_prior: Any, word_prior: float
    ) -> TopicParameters:
        log_words = expected_log(words, 0)
        weights = super().parameters(documents, np.exp(log_words), share, doc_prior, word_prior)
        return replace(weights, words=words, log_words=log_words)

    def read(self, documents: np.ndarray, params: TopicParameters) -> tuple[np.ndarray, float]:
        log_shares = expected_log(documents, 1)
        bound = -divergence(documents, params.doc_prior, log_shares, 1)
        return self.document_factor(np.exp(log_shares), 0.0), bound

    def first_documents(self, X: Any, shares: np.ndarray, doc_prior: np.ndarray) -> np.ndarray:
        return doc_prior + np.asarray(X.sum(axis=1)).reshape(-1, 1) * shares

    def next_documents(self, counts: np.ndarray, doc_prior: np.ndarray) -> np.ndarray:
        return counts + doc_prior

    def log_shares(self, documents: np.ndarray) -> np.ndarray:
        return expected_log(documents, 1).sum(axis=0) if self.learn_doc_prior else np.zeros(0)

    def finalize(self, statistics: TopicStatistics) -> TopicParameters:
        """γ and λ, then α and η at them: the bound rises in each, the others held."""
        old = statistics.params
        words = statistics.words + old.word_prior
        doc_prior, word_prior = old.doc_prior, old.word_prior
        if self.learn_doc_prior:
            doc_prior = topic_concentrations(statistics.log_shares / statistics.n_documents, doc_prior)
        if self.learn_word_prior:
            total = float(expected_log(words, 0).sum())
            word_prior = symmetric_concentration(total, words.shape[1], words.shape[0], word_prior)
        return self.parameters(old.following, words, 0.0, doc_prior, word_prior)

    def bound(self, statistics: TopicStatistics, params: TopicParameters) -> float:
        value = statistics.log_likelihood + statistics.documents_bound
        assert params.log_words is not None
        return value - divergence(params.words, np.asarray(params.word_prior), params.log_words, 0)


def expected_log(concentration: np.ndarray, axis: int) -> np.ndarray:
    """E log share under Dirichlets along `axis`: ψ(a) − ψ(Σa)."""
    psi = scipy.special.digamma
    return psi(concentration) - psi(concentration.sum(axis=axis, keepdims=True))


def divergence(q: np.ndarray, prior: np.ndarray, log_shares: np.ndarray, axis: int) -> float:
    """Σ KL(Dir(q) ‖ Dir(prior)) over the Dirichlets along `axis`; `prior` is one number, or one for each share."""
    log_gamma = scipy.special.gammaln
    each = np.broadcast_to(prior, (q.shape[axis],))
    of_prior = q.shape[1 - axis] * float(log_gamma(each).sum() - log_gamma(each.sum()))
    return of_prior + float(log_gamma(q.sum(axis=axis)).sum() - log_gamma(q).sum() + ((q - prior) * log_shares).sum())
