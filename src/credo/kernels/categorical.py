"""Kernels of unordered levels: `Categorical` counts disagreements, `LevelCorrelation` is free for each pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from credo.errors import DataError, ParameterError
from credo.kernels.base import Hyperparameter, Leaf
from credo.kernels.distance import blocks
from credo.saving.registry import register

__all__ = ["Categorical", "LevelCorrelation"]


@register
@dataclass(frozen=True, repr=False)
class Categorical(Leaf):
    """exp(−Σ_j [x_j ≠ z_j]/ℓ_j): alike as far as columns agree, whatever the levels that differ.

    Columns hold codes (any numbers) or, in an array of objects or text, the levels themselves. State the columns by
    `active_dims` and multiply: `RBF(active_dims=(0, 1)) * Categorical(active_dims=(2,))`.

    lengthscale : > 0, a number or one for each active column; long: the column hardly matters

    `input_gradient` is 0: a level cannot move a little. Cost of each call: one comparison an entry and active column.

    Hutter, Hoos & Leyton-Brown (2011), Sequential model-based optimization, LION 5, section 4.2.

    >>> rows = np.array([["red", "small"], ["red", "large"], ["blue", "large"]])
    >>> Categorical(1.0)(rows[:1], rows).round(6).tolist()
    [[1.0, 0.367879, 0.135335]]
    """

    positive: ClassVar[tuple[str, ...]] = ("lengthscale",)

    lengthscale: Any = 1.0

    def __call__(self, X: np.ndarray, Z: np.ndarray | None = None) -> np.ndarray:
        x, z = self._codes(X, Z)
        rates = self._rates(x)
        K = np.zeros((len(x), len(z)))
        for rows in blocks(*K.shape):
            for j, rate in enumerate(rates):
                K[rows] -= rate * np.not_equal.outer(x[rows, j], z[:, j])
            np.exp(K[rows], out=K[rows])
        return K

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        return np.ones(len(self._raw(X)))

    def gradient(self, X: np.ndarray, Z: np.ndarray | None, weight: np.ndarray) -> np.ndarray:
        x, z = self._codes(X, Z)
        B = weight * self(X, Z)
        by_column = np.array(
            [rate * np.vdot(B, np.not_equal.outer(x[:, j], z[:, j])) for j, rate in enumerate(self._rates(x))]
        )
        return self._free({"lengthscale": by_column if np.ndim(self.lengthscale) else by_column.sum()})

    def diagonal_gradient(self, X: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return np.zeros(self.theta.size)

    def input_gradient(self, X: np.ndarray, Z: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return np.zeros(np.shape(X))

    def _rates(self, x: np.ndarray) -> np.ndarray:
        columns = x.shape[1]
        if np.ndim(self.lengthscale) and np.size(self.lengthscale) != columns:
            raise ParameterError(
                "Categorical", "lengthscale", f"a number or one for each of {columns} columns", self.lengthscale
            )
        return 1.0 / np.broadcast_to(np.asarray(self.lengthscale, dtype=np.float64), (columns,))

    def _codes(self, X: np.ndarray, Z: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Active columns as numbers that are equal where the levels are."""
        x = self._raw(X)
        z = x if Z is None else self._raw(Z)
        if z.shape[1] != x.shape[1]:
            raise ParameterError("Categorical", "Z", f"of {x.shape[1]} columns, as X", z.shape)
        if x.dtype.kind not in "biuf" or z.dtype.kind not in "biuf":
            both = np.concatenate([x, z]).astype(str)
            codes = [np.unique(both[:, j], return_inverse=True)[1].reshape(-1) for j in range(both.shape[1])]
            numbers = np.stack(codes, axis=1) if codes else np.empty(both.shape)
            x, z = numbers[: len(x)], numbers[-len(z) :] if len(z) else numbers[:0]
        elif not (np.all(np.isfinite(x)) and np.all(np.isfinite(z))):
            raise ParameterError("Categorical", "X", "without NaN or infinities", X)
        return x, z

    def _raw(self, X: np.ndarray) -> np.ndarray:
        return self._selected(np.asarray(X))


