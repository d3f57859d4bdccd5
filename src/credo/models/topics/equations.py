"""Topic models as EM sees them: one pass over the counts, and what is done to the expected counts it gathers.

Notation: D documents, V words, K topics; c_dw counts; θ (D, K) rows p(z | d), φ (V, K) columns p(w | z).

                    weights in the pass           M-step
    PLSA, MAP-LDA   θ, φ                          θ ∝ counts + α − 1,  φ ∝ counts + η − 1
    VB-LDA          exp E log θ, exp E log φ      γ = counts + α,  λ = counts + η   (q(θ), q(φ) Dirichlet)

Given the assignments of tokens, documents and words are independent, so updating both at once never lowers the bound.
A document's new row depends on its own tokens alone: it is written where the next parameters will read it, and only the
words' counts travel. A background is one more topic, whose words and share of a document are given.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.blocks.source import Block
from credo.inference.em import EMModel
from credo.models.topics.cells import Cells, aligned_zeros

__all__ = [
    "MixtureTopics",
    "TopicParameters",
    "TopicStatistics",
    "expected_counts",
    "log_likelihood",
    "normalised",
    "on_disk",
]

# Below this a share has no logarithm worth having; the kernel calls it 0.
TINY = 1e-100


@dataclass(frozen=True, eq=False)
class TopicParameters:
    """Where EM stands.

    documents (D, K), words (V, K) : shares for PLSA, Dirichlet parameters for LDA
    share : of the background
    doc_prior (K,), word_prior : Dirichlet concentrations
    factor : (V, ≥ K) what the pass multiplies of words, as the kernel reads it
    following : (D, K) takes the documents of the next parameters
    log_words : (V, K) E log φ, for LDA
    """

    documents: np.ndarray
    words: np.ndarray
    share: float
    doc_prior: np.ndarray
    word_prior: float
    factor: np.ndarray
    following: np.ndarray
    log_words: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class TopicStatistics:
    """Expected counts of words by topic (V, K), and sums over tokens and documents, of one pass at `params`.

    common : expected number of tokens from the background
    log_shares : Σ_d E log θ_d (K,) after the M-step of the documents, where α is learned
    """

    params: TopicParameters
    words: np.ndarray
    log_likelihood: float
    common: float
    tokens: float
    documents_bound: float
    log_shares: np.ndarray
    n_documents: int

    def merge(self, other: TopicStatistics) -> TopicStatistics:
        return TopicStatistics(
            self.params,
            self.words + other.words,
            self.log_likelihood + other.log_likelihood,
            self.common + other.common,
            self.tokens + other.tokens,
            self.documents_bound + other.documents_bound,
            self.log_shares + other.log_shares,
            self.n_documents + other.n_documents,
        )


def expected_counts(
    cells: Cells, documents: np.ndarray, words: np.ndarray, learning: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """p of every cell, and expected counts by topic of documents (n, ·) and of words (V, ·).

    documents, words : `aligned_zeros` filled with weights
    learning : cells come in runs of a word, and both are wanted; else in runs of a document, and words get no row

    Cost O(cells × K).
    """
    from credo.models.topics.kernels import accumulate_cells

    probability, document_sum = np.empty_like(cells.counts), aligned_zeros(*documents.shape)
    word_sum = aligned_zeros(*words.shape) if learning else words[:0]
    how = (cells.outer, cells.starts, cells.inner, cells.counts)
    if learning:
        accumulate_cells(*how, words, documents, probability, word_sum, document_sum)
        document_sum *= documents
        document_sum[document_sum < TINY] = 0.0
    else:
        accumulate_cells(*how, documents, words, probability, document_sum, word_sum)
    return probability, document_sum, word_sum


def log_likelihood(counts: np.ndarray, probability: np.ndarray) -> float:
    """Σ c log p over cells; one that counts 0 adds 0 whatever its p."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(probability)
        total = float(counts @ logs)
        return total if total > -np.inf else float(np.where(counts > 0.0, counts * logs, 0.0).sum())


