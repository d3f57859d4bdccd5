"""Small models with one grouped effect behind each law, and their posteriors by sums over fine grids.

η_i = β + u_g(i) (+ log exposure), β ~ Normal(0, 1.5), u ~ Normal(0, τ), τ ~ HalfNormal(1). Given (β, τ) the groups are
independent: each is a sum over 121 values of u/τ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special, stats

import credo as cr
from credo.program import math as cm

GROUPS, EACH = 6, 5


@dataclass(frozen=True)
class Law:
    """draw(η, rng) → y; log_prob(y, η) by SciPy; declare(η node) → the law."""

    draw: Callable[[np.ndarray, np.random.Generator], np.ndarray]
    log_prob: Callable[[Any, Any], Any]
    declare: Callable[[Any], Any]


def _beta(eta, of):
    mu = special.expit(eta)
    return of(4.0 * mu, 4.0 * (1.0 - mu))


def _declared_beta(eta):
    mu = cm.expit(eta)
    return cr.Beta(mu * 4.0, (1.0 - mu) * 4.0)


LAWS = {
    "Poisson": Law(lambda e, r: r.poisson(np.exp(e)), lambda y, e: stats.poisson.logpmf(y, np.exp(e)),
                   lambda e: cr.Poisson(cm.exp(e))),
    "Bernoulli logit": Law(lambda e, r: r.random(e.size) < special.expit(e),
                           lambda y, e: special.log_expit(np.where(y, e, -e)), lambda e: cr.Bernoulli(cm.expit(e))),
    "Bernoulli probit": Law(lambda e, r: r.random(e.size) < special.ndtr(e),
                            lambda y, e: special.log_ndtr(np.where(y, e, -e)),
                            lambda e: cr.Bernoulli(1.0 - cm.ndtr(-e))),
    "Bernoulli cloglog": Law(lambda e, r: r.random(e.size) < -np.expm1(-np.exp(e)),
                             lambda y, e: np.where(y, np.log(-np.expm1(-np.exp(e))), -np.exp(e)),
                             lambda e: cr.Bernoulli(1.0 - cm.exp(-cm.exp(e)))),
    "Binomial": Law(lambda e, r: r.binomial(7, special.expit(e)),
                    lambda y, e: stats.binom.logpmf(y, 7, special.expit(e)), lambda e: cr.Binomial(7, cm.expit(e))),
    "NegativeBinomial": Law(lambda e, r: r.negative_binomial(2, 2 / (2 + np.exp(e))),
                            lambda y, e: stats.nbinom.logpmf(y, 2, 2 / (2 + np.exp(e))),
                            lambda e: cr.NegativeBinomial(cm.exp(e), 2.0)),
    "Gamma": Law(lambda e, r: r.gamma(3.0, np.exp(e) / 3), lambda y, e: stats.gamma.logpdf(y, 3.0, scale=np.exp(e) / 3),
                 lambda e: cr.Gamma(shape=3.0, rate=3.0 * cm.exp(-e))),
    "Exponential": Law(lambda e, r: r.exponential(np.exp(e)), lambda y, e: stats.expon.logpdf(y, scale=np.exp(e)),
                       lambda e: cr.Exponential(1.0 / cm.exp(e))),
    "StudentT": Law(lambda e, r: e + 0.5 * r.standard_t(4, size=e.size), lambda y, e: stats.t.logpdf(y, 4, e, 0.5),
                    lambda e: cr.StudentT(4.0, e, 0.5)),
    "Beta": Law(lambda e, r: _beta(e, r.beta), lambda y, e: _beta(e, lambda a, b: stats.beta.logpdf(y, a, b)),
                _declared_beta),
}  # fmt: skip


@dataclass(frozen=True)
class Grouped:
    """A data set of one law: outcomes, groups, offsets."""

    law: Law
    y: np.ndarray
    g: np.ndarray
    offset: np.ndarray

    def model(self, *, centred: bool = True) -> cr.Model:
        m = cr.Model()
        g = m.data("g", self.g, dims="obs", levels="groups")
        beta = m.latent("beta", cr.Normal(0, 1.5))
        tau = m.latent("tau", cr.HalfNormal(1))
        u = m.latent("u", cr.Normal(0, tau if centred else 1.0), dims="groups")
        eta = beta + (u if centred else tau * u)[g] + m.data("offset", self.offset, dims="obs")
        m.observed("y", self.law.declare(eta), self.y, dims="obs")
        return m

    def truth(self) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], float]:
        """Means and sds of beta, tau and u, and the log evidence."""
        x, w = np.polynomial.legendre.leggauss(40)
        beta, tau = 4.0 * x, 2.5 * (x + 1.0)
        t = np.linspace(-6.0, 6.0, 121)
        u = tau[:, None] * t
        log = (np.log(4.0 * w) + stats.norm.logpdf(beta, 0, 1.5))[:, None] + (
            np.log(2.5 * w) + stats.halfnorm.logpdf(tau))  # fmt: skip
        moments = []
        for k in range(GROUPS):
            rows = self.g == k
            eta = beta[:, None, None, None] + u[:, :, None] + self.offset[rows]
            of_t = self.law.log_prob(self.y[rows], eta).sum(-1) + stats.norm.logpdf(t) + np.log(t[1] - t[0])
            total = special.logsumexp(of_t, axis=-1)
            share = np.exp(of_t - total[..., None])
            moments.append([(share * u).sum(-1), (share * u**2).sum(-1)])
            log = log + total
        evidence = special.logsumexp(log)
        p = np.exp(log - evidence)
        each = {"beta": [beta[:, None], beta[:, None] ** 2], "tau": [tau, tau**2]}
        first = {name: np.sum(p * m) for name, (m, _) in each.items()}
        second = {name: np.sum(p * m) for name, (_, m) in each.items()}
        first["u"], second["u"] = (np.array([np.sum(p * m[k]) for m in moments]) for k in (0, 1))
        return first, {name: np.sqrt(second[name] - first[name] ** 2) for name in first}, float(evidence)


def grouped(name: str, seed: int = 0, tau: float = 0.7, each: int = EACH) -> Grouped:
    rng = np.random.default_rng(seed)
    g = np.repeat(np.arange(GROUPS), each)
    offset = np.log(rng.uniform(0.5, 2.0, size=g.size)) if name in ("Poisson", "Gamma") else np.zeros(g.size)
    eta = 0.3 + tau * rng.normal(size=GROUPS)[g] + offset
    return Grouped(LAWS[name], LAWS[name].draw(eta, rng).astype(float), g, offset)
