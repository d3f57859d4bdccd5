"""NUTS on a logistic regression of 1,000 × 5 with its analytic gradient: four chains of 1,000 draws, sampling alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.case import Bar, Case, Contestant, Quality

CHAINS, DRAWS, PRIOR_SD = 4, 1000, 2.5
#: Credo's tuning; nutpie, PyMC and NumPyro keep their own defaults (400, 1,000 and, stated here, 1,000)
WARMUP = 400


class Sampled(NamedTuple):
    """Draws (chains, draws, 5) and the gradients they cost after tuning."""

    draws: Any
    gradients: int


def data(kind: str) -> tuple[Any, Any]:
    import numpy as np

    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(1000), rng.normal(size=(1000, 4))])
    eta = X @ np.array([-0.2, 0.6, 0.3, -0.6, 0.7])
    y = rng.random(1000) < 1 / (1 + np.exp(-eta)) if kind == "logistic" else rng.poisson(np.exp(eta))
    return X, y.astype(np.int64)


def load(_: Path) -> tuple[str, Any, Any]:
    return ("logistic", *data("logistic"))


def credo_target(kind: str, X: Any, y: Any) -> Any:
    """The posterior with prior N(0, 2.5²) on every coefficient, all chains in one call."""
    import numpy as np

    from credo.inference.target import Target

    Xt, Xy = np.ascontiguousarray(X.T), X.T @ y
    signed = np.where(y == 1, 1.0, -1.0)[:, None] * X
    signed_t = np.ascontiguousarray(signed.T)

    def logistic(w: Any) -> tuple[Any, Any]:
        e = np.exp(-(w @ signed_t))
        s = 1.0 + e
        return -np.log(s).sum(1) - 0.5 * np.sum(w * w, 1) / PRIOR_SD**2, (e / s) @ signed - w / PRIOR_SD**2

    def poisson(w: Any) -> tuple[Any, Any]:
        rate = np.exp(w @ Xt)
        return w @ Xy - rate.sum(1) - 0.5 * np.sum(w * w, 1) / PRIOR_SD**2, Xy - rate @ X - w / PRIOR_SD**2

    return Target(None, {"w": (5,)}, value_and_gradient=logistic if kind == "logistic" else poisson, vectorised=True)


def credo(task: tuple[str, Any, Any]) -> Sampled:
    from credo.inference.mcmc import NUTS, sample

    found = sample(credo_target(*task), NUTS(), chains=CHAINS, draws=DRAWS, warmup=WARMUP, rng=1)
    return Sampled(found.values["w"], int(found.sample_stats["n_steps"].sum()))


def pymc_model(task: tuple[str, Any, Any]) -> Any:
    import pymc as pm  # type: ignore[import-not-found]

    kind, X, y = task
    with pm.Model() as model:
        w = pm.Normal("w", 0.0, PRIOR_SD, shape=5)
        if kind == "logistic":
            pm.Bernoulli("y", logit_p=pm.math.dot(X, w), observed=y)
        else:
            pm.Poisson("y", pm.math.exp(pm.math.dot(X, w)), observed=y)
    return model


_COMPILED: dict[str, Any] = {}


def nutpie(task: tuple[str, Any, Any]) -> Sampled:
    """Compiled at the first call, which the harness does not time in warm cases."""
    import nutpie as library  # type: ignore[import-not-found]

    if task[0] not in _COMPILED:
        _COMPILED[task[0]] = library.compile_pymc_model(pymc_model(task))
    trace = library.sample(_COMPILED[task[0]], draws=DRAWS, chains=CHAINS, seed=1, progress_bar=False)
    return Sampled(trace.posterior["w"].values, int(trace.sample_stats["n_steps"].sum()))


def pymc(task: tuple[str, Any, Any]) -> Sampled:
    import pymc as pm  # type: ignore[import-not-found]

    with pymc_model(task):
        trace = pm.sample(DRAWS, chains=CHAINS, random_seed=1, progressbar=False, compute_convergence_checks=False)
    return Sampled(trace.posterior["w"].values, int(trace.sample_stats["n_steps"].sum()))


def numpyro(task: tuple[str, Any, Any]) -> Sampled:
    import jax  # type: ignore[import-not-found]
    import numpy as np
    import numpyro as library  # type: ignore[import-not-found]
    import numpyro.distributions as dist  # type: ignore[import-not-found]
    from numpyro.infer import MCMC, NUTS  # type: ignore[import-not-found]

    kind, X, y = task

    def model() -> None:
        w = library.sample("w", dist.Normal(0.0, PRIOR_SD).expand([5]).to_event(1))
        law = dist.Bernoulli(logits=X @ w) if kind == "logistic" else dist.Poisson(jax.numpy.exp(X @ w))
        library.sample("y", law, obs=y)

    run = MCMC(
        NUTS(model),
        num_warmup=1000,
        num_samples=DRAWS,
        num_chains=CHAINS,
        chain_method="vectorized",
        progress_bar=False,
    )
    run.run(jax.random.PRNGKey(1), extra_fields=("num_steps",))
    draws = np.asarray(run.get_samples(group_by_chain=True)["w"])
    return Sampled(draws, int(run.get_extra_fields()["num_steps"].sum()))


def ess(sampled: Sampled) -> float:
    """Effective draws of the worst coefficient."""
    from arviz_stats.base.array import array_stats

    return min(float(array_stats.ess(sampled.draws[..., j])) for j in range(5))


def ess_per_gradient(task: Any, sampled: Sampled) -> float:
    return ess(sampled) / sampled.gradients


CASE = Case(
    question="NUTS on a logistic regression, 1,000 × 5, four chains of 1,000 draws, with tuning, without compilation: "
    "Credo in NumPy against nutpie's compiled model. Effective draws a gradient may fall 10 % short of the best.",
    load=load,
    contestants=(
        Contestant("credo NUTS", credo),
        Contestant("nutpie", nutpie, requires=("nutpie", "pymc")),
    ),
    quality=Quality("ESS per gradient", ess_per_gradient, "higher", 0.03),
    bars={"nutpie": Bar("≥", 0.5)},
    repeats=5,
)
