"""From nothing to 4,000 draws: 18 subjects over 10 days, correlated intercepts and slopes."""

from __future__ import annotations

from typing import Any

from benchmarks.model_fresh import Kind, fresh_case, integrated

SUBJECTS, DAYS = 18, 10
NAMES = ("a", "slope", "t1", "t2", "u", "sigma")


def data() -> dict[str, Any]:
    """Made in the likeness of lme4's sleepstudy."""
    import numpy as np

    rng = np.random.default_rng(0)
    days, subject = np.tile(np.arange(float(DAYS)), SUBJECTS), np.repeat(np.arange(SUBJECTS), DAYS)
    b = rng.multivariate_normal([250.0, 10.0], [[600.0, 10.0], [10.0, 35.0]], SUBJECTS)
    y = b[subject, 0] + b[subject, 1] * days + 25.0 * rng.normal(size=days.size)
    return {"y": y, "days": days, "subject": subject, "centre": y.mean(), "wide": 2.5 * y.std(),
            "wide_slope": 2.5 * y.std() / days.std(), "sd": y.std()}  # fmt: skip


def truth(data: dict[str, Any]) -> tuple[Any, Any]:
    """In η = (log τ₁, log τ₂, logit u, log σ), with one 10 × 10 covariance for every subject."""
    import numpy as np

    y, X = data["y"].reshape(SUBJECTS, DAYS), np.column_stack([np.ones(DAYS), np.arange(float(DAYS))])
    prior_mean, prior_sd = np.array([data["centre"], 0.0]), np.array([data["wide"], data["wide_slope"]])

    def posterior(eta: Any) -> Any:
        """log p(η | y), and mean and covariance of (a, slope) given η, at rows (S, 4)."""
        t1, t2, sigma = np.exp(eta[:, 0]), np.exp(eta[:, 1]), np.exp(eta[:, 3])
        u = 1.0 / (1.0 + np.exp(-eta[:, 2]))
        rho = 2.0 * u - 1.0
        T = np.array([[t1 * t1, rho * t1 * t2], [rho * t1 * t2, t2 * t2]]).transpose(2, 0, 1)
        V = X @ T @ X.T + np.square(sigma)[:, None, None] * np.eye(DAYS)
        inverse, log_det = np.linalg.inv(V), np.linalg.slogdet(V)[1]
        residual = y - prior_mean @ X.T
        H = SUBJECTS * X.T @ inverse @ X + np.diag(prior_sd**-2.0)
        g = (X.T @ inverse @ residual.sum(axis=0)[:, None])[..., 0]
        mean = np.linalg.solve(H, g[..., None])[..., 0]
        fit = np.einsum("ij,sjk,ik->s", residual, inverse, residual) - (g * mean).sum(axis=1)
        log_p = -0.5 * (fit + SUBJECTS * log_det + np.linalg.slogdet(H)[1])
        log_p += -0.5 * (np.square(t1 / data["wide"]) + np.square(t2 / data["wide_slope"])) - sigma / data["sd"]
        log_p += 1.5 * (np.log(u) + np.log1p(-u)) + eta[:, 0] + eta[:, 1] + eta[:, 3]
        values = np.column_stack([mean + prior_mean, t1, t2, u, sigma])
        return (
            log_p,
            values,
            np.column_stack([np.diagonal(np.linalg.inv(H), axis1=1, axis2=2), np.zeros((len(eta), 4))]),
        )

    return integrated(posterior, np.log([20.0, 5.0, 1.0, 25.0]), 13)


def credo(data: dict[str, Any]) -> Any:
    import credo as cr

    m = cr.Model()
    m.dim("subjects", SUBJECTS)
    days = m.data("days", data["days"], dims="obs")
    g = m.data("subject", data["subject"], dims="obs", levels="subjects")
    a, slope = (
        m.latent("a", cr.Normal(data["centre"], data["wide"])),
        m.latent("slope", cr.Normal(0, data["wide_slope"])),
    )
    t1, t2 = m.latent("t1", cr.HalfNormal(data["wide"])), m.latent("t2", cr.HalfNormal(data["wide_slope"]))
    rho = 2 * m.latent("u", cr.Beta(1.5, 1.5)) - 1
    z1, z2 = (m.latent(name, cr.Normal(0, 1), dims="subjects") for name in ("z1", "z2"))
    b1, b2 = t1 * z1, t2 * (rho * z1 + cr.math.sqrt(1 - rho**2) * z2)
    sigma = m.latent("sigma", cr.Exponential(1 / data["sd"]))
    m.observed("y", cr.Normal(a + slope * days + b1[g] + b2[g] * days, sigma), data["y"], dims="obs")
    return m


def pymc(data: dict[str, Any]) -> Any:
    import pymc as pm  # type: ignore[import-not-found]

    with pm.Model() as model:
        a, slope = pm.Normal("a", data["centre"], data["wide"]), pm.Normal("slope", 0.0, data["wide_slope"])
        t1, t2 = pm.HalfNormal("t1", data["wide"]), pm.HalfNormal("t2", data["wide_slope"])
        rho = 2.0 * pm.Beta("u", 1.5, 1.5) - 1.0
        z1, z2 = (pm.Normal(name, 0.0, 1.0, shape=SUBJECTS) for name in ("z1", "z2"))
        b1, b2 = t1 * z1, t2 * (rho * z1 + pm.math.sqrt(1.0 - rho**2) * z2)
        sigma, g = pm.Exponential("sigma", 1.0 / data["sd"]), data["subject"]
        pm.Normal("y", a + slope * data["days"] + b1[g] + b2[g] * data["days"], sigma, observed=data["y"])
    return model


def numpyro(data: dict[str, Any]) -> Any:
    import jax.numpy as jnp  # type: ignore[import-not-found]
    import numpyro as library  # type: ignore[import-not-found]
    import numpyro.distributions as dist  # type: ignore[import-not-found]

    def model() -> None:
        a = library.sample("a", dist.Normal(data["centre"], data["wide"]))
        slope = library.sample("slope", dist.Normal(0.0, data["wide_slope"]))
        t1 = library.sample("t1", dist.HalfNormal(data["wide"]))
        t2 = library.sample("t2", dist.HalfNormal(data["wide_slope"]))
        rho = 2.0 * library.sample("u", dist.Beta(1.5, 1.5)) - 1.0
        z1, z2 = (library.sample(k, dist.Normal(0.0, 1.0).expand([SUBJECTS]).to_event(1)) for k in ("z1", "z2"))
        b1, b2 = t1 * z1, t2 * (rho * z1 + jnp.sqrt(1.0 - rho**2) * z2)
        sigma, g = library.sample("sigma", dist.Exponential(1.0 / data["sd"])), data["subject"]
        library.sample("y", dist.Normal(a + slope * data["days"] + b1[g] + b2[g] * data["days"], sigma), obs=data["y"])

    return model


TITLE = "a table of 18 subjects × 10 days with correlated intercepts and slopes, (days | subject)"
CASE = fresh_case(Kind(TITLE, data, truth, credo, pymc, numpyro, NAMES, 2.0))
