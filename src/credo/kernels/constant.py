"""Kernels that do not look at the columns: `Constant`, one shared level, and `White`, a level of each row's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from credo.kernels.base import Leaf
from credo.saving.registry import register

__all__ = ["Constant", "White"]


@register
@dataclass(frozen=True, repr=False)
class Constant(Leaf):
    """k = variance: a constant function of that prior variance.

    >>> Constant(2.0)(np.zeros((1, 1)), np.ones((2, 1))).tolist()
    [[2.0, 2.0]]
    """

    positive: ClassVar[tuple[str, ...]] = ("variance",)

    variance: Any = 1.0

    def __call__(self, X: np.ndarray, Z: np.ndarray | None = None) -> np.ndarray:
        return np.full((len(X), len(X if Z is None else Z)), self.variance)

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        return np.full(len(X), self.variance)

    def gradient(self, X: np.ndarray, Z: np.ndarray | None, weight: np.ndarray) -> np.ndarray:
        return self._free({"variance": self.variance * np.sum(weight)})

    def diagonal_gradient(self, X: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return self._free({"variance": self.variance * np.sum(weight)})

    def _has_slopes(self) -> bool:
        return True  # 0, what the base class says

    def input_gradient(self, X: np.ndarray, Z: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return np.zeros(np.shape(X))


@register
@dataclass(frozen=True, repr=False)
class White(Leaf):
    """variance on the diagonal of K(X), 0 between X and any Z: what no other row shares.

    >>> White(0.5)(np.zeros((2, 1))).tolist(), White(0.5)(np.zeros((1, 1)), np.zeros((1, 1))).tolist()
    ([[0.5, 0.0], [0.0, 0.5]], [[0.0]])
    """

    positive: ClassVar[tuple[str, ...]] = ("variance",)

    variance: Any = 1.0

    def __call__(self, X: np.ndarray, Z: np.ndarray | None = None) -> np.ndarray:
        K = np.zeros((len(X), len(X if Z is None else Z)))
        if Z is None:
            np.fill_diagonal(K, self.variance)
        return K

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        return np.full(len(X), self.variance)

    def gradient(self, X: np.ndarray, Z: np.ndarray | None, weight: np.ndarray) -> np.ndarray:
        return self._free({"variance": self.variance * np.trace(weight) if Z is None else 0.0})

    def diagonal_gradient(self, X: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return self._free({"variance": self.variance * np.sum(weight)})

    def _has_slopes(self) -> bool:
        return True  # 0: it is the noise of values, and says nothing of slopes

    def input_gradient(self, X: np.ndarray, Z: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return np.zeros(np.shape(X))
