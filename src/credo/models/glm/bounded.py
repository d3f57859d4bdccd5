"""Uniform priors: the mode within bounds, and coordinates without bounds for chains.

    θ = low + (high − low) σ(u),  σ(u) = 1/(1 + e⁻ᵘ)

p(u) = p(θ) dθ/du has no edge, so trajectories need not know of one.
"""

from __future__ import annotations

import numpy as np
import scipy.optimize
from scipy.special import expit

from credo.models.glm.prior import GlmPrior
from credo.models.scale_mixtures import Box

__all__ = ["Unbounded", "bounds_of", "minimise_within"]

# Chains start, and are whitened, at least this share of the width from either bound: σ is flat beyond.
INSIDE = 0.05


def bounds_of(prior: GlmPrior) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper bounds (K,), infinite where there are none."""
    low, high = np.full(prior.size, -np.inf), np.full(prior.size, np.inf)
    for where, mixture in prior.mixed:
        if isinstance(mixture, Box):
            low[where], high[where] = mixture.low, mixture.high
    return low, high


def minimise_within(
    gram: np.ndarray, pull: np.ndarray, theta: np.ndarray, bounds: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """argmin ½ (t − θ)ᵀ gram (t − θ) − pull·(t − θ) within bounds, gram's eigenvalues made positive: (K,)."""
    scale = 1.0 / np.sqrt(np.maximum(np.abs(np.diag(gram)), np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(gram * scale[:, None] * scale)
    values = np.maximum(np.abs(values), values.size * np.finfo(float).eps * np.abs(values).max())
    rows = np.sqrt(values)[:, None] * vectors.T / scale
    target = vectors.T @ (scale * pull) / np.sqrt(values)
    ends = tuple(end - theta for end in bounds)
    return theta + scipy.optimize.lsq_linear(rows, target, ends, method="bvls").x


class Unbounded:
    """The map u (…, K) → θ (…, K), the identity where a prior has no bounds."""

    def __init__(self, prior: GlmPrior) -> None:
        low, high = bounds_of(prior)
        self.bounded = np.isfinite(low)
        self.low, self.width = low[self.bounded], (high - low)[self.bounded]

    def theta(self, u: np.ndarray) -> np.ndarray:
        theta = u.copy()
        theta[..., self.bounded] = self.low + self.width * expit(u[..., self.bounded])
        return theta

    def inverse(self, theta: np.ndarray) -> np.ndarray:
        """u of θ moved inside, by a twentieth of the width at least."""
        u = theta.copy()
        share = np.clip((theta[..., self.bounded] - self.low) / self.width, INSIDE, 1.0 - INSIDE)
        u[..., self.bounded] = np.log(share) - np.log1p(-share)
        return u

    def slope(self, u: np.ndarray) -> np.ndarray:
        """dθ/du, (…, K)."""
        slope = np.ones(u.shape)
        inner = u[..., self.bounded]
        slope[..., self.bounded] = self.width * expit(inner) * expit(-inner)
        return slope

    def log_slope(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Σ log dθ/du (…,) and its gradient in u (…, K)."""
        inner, gradient = u[..., self.bounded], np.zeros(u.shape)
        gradient[..., self.bounded] = expit(-inner) - expit(inner)
        size = np.abs(inner)
        return (np.log(self.width) - size - 2.0 * np.log1p(np.exp(-size))).sum(axis=-1), gradient

    def precision_lower(self, precision: np.ndarray, u: np.ndarray) -> np.ndarray:
        """The Cholesky factor of a precision (K, K) of θ, for u about (K,) u: with what the map itself bends."""
        slope, inner = self.slope(u), u[self.bounded]
        matrix = precision * slope[:, None] * slope
        at = np.flatnonzero(self.bounded)
        matrix[at, at] += 2.0 * expit(inner) * expit(-inner)
        return np.linalg.cholesky(matrix)
