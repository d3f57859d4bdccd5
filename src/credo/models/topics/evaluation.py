"""How good topics are: held-out tokens by document completion, and coherence over the documents of a reference.

Perplexity of a topic model is computed in several ways that differ by factors. Credo has one. Tokens of a document are
dealt into halves; the first is folded in to say what the document is about; the second is predicted:

    perplexity = exp(− Σ c_dw log p̂(w | d) / Σ c_dw),    p̂(w | d) = λ p_B(w) + (1 − λ) Σ_z p̂(w | z) p̂(z | d)

the sums over the second halves, p̂ the point estimates (LDA: means of q). No token that is predicted was seen. Wallach,
Murray, Salakhutdinov and Mimno (2009), Evaluation methods for topic models, ICML.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse

from credo.errors import DataError, ParameterError

__all__ = ["coherence", "completion_score", "dealt", "token_log_probabilities"]

# Cells whose rows of K numbers are held at once: 2¹⁶.
CELLS = 2**16


def dealt(counts: Any, rng: np.random.Generator) -> tuple[Any, Any]:
    """Counts (CSR) split into halves of every document: (folded in, held out), whose sum they are.

    ⌊n/2⌋ of a document's n tokens, drawn without replacement, are folded in. Where a count is not whole, whole words
    are dealt instead: ⌊m/2⌋ of a document's m words, each with all it counts.
    """
    kept = counts.data.copy()
    whole = bool(np.all(counts.data == np.floor(counts.data)))
    for start, stop in zip(counts.indptr[:-1], counts.indptr[1:], strict=True):
        cells = counts.data[start:stop]
        if whole:
            tokens = cells.astype(np.int64)
            # "marginals" costs O(words), "count" O(tokens) of memory
            kept[start:stop] = rng.multivariate_hypergeometric(tokens, int(tokens.sum()) // 2, method="marginals")
        else:
            chosen = np.zeros(cells.size, bool)
            chosen[rng.choice(cells.size, cells.size // 2, replace=False)] = True
            kept[start:stop] = np.where(chosen, cells, 0.0)
    parts = (scipy.sparse.csr_matrix((each, counts.indices, counts.indptr), counts.shape, copy=True)
             for each in (kept, counts.data - kept))  # fmt: skip
    first, second = parts
    first.eliminate_zeros()
    second.eliminate_zeros()
    return first, second


def token_log_probabilities(
    counts: Any, shares: np.ndarray, topic_word: np.ndarray, background: np.ndarray | None = None, share: float = 0.0
) -> np.ndarray:
    """log p(w | d) of every stored cell of counts (CSR), −∞ where a document's topics never use a word.

    shares : (n, K) ; topic_word : (K, V) ; background : (V,), with its share of every document. Cost O(cells × K).
    """
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    words = np.ascontiguousarray(topic_word.T)
    p = np.empty(counts.nnz)
    for start in range(0, counts.nnz, CELLS):
        at = slice(start, start + CELLS)
        p[at] = np.einsum("ij,ij->i", shares[rows[at]], words[counts.indices[at]])
    if background is not None:
        p = share * background[counts.indices] + (1.0 - share) * p
    with np.errstate(divide="ignore"):
        return np.log(p)


def completion_score(
    fold: Callable[[Any], np.ndarray],
    topic_word: np.ndarray,
    counts: Any,
    rng: np.random.Generator,
    background: np.ndarray | None = None,
    share: float = 0.0,
) -> float:
    """Mean log p̂ of a held-out token by document completion, for any model that can fold in documents.

    fold : counts (n, V) → p(z | d) (n, K), such as another library's transform

    Raises
    ------
    DataError : no document has a token to hold out.

    Examples
    --------
    A topic that knows the words' probabilities, ½ and ½, cannot be surprised by more than log 2 a token:

    >>> import numpy as np, scipy.sparse
    >>> counts = scipy.sparse.csr_matrix([[3.0, 5.0], [4.0, 4.0]])
    >>> one = lambda seen: np.ones((seen.shape[0], 1))
    >>> score = completion_score(one, np.array([[0.5, 0.5]]), counts, np.random.default_rng(0))
    >>> round(float(np.exp(-score)), 6)
    2.0
    """
    seen, held = dealt(counts, rng)
    tokens = float(held.data.sum())
    if not tokens > 0.0:
        raise DataError("There is no token to hold out: the documents are empty.", value=0)
    log_p = token_log_probabilities(held, fold(seen), topic_word, background, share)
    return float((held.data * log_p).sum() / tokens)


def coherence(topic_word: np.ndarray, counts: Any, n_words: int = 10) -> np.ndarray:
    """Mean NPMI (K,) of the pairs among the `n_words` most probable words of each topic.

        NPMI(u, v) = log(p(u, v) / (p(u) p(v))) / −log p(u, v),    p(·) shares of documents that hold the word(s)

    −1 for words that never meet (also where one of them never occurs), 0 for independent ones, 1 for words that are
    only ever together. So it is always a number. `counts` (n, V), CSR: the documents of a reference corpus, in which
    repeats within a document do not matter. Cost O(n_words² K) beside reading the columns of those words.

    Bouma (2009), Normalized (pointwise) mutual information in collocation extraction; Lau, Newman and Baldwin (2014).

    >>> import numpy as np, scipy.sparse
    >>> reference = scipy.sparse.csr_matrix([[1, 1, 0], [2, 1, 0], [0, 0, 1]])
    >>> coherence(np.array([[0.5, 0.5, 0.0], [0.5, 0.0, 0.5]]), reference, n_words=2).round(6).tolist()
    [1.0, -1.0]
    """
    if not (isinstance(n_words, (int, np.integer)) and n_words >= 2):
        raise ParameterError("coherence", "n_words", "an integer ≥ 2", n_words)
    if counts.shape[0] == 0 or topic_word.shape[1] != counts.shape[1]:
        raise DataError(
            f"coherence: the reference has shape {counts.shape}, the topics {topic_word.shape[1]} words.",
            value=counts.shape,
        )
    present: Any = scipy.sparse.csc_matrix(counts, dtype=np.float64, copy=True)
    present.eliminate_zeros()
    present.data[:] = 1.0
    top = np.argsort(-topic_word, axis=1, kind="stable")[:, :n_words]
    return np.array([_mean_npmi(present[:, row], present.shape[0]) for row in top])


def _mean_npmi(columns: Any, n_documents: int) -> float:
    together = np.asarray((columns.T @ columns).todense()) / n_documents
    alone = np.diag(together)
    first, second = np.triu_indices(alone.size, 1)
    if first.size == 0:
        return 0.0
    joint = together[first, second]
    npmi = np.full(joint.size, -1.0)
    meets, always = (joint > 0.0) & (joint < 1.0), joint == 1.0
    ratio = joint[meets] / (alone[first[meets]] * alone[second[meets]])
    npmi[meets] = np.log(ratio) / -np.log(joint[meets])
    npmi[always] = 1.0
    return float(npmi.mean())
