"""From nothing to 4,000 draws: 100,000 rows in 5,000 groups, each with an intercept and a slope."""

from __future__ import annotations

from typing import Any

from benchmarks.model_fresh import Kind, fresh_case, integrated

ROWS, GROUPS = 100_000, 5_000
NAMES = ("a", "slope", "t1", "t2", "sigma")


def data() -> dict[str, Any]:
    import numpy as np

    rng = np.random.default_rng(0)
    g, x = rng.integers(GROUPS, size=ROWS), rng.normal(size=ROWS)
    b = rng.normal(size=(GROUPS, 2)) * [1.0, 0.5]
    return {"x": x, "g": g, "y": 2.0 + 0.3 * x + b[g, 0] + b[g, 1] * x + rng.normal(size=ROWS)}


def truth(data: dict[str, Any]) -> tuple[Any, Any]:
    """In η = (log τ₁, log τ₂, log σ): each group's 2 × 2 precision by hand from its sums."""
    import numpy as np

    x, y, g = data["x"], data["y"], data["g"]
    n, sx, sxx, sy, sxy = (np.bincount(g, v, GROUPS) for v in (x**0, x, x * x, y, x * y))
    ZZ = np.array([[n, sx], [sx, sxx]]).transpose(2, 0, 1)  # of a group; also Z'X, as X and Z hold the same columns
    Zy, yy = np.column_stack([sy, sxy]), y @ y

    def one(eta: Any) -> tuple[float, Any, Any]:
        t1, t2, sigma = np.exp(eta)
        s2 = sigma * sigma
        P = ZZ / s2 + np.diag([t1**-2, t2**-2])
        det = P[:, 0, 0] * P[:, 1, 1] - P[:, 0, 1] ** 2
        inverse = (
            np.array([[P[:, 1, 1], -P[:, 0, 1]], [-P[:, 0, 1], P[:, 0, 0]]]).transpose(2, 0, 1) / det[:, None, None]
        )
        H = (ZZ.sum(axis=0) - np.einsum("gij,gjk,gkl->il", ZZ, inverse, ZZ) / s2) / s2 + 0.01 * np.eye(2)
        h = (Zy.sum(axis=0) - np.einsum("gij,gjk,gk->i", ZZ, inverse, Zy) / s2) / s2
        fit = (yy - np.einsum("gi,gij,gj->", Zy, inverse, Zy) / s2) / s2 - h @ np.linalg.solve(H, h)
        log_det = 2 * ROWS * eta[2] + np.log(det).sum() + 2 * GROUPS * (eta[0] + eta[1]) + np.linalg.slogdet(H)[1]
        log_p = -0.5 * (fit + log_det + (t1**2 + t2**2 + s2) / 4.0) + eta.sum()
        return log_p, np.linalg.solve(H, h), np.linalg.inv(H).diagonal()

    def posterior(eta: Any) -> Any:
        found = [one(row) for row in eta]
        log_p, means, variances = (np.array(each) for each in zip(*found, strict=True))
        return log_p, np.column_stack([means, np.exp(eta)]), np.column_stack([variances, np.zeros((len(eta), 3))])

    return integrated(posterior, np.log([1.0, 0.5, 1.0]), 5)


def credo(data: dict[str, Any]) -> Any:
    import credo as cr

    m = cr.Model()
    m.dim("groups", GROUPS)
    x, g = m.data("x", data["x"], dims="obs"), m.data("g", data["g"], dims="obs", levels="groups")
    a, slope = m.latent("a", cr.Normal(0, 10)), m.latent("slope", cr.Normal(0, 10))
    t1, t2, sigma = (m.latent(name, cr.HalfNormal(2)) for name in ("t1", "t2", "sigma"))
    b1 = m.latent("b1", cr.Normal(0, t1), dims="groups")
    b2 = m.latent("b2", cr.Normal(0, t2), dims="groups")
    m.observed("y", cr.Normal(a + slope * x + b1[g] + b2[g] * x, sigma), data["y"], dims="obs")
    return m


def pymc(data: dict[str, Any]) -> Any:
    import pymc as pm  # type: ignore[import-not-found]

    x, g = data["x"], data["g"]
    with pm.Model() as model:
        a, slope = pm.Normal("a", 0.0, 10.0), pm.Normal("slope", 0.0, 10.0)
        t1, t2, sigma = (pm.HalfNormal(name, 2.0) for name in ("t1", "t2", "sigma"))
        b1, b2 = pm.Normal("b1", 0.0, t1, shape=GROUPS), pm.Normal("b2", 0.0, t2, shape=GROUPS)
        pm.Normal("y", a + slope * x + b1[g] + b2[g] * x, sigma, observed=data["y"])
    return model


def numpyro(data: dict[str, Any]) -> Any:
    import jax.numpy as jnp  # type: ignore[import-not-found]
    import numpyro as library  # type: ignore[import-not-found]
    import numpyro.distributions as dist  # type: ignore[import-not-found]

    x, g, y = (jnp.asarray(data[name]) for name in ("x", "g", "y"))

    def model() -> None:
        a, slope = (library.sample(name, dist.Normal(0.0, 10.0)) for name in ("a", "slope"))
        t1, t2, sigma = (library.sample(name, dist.HalfNormal(2.0)) for name in ("t1", "t2", "sigma"))
        b1, b2 = (
            library.sample(k, dist.Normal(0.0, t).expand([GROUPS]).to_event(1)) for k, t in (("b1", t1), ("b2", t2))
        )
        library.sample("y", dist.Normal(a + slope * x + b1[g] + b2[g] * x, sigma), obs=y)

    return model


TITLE = "100,000 rows in 5,000 groups with an intercept and a slope each"
CASE = fresh_case(Kind(TITLE, data, truth, credo, pymc, numpyro, NAMES, 10.0, few=True))
