"""`DrawnNormals`: Normals of one variance a row and many means, what Gibbs sampling believes of numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.special

from credo.errors import ParameterError
from credo.numerics.inversion import invert_cdf
from credo.prediction.predictive import Predictive

__all__ = ["DrawnNormals"]

HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))


@dataclass(frozen=True, eq=False, repr=False)
class DrawnNormals(Predictive):
    """(1/S) Σ_s N(means[s], noise_variance + spread): means (S, rows); noise_variance (aleatoric), spread (rows,)."""

    means: np.ndarray
    noise_variance: np.ndarray
    spread: np.ndarray
    inference: str = "gibbs"

    @property
    def shape(self) -> tuple[int, ...]:
        return self.means.shape[1:]

    @property
    def mean(self) -> np.ndarray:
        return self.means.mean(axis=0)

    @property
    def variance(self) -> np.ndarray:
        return self.aleatoric + self.epistemic

    @property
    def aleatoric(self) -> np.ndarray:
        return self.noise_variance

    @property
    def epistemic(self) -> np.ndarray:
        return self.spread + self.means.var(axis=0)

    @property
    def _width(self) -> np.ndarray:
        """sd of each component; a point has the smallest there is."""
        return np.sqrt(np.maximum(self.noise_variance + self.spread, np.finfo(float).tiny))

    def cdf(self, y: Any) -> np.ndarray:
        return scipy.special.ndtr((np.asarray(y) - self.means) / self._width).mean(axis=0)

    def log_prob(self, y: Any) -> np.ndarray:
        z = (np.asarray(y) - self.means) / self._width
        total = np.asarray(scipy.special.logsumexp(-0.5 * z * z, axis=0))
        return total - np.log(len(self.means)) - np.log(self._width) - HALF_LOG_2PI

    def quantile(self, q: Any) -> np.ndarray:
        """To 4 ulp, by inverting the cdf between the components' own quantiles."""
        q = np.asarray(q, dtype=np.float64)
        if not np.all((q >= 0.0) & (q <= 1.0)):
            raise ParameterError("DrawnNormals", "q", "between 0 and 1", q)
        low, high = self.means.min(axis=0), self.means.max(axis=0)
        ends = [
            (p, low + self._width * z, high + self._width * z)
            for p, z in zip(q.ravel(), scipy.special.ndtri(q.ravel()))
        ]
        return np.reshape([invert_cdf(self.cdf, *each) for each in ends], (*q.shape, *self.shape))

    def _draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        at = rng.integers(len(self.means), size=n)
        return self.means[at] + self._width * rng.standard_normal((n, *self.shape))

    def __getitem__(self, rows: Any) -> DrawnNormals:
        return replace(
            self, means=self.means[:, rows], noise_variance=self.noise_variance[rows], spread=self.spread[rows]
        )
