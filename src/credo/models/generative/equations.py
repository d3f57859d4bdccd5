"""Bayes' rule in log space, and the split of the entropy of a class.

c, n: classes and rows; a_c = log p(y = c, x | θ); D: the training data
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from credo.models.generative.family import Moments

__all__ = ["row_max", "log_evidence", "class_probabilities", "aleatoric", "NODES", "FEW"]

# Up to this many classes, column by column is faster than NumPy's reduction over a short last axis.
FEW = 8

# Points of a Kronecker lattice for the expectation over k normals: the error of the split is below 1e-3 nats.
NODES = 64
# Classes of a row beyond the most probable of this many are left at their means: they hold next to no probability.
_MOST_CLASSES = 12


def row_max(values: np.ndarray) -> np.ndarray:
    """The largest entry of every row (n,) of (n, k)."""
    if values.shape[1] > FEW:
        return values.max(axis=1)
    top = values[:, 0].copy()
    for column in values.T[1:]:
        np.maximum(top, column, out=top)
    return top


def log_evidence(log_joint: np.ndarray) -> np.ndarray:
    """log p(x) = log Σ_c exp(log p(x, c)) (n,) from (n, k); −inf where every class is impossible. O(n k)."""
    top = row_max(log_joint)
    safe = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(log_joint - safe[:, None]).sum(axis=1)) + safe


def class_probabilities(log_joint: np.ndarray) -> np.ndarray:
    """p(c | x) (n, k) ∝ exp(log p(x, c)), rows sum to 1; no row may be impossible in every class."""
    p = np.exp(log_joint - row_max(log_joint)[:, None])
    p /= p.sum(axis=1, keepdims=True)
    return p


def aleatoric(probability: np.ndarray, moments: Moments) -> np.ndarray:
    """E_{θ | D, x} H(y | x, θ) (n,), in nats, between 0 and the entropy of `probability`.

    With y ~ p(c | x, D) drawn first and θ ~ p(θ | D, (x, c)) after it, (y, θ) has the law p(y, θ | x, D), so that

        E H(y | x, θ) = −E log p(y | x, θ) = Σ_c p(c | x, D) E_{θ | D, (x, c)} [ log Σ_c' exp a_c' − a_c ].

    Given D the a_c are independent; each is taken as Normal with its exact mean and variance (a sum over columns), and
    the expectation over them is a lattice rule of `NODES` points. Cost O(n · min(k, 12) · NODES).

    The Normal replaces a skewed law where a class has few rows and few columns: see the tests for the error.
    """
    n, k = probability.shape
    entropy = -np.sum(np.where(probability > 0, probability * np.log(np.maximum(probability, 1e-300)), 0.0), axis=1)
    m, v, m1, v1 = moments
    if k > _MOST_CLASSES:
        keep = np.argpartition(-probability, _MOST_CLASSES, axis=1)[:, :_MOST_CLASSES]
        probability, m, v, m1, v1 = (np.take_along_axis(a, keep, axis=1) for a in (probability, m, v, m1, v1))
        probability = probability / probability.sum(axis=1, keepdims=True)
    # a class that is impossible stays so: −1e4 nats, out of the way of ∞ − ∞
    top = np.max(m1, axis=1, keepdims=True)
    m, m1 = np.maximum(m - top, -1e4), np.maximum(m1 - top, -1e4)
    s, s1 = np.sqrt(np.maximum(v, 0.0)), np.sqrt(np.maximum(v1, 0.0))
    value = np.zeros(n)
    for z in _lattice(probability.shape[1]):
        a, own = m + s * z, m1 + s1 * z
        peak = np.maximum(a.max(axis=1), own.max(axis=1))[:, None]
        weight, own_weight = np.exp(a - peak), np.exp(own - peak)
        others = np.maximum(weight.sum(axis=1, keepdims=True) - weight, 0.0)
        value += np.sum(probability * (np.log(others + own_weight + 1e-300) - (own - peak)), axis=1)
    return np.clip(value / NODES, 0.0, entropy)


def _lattice(k: int) -> np.ndarray:
    """NODES × k standard normals: a Kronecker sequence on √primes, symmetric about 0."""
    primes = np.array([2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37])[:k]
    half = np.arange(1, NODES // 2 + 1)[:, None] - 0.5
    u = (half * np.sqrt(primes)) % 1.0
    z = ndtri(np.clip(u, 1e-12, 1 - 1e-12))
    return np.concatenate([z, -z])
