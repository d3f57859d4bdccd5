"""The Normal predictive of a linear-Gaussian model whose noise is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special

from credo.distributions.normal import Normal
from credo.prediction.predictive import Predictive

__all__ = ["NormalPredictive"]

LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True, eq=False, repr=False)
class NormalPredictive(Predictive):
    """N(mean, noise_variance + spread) for each row.

    location : (rows,) or (rows, targets)
    noise_variance : variance of y given the parameters (the aleatoric part), same shape
    spread : variance of E[y | θ] over the posterior (the epistemic part), same shape; None for a plug-in
    inference : the rung
    """

    location: np.ndarray
    noise_variance: np.ndarray
    spread: np.ndarray | None = None
    inference: str = "exact"

    @property
    def shape(self) -> tuple[int, ...]:
        return self.location.shape

    @property
    def mean(self) -> np.ndarray:
        return self.location

    @property
    def variance(self) -> np.ndarray:
        return self.aleatoric if self.spread is None else self.aleatoric + self.spread

    @property
    def aleatoric(self) -> np.ndarray:
        return np.broadcast_to(self.noise_variance, self.shape)

    @property
    def epistemic(self) -> np.ndarray:
        return super().epistemic if self.spread is None else self.spread

    @property
    def family(self) -> Normal:
        """The same belief as a `Normal` over rows, for closed forms that are written for families."""
        return Normal(self.mean, self.sd)

    def cdf(self, y: Any) -> np.ndarray:
        return scipy.special.ndtr((np.asarray(y) - self.mean) / self.sd)

    def quantile(self, q: Any) -> np.ndarray:
        z = scipy.special.ndtri(np.asarray(q, dtype=np.float64))
        return self.mean + z.reshape(z.shape + (1,) * len(self.shape)) * self.sd if z.ndim else self.mean + z * self.sd

    def log_prob(self, y: Any) -> np.ndarray:
        variance = self.variance
        return -0.5 * (np.square(np.asarray(y) - self.mean) / variance + np.log(variance) + LOG_2PI)

    def _draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return self.mean + self.sd * rng.standard_normal((n, *self.shape))

    def __getitem__(self, rows: Any) -> NormalPredictive:
        spread = None if self.spread is None else self.spread[rows]
        return NormalPredictive(self.location[rows], self.aleatoric[rows], spread, self.inference)
