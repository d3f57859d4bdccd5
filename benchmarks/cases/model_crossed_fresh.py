"""From nothing to 4,000 draws: 100,000 rows with two crossed effects of 2,000 levels."""

from __future__ import annotations

from typing import Any

from benchmarks.model_fresh import Kind, fresh_case, integrated

ROWS, LEVELS = 100_000, 2_000
NAMES = ("a", "t1", "t2", "sigma")


def data() -> dict[str, Any]:
    import numpy as np

    rng = np.random.default_rng(0)
    i, j = rng.integers(LEVELS, size=ROWS), rng.integers(LEVELS, size=ROWS)
    y = 1.0 + rng.normal(size=LEVELS)[i] + 0.5 * rng.normal(size=LEVELS)[j] + rng.normal(size=ROWS)
    return {"i": i, "j": j, "y": y}


def truth(data: dict[str, Any]) -> tuple[Any, Any]:
    """In η = (log τ₁, log τ₂, log σ): the first effect eliminated by hand, the second and the intercept dense."""
    import numpy as np
    import scipy.linalg
    import scipy.sparse

    i, j, y = data["i"], data["j"], data["y"]
    n1, y1 = np.bincount(i, minlength=LEVELS), np.bincount(i, y, LEVELS)
    X = scipy.sparse.csr_array((np.ones(ROWS), (np.arange(ROWS), j)), shape=(ROWS, LEVELS))
    X = scipy.sparse.hstack([X, np.ones((ROWS, 1))]).tocsr()  # second effect and intercept
    Z = scipy.sparse.csr_array((np.ones(ROWS), (np.arange(ROWS), i)), shape=(ROWS, LEVELS))
    XX, ZX, Xy, yy = (X.T @ X).toarray(), Z.T @ X, X.T @ y, y @ y
    XZ = ZX.T.tocsr()

    def one(eta: Any) -> tuple[float, float, float]:
        t1, t2, sigma = np.exp(eta)
        s2 = sigma * sigma
        d = n1 / s2 + t1**-2
        H = XX / s2 - (XZ @ scipy.sparse.diags_array(1.0 / (d * s2**2)) @ ZX).toarray()
        H[np.diag_indices(LEVELS + 1)] += np.append(np.full(LEVELS, t2**-2), 0.01)
        h = Xy / s2 - XZ @ (y1 / d) / s2**2
        lower = scipy.linalg.cholesky(H, lower=True, overwrite_a=True)
        white = scipy.linalg.solve_triangular(lower, h, lower=True)
        fit = yy / s2 - y1 @ (y1 / d) / s2**2 - white @ white
        log_det = (
            2 * ROWS * eta[2] + np.log(d).sum() + 2 * LEVELS * (eta[0] + eta[1]) + 2 * np.log(lower.diagonal()).sum()
        )
        last = lower[-1, -1]  # of the intercept, the last column
        return -0.5 * (fit + log_det + (t1**2 + t2**2 + s2) / 4.0) + eta.sum(), white[-1] / last, last**-2

    def posterior(eta: Any) -> Any:
        found = np.array([one(row) for row in eta])
        variances = np.column_stack([found[:, 2], np.zeros((len(eta), 3))])
        return found[:, 0], np.column_stack([found[:, 1], np.exp(eta)]), variances

    return integrated(posterior, np.log([1.0, 0.5, 1.0]), 4)


def credo(data: dict[str, Any]) -> Any:
    import credo as cr

    m = cr.Model()
    m.dim("A", LEVELS)
    m.dim("B", LEVELS)
    i, j = m.data("i", data["i"], dims="obs", levels="A"), m.data("j", data["j"], dims="obs", levels="B")
    a = m.latent("a", cr.Normal(0, 10))
    t1, t2, sigma = (m.latent(name, cr.HalfNormal(2)) for name in ("t1", "t2", "sigma"))
    u, v = m.latent("u", cr.Normal(0, t1), dims="A"), m.latent("v", cr.Normal(0, t2), dims="B")
    m.observed("y", cr.Normal(a + u[i] + v[j], sigma), data["y"], dims="obs")
    return m


def pymc(data: dict[str, Any]) -> Any:
    import pymc as pm  # type: ignore[import-not-found]

    with pm.Model() as model:
        a = pm.Normal("a", 0.0, 10.0)
        t1, t2, sigma = (pm.HalfNormal(name, 2.0) for name in ("t1", "t2", "sigma"))
        u, v = pm.Normal("u", 0.0, t1, shape=LEVELS), pm.Normal("v", 0.0, t2, shape=LEVELS)
        pm.Normal("y", a + u[data["i"]] + v[data["j"]], sigma, observed=data["y"])
    return model


def numpyro(data: dict[str, Any]) -> Any:
    import jax.numpy as jnp  # type: ignore[import-not-found]
    import numpyro as library  # type: ignore[import-not-found]
    import numpyro.distributions as dist  # type: ignore[import-not-found]

    i, j, y = (jnp.asarray(data[name]) for name in ("i", "j", "y"))

    def model() -> None:
        a = library.sample("a", dist.Normal(0.0, 10.0))
        t1, t2, sigma = (library.sample(name, dist.HalfNormal(2.0)) for name in ("t1", "t2", "sigma"))
        u, v = (library.sample(k, dist.Normal(0.0, t).expand([LEVELS]).to_event(1)) for k, t in (("u", t1), ("v", t2)))
        library.sample("y", dist.Normal(a + u[i] + v[j], sigma), obs=y)

    return model


TITLE = "100,000 rows with two crossed effects of 2,000 levels"
CASE = fresh_case(Kind(TITLE, data, truth, credo, pymc, numpyro, NAMES, 30.0, few=True))
