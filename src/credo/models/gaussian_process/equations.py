"""Evidence, left-out scores and conditional laws of a Gaussian process whose mean's coefficients are integrated out.

Notation
    K (n, n) = K(X, X) + diag(v), of which only a `Factored` is seen; y (n, T) targets with one covariance
    H (n, q) design of the mean, β ~ N(b, B) or flat (B⁻¹ = 0)
    A = HᵀK⁻¹H + B⁻¹;  β̂ = A⁻¹(HᵀK⁻¹y + B⁻¹b);  R = y − Hβ̂;  α = K⁻¹R

    log p(y) = Σ_t −½ R_tᵀα_t − ½ (β̂_t − b)ᵀB⁻¹(β̂_t − b)  − T/2 (log|K| + log|A| − log|B⁻¹|) − T/2 (n − q̃) log 2π

q̃ = q where flat, else 0, and log|B⁻¹| = 0 where flat. Rasmussen & Williams (2006), eqs 2.40 to 2.45.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from credo.models.gaussian_process.solvers.base import Factored
from credo.models.gaussian_process.solvers.exact import ExactFactor
from credo.numerics.cholesky import cholesky, solve_lower

__all__ = ["Conditioned", "Score", "condition", "evidence", "left_out", "left_out_score", "predict"]

LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True, eq=False)
class Conditioned:
    """K and what it is conditioned on: R, α (n, T), β̂ (q, T), H (n, q), the factor of A (q, q), b (q,), B⁻¹ (q, q)."""

    factored: Factored
    residual: np.ndarray
    dual: np.ndarray
    coefficients: np.ndarray
    design: np.ndarray
    root: np.ndarray
    location: np.ndarray
    precision: np.ndarray

    @property
    def flat(self) -> bool:
        return not self.precision.any()


class Score(NamedTuple):
    """A score in nats with its gradients in θ (h,) and v (n,)."""

    value: float
    theta: np.ndarray
    noise: np.ndarray


def condition(
    factored: Factored, y: np.ndarray, design: np.ndarray, location: np.ndarray, precision: np.ndarray
) -> Conditioned:
    """The belief about β and the residuals that remain for f. Cost of solving with q columns."""
    q = design.shape[1]
    if not q:
        empty = np.empty((0, 0))
        return Conditioned(
            factored, y, factored.solve(y), np.empty((0, y.shape[1])), design, empty, location, precision
        )
    both = factored.solve(np.concatenate([design, y], axis=1))
    solved, dual = both[:, :q], both[:, q:]
    information = design.T @ solved + precision
    root = cholesky(0.5 * (information + information.T), "Information about the mean's coefficients").lower
    right = design.T @ dual + (precision @ location)[:, None]
    beta = solve_lower(root, solve_lower(root, right), transpose=True)
    return Conditioned(factored, y - design @ beta, dual - solved @ beta, beta, design, root, location, precision)


def evidence(c: Conditioned, gradient: bool = True) -> Score:
    """log p(y), and its gradients where asked, which `Factored.gradient` gives: those of −½ log|A| are those of
    −½ Σ uᵀK⁻¹u at u = columns of H A^{−T/2}, with the sign turned by ∂A = −HᵀK⁻¹ ∂K K⁻¹H."""
    n, targets = c.residual.shape
    q = c.design.shape[1]
    value = -0.5 * float(np.vdot(c.residual, c.dual)) - 0.5 * targets * c.factored.log_determinant
    value -= 0.5 * targets * (n - (q if c.flat else 0)) * LOG_2PI
    if q:
        value -= targets * float(np.sum(np.log(np.diag(c.root))))
        if not c.flat:
            gap = c.coefficients - c.location[:, None]
            value -= 0.5 * float(np.vdot(gap, c.precision @ gap))
            value += 0.5 * targets * float(np.linalg.slogdet(c.precision)[1])
    if not gradient:
        return Score(value, np.empty(0), np.empty(0))
    U = c.residual
    if q:
        U = np.concatenate([U, np.sqrt(targets) * solve_lower(c.root, c.design.T).T], axis=1)
    return Score(value, *c.factored.gradient(U, float(targets)))


def predict(c: Conditioned, X: np.ndarray, design: np.ndarray, joint: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Mean (m, T) of h(x)ᵀβ + f(x) at rows X, and its variances (m,) or covariances (m, m), β integrated out."""
    targets = c.residual.shape[1]
    both, variance = c.factored.predict(X, np.concatenate([c.residual, c.design], axis=1), joint)
    mean = both[:, :targets] + design @ c.coefficients
    if design.shape[1]:
        # What h says beyond what f's own conditioning took away of it: (H* − K*K⁻¹H) A^{−T/2}.
        half = solve_lower(c.root, (design - both[:, targets:]).T)
        variance = variance + (half.T @ half if joint else np.einsum("qm,qm->m", half, half))
    return mean, variance


