"""`RoundedPredictive`: a predictive of real numbers, read as one of whole numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.errors import ParameterError
from credo.prediction.predictive import Predictive

__all__ = ["RoundedPredictive"]

# A difference of two distribution functions has lost six of its sixteen digits below this.
CANCELS = 1e-10


@dataclass(frozen=True, eq=False, repr=False)
class RoundedPredictive(Predictive):
    """The law of round(Y): P(k) = F(k + ½) − F(k − ½), so that its log scores compare with those of counts.

    Mean and variance, and the split of the variance, are those of Y: rounding adds 1/12 to a variance, and nothing to
    a mean, where Y is spread over some units. Negative whole numbers keep their probability: a model that expects them
    of counts is scored as it is.

    >>> from credo.prediction.normal import NormalPredictive
    >>> p = RoundedPredictive(NormalPredictive(np.zeros(1), np.ones(1), np.zeros(1)))
    >>> p.log_prob(0).round(4).item(), p.quantile(0.9).item()
    (-0.9599, 1.0)
    """

    inner: Predictive

    kind = "count"

    def __post_init__(self) -> None:
        if self.inner.kind != "real":
            raise ParameterError("RoundedPredictive", "inner", "a predictive of real numbers", self.inner.kind)
        object.__setattr__(self, "inference", self.inner.inference)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.inner.shape

    @property
    def mean(self) -> np.ndarray:
        return self.inner.mean

    @property
    def variance(self) -> np.ndarray:
        return self.inner.variance

    @property
    def aleatoric(self) -> np.ndarray:
        return self.inner.aleatoric

    @property
    def epistemic(self) -> np.ndarray:
        return self.inner.epistemic

    def cdf(self, y: Any) -> np.ndarray:
        return self.inner.cdf(np.floor(np.asarray(y, dtype=np.float64)) + 0.5)

    def quantile(self, q: Any) -> np.ndarray:
        return np.ceil(self.inner.quantile(q) - 0.5)

    def log_prob(self, y: Any) -> np.ndarray:
        y = np.asarray(y, dtype=np.float64)
        mass = self.inner.cdf(y + 0.5) - self.inner.cdf(y - 0.5)
        with np.errstate(divide="ignore"):
            # Far out in a tail the density at the number stands for its unit.
            value = np.where(mass > CANCELS, np.log(np.maximum(mass, 0.0)), self.inner.log_prob(y))
        return np.where(y == np.round(y), value, -np.inf)

    def _draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return np.round(self.inner._draw(n, rng))

    def __getitem__(self, rows: Any) -> RoundedPredictive:
        return RoundedPredictive(self.inner[rows])
