"""LDA by collapsed variational Bayes of order zero (CVB0): shares of tokens, with θ and φ integrated out.

    γ_dwz ∝ (n_dz − γ_dwz + α_z) (n_wz − γ_dwz + η) / (n_z − γ_dwz + V η)

n : expected counts, Σ over tokens of γ; the token itself is taken out of them. Every token of a cell has the same γ.
Beside `dirichlet`, tokens need no q(θ), q(φ) that are independent of them; in exchange K numbers are kept for every
stored count, cells go one after the other, and no objective is known to rise.

Asuncion, Welling, Smyth and Teh (2009), On smoothing and inference for topic models, UAI.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse
import scipy.special

from credo.blocks.reduction import reduce
from credo.inference.em import EMFit
from credo.inference.result import Result
from credo.models.topics.cells import Cells, TopicSource, by_document
from credo.models.topics.dirichlet import DirichletTopics
from credo.models.topics.equations import TopicParameters, TopicStatistics, normalised
from credo.models.topics.hyperparameters import symmetric_concentration, topic_concentrations

__all__ = ["fit_collapsed", "fold_collapsed"]

# α and η are updated after each of the first ten sweeps, then after every fifth: it costs as much as a few sweeps.
OFTEN, SELDOM = 10, 5


@dataclass(eq=False)
class _State:
    """documents (D, K), words (V, K) : expected counts with α (K,) and η added; shares : γ of every block's cells."""

    documents: np.ndarray
    words: np.ndarray
    alpha: np.ndarray
    eta: float
    shares: list[np.ndarray]

    @classmethod
    def at(cls, blocks: list[Any], start: TopicParameters, alpha: np.ndarray, eta: float) -> _State:
        """Where the topics of `start` (shares of documents and words) put the tokens."""
        documents, words = np.tile(alpha, (len(start.documents), 1)), np.full(start.words.shape, eta)
        state = cls(documents, words, alpha, eta, [])
        for block in blocks:
            cells, own = block.X, documents[block.start : block.start + block.n_rows]
            word = np.repeat(cells.outer, np.diff(cells.starts))
            gamma = normalised(start.documents[block.start + cells.inner] * start.words[word], 1)
            _add(cells, gamma * cells.counts[:, None], words, own)
            state.shares.append(gamma)
        return state

    def sweep(self, blocks: list[Any]) -> float:
        """Every token once; returns how many of them moved."""
        total, moved = self.words.sum(axis=0), 0.0
        for block, gamma in zip(blocks, self.shares, strict=True):
            documents = self.documents[block.start : block.start + block.n_rows]
            moved += float(_swept(block.X, gamma, self.words, documents, total, False, 1, 0.0).sum())
        return moved

    def learn(self, model: DirichletTopics, blocks: list[Any]) -> None:
        """α and η by EM on the counts, with E ψ(n + α) of `_expected_psi` for E log θ."""
        if not (model.learn_doc_prior or model.learn_word_prior):
            return
        absent_documents, absent_words = np.zeros_like(self.documents), np.zeros_like(self.words)
        for block, gamma in zip(blocks, self.shares, strict=True):
            cells = block.X
            log_not = np.log1p(-np.minimum(gamma, 1.0 - 1e-15)) * cells.counts[:, None]
            _add(cells, log_not, absent_words, absent_documents[block.start : block.start + block.n_rows])
        if model.learn_doc_prior:
            log_shares = _expected_psi(self.documents - self.alpha, absent_documents, self.alpha)
            log_shares -= scipy.special.digamma(self.documents.sum(axis=1, keepdims=True))
            alpha = topic_concentrations(log_shares.mean(axis=0), self.alpha)
            self.documents += alpha - self.alpha
            self.alpha = alpha
        if model.learn_word_prior:
            v, k = self.words.shape
            log_shares = _expected_psi(self.words - self.eta, absent_words, self.eta)
            log_shares -= scipy.special.digamma(self.words.sum(axis=0))
            eta = symmetric_concentration(float(log_shares.sum()), k, v, self.eta)
            self.words += eta - self.eta
            self.eta = eta


