"""Curves: growth of dugongs; lynx and hare, and a drug, by differential equations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import credo as cr
from benchmarks.posteriordb.tables import numbers

__all__ = ["POSTERIORS"]


def dugongs() -> cr.Model:
    """Y ~ Normal(α − β λˣ, 1/√τ); α, β ~ Normal(0, 1000), λ ~ Uniform(0.5, 1), τ ~ Gamma(0.0001, 0.0001)."""
    t = numbers("dugongs_data")
    m = cr.Model()
    alpha, beta = m.latent("alpha", cr.Normal(0, 1000)), m.latent("beta", cr.Normal(0, 1000))
    rate = m.latent("lambda", cr.Uniform(0.5, 1.0))
    tau = m.latent("tau", cr.Gamma(shape=1e-4, rate=1e-4))
    mean = alpha - beta * cr.math.exp(cr.math.log(rate) * t["x"])
    m.observed("Y", cr.Normal(mean, 1.0 / cr.math.sqrt(tau)), t["Y"])
    return m


def predators(z: Any, t: Any, theta: Any) -> list[Any]:
    hare, lynx = z
    return [(theta[0] - theta[1] * lynx) * hare, (theta[3] * hare - theta[2]) * lynx]


def lotka_volterra() -> cr.Model:
    """With the solver of the extra `programs`, which needs JAX."""
    t = numbers("hudson_lynx_hare")
    m = cr.Model()
    m.dim("species", ["hare", "lynx"])
    theta = m.latent("theta", cr.Normal(np.array([1.0, 0.05, 1.0, 0.05]), np.array([0.5, 0.05, 0.5, 0.05])), low=0.0)
    start = m.latent("z_init", cr.LogNormal(np.log(10.0), 1.0), dims="species")
    sigma = m.latent("sigma", cr.LogNormal(-1.0, 1.0), dims="species")
    years = m.data("years", np.append(0.0, t["ts"]), dims="year")
    z = cr.math.odeint(predators, start, years, theta, dims=("year", "species"), low=0.0)
    m.observed("pelts", cr.LogNormal(cr.math.log(z), sigma), np.vstack([t["y_init"], t["y"]]), dims=("year", "species"))
    return m


def eliminated(gone: Any, t: Any, theta: Any) -> Any:
    """By Michaelis and Menten's law from a volume V = 2, of a dose D = 30 taken up at the rate k_a.

    What has been taken up is known in closed form: as a state of its own it would be unstable in steps of 1/16 from
    k_a = 44 on, and make a mode there that the model has not.
    """
    import jax.numpy as jnp  # type: ignore[import-not-found]

    k_a, k_m, v_m = theta
    c = -30.0 / 2.0 * jnp.expm1(-k_a * t) - gone
    return v_m / 2.0 * c / (k_m + c)


def elimination() -> cr.Model:
    t = numbers("one_comp_mm_elim_abs")
    m = cr.Model()
    *rates, sigma = (m.latent(name, cr.HalfCauchy(1.0)) for name in ("k_a", "K_m", "V_m", "sigma"))
    theta = cr.math.concat(*(each.reshape(1) for each in rates))
    times = np.append(0.0, t["times"])
    gone = cr.math.odeint(eliminated, 0.0, m.data("t", times, dims="time"), theta, low=0.0)
    c = -30.0 / 2.0 * cr.math.expm1(-rates[0] * times[1:]) - gone[1:]
    m.observed("C_hat", cr.LogNormal(cr.math.log(c), sigma), t["C_hat"])
    return m


POSTERIORS: dict[str, Callable[[], cr.Model]] = {
    "dugongs_data-dugongs_model": dugongs,
    "hudson_lynx_hare-lotka_volterra": lotka_volterra,
    "one_comp_mm_elim_abs-one_comp_mm_elim_abs": elimination,
}
