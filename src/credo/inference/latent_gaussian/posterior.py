"""`LatentPosterior`: the Gaussian that Laplace's method or EP puts on f, with the evidence and its gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from credo.errors import UnavailableError
from credo.inference.latent_gaussian.mode import Sites
from credo.inference.latent_gaussian.prior import DenseConditioned, GaussianPrior, WeightConditioned
from credo.inference.result import Result
from credo.numerics.cholesky import cholesky

__all__ = ["LatentPosterior", "difference"]

# A fourth-order stencil on functions of log-like parameters: truncation and rounding both near 1e-11.
STEP = 0.01


@dataclass(frozen=True)
class LatentPosterior:
    """q(f) = N(mean, Σ).

    log_evidence : log ∫ p(y | f) dN(f; m, K), approximated
    state : the prior given the sites that make q
    slope : ∂/∂f_i of the approximation at the mode by way of the sites' curvature (Laplace), or zero (EP)
    psi_slope : ∂ log evidence/∂ψ, a function of no argument
    """

    prior: GaussianPrior
    sites: Sites
    state: Any
    log_evidence: float
    result: Result
    slope: np.ndarray
    psi_slope: Callable[[], np.ndarray] = field(repr=False)

    @property
    def mean(self) -> np.ndarray:
        """(n,)."""
        return self.state.mean

    @property
    def variance(self) -> np.ndarray:
        """(n,)."""
        return self.state.variance

    @property
    def inference(self) -> str:
        return self.result.inference

    def covariance(self) -> np.ndarray:
        """Σ (n, n)."""
        if isinstance(self.state, DenseConditioned):
            return self.state.covariance()
        return self.state.spread(np.eye(self.mean.size))

    def predict(self, cross: Any, variance: Any, mean: Any = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance (q,) of f at q new points: `cross` (n, q) is their prior covariance with f."""
        if not isinstance(self.state, DenseConditioned):
            raise UnavailableError("predict takes covariances; a posterior of weights predicts by its `weights`.")
        cross = np.asarray(cross, dtype=np.float64)
        left = np.maximum(np.asarray(variance) - self.state.reduction(cross), 0.0)
        return mean + cross.T @ self.state.coordinates, left

    def weights(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean (P,) of w and the lower Cholesky factor of its precision (P, P): what `SplitProposal` takes."""
        if not isinstance(self.state, WeightConditioned):
            raise UnavailableError("This posterior is of f, and has no weights: see `whitened`.")
        return self.state.weights()

    def whitened(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean (n,) and lower factor of the precision of z, f = m + chol(K) z, whether K is singular or not.

        What `SplitProposal` takes; `log_joint` is the density its importance weights go towards.
        """
        if isinstance(self.state, WeightConditioned):
            return self.state.coordinates, self.state.lower
        root = cholesky(self.state.prior.covariance, "the prior covariance").lower
        precision = root.T @ (self.state.tau[:, None] * root)
        precision[np.diag_indices_from(precision)] += 1.0
        return root.T @ self.state.coordinates, cholesky(precision, "the precision of the whitened latents").lower

    def log_joint(self, z: np.ndarray) -> np.ndarray:
        """log p(y | f) N(z; 0, I) of whitened latents z (S, ·): importance weights against it check the Gaussian."""
        z = np.atleast_2d(z)
        if isinstance(self.state, WeightConditioned):
            f = self.state.prior.mean + z @ self.state.prior.design.T
        else:
            f = self.prior.mean + z @ cholesky(self.state.prior.covariance, "the prior covariance").lower.T
        terms = self.sites.likelihood.log_prob(self.sites.y, f, self.sites.psi)
        if self.sites.weights is not None:
            terms = self.sites.weights * terms
        return terms.sum(axis=-1) - 0.5 * np.sum(z * z + np.log(2.0 * np.pi), axis=-1)

    def evidence_weights(self) -> tuple[np.ndarray, np.ndarray]:
        """W and w with d log evidence = Σ W ∘ dK + wᵀ dm: all hyperparameters of a kernel by one contraction with W.

        W (n, n), or (P, P) for changes of S₀; w (n,). Exact at convergence: for Laplace with the move of the mode, for
        EP because its sites are stationary. Cost n³.
        """
        state = self.state
        pull = state.nu - state.tau * (state.mean - self.prior.mean)  # = K⁻¹(E f − m)
        moved = state.relax(self.slope)  # Laplace's slope · ∂f̂ = movedᵀ (dK pull + dm)
        weight = state.still()
        if np.any(moved):
            cross = 0.5 * np.multiply.outer(state.lift(moved), state.lift(pull))
            weight += cross
            weight += cross.T
        return weight, pull + moved

    def evidence_gradient(self, changes: Any, mean_changes: Any = ()) -> tuple[np.ndarray, np.ndarray]:
        """∂ log evidence for each change of the prior's covariance (dK, or dS₀ of the weights), and of its mean.

        `changes` yields matrices, or functions of no argument that make one: one at a time is held. Cost n³, then n²
        each.
        """
        weight, along = self.evidence_weights()
        matrices = (np.asarray(change() if callable(change) else change, dtype=np.float64) for change in changes)
        gradient = [float(np.vdot(weight, matrix)) for matrix in matrices]
        return np.array(gradient), np.array([float(along @ np.asarray(d, dtype=np.float64)) for d in mean_changes])

    def auxiliary_gradient(self) -> np.ndarray:
        """∂ log evidence/∂ψ (a,), without ψ's prior."""
        return self.psi_slope()


def difference(f: Callable[[np.ndarray], np.ndarray], psi: np.ndarray) -> list[np.ndarray]:
    """∂f/∂ψ_k for each k, by fourth-order differences."""
    slopes = []
    for k in range(psi.size):
        step = STEP * np.eye(psi.size)[k]
        near, far = f(psi + step) - f(psi - step), f(psi + 2.0 * step) - f(psi - 2.0 * step)
        slopes.append((8.0 * near - far) / (12.0 * STEP))
    return slopes
