"""Multinomial naive Bayes of 100,000 documents over 50,000 words, sparse, twenty classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.case import Bar, Case, Contestant, Quality


def load(_: Path) -> tuple[Any, Any]:
    import numpy as np
    import scipy.sparse as sp

    rng = np.random.default_rng(0)
    y = rng.integers(0, 20, 100_000)
    words = np.minimum((50_000 * rng.random((100_000, 100)) ** 3).astype(np.int64), 49_999)
    words = np.where(rng.random(words.shape) < 0.1, words // 20 * 20 + y[:, None], words)  # words of one class
    words.sort(axis=1)
    counts = rng.integers(1, 4, words.size).astype(np.float64)
    X = sp.csr_matrix((counts, words.ravel().astype(np.int32), np.arange(0, words.size + 1, 100)), (100_000, 50_020))
    X.sum_duplicates()
    return X, y


def credo(data: tuple[Any, Any]) -> Any:
    from credo.models.naive_bayes import MultinomialNB

    return MultinomialNB().fit(*data).predict(data[0])


def scikit_learn(data: tuple[Any, Any]) -> Any:
    from sklearn.naive_bayes import MultinomialNB

    return MultinomialNB().fit(*data).predict(data[0])


CASE = Case(
    question="MultinomialNB, fit and predict on 100,000 × 50,000 sparse counts with twenty classes.",
    load=load,
    contestants=(
        Contestant("credo MultinomialNB", credo),
        Contestant("scikit-learn MultinomialNB", scikit_learn, requires=("scikit-learn",)),
    ),
    quality=Quality("accuracy", lambda data, result: float((result == data[1]).mean()), "higher", 1e-6),
    bars={"scikit-learn MultinomialNB": Bar("≥", 1)},
)
