"""`Periodic`: functions that repeat."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from credo.errors import ParameterError
from credo.kernels.base import Leaf
from credo.kernels.distance import LARGE, square_distances
from credo.saving.registry import register

__all__ = ["Periodic"]


@register
@dataclass(frozen=True, repr=False)
class Periodic(Leaf):
    """exp(−2 Σ_j sin²(π (x_j − z_j)/period_j)/ℓ²): an RBF on the circle.

    lengthscale : > 0, a number, in units of the circle's radius; period : > 0, a number or one for each active column

    MacKay (1998), Introduction to Gaussian processes. Cost of each call: one exponential an entry.

    >>> Periodic(1.0, period=3.0)(np.array([[0.5]]), np.array([[6.5]])).round(12).tolist()
    [[1.0]]
    """

    positive: ClassVar[tuple[str, ...]] = ("lengthscale", "period")
    vectors: ClassVar[tuple[str, ...]] = ("period",)

    lengthscale: Any = 1.0
    period: Any = 1.0

    def __call__(self, X: np.ndarray, Z: np.ndarray | None = None) -> np.ndarray:
        return np.exp(-2.0 * self._squares(X, Z))

    def _has_slopes(self) -> bool:
        return True

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        return np.ones(self._columns(X).shape[0])

    def gradient(self, X: np.ndarray, Z: np.ndarray | None, weight: np.ndarray) -> np.ndarray:
        # ∂/∂log period_j of −2 sin²(φ) is 2 φ sin 2φ, with φ = π (x_j − z_j)/period_j
        squares = self._squares(X, Z)
        B = weight * np.exp(-2.0 * squares)
        period = [
            2.0 * np.vdot(B, self._over(phase, sine))
            for phase, sine in zip(self._phases(X, Z), self._sines(X, Z), strict=True)
        ]
        return self._free({"lengthscale": 4.0 * np.vdot(B, squares), "period": self._of_periods(period)})

    def diagonal_gradient(self, X: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return np.zeros(self.theta.size)

    def input_gradient(self, X: np.ndarray, Z: np.ndarray, weight: np.ndarray) -> np.ndarray:
        B = weight * self(X, Z)
        columns = [
            -2.0 * np.pi * (B * self._over(1.0 / period, sine)).sum(axis=1)
            for sine, period in zip(self._sines(X, Z), self._periods(X), strict=True)
        ]
        return self._scattered(np.stack(columns, axis=1), X)

    def _derivative(self, X: np.ndarray, Z: np.ndarray | None, i: int | None, j: int | None) -> np.ndarray:
        """With k = e^E, a = ∂E/∂x = −∂E/∂z and c = ∂²E/∂x∂z: k a_i, −k a_j, k ([i = j] c_i − a_i a_j)."""
        K = self(X, Z)
        if j is None:
            return K * self._slope(X, Z, i)[0]
        if i is None:
            return -K * self._slope(X, Z, j)[0]
        first, second = self._slope(X, Z, i), self._slope(X, Z, j)
        return K * ((first[1] if i == j else 0.0) - first[0] * second[0])

    def _derivative_gradient(
        self, X: np.ndarray, Z: np.ndarray | None, i: int | None, j: int | None, weight: np.ndarray
    ) -> np.ndarray:
        """E, a and c go with ℓ⁻²; of the periods, E depends on all and a_i, c_i on their own."""
        K, squares, value = self(X, Z), self._squares(X, Z), self._derivative(X, Z, i, j)
        nothing = (np.ones(1), np.zeros(1), np.zeros(1), np.zeros(1))
        first, second = (nothing if k is None else self._slope(X, Z, k) for k in (i, j))
        pairs, both = -first[0] * second[0], i is not None and j is not None
        of_scale = 4.0 * squares * value - 2.0 * value
        if both:
            of_scale = of_scale - 2.0 * K * pairs  # the product of two slopes goes with ℓ⁻⁴
        periods = np.array([2.0 * np.vdot(weight * value, self._over(p, np.sin(2.0 * p))) for p in self._phases(X, Z)])
        sign = 1.0 if j is None else -1.0
        if i is not None:
            periods[i] += np.vdot(weight * K, sign * first[2] * second[0])
        if j is not None:
            periods[j] += np.vdot(weight * K, -first[0] * second[2])
        if i is not None and i == j:
            periods[i] += np.vdot(weight * K, first[3])
        return self._free({"lengthscale": np.vdot(weight, of_scale), "period": self._of_periods(periods)})

    def _slope(self, X: np.ndarray, Z: np.ndarray | None, j: int | None) -> tuple[np.ndarray, ...]:
        """a_j, c_j, ∂a_j/∂log period_j and ∂c_j/∂log period_j (n, m), with g = π/period_j:

        a = −2 g sin 2φ/ℓ², c = 4 g² cos 2φ/ℓ², and φ and g go with 1/period.
        """
        assert j is not None
        phase = list(self._phases(X, Z))[j]
        scale = np.pi / self._periods(X)[j] / self.lengthscale
        sine, cosine = np.sin(2.0 * phase), np.cos(2.0 * phase)
        once, twice = 2.0 * scale / self.lengthscale, 4.0 * scale**2
        return (
            -once * sine,
            twice * cosine,
            once * (sine + 2.0 * phase * cosine),
            -2.0 * twice * (cosine - phase * sine),
        )

    def _over(self, a: Any, b: np.ndarray) -> np.ndarray:
        """a b/ℓ², saturating: it multiplies a kernel that is 0 then."""
        with np.errstate(over="ignore"):
            return np.clip((a / self.lengthscale) * (b / self.lengthscale), -1e300, 1e300)

    def _of_periods(self, by_column: Any) -> Any:
        return np.asarray(by_column) if np.ndim(self.period) else np.sum(by_column)

    def _periods(self, X: np.ndarray) -> np.ndarray:
        columns = self._columns(X).shape[1]
        if np.ndim(self.period) and np.size(self.period) != columns:
            raise ParameterError("Periodic", "period", f"a number or one for each of {columns} columns", self.period)
        return np.broadcast_to(np.asarray(self.period, dtype=np.float64), (columns,))

    def _phases(self, X: np.ndarray, Z: np.ndarray | None) -> Iterator[np.ndarray]:
        """φ_j (n, m), one active column after the other."""
        x, z = self._angles(X, Z)
        return (0.5 * np.subtract.outer(x[:, j], z[:, j]) for j in range(x.shape[1]))

    def _sines(self, X: np.ndarray, Z: np.ndarray | None) -> Iterator[np.ndarray]:
        """sin 2φ_j (n, m), by products of sines of rows: a sine of each pair would be most of the time."""
        x, z = self._angles(X, Z)
        for j in range(x.shape[1]):
            left = np.stack([np.sin(x[:, j]), -np.cos(x[:, j])], axis=1)
            yield left @ np.stack([np.cos(z[:, j]), np.sin(z[:, j])])

    def _squares(self, X: np.ndarray, Z: np.ndarray | None) -> np.ndarray:
        """Σ_j sin²(φ_j)/ℓ² (n, m): a quarter of the squared chords between points of a circle of radius 1/ℓ."""
        with np.errstate(over="ignore"):
            x, z = (
                np.clip(0.5 * np.hstack([np.cos(a), np.sin(a)]) / self.lengthscale, -LARGE, LARGE)
                for a in self._angles(X, Z)
            )
        return square_distances(x, x if Z is None else z)

    def _angles(self, X: np.ndarray, Z: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """2π x_j/period_j of both, centred first, so that a common offset costs no digits."""
        x, periods = self._columns(X), self._periods(X)
        z = x if Z is None else self._like(Z, x)
        centre = (x / max(len(x), 1)).sum(axis=0)
        with np.errstate(over="ignore"):
            angles = 2.0 * np.pi * ((x - centre) / periods), 2.0 * np.pi * ((z - centre) / periods)
        if not all(np.all(np.isfinite(a)) for a in angles):
            raise ParameterError("Periodic", "period", "so long that X/period is finite", self.period)
        return angles
