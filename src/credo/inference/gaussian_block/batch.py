"""Many evaluations of a small block side by side: quadrature over hyperparameters, and one draw for each draw of them.

Axes: B sets of coefficients, D coefficients, p latents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from credo.inference.gaussian_block.dense import DensePrecision
from credo.inference.gaussian_block.products import Weights

if TYPE_CHECKING:
    from credo.inference.gaussian_block.block import GaussianBlock

__all__ = ["chunks", "solve_batch"]

# Cells of all the precisions of a chunk: 16 MiB of float64, which a cache holds half of.
CHUNK_CELLS = 2**21


class BatchSolved(NamedTuple):
    """values (B,), means (B, p) of z, half (B, p, p) = L⁻¹ of each precision; gradients (B, D) or None"""

    values: np.ndarray
    means: np.ndarray
    half: np.ndarray
    gradients: np.ndarray | None


def chunks(block: GaussianBlock, x: np.ndarray) -> list[np.ndarray]:
    """Rows of x (B, D) in parts whose precisions fit."""
    step = max(1, CHUNK_CELLS // block.size**2)
    return [x[start : start + step] for start in range(0, len(x), step)]


def solve_batch(block: GaussianBlock, x: np.ndarray, gradient: bool) -> BatchSolved | None:
    """All of x (B, D) at once; None where some of them need more care than that (or more than dense LAPACK)."""
    precision = block._precision
    if not isinstance(precision, DensePrecision) or block._rowwise:
        return None
    products, p = block._products, block.size
    while True:
        w = products.weights(x)
        h, g = precision.assemble(w.pairs).reshape(-1, p, p), w.cross @ products.cross
        try:
            lower = np.linalg.cholesky(h)
        except np.linalg.LinAlgError:
            return None
        pivots = np.diagonal(lower, axis1=1, axis2=2)
        if not (pivots * pivots > precision.least * np.diagonal(h, axis1=1, axis2=2)).all():
            return None
        half = np.linalg.inv(lower)
        white = np.matmul(half, g[:, :, None])[:, :, 0]
        mean = -np.matmul(white[:, None], half)[:, 0]
        constant = products.constant(w)
        quadratic = constant - np.square(white).sum(axis=1)
        values = _values(block, x, quadratic, 2.0 * np.log(pivots).sum(axis=1))
        best = int(np.argmax(values))
        if not block._recentred(float(constant[best]), float(quadratic[best]), mean[best]):
            break
    gradients = _gradients(block, x, w, half, mean) if gradient else None
    return BatchSolved(values, products.centre + mean, half, gradients)


def _values(block: GaussianBlock, x: np.ndarray, quadratic: np.ndarray, log_det: np.ndarray) -> np.ndarray:
    products = block._products
    return block._constant - 0.5 * (quadratic + log_det) - np.log(x[:, products.scale_slots]) @ products.rows


def _gradients(block: GaussianBlock, x: np.ndarray, w: Weights, half: np.ndarray, mean: np.ndarray) -> np.ndarray:
    products, precision = block._products, block._precision
    second = np.matmul(half.swapaxes(1, 2), half)
    second += mean[:, :, None] * mean[:, None]
    gradients = np.zeros_like(x)
    products.add_gradient(gradients, x, w, second.reshape(len(x), -1) @ precision.G.T, mean @ products.cross.T)
    return gradients
