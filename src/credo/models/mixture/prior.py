"""What is believed about a mixture before the data, in working coordinates, and the M-step's modes under it.

weights ~ Dirichlet(α);  μ_k | Σ_k ~ N(m, Σ_k/κ),  Σ_k ~ InverseWishart(ν, Ψ)

A covariance that is tied has one Σ; a diagonal one has the marginals of that law, Σ_jj ~ InverseGamma(ν_1/2, Ψ_jj/2)
with ν_1 = ν − d + 1; a spherical one σ² ~ InverseGamma(ν_1/2, tr Ψ/2d).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from credo.distributions.normal import LOG_2PI
from credo.models.mixture.moments import Moments, effective, outer
from credo.saving.registry import register

__all__ = ["MixturePrior", "NO_PRIOR", "weights_mode", "means_mode", "covariances_mode", "log_prior", "log_multigamma"]


@register
@dataclass(frozen=True, eq=False)
class MixturePrior:
    """concentration : α (k,), or a number
    mean, kappa, df, scale : m (d,), κ, ν, and Ψ (d, d); κ = 0 where nothing is believed about the components
    """

    concentration: np.ndarray | float = 1.0
    mean: np.ndarray | float = 0.0
    kappa: float = 0.0
    df: float = 0.0
    scale: np.ndarray | None = None

    @property
    def informs_components(self) -> bool:
        return self.scale is not None


NO_PRIOR = MixturePrior()


def weights_mode(weight: np.ndarray, prior: MixturePrior) -> np.ndarray:
    """(N_k + α_k − 1)/Σ (…)."""
    counts = weight + (prior.concentration - 1.0)
    return counts / counts.sum()


def means_mode(moments: Moments, prior: MixturePrior) -> np.ndarray:
    """(N_k x̄_k + κ m)/(N_k + κ)."""
    mean = moments.mean
    if prior.kappa == 0.0:
        return mean
    share = prior.kappa / (moments.weight + prior.kappa)
    return mean + share[:, None] * (prior.mean - mean)


def covariances_mode(moments: Moments, prior: MixturePrior, ridge: np.ndarray, *, spherical: bool) -> np.ndarray:
    """Scatter over counts, + R: (k, d, d), (d, d) for "tied", variances (k, d) for "diag".

    With the prior the scatter gains Ψ + κ N/(κ + N) (x̄ − m)(x̄ − m)ᵀ and the counts gain what the exponents of the
    joint density of (μ, Σ) hold: ν + d + 2 (full), ν + d + 1 + k (tied), ν_1 + 3 a variance (diag), ν_1 + 2 + d over
    the d coordinates (spherical).
    """
    k, d = moments.first.shape
    # with R in the scatter, N_k times, the step maximises the log posterior less ½ Σ N_k tr(Λ_k R)
    n = moments.weight.reshape((k,) + (1,) * (moments.scatter.ndim - 1)) if moments.kind != "tied" else moments.total
    scatter, count = moments.scatter + n * ridge, moments.weight
    if prior.scale is not None:
        pull = prior.kappa * moments.weight / (prior.kappa + moments.weight)
        shift = moments.mean - prior.mean
        if moments.kind == "diag":
            scatter = scatter + np.diag(prior.scale) + pull[:, None] * shift**2
            count = count + (prior.df - d + 4.0)
        elif moments.kind == "tied":
            scatter = scatter + prior.scale + (pull[:, None] * shift).T @ shift
        else:
            scatter = scatter + prior.scale + pull[:, None, None] * outer(shift, shift)
            count = count + (prior.df + d + 2.0)
    if moments.kind == "tied":
        return scatter / (moments.total + (prior.df + d + 1.0 + k if prior.scale is not None else 0.0))
    if spherical:
        return _spherical(moments, scatter, prior)
    count = effective(count)
    return scatter / (count[:, None] if moments.kind == "diag" else count[:, None, None])


def _spherical(moments: Moments, scatter: np.ndarray, prior: MixturePrior) -> np.ndarray:
    k, d = moments.first.shape
    count = d * moments.weight
    total = scatter.sum(axis=1)
    if prior.scale is not None:
        # `scatter` holds diag Ψ, whose mean is the prior's one scale
        total = total - np.trace(prior.scale) * (1.0 - 1.0 / d)
        count = count + (prior.df - d + 3.0 + d)
    return np.broadcast_to((total / effective(count))[:, None], (k, d))


def log_prior(
    weights: np.ndarray, mean: np.ndarray, covariance: np.ndarray, prior: MixturePrior, kind: str, *, spherical: bool
) -> float:
    """Log density of the parameters under the prior; a flat part counts 0."""
    value = 0.0
    if np.any(np.asarray(prior.concentration) != 1.0):
        alpha = np.broadcast_to(prior.concentration, weights.shape)
        value += float(gammaln(alpha.sum()) - gammaln(alpha).sum() + ((alpha - 1.0) * np.log(weights)).sum())
    if prior.scale is None:
        return value
    shift = mean - prior.mean
    if kind == "diag":
        return value + _log_diagonal(shift, covariance, prior, spherical)
    return value + _log_wishart(shift, covariance.reshape(-1, *prior.scale.shape), prior)


def _log_wishart(shift: np.ndarray, covariance: np.ndarray, prior: MixturePrior) -> float:
    """Inverse-Wishart of each distinct covariance, and a Normal of each mean. One covariance serves all if tied."""
    assert prior.scale is not None
    (k, d), nu, psi = shift.shape, prior.df, prior.scale
    log_det = np.linalg.slogdet(covariance)[1]
    inverse = np.linalg.inv(covariance)
    spread = 0.5 * (nu * np.linalg.slogdet(psi)[1] - nu * d * np.log(2.0)) - log_multigamma(0.5 * nu, d)
    spread = spread - 0.5 * (nu + d + 1.0) * log_det - 0.5 * np.sum(inverse * psi, axis=(1, 2))
    square = prior.kappa * np.einsum("ki,kij,kj->k", shift, np.broadcast_to(inverse, (k, d, d)), shift)
    normal = -0.5 * (d * (LOG_2PI - np.log(prior.kappa)) + log_det + square)
    return float(spread.sum() + normal.sum())


def _log_diagonal(shift: np.ndarray, variance: np.ndarray, prior: MixturePrior, spherical: bool) -> float:
    """Inverse-Gamma of each variance (one a component if spherical), and a Normal of each coordinate of the means."""
    assert prior.scale is not None
    d = shift.shape[1]
    shape = 0.5 * (prior.df - d + 1.0)
    rate = 0.5 * np.diag(prior.scale)
    own, rate = (variance[:, :1], rate.mean()) if spherical else (variance, rate)
    spread = shape * np.log(rate) - gammaln(shape) - (shape + 1.0) * np.log(own) - rate / own
    normal = -0.5 * (LOG_2PI - np.log(prior.kappa) + np.log(variance) + prior.kappa * shift**2 / variance)
    return float(spread.sum() + normal.sum())


def log_multigamma(x: np.ndarray | float, d: int) -> np.ndarray:
    """log Γ_d(x), elementwise; SciPy's takes scalars only."""
    halves = np.asarray(x, dtype=np.float64)[..., None] - 0.5 * np.arange(d)
    return 0.25 * d * (d - 1.0) * np.log(np.pi) + gammaln(halves).sum(axis=-1)
