"""Laplace's method for k classes, one latent function each: f_c ~ N(m_c, K_c), y_i ~ softmax(f_i1 … f_ik).

The curvature W = diag(π) − Π Πᵀ couples the k functions of a row. With E_c = D_c^½ (I + D_c^½ K_c D_c^½)⁻¹ D_c^½, D_c =
diag π_c, everything costs k Cholesky factors of n and one of Σ_c E_c, (k + 1) n³/3, and no (nk)³:

    (K + W⁻¹)⁻¹ = E − E R M⁻¹ Rᵀ E,   M = Σ_c E_c,   R stacks k identities.

Reference: Rasmussen and Williams (2006), §3.5, algorithms 3.3 and 3.4.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from credo.distributions.likelihoods import CategoricalLogit
from credo.errors import ParameterError
from credo.inference.newton import MAX_HALVINGS, MAX_ITER, SUFFICIENT, TOLERANCE
from credo.inference.result import Result
from credo.numerics.cholesky import cholesky, log_determinant

__all__ = ["SoftmaxPosterior", "laplace_softmax"]


@dataclass(frozen=True)
class SoftmaxPosterior:
    """Gaussian at the mode: `mean` (n, k); what predicts new points; log_evidence.

    pull : K⁻¹(f̂ − m) = y − π (n, k)
    """

    mean: np.ndarray
    pull: np.ndarray
    log_evidence: float
    result: Result
    e: np.ndarray
    factor: np.ndarray

    def predict(self, cross: Any, covariance: Any, mean: Any = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Mean (q, k) and covariance (q, k, k) at q new points.

        cross : (k, n, q) or (n, q), prior covariances with the training points; covariance : (k, q) or (q,), variances
        """
        k, n = self.e.shape[0], self.e.shape[1]
        cross = np.broadcast_to(np.asarray(cross, dtype=np.float64), (k, n, np.shape(cross)[-1]))
        q = cross.shape[2]
        narrowed = np.einsum("cij,cjq->ciq", self.e, cross)
        coupled = scipy.linalg.cho_solve((self.factor, True), narrowed.transpose(1, 0, 2).reshape(n, k * q))
        coupled = coupled.reshape(n, k, q)
        # Cov(c, d) = δ (k** − k*ᵀE_c k*) + k*ᵀE_c M⁻¹ E_d k*
        joint = np.einsum("cnq,ndq->qcd", narrowed, coupled)
        own = np.broadcast_to(np.asarray(covariance, dtype=np.float64), (k, q)) - np.einsum(
            "cnq,cnq->cq", cross, narrowed
        )
        joint[:, np.arange(k), np.arange(k)] += own.T
        return mean + np.einsum("cnq,nc->qc", cross, self.pull), joint


def laplace_softmax(covariances: Any, y: Any, n_classes: int, mean: Any = 0.0) -> SoftmaxPosterior:
    """The mode of the k latent functions and the Gaussian there.

    Parameters
    ----------
    covariances : (k, n, n), or (n, n) shared by the classes
    y : codes (n,) 0..k−1; mean : prior mean, broadcasting to (n, k)

    Examples
    --------
    >>> fit = laplace_softmax(np.eye(2), [0, 2], 3)
    >>> fit.mean.round(4).tolist()
    [[0.4897, -0.2448, -0.2448], [-0.2448, -0.2448, 0.4897]]
    """
    likelihood = CategoricalLogit(n_classes)
    codes = likelihood.check(y)
    n, k = codes.size, n_classes
    covariances = np.asarray(covariances, dtype=np.float64)
    if covariances.shape not in ((n, n), (k, n, n)):
        raise ParameterError("laplace_softmax", "covariances", f"({n}, {n}) or ({k}, {n}, {n})", covariances.shape)
    covariances = np.broadcast_to(covariances, (k, n, n))
    centre = np.broadcast_to(np.asarray(mean, dtype=np.float64), (n, k))
    f, value, result = _mode(covariances, codes, centre, likelihood)
    e, factor, half_log_determinant = _curvature(covariances, likelihood.mean(f))
    pull = likelihood.value_and_derivatives(codes, f, order=1)[1]
    return SoftmaxPosterior(f, pull, value - half_log_determinant, result, e, factor)


