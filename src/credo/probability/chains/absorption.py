"""Where a chain ends up, and when: linear equations over the states that it leaves for good.

With Q the chain among the transient (or not yet hit) states and R its steps out of them,

    probability of ending in each class  B = (I − Q)⁻¹ R 1_class         expected steps  t = (I − Q)⁻¹ 1

I − Q is an M-matrix: elimination without subtraction would be exact in every digit; sparse LU is within its condition.
`Fraction`s are eliminated exactly.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.csgraph as graphs
import scipy.sparse.linalg as linear

__all__ = ["hit", "solve_exactly", "solve_floating", "within_reach"]


def within_reach(arrows: Any, targets: np.ndarray) -> np.ndarray:
    """(n,) the states from which some target can be reached."""
    n = arrows.shape[0]
    source = scipy.sparse.csr_array((np.ones(targets.size), (np.zeros(targets.size, dtype=int), targets)), shape=(1, n))
    back = scipy.sparse.block_array(
        [[arrows.T, scipy.sparse.csr_array((n, 1))], [source, scipy.sparse.csr_array((1, 1))]], format="csr"
    )
    seen = graphs.breadth_first_order(back, n, directed=True, return_predecessors=False)
    reached = np.zeros(n + 1, dtype=bool)
    reached[seen] = True
    return reached[:n]


def solve_floating(P: Any, among: np.ndarray, right: np.ndarray) -> np.ndarray:
    """(I − Q)⁻¹ right, for the states numbered `among`."""
    A = (scipy.sparse.eye_array(among.size, format="csc") - P[among][:, among]).tocsc()
    return linear.splu(A).solve(right) if among.size else right


def solve_exactly(P: list[list[Fraction]], among: list[int], right: list[list[Fraction]]) -> list[list[Fraction]]:
    """The same in `Fraction`s, by Gauss and Jordan; I − Q has a nonzero pivot on its diagonal throughout."""
    n = len(among)
    A = [[Fraction(i == j) - P[a][b] for j, b in enumerate(among)] + right[i] for i, a in enumerate(among)]
    for k in range(n):
        pivot = A[k][k]
        A[k] = [value / pivot for value in A[k]]
        for i in range(n):
            if i != k and A[i][k]:
                share = A[i][k]
                A[i] = [mine - share * theirs for mine, theirs in zip(A[i], A[k], strict=True)]
    return [row[n:] for row in A]


def hit(P: Any, arrows: Any, targets: np.ndarray, exact: bool) -> tuple[list[Any], list[Any]]:
    """For each state, the probability of ever reaching a target, and the expected steps until then.

    Steps are 0 at a target and infinite where the probability is below 1.
    """
    n = arrows.shape[0]
    target = np.zeros(n, dtype=bool)
    target[targets] = True
    possible = within_reach(arrows, targets)
    # A state that can reach, short of a target, one that cannot reach any, may miss; the others arrive surely.
    outside = arrows.copy()
    outside.data = np.where(target[np.repeat(np.arange(n), np.diff(arrows.indptr))], 0.0, 1.0)
    outside.eliminate_zeros()
    lost = np.flatnonzero(~possible)
    may_miss = within_reach(outside, lost) if lost.size else np.zeros(n, dtype=bool)
    unsure, sure = np.flatnonzero(possible & may_miss & ~target), np.flatnonzero(~may_miss & ~target)
    one: Any = Fraction(1) if exact else 1.0
    probability: list[Any] = [one if not may_miss[i] or target[i] else 0 * one for i in range(n)]
    steps: list[Any] = [np.inf if may_miss[i] and not target[i] else 0 * one for i in range(n)]
    certain = np.flatnonzero(~may_miss | target)
    for among, into, total in ((unsure, probability, certain), (sure, steps, None)):
        if exact:
            right = [[sum((P[i][j] for j in total), Fraction(0)) if total is not None else one] for i in among]
            found = [row[0] for row in solve_exactly(P, among.tolist(), right)]
        else:
            right = P[among][:, total].sum(axis=1) if total is not None else np.ones(among.size)
            found = np.asarray(solve_floating(P, among, np.asarray(right, dtype=np.float64))).tolist()
        for i, value in zip(among.tolist(), found, strict=True):
            into[i] = value
    return probability, steps