@register
@dataclass(frozen=True, repr=False)
class LevelCorrelation(Leaf):
    """C[x, z]: any correlation matrix between the levels 0 … n_levels − 1 of one column, learned entry by entry.

    C = L Lᵀ, with rows of L on the unit sphere by angles in (0, π): every set of angles is a correlation matrix, and
    every positive definite one has its angles. Negative correlations are possible, which `Categorical` has not.

    n_levels : an integer ≥ 2; angles : n_levels (n_levels − 1)/2 of them, row by row of the lower triangle (None: right
    angles, levels that know nothing of each other)

    DataError : a code that is none of the levels. Cost of a gradient: two matrix products with the levels' indicators.

    Zhou, Qian & Zhou (2011), A simple approach to emulation for computer models with qualitative and quantitative
    factors, Technometrics 53.

    >>> LevelCorrelation(2, [np.pi / 3])(np.array([[0], [1]])).round(6).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """

    positive: ClassVar[tuple[str, ...]] = ("angles",)
    vectors: ClassVar[tuple[str, ...]] = ("angles",)

    n_levels: int
    angles: Any = None

    def __post_init__(self) -> None:
        if not (isinstance(self.n_levels, int | np.integer) and self.n_levels >= 2):
            raise ParameterError("LevelCorrelation", "n_levels", "an integer ≥ 2", self.n_levels)
        size = self.n_levels * (self.n_levels - 1) // 2
        if self.angles is None:
            object.__setattr__(self, "angles", (0.5 * np.pi,) * size)
        super().__post_init__()
        angles = np.asarray(self.angles)
        if angles.shape != (size,) or angles.max() >= np.pi:
            raise ParameterError("LevelCorrelation", "angles", f"{size} numbers between 0 and π", self.angles)
        if self.active_dims is not None and len(self.active_dims) != 1:
            raise ParameterError("LevelCorrelation", "active_dims", "one column", self.active_dims)

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        (angles,) = super().hyperparameters
        # within a thousandth of its ends the interval holds correlations up to 1 − 5e-7
        limits = self.limits.get("angles", (1e-3, np.pi - 1e-3))
        return (Hyperparameter(angles.name, angles.value, limits, angles.prior, angles.fixed),)

    @property
    def correlation(self) -> np.ndarray:
        """C (n_levels, n_levels)."""
        L, _ = self._factor()
        return L @ L.T

    def __call__(self, X: np.ndarray, Z: np.ndarray | None = None) -> np.ndarray:
        x = self._codes(X)
        return self.correlation[np.ix_(x, x if Z is None else self._codes(Z))]

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        return np.ones(len(self._codes(X)))

    def gradient(self, X: np.ndarray, Z: np.ndarray | None, weight: np.ndarray) -> np.ndarray:
        levels = np.eye(self.n_levels)
        x = levels[self._codes(X)]
        by_level = x.T @ weight @ (x if Z is None else levels[self._codes(Z)])
        L, slopes = self._factor()
        by_factor = (by_level + by_level.T) @ L
        gradient = np.einsum("im,imj,ij->im", self._square(self.angles), slopes, by_factor)
        return self._free({"angles": gradient[np.tril_indices(self.n_levels, -1)]})

    def diagonal_gradient(self, X: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return np.zeros(self.theta.size)

    def input_gradient(self, X: np.ndarray, Z: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return np.zeros(np.shape(X))

    def _factor(self) -> tuple[np.ndarray, np.ndarray]:
        """L, L_ij = cos φ_ij Π_{k<j} sin φ_ik (φ_ii = 0), and its slopes ∂L_ij/∂φ_im at [i, m, j]."""
        n = self.n_levels
        angles = self._square(self.angles)
        sines = np.where(angles > 0.0, np.sin(angles), 1.0)
        before = np.cumprod(np.column_stack([np.ones(n), sines[:, :-1]]), axis=1)  # Π_{k<j} sin φ_ik
        L = np.tril(np.cos(angles) * before)
        cotangents = np.where(angles > 0.0, np.cos(angles) / sines, 0.0)
        slopes = np.einsum("im,ij->imj", cotangents, L) * np.triu(np.ones((n, n)), 1)
        own = np.arange(n)
        slopes[:, own, own] = np.tril(-sines * before, -1)
        return L, slopes

    def _square(self, angles: Any) -> np.ndarray:
        """Angles in their places below the diagonal, 0 elsewhere."""
        square = np.zeros((self.n_levels, self.n_levels))
        square[np.tril_indices(self.n_levels, -1)] = angles
        return square

    def _codes(self, X: np.ndarray) -> np.ndarray:
        columns = self._columns(X)
        if columns.shape[1] != 1:
            raise ParameterError("LevelCorrelation", "active_dims", "one column", columns.shape[1])
        codes = columns[:, 0]
        bad = np.flatnonzero(~((codes == np.floor(codes)) & (codes >= 0) & (codes < self.n_levels)))
        if bad.size:
            raise DataError(
                f"LevelCorrelation: {codes[bad[0]]!r} in row {bad[0]} is none of the levels 0 … {self.n_levels - 1}.",
                rows=bad[:20].tolist(),
                value=codes[bad[:20]],
            )
        return codes.astype(np.intp)
