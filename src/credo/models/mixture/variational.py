"""Variational Bayes for Gaussian mixtures: the model of `gaussian` with q(π) Π_k q(μ_k, Λ_k) in place of a point.

Priors, with Λ_k = Σ_k⁻¹:  π ~ Dirichlet(γ, …, γ), or sticks v_k ~ Beta(1, γ), π_k = v_k Π_{j<k} (1 − v_j) (Dirichlet
process, truncated);  μ_k | Λ_k ~ N(m_0, (β_0 Λ_k)⁻¹);  Λ_k ~ Wishart(ν_0, Ψ_0⁻¹), one Λ for all if tied; of diagonal
covariances λ_kj ~ Gamma(ν_0/2, Ψ_0j/2); of spherical ones λ_k ~ Gamma(d ν_0/2, d Ψ_0/2).

The E-step is that of `expectation`, with a_k = E log π_k + ½ E log|Λ_k| − (d/2)(log 2π + 1/β_k) and precision E Λ_k.

References: Attias (2000), A variational Bayesian framework for graphical models; Blei and Jordan (2006), Variational
inference for Dirichlet process mixtures, Bayesian Analysis 1; Bishop (2006), Pattern Recognition, §10.2.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import betaln, digamma, gammaln

from credo.distributions.normal import LOG_2PI
from credo.models.mixture.expectation import Gaussians
from credo.models.mixture.factors import floored
from credo.models.mixture.gaussian import GaussianModel
from credo.models.mixture.moments import Moments, outer
from credo.models.mixture.prior import log_multigamma

__all__ = ["VariationalModel", "VariationalParams", "VariationalPrior", "stick_posterior", "stick_weights"]


@dataclass(frozen=True, eq=False)
class VariationalPrior:
    """concentration : γ; process : whether of a Dirichlet process
    mean, precision, df : m_0 (d,), β_0, ν_0
    scale : Ψ_0, (d, d), (d,) for diagonal covariances, () for spherical ones
    """

    concentration: float
    process: bool
    mean: np.ndarray
    precision: float
    df: float
    scale: np.ndarray


@dataclass(frozen=True, eq=False)
class VariationalParams:
    """concentration : of q(π), (k,), or of the sticks, (2, k)
    precision (k,), mean (k, d) : β and m of q(μ | Λ)
    df : ν, (k,), or () if tied
    covariance : Ψ/ν, in the shapes of `kind`; factor : U with U Uᵀ = covariance⁻¹ = E Λ
    """

    covariance_type: str
    kind: str
    concentration: np.ndarray
    precision: np.ndarray
    mean: np.ndarray
    df: np.ndarray
    covariance: np.ndarray
    factor: np.ndarray

    @property
    def dimension(self) -> int:
        return self.mean.shape[1]

    @cached_property
    def expected_log_weights(self) -> np.ndarray:
        c = self.concentration
        if c.ndim == 1:
            return digamma(c) - digamma(c.sum())
        both = digamma(c.sum(axis=0))
        left = np.cumsum(digamma(c[1]) - both)
        return digamma(c[0]) - both + np.concatenate([[0.0], left[:-1]])

    @cached_property
    def log_det(self) -> np.ndarray:
        """log|Ψ/ν| (k,) or (); of "diag" (k, d), entry by entry."""
        if self.kind == "diag":
            return np.log(self.covariance)
        return -2.0 * np.linalg.slogdet(self.factor)[1]

    @cached_property
    def expected_log_det(self) -> np.ndarray:
        """E log|Λ| (k,) or (); of "diag" E log λ (k, d)."""
        d, nu = self.dimension, self.df
        if self.covariance_type == "spherical":
            return (digamma(0.5 * d * nu) - np.log(0.5 * d * nu))[:, None] - self.log_det
        if self.kind == "diag":
            return (digamma(0.5 * nu) - np.log(0.5 * nu))[:, None] - self.log_det
        halves = 0.5 * (nu[..., None] - np.arange(d))
        return digamma(halves).sum(axis=-1) - d * np.log(0.5 * nu) - self.log_det

    @cached_property
    def gaussians(self) -> Gaussians:
        log_det = self.expected_log_det.sum(axis=1) if self.kind == "diag" else self.expected_log_det
        constant = self.expected_log_weights + 0.5 * (log_det - self.dimension * (LOG_2PI + 1.0 / self.precision))
        return Gaussians(self.kind, constant, self.mean, self.factor)

    @property
    def weights(self) -> np.ndarray:
        """E π, scaled to sum to one where sticks leave a rest."""
        c = self.concentration
        return c / c.sum() if c.ndim == 1 else stick_weights(c)


def stick_posterior(weight: np.ndarray, gamma: float) -> np.ndarray:
    """(2, k): Beta(1 + N_k, γ + Σ_{j>k} N_j) of every stick."""
    after = np.concatenate([np.cumsum(weight[::-1])[-2::-1], [0.0]])
    return np.stack([1.0 + weight, gamma + after])


def stick_weights(sticks: np.ndarray) -> np.ndarray:
    """E v_k Π_{j<k} (1 − E v_j), over their sum."""
    share = sticks[1] / sticks.sum(axis=0)
    weights = (1.0 - share) * np.concatenate([[1.0], np.cumprod(share[:-1])])
    return weights / weights.sum()


_UNSET: Any = None


@dataclass(frozen=True, eq=False)
class VariationalModel(GaussianModel):
    """`GaussianModel` whose parameters are those of q, and whose bound is the ELBO, in the rows' own units."""

    belief: VariationalPrior = field(default=_UNSET)

    def finalize(self, statistics: Moments) -> VariationalParams:
        belief, n = self.belief, statistics.weight
        precision = belief.precision + n
        shift = statistics.mean - belief.mean
        mean = belief.mean + (n / precision)[:, None] * shift
        pull = belief.precision * n / precision
        df = belief.df + (n.sum() if self.kind == "tied" else n)
        if self.kind == "diag":
            psi = statistics.scatter + pull[:, None] * shift**2 + n[:, None] * self.ridge
            psi = psi.mean(axis=1, keepdims=True) + np.zeros_like(psi) if self.is_spherical else psi
            covariance = (belief.scale + psi) / df[:, None]
        elif self.kind == "tied":
            psi = belief.scale + statistics.scatter + (pull[:, None] * shift).T @ shift + n.sum() * self.ridge
            covariance = psi / df
        else:
            psi = statistics.scatter + pull[:, None, None] * outer(shift, shift) + n[:, None, None] * self.ridge
            covariance = (belief.scale + psi) / df[:, None, None]
        concentration = (
            stick_posterior(n, belief.concentration) if belief.process else belief.concentration + np.asarray(n)
        )
        return VariationalParams(
            self.covariance_type,
            self.kind,
            concentration,
            precision,
            mean,
            np.asarray(df),
            *floored(self.kind, covariance),
        )

    def bound(self, statistics: Moments, params: VariationalParams) -> float:
        """Σ log Σ_k exp ℓ_k − KL(q(π) ‖ p(π)) − Σ_k KL(q(μ_k, Λ_k) ‖ p(μ_k, Λ_k)), q(z) being the best."""
        return statistics.log_likelihood - (
            _weights_divergence(params, self.belief)
            + _means_divergence(params, self.belief)
            + _spread_divergence(params, self.belief)
        )

    def expected(self, statistics: Moments, params: VariationalParams) -> float:
        return super(GaussianModel, self).expected(statistics, params)

    def perturbed(self, params: VariationalParams, rng: np.random.Generator) -> Any:
        return super(GaussianModel, self).perturbed(params, rng)

    def unpack(self, vector: np.ndarray) -> Any:
        return super(GaussianModel, self).unpack(vector)

    def pack(self, params: Any) -> np.ndarray:
        return super(GaussianModel, self).pack(params)


