"""A Normal of unknown mean and precision by mean field: small enough to see what the factorisation costs.

    x_i ~ N(μ, 1/τ),   μ | τ ~ N(m_0, 1/(κ_0 τ)),   τ ~ Gamma(a_0, b_0)

The posterior is of the same kind, with (m, κ, a, b), and known. Mean field takes q(μ) q(τ) instead, and ends at

    q(μ) = N(m, b/(κ a)),   q(τ) = Gamma(a + ½, rate b + b/(2a)):

both means are exact; Var μ is (a − 1)/a, and Var τ is a/(a + ½) of the exact one. Bishop (2006), §10.1.3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln

from credo import distributions
from credo.distributions.normal_inverse_gamma import NormalInverseGamma
from credo.errors import DataError, ParameterError
from credo.inference.variational.exponential import Gamma, Normal, Tuple
from credo.inference.variational.mean_field import VariationalFactor, mean_field
from credo.inference.variational.product import ProductPosterior

__all__ = ["NormalMeanPrecision", "NormalMeanPrecisionFit"]

LOG_2PI = math.log(2.0 * math.pi)


@dataclass(frozen=True, eq=False)
class NormalMeanPrecisionFit:
    """The factorised posterior beside the exact one.

    posterior : q(μ) q(τ), names "mean" and "precision"
    exact : of (μ, σ²), σ² = 1/τ
    elbo, log_evidence : the bound, and what it bounds; they differ by KL(q ‖ posterior)
    """

    posterior: ProductPosterior
    exact: NormalInverseGamma
    elbo: float
    log_evidence: float

    @property
    def divergence(self) -> float:
        """KL(q ‖ posterior) in nats, ≥ 0."""
        return self.log_evidence - self.elbo

    def exact_log_prob(self, mean: Any, precision: Any) -> Any:
        """Exact log density of (μ, τ): that of (μ, 1/τ) and the Jacobian of τ → 1/τ."""
        precision = np.asarray(precision, dtype=np.float64)
        safe = np.where(precision > 0.0, precision, 1.0)
        return np.where(precision > 0.0, self.exact.log_prob((mean, 1.0 / safe)) - 2.0 * np.log(safe), -np.inf)


@dataclass(frozen=True)
class NormalMeanPrecision:
    """Mean-field inference for a Normal sample, with a conjugate prior on (μ, σ² = 1/τ).

    prior : a `NormalInverseGamma` of a single mean: m_0, 1/κ_0, a_0, b_0

    Examples
    --------
    >>> fit = NormalMeanPrecision(NormalInverseGamma(0.0, 1.0, 2.0, 2.0)).fit([1.2, 0.4, 2.0, 1.1])
    >>> round(fit.posterior.mean["mean"] - float(fit.exact.mean), 12)
    0.0
    >>> round(fit.posterior.variance["mean"] / float(fit.exact.variance), 9)      # (a − 1)/a, a = 4
    0.75
    >>> bool(fit.elbo < fit.log_evidence)
    True
    """

    prior: NormalInverseGamma

    def fit(self, x: Any, *, tol: float = 1e-14, max_iter: int = 1000) -> NormalMeanPrecisionFit:
        """q(μ) q(τ) of the rows x (n,).

        Raises `DataError` for rows that are not finite, and `ParameterError` for a prior of several means.
        """
        if not isinstance(self.prior, NormalInverseGamma) or np.ndim(self.prior.mean):
            raise ParameterError("NormalMeanPrecision", "prior", "a NormalInverseGamma of one mean", self.prior)
        try:
            x = np.asarray(x, dtype=np.float64)
        except (TypeError, ValueError):
            raise DataError("NormalMeanPrecision.fit needs finite numbers (n,).", value=x) from None
        bad = np.flatnonzero(~np.isfinite(x.ravel()))
        if x.ndim != 1 or bad.size:
            raise DataError("NormalMeanPrecision.fit needs finite numbers (n,).", rows=bad[:5].tolist(), value=x)
        n = x.size
        centre = float(x.mean()) if n else float(self.prior.mean)
        statistics = (float(n), centre, float(np.sum((x - centre) ** 2)))
        factors, expected = _program(self.prior, statistics)
        # τ begins at its prior
        start = {"precision": (self.prior.shape - 1.0, -self.prior.scale)}
        fit = mean_field(factors, expected, start, tol=tol, max_iter=max_iter, parameter_tol=1e-13)
        shifted = fit.distribution("mean")
        q = {
            "mean": distributions.Normal(shifted.mean + centre, shifted.sd),
            "precision": fit.distribution("precision"),
        }
        exact = self.prior.update(*statistics)
        posterior = ProductPosterior(q, fit.result, fit.elbo)
        return NormalMeanPrecisionFit(posterior, exact, fit.elbo, _log_evidence(self.prior, exact, n))


def _program(prior: NormalInverseGamma, statistics: tuple[float, float, float]) -> tuple[list[VariationalFactor], Any]:
    """The two updates, and E log p(x, μ, τ); "mean" is μ − x̄ here, so that data far from 0 lose no digits."""
    n, centre, scatter = statistics
    kappa, offset = 1.0 / float(prior.covariance), float(prior.mean) - centre
    a, b = prior.shape, prior.scale

    def square(m: Mapping[str, Tuple]) -> Any:
        """E [b_0 + ½ Σ (x − μ)² + ½ κ_0 (μ − m_0)²]."""
        mean, second = m["mean"]
        return b + 0.5 * (scatter + n * second) + 0.5 * kappa * (offset**2 - 2.0 * offset * mean + second)

    def update_mean(m: Mapping[str, Tuple]) -> Any:
        tau = m["precision"][1]
        return tau * kappa * offset, -0.5 * tau * (n + kappa)

    def update_precision(m: Mapping[str, Tuple]) -> Any:
        return a + 0.5 * (n + 1.0) - 1.0, -square(m)

    constant = 0.5 * math.log(kappa) - 0.5 * (n + 1.0) * LOG_2PI + a * math.log(b) - float(gammaln(a))

    def expected_log_joint(m: Mapping[str, Tuple]) -> float:
        log_tau, tau = m["precision"]
        return float(constant + (a + 0.5 * (n + 1.0) - 1.0) * log_tau - tau * square(m))

    factors = [
        VariationalFactor("mean", Normal(), update_mean),
        VariationalFactor("precision", Gamma(), update_precision),
    ]
    return factors, expected_log_joint


def _log_evidence(prior: NormalInverseGamma, exact: NormalInverseGamma, n: int) -> float:
    """log p(x) = ½ log(κ_0/κ) + a_0 log b_0 − a log b + log Γ(a) − log Γ(a_0) − (n/2) log 2π."""
    scale = 0.5 * (math.log(exact.covariance) - math.log(prior.covariance))
    gamma = float(gammaln(exact.shape) - gammaln(prior.shape))
    return scale + prior.shape * math.log(prior.scale) - exact.shape * math.log(exact.scale) + gamma - 0.5 * n * LOG_2PI
