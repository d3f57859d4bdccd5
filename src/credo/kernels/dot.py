"""Kernels of a scaled dot product p = Σ_j x_j z_j/ℓ_j²: Bayesian linear models, and polynomial ones.

∂p/∂log ℓ_j = −2 x_j z_j/ℓ_j²       ∂k/∂x_i = f′ z_i/ℓ_i²       ∂²k/∂x_i ∂z_j = f″ z_i x_j/(ℓ_i ℓ_j)² + f′ [i = j]/ℓ_i²
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from credo.errors import NumericalError, ParameterError
from credo.kernels.profile import Profile, Term
from credo.saving.registry import register

__all__ = ["DotProduct", "Linear", "Polynomial"]


class DotProduct(Profile):
    """Base of the kernels of a scaled dot product: a subclass supplies `_profile`, f and its derivatives in p."""

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        return self._profile(np.square(self._checked(self._columns(X))).sum(axis=1), 0)

    def diagonal_gradient(self, X: np.ndarray, weight: np.ndarray) -> np.ndarray:
        squares = np.square(self._checked(self._columns(X)))
        p = squares.sum(axis=1)
        by_column = (weight * self._profile(p, 1)) @ squares
        by_column = by_column if np.ndim(self.lengthscale) else by_column.sum()
        return self._free({"lengthscale": -2.0 * by_column, **self._shape_gradients(p, 0, weight)})

    def input_gradient(self, X: np.ndarray, Z: np.ndarray, weight: np.ndarray) -> np.ndarray:
        x, z = self._pair(X, Z)
        return self._scattered((weight * self._profile(x @ z.T, 1)) @ z / self.lengthscale, X)

    def _checked(self, X: np.ndarray) -> np.ndarray:
        """Scaled rows; k overflows nowhere if it does not at a row with itself."""
        scaled = self._checked_scale(X)
        with np.errstate(over="ignore"):
            largest = np.square(scaled).sum(axis=1).max(initial=0.0)
            finite = np.isfinite(self._profile(np.array([largest]), 0)[0])
        if not finite:
            raise NumericalError(
                f"{type(self).__name__}: k(x, x) overflows at rows as long as these.",
                value=float(np.abs(scaled).max()),
                remedy="Standardise the columns, or state a longer lengthscale.",
            )
        return scaled

    def _pair(self, X: np.ndarray, Z: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        x = self._columns(X)
        left = self._checked(x)
        return left, left if Z is None else self._checked(self._like(Z, x))

    def _argument(self, x: np.ndarray, z: np.ndarray) -> np.ndarray:
        return x @ z.T

    def _by_column(self, B: np.ndarray, x: np.ndarray, z: np.ndarray, a: np.ndarray) -> np.ndarray:
        return np.einsum("aj,aj->j", x, B @ z)

    def _total(self, B: np.ndarray, a: np.ndarray) -> float:
        return float(np.vdot(B, a))

    def _terms(self, x: np.ndarray, z: np.ndarray, i: int | None, j: int | None) -> list[Term]:
        scale = self._each(x.shape[1])
        first = None if i is None else z[None, :, i] / scale[i]
        second = None if j is None else x[:, j, None] / scale[j]
        if second is None:
            return [Term(1, first, (i,))]  # type: ignore[arg-type]
        if first is None:
            return [Term(1, second, (j,))]  # type: ignore[arg-type]
        same = [Term(1, 1.0 / scale[i] ** 2, (i,))] if i == j else []  # type: ignore[index, arg-type]
        return [Term(2, first * second, (i, j)), *same]  # type: ignore[arg-type]


@register
@dataclass(frozen=True, repr=False)
class Linear(DotProduct):
    """Σ x_j z_j/ℓ_j²: linear functions through the origin, with slopes w_j ~ N(0, 1/ℓ_j²).

    Add a `Constant` for an intercept with a prior.

    >>> Linear(2.0)(np.array([[1.0, 2.0]]), np.array([[4.0, 2.0]])).tolist()
    [[2.0]]
    """

    lengthscale: Any = 1.0

    def _profile(self, a: np.ndarray, order: int) -> np.ndarray:
        return a.copy() if order == 0 else np.full_like(a, float(order == 1))


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

    def _profile(self, a: np.ndarray, order: int) -> np.ndarray:
        if order > self.degree:
            return np.zeros_like(a)
        falling = float(np.prod(self.degree - np.arange(order)))
        return falling * (a + self.offset) ** (self.degree - order)

    def _shape_gradients(self, a: np.ndarray, order: int, weight: np.ndarray) -> dict[str, float]:
        return {"offset": float(self.offset * np.vdot(weight, self._profile(a, order + 1)))}
