"""`GaussianBelief`: what is known of the latents of a block given its coefficients."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse

from credo.errors import MemoryLimitError

__all__ = ["GaussianBelief"]

# Entries of a covariance: 2 GiB of float64.
LARGEST_COVARIANCE = 2**28
# Columns solved at once.
CHUNK = 64


class GaussianBelief:
    """z ~ Normal(mean, H⁻¹) given the coefficients of a `GaussianBlock`.

    mean : (p,). log_marginal : of the block at these coefficients. log_det : log |H|, H the precision of z.

    >>> from credo.inference.gaussian_block import GaussianBlock, LinearFactor
    >>> block = GaussianBlock([LinearFactor([np.eye(2)], [np.array([3.0, 4.0])])], 2)
    >>> belief = block.condition([((1.0,), (-1.0,), 0.5)])
    >>> belief.mean.round(9).tolist(), belief.sd.tolist()
    ([3.0, 4.0], [0.5, 0.5])
    >>> mean, sd = belief.project(np.array([[1.0, 1.0]]))
    >>> mean.tolist(), sd.round(6).tolist()
    ([7.0], [0.707107])
    """

    def __init__(self, mean: np.ndarray, factor: Any, log_marginal: float) -> None:
        self.mean, self._factor, self.log_marginal = mean, factor, log_marginal

    @property
    def log_det(self) -> float:
        return self._factor.log_det

    @cached_property
    def sd(self) -> np.ndarray:
        """(p,) marginal standard deviations. Cost: one selected inverse."""
        return np.sqrt(self._factor.diagonal())

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """n independent draws (n, p). Cost: one triangular solve each."""
        return self.mean + self._factor.unwhiten(rng.standard_normal((len(self.mean), n))).T

    def covariance(self, columns: Any = None) -> np.ndarray:
        """(m, m) covariance of the latents `columns` (all of them by default). Cost: one solve each.

        Raises `MemoryLimitError` where it would take more than 2 GiB.
        """
        columns = np.arange(len(self.mean)) if columns is None else np.atleast_1d(np.asarray(columns))
        m = len(columns)
        if m * m > LARGEST_COVARIANCE:
            raise MemoryLimitError(
                f"The covariance of {m} latents would take {8e-9 * m * m:.0f} GB.",
                value=8 * m * m,
                remedy="Ask for some columns, or use .sd, .project(A) or .sample(n, rng), which need no such matrix.",
            )
        parts = [self._solved(columns[start : start + CHUNK])[columns] for start in range(0, m, CHUNK)]
        whole = np.concatenate(parts, axis=1) if parts else np.zeros((0, 0))
        return 0.5 * (whole + whole.T)

    def _solved(self, columns: np.ndarray) -> np.ndarray:
        unit = np.zeros((len(self.mean), len(columns)))
        unit[columns, np.arange(len(columns))] = 1.0
        return self._factor.solve(unit)

    def project(self, A: Any, c: np.ndarray | float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Marginal means and sds (m,) of A z + c, for A (m, p) sparse or dense: fitted values, predictions.

        Cost: Σ_rows (stored cells)² look-ups in the selected inverse; a solve for each column whose pairs the
        precision does not hold (an effect seen with another for the first time).
        """
        rows: Any = scipy.sparse.csr_array(A, dtype=np.float64)
        counts = np.diff(rows.indptr)
        per_entry = np.repeat(counts, counts)
        left = np.repeat(np.arange(len(rows.indices)), per_entry)
        begin = np.repeat(rows.indptr[:-1], counts)
        right = (
            np.repeat(begin, per_entry) + np.arange(len(left)) - np.repeat(np.cumsum(per_entry) - per_entry, per_entry)
        )
        once = left >= right
        left, right = left[once], right[once]
        products = rows.data[left] * rows.data[right] * np.where(left == right, 1.0, 2.0)
        products *= self._factor.entries(rows.indices[left], rows.indices[right])
        row = np.repeat(np.arange(rows.shape[0]), counts)
        variance = np.bincount(row[left], products, rows.shape[0])
        return rows @ self.mean + c, np.sqrt(np.maximum(variance, 0.0))
