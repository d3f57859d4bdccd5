"""Series in time: AR(K), ARMA(1, 1), GARCH(1, 1), hidden chains of two states."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import credo as cr
from benchmarks.posteriordb.tables import numbers

__all__ = ["POSTERIORS"]


def autoregression() -> cr.Model:
    t = numbers("arK")
    y, K = t["y"], int(t["K"])
    m = cr.Model()
    past = m.data("past", np.column_stack([y[K - k : len(y) - k] for k in range(1, K + 1)]), dims=("t", "lag"))
    alpha, beta = m.latent("alpha", cr.Normal(0, 10)), m.latent("beta", cr.Normal(0, 10), dims="lag")
    sigma = m.latent("sigma", cr.HalfCauchy(2.5))
    m.observed("y", cr.Normal(alpha + past @ beta, sigma), y[K:], dims="t")
    return m


def recursion(a: Any, x: Any) -> Any:
    """s with s_t = a s_{t−1} + x_t: the inverse of I − a L (L the shift by one) is Π_j (I + (a L)^(2^j))."""
    n, by = x.shape[0], 1
    while by < n:
        x = x + a * cr.math.concat(np.zeros(by), x[: n - by])
        a, by = cr.math.square(a), 2 * by
    return x


def arma() -> cr.Model:
    """err_t = y_t − μ − φ y_{t−1} − θ err_{t−1} ~ Normal(0, σ), the first with μ for y_0 and no err_0."""
    y = numbers("arma")["y"]
    m = cr.Model()
    mu, phi = m.latent("mu", cr.Normal(0, 10)), m.latent("phi", cr.Normal(0, 2))
    theta, sigma = m.latent("theta", cr.Normal(0, 2)), m.latent("sigma", cr.HalfCauchy(2.5))
    errors = recursion(-theta, y - mu - phi * cr.math.concat(mu, y[:-1]))
    m.observed("y", cr.Normal(y - errors, sigma), y)
    return m


def garch() -> cr.Model:
    t = numbers("garch")
    y = t["y"]
    m = cr.Model()
    mu, alpha0 = m.latent("mu", cr.Flat()), m.latent("alpha0", cr.Flat(), low=0.0)
    # β₁ < 1 − α₁: uniform on the triangle, so that β₁ = (1 − α₁) u with a density ∝ (1 − α₁)
    alpha1, u = m.latent("alpha1", cr.Beta(1.0, 2.0)), m.latent("u", cr.Uniform(0.0, 1.0))
    beta1 = m.deterministic("beta1", (1.0 - alpha1) * u)
    news = cr.math.concat(t["sigma1"] ** 2, alpha0 + alpha1 * cr.math.square(y[:-1] - mu))
    m.observed("y", cr.Normal(mu, cr.math.sqrt(recursion(beta1, news))), y)
    return m


def hidden_markov() -> cr.Model:
    """Two states about ordered means; the chain starts in either alike."""
    y = numbers("hmm_example")["y"]
    m = cr.Model()
    theta = [m.latent(f"theta{k}", cr.Dirichlet([1.0, 1.0])) for k in (1, 2)]
    mu = m.latent("mu", cr.Normal([3.0, 10.0], 1.0), low=0.0, ordered=True)
    z = m.chain("z", [0.5, 0.5], cr.math.concat(*(row.reshape(1, 2) for row in theta)), shape=len(y))
    m.observed("y", cr.Normal(mu[z], 1.0), y)
    return m


def drive(emission: Callable[[Any], Any], logs: bool) -> cr.Model:
    """Does a basketball player drive to the basket? Two states, each with its 1/speed and distance from the hoop."""
    t = numbers("bball_drive")
    u, v = (np.log(t[k]) if logs else t[k] for k in "uv")
    m = cr.Model()
    theta = [m.latent(f"theta{k}", cr.Dirichlet(row)) for k, row in enumerate(([4.0, 2.0], [2.0, 4.0]), 1)]
    low = None if logs else 0.0
    phi, lam = (m.latent(name, cr.Normal([0.0, 3.0], 1.0), low=low, ordered=True) for name in ("phi", "lambda"))
    z = m.chain("z", [0.5, 0.5], cr.math.concat(*(row.reshape(1, 2) for row in theta)), shape=len(u))
    for name, parameter, y in (("u", phi, u), ("v", lam, v)):
        m.observed(name, emission(parameter[z]), y)
    return m


POSTERIORS: dict[str, Callable[[], cr.Model]] = {
    "arK-arK": autoregression,
    "arma-arma11": arma,
    "bball_drive_event_0-hmm_drive_0": lambda: drive(cr.Exponential, logs=False),
    "bball_drive_event_1-hmm_drive_1": lambda: drive(lambda mean: cr.Normal(mean, 0.1), logs=True),
    "garch-garch11": garch,
    "hmm_example-hmm_example": hidden_markov,
}
