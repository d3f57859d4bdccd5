"""Gaussian processes: at eleven points, and two of the accelerations in a crash."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import credo as cr
from benchmarks.posteriordb.tables import numbers, table

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


def smooth(m: cr.Model, x: np.ndarray, name: str, size: int) -> Any:
    """α Σ_k √S(ω_k) z_k sin(ω_k (x + L))/√L: a process of squared exponential covariance by its Laplacian's
    eigenfunctions on [−L, L], with the spectral density S (Solin and Särkkä 2020)."""
    half = 1.5
    omega = np.pi * np.arange(1, size + 1) / (2.0 * half)
    basis = np.sin(omega * (x[:, None] + half)) / np.sqrt(half)
    alpha = m.latent(f"sdgp_{name}", cr.StudentT(3.0, 0.0, 36.0), low=0.0)
    ell = m.latent(f"lscale_{name}", cr.InverseGamma(shape=1.124909, scale=0.0177))
    z = m.latent(f"zgp_{name}", cr.Normal(0, 1), shape=size)
    spectrum = (2.0 * np.pi) ** 0.25 * cr.math.sqrt(ell) * cr.math.exp(-0.25 * cr.math.square(ell) * omega**2)
    return basis @ (alpha * spectrum * z)


def acceleration() -> cr.Model:
    """Of a head in a crash, with a process of the mean and one of log σ, over times about their mean in their range."""
    t = table("mcycle.csv")
    x = (t["times"] - t["times"].mean()) / np.ptp(t["times"])
    m = cr.Model()
    mean = m.latent("Intercept", cr.StudentT(3.0, -13.0, 36.0)) + smooth(m, x, "1", 40)
    log_sd = m.latent("Intercept_sigma", cr.StudentT(3.0, 0.0, 10.0)) + smooth(m, x, "sigma_1", 20)
    m.observed("Y", cr.Normal(mean, cr.math.exp(log_sd)), t["accel"])
    return m


POSTERIORS: dict[str, Callable[[], cr.Model]] = {
    "gp_pois_regr-gp_regr": regression,
    "gp_pois_regr-gp_pois_regr": counts,
    "mcycle_gp-accel_gp": acceleration,
}
