"""The Gaussian mixture as EM sees it: `GaussianModel` and its parameters `GaussianParams`, in working coordinates."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from credo.blocks.source import Block
from credo.distributions.normal import LOG_2PI
from credo.inference.em import EMModel
from credo.models.mixture.coordinates import Coordinates
from credo.models.mixture.expectation import Beside, Gaussians, expected_moments, log_weights
from credo.models.mixture.factors import floored
from credo.models.mixture.full_pass import compiled_moments
from credo.models.mixture.missing import expected_moments_observed
from credo.models.mixture.moments import Moments
from credo.models.mixture.prior import NO_PRIOR, MixturePrior, covariances_mode, log_prior, means_mode, weights_mode
from credo.saving.registry import register

__all__ = ["GaussianModel", "GaussianParams", "complete", "kind_of", "rounding_of"]


def kind_of(covariance_type: str) -> str:
    """How the covariances of a type are held: a spherical one as a diagonal whose entries are equal."""
    return "diag" if covariance_type == "spherical" else covariance_type


# Sds by which annealing moves means. Where components agree the bound is flat to second order, so that from a nudge of
# 0.1 EM stops before equal components part (in a third of 36 trials); from 1.0 all parted, and all found the best fit.
NUDGE = 1.0


@register
@dataclass(frozen=True, eq=False)
class GaussianParams:
    """weights (k,), mean (k, d), covariance (k, d, d) | (d, d) | (k, d); factor U with U Uᵀ = covariance⁻¹."""

    kind: str
    weights: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray
    factor: np.ndarray

    @classmethod
    def of(cls, kind: str, weights: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> GaussianParams:
        return cls(kind, weights, mean, *floored(kind, covariance))

    @cached_property
    def log_det_precision(self) -> np.ndarray:
        """log|Λ_k| (k,) or ()."""
        if self.kind == "diag":
            return 2.0 * np.log(self.factor).sum(axis=1)
        return 2.0 * np.linalg.slogdet(self.factor)[1]

    @cached_property
    def gaussians(self) -> Gaussians:
        constant = log_weights(self.weights) + 0.5 * (self.log_det_precision - self.mean.shape[1] * LOG_2PI)
        return Gaussians(self.kind, constant, self.mean, self.factor)


def complete(moments: Moments, g: Gaussians) -> float:
    """Σ w Σ_k r_k ℓ_k = Σ_k N_k a_k − ½ tr(Λ_k Σ r (z − μ_k)(z − μ_k)ᵀ)."""
    about = moments.about(g.mean)
    return float(about.weight @ g.log_constant) - 0.5 * float(np.sum(g.precision * about.second))


def rounding_of(g: Gaussians, covariance: np.ndarray) -> np.ndarray:
    """(k,): what rounding may take from a row's log density.

    In (z − μ)ᵀ Λ (z − μ), by the way it is computed; and by the condition of Σ, ≤ tr Σ tr Λ, in the sums of products,
    the inverse and the determinant.
    """
    eps, d = np.finfo(float).eps, g.mean.shape[1]
    condition = 0.0 if g.kind == "diag" else g.trace * np.trace(covariance, axis1=-2, axis2=-1)
    if g.is_tame:
        return eps * (g.cancellation + condition)
    return eps * (8.0 * np.sqrt(d * g.trace) * (1.0 + np.abs(g.mean).max(axis=1)) + condition)


@register
@dataclass(frozen=True, eq=False)
class GaussianModel(EMModel):
    """covariance_type : "full", "tied", "diag" or "spherical"
    coordinates : from rows to working coordinates
    ridge : R, added to every covariance: (d, d), or (d,) for diagonal ones
    prior : of the parameters
    has_missing : whether rows hold NaN
    power : exponent of p(z | x) in the E-step, for annealing
    compiled : whether passes are long enough for the compiled loop, where there is one
    """

    covariance_type: str
    coordinates: Coordinates
    ridge: np.ndarray
    prior: MixturePrior = field(default=NO_PRIOR)
    has_missing: bool = False
    power: float = 1.0
    compiled: bool = False

    @property
    def kind(self) -> str:
        return kind_of(self.covariance_type)

    @property
    def is_spherical(self) -> bool:
        return self.covariance_type == "spherical"

    def accumulate(self, block: Block, params: Any, beside: Beside | None = None) -> Moments:
        g, weights = params.gaussians, block.weights
        if self.compiled and beside is None and not self.has_missing and g.kind == "full" and g.is_tame:
            moments = compiled_moments(block.X, weights, self.coordinates, g, self.power)
            gain = self.coordinates.log_det * (block.n_rows if weights is None else float(weights.sum()))
        else:
            columns = self.coordinates.columns(block.X)
            gather = expected_moments_observed if self.has_missing else expected_moments
            moments = gather(columns, weights, g, self.power, beside)
            gain = self.coordinates.gain(columns, weights, self.has_missing)
        return replace(
            moments,
            log_likelihood=moments.log_likelihood + gain,
            penalty=0.5 * float(moments.weight @ self._ridge_cost(g)),
            complete=complete(moments, g),
        )

    def _ridge_cost(self, g: Gaussians) -> np.ndarray:
        """tr(Λ_k R) (k,)."""
        axes = (-1,) if self.kind == "diag" else (-2, -1)
        return np.broadcast_to(np.sum(g.precision * self.ridge, axis=axes), g.log_constant.shape)

    def finalize(self, statistics: Moments) -> Any:
        covariance = covariances_mode(statistics, self.prior, self.ridge, spherical=self.is_spherical)
        weights, mean = weights_mode(statistics.weight, self.prior), means_mode(statistics, self.prior)
        return GaussianParams.of(self.kind, weights, mean, covariance)

    def bound(self, statistics: Moments, params: Any) -> float:
        """log p(X | θ) + log p(θ): X in its own units, θ in working ones."""
        prior = log_prior(
            params.weights, params.mean, params.covariance, self.prior, self.kind, spherical=self.is_spherical
        )
        return statistics.log_likelihood + prior

    def expected(self, statistics: Moments, params: Any) -> float:
        """L(θ, q) = log p(X | θ₀) + E_q [log p(X, Z | θ) − log p(X, Z | θ₀)] + log p(θ), with q from the pass at θ₀."""
        gain = complete(statistics, params.gaussians) - statistics.complete
        return self.bound(statistics, params) + gain

    def slack(self, statistics: Moments, params: Any) -> float:
        """Σ = S + R maximises the expected log likelihood less ½ Σ N_k tr(Λ_k R), so the likelihood itself may fall by
        what that term gains; and where a component is narrow, by the rounding of (z − μ)ᵀ Λ (z − μ)."""
        g = params.gaussians
        gain = statistics.penalty - 0.5 * float(statistics.weight @ self._ridge_cost(g))
        rounding = float(statistics.weight @ rounding_of(g, params.covariance))
        return max(gain, 0.0) + rounding

    # -- acceleration and annealing ------------------------------------------------------------------------------

    def pack(self, params: Any) -> np.ndarray:
        """log weights (but for a constant), means, and logarithms of variances or log-Cholesky factors."""
        weights = np.log(np.maximum(params.weights, np.finfo(float).tiny))
        if self.kind == "diag":
            spread = np.log(params.covariance)
        else:
            lower = np.linalg.cholesky(params.covariance)
            at = np.arange(lower.shape[-1])
            lower[..., at, at] = np.log(lower[..., at, at])
            spread = lower
        return np.concatenate([weights, params.mean.ravel(), spread.ravel()])

    def unpack(self, vector: np.ndarray) -> Any:
        d = self.coordinates.centre.size
        k = self.components_in(vector.size, d)
        weights = np.exp(vector[:k] - vector[:k].max())
        mean, spread = vector[k : k + k * d].reshape(k, d), vector[k + k * d :]
        if self.kind == "diag":
            covariance = np.exp(spread.reshape(k, d))
        else:
            lower = np.tril(spread.reshape(-1, d, d))
            at = np.arange(d)
            lower[:, at, at] = np.exp(lower[:, at, at])
            covariance = lower @ lower.swapaxes(1, 2)
            covariance = covariance[0] if self.kind == "tied" else covariance
        return GaussianParams.of(self.kind, weights / weights.sum(), mean, covariance)

    def components_in(self, size: int, d: int, more: int = 0) -> int:
        """The k of a packed vector of this size; `more` : what each component has beside."""
        if self.kind == "tied":
            return (size - d * d) // (1 + d + more)
        return size // ((1 + 2 * d if self.kind == "diag" else 1 + d + d * d) + more)

    def perturbed(self, params: Any, rng: np.random.Generator) -> Any:
        """Means moved within their components, by `NUDGE` of an sd in every direction."""
        step = NUDGE * rng.standard_normal(params.mean.shape)
        if self.kind == "diag":
            step = step / params.factor
        else:
            # of U with U Uᵀ = Σ⁻¹, the rows of U⁻¹ span an sd each
            step = (step[:, None, :] @ np.linalg.inv(params.factor))[:, 0]
        return GaussianParams.of(self.kind, params.weights, params.mean + step, params.covariance)

    def tempered(self, power: float) -> GaussianModel:
        return replace(self, power=power)