def projected_diagonal(c: Conditioned) -> np.ndarray:
    """diag P (n,), P = K⁻¹ − K⁻¹H A⁻¹HᵀK⁻¹."""
    diagonal = c.factored.inverse_diagonal()
    if not c.design.shape[1]:
        return diagonal
    half = solve_lower(c.root, c.factored.solve(c.design).T)
    return diagonal - np.einsum("qn,qn->n", half, half)


def left_out(
    c: Conditioned, y: np.ndarray, own: np.ndarray, rest: np.ndarray, row: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Means (N, T) and variances (N,) of y_i with row i left out, the mean's coefficients integrated.

    With κ = diag P, f(x_g) without all that was seen at x_g is N(ȳ − α/κ, 1/κ − v); what copies of the row remain is
    then added to it.

    y (N, T), own (N,) its noise variance; rest : (N, 1 + T), precision of the copies that remain and, times that
    precision, their mean; row (N,) : the distinct row of each
    Rasmussen & Williams (2006), eqs 5.10 to 5.12.
    """
    kappa = projected_diagonal(c)
    seen = c.residual + c.design @ c.coefficients
    away = (seen - c.dual / kappa[:, None])[row]
    spread = np.maximum(1.0 / kappa - c.factored.noise, 0.0)[row]
    shrink = 1.0 + spread * rest[:, 0]
    mean = (away + spread[:, None] * rest[:, 1:]) / shrink[:, None]
    return mean, spread / shrink + own


def projected_inverse(c: Conditioned) -> np.ndarray:
    """P (n, n) = K⁻¹ − K⁻¹H A⁻¹HᵀK⁻¹; of a dense factor only."""
    assert isinstance(c.factored, ExactFactor)
    P = c.factored.inverse()
    if c.design.shape[1]:
        half = solve_lower(c.root, (P @ c.design).T)
        P -= half.T @ half
    return P


def left_out_score(c: Conditioned, folds: Sequence[np.ndarray]) -> Score:
    """Σ over folds F of log p(y_F | the other rows), in closed form, with its gradients.

    With P as in `projected_inverse`, α = K⁻¹R and β_F = P_FF⁻¹ α_F,

        log p(y_F | rest) = ½ log|P_FF| − ½ α_Fᵀβ_F − |F|/2 log 2π.

    Since dP = −P dK P, the matrix contracted with dK is  −P C P + sym(P β αᵀ),  C = ⊕_F ½ (P_FF⁻¹ + β_F β_Fᵀ)
    summed over targets. Folds of one row are leave-one-out (Rasmussen & Williams 2006, §5.4.2). Cost 2n³ beyond K⁻¹.
    """
    P = projected_inverse(c)
    n, targets = c.residual.shape
    alpha = c.dual
    beta, C, value = np.empty_like(alpha), np.zeros((n, n)), -0.5 * n * targets * LOG_2PI
    for fold in folds:
        at = np.ix_(fold, fold)
        root = cholesky(P[at], "The precision of a fold").lower
        inverse = solve_lower(root, np.eye(fold.size))
        inverse = inverse.T @ inverse
        beta[fold] = inverse @ alpha[fold]
        C[at] = 0.5 * (targets * inverse + beta[fold] @ beta[fold].T)
        value += targets * float(np.sum(np.log(np.diag(root)))) - 0.5 * float(np.vdot(alpha[fold], beta[fold]))
    weight = -(P @ C @ P)
    cross = (P @ beta) @ alpha.T
    weight += 0.5 * (cross + cross.T)
    assert isinstance(c.factored, ExactFactor)
    return Score(value, *c.factored.pull_back(weight))
