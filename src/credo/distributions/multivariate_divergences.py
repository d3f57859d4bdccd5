"""Kullback–Leibler divergences of the vector, matrix and joint families: `kl` imports this when it meets one."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.distributions.dirichlet import Dirichlet
from credo.distributions.divergences import closed_form, kl
from credo.distributions.inverse_wishart import InverseWishart
from credo.distributions.multinomial import Multinomial
from credo.distributions.multivariate_normal import MultivariateNormal
from credo.distributions.normal_inverse_gamma import NormalInverseGamma
from credo.distributions.normal_inverse_wishart import NormalInverseWishart
from credo.distributions.positive_definite import whiten
from credo.distributions.stirling import deviance, log_minus_digamma, log_poisson_mode
from credo.distributions.wishart import Wishart
from credo.numerics.cholesky import solve_lower
from credo.numerics.namespace import namespace

__all__ = ["kl"]

_XP = namespace(0.0)


def _excess(ratio: np.ndarray) -> float:
    """tr R Rᵀ − d − log |R Rᵀ| of a lower triangular R: squares below the diagonal, and r² − 1 − log r² ≥ 0 on it."""
    squares = ratio**2
    return float(np.sum(deviance(_XP, 1.0, np.diagonal(squares))) + np.sum(np.tril(squares, -1)))


@closed_form(MultivariateNormal, MultivariateNormal)
def _multivariate_normal(p: MultivariateNormal, q: MultivariateNormal) -> Any:
    """½ (tr(Σq⁻¹ Σp) − d − log |Σq⁻¹ Σp| + (μq − μp)ᵀ Σq⁻¹ (μq − μp))."""
    z = whiten(q.scale_lower, q.mean - p.mean)
    return 0.5 * (_excess(solve_lower(q.scale_lower, p.scale_lower)) + np.sum(z * z, axis=-1))


@closed_form(Dirichlet, Dirichlet)
def _dirichlet(p: Dirichlet, q: Dirichlet) -> Any:
    """log B(αq)/B(αp) + Σ (αp − αq)(ψ(αp) − ψ(Σαp)), by Bregman divergences of log Γ."""
    total = _bregman(p.concentration.sum(-1), q.concentration.sum(-1))
    return np.sum(_bregman(p.concentration, q.concentration), axis=-1) - total


def _bregman(k: Any, m: Any) -> Any:
    """log Γ(m) − log Γ(k) − (m − k) ψ(k) ≥ 0, without its cancellations."""
    k, m = np.asarray(k, dtype=np.float64), np.asarray(m, dtype=np.float64)
    modes = log_poisson_mode(_XP, k) - log_poisson_mode(_XP, m)
    return deviance(_XP, m, k) + (m - k) * log_minus_digamma(_XP, k) + modes + np.log(k / m)


@closed_form(Multinomial, Multinomial)
def _multinomial(p: Multinomial, q: Multinomial) -> Any:
    if not np.all(np.equal(p.n, q.n)):
        return None
    terms = deviance(_XP, np.asarray(p.p, dtype=np.float64), np.asarray(q.p, dtype=np.float64))
    return np.asarray(p.n) * np.sum(terms, axis=-1)


@closed_form(Wishart, Wishart)
def _wishart(p: Wishart, q: Wishart) -> Any:
    """½ νp (tr(Sq⁻¹ Sp) − d − log |Sq⁻¹ Sp|) and the same in ν: Σ Bregman divergences of log Γ((ν − i)/2)."""
    index = np.arange(p.dimension)
    shapes = np.sum(_bregman(0.5 * (p.df - index), 0.5 * (q.df - index)))
    ratio = solve_lower(q.scale_lower, p.scale_lower)
    # The cross term (νp − νq)/2 (log |Sq⁻¹ Sp|) is what turns νq's log determinant into νp's.
    log_det = 2.0 * float(np.sum(np.log(np.diagonal(ratio))))
    return 0.5 * p.df * _excess(ratio) + 0.5 * (p.df - q.df) * log_det + shapes


@closed_form(InverseWishart, InverseWishart)
def _inverse_wishart(p: InverseWishart, q: InverseWishart) -> Any:
    """That of the Wisharts of the inverses, with scales Ψ⁻¹: a divergence does not see a change of variable."""
    index = np.arange(p.dimension)
    shapes = np.sum(_bregman(0.5 * (p.df - index), 0.5 * (q.df - index)))
    ratio = solve_lower(p.scale_lower, q.scale_lower)
    log_det = 2.0 * float(np.sum(np.log(np.diagonal(ratio))))
    return 0.5 * p.df * _excess(ratio) + 0.5 * (p.df - q.df) * log_det + shapes


@closed_form(NormalInverseGamma, NormalInverseGamma)
def _normal_inverse_gamma(p: NormalInverseGamma, q: NormalInverseGamma) -> Any:
    """KL of σ² plus E KL of θ given σ², whose mean part has E 1/σ² = a/b."""
    if np.shape(p.mean) != np.shape(q.mean):
        return None
    given_p, given_q = (MultivariateNormal(np.atleast_1d(f.mean), f.covariance_matrix) for f in (p, q))
    z = whiten(given_q.scale_lower, given_q.mean - given_p.mean)
    spread = _excess(solve_lower(given_q.scale_lower, given_p.scale_lower))
    return kl(p.marginal_variance, q.marginal_variance) + 0.5 * (spread + p.shape / p.scale * (z @ z))


@closed_form(NormalInverseWishart, NormalInverseWishart)
def _normal_inverse_wishart(p: NormalInverseWishart, q: NormalInverseWishart) -> Any:
    """KL of Σ plus E KL of μ given Σ, whose mean part has E Σ⁻¹ = ν Ψ⁻¹."""
    z = whiten(p.marginal_covariance.scale_lower, q.mean - p.mean)
    spread = p.dimension * deviance(_XP, 1.0, q.kappa / p.kappa) + q.kappa * p.df * (z @ z)
    return kl(p.marginal_covariance, q.marginal_covariance) + 0.5 * spread
