"""Mixtures whose log densities are linear in features of a row: ℓ_k(x) = Θ_k · φ(x), counts and categories alike.

One matrix product is the E-step, its transpose gathers the statistics, and a missing cell has features of zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.blocks.source import Block
from credo.inference.em import EMFit, EMModel
from credo.models.mixture.base import MixtureEstimator
from credo.models.mixture.expectation import CHUNK, log_weights, normalise

__all__ = ["LinearModel", "LinearMixture"]


@dataclass(frozen=True, eq=False)
class LinearModel(EMModel):
    """Parameters are a pair (weights (k,), values (k, …)). Statistics: Σ r (k,), Σ r φ (k, F), log likelihood."""

    def features(self, X: np.ndarray) -> np.ndarray:
        """φ (n, F) of rows."""
        raise NotImplementedError

    def natural(self, values: Any) -> np.ndarray:
        """Θ (k, F)."""
        raise NotImplementedError

    def values(self, weight: np.ndarray, gathered: np.ndarray) -> Any:
        """The M-step, from Σ r and Σ r φ."""
        raise NotImplementedError

    def log_prior(self, values: Any) -> float:
        return 0.0

    def log_joint(self, X: np.ndarray, params: tuple[np.ndarray, Any]) -> np.ndarray:
        """log π_k + Θ_k · φ (k, n)."""
        return log_weights(params[0])[:, None] + self.natural(params[1]) @ self.features(X).T

    def accumulate(self, block: Block, params: tuple[np.ndarray, Any]) -> tuple[np.ndarray, np.ndarray, float]:
        theta = self.natural(params[1])
        constant = log_weights(params[0])[:, None]
        weight, gathered, log_likelihood = np.zeros(len(theta)), np.zeros_like(theta), 0.0
        step = max(256, CHUNK // (theta.shape[1] + 2 * len(theta)))
        for i in range(0, block.n_rows, step):
            phi = self.features(block.X[i : i + step])
            r = theta @ phi.T
            r += constant
            log_likelihood += normalise(r, None if block.weights is None else block.weights[i : i + step])
            weight += r.sum(axis=1)
            gathered += r @ phi
        return weight, gathered, log_likelihood

    def finalize(self, statistics: tuple[np.ndarray, np.ndarray, float]) -> tuple[np.ndarray, Any]:
        weight, gathered, _ = statistics
        return weight / weight.sum(), self.values(weight, gathered)

    def bound(self, statistics: tuple[np.ndarray, np.ndarray, float], params: tuple[np.ndarray, Any]) -> float:
        return float(statistics[2]) + self.log_prior(params[1])


class LinearMixture(MixtureEstimator):
    """Base of the estimators over a `LinearModel`; not public."""

    acceleration = None

    def _fitted(self) -> LinearModel:
        """The model that the attributes describe."""
        raise NotImplementedError

    def _fitted_values(self) -> Any:
        raise NotImplementedError

    def _resume(self, model: LinearModel, seen: Any) -> Any:
        return self.weights_, self._fitted_values()

    def _log_joint(self, X: np.ndarray) -> np.ndarray:
        return self._fitted().log_joint(X, (self.weights_, self._fitted_values()))

    def _settle_weights(self, fit: EMFit) -> Any:
        self.weights_ = fit.params[0]
        return fit.params[1]
