"""Kernels of a scaled distance: f(q), q = Σ_j (x_j − z_j)²/ℓ_j². All have k(x, x) = 1.

With D_j = (x_j − z_j)/ℓ_j:

    ∂q/∂log ℓ_j = −2 D_j²                 ∂k/∂x_i         =  2 f′ D_i/ℓ_i
    ∂k/∂z_j     = −2 f′ D_j/ℓ_j           ∂²k/∂x_i ∂z_j   = −4 f″ D_i D_j/(ℓ_i ℓ_j) − 2 f′ [i = j]/ℓ_i²

Columns are centred before they are scaled, so that a common offset costs no digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from credo.errors import ParameterError
from credo.kernels.distance import LARGE, blocks, square_distances, weighted_differences, weighted_squares
from credo.kernels.profile import Profile, Term
from credo.saving.registry import register

__all__ = ["RBF", "Matern", "Radial", "RationalQuadratic"]


@dataclass(frozen=True, repr=False)
class Radial(Profile):
    """Base of the kernels of a scaled distance: a subclass supplies `_profile`, f and its derivatives in q."""

    lengthscale: Any = 1.0

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        return np.ones(self._columns(X).shape[0])

    def diagonal_gradient(self, X: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return np.zeros(self.theta.size)

    def input_gradient(self, X: np.ndarray, Z: np.ndarray, weight: np.ndarray) -> np.ndarray:
        x, z = self._pair(X, Z)
        q = self._argument(x, z)
        total = np.empty_like(x)
        for rows in blocks(*q.shape):
            total[rows] = weighted_differences(weight[rows] * self._profile(q[rows], 1), x[rows], z, q[rows])
        return self._scattered(2.0 * total / self.lengthscale, X)

    def _pair(self, X: np.ndarray, Z: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        X = self._columns(X)
        centre = (X / max(len(X), 1)).sum(axis=0)  # divided first: the sum of large numbers may overflow
        x = self._checked_scale(X - centre)
        return x, x if Z is None else self._checked_scale(self._like(Z, X) - centre)

    def _argument(self, x: np.ndarray, z: np.ndarray) -> np.ndarray:
        return square_distances(x, z)

    def _by_column(self, B: np.ndarray, x: np.ndarray, z: np.ndarray, a: np.ndarray) -> np.ndarray:
        return weighted_squares(B, x, z, a)

    def _total(self, B: np.ndarray, a: np.ndarray) -> float:
        return float(np.vdot(B, a))

    def _terms(self, x: np.ndarray, z: np.ndarray, i: int | None, j: int | None) -> list[Term]:
        scale = self._each(x.shape[1])
        first, second = (None if k is None else np.subtract.outer(x[:, k], z[:, k]) / scale[k] for k in (i, j))
        if second is None:
            return [Term(1, 2.0 * first, (i,))]  # type: ignore[arg-type, operator]
        if first is None:
            return [Term(1, -2.0 * second, (j,))]  # type: ignore[arg-type]
        same = [Term(1, -2.0 / scale[i] ** 2, (i,))] if i == j else []  # type: ignore[index, arg-type]
        # where the product saturates f″ is 0
        return [Term(2, -4.0 * np.clip(first * second, -LARGE, LARGE), (i, j)), *same]  # type: ignore[arg-type]


@register
@dataclass(frozen=True, repr=False)
class RBF(Radial):
    """exp(−½ Σ (x_j − z_j)²/ℓ_j²), the squared exponential: functions with all derivatives.

    lengthscale : > 0, a number or one for each active column; scikit-learn's gamma is 1/(2ℓ²)

    >>> RBF(2.0)(np.array([[0.0]]), np.array([[2.0]])).round(6).tolist()
    [[0.606531]]
    """

    def _profile(self, a: np.ndarray, order: int) -> np.ndarray:
        value = -0.5 * a
        np.exp(value, out=value)
        if order:
            value *= (-0.5) ** order
        return value

    def _profiles(self, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value = self._profile(a, 0)
        return value, -0.5 * value


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

    def _has_slopes(self) -> bool:
        return self.nu > 0.5

    def _profile(self, a: np.ndarray, order: int) -> np.ndarray:
        """With r = √(2ν q) and e^(−r): d/dq is ν/r d/dr, which takes (1 + r + r²/3) to −(5/6)(1 + r), and so on."""
        r, decay = self._decay(a)
        return self._step(r, decay, order)

    def _profiles(self, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        r, decay = self._decay(a)
        return self._step(r, decay.copy(), 0), self._step(r, decay, 1)

    def _decay(self, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """r and e^−r."""
        r = np.multiply(a, 2.0 * self.nu)
        np.sqrt(r, out=r)
        decay = np.negative(r)
        return r, np.exp(decay, out=decay)

    def _step(self, r: np.ndarray, value: np.ndarray, order: int) -> np.ndarray:
        """f⁽ᵒʳᵈᵉʳ⁾, with e^−r in `value`, which is overwritten."""
        step = int(2 - self.nu + 0.5) + order  # 0: (1 + r + r²/3)e^−r … 2: e^−r, then its derivatives
        value *= _COEFFICIENTS[self.nu][order]
        if step == 0:
            by = r * (1.0 / 3.0)
            by += 1.0
            by *= r
            by += 1.0
            value *= by
        elif step == 1:
            value *= 1.0 + r
        elif step > 2:
            # r⁻³ would overflow; so near, it is multiplied by r² or more, and the product is 0 to working precision
            inverse = np.where(r > 1e-75, 1.0 / np.maximum(r, 1e-75), 0.0)
            value *= inverse if step == 3 else inverse**2 * (1.0 + inverse)
        return value


# f⁽ᵒ⁾ = coefficient · g, g = (1 + r + r²/3)e^−r, (1 + r)e^−r, e^−r, e^−r/r, e^−r(1/r² + 1/r³), each −dg/dr/r of the one
# before up to 1/3 and 1: so each step multiplies by −ν (and the first by 1/3).
_COEFFICIENTS = {
    0.5: (1.0, -0.5, 0.25),
    1.5: (1.0, -1.5, 2.25, -3.375),
    2.5: (1.0, -2.5 / 3.0, 6.25 / 3.0, -15.625 / 3.0),
}


@register
@dataclass(frozen=True, repr=False)
class RationalQuadratic(Radial):
    """(1 + q/(2α))^−α: RBFs of many lengthscales, mixed by a Gamma with shape α; α → ∞ is the RBF.

    >>> RationalQuadratic(1.0, alpha=1.0)(np.array([[0.0]]), np.array([[2.0]])).round(6).tolist()
    [[0.333333]]
    """

    positive: ClassVar[tuple[str, ...]] = ("lengthscale", "alpha")

    alpha: Any = 1.0

    def _profile(self, a: np.ndarray, order: int) -> np.ndarray:
        """(−½)ᵒ Π_{s<o} (1 + s/α) (1 + u)^(−α−o), u = q/(2α)."""
        factor = (-0.5) ** order * np.prod(1.0 + np.arange(order) / self.alpha)
        return factor * np.exp(-(self.alpha + order) * self._log1p(a))

    def _shape_gradients(self, a: np.ndarray, order: int, weight: np.ndarray) -> dict[str, float]:
        """f⁽ᵒ⁾ (−α log(1 + u) + (α + o) u/(1 + u) − Σ_{s<o} s/(α + s))."""
        if "alpha" in self.fixed:
            return {}
        steps = np.arange(order)
        share = a / (a + 2.0 * self.alpha)
        slope = (self.alpha + order) * share - self.alpha * self._log1p(a) - np.sum(steps / (self.alpha + steps))
        return {"alpha": float(np.vdot(weight * self._profile(a, order), slope))}

    def _log1p(self, q: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            u = q / (2.0 * self.alpha)
        return np.log1p(np.minimum(u, LARGE))
