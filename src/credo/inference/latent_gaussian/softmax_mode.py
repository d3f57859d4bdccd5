"""The curvature of k softmax-coupled latent functions, and Newton's method for their mode.

Notation: x (k, n) or (k, n, q), a function a class; ω (n,) row weights; D_c = diag(ω π_c), W = D − D R (RᵀDR)⁻¹ RᵀD, R
stacks k identities, so that RᵀDR = diag ω.

With E_c = D_c^½ (I + D_c^½ K_c D_c^½)⁻¹ D_c^½ everything costs k Cholesky factors and inverses of n and one factor of
Σ_c E_c, (k + 1/3) n³, and no (nk)³:

    (K + W⁻¹)⁻¹ = E − E R M⁻¹ Rᵀ E,  M = Σ_c E_c;   |I + K W| = Π_c |I + D_c^½ K_c D_c^½| · |M| / |RᵀDR|

Reference: Rasmussen and Williams (2006), §3.5, algorithms 3.3 and 3.4.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from credo.distributions.likelihoods import CategoricalLogit
from credo.inference.latent_gaussian.mode import POLISH, WORTH
from credo.inference.latent_gaussian.prior import inverse_from
from credo.inference.newton import MAX_HALVINGS, MAX_ITER, SUFFICIENT, TOLERANCE
from credo.inference.result import Result
from credo.numerics.cholesky import cholesky, log_determinant

__all__ = ["Curvature", "SoftmaxTask", "softmax_mode"]


@dataclass(frozen=True, eq=False)
class SoftmaxTask:
    """K (k, n, n), codes (n,), prior mean (k, n), ω (n,), and the likelihood."""

    covariances: np.ndarray
    codes: np.ndarray
    mean: np.ndarray
    weights: np.ndarray
    likelihood: CategoricalLogit

    def apply(self, x: np.ndarray) -> np.ndarray:
        """K x, x (k, n) or (k, n, q)."""
        if x.ndim == 3:
            return self.covariances @ x
        return (self.covariances @ x[..., None])[..., 0]

    def log_prob(self, f: np.ndarray) -> np.ndarray:
        """ω log p (..., n) at f (k, n) or, of draws, (S, k, n)."""
        eta = np.moveaxis(f, -2, -1)
        return self.weights * self.likelihood.log_prob(np.broadcast_to(self.codes, eta.shape[:-1]), eta)

    def slope(self, f: np.ndarray) -> np.ndarray:
        """∂/∂f of it, (k, n): ω (y − π)."""
        return self.weights * self.likelihood.value_and_derivatives(self.codes, f.T, order=1)[1].T

    def objective(self, alpha: np.ndarray, shift: np.ndarray) -> float:
        """Σ ω log p − ½ αᵀKα at f = mean + shift, shift = K α."""
        return float(np.sum(self.log_prob(self.mean + shift)) - 0.5 * np.sum(alpha * shift))


class Curvature:
    """W of π (k, n) and ω (n,), with what solves by it: `e` (k, n, n), `factor` of M, `half_log_determinant`, which is
    ½ log |I + K W|."""

    def __init__(self, covariances: np.ndarray, p: np.ndarray, weights: np.ndarray) -> None:
        self.p, self.weights = np.ascontiguousarray(p), weights
        k, n = self.p.shape
        self.e, total = np.empty((k, n, n)), -0.5 * float(np.log(weights).sum())
        for c in range(k):
            root = np.sqrt(weights * self.p[c])
            b = root[:, None] * covariances[c] * root
            b[np.diag_indices(n)] += 1.0
            lower = cholesky(b, "I + D^½ K D^½").lower
            np.multiply(root[:, None] * inverse_from(lower), root, out=self.e[c])
            total += 0.5 * log_determinant(lower)
        self.factor = cholesky(self.e.sum(axis=0), "Σ E_c").lower
        self.half_log_determinant = total + 0.5 * log_determinant(self.factor)

    @classmethod
    def at(cls, task: SoftmaxTask, f: np.ndarray) -> Curvature:
        """That of the softmax at f (k, n)."""
        return cls(task.covariances, task.likelihood.mean(f.T).T, task.weights)

    def times(self, x: np.ndarray) -> np.ndarray:
        """W x, x (k, n)."""
        return self.weights * self.p * (x - np.sum(self.p * x, axis=0))

    def reduce(self, x: np.ndarray) -> np.ndarray:
        """(K + W⁻¹)⁻¹ x for x (k, n) or (k, n, q)."""
        inner = self.e @ (x if x.ndim == 3 else x[..., None])
        common = scipy.linalg.cho_solve((self.factor.T, False), inner.sum(axis=0), check_finite=False)
        result = inner - self.e @ common
        return result if x.ndim == 3 else result[..., 0]


def softmax_mode(task: SoftmaxTask, start: np.ndarray | None) -> tuple[np.ndarray, float, Result]:
    """f̂ (k, n), the objective there and the report, by Newton with halving; f = mean + K α. `start` is an α (k, n).

    As in `mode_of`, a step near the mode is taken with the last curvature.
    """
    began, status = time.perf_counter(), "max_iter"
    alpha = np.zeros_like(task.mean)
    shift, value = alpha.copy(), task.objective(alpha, alpha)
    if start is not None:
        moved = task.apply(start)
        reached = task.objective(start, moved)
        if not reached < value:
            alpha, shift, value = start, moved, reached
    trace, seconds = [value], [0.0]
    held, promised = None, 0.0
    for _ in range(MAX_ITER):
        f = task.mean + shift
        for fresh in (False, True):
            if not fresh and (held is None or not promised > 0.0):
                continue
            held = Curvature.at(task, f) if fresh or held is None else held
            step, change, gain = _step(task, held, alpha, shift)
            if gain <= WORTH * promised:
                break
        done = 0.5 * gain <= max(TOLERANCE, 8.0 * np.finfo(float).eps * abs(value))
        rounding = 64.0 * np.finfo(float).eps * (1.0 + abs(value))
        for halvings in range(MAX_HALVINGS):
            scale = 0.5**halvings
            trial = task.objective(alpha + scale * step, shift + scale * change)
            if trial >= value + SUFFICIENT * scale * gain - rounding:
                break
        else:  # no step gains: at the mode up to rounding, or stuck
            status = "converged" if done or gain <= 1e-8 * (1.0 + abs(value)) else "max_iter"
            break
        promised = gain if scale == 1.0 else 0.0
        alpha, shift, value = alpha + scale * step, shift + scale * change, trial
        trace.append(value)
        seconds.append(time.perf_counter() - began)
        if done:
            status = "converged"
            for _ in range(0 if fresh else POLISH):
                step, change, _ = _step(task, held, alpha, shift)
                alpha, shift = alpha + step, shift + change
            break
    return task.mean + shift, value, Result(status, "laplace", tuple(trace), tuple(seconds))


def _step(
    task: SoftmaxTask, held: Curvature, alpha: np.ndarray, shift: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """A step in α and in f, and the slope of the objective along it. b = W g + ∇; α = b − (K + W⁻¹)⁻¹ K b."""
    slope = task.slope(task.mean + shift)
    b = held.times(shift) + slope
    step = b - held.reduce(task.apply(b)) - alpha
    change = task.apply(step)
    return step, change, float(np.sum((slope - alpha) * change))
