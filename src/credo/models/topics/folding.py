"""Documents' shares of known topics: each document's own concave problem, stopped by itself.

EM for one document raises its objective to the one maximum. Every document stops when its own shares stand still, so
that its answer does not depend on which others are folded in beside it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.models.topics.cells import by_document
from credo.models.topics.equations import MixtureTopics, TopicParameters, expected_counts

__all__ = ["fold_in"]

# Documents that have settled are set aside once they are this share of those in work: each time the rest is copied.
ASIDE = 0.25


def fold_in(
    model: MixtureTopics, params: TopicParameters, X: Any, start: np.ndarray, tol: float, max_iter: int
) -> np.ndarray:
    """θ (n, K), or γ for LDA, of the documents X, a CSR matrix (n, V).

    start : (K,) shares at which every document begins, and where one stays none of whose words the topics know
    tol : a document is settled when no share of it moves by more

    Cost O(stored cells × K) a pass; most documents settle within some tens of passes.
    """
    k = model.shape[1]
    found = np.empty((X.shape[0], k))
    rows, done = np.arange(X.shape[0]), np.zeros(X.shape[0], bool)
    cells, current = by_document(X), model.first_documents(X, start, params.doc_prior)
    shares = current / current.sum(axis=1, keepdims=True)
    for _ in range(max_iter):
        _, counts, _ = expected_counts(cells, model.read(current, params)[0], params.factor, False)
        known = counts[:, :k].sum(axis=1, keepdims=True) > 0.0
        following = model.next_documents(counts[:, :k], params.doc_prior)
        current, before = np.where(known, following, current), shares
        shares = current / current.sum(axis=1, keepdims=True)
        settled = ~done & (np.abs(shares - before).max(axis=1, initial=0.0) <= tol)
        found[rows[settled]] = current[settled]
        done |= settled
        if np.all(done):
            return found
        if done.mean() >= ASIDE:
            keep = ~done
            rows, current, shares, X, done = rows[keep], current[keep], shares[keep], X[keep], done[keep]
            cells = by_document(X)
    found[rows[~done]] = current[~done]
    return found
