"""Laplace's method for latent Gaussian models: the Gaussian at the mode of f.

    log evidence = log p(y | f̂) − ½ (f̂ − m)ᵀK⁻¹(f̂ − m) − ½ log |I + K W|

Its gradient has two parts, that at a fixed mode and that through the mode's move; with Σ = (K⁻¹ + W)⁻¹ the second is
½ Σ_ii ℓ‴_i times ∂f̂_i.

Reference: Rasmussen and Williams (2006), §3.4 and §5.5.1.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from credo.distributions.likelihoods import Likelihood
from credo.errors import ParameterError
from credo.inference.latent_gaussian.mode import Sites, mode_of
from credo.inference.latent_gaussian.posterior import LatentPosterior, difference
from credo.inference.latent_gaussian.prior import GaussianPrior
from credo.inference.newton import TOLERANCE

__all__ = ["laplace_latent"]


def laplace_latent(
    prior: GaussianPrior,
    likelihood: Likelihood,
    y: Any,
    psi: Any = None,
    weights: Any = None,
    start: Any = None,
    *,
    tol: float = TOLERANCE,
    checked: bool = False,
) -> LatentPosterior:
    """The mode of f and the Gaussian there.

    Parameters
    ----------
    prior : `LatentPrior(covariance, mean)` or `WeightPrior(features, covariance, mean)`
    y : outcomes (n,); psi : auxiliary parameters; weights : times each row counts
    start : coordinates of an earlier fit (`posterior.state.coordinates`), to start from if better than the prior mean

    tol : of the gain, in nats, that the last step promises
    checked : y (n,) float64 is taken as it is, counts that are not whole too (a quasi-likelihood)

    A mode with no proper curvature (possible only if the likelihood is not log-concave) has status "not_identified".

    Examples
    --------
    >>> from credo.distributions.likelihoods import BernoulliProbit
    >>> from credo.inference.latent_gaussian import LatentPrior
    >>> fit = laplace_latent(LatentPrior([[4.0]]), BernoulliProbit(), [1.0])
    >>> fit.mean.round(6).tolist(), fit.variance.round(6).tolist()
    ([1.061516], [1.66077])
    """
    if not likelihood.smooth:
        raise ParameterError(
            "laplace_latent",
            "likelihood",
            "smooth: this one has no curvature to build on; expectation_propagation takes it",
            likelihood,
        )
    sites = Sites.of("laplace_latent", prior, likelihood, y, psi, weights, checked)
    state, value, report = mode_of(prior, sites, start, tol)
    third = sites.derivatives(state.mean, 3)[3]
    evidence = value - state.half_log_determinant
    slope = 0.5 * state.rough_variance * third

    def psi_slope() -> np.ndarray:
        if sites.psi is None or sites.psi.size == 0:
            return np.zeros(0)

        def parts(at: np.ndarray) -> np.ndarray:
            return np.stack(replace(sites, psi=at).derivatives(state.mean))

        gradient = []
        for value, first, second in difference(parts, sites.psi):
            moved = state.spread(first)  # ∂f̂/∂ψ
            gradient.append(float(value.sum() + 0.5 * state.variance @ second + slope @ moved))
        return np.array(gradient)

    return LatentPosterior(prior, sites, state, evidence, replace(report, inference="laplace"), slope, psi_slope)
