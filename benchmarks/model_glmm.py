"""What the cases `model_glmm_*` share: a generalised linear regression with an intercept for each group.

    y_i ~ Poisson(exp η_i) or Bernoulli(expit η_i),   η = x β + b_g,   b_g ~ Normal(0, τ)

The truth integrates every group's intercept by Gauss–Hermite quadrature about its own mode, and (β, τ), which are
nearly Normal, by a product rule.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from benchmarks.case import Case
from benchmarks.model_fresh import Kind, fresh_case, integrated

__all__ = ["Glmm", "glmm_case"]

NAMES = ("beta", "tau")
#: sds of the priors of β and τ
WIDE, NARROW = 5.0, 2.0
NODES = 15


class Glmm(NamedTuple):
    """family : "poisson" or "bernoulli"; columns : of x, the first of ones; few, seconds : see `Kind`."""

    family: str
    rows: int
    groups: int
    columns: int
    seconds: float
    few: bool = False

    def beta(self) -> Any:
        import numpy as np

        return np.array([0.5, 0.3, -0.2, 0.1, 0.0])[: self.columns]


def data_of(case: Glmm) -> dict[str, Any]:
    import numpy as np

    rng = np.random.default_rng(0)
    g = rng.integers(case.groups, size=case.rows)
    x = np.column_stack([np.ones(case.rows), rng.normal(size=(case.rows, case.columns - 1))])
    eta = x @ case.beta() + 0.7 * rng.normal(size=case.groups)[g]
    y = rng.poisson(np.exp(eta)) if case.family == "poisson" else rng.random(case.rows) < 1.0 / (1.0 + np.exp(-eta))
    return {"x": x, "g": g, "y": y.astype(float)}


def truth_of(case: Glmm, data: dict[str, Any]) -> tuple[Any, Any]:
    import numpy as np
    from scipy.special import expit, gammaln

    x, g, y = data["x"], data["g"], data["y"]
    z, weight = np.polynomial.hermite_e.hermegauss(NODES)
    weight = weight / np.sqrt(2.0 * np.pi)
    constant = gammaln(y + 1.0).sum() if case.family == "poisson" else 0.0

    def sums(v: Any) -> Any:
        return np.bincount(g, v, case.groups)

    def mean(eta: Any) -> Any:
        return np.exp(eta) if case.family == "poisson" else expit(eta)

    def growth(eta: Any) -> Any:
        return np.exp(eta) if case.family == "poisson" else np.logaddexp(0.0, eta)

    totals = sums(y)

    def log_density(theta: Any) -> float:
        beta, tau = theta[:-1], np.exp(theta[-1])
        fixed = x @ beta
        b = np.zeros(case.groups)
        for _ in range(50):
            m = mean(fixed + b[g])
            curved = sums(m if case.family == "poisson" else m * (1.0 - m)) + tau**-2
            step = (totals - sums(m) - b / tau**2) / curved
            b += np.clip(step, -1.0, 1.0)
            if np.abs(step).max() < 1e-9:
                break
        width = curved**-0.5
        logs = np.empty((NODES, case.groups))
        for k, node in enumerate(z):
            at = b + width * node
            logs[k] = totals * at - sums(growth(fixed + at[g])) - 0.5 * (at / tau) ** 2 + 0.5 * node**2
        top = logs.max(axis=0)
        each = top + np.log(weight @ np.exp(logs - top)) + np.log(width / tau)
        log_p = each.sum() + y @ fixed - constant
        return log_p - 0.5 * (beta @ beta) / WIDE**2 - 0.5 * (tau / NARROW) ** 2 + theta[-1]

    def posterior(theta: Any) -> Any:
        values = np.column_stack([theta[:, :-1], np.exp(theta[:, -1])])
        return np.array([log_density(row) for row in theta]), values, np.zeros_like(values)

    return integrated(posterior, np.append(case.beta(), np.log(0.7)), 3 if case.columns > 2 else 7)


def credo_of(case: Glmm, data: dict[str, Any]) -> Any:
    import credo as cr

    m = cr.Model()
    m.dim("groups", case.groups)
    x, g = m.data("x", data["x"], dims=("obs", "term")), m.data("g", data["g"], dims="obs", levels="groups")
    beta, tau = m.latent("beta", cr.Normal(0, WIDE), dims="term"), m.latent("tau", cr.HalfNormal(NARROW))
    b = m.latent("b", cr.Normal(0, tau), dims="groups")
    eta = x @ beta + b[g]
    law = cr.Poisson(cr.math.exp(eta)) if case.family == "poisson" else cr.Bernoulli(cr.math.expit(eta))
    m.observed("y", law, data["y"], dims="obs")
    return m


def pymc_of(case: Glmm, data: dict[str, Any]) -> Any:
    import pymc as pm  # type: ignore[import-not-found]

    with pm.Model() as model:
        beta, tau = pm.Normal("beta", 0.0, WIDE, shape=case.columns), pm.HalfNormal("tau", NARROW)
        b = pm.Normal("b", 0.0, tau, shape=case.groups) if case.few else tau * pm.Normal("z", shape=case.groups)
        eta = data["x"] @ beta + b[data["g"]]
        if case.family == "poisson":
            pm.Poisson("y", pm.math.exp(eta), observed=data["y"])
        else:
            pm.Bernoulli("y", logit_p=eta, observed=data["y"])
    return model


def numpyro_of(case: Glmm, data: dict[str, Any]) -> Any:
    import jax.numpy as jnp  # type: ignore[import-not-found]
    import numpyro as library  # type: ignore[import-not-found]
    import numpyro.distributions as dist  # type: ignore[import-not-found]

    x, g, y = (jnp.asarray(data[name]) for name in ("x", "g", "y"))

    def model() -> None:
        beta = library.sample("beta", dist.Normal(0.0, WIDE).expand([case.columns]).to_event(1))
        tau = library.sample("tau", dist.HalfNormal(NARROW))
        if case.few:
            b = library.sample("b", dist.Normal(0.0, tau).expand([case.groups]).to_event(1))
        else:
            b = tau * library.sample("z", dist.Normal(0.0, 1.0).expand([case.groups]).to_event(1))
        eta = x @ beta + b[g]
        law = dist.Poisson(jnp.exp(eta)) if case.family == "poisson" else dist.BernoulliLogits(eta)
        library.sample("y", law, obs=y)

    return model


def glmm_case(case: Glmm) -> Case:
    """The case of one of them."""
    name = {"poisson": "a Poisson regression", "bernoulli": "a logistic regression"}[case.family]
    title = f"{name} of {case.rows:,} rows with {case.groups:,} groups' intercepts"
    return fresh_case(
        Kind(
            title,
            lambda: data_of(case),
            lambda data: truth_of(case, data),
            lambda data: credo_of(case, data),
            lambda data: pymc_of(case, data),
            lambda data: numpyro_of(case, data),
            NAMES,
            case.seconds,
            case.few,
        )
    )
