"""Normal families on the whole space, as maps of standard noise: z = c(λ) + S(λ) ε, so that gradients pass through.

    diagonal    z = c + s ε                       2k parameters
    low_rank    z = c + s ε + L₀ W η, η (r,)      (2 + r) k
    full_rank   z = c + L₀ T ε, T lower           k + k (k + 1)/2

Parameters λ are relative to a first guess N(c₀, L₀ L₀ᵀ): c = c₀ + L₀ λ_c, s = s₀ exp λ_s, and the diagonal of T is
exponential too. The ELBO's curvature is then near 1 in every direction, and L-BFGS needs few steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg

from credo.numerics.cholesky import cholesky

__all__ = ["FullRank", "LowRank", "NormalMap", "even_noise"]

LOG_2PI = math.log(2.0 * math.pi)


@dataclass(frozen=True, eq=False)
class NormalMap:
    """A family about the guess `centre` c₀ (k,), `lower` L₀ (k, k). Subclasses supply what follows."""

    centre: np.ndarray
    lower: np.ndarray

    @property
    def dim(self) -> int:
        return self.centre.size

    @property
    def n_noise(self) -> int:
        """Standard Normal variables behind one draw."""
        return self.dim

    def start(self) -> np.ndarray:
        """Parameters λ nearest to the guess."""
        raise NotImplementedError

    def draw(self, parameters: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """Draws (n, k) from noise (n, n_noise)."""
        raise NotImplementedError

    def pull_back(self, parameters: np.ndarray, noise: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        """∂/∂λ of the mean of f over the draws, from ∂f/∂z (n, k)."""
        raise NotImplementedError

    def entropy(self, parameters: np.ndarray) -> tuple[float, np.ndarray]:
        """H(q) in nats and ∂H/∂λ."""
        raise NotImplementedError

    def moments(self, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean (k,) and covariance (k, k)."""
        raise NotImplementedError

    def growth(self, parameters: np.ndarray) -> np.ndarray:
        """How many of the guess's sds wide q is, or its centre away from the guess's (k,): what runs off."""
        mean, covariance = self.moments(parameters)
        sd = np.sqrt(np.sum(self.lower**2, axis=1))
        return np.maximum(np.sqrt(np.diag(covariance)), np.abs(mean - self.centre)) / sd

    def log_prob(self, parameters: np.ndarray, z: np.ndarray) -> np.ndarray:
        """log q(z) of z (n, k)."""
        mean, covariance = self.moments(parameters)
        lower = cholesky(covariance, "covariance of q").lower
        white = scipy.linalg.solve_triangular(lower, (z - mean).T, lower=True)
        return -0.5 * np.sum(white**2, axis=0) - np.log(np.diag(lower)).sum() - 0.5 * self.dim * LOG_2PI


