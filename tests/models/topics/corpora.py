"""Small corpora made from known topics."""

import numpy as np
import scipy.sparse


def synthetic(n_documents=120, n_words=60, n_topics=3, length=80, seed=0):
    """Counts (CSR) of documents from topics (K, V) that hardly share words; every document has one main topic."""
    rng = np.random.default_rng(seed)
    topics = np.full((n_topics, n_words), 0.02)
    for z, words in enumerate(np.array_split(np.arange(n_words), n_topics)):
        topics[z, words] = rng.gamma(1.0, size=words.size) + 0.2
    topics /= topics.sum(axis=1, keepdims=True)
    shares = rng.dirichlet(np.full(n_topics, 0.15), n_documents)
    counts = np.array([rng.multinomial(length, p) for p in shares @ topics])
    return scipy.sparse.csr_matrix(counts.astype(float)), topics, shares
