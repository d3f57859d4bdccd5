"""Metrics of Hamiltonian kernels: a linear map A with A Aᵀ ≈ the target's covariance.

With q = A z the kernel runs in z under unit mass: `colour(r)` = A r turns whitened velocities into moves, `whiten(g)` =
Aᵀ g turns gradients into whitened ones. No inverse occurs. (In the usual terms M⁻¹ = A Aᵀ, p = A⁻ᵀ r.)

What is learned from draws x and gradients g minimises the Fisher divergence between the target and N(·, A Aᵀ), which
makes whitened draws and whitened gradients equally large: diagonal σ² = √(var x / var g); dense Σ with Σ G Σ = C
(C = cov x, G = cov g), the geometric mean of C and G⁻¹. For a Normal target dim + 1 draws give Σ exactly, where the
covariance of draws alone would need many more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.errors import ParameterError
from credo.numerics.cholesky import cholesky

__all__ = ["Metric", "Diagonal", "Dense", "LowRank", "metric_from", "learn_metric"]


@dataclass(frozen=True, eq=False)
class Diagonal:
    """A = diag(scale), `scale` (dim,) > 0."""

    scale: np.ndarray

    def colour(self, r: np.ndarray) -> np.ndarray:
        return self.scale * r

    def whiten(self, g: np.ndarray) -> np.ndarray:
        return self.scale * g


@dataclass(frozen=True, eq=False)
class Dense:
    """A = lower (dim, dim), a Cholesky factor: O(dim²) a product."""

    lower: np.ndarray

    def __post_init__(self) -> None:
        object.__setattr__(self, "_upper", np.ascontiguousarray(self.lower.T))

    def colour(self, r: np.ndarray) -> np.ndarray:
        return self.lower.dot(r)

    def whiten(self, g: np.ndarray) -> np.ndarray:
        return self._upper.dot(g)  # type: ignore[attr-defined]


@dataclass(frozen=True, eq=False)
class LowRank:
    """A = diag(scale) (I + U (diag(√values) − I) Uᵀ), U = `vectors` (dim, k) orthonormal: O(dim k) a product."""

    scale: np.ndarray
    vectors: np.ndarray
    values: np.ndarray

    def _stretch(self, r: np.ndarray) -> np.ndarray:
        return r + self.vectors @ ((np.sqrt(self.values) - 1.0) * (r @ self.vectors))

    def colour(self, r: np.ndarray) -> np.ndarray:
        return self.scale * self._stretch(r)

    def whiten(self, g: np.ndarray) -> np.ndarray:
        return self._stretch(self.scale * g)


Metric = Diagonal | Dense | LowRank


def metric_from(covariance: Any) -> Metric:
    """The metric of a known covariance (dim, dim), or of variances (dim,).

    >>> metric_from([4.0, 9.0]).colour(np.ones(2)).tolist()
    [2.0, 3.0]
    """
    covariance = np.asarray(covariance, dtype=np.float64)
    if covariance.ndim == 2:
        return Dense(cholesky(covariance, "metric").lower)
    if covariance.ndim != 1 or not np.all(np.isfinite(covariance) & (covariance > 0)):
        raise ParameterError("", "metric", "variances (dim,) > 0 or a covariance (dim, dim)", covariance)
    return Diagonal(np.sqrt(covariance))


#: sd of a coordinate times that of its gradient: 1 for independent Normals, some 1e6 at correlations of 1 − 1e-12.
#: Beyond, chains are still falling from where they began, which tells nothing of the shape.
CLIFF = 1e6


def learn_metric(kind: str, draws: np.ndarray, gradients: np.ndarray) -> Metric | None:
    """The metric of `kind` ("diagonal", "dense", "low_rank") from draws and gradients (n, dim); None from too little.

    Cost O(n dim) for the diagonal, O(n dim² + dim³) dense, O(n² dim) low rank.
    """
    spread_x, spread_g = draws.std(axis=0), gradients.std(axis=0)
    if len(draws) < 3 or not np.all((spread_x > 0) & (spread_g > 0) & np.isfinite(spread_x) & np.isfinite(spread_g)):
        return None
    if np.max(spread_x * spread_g) > CLIFF:
        return None
    scale = np.sqrt(spread_x / spread_g)
    if kind == "diagonal":
        return Diagonal(scale)
    x, g = (draws - draws.mean(axis=0)) / scale, (gradients - gradients.mean(axis=0)) * scale
    if kind == "dense":
        return Dense(scale[:, None] * cholesky(_balance(x, g), "metric").lower)
    return _low_rank(scale, x, g)


def _balance(x: np.ndarray, g: np.ndarray) -> np.ndarray:
    """The Σ with Σ G Σ = C, for C and G from standardised rows, each with one pseudo-row of the identity.

    The pseudo-row keeps both definite for n < dim and vanishes as 1/n. Σ = G^{-½} (G^{½} C G^{½})^{½} G^{-½}.
    """
    n, dim = x.shape
    c, g = (x.T @ x + np.eye(dim)) / n, (g.T @ g + np.eye(dim)) / n
    values, vectors = np.linalg.eigh(g)
    root = np.sqrt(values)
    half, inverse_half = (vectors * root) @ vectors.T, (vectors / root) @ vectors.T
    inner, axes = np.linalg.eigh(half @ c @ half)
    middle = (axes * np.sqrt(np.maximum(inner, 0.0))) @ axes.T
    return inverse_half @ middle @ inverse_half


#: directions whose variance is within a factor 2 of the diagonal's are left to it (Seyboldt et al. 2025 use the same)
WORTHWHILE = 2.0


def _low_rank(scale: np.ndarray, x: np.ndarray, g: np.ndarray) -> Metric:
    """The dense rule in the span of the draws and gradients, keeping the directions that matter."""
    basis, weights, _ = np.linalg.svd(np.concatenate([x, g]).T, full_matrices=False)
    basis = basis[:, weights > 1e-10 * weights[0]]
    values, vectors = np.linalg.eigh(_balance(x @ basis, g @ basis))
    keep = (values > WORTHWHILE) | (values < 1.0 / WORTHWHILE)
    return LowRank(scale, basis @ vectors[:, keep], values[keep]) if keep.any() else Diagonal(scale)
