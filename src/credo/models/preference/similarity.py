"""`Similarity`: a covariance that is looked up, of items that are known by number alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.errors import ParameterError
from credo.kernels.base import Leaf
from credo.saving.registry import register

__all__ = ["Similarity"]


@register
@dataclass(frozen=True, repr=False, eq=False)
class Similarity(Leaf):
    """k(i, j) = matrix[i, j] for the item numbers in its one active column; matrix=None is 1 if i = j, else 0.

    With matrix=None numbers that were never seen are items too, each like itself alone.

    >>> Similarity()(np.array([[0.0], [3.0]])).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    matrix: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.matrix is None:
            return
        matrix = np.array(self.matrix, dtype=np.float64)
        square = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] and matrix.size > 0
        if not square or not np.all(np.isfinite(matrix)) or np.any(np.diag(matrix) <= 0.0):
            raise ParameterError("Similarity", "matrix", "square, finite, with a diagonal > 0", matrix.shape)
        if not np.allclose(matrix, matrix.T, rtol=1e-9, atol=1e-12 * np.abs(matrix).max()):
            raise ParameterError("Similarity", "matrix", "symmetric", matrix)
        object.__setattr__(self, "matrix", 0.5 * (matrix + matrix.T))

    def _numbers(self, X: np.ndarray) -> np.ndarray:
        return self._columns(X)[:, 0]

    def __call__(self, X: np.ndarray, Z: np.ndarray | None = None) -> np.ndarray:
        x, z = self._numbers(X), self._numbers(X if Z is None else Z)
        if self.matrix is None:
            return (x[:, None] == z).astype(np.float64)
        return self.matrix[np.ix_(x.astype(np.intp), z.astype(np.intp))]

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        x = self._numbers(X)
        return np.ones(x.size) if self.matrix is None else np.diag(self.matrix)[x.astype(np.intp)]

    def gradient(self, X: np.ndarray, Z: np.ndarray | None, weight: np.ndarray) -> np.ndarray:
        return np.zeros(0)

    def diagonal_gradient(self, X: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return np.zeros(0)

    def input_gradient(self, X: np.ndarray, Z: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return np.zeros(np.shape(X))
