"""Many evaluations of a small block side by side: quadrature over hyperparameters, and one draw for each draw of them.

Axes: B sets of coefficients, D coefficients, p latents. Rows whose precision has lost too many digits (a scale near 0)
are done one by one.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg

from credo.inference.gaussian_block.full_rows import FullRows
from credo.inference.gaussian_block.products import Weights

if TYPE_CHECKING:
    from credo.inference.gaussian_block.block import GaussianBlock

__all__ = ["BatchSolved", "chunks", "solve_batch"]

_LAPACK: Any = scipy.linalg.lapack
# Cells of all the precisions of a chunk: 16 MiB of float64, which a cache holds half of.
CHUNK_CELLS = 2**21
# Rows are gone through several times: so many fewer at once stay in the cache.
PASSES = 8
# A diagonal entry that is above any sum of squares.
HUGE = 1e300


def chunks(block: GaussianBlock, x: np.ndarray) -> list[np.ndarray]:
    """Rows of x (B, D) in parts whose precisions fit."""
    rows = sum(each.cells for each in block._rowwise if isinstance(each, FullRows))
    step = max(1, CHUNK_CELLS // (block.size**2 + PASSES * rows))
    return [x[start : start + step] for start in range(0, len(x), step)]


def solve_batch(block: GaussianBlock, x: np.ndarray) -> BatchSolved | None:
    """All of x (B, D) at once; None where the block takes more than dense LAPACK."""
    if not block.is_batched:
        return None
    while True:
        solved = BatchSolved(block, x)
        if not solved.recentred():
            return solved


class BatchSolved:
    """Of B evaluations: lower (B, p, p), the factors L of their precisions, and white (B, p) = L⁻¹ g; what follows from
    these is computed when asked for. careful : numbers of the rows that are done one by one."""

    def __init__(self, block: GaussianBlock, x: np.ndarray) -> None:
        self.block, self.x = block, x
        products, p = block._products, block.size
        self.centre = products.centre
        self.w: Weights = products.weights(x)
        # The factor of H with g as one row more has L⁻¹g as its last row: nothing need be solved.
        h, g = block.precision.assemble(self.w.pairs), self.w.cross @ products.cross
        self.constant = products.constant(self.w)
        self.log_scales = np.log(x[:, products.scale_slots]) @ products.rows
        for each in block._rowwise:
            rows: Any = each.rows(x, self.centre)
            self.constant = self.constant + each.add(rows, h, g)
            self.log_scales = self.log_scales + np.log(rows.scales).sum(axis=1)
        bordered = np.empty((len(x), p + 1, p + 1))
        bordered[:, :p, :p], bordered[:, p, :p] = h.reshape(-1, p, p), g
        bordered[:, p, p] = HUGE
        factors, good = _cholesky_each(bordered)
        self.lower, self.white = factors[:, :p, :p], factors[:, p, :p]
        self.pivots = np.diagonal(self.lower, axis1=1, axis2=2)
        diagonal = np.diagonal(bordered, axis1=1, axis2=2)[:, :p]
        good &= (np.square(self.pivots) > block.precision.least * diagonal).all(axis=1)
        self.careful = np.flatnonzero(~good)
        self.quadratic = self.constant - np.square(self.white).sum(axis=1)

    def recentred(self) -> bool:
        """Whether the block was centred at the mean of the likeliest row, because digits were being lost."""
        values = self._quick_values.copy()
        values[self.careful] = -np.inf
        best = int(np.argmax(values))
        if not np.isfinite(values[best]):
            return False
        mean = -np.linalg.solve(self.lower[best].T, self.white[best])
        return self.block._recentred(float(self.constant[best]), float(self.quadratic[best]), mean)

    @cached_property
    def _quick_values(self) -> np.ndarray:
        log_det = 2.0 * np.log(self.pivots).sum(axis=1)
        return self.block._constant - 0.5 * (self.quadratic + log_det) - self.log_scales

    @property
    def values(self) -> np.ndarray:
        """log ∫, (B,)."""
        values = self._quick_values.copy()
        for k in self.careful:
            values[k] = self.block.log_marginal(self.x[k], gradient=False)[0]
        return values

    @cached_property
    def half(self) -> np.ndarray:
        """L⁻¹ of each precision (B, p, p)."""
        half = np.array([_LAPACK.dtrtri(lower, lower=1)[0] for lower in self.lower])
        for k in self.careful:
            half[k] = self.block.condition(self.x[k])._factor.half
        return half

    @property
    def means(self) -> np.ndarray:
        """(B, p) of z."""
        means = self.centre - np.matmul(self.white[:, None], self.half)[:, 0]
        for k in self.careful:
            means[k] = self.block.condition(self.x[k]).mean
        return means

    @property
    def gradients(self) -> np.ndarray:
        """(B, D), without rowwise factors."""
        products, half = self.block._products, self.half
        mean = -np.matmul(self.white[:, None], half)[:, 0]
        second = np.matmul(half.swapaxes(1, 2), half)
        second += mean[:, :, None] * mean[:, None]
        inner = second.reshape(len(self.x), -1) @ self.block.precision.G.T
        gradients = np.zeros_like(self.x)
        products.add_gradient(gradients, self.x, self.w, inner, mean @ products.cross.T)
        for k in self.careful:
            gradients[k] = self.block.log_marginal(self.x[k])[1]
        return gradients

    def draws(self, rng: np.random.Generator) -> np.ndarray:
        """One draw of z for each (B, p)."""
        white = rng.standard_normal(self.white.shape)
        draws = self.centre + np.matmul((white - self.white)[:, None], self.half)[:, 0]
        for k in self.careful:
            belief = self.block.condition(self.x[k])
            draws[k] = belief.mean + belief._factor.unwhiten(white[k][:, None])[:, 0]
        return draws


def _cholesky_each(h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Factors of h (B, m, m), and which of them exist (B,); the others are identities."""
    try:
        return np.linalg.cholesky(h), np.ones(len(h), dtype=bool)
    except np.linalg.LinAlgError:
        if len(h) == 1:
            return np.eye(h.shape[1])[None], np.zeros(1, dtype=bool)
    middle = len(h) // 2
    parts = [_cholesky_each(h[:middle]), _cholesky_each(h[middle:])]
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