def _mode(
    covariances: np.ndarray, codes: np.ndarray, centre: np.ndarray, likelihood: CategoricalLogit
) -> tuple[np.ndarray, float, Result]:
    """f̂ (n, k), the objective there and the report, by Newton with halving; f = centre + K α."""
    began, status = time.perf_counter(), "max_iter"

    def objective(alpha: np.ndarray, shift: np.ndarray) -> float:
        return float(np.sum(likelihood.log_prob(codes, centre + shift)) - 0.5 * np.sum(alpha * shift))

    alpha, shift = np.zeros_like(centre), np.zeros_like(centre)
    value = objective(alpha, shift)
    trace, seconds = [value], [0.0]
    for _ in range(MAX_ITER):
        step, change, gain = _step(covariances, codes, centre, likelihood, alpha, shift)
        done = 0.5 * gain <= max(TOLERANCE, 8.0 * np.finfo(float).eps * abs(value))
        rounding = 64.0 * np.finfo(float).eps * (1.0 + abs(value))
        for halvings in range(MAX_HALVINGS):
            scale = 0.5**halvings
            trial = objective(alpha + scale * step, shift + scale * change)
            if trial >= value + SUFFICIENT * scale * gain - rounding:
                break
        else:  # no step gains: at the mode up to rounding, or stuck
            status = "converged" if done or gain <= 1e-8 * (1.0 + abs(value)) else "max_iter"
            break
        alpha, shift, value = alpha + scale * step, shift + scale * change, trial
        trace.append(value)
        seconds.append(time.perf_counter() - began)
        if done:
            status = "converged"
            break
    return centre + shift, value, Result(status, "laplace", tuple(trace), tuple(seconds))


def _step(
    covariances: np.ndarray,
    codes: np.ndarray,
    centre: np.ndarray,
    likelihood: CategoricalLogit,
    alpha: np.ndarray,
    shift: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, float]:
    """Newton's step in α and in f, and the slope of the objective along it. b = W g + ∇; α = b − (K + W⁻¹)⁻¹ K b."""
    _, slope = likelihood.value_and_derivatives(codes, centre + shift, order=1)
    p = likelihood.mean(centre + shift)
    e, factor, _ = _curvature(covariances, p)
    b = p * shift - p * np.sum(p * shift, axis=1, keepdims=True) + slope
    step = b - _reduce(e, factor, _apply(covariances, b)) - alpha
    change = _apply(covariances, step)
    return step, change, float(np.sum((slope - alpha) * change))


def _apply(matrices: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Each class's matrix (k, n, n) times its column of x (n, k)."""
    return np.einsum("cij,jc->ic", matrices, x)


def _curvature(covariances: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """E (k, n, n), the Cholesky factor of M = Σ E_c, and ½ log |I + K W|."""
    k, n = covariances.shape[:2]
    e, total = np.empty((k, n, n)), 0.0
    for c in range(k):
        root = np.sqrt(p[:, c])
        b = root[:, None] * covariances[c] * root
        b[np.diag_indices(n)] += 1.0
        lower = cholesky(b, "I + D^½ K D^½").lower
        half = scipy.linalg.solve_triangular(lower, np.diag(root), lower=True)
        e[c] = half.T @ half
        total += 0.5 * log_determinant(lower)
    factor = cholesky(e.sum(axis=0), "Σ E_c").lower
    return e, factor, total + 0.5 * log_determinant(factor)


def _reduce(e: np.ndarray, factor: np.ndarray, x: np.ndarray) -> np.ndarray:
    """(E − E R M⁻¹ Rᵀ E) x for x (n, k)."""
    inner = _apply(e, x)
    common = scipy.linalg.cho_solve((factor, True), inner.sum(axis=1))
    return inner - np.einsum("cij,j->ic", e, common)
