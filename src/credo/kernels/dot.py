"""Kernels of a scaled dot product p = Σ_j x_j z_j/ℓ_j²: Bayesian linear models, and polynomial ones.

With slopes f'(p) and B = W ∘ f': ∂/∂log ℓ_j = −2 Σ_a x_aj (Bz)_aj/ℓ_j² and ∂/∂x_a = (Bz)_a/ℓ²: one matrix product.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from credo.errors import ParameterError
from credo.kernels.base import Leaf
from credo.saving.registry import register

__all__ = ["DotProduct", "Linear", "Polynomial"]


class DotProduct(Leaf):
    """Base of the kernels of a scaled dot product; `lengthscale` is a number or one for each active column (ARD)."""

    positive: ClassVar[tuple[str, ...]] = ("lengthscale",)

    lengthscale: Any  # a field of each kernel, which settles its place

    @abstractmethod
    def _profile(self, p: np.ndarray) -> np.ndarray:
        """f(p)."""

    @abstractmethod
    def _slope(self, p: np.ndarray) -> np.ndarray:
        """f'(p)."""

    def _shape_gradients(self, p: np.ndarray, weight: np.ndarray) -> dict[str, float]:
        """Σ W ∂f/∂log(parameter) for parameters besides the lengthscale."""
        return {}

    def __call__(self, X: np.ndarray, Z: np.ndarray | None = None) -> np.ndarray:
        x, z = self._pair(X, Z)
        return self._profile(x @ z.T)

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        return self._profile(np.square(self._scaled(X, self.lengthscale)).sum(axis=1))

    def gradient(self, X: np.ndarray, Z: np.ndarray | None, weight: np.ndarray) -> np.ndarray:
        x, z = self._pair(X, Z)
        p = x @ z.T
        return self._gradients(p, np.einsum("aj,aj->j", x, (weight * self._slope(p)) @ z), weight)

    def diagonal_gradient(self, X: np.ndarray, weight: np.ndarray) -> np.ndarray:
        squares = np.square(self._scaled(X, self.lengthscale))
        p = squares.sum(axis=1)
        return self._gradients(p, (weight * self._slope(p)) @ squares, weight)

    def _gradients(self, p: np.ndarray, by_column: np.ndarray, weight: np.ndarray) -> np.ndarray:
        by_column = by_column if np.ndim(self.lengthscale) else by_column.sum()
        return self._free({"lengthscale": -2.0 * by_column, **self._shape_gradients(p, weight)})

    def input_gradient(self, X: np.ndarray, Z: np.ndarray, weight: np.ndarray) -> np.ndarray:
        x, z = self._pair(X, Z)
        return self._scattered((weight * self._slope(x @ z.T)) @ z / self.lengthscale, X)

    def _pair(self, X: np.ndarray, Z: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        x = self._scaled(X, self.lengthscale)
        return x, x if Z is None else self._scaled(Z, self.lengthscale)


@register
@dataclass(frozen=True, repr=False)
class Linear(DotProduct):
    """Σ x_j z_j/ℓ_j²: linear functions through the origin, with slopes w_j ~ N(0, 1/ℓ_j²).

    Add a `Constant` for an intercept with a prior.

    >>> Linear(2.0)(np.array([[1.0, 2.0]]), np.array([[4.0, 2.0]])).tolist()
    [[2.0]]
    """

    lengthscale: Any = 1.0

    def _profile(self, p: np.ndarray) -> np.ndarray:
        return p

    def _slope(self, p: np.ndarray) -> np.ndarray:
        return np.ones_like(p)


@register
@dataclass(frozen=True, repr=False)
class Polynomial(DotProduct):
    """(offset + Σ x_j z_j/ℓ_j²)^degree: polynomials of all columns together up to that degree.

    degree : an integer ≥ 1; offset : > 0, the weight of lower powers; scikit-learn's coef0 is the offset, gamma 1/ℓ²

    >>> Polynomial(2)(np.array([[1.0, 2.0]]), np.array([[3.0, 0.5]])).tolist()
    [[25.0]]
    """

    positive: ClassVar[tuple[str, ...]] = ("lengthscale", "offset")

    degree: int = 2
    lengthscale: Any = 1.0
    offset: Any = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (isinstance(self.degree, int | np.integer) and self.degree >= 1):
            raise ParameterError("Polynomial", "degree", "an integer ≥ 1", self.degree)

    def _profile(self, p: np.ndarray) -> np.ndarray:
        return (p + self.offset) ** self.degree

    def _slope(self, p: np.ndarray) -> np.ndarray:
        return self.degree * (p + self.offset) ** (self.degree - 1)

    def _shape_gradients(self, p: np.ndarray, weight: np.ndarray) -> dict[str, float]:
        return {"offset": float(self.offset * np.vdot(weight, self._slope(p)))}