@dataclass(frozen=True, eq=False)
class LowRank(NormalMap):
    """Diagonal plus `rank` directions; rank 0 is the diagonal family."""

    rank: int = 0

    @property
    def n_noise(self) -> int:
        return self.dim + self.rank

    @cached_property
    def _guess(self) -> tuple[np.ndarray, np.ndarray]:
        """s₀ (k,) and W₀ (k, r). Without directions s₀ = 1/√Λ_ii, the best diagonal for a Normal of precision Λ; with,
        the factors of the guess's covariance, by rounds of principal factor analysis."""
        inverse = scipy.linalg.solve_triangular(self.lower, np.eye(self.dim), lower=True)
        if self.rank == 0:
            return 1.0 / np.sqrt(np.sum(inverse**2, axis=0)), np.empty((self.dim, 0))
        covariance = self.lower @ self.lower.T
        total = np.diag(covariance)
        own = 0.5 * total
        for _ in range(20):
            values, vectors = np.linalg.eigh(covariance / np.sqrt(own[:, None] * own[None, :]))
            # a direction of no strength would stay so: the ELBO has a saddle there
            top = np.sqrt(np.maximum(values[-self.rank :] - 1.0, 1e-2))
            loadings = np.sqrt(own)[:, None] * vectors[:, -self.rank :] * top
            own = np.clip(total - np.sum(loadings**2, axis=1), 0.05 * total, None)
        return np.sqrt(own), inverse @ loadings

    def start(self) -> np.ndarray:
        return np.concatenate([np.zeros(2 * self.dim), self._guess[1].ravel()])

    def _parts(self, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Centre, s, and the directions L₀ W (k, r)."""
        k = self.dim
        scale = self._guess[0] * np.exp(parameters[k : 2 * k])
        directions = self.lower @ parameters[2 * k :].reshape(k, self.rank)
        return self.centre + self.lower @ parameters[:k], scale, directions

    def draw(self, parameters: np.ndarray, noise: np.ndarray) -> np.ndarray:
        centre, scale, directions = self._parts(parameters)
        return centre + scale * noise[:, : self.dim] + noise[:, self.dim :] @ directions.T

    def pull_back(self, parameters: np.ndarray, noise: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        k, n = self.dim, len(noise)
        scale = self._parts(parameters)[1]
        by_scale = np.sum(slopes * noise[:, :k], axis=0) * scale / n
        inner = slopes @ self.lower
        return np.concatenate([inner.mean(axis=0), by_scale, (inner.T @ noise[:, k:] / n).ravel()])

    def entropy(self, parameters: np.ndarray) -> tuple[float, np.ndarray]:
        """½ log|Σ| = Σ log s + ½ log|I + BᵀB|, B = L₀ W / s."""
        _, scale, directions = self._parts(parameters)
        ratio = directions / scale[:, None]
        inner = np.eye(self.rank) + ratio.T @ ratio
        solved = np.linalg.solve(inner, ratio.T).T
        value = np.log(scale).sum() + 0.5 * np.linalg.slogdet(inner)[1] + 0.5 * self.dim * (1.0 + LOG_2PI)
        by_scale = 1.0 - np.sum(ratio * solved, axis=1)
        by_directions = self.lower.T @ (solved / scale[:, None])
        return float(value), np.concatenate([np.zeros(self.dim), by_scale, by_directions.ravel()])

    def moments(self, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        centre, scale, directions = self._parts(parameters)
        return centre, np.diag(scale**2) + directions @ directions.T


@dataclass(frozen=True, eq=False)
class FullRank(NormalMap):
    """Any covariance: L₀ T with T lower triangular of positive diagonal."""

    @cached_property
    def _places(self) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
        """The lower triangle's rows and columns, and where in it the diagonal is."""
        return np.tril_indices(self.dim), np.cumsum(np.arange(1, self.dim + 1)) - 1

    def start(self) -> np.ndarray:
        return np.zeros(self.dim + self.dim * (self.dim + 1) // 2)

    def _triangle(self, parameters: np.ndarray) -> np.ndarray:
        triangle, diagonal = self._places
        flat = parameters[self.dim :].copy()
        flat[diagonal] = np.exp(flat[diagonal])
        lower = np.zeros((self.dim, self.dim))
        lower[triangle] = flat
        return lower

    def draw(self, parameters: np.ndarray, noise: np.ndarray) -> np.ndarray:
        return self.centre + (parameters[: self.dim] + noise @ self._triangle(parameters).T) @ self.lower.T

    def pull_back(self, parameters: np.ndarray, noise: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        triangle, diagonal = self._places
        inner = slopes @ self.lower
        flat = (inner.T @ noise / len(noise))[triangle]
        flat[diagonal] *= np.exp(parameters[self.dim :][diagonal])
        return np.concatenate([inner.mean(axis=0), flat])

    def entropy(self, parameters: np.ndarray) -> tuple[float, np.ndarray]:
        diagonal = self._places[1]
        slope = np.zeros(parameters.size)
        slope[self.dim + diagonal] = 1.0
        log_scale = np.log(np.diag(self.lower)).sum() + parameters[self.dim + diagonal].sum()
        return float(log_scale + 0.5 * self.dim * (1.0 + LOG_2PI)), slope

    def moments(self, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        root = self.lower @ self._triangle(parameters)
        return self.centre + self.lower @ parameters[: self.dim], root @ root.T


def even_noise(n: int, k: int, rng: np.random.Generator) -> np.ndarray:
    """n standard Normal draws (n, k), n even, whose mean is 0 and, if there are enough, whose covariance is I, exactly.

    Each has its mirror image, so odd moments vanish; a quadratic log density then has no sampling error at all, and
    other smooth ones only that of their higher orders. With fewer than 4k draws the variances alone are made exact:
    directions that the draws do not span must not look certain.
    """
    half = rng.standard_normal((n // 2, k))
    if n >= 4 * k:
        gram = np.linalg.cholesky(half.T @ half / len(half))
        half = scipy.linalg.solve_triangular(gram, half.T, lower=True).T
    else:
        half /= np.sqrt(np.mean(half**2, axis=0))
    return np.concatenate([half, -half])
