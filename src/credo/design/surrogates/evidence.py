"""`evidence_of`: log p(z | θ) of the usual surrogate and its slope, by formulas of its own: learning is half an ask.

Notation
    x (n, k)     rows, centred and divided by lengthscales;  r = √(5 Σ_j (x_aj − x_bj)²)
    K_y = L Lᵀ   (1 + r + r²/3) e^−r + diag(s/p);  P = K_y⁻¹;  A = 1ᵀP1;  β = 1ᵀPz/A;  α = P(z − β)
    M            ½(ααᵀ − P + P1 1ᵀP/A), with which every slope is contracted:
                 ∂K_ab/∂log ℓ_j = (5/3)(1 + r) e^−r (x_aj − x_bj)²
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
from scipy.spatial.distance import pdist, squareform

from credo.kernels import Matern
from credo.models.gaussian_process.belief import Belief
from credo.models.gaussian_process.noise import Learned

__all__ = ["evidence_of", "matern_of"]

_LAPACK: Any = scipy.linalg.lapack  # compiled: no type checker sees into it
_BLAS: Any = scipy.linalg.blas


def evidence_of(belief: Belief) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """θ (h,) → log p(z | θ) up to a constant, and its slope (h,); z is what the belief has seen.

    Quick where the kernel is Matérn 5/2 over numbers, the mean a constant, and one noise is learned; otherwise, and
    where the matrix needs jitter, the belief's own. Cost n³ a call.
    """
    mean, kernel = belief.mean, belief.kernel
    usual = isinstance(kernel, Matern) and kernel.nu == 2.5 and mean.kind == "constant" and mean.flat
    usual = usual and isinstance(belief.noise, Learned) and belief.observations.y.shape[1] == 1
    return _Evidence(belief) if usual and kernel.theta.size == belief.observations.X.shape[1] else _own(belief)


def _own(belief: Belief) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    def evaluated(theta: np.ndarray) -> tuple[float, np.ndarray]:
        score = belief.at(theta).evidence()
        return score.value, score.theta

    return evaluated


class _Evidence:
    def __init__(self, belief: Belief) -> None:
        self.belief, seen = belief, belief.observations
        self.X = seen.X - seen.X.mean(axis=0)
        # Without copies there is nothing beside the likelihood of the distinct rows.
        self.copies = bool(np.any(seen.count != 1.0) or np.any(seen.precision != 1.0))
        self.both = np.asfortranarray(np.column_stack([np.ones(len(seen.y)), seen.y[:, 0]]))

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        seen = self.belief.observations
        x, s = self.X * np.exp(-theta[:-1]), float(np.exp(2.0 * theta[-1]))
        K, sloped = _matrices(x)
        K[np.diag_indices_from(K)] = 1.0 + s / seen.precision
        lower, info = _LAPACK.dpotrf(K.T, lower=1, clean=1, overwrite_a=1)
        if info != 0:
            return _own(self.belief)(theta)
        ones, alpha = _LAPACK.dpotrs(lower, self.both, lower=1)[0].T
        information = float(ones.sum())
        beta = float(alpha.sum()) / information
        alpha = alpha - beta * ones
        value = -0.5 * float(self.both[:, 1] @ alpha) - float(np.log(lower.diagonal()).sum())
        value -= 0.5 * float(np.log(information))
        weight = np.column_stack([alpha, ones / np.sqrt(information)])
        M = _BLAS.dsyrk(0.5, weight, -0.5, _LAPACK.dpotri(lower, lower=1, overwrite_c=1)[0], lower=1, overwrite_c=1)
        by_s = float(np.sum(M.diagonal() / seen.precision))
        if self.copies:
            rest, slope = seen.rest(np.full(len(x), s))
            value, by_s = value + rest, by_s + float(slope.sum())
        # The lower triangle alone, with a diagonal of 0: its sums over pairs are half of those of the whole.
        M *= sloped
        total = (M.sum(axis=0) + M.sum(axis=1)) @ np.square(x) - 2.0 * np.einsum("aj,aj->j", x, M @ x)
        return value, np.append((10.0 / 3.0) * total, 2.0 * s * by_s)


def _matrices(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """k and (1 + r) e^−r (n, n), with zeros on their diagonals."""
    k, sloped = matern_of(pdist(x, "sqeuclidean"))
    return squareform(k, checks=False), squareform(sloped, checks=False)


def matern_of(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """k and (1 + r) e^−r from squared distances, in their place."""
    q *= 5.0
    r = np.sqrt(q)
    decay = np.exp(-r)
    r += 1.0
    r *= decay
    q *= decay
    q /= 3.0
    q += r
    return q, r
