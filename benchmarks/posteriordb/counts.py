"""Counts: a Poisson regression; capture and recapture; rates."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import credo as cr
from benchmarks.posteriordb.tables import numbers

__all__ = ["POSTERIORS"]


def poisson_regression() -> cr.Model:
    t = numbers("GLM_Poisson_Data")
    m = cr.Model()
    alpha = m.latent("alpha", cr.Uniform(-20.0, 20.0))
    b1, b2, b3 = (m.latent(f"beta{k}", cr.Uniform(-10.0, 10.0)) for k in (1, 2, 3))
    year = t["year"]
    m.observed("C", cr.Poisson(cr.math.exp(alpha + b1 * year + b2 * year**2 + b3 * year**3)), t["C"])
    return m


def capture_recapture() -> cr.Model:
    """Which of 237 animals are there (ω each), if one that is is seen three times with p each; 150 were never seen."""
    times = np.repeat([0.0, 1.0, 2.0, 3.0], [150, 37, 38, 12])
    m = cr.Model()
    omega, p = m.latent("omega", cr.Uniform(0.0, 1.0)), m.latent("p", cr.Uniform(0.0, 1.0))
    there = m.latent("there", cr.Bernoulli(omega), shape=len(times))
    m.observed("times", cr.Binomial(3, there * p), times)
    return m


def rates(thetas: dict[str, list[tuple[int, int]]]) -> cr.Model:
    """Of each rate, uniform a priori, its counts k of n."""
    m = cr.Model()
    for name, counts in thetas.items():
        theta = m.latent(name, cr.Uniform(0.0, 1.0))
        for i, (k, n) in enumerate(counts):
            m.observed(f"{name} k{i + 1}", cr.Binomial(n, theta), k)
    return m


POSTERIORS: dict[str, Callable[[], cr.Model]] = {
    "GLM_Poisson_Data-GLM_Poisson_model": poisson_regression,
    "M0_data-M0_model": capture_recapture,
    "Rate_1_data-Rate_1_model": lambda: rates({"theta": [(5, 10)]}),
    "Rate_2_data-Rate_2_model": lambda: rates({"theta1": [(5, 10)], "theta2": [(7, 10)]}),
    "Rate_3_data-Rate_3_model": lambda: rates({"theta": [(5, 10), (7, 10)]}),
    "Rate_4_data-Rate_4_model": lambda: rates({"theta": [(1, 15)]}),
    "Rate_5_data-Rate_5_model": lambda: rates({"theta": [(0, 10), (10, 10)]}),
}
