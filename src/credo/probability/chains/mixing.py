"""How fast a regular chain forgets its start."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse.linalg as linear

from credo.errors import MemoryLimitError, NumericalError, ParameterError

__all__ = ["after", "distances_to", "gap_of", "steps_to_mix"]

# All eigenvalues of a dense matrix of this size take seconds; beyond, Arnoldi iteration finds the two largest.
DENSE = 1000
# Krylov vectors held, and restarts: some 10,000 products with P. A gap that takes more is too small for this.
KRYLOV, RESTARTS = 60, 200
# Bytes of dense powers: a dozen of 4,000 states.
MEMORY_LIMIT = 4 * 2**30


def gap_of(P: Any) -> float:
    """1 − |λ₂| of a regular chain."""
    n = P.shape[0]
    if n == 1:
        return 1.0
    if n <= DENSE:
        values = np.sort(np.abs(np.linalg.eigvals(P.toarray())))
        return float(max(1.0 - values[-2], 0.0))
    try:
        values = linear.eigs(P, k=2, which="LM", return_eigenvectors=False, v0=np.ones(n) + np.arange(n) / n,
                             ncv=KRYLOV, maxiter=RESTARTS)  # fmt: skip
    except linear.ArpackNoConvergence as error:
        raise NumericalError(
            "MarkovChain.spectral_gap: Arnoldi iteration did not settle; the gap is too small to tell from 0.",
            value=error.eigenvalues,
            remedy="Look at distance_to_stationary(start, steps) instead.",
        ) from None
    return float(max(1.0 - np.sort(np.abs(values))[0], 0.0))


def steps_to_mix(P: Any, pi: np.ndarray, eps: float) -> int:
    """Fewest t with max_i ½ Σ_j |Pᵗ_ij − π_j| ≤ eps; the distance never rises with t, so squares bracket it.

    `MemoryLimitError` before 4 dense powers of the sparse P would exceed 4 GiB.
    """
    needed = 4 * 8 * P.shape[0] ** 2
    if needed > MEMORY_LIMIT:
        raise MemoryLimitError(
            f"MarkovChain.mixing_time: powers of {P.shape[0]:,} states would need {needed / 2**30:.3g} GiB and more, "
            f"above {MEMORY_LIMIT / 2**30:.3g} GiB.",
            value=needed,
            remedy="Follow distance_to_stationary(start, steps) from the starts that matter.",
        )
    squares = [P.toarray()]
    while _distance(squares[-1], pi) > eps:
        if len(squares) > 60:
            raise NumericalError("MarkovChain.mixing_time is beyond 10^18 steps.", value=_distance(squares[-1], pi))
        square = squares[-1] @ squares[-1]
        squares.append(square / square.sum(axis=1, keepdims=True))
    if len(squares) == 1:
        return 1 if np.max(1.0 - pi) > eps else 0  # after 0 steps the law is a point: at distance 1 − π_i
    reached, steps = squares[-2], 1 << (len(squares) - 2)
    for k in range(len(squares) - 3, -1, -1):  # the largest t that is still too far
        further = reached @ squares[k]
        if _distance(further, pi) > eps:
            reached, steps = further, steps + (1 << k)
    return steps + 1


def after(law: np.ndarray, P: np.ndarray, steps: int) -> np.ndarray:
    """law Pᵏ by repeated squaring; rows of the squares are kept at sum 1, or their rounding would double with them."""
    while steps:
        if steps & 1:
            law = law @ P
        steps >>= 1
        if steps:
            P = P @ P
            P /= P.sum(axis=1, keepdims=True)
    return law / law.sum()


def _distance(power: np.ndarray, pi: np.ndarray) -> float:
    return float(0.5 * np.abs(power - pi).sum(axis=1).max())


def distances_to(pi: np.ndarray, P: Any, law: np.ndarray, steps: int) -> np.ndarray:
    """½ Σ |law_t − π|, (steps + 1,)."""
    if steps < 0:
        raise ParameterError("MarkovChain.distance_to_stationary", "steps", "an integer ≥ 0", steps)
    back, found = P.T.tocsr(), np.empty(steps + 1)
    for t in range(steps + 1):
        found[t] = 0.5 * np.abs(law - pi).sum()
        law = back @ law
    return found
