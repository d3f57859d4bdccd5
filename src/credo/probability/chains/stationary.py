"""The stationary law π = π P of an irreducible chain, by the cheapest way whose residual certifies it.

eliminated   Grassmann, Taksar and Heyman's elimination: no subtraction, so no cancellation; works in `Fraction`s
balanced     a reversible chain: π_j/π_i = P_ij/P_ji along a spanning tree, then checked on every arrow; O(arrows)
averaged     powers of ½(P + I), which is aperiodic; each step costs one product, (1 − gap/2) off the error
factored     sparse LU of the balance equations with one replaced by Σ π = 1
solved       GMRES on them, preconditioned by an incomplete LU: for chains that mix slowly

The residual is max_j |π_j − (π P)_j| relative to max π for a vector that sums to 1.

Reference: Grassmann, Taksar and Heyman (1985), Regenerative analysis and steady state distributions for Markov chains,
Operations Research 33; Stewart (1994), Introduction to the Numerical Solution of Markov Chains.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.csgraph as graphs
import scipy.sparse.linalg as linear

from credo.errors import NumericalError

__all__ = ["RESIDUAL", "eliminated", "eliminated_exactly", "residual", "stationary_law"]

# What the law is certified to; double precision leaves some 1e-16 times the arrows into a state.
RESIDUAL = 1e-10
# Elimination is n³/3 operations in n vectorised steps: a second at this size, and it needs no certificate.
DENSE = 1500
# A thousand products tell a chain that mixes from one that does not.
PRODUCTS = 2000
# Relative error of a ratio of probabilities that a rounding of 1e-16 in each may leave.
BALANCE = 1e-9


def residual(pi: np.ndarray, P: Any) -> float:
    """max |π − π P|/max π."""
    return float(np.max(np.abs(P.T @ pi - pi)) / np.max(pi))


def stationary_law(P: Any) -> tuple[np.ndarray, str, float]:
    """π (n,), how it was found, and its residual. Raises `NumericalError` if nothing reaches 1e-10."""
    P = P.sorted_indices()
    if P.shape[0] <= DENSE:
        pi = eliminated(P.toarray())
        return pi, "eliminated", residual(pi, P)
    best = (np.inf, "", np.empty(0))
    for name, way in (("balanced", balanced), ("averaged", averaged), ("factored", factored), ("solved", solved)):
        pi = way(P)
        if pi is None or not np.all(np.isfinite(pi)):
            continue
        left = residual(pi, P)
        if left <= RESIDUAL:
            return pi, name, left
        best = min(best, (left, name, pi), key=lambda found: found[0])
    raise NumericalError(
        f"MarkovChain.stationary: the best law found ({best[1]}) leaves a residual of {best[0]:.1e}, above {RESIDUAL}.",
        value=best[2],
        remedy="The chain mixes very slowly: lump states, or look at classes that hardly communicate.",
    )


def eliminated(P: np.ndarray) -> np.ndarray:
    """π by censoring states one by one: each step is the chain watched on the states that remain."""
    A = np.array(P, dtype=np.float64)
    for k in range(A.shape[0] - 1, 0, -1):
        A[:k, k] /= A[k, :k].sum()
        A[:k, :k] += np.outer(A[:k, k], A[k, :k])
    return _unwound(A, np.zeros(A.shape[0]), 1.0)


def eliminated_exactly(P: list[list[Fraction]]) -> list[Fraction]:
    """The same in `Fraction`s."""
    A = [row[:] for row in P]
    for k in range(len(A) - 1, 0, -1):
        leaving = sum(A[k][:k], Fraction(0))
        for i in range(k):
            A[i][k] /= leaving
            for j in range(k):
                A[i][j] += A[i][k] * A[k][j]
    pi = [Fraction(1)]
    for k in range(1, len(A)):
        pi.append(sum((pi[i] * A[i][k] for i in range(k)), Fraction(0)))
    total = sum(pi, Fraction(0))
    return [p / total for p in pi]


def _unwound(A: np.ndarray, pi: np.ndarray, first: float) -> np.ndarray:
    pi[0] = first
    for k in range(1, pi.size):
        pi[k] = pi[:k] @ A[:k, k]
        if pi[k] > 1e100:  # laws that span more than the range of floating point keep their large end
            pi[: k + 1] /= pi[k]
    return pi / pi.sum()


def balanced(P: Any) -> np.ndarray | None:
    """π of a chain in detailed balance, None of any other. In logs along the tree: π may span any range."""
    n = P.shape[0]
    back = P.T.tocsr()
    back.sort_indices()
    if not (np.array_equal(back.indptr, P.indptr) and np.array_equal(back.indices, P.indices)):
        return None  # an arrow without its reverse
    ratio = np.log(P.data) - np.log(back.data)  # log π_j − log π_i over the arrow i → j
    order, before = graphs.breadth_first_order(P, 0, directed=True)
    entry = scipy.sparse.csr_array((np.arange(1, P.nnz + 1), P.indices, P.indptr), shape=P.shape)
    step = np.zeros(n)
    child = order[1:]
    step[child] = ratio[np.asarray(entry[before[child], child]).ravel() - 1]
    log_pi = _summed_along(before, step)
    tails = np.repeat(np.arange(n), np.diff(P.indptr))
    if np.max(np.abs(log_pi[tails] + ratio - log_pi[P.indices])) > BALANCE * (1.0 + np.max(np.abs(log_pi))):
        return None
    pi = np.exp(log_pi - log_pi.max())
    return pi / pi.sum()


def _summed_along(parent: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Σ of steps from the root to each node, by pointer jumping: log₂(depth) passes."""
    total = step.copy()
    above = np.where(parent < 0, np.arange(parent.size), parent)
    root = parent < 0
    total[root] = 0.0
    while True:
        following = above[above]
        if np.array_equal(following, above):
            return total
        total += np.where(root[above], 0.0, total[above])
        above = following