def _add(cells: Cells, values: np.ndarray, left: np.ndarray, right: np.ndarray | None) -> None:
    """Add the cells' values (cells, K) to rows of `left` by outer index, and of `right` by inner."""
    n = cells.inner.size
    if n == 0:
        return
    ones, at = np.ones(n), np.arange(n, dtype=np.int32)
    left[cells.outer] += scipy.sparse.csr_array((ones, at, cells.starts), shape=(cells.outer.size, n)) @ values
    if right is not None:
        right += scipy.sparse.csc_array((ones, cells.inner, np.arange(n + 1)), shape=(len(right), n)) @ values


def _expected_psi(n: np.ndarray, log_absent: np.ndarray, prior: Any) -> np.ndarray:
    """E ψ(n + prior) of counts of mean n that are 0 with probability exp(log_absent): ψ there, and at the mean of the
    others. At the mean alone a few tokens shared among topics would look as though documents wanted all of them.

    Teh, Newman and Welling (2007), A collapsed variational Bayesian inference algorithm for LDA, NIPS 19.
    """
    psi, present = scipy.special.digamma, np.maximum(-np.expm1(log_absent), 1e-300)
    return psi(prior) + present * (psi(np.maximum(n, 0.0) / present + prior) - psi(prior))


def fit_collapsed(
    model: DirichletTopics,
    source: TopicSource,
    start: TopicParameters,
    doc_prior: Any,
    word_prior: float,
    tokens: float,
    tol: float,
    max_iter: int,
) -> EMFit:
    """Sweeps from the topics of `start` until no more than √tol of the tokens move.

    Near its end the likelihood is flat, so that what a share s of tokens would still change is of the order of s².
    The bound is VB's at the counts found, that of log p(words): a bound it is, though not what the sweeps raise. The
    trace of the result holds the share of tokens that moved. Cost O(cells × K) a sweep, in memory as much.
    """
    blocks = list(source)
    alpha = np.array(np.broadcast_to(np.asarray(doc_prior, np.float64), (model.shape[1],)))
    state = _State.at(blocks, start, alpha, float(word_prior))
    moved: list[float] = []
    seconds: list[float] = []
    began, settled = time.perf_counter(), False
    while len(moved) < max_iter and not settled:
        moved.append(state.sweep(blocks) / tokens)
        seconds.append(time.perf_counter() - began)
        settled = moved[-1] ** 2 <= tol
        if len(moved) <= OFTEN or len(moved) % SELDOM == 0 or settled:
            state.learn(model, blocks)
    params = model.parameters(state.documents, state.words, 0.0, state.alpha, state.eta)
    statistics: TopicStatistics = reduce(source, lambda block: model.accumulate(block, params), TopicStatistics.merge)
    bound = model.bound(statistics, params)
    advice = () if settled else (f"The last sweep still moved {moved[-1]:.2g} of the tokens.",)
    result = Result("converged" if settled else "max_iter", "cvb0", tuple(moved), tuple(seconds), advice=advice)
    statistics = replace(statistics, words=state.words - state.eta)
    return EMFit(params, statistics, bound, len(moved), result)


def fold_collapsed(X: Any, topics: np.ndarray, alpha: np.ndarray, start: np.ndarray, tol: float, most: int) -> Any:
    """n_dz + α_z (n, K) of documents X (CSR) given topics (V, K), each document's tokens until they stay.

    start (K,) : shares at which every document begins. A document's answer depends on its own tokens alone.
    """
    cells = by_document(X)
    gamma = normalised(start * topics[cells.inner], 1)
    documents = np.tile(np.asarray(alpha, np.float64), (X.shape[0], 1))
    _add(cells, gamma * cells.counts[:, None], documents, None)
    _swept(cells, gamma, documents, np.ascontiguousarray(topics), np.ones(len(alpha)), True, most, tol)
    return documents


def _swept(
    cells: Cells,
    gamma: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    total: np.ndarray,
    held: bool,
    most: int,
    tol: float,
) -> np.ndarray:
    from credo.models.topics.collapsed_kernel import sweep_cells

    moved, room = np.zeros(cells.outer.size), np.empty(gamma.shape[1])
    how = (cells.outer, cells.starts, cells.inner, cells.counts)
    sweep_cells(*how, gamma, left, right, total, held, most, tol, moved, room)
    return moved
