"""PLSA of the AP corpus (302,031 stored counts) to the likelihood of 60 iterations of scikit-learn's KL-NMF."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from benchmarks.case import Bar, Case, Contestant, Quality

TOPICS, ITERATIONS = 20, 60
# Credo's log-likelihood a token on reaching scikit-learn's; both begin at the same shares.
TOLERANCE = 1e-3


def load(_: Path) -> Any:
    """Counts of the shared corpus; of made ones of the same size where it is not there."""
    import numpy as np
    import scipy.sparse

    folder = os.environ.get("CREDO_REFERENCE_DATA", "../shared/data")
    path = Path(folder, "text", "ap", "ap.ldac.gz")
    if path.exists():
        from credo.tables.corpus import read_corpus

        counts = read_corpus(path).counts.astype(np.float64)
    else:
        rng = np.random.default_rng(0)
        topics = rng.dirichlet(np.full(10_473, 0.05), 40)
        shares = rng.dirichlet(np.full(40, 0.1), 2246)
        counts = scipy.sparse.csr_matrix([rng.multinomial(200, p) for p in shares @ topics]).astype(np.float64)
    words = np.random.default_rng(0).dirichlet(np.ones(counts.shape[1]), TOPICS)
    return counts, words


def credo(data: Any) -> Any:
    import warnings

    import credo as cr

    counts, words = data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # stopped where scikit-learn stops
        model = cr.PLSA(TOPICS, init=words, max_iter=80, tol=0.0).fit(counts)
    return model.lower_bound_


def nmf(data: Any) -> Any:
    import warnings

    import numpy as np
    from sklearn.decomposition import NMF

    counts, words = data
    tokens = np.asarray(counts.sum(axis=1))
    model = NMF(TOPICS, init="custom", solver="mu", beta_loss="kullback-leibler", max_iter=ITERATIONS, tol=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        W = model.fit_transform(counts, W=np.full((counts.shape[0], TOPICS), 1 / TOPICS) * tokens, H=words.copy())
    scale = model.components_.sum(axis=1)
    shares, topics = W * scale, model.components_ / scale[:, None]
    shares /= shares.sum(axis=1, keepdims=True)
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    p = np.einsum("ij,ij->i", shares[rows], topics.T[counts.indices])
    return float(counts.data @ np.log(p) / counts.sum())


CASE = Case(
    question="PLSA with 20 topics of the AP corpus (302,031 stored counts), 80 steps, against scikit-learn's NMF with "
    "Kullback–Leibler loss, 60 multiplicative updates from the same start, to the same likelihood.",
    load=load,
    contestants=(
        Contestant("credo PLSA", credo),
        Contestant("scikit-learn NMF(kullback-leibler, mu)", nmf, requires=("scikit-learn",)),
    ),
    quality=Quality("log-likelihood a token", lambda _, value: value, "higher", TOLERANCE),
    bars={"scikit-learn NMF(kullback-leibler, mu)": Bar("≥", 8)},
    repeats=3,
)
