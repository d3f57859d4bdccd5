"""Kullback–Leibler divergence KL(p‖q) = E_p[log p(X) − log q(X)] in nats, by pair of families.

Closed forms are registered by `@closed_form(P, Q)`, those of vector, matrix and joint families by
`multivariate_divergences`; other scalar pairs go through quadrature or summation. Differences
of gamma functions are written by deviances D(k, m) = k log(k/m) + m − k ≥ 0, so that a small divergence keeps its
digits.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from credo.distributions.base import Family
from credo.distributions.bernoulli import Bernoulli
from credo.distributions.beta import Beta
from credo.distributions.binomial import Binomial
from credo.distributions.categorical import Categorical
from credo.distributions.cauchy import Cauchy
from credo.distributions.expectation import expect
from credo.distributions.exponential import Exponential
from credo.distributions.gamma import Gamma
from credo.distributions.geometric import Geometric
from credo.distributions.half_normal import HalfNormal
from credo.distributions.inverse_gamma import InverseGamma
from credo.distributions.laplace import Laplace
from credo.distributions.log_normal import LogNormal
from credo.distributions.normal import Normal
from credo.distributions.pareto import Pareto
from credo.distributions.poisson import Poisson
from credo.distributions.scalar import ScalarFamily, member
from credo.distributions.stirling import deviance, log_minus_digamma, log_poisson_mode
from credo.distributions.uniform import Uniform
from credo.errors import UnavailableError
from credo.numerics.namespace import namespace

__all__ = ["kl", "closed_form"]

_XP = namespace(0.0)
_CLOSED: dict[tuple[type, type], Callable[[Any, Any], Any]] = {}


def closed_form(p: type, q: type) -> Callable[[Callable[[Any, Any], Any]], Callable[[Any, Any], Any]]:
    """Register the decorated function (p, q) → KL(p‖q) for a pair of families.

    It may return None where it does not hold (a binomial with another n, say): the numerical way is then taken.
    """

    def register(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        _CLOSED[p, q] = function
        return function

    return register


def kl(p: Family, q: Family) -> Any:
    """KL(p‖q) in nats, of the broadcast batch shape; ∞ where p charges what q excludes.

    Pairs without a closed form are integrated (scalar continuous) or summed (scalar discrete), one element of the batch
    at a time, to about 1e-10; a divergent integral is a `NumericalError`.

    Errors: `UnavailableError` for two families over different kinds of values, or vector families with no closed form.

    >>> import credo as cr
    >>> cr.kl(cr.Normal(0, 1), cr.Normal(1, 1)).item()
    0.5

    Reference: Kullback and Leibler (1951), On information and sufficiency.
    """
    if not (isinstance(p, ScalarFamily) and isinstance(q, ScalarFamily)):
        importlib.import_module("credo.distributions.multivariate_divergences")  # registers its pairs
    function = _CLOSED.get((type(p), type(q)))
    result = None if function is None else function(p, q)
    if result is not None:
        return result
    if not (isinstance(p, ScalarFamily) and isinstance(q, ScalarFamily)):
        raise UnavailableError(
            f"kl({type(p).__name__}, {type(q).__name__}) has no closed form here.", value=(p, q),
            remedy="Average p.log_prob(x) - q.log_prob(x) over x = p.sample(n).",
        )  # fmt: skip
    if p.support.is_discrete != q.support.is_discrete:
        raise UnavailableError("kl: one family is discrete and the other continuous.", value=(p, q))
    shape = np.broadcast_shapes(p.batch_shape, q.batch_shape)
    out = np.empty(shape)
    for index in np.ndindex(shape):
        out[index] = _numerical(member(p, shape, index), member(q, shape, index))
    return out[()]


def _numerical(p: Any, q: Any) -> Any:
    outside = (p.cdf(q.support.low - q.support.is_discrete) > 0) | (p.survival(q.support.high) > 0)
    # 1e-13 nats: the difference of two log densities has no more digits than that where p is near q
    return np.inf if outside else expect(p, lambda x: p.log_prob(x) - q.log_prob(x), floor=1e-13)


def _arrays(*values: Any) -> list[np.ndarray]:
    return [np.asarray(v, dtype=np.float64) for v in values]


@closed_form(Normal, Normal)
def _normal(p: Normal, q: Normal) -> Any:
    """½ [D(1, σp²/σq²) + ((μp − μq)/σq)²]."""
    ratio = np.square(np.divide(p.sd, q.sd))
    return 0.5 * (deviance(_XP, 1.0, ratio) + np.square(np.subtract(p.mean, q.mean) / q.sd))


@closed_form(LogNormal, LogNormal)
def _log_normal(p: LogNormal, q: LogNormal) -> Any:
    return _normal(Normal(p.mu, p.sigma), Normal(q.mu, q.sigma))


@closed_form(HalfNormal, HalfNormal)
def _half_normal(p: HalfNormal, q: HalfNormal) -> Any:
    return 0.5 * deviance(_XP, 1.0, np.square(np.divide(p.scale, q.scale)))


@closed_form(Laplace, Laplace)
def _laplace(p: Laplace, q: Laplace) -> Any:
    """log(bq/bp) + (bp e^(−δ/bp) + δ)/bq − 1, δ = |μp − μq|."""
    distance = np.abs(np.subtract(p.mean, q.mean)) / np.asarray(p.scale)
    ratio = np.divide(p.scale, q.scale)
    return deviance(_XP, 1.0, ratio) + ratio * (np.expm1(-distance) + distance)


@closed_form(Cauchy, Cauchy)
def _cauchy(p: Cauchy, q: Cauchy) -> Any:
    """log[((γp + γq)² + δ²)/(4 γp γq)] (Chyzak and Nielsen 2019)."""
    gap = np.square(np.subtract(p.scale, q.scale)) + np.square(np.subtract(p.location, q.location))
    return np.log1p(gap / (4.0 * np.multiply(p.scale, q.scale)))


@closed_form(Uniform, Uniform)
def _uniform(p: Uniform, q: Uniform) -> Any:
    inside = np.greater_equal(p.low, q.low) & np.less_equal(p.high, q.high)
    return np.where(inside, q.entropy - p.entropy, np.inf)[()]


@closed_form(Gamma, Gamma)
def _gamma(p: Gamma, q: Gamma) -> Any:
    """D(aq, ap rq/rp) − (ap − aq)(log ap − ψ(ap)) + P(ap) − P(aq) + log(ap/aq), P(a) = a log a − a − log Γ(a + 1)."""
    a, b, ratio = _arrays(p.shape, q.shape, np.divide(q.rate, p.rate))
    modes = log_poisson_mode(_XP, a) - log_poisson_mode(_XP, b)
    return deviance(_XP, b, a * ratio) - (a - b) * log_minus_digamma(_XP, a) + modes + np.log(a / b)


@closed_form(InverseGamma, InverseGamma)
def _inverse_gamma(p: InverseGamma, q: InverseGamma) -> Any:
    return _gamma(Gamma(shape=p.shape, rate=p.scale), Gamma(shape=q.shape, rate=q.scale))


@closed_form(Exponential, Exponential)
def _exponential(p: Exponential, q: Exponential) -> Any:
    return deviance(_XP, 1.0, np.divide(q.rate, p.rate))


@closed_form(Beta, Beta)
def _beta(p: Beta, q: Beta) -> Any:
    """E_p of the log ratio, by log x ~ ψ(a) − ψ(a + b); each gamma function by its P(a)."""
    (a, b), (c, d) = _arrays(p.a, p.b), _arrays(q.a, q.b)

    def excess(k: np.ndarray, m: np.ndarray) -> np.ndarray:
        """log Γ(m) − log Γ(k) − (m − k) ψ(k), the Bregman divergence of log Γ."""
        modes = log_poisson_mode(_XP, k) - log_poisson_mode(_XP, m)
        return deviance(_XP, m, k) + (m - k) * log_minus_digamma(_XP, k) + modes + np.log(k / m)

    return excess(a, c) + excess(b, d) - excess(a + b, c + d)


@closed_form(Pareto, Pareto)
def _pareto(p: Pareto, q: Pareto) -> Any:
    inside = np.greater_equal(p.scale, q.scale)
    ratio = np.divide(q.shape, p.shape)
    shift = np.asarray(q.shape) * np.log(np.where(inside, np.divide(p.scale, q.scale), 1.0))
    return np.where(inside, deviance(_XP, 1.0, ratio) + shift, np.inf)[()]


@closed_form(Bernoulli, Bernoulli)
def _bernoulli(p: Bernoulli, q: Bernoulli) -> Any:
    a, b = _arrays(p.p, q.p)
    return (deviance(_XP, a, b) + deviance(_XP, 1.0 - a, 1.0 - b))[()]


@closed_form(Binomial, Binomial)
def _binomial(p: Binomial, q: Binomial) -> Any:
    if not np.all(np.equal(p.n, q.n)):
        return None
    return np.asarray(p.n) * _bernoulli(Bernoulli(p.p), Bernoulli(q.p))


@closed_form(Categorical, Categorical)
def _categorical(p: Categorical, q: Categorical) -> Any:
    if p.n_categories != q.n_categories:
        return None
    return np.sum(deviance(_XP, *_arrays(p.p, q.p)), axis=-1)


@closed_form(Poisson, Poisson)
def _poisson(p: Poisson, q: Poisson) -> Any:
    return deviance(_XP, *_arrays(p.rate, q.rate))[()]


@closed_form(Geometric, Geometric)
def _geometric(p: Geometric, q: Geometric) -> Any:
    return _bernoulli(Bernoulli(p.p), Bernoulli(q.p)) / np.asarray(p.p)
