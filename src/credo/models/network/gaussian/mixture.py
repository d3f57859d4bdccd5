"""`NormalMixture`: several continuous nodes of a conditional Gaussian network together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special

from credo.distributions import Mixture, MultivariateNormal, Normal
from credo.errors import UnavailableError
from credo.models.network.gaussian.equations import lower_factor

__all__ = ["NormalMixture", "scalar_law"]


@dataclass(frozen=True, eq=False)
class NormalMixture:
    """Σ_k w_k N(μ_k, B_k B_kᵀ): a law of several real numbers by name; one component a configuration.

    names : t names; weights (K,); means (K, t); rows B (K, t, d), which may be singular

    Examples
    --------
    >>> law = NormalMixture(("x",), np.array([0.5, 0.5]), np.array([[-1.0], [1.0]]), np.ones((2, 1, 1)))
    >>> law.mean.tolist(), law.covariance.tolist()
    ([0.0], [[2.0]])
    """

    names: tuple[str, ...]
    weights: np.ndarray
    means: np.ndarray
    rows: np.ndarray

    @property
    def mean(self) -> np.ndarray:
        """(t,)."""
        return self.weights @ self.means

    @property
    def covariances(self) -> np.ndarray:
        """Of the components, (K, t, t)."""
        return np.matmul(self.rows, self.rows.swapaxes(-1, -2))

    @property
    def covariance(self) -> np.ndarray:
        """Σ w (B Bᵀ + (μ_k − mean)(μ_k − mean)ᵀ), (t, t)."""
        off = (self.means - self.mean) * np.sqrt(self.weights)[:, None]
        return np.tensordot(self.weights, self.covariances, 1) + off.T @ off

    @property
    def sd(self) -> np.ndarray:
        """(t,)."""
        return np.sqrt(np.diagonal(self.covariance))

    def log_prob(self, x: Any) -> np.ndarray:
        """Log density of vectors (..., t). Raises `UnavailableError` where a component has none (sd 0)."""
        x = np.asarray(x, dtype=np.float64)
        parts = []
        for weight, mean, rows in zip(self.weights, self.means, self.rows, strict=True):
            lower = lower_factor(rows)
            if lower is None:
                raise UnavailableError(f"{', '.join(self.names)} have no density: some are determined (sd 0).")
            parts.append(np.log(weight) + MultivariateNormal.from_scale_lower(mean, lower).log_prob(x))
        return np.asarray(scipy.special.logsumexp(np.stack(parts), axis=0))

    def sample(self, n: int, random_state: Any = None) -> np.ndarray:
        """(n, t) draws."""
        rng = np.random.default_rng(random_state)
        at = rng.choice(len(self.weights), size=n, p=self.weights)
        noise = rng.standard_normal((n, self.rows.shape[-1]))
        return self.means[at] + np.matmul(self.rows[at], noise[..., None])[..., 0]


def scalar_law(owner: str, law: NormalMixture) -> Normal | Mixture:
    """A `Normal`, or a `Mixture` with equal components once."""
    sds = np.sqrt(np.square(law.rows[:, 0]).sum(axis=-1))
    if np.any(sds == 0.0):
        raise UnavailableError(
            f"{owner}: {law.names[0]} is determined in some configuration (sd 0), so that there is no density.",
            value=law.names[0],
            remedy="Ask for `moments`.",
        )
    pairs, inverse = np.unique(np.column_stack([law.means[:, 0], sds]), axis=0, return_inverse=True)
    weights = np.bincount(inverse.ravel(), law.weights)
    if len(pairs) == 1:
        return Normal(*pairs[0])
    return Mixture(weights / weights.sum(), tuple(Normal(mean, sd) for mean, sd in pairs))
