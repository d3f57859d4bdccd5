"""Hierarchies: eight schools; the surgical deaths of twelve hospitals."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import credo as cr
from benchmarks.posteriordb.tables import numbers

__all__ = ["POSTERIORS"]


def eight_schools(centred: bool) -> cr.Model:
    y, s = np.array([28.0, 8, -3, 7, -1, 1, 18, 12]), np.array([15.0, 10, 16, 11, 9, 11, 10, 18])
    m = cr.Model()
    m.dim("school", 8)
    mu, tau = m.latent("mu", cr.Normal(0, 5)), m.latent("tau", cr.HalfCauchy(5))
    if centred:
        theta = m.latent("theta", cr.Normal(mu, tau), dims="school")
    else:
        theta = m.deterministic("theta", mu + tau * m.latent("z", cr.Normal(0, 1), dims="school"))
    m.observed("y", cr.Normal(theta, s), y, dims="school")
    return m


def surgical() -> cr.Model:
    """r ~ Binomial(n, expit b), b ~ Normal(mu, σ), σ² ~ InverseGamma(0.001, 0.001), mu ~ Normal(0, 1000)."""
    t = numbers("surgical_data")
    m = cr.Model()
    m.dim("hospital", 12)
    mu, variance = m.latent("mu", cr.Normal(0, 1000)), m.latent("sigmasq", cr.InverseGamma(shape=0.001, scale=0.001))
    b = m.latent("b", cr.Normal(mu, cr.math.sqrt(variance)), dims="hospital")
    m.observed("r", cr.Binomial(t["n"], cr.math.expit(b)), t["r"], dims="hospital")
    return m


POSTERIORS: dict[str, Callable[[], cr.Model]] = {
    "eight_schools-eight_schools_noncentered": lambda: eight_schools(False),
    "eight_schools-eight_schools_centered": lambda: eight_schools(True),
    "surgical_data-surgical_model": surgical,
}
