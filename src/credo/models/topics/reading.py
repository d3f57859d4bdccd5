"""What topics are about, and what is near what: pure functions of shares, records out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special

from credo.errors import ParameterError

__all__ = [
    "NearestDocuments", "NearestTopics", "TopicWords", "hellinger", "jensen_shannon", "nearest_documents",
    "nearest_topics", "top_words",
]  # fmt: skip

# Weight of log p(w | z) against log lift in a word's relevance; 0.6 served readers best (Sievert and Shirley 2014).
RELEVANCE = 0.6
# Pairs of documents whose distances are held at once: 2²² float64, 32 MiB.
PAIRS = 2**22


@dataclass(frozen=True)
class TopicWords:
    """The words of each topic, best first; as text, one line a topic.

    words, probabilities : K tuples of words, and of p(w | z)
    shares : (K,) of topics in the corpus
    """

    words: tuple[tuple[str, ...], ...]
    probabilities: tuple[tuple[float, ...], ...]
    shares: tuple[float, ...]

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, topic: int) -> tuple[str, ...]:
        return self.words[topic]

    def __str__(self) -> str:
        lines = zip(range(len(self)), self.shares, self.words, strict=True)
        return "\n".join(f"{topic:>3}  {100 * share:5.1f} %  {' '.join(words)}" for topic, share, words in lines)


@dataclass(frozen=True, eq=False)
class NearestTopics:
    """indices, distances : (K, n), nearest first; the distances are Jensen–Shannon divergences in nats."""

    indices: np.ndarray
    distances: np.ndarray


@dataclass(frozen=True, eq=False)
class NearestDocuments:
    """indices, distances : (documents, n), nearest first; the distances are Hellinger's, 0 to 1."""

    indices: np.ndarray
    distances: np.ndarray


def top_words(
    topic_word: np.ndarray, frequencies: np.ndarray, names: Any, shares: np.ndarray, n_words: int = 10,
    by: str = "probability",
) -> TopicWords:  # fmt: skip
    """The words of each topic, best first.

    Parameters
    ----------
    topic_word : (K, V) p(w | z); frequencies : (V,) p(w) in the corpus; names : (V,) ; shares : (K,) of topics
    by : "probability", p(w | z); "lift", p(w | z)/p(w); or "relevance",
        0.6 log p(w | z) + 0.4 log lift, which keeps words that are both common in the topic and its own

    Ties go to the earlier word. Words that the topic never uses are left out. Cost O(K V).

    References
    ----------
    Sievert and Shirley (2014), LDAvis: a method for visualizing and interpreting topics.
    """
    if not (isinstance(n_words, (int, np.integer)) and n_words >= 1):
        raise ParameterError("top_words", "n_words", "an integer ≥ 1", n_words)
    if by not in ("probability", "lift", "relevance"):
        raise ParameterError("top_words", "by", "'probability', 'lift' or 'relevance'", by)
    if len(names) != topic_word.shape[1]:
        raise ParameterError("top_words", "feature_names", f"{topic_word.shape[1]} words, one a column", len(names))
    weight = {"probability": 1.0, "lift": 0.0, "relevance": RELEVANCE}[by]
    with np.errstate(divide="ignore"):
        log_p, log_common = np.log(topic_word), np.log(np.maximum(frequencies, np.finfo(float).tiny))
    score = log_p - (1.0 - weight) * log_common
    order = np.argsort(-score, axis=1, kind="stable")[:, :n_words]
    kept = [[int(w) for w in row if topic_word[z, w] > 0.0] for z, row in enumerate(order)]
    return TopicWords(
        tuple(tuple(str(names[w]) for w in row) for row in kept),
        tuple(tuple(float(topic_word[z, w]) for w in row) for z, row in enumerate(kept)),
        tuple(float(share) for share in shares),
    )


def jensen_shannon(topic_word: np.ndarray) -> np.ndarray:
    """H((p + q)/2) − (H(p) + H(q))/2 (K, K) of every pair of rows, in nats: 0 to log 2. Cost O(K² V)."""
    entropy = scipy.special.entr(topic_word).sum(axis=1)
    found = np.zeros((len(topic_word), len(topic_word)))
    for k, row in enumerate(topic_word):
        mixed = scipy.special.entr(0.5 * (topic_word[k + 1 :] + row)).sum(axis=1)
        found[k, k + 1 :] = found[k + 1 :, k] = np.maximum(mixed - 0.5 * (entropy[k + 1 :] + entropy[k]), 0.0)
    return found


def nearest_topics(topic_word: np.ndarray, n_topics: int = 3) -> NearestTopics:
    """For every topic (K, V) the nearest others."""
    k = len(topic_word)
    distances = jensen_shannon(topic_word)
    others = distances.copy()
    np.fill_diagonal(others, np.inf)
    order = np.argsort(others, axis=1, kind="stable")[:, : min(n_topics, k - 1)]
    return NearestTopics(order, np.take_along_axis(distances, order, axis=1))


def hellinger(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """√(1 − Σ_z √(p_z q_z)) (n, m) between rows of shares (n, K) and (m, K): 0 to 1."""
    return np.sqrt(np.clip(1.0 - np.sqrt(first) @ np.sqrt(second).T, 0.0, 1.0))


def nearest_documents(shares: np.ndarray, among: np.ndarray, n_documents: int = 5) -> NearestDocuments:
    """For every row of shares (n, K) the nearest of `among` (m, K). Cost O(n m K), in bounded memory."""
    if not (isinstance(n_documents, (int, np.integer)) and n_documents >= 1):
        raise ParameterError("nearest_documents", "n_documents", "an integer ≥ 1", n_documents)
    kept, step = min(n_documents, len(among)), max(1, PAIRS // max(1, len(among)))
    indices, distances = [], []
    for start in range(0, len(shares), step):
        found = hellinger(shares[start : start + step], among)
        order = np.argsort(found, axis=1, kind="stable")[:, :kept]
        indices.append(order)
        distances.append(np.take_along_axis(found, order, axis=1))
    return NearestDocuments(np.concatenate(indices), np.concatenate(distances))
