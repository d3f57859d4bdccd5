"""`ArcCosine`: the prior that a network with one hidden layer tends to as the layer widens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from credo.errors import NumericalError, ParameterError
from credo.kernels.base import Leaf
from credo.kernels.distance import LARGE, blocks, square_distances, weighted_differences, weighted_squares
from credo.saving.registry import register

__all__ = ["ArcCosine"]


@register
@dataclass(frozen=True, repr=False)
class ArcCosine(Leaf):
    """2 E[h(w·x + b) h(w·z + b)], w_j ~ N(0, weight_variance_j), b ~ N(0, bias_variance): an infinitely wide network.

    Its hidden units are h(a) = [a > 0] a^order: steps (order 0), rectified linear (1) or rectified squares (2). With
    x̃ = (√weight_variance_j x_j, √bias_variance) and φ the angle between x̃ and z̃ it is |x̃|ⁿ |z̃|ⁿ J_n(φ)/π,

        J_0 = π − φ      J_1 = sin φ + (π − φ) cos φ      J_2 = 3 sin φ cos φ + (π − φ)(1 + 2 cos² φ)

    order : 0, 1 or 2; weight_variance : > 0, a number or one for each active column; bias_variance : > 0

    Functions of order n grow like |x|ⁿ far from the origin, in every direction at its own rate; order 0 has no slopes,
    and its `input_gradient` is 0 where rows coincide. Units matter: standardise the columns first.

    NumericalError : k(x, x) overflows

    Cho & Saul (2009), Kernel methods for deep learning, NeurIPS 22.

    >>> ArcCosine(1)(np.array([[1.0]]), np.array([[1.0], [-1.0]])).round(6).tolist()      # x̃ = (1, 1) and (±1, 1)
    [[2.0, 0.63662]]
    """

    positive: ClassVar[tuple[str, ...]] = ("weight_variance", "bias_variance")
    vectors: ClassVar[tuple[str, ...]] = ("weight_variance",)

    order: int = 1
    weight_variance: Any = 1.0
    bias_variance: Any = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.order not in (0, 1, 2):
            raise ParameterError("ArcCosine", "order", "0, 1 or 2", self.order)

    def __call__(self, X: np.ndarray, Z: np.ndarray | None = None) -> np.ndarray:
        (u, lengths), (v, others) = self._pair(X, Z)
        K = np.empty((len(u), len(v)))
        for rows in blocks(*K.shape):
            K[rows] = self._pieces(u[rows], lengths[rows], v, others)[0]
        return K

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        return self._level(self._directions(self._columns(X))[1])

    def gradient(self, X: np.ndarray, Z: np.ndarray | None, weight: np.ndarray) -> np.ndarray:
        """With k's slope s in cos φ, ∂k/∂log(variance_j) = (n k/2 + s q/4)(u_j² + v_j²) − s (u_j − v_j)²/2."""
        (u, lengths), (v, others) = self._pair(X, Z)
        total = np.zeros(u.shape[1])
        for rows in blocks(len(u), len(v)):
            K, slope, turned, q = self._pieces(u[rows], lengths[rows], v, others)
            C = weight[rows] * (0.5 * self.order * K + 0.25 * turned)
            total += C.sum(axis=1) @ np.square(u[rows]) + C.sum(axis=0) @ np.square(v)
            total -= 0.5 * weighted_squares(weight[rows] * slope, u[rows], v, q)
        return self._of_variances(total)

    def diagonal_gradient(self, X: np.ndarray, weight: np.ndarray) -> np.ndarray:
        u, lengths = self._directions(self._columns(X))
        return self._of_variances(self.order * (weight * self._level(lengths)) @ np.square(u))

    def input_gradient(self, X: np.ndarray, Z: np.ndarray, weight: np.ndarray) -> np.ndarray:
        (u, lengths), (v, others) = self._pair(X, Z)
        total = np.empty_like(u)
        for rows in blocks(len(u), len(v)):
            K, slope, turned, q = self._pieces(u[rows], lengths[rows], v, others)
            along = (weight[rows] * (self.order * K + 0.5 * turned)).sum(axis=1)
            total[rows] = along[:, None] * u[rows] - weighted_differences(weight[rows] * slope, u[rows], v, q)
        return self._scattered(total[:, :-1] * np.sqrt(self.weight_variance) / lengths[:, None], X)

    def _pieces(
        self, u: np.ndarray, lengths: np.ndarray, v: np.ndarray, others: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """k, its slope s in cos φ at fixed lengths, s q and q = |u − v|² = 2 − 2 cos φ, for a block of rows.

        The angle is taken from both |u − v| and |u + v|: an arc cosine would lose half of the digits at either end.
        """
        q, p = square_distances(u, v), square_distances(u, -v)
        angle = np.pi - 2.0 * np.arctan2(np.sqrt(q), np.sqrt(p))
        sine, cosine = 0.5 * np.sqrt(q * p), 0.25 * (p - q)
        if self.order == 0:
            slope = np.where(sine > 0.0, 1.0 / (np.pi * np.where(sine > 0.0, sine, 1.0)), 0.0)
            return angle / np.pi, slope, slope * q, q
        size = (np.multiply.outer(lengths, others) ** self.order) / np.pi
        ramp = sine + angle * cosine
        if self.order == 1:
            slope = size * angle
            return size * ramp, slope, slope * q, q
        slope = 4.0 * size * ramp
        return size * (3.0 * sine * cosine + angle * (1.0 + 2.0 * cosine**2)), slope, slope * q, q

    def _level(self, lengths: np.ndarray) -> np.ndarray:
        """k(x, x) of lengths |x̃|."""
        return (1.0, 1.0, 3.0)[self.order] * lengths ** (2 * self.order)

    def _of_variances(self, by_column: np.ndarray) -> np.ndarray:
        weights = by_column[:-1] if np.ndim(self.weight_variance) else by_column[:-1].sum()
        return self._free({"weight_variance": weights, "bias_variance": by_column[-1]})

    def _pair(self, X: np.ndarray, Z: np.ndarray | None) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
        x = self._columns(X)
        left = self._directions(x)
        return left, left if Z is None else self._directions(self._like(Z, x))

    def _directions(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Unit vectors u = x̃/|x̃| (n, active + 1), the bias last, and lengths |x̃| (n,)."""
        if np.ndim(self.weight_variance) and np.size(self.weight_variance) != X.shape[1]:
            raise ParameterError(
                "ArcCosine",
                "weight_variance",
                f"a number or one for each of {X.shape[1]} columns",
                self.weight_variance,
            )
        with np.errstate(over="ignore"):
            rows = np.column_stack([X * np.sqrt(self.weight_variance), np.full(len(X), np.sqrt(self.bias_variance))])
            largest = np.abs(rows).max(axis=1, initial=0.0, keepdims=True)
            rows = rows / largest  # the squares of large or small numbers leave the range of floating point
            lengths = np.sqrt(np.square(rows).sum(axis=1))
            units, lengths = rows / lengths[:, None], lengths * largest[:, 0]
            finite = np.all(self._level(lengths) < LARGE)  # which leaves room for its slopes
        if not finite:
            raise NumericalError(
                "ArcCosine: k(x, x) overflows at rows as long as these.",
                value=float(largest.max()),
                remedy="Standardise the columns, or state a smaller weight_variance.",
            )
        return units, lengths
