"""From nothing to 4,000 draws: Rubin's eight schools."""

from __future__ import annotations

from typing import Any

from benchmarks.model_fresh import Kind, fresh_case

EFFECTS = [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0]
SDS = [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0]


def data() -> dict[str, Any]:
    """Table 5.2 of Gelman et al., Bayesian Data Analysis, 3rd ed."""
    import numpy as np

    return {"y": np.array(EFFECTS), "s": np.array(SDS)}


def truth(data: dict[str, Any]) -> tuple[Any, Any]:
    """τ by a fine grid in its logarithm; μ and θ Normal given it."""
    import numpy as np

    y, s2 = data["y"], np.square(data["s"])
    tau = np.exp(np.linspace(-16.0, 8.0, 20_001))
    v = s2 + np.square(tau)[:, None]  # of y given μ
    precision = (1.0 / v).sum(axis=1) + 1.0 / 25.0
    mu = (y / v).sum(axis=1) / precision
    log_p = 0.5 * (np.square(mu) * precision - np.log(precision) - (np.square(y) / v + np.log(v)).sum(axis=1))
    log_p += np.log(tau) - np.log1p(np.square(tau / 5.0))
    w = np.exp(log_p - log_p.max())
    w /= w.sum()
    share = s2 / v  # of μ in a school's mean
    theta = share * mu[:, None] + (1.0 - share) * y
    spread = share * np.square(tau)[:, None] + np.square(share) / precision[:, None]
    first = np.column_stack([mu, tau, theta])
    second = np.column_stack([1.0 / precision, 0.0 * tau, spread]) + np.square(first)
    mean = w @ first
    return mean, np.sqrt(w @ second - np.square(mean))


def credo(data: dict[str, Any]) -> Any:
    import credo as cr

    m = cr.Model()
    m.dim("school", 8)
    mu, tau = m.latent("mu", cr.Normal(0, 5)), m.latent("tau", cr.HalfCauchy(5))
    theta = m.latent("theta", cr.Normal(mu, tau), dims="school")
    m.observed("y", cr.Normal(theta, data["s"]), data["y"], dims="school")
    return m


def pymc(data: dict[str, Any]) -> Any:
    import pymc as pm  # type: ignore[import-not-found]

    with pm.Model() as model:
        mu, tau = pm.Normal("mu", 0.0, 5.0), pm.HalfCauchy("tau", 5.0)
        theta = pm.Deterministic("theta", mu + tau * pm.Normal("z", 0.0, 1.0, shape=8))
        pm.Normal("y", theta, data["s"], observed=data["y"])
    return model


def numpyro(data: dict[str, Any]) -> Any:
    import numpyro as library  # type: ignore[import-not-found]
    import numpyro.distributions as dist  # type: ignore[import-not-found]

    def model() -> None:
        mu, tau = library.sample("mu", dist.Normal(0.0, 5.0)), library.sample("tau", dist.HalfCauchy(5.0))
        z = library.sample("z", dist.Normal(0.0, 1.0).expand([8]).to_event(1))
        theta = library.deterministic("theta", mu + tau * z)
        library.sample("y", dist.Normal(theta, data["s"]), obs=data["y"])

    return model


CASE = fresh_case(Kind("eight schools", data, truth, credo, pymc, numpyro, ("mu", "tau", "theta"), 1.0))
