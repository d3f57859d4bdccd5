"""Rows that several tests of mixtures share, and densities written out the long way."""

from __future__ import annotations

import numpy as np
from scipy import stats

TYPES = ("full", "tied", "diag", "spherical")


def clusters(n=300, d=3, k=3, seed=0):
    """k clusters that overlap a little, of different shapes."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(k, size=n)
    mixing = rng.normal(size=(k, d, d)) / np.sqrt(d) + np.eye(d)
    return rng.normal(0, 3, (k, d))[labels] + np.einsum("nij,nj->ni", mixing[labels], rng.normal(size=(n, d))) + 5.0


def with_holes(X, share=0.25, seed=1):
    """The rows with some cells missing; none of them empty."""
    holes = np.random.default_rng(seed).random(X.shape) < share
    holes[holes.all(axis=1), 0] = False
    return np.where(holes, np.nan, X)


def start(X, k, covariance_type, seed=0):
    """A start in scikit-learn's parameters."""
    d = X.shape[1]
    wide = np.nanvar(X, axis=0).mean()
    precision = {
        "full": np.stack([np.eye(d) / wide] * k),
        "tied": np.eye(d) / wide,
        "diag": np.full((k, d), 1 / wide),
        "spherical": np.full(k, 1 / wide),
    }
    rows = np.random.default_rng(seed).choice(np.flatnonzero(~np.isnan(X).any(axis=1)), k, replace=False)
    return {
        "covariance_type": covariance_type,
        "means_init": X[rows],
        "weights_init": np.full(k, 1 / k),
        "precisions_init": precision[covariance_type],
    }


def matrices(model):
    """Covariances (k, d, d) of a fitted mixture."""
    k, d = model.means_.shape
    c = model.covariances_
    by = {
        "full": lambda: c,
        "tied": lambda: np.stack([c] * k),
        "diag": lambda: np.stack([np.diag(v) for v in c]),
        "spherical": lambda: np.stack([v * np.eye(d) for v in c]),
    }
    return by[model.covariance_type]()


def log_density(model, X):
    """log Σ_k π_k N(x_o | μ_ko, Σ_koo), row by row through SciPy."""
    out = []
    for x in X:
        seen = ~np.isnan(x)
        parts = [
            w * (stats.multivariate_normal(m[seen], S[np.ix_(seen, seen)]).pdf(x[seen]) if seen.any() else 1.0)
            for w, m, S in zip(model.weights_, model.means_, matrices(model), strict=True)
        ]
        out.append(np.log(sum(parts)))
    return np.array(out)
