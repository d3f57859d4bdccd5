"""The Student-t predictive: a linear-Gaussian model whose noise variance has been integrated out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special

from credo.distributions.student_t import StudentT
from credo.prediction.predictive import Predictive

__all__ = ["StudentTPredictive"]


@dataclass(frozen=True, eq=False, repr=False)
class StudentTPredictive(Predictive):
    """A Student-t with `df` degrees of freedom and squared scale noise_variance + spread, for each row.

    df : degrees of freedom > 0; the variance is infinite for df ≤ 2
    location : (rows,) or (rows, targets)
    noise_variance : squared scale of the noise, b/a of its inverse-gamma posterior
    spread : squared scale of E[y | θ] over the posterior

    Aleatoric and epistemic parts are these times df/(df − 2); they sum to the variance.
    """

    df: float
    location: np.ndarray
    noise_variance: np.ndarray
    spread: np.ndarray
    inference: str = "exact"

    @property
    def shape(self) -> tuple[int, ...]:
        return self.location.shape

    @property
    def mean(self) -> np.ndarray:
        """The centre; as an expectation it exists for df > 1."""
        return self.location

    @property
    def scale(self) -> np.ndarray:
        return np.sqrt(self.noise_variance + self.spread)

    @property
    def variance(self) -> np.ndarray:
        return self.aleatoric + self.epistemic

    @property
    def aleatoric(self) -> np.ndarray:
        return np.broadcast_to(self._inflate(self.noise_variance), self.shape)

    @property
    def epistemic(self) -> np.ndarray:
        return self._inflate(self.spread)

    def _inflate(self, squared_scale: np.ndarray) -> np.ndarray:
        if self.df <= 2.0:
            return np.full(np.shape(squared_scale), np.inf)
        return squared_scale * (self.df / (self.df - 2.0))

    @property
    def family(self) -> StudentT:
        """The same belief as a `StudentT` over rows, for closed forms that are written for families."""
        return StudentT(self.df, self.location, self.scale)

    def cdf(self, y: Any) -> np.ndarray:
        return scipy.special.stdtr(self.df, (np.asarray(y) - self.location) / self.scale)

    def quantile(self, q: Any) -> np.ndarray:
        t = scipy.special.stdtrit(self.df, np.asarray(q, dtype=np.float64))
        t = np.reshape(t, np.shape(q) + (1,) * len(self.shape)) if np.ndim(q) else t
        return self.location + t * self.scale

    def log_prob(self, y: Any) -> np.ndarray:
        half, scale = 0.5 * self.df, self.scale
        constant = scipy.special.gammaln(half + 0.5) - scipy.special.gammaln(half) - 0.5 * np.log(self.df * np.pi)
        z = (np.asarray(y) - self.location) / scale
        return constant - np.log(scale) - (half + 0.5) * np.log1p(z * z / self.df)

    def _draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return self.location + self.scale * rng.standard_t(self.df, (n, *self.shape))

    def __getitem__(self, rows: Any) -> StudentTPredictive:
        noise = np.broadcast_to(self.noise_variance, self.shape)[rows]
        return StudentTPredictive(self.df, self.location[rows], noise, self.spread[rows], self.inference)
