"""`moments_of`: `Moments` of the usual belief by formulas of its own: an ask is many calls with a few points each.

Notation
    x (m, k), z (n, k)   points and rows, centred and divided by lengthscales
    r                    √(5 Σ_j (x_j − z_j)²);  k = (1 + r + r²/3) e^−r;  ∂k/∂x_j = −(5/3)(1 + r) e^−r (x_j − z_j)/ℓ_j
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from scipy.spatial.distance import cdist

from credo.design.surrogates.cube import Cube
from credo.design.surrogates.evidence import matern_of
from credo.design.surrogates.moments import LEAST, Moments, Predicted
from credo.kernels import Matern
from credo.models.gaussian_process.belief import Belief

__all__ = ["QuickMoments", "moments_of"]

_BLAS: Any = scipy.linalg.blas  # compiled: no type checker sees into it
# Entries of a block: its four arrays stay in a second-level cache.
ENTRIES = 2**15


def moments_of(belief: Belief, cube: Cube) -> Moments:
    """The moments of any belief, quickly where its kernel is Matérn 5/2 over numbers."""
    plain = isinstance(belief.kernel, Matern) and belief.kernel.nu == 2.5 and not cube.groups
    return QuickMoments(belief, cube) if plain else Moments(belief, cube)


class QuickMoments(Moments):
    """`Moments` under a Matérn 5/2 kernel: the rows are scaled once, and slopes use what the values left."""

    def __init__(self, belief: Belief, cube: Cube) -> None:
        super().__init__(belief, cube)
        self.scale = np.broadcast_to(np.asarray(self.kernel.lengthscale), self.rows.shape[1:])  # type: ignore[attr-defined]
        self.centre = self.rows.mean(axis=0)
        self.scaled = (self.rows - self.centre) / self.scale

    def __call__(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        size = max(1, ENTRIES // len(self.rows))
        mean, sd = np.empty((len(X), self.alpha.shape[1])), np.empty(len(X))
        for part in (slice(i, i + size) for i in range(0, len(X), size)):
            mean[part], variance, _, _ = self._at(self.cube.rows(X[part]))
            sd[part] = np.sqrt(np.maximum(variance, LEAST))
        return mean, sd

    def with_slopes(self, X: np.ndarray) -> Predicted:
        x, cross, sloped = self._cross(self.cube.rows(X))
        mean, variance, half, remainder = self._from(cross)
        sd = np.sqrt(np.maximum(variance, LEAST))

        def pull(by_mean: np.ndarray, by_sd: np.ndarray) -> np.ndarray:
            by_variance = np.where(variance > LEAST, by_sd / sd, 0.0)  # twice
            weight = by_mean @ self.alpha.T
            weight -= by_variance[:, None] * _BLAS.dtrmm(1.0, self.inverse, half.T, lower=1, trans_a=1).T
            weight -= (by_variance * remainder / self.information)[:, None] * self.ones
            weight *= sloped
            gradient = weight @ self.scaled
            gradient -= weight.sum(axis=1)[:, None] * x
            gradient *= (5.0 / 3.0) / self.scale
            return self.cube.slopes(X, gradient)

        return Predicted(mean, sd, pull)

    def _at(self, at: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        return self._from(self._cross(at)[1])

    def _cross(self, at: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """x, k and (1 + r) e^−r (m, n) at rows (m, k)."""
        x = (at - self.centre) / self.scale
        return x, *matern_of(cdist(x, self.scaled, "sqeuclidean"))

    def _from(self, cross: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        half = _BLAS.dtrmm(1.0, self.inverse, cross.T, lower=1).T  # W is a triangle: half of a whole product
        remainder = 1.0 - cross @ self.ones
        variance = 1.0 - np.einsum("mn,mn->m", half, half) + remainder**2 / self.information
        return self.level + cross @ self.alpha, variance, half, remainder
