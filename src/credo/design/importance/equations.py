"""Variances of the parts of functions that are constant on boxes.

Notation
    f(x) = Σ_l v_l 1[x ∈ box l], g alike      two trees, or the same twice; their boxes cover the space
    m_l = Π_j a_jl                            mass of a box: the product of its sides' masses, one a parameter
    o_j (L, L')                               mass that side j of a box of f shares with that of a box of g
    r_j = o_j/(a_j a'_jᵀ)                     the same, relative to independence

For a set U of parameters, with c_l = v_l m_l,

    E[ E[f | x_U] E[g | x_U] ] = Σ_{l,l'} c_l c'_l' Π_{j ∈ U} r_j[l, l'] ,

from which the covariance of main effects, of pairs, and the total (all that a parameter takes part in) follow.

Sobol' (1993), Sensitivity estimates for nonlinear mathematical models; Hutter, Hoos & Leyton-Brown (2014), An efficient
approach for assessing hyperparameter importance, ICML.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

__all__ = ["Shared", "decompose", "overlap", "shared_levels"]


class Shared(NamedTuple):
    """Covariances of two functions: `variance` in all; `main` (p,), `total` (p,); `pairs` (p, p), above the diagonal
    and 0 where it was not asked for."""

    variance: float
    main: np.ndarray
    total: np.ndarray
    pairs: np.ndarray


def overlap(low: np.ndarray, high: np.ndarray, other_low: np.ndarray, other_high: np.ndarray) -> np.ndarray:
    """Masses (L, L') that intervals share, given by cumulated masses of their ends.

    >>> overlap(np.array([0.0]), np.array([0.5]), np.array([0.25]), np.array([1.0]))
    array([[0.25]])
    """
    return np.maximum(np.minimum.outer(high, other_high) - np.maximum.outer(low, other_low), 0.0)


def shared_levels(inside: np.ndarray, other: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Masses (L, L') that sets of levels, (L, K) and (L', K) booleans, share; mass (K,) of each level."""
    return (inside * mass) @ other.T.astype(np.float64)


def decompose(c: np.ndarray, other: np.ndarray, ratios: Sequence[np.ndarray], paired: Sequence[int] = ()) -> Shared:
    """The covariance of two functions, and its parts.

    c (L,), other (L',) : values times masses ; ratios : r_j (L, L') of each parameter ; paired : parameters between
    which pairs are wanted

    Cost L L' (3 p + k²/2), k = len(paired).

    >>> half = np.array([[2.0, 0.0], [0.0, 2.0]])       # a step at the middle of the first of two parameters
    >>> decompose(np.array([0.0, 0.5]), np.array([0.0, 0.5]), [half, np.ones((2, 2))]).main.tolist()
    [0.25, 0.0]
    """
    p = len(ratios)
    square = float(c.sum() * other.sum())
    before, after = [np.ones((c.size, other.size))], [np.ones((c.size, other.size))]
    for ratio in ratios:
        before.append(before[-1] * ratio)
    for ratio in reversed(ratios):
        after.append(after[-1] * ratio)
    variance = float(c @ before[p] @ other) - square
    main = np.array([float(c @ ratio @ other) - square for ratio in ratios])
    total = np.array([variance + square - float(c @ (before[j] * after[p - 1 - j]) @ other) for j in range(p)])
    pairs = np.zeros((p, p))
    for at, i in enumerate(paired):
        for j in paired[at + 1 :]:
            low, high = min(i, j), max(i, j)
            both = float(c @ (ratios[i] * ratios[j]) @ other) - square
            pairs[low, high] = both - main[i] - main[j]
    return Shared(variance, main, total, pairs)
