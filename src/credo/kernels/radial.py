"""Kernels of a scaled distance: f(q), q = Σ_j (x_j − z_j)²/ℓ_j². All have k(x, x) = 1.

With slopes f'(q) and B = W ∘ f', no array with an axis of dimensions is needed:

    ∂/∂log ℓ_j  = −2 Σ_ab B_ab (x_aj − z_bj)²/ℓ_j² = −2 [Σ_a (B1)_a x_aj² + Σ_b (Bᵀ1)_b z_bj² − 2 Σ_a x_aj (Bz)_aj]/ℓ_j²
    ∂/∂x_a      = 2 [(B1)_a x_a − (Bz)_a]/ℓ²

which is one matrix product. Columns are centred first, so that a common offset costs no digits.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.spatial.distance

from credo.errors import ParameterError
from credo.kernels.base import Leaf
from credo.saving.registry import register

__all__ = ["RBF", "Matern", "Radial", "RationalQuadratic"]


@dataclass(frozen=True, repr=False)
class Radial(Leaf):
    """Base of the kernels of a scaled distance; `lengthscale` is a number or one for each active column (ARD)."""

    positive: ClassVar[tuple[str, ...]] = ("lengthscale",)

    lengthscale: Any = 1.0

    @abstractmethod
    def _profile(self, q: np.ndarray) -> np.ndarray:
        """f(q)."""

    @abstractmethod
    def _slope(self, q: np.ndarray) -> np.ndarray:
        """f'(q), with 0 where it has no finite value at q = 0: it is multiplied by differences that are 0 there."""

    def _shape_gradients(self, q: np.ndarray, weight: np.ndarray) -> dict[str, float]:
        """Σ W ∂f/∂log(parameter) for parameters besides the lengthscale."""
        return {}

    def __call__(self, X: np.ndarray, Z: np.ndarray | None = None) -> np.ndarray:
        return self._profile(self._distance(*self._pair(X, Z), Z is None))

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        return np.ones(self._columns(X).shape[0])

    def gradient(self, X: np.ndarray, Z: np.ndarray | None, weight: np.ndarray) -> np.ndarray:
        x, z = self._pair(X, Z)
        q = self._distance(x, z, Z is None)
        B = weight * self._slope(q)
        if np.ndim(self.lengthscale) == 0:
            by_column: Any = float(np.vdot(B, q))
        else:
            squares = B.sum(axis=1) @ np.square(x) + B.sum(axis=0) @ np.square(z)
            by_column = squares - 2.0 * np.einsum("aj,aj->j", x, B @ z)
        return self._free({"lengthscale": -2.0 * by_column, **self._shape_gradients(q, weight)})

    def diagonal_gradient(self, X: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return np.zeros(self.theta.size)

    def input_gradient(self, X: np.ndarray, Z: np.ndarray, weight: np.ndarray) -> np.ndarray:
        x, z = self._pair(X, Z)
        B = weight * self._slope(self._distance(x, z, False))
        return self._scattered(2.0 * (B.sum(axis=1)[:, None] * x - B @ z) / self.lengthscale, X)

    def _pair(self, X: np.ndarray, Z: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        x = self._scaled(X, self.lengthscale)
        centre = x.mean(axis=0) if x.shape[0] else 0.0
        return x - centre, x - centre if Z is None else self._scaled(Z, self.lengthscale) - centre

    def _distance(self, x: np.ndarray, z: np.ndarray, same: bool) -> np.ndarray:
        """q (n, m) by differences: exact for near-duplicates, which a root would magnify."""
        return scipy.spatial.distance.cdist(x, z, "sqeuclidean")


@register
@dataclass(frozen=True, repr=False)
class RBF(Radial):
    """exp(−½ Σ (x_j − z_j)²/ℓ_j²), the squared exponential: functions with all derivatives.

    lengthscale : > 0, a number or one for each active column; scikit-learn's gamma is 1/(2ℓ²)

    >>> RBF(2.0)(np.array([[0.0]]), np.array([[2.0]])).round(6).tolist()
    [[0.606531]]
    """

    def _profile(self, q: np.ndarray) -> np.ndarray:
        return np.exp(-0.5 * q)

    def _slope(self, q: np.ndarray) -> np.ndarray:
        return -0.5 * np.exp(-0.5 * q)

    def _distance(self, x: np.ndarray, z: np.ndarray, same: bool) -> np.ndarray:
        """By one matrix product: exp(−q/2) is smooth at 0, so rounding of q is rounding of k."""
        xs = np.einsum("aj,aj->a", x, x)
        zs = xs if same else np.einsum("bj,bj->b", z, z)
        q = x @ z.T
        q *= -2.0
        q += xs[:, None]
        q += zs
        np.maximum(q, 0.0, out=q)
        if same:
            np.fill_diagonal(q, 0.0)
        return q


@register
@dataclass(frozen=True, repr=False)
class Matern(Radial):
    """The Matérn kernel: functions with nu − ½ derivatives; nu is ½ (the Ornstein–Uhlenbeck process), 3/2 or 5/2.

    With r = √q: exp(−r); (1 + √3 r) exp(−√3 r); (1 + √5 r + 5r²/3) exp(−√5 r). At nu = ½ a path has no slope, and
    `input_gradient` is 0 where rows coincide.

    Rasmussen & Williams (2006), Gaussian Processes for Machine Learning, eq. 4.17.

    >>> Matern(1.0, nu=0.5)(np.array([[0.0]]), np.array([[1.0]])).round(6).tolist()
    [[0.367879]]
    """

    nu: float = 2.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.nu not in (0.5, 1.5, 2.5):
            raise ParameterError("Matern", "nu", "0.5, 1.5 or 2.5", self.nu, "For ∞ use RBF.")

    def _profile(self, q: np.ndarray) -> np.ndarray:
        r = np.sqrt(2.0 * self.nu * q)
        decay = np.exp(-r)
        if self.nu == 0.5:
            return decay
        return (1.0 + r) * decay if self.nu == 1.5 else (1.0 + r + r * r / 3.0) * decay

    def _slope(self, q: np.ndarray) -> np.ndarray:
        r = np.sqrt(2.0 * self.nu * q)
        decay = np.exp(-r)
        if self.nu == 0.5:
            return np.where(r > 0.0, -0.5 * decay / np.where(r > 0.0, r, 1.0), 0.0)
        return -1.5 * decay if self.nu == 1.5 else -(5.0 / 6.0) * (1.0 + r) * decay


@register
@dataclass(frozen=True, repr=False)
class RationalQuadratic(Radial):
    """(1 + q/(2α))^−α: RBFs of many lengthscales, mixed by a Gamma with shape α; α → ∞ is the RBF.

    >>> RationalQuadratic(1.0, alpha=1.0)(np.array([[0.0]]), np.array([[2.0]])).round(6).tolist()
    [[0.333333]]
    """

    positive: ClassVar[tuple[str, ...]] = ("lengthscale", "alpha")

    alpha: Any = 1.0

    def _profile(self, q: np.ndarray) -> np.ndarray:
        return np.exp(-self.alpha * np.log1p(q / (2.0 * self.alpha)))

    def _slope(self, q: np.ndarray) -> np.ndarray:
        return -0.5 * np.exp(-(self.alpha + 1.0) * np.log1p(q / (2.0 * self.alpha)))

    def _shape_gradients(self, q: np.ndarray, weight: np.ndarray) -> dict[str, float]:
        u = q / (2.0 * self.alpha)
        return {"alpha": float(np.vdot(weight * self._profile(q), self.alpha * (u / (1.0 + u) - np.log1p(u))))}