@dataclass(frozen=True, eq=False)
class MixtureTopics(EMModel):
    """PLSA, p(w | d) = λ p_B(w) + (1 − λ) Σ_z p(w | z) p(z | d), and its MAP under Dirichlet priors with α, η ≥ 1.

    shape : (V, K)
    background : (V,) p_B, or None
    learn_share : whether λ is learned
    """

    shape: tuple[int, int]
    background: np.ndarray | None = None
    learn_share: bool = False

    def parameters(
        self, documents: np.ndarray, words: np.ndarray, share: float, doc_prior: Any, word_prior: float
    ) -> TopicParameters:
        factor = self.factor()
        factor[:, : self.shape[1]] = words
        return self.at(documents, factor, share, doc_prior, word_prior)

    def at(
        self, documents: np.ndarray, factor: np.ndarray, share: float, doc_prior: Any, word_prior: float
    ) -> TopicParameters:
        """Parameters whose words are the topics' columns of `factor`."""
        prior = np.broadcast_to(np.asarray(doc_prior, np.float64), (self.shape[1],))
        words = factor[:, : self.shape[1]]
        return TopicParameters(documents, words, float(share), prior, float(word_prior), factor, empty_like(documents))

    def factor(self) -> np.ndarray:
        """Weights of words (V, ≥ K) as the kernel reads them: room for the topics, then the background."""
        v, k = self.shape
        factor = aligned_zeros(v, k + (self.background is not None))
        if self.background is not None:
            factor[:, k] = self.background
        return factor

    def document_factor(self, documents: np.ndarray, share: float) -> np.ndarray:
        """Weights of documents, with the background's share behind them, as the kernel reads them."""
        k = self.shape[1]
        factor = aligned_zeros(len(documents), k + (self.background is not None))
        factor[:, :k] = documents
        if self.background is not None:
            factor *= 1.0 - share
            factor[:, k] = share
        return factor

    # -- the E-step ----------------------------------------------------------------------------------------------

    def accumulate(self, block: Block, params: TopicParameters) -> TopicStatistics:
        k = self.shape[1]
        cells: Cells = block.X
        at = slice(block.start, block.start + block.n_rows)
        documents = np.asarray(params.documents[at])
        weights, bound = self.read(documents, params)
        probability, document_sum, word_sum = expected_counts(cells, weights, params.factor, True)
        following = self.next_documents(document_sum[:, :k], params.doc_prior)
        params.following[at] = following
        return TopicStatistics(
            params,
            word_sum[:, :k],
            log_likelihood(cells.counts, probability),
            float(document_sum[:, k].sum()) if self.background is not None else 0.0,
            float(cells.counts.sum()),
            bound,
            self.log_shares(following),
            block.n_rows,
        )

    def read(self, documents: np.ndarray, params: TopicParameters) -> tuple[np.ndarray, float]:
        """The documents' factor, and their part of the bound beside the likelihood."""
        return self.document_factor(documents, params.share), _log_prior(documents, params.doc_prior)

    def first_documents(self, X: Any, shares: np.ndarray, doc_prior: np.ndarray) -> np.ndarray:
        """Documents (n, K) that have these shares (K,) of topics each, X being their counts."""
        return np.tile(shares, (X.shape[0], 1))

    def next_documents(self, counts: np.ndarray, doc_prior: np.ndarray) -> np.ndarray:
        """The M-step of documents, from their expected counts (n, K)."""
        return normalised(counts + (doc_prior - 1.0), axis=1)

    def log_shares(self, documents: np.ndarray) -> np.ndarray:
        """What learning α needs of a block's documents."""
        return np.zeros(0)

    # -- the M-step and the bound --------------------------------------------------------------------------------

    def finalize(self, statistics: TopicStatistics) -> TopicParameters:
        old = statistics.params
        factor = self.factor()
        counts = statistics.words if old.word_prior == 1.0 else statistics.words + (old.word_prior - 1.0)
        normalised(counts, 0, out=factor[:, : self.shape[1]])
        share = statistics.common / statistics.tokens if self.learn_share and statistics.tokens else old.share
        return self.at(old.following, factor, share, old.doc_prior, old.word_prior)

    def bound(self, statistics: TopicStatistics, params: TopicParameters) -> float:
        value = statistics.log_likelihood + statistics.documents_bound
        return value + _log_prior(params.words, np.asarray(params.word_prior))


def normalised(counts: np.ndarray, axis: int, out: np.ndarray | None = None) -> np.ndarray:
    """Shares that sum to 1 along `axis`: even ones where there is nothing to share."""
    total = counts.sum(axis=axis, keepdims=True)
    empty = ~(total > 0.0)
    shares = np.multiply(counts, 1.0 / np.where(empty, 1.0, total), out=out)
    if np.any(empty):
        np.copyto(shares, 1.0 / counts.shape[axis], where=empty)
    return shares


def empty_like(documents: np.ndarray) -> np.ndarray:
    """Room for as many documents: on disk if these are."""
    if not isinstance(documents, np.memmap):
        return np.empty_like(documents)
    return on_disk(*documents.shape)


def on_disk(rows: int, columns: int) -> np.ndarray:
    """Room (rows, columns) in a temporary file that is gone with the array."""
    with tempfile.TemporaryFile() as file:  # the map keeps what it needs of it
        return np.memmap(file, np.float64, "w+", shape=(rows, columns))


def _log_prior(shares: np.ndarray, concentration: np.ndarray) -> float:
    """Σ (α − 1) log share, up to the normalising constant of the prior."""
    excess = np.broadcast_to(concentration - 1.0, shares.shape)
    return float((excess * np.log(np.maximum(shares, TINY))).sum()) if np.any(concentration != 1.0) else 0.0
