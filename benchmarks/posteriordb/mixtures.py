"""Mixtures of two Normals, ordered by their means; which cell is of which is summed out."""

from __future__ import annotations

from collections.abc import Callable

import credo as cr
from benchmarks.posteriordb.tables import numbers

__all__ = ["POSTERIORS"]


def low_dim_gauss_mix() -> cr.Model:
    y = numbers("low_dim_gauss_mix")["y"]
    m = cr.Model()
    m.dim("component", 2)
    mu = m.latent("mu", cr.Normal(0, 2), dims="component", ordered=True)
    sigma = m.latent("sigma", cr.HalfNormal(2), dims="component")
    theta = m.latent("theta", cr.Beta(5.0, 5.0))
    z = m.latent("z", cr.Bernoulli(1.0 - theta), shape=len(y))
    m.observed("y", cr.Normal(mu[z], sigma[z]), y)
    return m


def normal_2() -> cr.Model:
    """As posteriordb's normal_mixture: sds 1, θ uniform, means Normal(0, 10); but labels are ordered."""
    y = numbers("normal_2")["y"]
    m = cr.Model()
    m.dim("component", 2)
    mu = m.latent("mu", cr.Normal(0, 10), dims="component", ordered=True)
    theta = m.latent("theta", cr.Uniform(0.0, 1.0))
    z = m.latent("z", cr.Bernoulli(1.0 - theta), shape=len(y))
    m.observed("y", cr.Normal(mu[z], 1.0), y)
    return m


POSTERIORS: dict[str, Callable[[], cr.Model]] = {
    "low_dim_gauss_mix-low_dim_gauss_mix": low_dim_gauss_mix,
    "normal_2-normal_mixture": normal_2,
}
