"""`Periodic`: functions that repeat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from credo.kernels.base import Leaf
from credo.saving.registry import register

__all__ = ["Periodic"]


@register
@dataclass(frozen=True, repr=False)
class Periodic(Leaf):
    """exp(−2 Σ_j sin²(π (x_j − z_j)/period_j)/ℓ²): an RBF on the circle.

    lengthscale : > 0, a number, in units of the circle's radius; period : > 0, a number or one for each active column

    MacKay (1998), Introduction to Gaussian processes. Cost of each call: one sine an entry and active column.

    >>> Periodic(1.0, period=3.0)(np.array([[0.5]]), np.array([[6.5]])).round(12).tolist()
    [[1.0]]
    """

    positive: ClassVar[tuple[str, ...]] = ("lengthscale", "period")

    lengthscale: Any = 1.0
    period: Any = 1.0

    def __call__(self, X: np.ndarray, Z: np.ndarray | None = None) -> np.ndarray:
        return np.exp(-2.0 * self._sine_squares(X, Z) / self.lengthscale**2)

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        return np.ones(self._columns(X).shape[0])

    def gradient(self, X: np.ndarray, Z: np.ndarray | None, weight: np.ndarray) -> np.ndarray:
        squares = self._sine_squares(X, Z)
        B = weight * np.exp(-2.0 * squares / self.lengthscale**2) / self.lengthscale**2
        # ∂/∂log period_j of −2 sin²(φ) is 2 φ sin 2φ, with φ = π (x_j − z_j)/period_j
        by_column = np.array([2.0 * np.vdot(B, phase * np.sin(2.0 * phase)) for phase in self._phases(X, Z)])
        period = by_column if np.ndim(self.period) else by_column.sum()
        return self._free({"lengthscale": 4.0 * np.vdot(B, squares), "period": period})

    def diagonal_gradient(self, X: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return np.zeros(self.theta.size)

    def input_gradient(self, X: np.ndarray, Z: np.ndarray, weight: np.ndarray) -> np.ndarray:
        B = weight * self(X, Z) * (-2.0 * np.pi / self.lengthscale**2)
        columns = [(B * np.sin(2.0 * phase)).sum(axis=1) for phase in self._phases(X, Z)]
        return self._scattered(np.stack(columns, axis=1) / self.period, X)

    def _phases(self, X: np.ndarray, Z: np.ndarray | None) -> Any:
        """φ_j (n, m), one active column after the other."""
        x = np.pi * self._scaled(X, self.period)
        z = x if Z is None else np.pi * self._scaled(Z, self.period)
        return (np.subtract.outer(x[:, j], z[:, j]) for j in range(x.shape[1]))

    def _sine_squares(self, X: np.ndarray, Z: np.ndarray | None) -> np.ndarray:
        total = np.zeros((len(X), len(X if Z is None else Z)))
        for phase in self._phases(X, Z):
            total += np.square(np.sin(phase))
        return total