def _weights_divergence(params: VariationalParams, belief: VariationalPrior) -> float:
    c, gamma = params.concentration, belief.concentration
    if belief.process:
        both = digamma(c.sum(axis=0))
        gain = (c[0] - 1.0) * (digamma(c[0]) - both) + (c[1] - gamma) * (digamma(c[1]) - both)
        return float(np.sum(betaln(1.0, gamma) - betaln(c[0], c[1]) + gain))
    k = c.size
    normaliser = gammaln(c.sum()) - gammaln(c).sum() - gammaln(k * gamma) + k * gammaln(gamma)
    return float(normaliser + (c - gamma) @ (digamma(c) - digamma(c.sum())))


def _means_divergence(params: VariationalParams, belief: VariationalPrior) -> float:
    """Σ_k E KL(N(m_k, (β_k Λ)⁻¹) ‖ N(m_0, (β_0 Λ)⁻¹)) over q(Λ)."""
    ratio = belief.precision / params.precision
    g, shift = params.gaussians, params.mean - belief.mean
    if params.kind == "diag":
        square = np.sum(g.precision * shift**2, axis=1)
    else:
        square = np.sum((shift[:, None, :] @ g.precision)[:, 0] * shift, axis=1)
    return 0.5 * float(np.sum(params.dimension * (ratio - 1.0 - np.log(ratio)) + belief.precision * square))


def _spread_divergence(params: VariationalParams, belief: VariationalPrior) -> float:
    """Σ KL(q(Λ) ‖ p(Λ)) over the distinct precisions."""
    d, nu, nu0 = params.dimension, params.df, belief.df
    if params.kind == "diag":
        spherical = params.covariance_type == "spherical"
        size = d if spherical else 1.0
        shape, shape0 = (0.5 * size * nu)[:, None], 0.5 * size * nu0
        rate, rate0 = shape * params.covariance, 0.5 * size * belief.scale
        each = (
            shape * np.log(rate) - gammaln(shape) - shape0 * np.log(rate0) + gammaln(shape0)
            + (shape - shape0) * (digamma(shape) - np.log(rate)) - shape + rate0 * shape / rate
        )  # fmt: skip
        return float(each[:, 0].sum() if spherical else each.sum())
    log_psi = params.log_det + d * np.log(nu)
    log_psi0 = np.linalg.slogdet(belief.scale)[1]
    overlap = np.sum(params.gaussians.precision * belief.scale, axis=(-2, -1))
    each = (
        0.5 * (nu * log_psi - nu0 * log_psi0) - 0.5 * (nu - nu0) * d * np.log(2.0)
        - log_multigamma(0.5 * nu, d) + log_multigamma(nu0 / 2.0, d)
        + 0.5 * (nu - nu0) * params.expected_log_det - 0.5 * nu * d + 0.5 * overlap
    )  # fmt: skip
    return float(np.sum(each))