def averaged(P: Any) -> np.ndarray | None:
    """Powers of the lazy chain, with a check every ten; None where progress says it will not arrive in time."""
    back = P.T.tocsr()
    pi = np.full(P.shape[0], 1.0 / P.shape[0])
    best = np.inf
    for product in range(PRODUCTS):
        moved = back @ pi
        if product % 10 == 0:
            left = float(np.max(np.abs(moved - pi)) / np.max(moved))
            if left <= 0.1 * RESIDUAL:
                break
            if product >= 100 and product % 100 == 0:
                rate = np.log(left / best) / 100.0
                if rate > np.log(RESIDUAL / left) / (PRODUCTS - product):
                    return None
            if product % 100 == 0:
                best = left
        pi = 0.5 * (pi + moved)
    return pi / pi.sum()


def _balance(P: Any) -> tuple[Any, np.ndarray]:
    """(I − P)ᵀ without the last state, whose probability is set to 1, and the right side."""
    A = (scipy.sparse.eye_array(P.shape[0], format="csr") - P).T.tocsc()
    return A[:-1, :-1].tocsc(), -A[:-1, [-1]].toarray().ravel()


def _completed(head: np.ndarray) -> np.ndarray:
    pi = np.append(np.maximum(head, 0.0), 1.0)
    return pi / pi.sum()


def factored(P: Any) -> np.ndarray | None:
    """Sparse LU, where a band or a small graph keeps it sparse."""
    width = int(np.max(np.abs(np.repeat(np.arange(P.shape[0]), np.diff(P.indptr)) - P.indices)))
    if P.shape[0] > 20_000 and width * P.shape[0] > 100_000_000:
        return None
    A, right = _balance(P)
    try:
        return _completed(linear.splu(A, permc_spec="COLAMD").solve(right))
    except (RuntimeError, MemoryError):
        return None


def solved(P: Any) -> np.ndarray | None:
    A, right = _balance(P)
    try:
        incomplete = linear.spilu(A, drop_tol=1e-4, fill_factor=10)
    except (RuntimeError, MemoryError):
        return None
    inverse = linear.LinearOperator(A.shape, incomplete.solve)
    head, _ = linear.gmres(A, right, M=inverse, rtol=1e-13, restart=50, maxiter=20)
    return _completed(head)
