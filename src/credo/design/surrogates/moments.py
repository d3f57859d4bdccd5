"""`Moments`: mean and sd of a belief at points of the cube, with their slopes, for as many points as are asked at once.

Notation
    L (n, n)   factor of K_y; W = L⁻¹, inverted once; α (n, S) dual weights of S sets of values at the same rows
    c          W k(X, x), so that the variance is k(x, x) − |c|² + r²/A, r = 1 − 1ᵀK_y⁻¹k, A = 1ᵀK_y⁻¹1

Slopes go through one contraction of the kernel's: Σ_b w_ab ∂k(x_a, x_b)/∂x_a, for any weighting of means and variance.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.linalg

from credo.design.surrogates.cube import Cube
from credo.models.gaussian_process.belief import Belief
from credo.models.gaussian_process.solvers.exact import ExactFactor

__all__ = ["Moments", "Predicted"]

# Variances below are rounding: what remains beside the 1 of a kernel after cancellation.
LEAST = 1e-12
# Entries of a block of kernel values: 8 MiB, which a second-level cache and the one beyond share.
ENTRIES = 2**20


class Predicted(NamedTuple):
    """Means (m, S) and sds (m,); `pull` turns slopes in them, (m, S) and (m,), into slopes in points (m, d)."""

    mean: np.ndarray
    sd: np.ndarray
    pull: Callable[[np.ndarray, np.ndarray], np.ndarray]


class Moments:
    """A conditioned belief, ready to be asked at many points."""

    def __init__(self, belief: Belief, cube: Cube) -> None:
        conditioned = belief.conditioned
        factored = conditioned.factored
        assert isinstance(factored, ExactFactor)
        self.belief, self.cube, self.kernel = belief, cube, belief.kernel
        self.rows = belief.observations.X
        self.level = conditioned.coefficients  # (1, S)
        self.alpha = conditioned.dual
        lapack = scipy.linalg.lapack
        self.inverse = lapack.dtrtri(factored.lower, lower=1)[0]  # type: ignore[attr-defined]
        self.ones = factored.solve(conditioned.design)[:, 0]
        self.information = float(conditioned.root[0, 0]) ** 2

    def __call__(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Means (m, S) and sds (m,) at points X (m, d). Cost m n (n + S)."""
        size = max(1, ENTRIES // len(self.rows))
        parts = [self._at(self.cube.rows(X[i : i + size]))[:2] for i in range(0, len(X), size)]
        if not parts:
            return np.empty((0, self.alpha.shape[1])), np.empty(0)
        mean, variance = (np.concatenate(each) for each in zip(*parts))
        return mean, np.sqrt(np.maximum(variance, LEAST))

    def with_slopes(self, X: np.ndarray) -> Predicted:
        """The same, and what turns their slopes into slopes in X."""
        at = self.cube.rows(X)
        mean, variance, half, remainder = self._at(at)
        sd = np.sqrt(np.maximum(variance, LEAST))

        def pull(by_mean: np.ndarray, by_sd: np.ndarray) -> np.ndarray:
            by_variance = np.where(variance > LEAST, by_sd / (2.0 * sd), 0.0)
            weight = by_mean @ self.alpha.T
            weight -= (2.0 * by_variance)[:, None] * (half @ self.inverse)
            weight -= (2.0 * by_variance * remainder / self.information)[:, None] * self.ones
            return self.cube.slopes(X, self.kernel.input_gradient(at, self.rows, weight))

        return Predicted(mean, sd, pull)

    def _at(self, at: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        cross = self.kernel(at, self.rows)
        half = cross @ self.inverse.T
        remainder = 1.0 - cross @ self.ones
        variance = self.kernel.diagonal(at) - np.einsum("mn,mn->m", half, half)
        variance += remainder**2 / self.information
        return self.level + cross @ self.alpha, variance, half, remainder
