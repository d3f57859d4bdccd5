"""`Factored`: what every solver makes of K_y = K(X, X) + diag(v), so that a Gaussian process need not know how.

Notation
    X (n, d) rows; v (n,) ≥ 0 noise variances; U (n, q) right sides, such as residuals and columns of a mean's design
    θ (h,) logs of the kernel's hyperparameters that are not fixed

A solver is a frozen record of its options; called with (kernel, X, v) it returns a `Factored`. What a `Factored`
approximates it says in `certificate`; what it calls K_y is then the matrix that it can solve with.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from credo.kernels import Kernel

__all__ = ["Factored", "Solver"]


class Factored(Protocol):
    """K_y of one kernel, one set of rows and one noise, ready to be solved with."""

    @property
    def kernel(self) -> Kernel: ...
    @property
    def X(self) -> np.ndarray: ...
    @property
    def noise(self) -> np.ndarray: ...
    @property
    def certificate(self) -> Mapping[str, Any]:
        """Jitter added, relative residual, number of neighbours, …"""
        ...

    @property
    def log_determinant(self) -> float:
        """log |K_y|, plus what the approximation's own objective adds to it (the trace term of inducing points)."""
        ...

    def solve(self, U: np.ndarray) -> np.ndarray:
        """K_y⁻¹ U, (n, q)."""
        ...

    def gradient(self, U: np.ndarray, copies: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
        """∂/∂θ (h,) and ∂/∂v (n,) of −½ Σ_q u_qᵀK_y⁻¹u_q − ½ copies log|K_y|, at fixed U."""
        ...

    def predict(self, X: np.ndarray, U: np.ndarray, joint: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """k(X, ·) K_y⁻¹ U (m, q), and the variances (m,) of f there, or all their covariances (m, m)."""
        ...

    def inverse_diagonal(self) -> np.ndarray:
        """diag K_y⁻¹ (n,): what leaving one row out in closed form takes."""
        ...


class Solver(Protocol):
    """A way of solving with K_y."""

    def __call__(self, kernel: Kernel, X: np.ndarray, noise: np.ndarray) -> Factored: ...

    def cost(self, kernel: Kernel, n: int, d: int) -> tuple[float, float]:
        """Predicted seconds of one evidence and gradient on one core, and bytes at the peak; what "auto" compares."""
        ...
