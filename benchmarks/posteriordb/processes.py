"""Gaussian processes at eleven points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import credo as cr
from benchmarks.posteriordb.tables import numbers

__all__ = ["POSTERIORS"]


def covariance(m: cr.Model, x: np.ndarray) -> Any:
    rho, alpha = m.latent("rho", cr.Gamma(shape=25.0, rate=4.0)), m.latent("alpha", cr.HalfNormal(2))
    return cr.math.square(alpha) * cr.math.exp(-(np.subtract.outer(x, x) ** 2) / (2.0 * cr.math.square(rho)))


def regression() -> cr.Model:
    t = numbers("gp_pois_regr")
    m = cr.Model()
    K = covariance(m, t["x"])
    sigma = m.latent("sigma", cr.HalfNormal(1))
    m.observed("y", cr.MultivariateNormal(np.zeros(11), K + sigma * np.eye(11)), t["y"])
    return m


def counts() -> cr.Model:
    t = numbers("gp_pois_regr")
    m = cr.Model()
    m.dim("x", 11)
    f = m.latent("f", cr.MultivariateNormal(np.zeros(11), covariance(m, t["x"]) + 1e-10 * np.eye(11)), dims="x")
    m.observed("k", cr.Poisson(cr.math.exp(f)), t["k"], dims="x")
    return m


POSTERIORS: dict[str, Callable[[], cr.Model]] = {
    "gp_pois_regr-gp_regr": regression,
    "gp_pois_regr-gp_pois_regr": counts,
}
