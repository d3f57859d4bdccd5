"""Sequences that several tests of hidden Markov models share, and likelihoods summed over every path of states."""

from __future__ import annotations

import itertools

import numpy as np
from scipy import stats
from scipy.special import logsumexp

TYPES = ("full", "tied", "diag", "spherical")
P = np.array([[0.9, 0.08, 0.02], [0.05, 0.9, 0.05], [0.1, 0.1, 0.8]])


def walk(n, rng, P=P):
    states, edges, draws = [0], P.cumsum(axis=1)[:, :-1].tolist(), rng.random(n).tolist()
    for u in draws[1:]:
        states.append(sum(u > edge for edge in edges[states[-1]]))
    return np.array(states)


def normals(n=600, seed=0, apart=4.0):
    """Rows (n, 2) of three states, with different covariances, and the states."""
    rng = np.random.default_rng(seed)
    z = walk(n, rng)
    mean = apart * np.array([[0.0, 0.0], [1.0, 1.0], [-1.0, 1.0]])
    turn = np.array([[[1.0, 0.0], [0.5, 0.6]], [[0.5, 0.0], [0.0, 1.5]], [[0.8, -0.6], [0.0, 1.0]]])
    return mean[z] + np.einsum("nij,nj->ni", turn[z], rng.normal(size=(n, 2))), z


def counts(n=600, seed=0):
    rng = np.random.default_rng(seed)
    z = walk(n, rng)
    return rng.poisson(np.array([[1.0, 5.0], [6.0, 1.0], [12.0, 12.0]])[z]).astype(float), z


THETA = np.array([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8], [0.1, 0.8, 0.1]])


def categories(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    z = walk(n, rng)
    return np.array(["red", "green", "blue"], dtype=object)[(rng.random(n)[:, None] > THETA.cumsum(1)[z]).sum(1)], z


def log_densities(model, X):
    """log p(x_o | state) (n, K) through SciPy, row by row."""
    out = np.zeros((len(X), len(model.startprob_)))
    for t, x in enumerate(X):
        for k in range(out.shape[1]):
            if hasattr(model, "means_"):
                o = np.flatnonzero(~np.isnan(x))
                if o.size:
                    law = stats.multivariate_normal(model.means_[k][o], model.covars_[k][np.ix_(o, o)])
                    out[t, k] = law.logpdf(x[o])
            else:
                out[t, k] = np.nansum(stats.poisson(model.rates_[k]).logpmf(x))
    return out


def log_likelihood(model, ll):
    """log Σ over all paths of states, ll (n, K)."""
    n, k = ll.shape
    paths = np.array(list(itertools.product(range(k), repeat=n)))
    with np.errstate(divide="ignore"):
        log_P, log_start = np.log(model.transmat_), np.log(model.startprob_)
    weight = log_start[paths[:, 0]] + ll[np.arange(n), paths].sum(axis=1)
    return logsumexp(weight + log_P[paths[:, :-1], paths[:, 1:]].sum(axis=1))


def matched(model_means, truth):
    """Numbers of the fitted states in the order of the true ones."""
    return np.array([np.square(model_means - m).sum(axis=1).argmin() for m in truth])
