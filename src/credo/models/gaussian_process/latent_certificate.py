"""How near the Gaussian of Laplace's method or EP is to the posterior of f: importance weights of draws from it.

With q ∝ prior × Π sites the prior cancels: log weight = Σ_i log p(y_i | f_i) − log site_i(f_i), O(n) a draw.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
import scipy.special

from credo.diagnostics.psis import K_RELIABLE, psis
from credo.inference.latent_gaussian import LatentPosterior
from credo.numerics.cholesky import cholesky, solve_lower

__all__ = ["DRAWS", "certificate", "checked", "holds"]

_BLAS: Any = scipy.linalg.blas  # compiled: no type checker sees into it
# As many as cost no more than one evidence with its gradient; k̂ is fitted to their 95 largest weights.
DRAWS = 1000
# Effective share of the draws from which their weights are so even (a variance of a tenth) that the shape of their
# tail, which k̂ tells, is of no account: a likelihood's tail is always heavier than its Gaussian site's.
EVEN = 0.9


def certificate(posterior: LatentPosterior) -> dict[str, float]:
    """`pareto_k`, `ess` and `log_evidence_weighted`, the evidence by importance sampling. No seed: always the same.

    In z, f = m + chol(K) z, whose posterior precision I + chol(K)ᵀ T chol(K) is well conditioned where K is not.
    """
    state, sites = posterior.state, posterior.sites
    root = cholesky(state.prior.covariance, "the prior covariance").lower
    precision = root.T @ (state.tau[:, None] * root)
    precision[np.diag_indices_from(precision)] += 1.0
    lower = cholesky(precision, "the precision of the whitened latents").lower
    # Pairs on either side of the mean take half the algebra, and give the weights' own odd part its mean exactly.
    noise = np.random.default_rng(0).standard_normal((lower.shape[0], DRAWS // 2))
    half = _BLAS.dtrmm(1.0, root.T, solve_lower(lower, noise, transpose=True), lower=0, trans_a=1).T
    centre = root @ (root.T @ state.coordinates)
    g = np.concatenate([centre + half, centre - half])
    terms = sites.likelihood.log_prob(sites.y, posterior.prior.mean + g, sites.psi)
    terms = terms if sites.weights is None else sites.weights * terms
    site = 0.5 * state.tau * g
    site -= state.nu
    site *= g
    return checked(np.sum(terms + site, axis=1), state.log_normaliser)


def checked(log_weights: np.ndarray, log_normaliser: float) -> dict[str, float]:
    """The certificate of raw log weights (S,); `log_normaliser` is log ∫ Π sites d prior."""
    if not np.all(np.isfinite(log_weights)):
        return {"pareto_k": np.inf, "ess": 1.0, "log_evidence_weighted": -np.inf}
    smoothed = psis(log_weights)
    evidence = log_normaliser + float(np.asarray(scipy.special.logsumexp(log_weights))) - np.log(log_weights.size)
    return {
        "pareto_k": float(smoothed.k_hat),
        "ess": float(smoothed.ess),
        "log_evidence_weighted": float(evidence),
    }


def holds(certificate: dict[str, float]) -> bool:
    """Whether the Gaussian passes: k̂ < 0.7, or nearly equal weights."""
    return certificate["pareto_k"] < K_RELIABLE or certificate["ess"] >= EVEN * DRAWS
