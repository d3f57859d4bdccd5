"""`LatentPredictive`: y | η of a likelihood, its η Normal: belief about new outcomes of a latent Gaussian process.

p(y) = ∫ p(y | η, ψ) N(η; m, v) dη      aleatoric = E Var(y | η)      epistemic = Var E(y | η)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from credo.distributions.likelihoods import Likelihood
from credo.prediction.integrated import IntegratedPredictive
from credo.prediction.predictive import Predictive

__all__ = ["LatentPredictive"]

# Nodes of z = (η − m)/√v, evenly over ±8: a distribution function F(y | η) that bends over δ of z is averaged to
# exp(−2π²δ²/h²) for nodes h apart, and never worse than h/5 where it is a step. FEW are enough for δ ≥ 0.5; MANY bound
# the error by 0.003.
REACH, FEW, MANY = 8.0, 65, 1025
# e^700 is the largest power of e, in round numbers, whose products with counts stay finite.
LARGEST_ETA = 700.0


@dataclass(frozen=True, eq=False, repr=False)
class LatentPredictive(Predictive):
    """Outcomes at q rows.

    likelihood, psi : of y given η ; location, spread (q,) : mean and variance of η ; inference : how they were found

    Moments and `log_prob` are closed forms or adaptive quadrature of the likelihood's; `cdf` and `quantile` average
    over 65 to 1,025 nodes of η.

    >>> from credo.distributions.likelihoods import PoissonLog
    >>> p = LatentPredictive(PoissonLog(), np.zeros(1), np.full(1, 0.5), None, "laplace")
    >>> p.mean.round(6).tolist(), p.quantile(0.9).tolist(), bool(p.epistemic[0] < p.aleatoric[0])
    ([1.284025], [3.0], True)
    """

    likelihood: Likelihood
    location: np.ndarray
    spread: np.ndarray
    psi: np.ndarray | None
    inference: str = "laplace"

    @property
    def kind(self) -> str:  # type: ignore[override]
        return self.likelihood.kind

    @property
    def shape(self) -> tuple[int, ...]:
        return self.location.shape

    @property
    def mean(self) -> np.ndarray:
        with np.errstate(over="ignore"):
            return np.asarray(self.likelihood.predictive_mean(self.location, self.spread, self.psi))

    @property
    def aleatoric(self) -> np.ndarray:
        with np.errstate(over="ignore"):
            return np.asarray(self.likelihood.aleatoric(self.location, self.spread, self.psi))

    @property
    def epistemic(self) -> np.ndarray:
        with np.errstate(over="ignore"):
            return np.asarray(self.likelihood.epistemic(self.location, self.spread, self.psi))

    @property
    def variance(self) -> np.ndarray:
        return self.aleatoric + self.epistemic

    def log_prob(self, y: Any) -> np.ndarray:
        y = np.broadcast_to(np.asarray(y, dtype=np.float64), self.shape)
        return np.asarray(self.likelihood.predictive_log_prob(y, self.location, self.spread, self.psi))

    def cdf(self, y: Any) -> np.ndarray:
        return self._nodes.cdf(y)

    def quantile(self, q: Any) -> np.ndarray:
        return self._nodes.quantile(q)

    def _draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        eta = self.location + np.sqrt(self.spread) * rng.standard_normal((n, *self.shape))
        return np.asarray(self._law(eta).sample((), rng))

    def __getitem__(self, rows: Any) -> LatentPredictive:
        rows = np.atleast_1d(rows) if isinstance(rows, (int, np.integer)) else rows
        return replace(self, location=self.location[rows], spread=self.spread[rows])

    @cached_property
    def _nodes(self) -> IntegratedPredictive:
        z = np.linspace(-REACH, REACH, self._count())
        weights = np.exp(-0.5 * z * z)
        sd = np.sqrt(self.spread)

        def law(rows: np.ndarray) -> Any:
            return self._law(self.location[rows] + z[:, None] * sd[rows])

        return IntegratedPredictive(weights, law, self.location.size, self.kind, self.inference)

    def _law(self, eta: np.ndarray) -> Any:
        if self.kind == "count":
            eta = np.clip(eta, -LARGEST_ETA, LARGEST_ETA)
        return self.likelihood.law(eta, self.psi)

    def _count(self) -> int:
        """Nodes that resolve y | η: half its sd, in η, apart."""
        eta = np.clip(self.location, -LARGEST_ETA, LARGEST_ETA) if self.kind == "count" else self.location
        with np.errstate(over="ignore"):
            sd = np.sqrt(np.nan_to_num(self.likelihood.variance(eta, self.psi), nan=np.inf))
            slope = self.likelihood.mean(eta, self.psi) if self.kind == "count" else 1.0
            needed = np.max(np.sqrt(self.spread) * slope / np.maximum(sd, 1e-300), initial=0.0)
        return int(np.clip(4.0 * REACH * needed, FEW - 1, MANY - 1)) + 1
