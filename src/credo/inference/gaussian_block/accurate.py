"""The accurate path: H is never formed where its condition would cost half the digits.

Notation: for each scalar factor, Q R = [M_1 … M_K, C] (n, Kp + m) with C as in `products`, so that at any coefficients
‖r‖ = ‖Σ_k a_k R_k y + R_C β‖ with rows that number at most Kp + m instead of n. The rows of all factors, each over its
s, are one matrix [A, d]; its triangle T by QR has TᵀT = H, and errs by the condition of A, not by its square.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from credo.inference.gaussian_block.dense import DenseFactor
from credo.inference.gaussian_block.products import Products

__all__ = ["AccurateFactor", "CompressedRows"]

# A diagonal of T below this share of its column's length is rounding: n rows err by some √n 2⁻⁵³.
SMALLEST_DIAGONAL = 1e-13
# Rows compressed at once.
CHUNK_ROWS = 8192


class CompressedRows:
    """Triangles of the rows of all scalar factors, made once for one centre. Cost n (Kp)²."""

    def __init__(self, products: Products) -> None:
        self.products, self.centre = products, products.centre
        self.triangles = []
        for factor, (a, b, s) in zip(products.factors, products.coefficient_slots, strict=True):
            moved = [each @ self.centre for each in factor.maps] if np.any(self.centre) else []
            constants = np.column_stack([*factor.constants, *moved, np.zeros(factor.n)])  # one column at least
            slots = [*b, *(a if moved else ())]
            triangle = np.zeros((0, len(a) * products.size + constants.shape[1]))
            for start in range(0, factor.n, CHUNK_ROWS):
                part = slice(start, start + CHUNK_ROWS)
                rows = np.hstack([*(each[part].toarray() for each in factor.maps), constants[part]])
                triangle = np.linalg.qr(np.concatenate([triangle, rows]), mode="r")
            self.triangles.append((triangle, a, slots, s))

    def stack(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A (N, p) and d (N,) at coefficients x (D,): rows of all factors, each over its s."""
        p, parts = self.products.size, []
        for triangle, a, slots, s in self.triangles:
            rows = np.zeros((len(triangle), p + 1))
            for k, slot in enumerate(a):
                rows[:, :p] += x[slot] * triangle[:, k * p : (k + 1) * p]
            beyond = triangle[:, len(a) * p :]
            rows[:, p] = beyond[:, : len(slots)] @ x[slots]
            parts.append(rows / x[s])
        stacked = np.concatenate(parts)
        return stacked[:, :p], stacked[:, p]

    def factor(self, x: np.ndarray) -> tuple[AccurateFactor, np.ndarray, float] | None:
        """The factor of H, mean (p,) of y and ‖A mean + d‖²; None where A has not rank p."""
        A, d = self.stack(x)
        p = A.shape[1]
        if len(A) < p:
            return None
        lengths = np.sqrt(np.square(A).sum(axis=0))
        if not (lengths > 0.0).all():
            return None
        # Householder keeps its digits with rows of very different sizes if the largest come first (Björck 1996, §4.4).
        turn = np.argsort(-np.abs(A).max(axis=1), kind="stable")
        Q, T = np.linalg.qr((A / lengths)[turn])
        if not (np.abs(T.diagonal()) > SMALLEST_DIAGONAL * np.sqrt(p)).all():
            return None
        mean = np.zeros(p)
        for _ in range(2):  # the second pass removes what the first has left in the residual
            residual = A @ mean + d
            mean -= scipy.linalg.solve_triangular(T, Q.T @ residual[turn]) / lengths
        residual = A @ mean + d
        signs = np.where(T.diagonal() < 0.0, -1.0, 1.0)
        lower = np.asfortranarray((signs[:, None] * T * lengths).T)
        return AccurateFactor(lower, self, x), mean, float(residual @ residual)


class AccurateFactor(DenseFactor):
    """Tᵀ (p, p), lower, with TᵀT = H; inner products are taken through it, too."""

    accurate = True

    def __init__(self, lower: np.ndarray, rows: CompressedRows, x: np.ndarray) -> None:
        super().__init__(lower)
        self._rows, self._x = rows, x

    def inner(self, mean: np.ndarray) -> np.ndarray:
        """⟨gram, H⁻¹ + mean meanᵀ⟩ of each pair, (P,): products of R_k T⁻¹ and R_k mean, not of grams."""
        p, every = len(mean), []
        for triangle, a, _, _ in self._rows.triangles:
            blocks = [triangle[:, k * p : (k + 1) * p] for k in range(len(a))]
            parts = [np.column_stack([each @ self.half.T, each @ mean]) for each in blocks]
            for k, left in enumerate(parts):
                every.append(np.vdot(left, left))
                every += [2.0 * np.vdot(left, right) for right in parts[k + 1 :]]
        return np.array(every)


def could(block: Any, most: int) -> bool:
    """Whether the compressed rows of a block are small enough (all scalar, `most` cells)."""
    cells = sum(
        min(each.n, len(each.maps) * block.size + len(each.constants) + 1) * (len(each.maps) * block.size + 8)
        for each in block.factors
    )
    return cells <= most and not any(each.rowwise for each in block.factors)
