"""What the cases `glm_fresh_1000x5_*` share: one family from a fresh process to a posterior, and its predictive means.

b, w ~ N(0, 2.5²); φ or α ~ Gamma(2, rate ½); cut-points such that the levels at η = 0 are uniform on the simplex.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.case import Bar, Case, Contestant, Limit, Quality

__all__ = ["fresh_case"]

ROWS, COLUMNS, PRIOR_SD, LEVELS = 1000, 5, 2.5, 4
CHAINS, DRAWS = 4, 1000  # the defaults of PyMC and bambi
PROPOSALS = 50_000
#: means of 4,000 effective draws err by 1/√4000 sds; the largest of six stays below three times that in 98 of 100 runs
ENOUGH = 3.0 / 4000**0.5
SHAPE, RATE = 2.0, 0.5


class Task(NamedTuple):
    """Data, and the means and sds of the coefficients."""

    X: Any
    y: Any
    mean: Any
    sd: Any


class Family(NamedTuple):
    """One model: outcomes, its log joint density (in b, w and the rest on the line), and the contestants' words."""

    kind: str

    def data(self) -> tuple[Any, Any]:
        import numpy as np

        rng = np.random.default_rng(0)
        X = rng.standard_normal((ROWS, COLUMNS))
        eta = 0.5 + X @ np.array([0.4, 0.2, -0.4, 0.3, 0.1])
        outcomes = {
            "poisson": lambda: rng.poisson(np.exp(eta)),
            "negbin": lambda: rng.poisson(np.exp(eta) * rng.gamma(2.0, 0.5, ROWS)),
            "gamma": lambda: rng.gamma(2.0, np.exp(eta) / 2.0),
            "ordinal": lambda: np.digitize(eta + rng.logistic(size=ROWS), [-1.0, 0.5, 2.0]),
        }
        return X, outcomes[self.kind]()

    @property
    def n_rest(self) -> int:
        return {"poisson": 0, "negbin": 1, "gamma": 1, "ordinal": LEVELS - 1}[self.kind]

    @property
    def n_weights(self) -> int:
        return COLUMNS if self.kind == "ordinal" else COLUMNS + 1

    def log_joint(self, theta: Any, X: Any, y: Any) -> Any:
        """At points (S, K), written out again from the definitions."""
        import numpy as np
        from scipy import special as sp

        rows = X if self.kind == "ordinal" else np.column_stack([np.ones(ROWS), X])
        w, rest = theta[:, : self.n_weights], theta[:, self.n_weights :]
        eta = w @ rows.T
        prior = -0.5 * np.square(w / PRIOR_SD).sum(axis=1)
        if self.kind == "poisson":
            return prior + (y * eta - np.exp(eta)).sum(axis=1)
        if self.kind == "ordinal":
            cuts = np.cumsum(np.column_stack([rest[:, :1], np.exp(rest[:, 1:])]), axis=1)
            prior += rest[:, 1:].sum(axis=1) + (cuts - 2.0 * np.logaddexp(0.0, cuts)).sum(axis=1)
            ends = np.full((len(theta), 1), np.inf)
            edges = np.column_stack([-ends, cuts, ends])
            return prior + np.log(sp.expit(edges[:, y + 1] - eta) - sp.expit(edges[:, y] - eta)).sum(axis=1)
        size = np.exp(rest)
        prior += (SHAPE * rest - RATE * size)[:, 0]
        if self.kind == "gamma":
            value = size * (np.log(size) - eta + np.log(y)) - size * y * np.exp(-eta) - sp.gammaln(size)
        else:
            value = (
                sp.gammaln(y + size) - sp.gammaln(size) + y * eta + size * rest - (y + size) * np.logaddexp(eta, rest)
            )
        return prior + value.sum(axis=1)


def truth(family: Family, directory: Path) -> None:
    """By importance sampling from the Normal at the mode: an error of 1/200 of an sd or so."""
    import numpy as np
    import scipy.optimize

    X, y = family.data()
    k = family.n_weights + family.n_rest
    start = np.zeros(k)
    start[family.n_weights :] = [-1.0, 0.4, 0.4] if family.kind == "ordinal" else 0.7

    def loss(theta: Any) -> float:
        return -float(family.log_joint(theta[None], X, y)[0])

    mode = scipy.optimize.minimize(loss, start, method="BFGS").x
    step = 1e-3 * np.eye(k)
    corners = [(a, b) for a in step for b in step]
    signs = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
    values = family.log_joint(np.array([mode + s * a + t * b for a, b in corners for s, t in signs]), X, y)
    precision = -(values.reshape(-1, 4) @ [1, -1, -1, 1]).reshape(k, k) / 4e-6
    z = np.random.default_rng(1).standard_normal((PROPOSALS, k))
    draws = mode + np.linalg.solve(np.linalg.cholesky(precision).T, z.T).T
    parts = np.array_split(draws, 50)
    log_w = np.concatenate([family.log_joint(part, X, y) for part in parts]) + 0.5 * np.square(z).sum(axis=1)
    w = np.exp(log_w - log_w.max())
    w /= w.sum()
    coef = draws[:, family.n_weights - COLUMNS : family.n_weights]
    mean = w @ coef
    np.savez(directory / "truth.npz", mean=mean, sd=np.sqrt(w @ np.square(coef - mean)))


def credo_with(kind: str) -> Any:
    def credo(task: Task) -> Any:
        import credo as cr

        prior = cr.Normal(0, PRIOR_SD)
        size = cr.Gamma(shape=SHAPE, rate=RATE)
        model: Any = {
            "poisson": lambda: cr.PoissonRegression(prior=prior, prior_intercept=prior),
            "negbin": lambda: cr.NegativeBinomialRegression(prior=prior, prior_intercept=prior, dispersion=size),
            "gamma": lambda: cr.GammaRegression(prior=prior, prior_intercept=prior, shape=size),
            "ordinal": lambda: cr.OrdinalRegression(prior=prior),
        }[kind]()
        model.fit(task.X, task.y)
        assert model.result_.ok
        model.predict(task.X)
        return model.coef_

    return credo


def pymc_with(kind: str) -> Any:
    def pymc(task: Task) -> Any:
        import numpy as np
        import pymc as pm  # type: ignore[import-not-found]

        with pm.Model():
            w = pm.Normal("w", 0.0, PRIOR_SD, shape=COLUMNS)
            eta = pm.math.dot(task.X, w)
            if kind == "ordinal":
                p = pm.Dirichlet("p", np.ones(LEVELS))
                cuts = pm.math.logit(pm.math.cumsum(p)[:-1])
                pm.OrderedLogistic("y", eta=eta, cutpoints=cuts, observed=task.y, compute_p=False)
            else:
                mu = pm.math.exp(pm.Normal("b", 0.0, PRIOR_SD) + eta)
                if kind == "poisson":
                    pm.Poisson("y", mu, observed=task.y)
                else:
                    size = pm.Gamma("size", SHAPE, RATE)
                    if kind == "negbin":
                        pm.NegativeBinomial("y", mu=mu, alpha=size, observed=task.y)
                    else:
                        pm.Gamma("y", alpha=size, beta=size / mu, observed=task.y)
            trace = pm.sample(DRAWS, chains=CHAINS, random_seed=1, progressbar=False, compute_convergence_checks=False)
        return np.asarray(trace.posterior["w"]).reshape(-1, COLUMNS).mean(axis=0)

    return pymc


def bambi_with(kind: str) -> Any:
    def bambi(task: Task) -> Any:
        import bambi as bmb  # type: ignore[import-not-found]
        import numpy as np
        import pandas as pd

        names = [f"x{j}" for j in range(COLUMNS)]
        y = pd.Categorical(task.y, ordered=True) if kind == "ordinal" else task.y
        frame = pd.DataFrame(task.X, columns=names).assign(y=y)
        prior = bmb.Prior("Normal", mu=0.0, sigma=PRIOR_SD)
        priors: dict[str, Any] = dict.fromkeys(names, prior)
        if kind != "ordinal":
            priors["Intercept"] = prior
        if kind in ("negbin", "gamma"):
            priors["alpha"] = bmb.Prior("Gamma", alpha=SHAPE, beta=RATE)
        words = {"negbin": "negativebinomial", "ordinal": "cumulative"}
        link = {} if kind == "ordinal" else {"link": "log"}
        model = bmb.Model(
            f"y ~ {' + '.join(names)}",
            frame,
            family=words.get(kind, kind),
            priors=priors,
            center_predictors=False,
            **link,
        )
        trace = model.fit(draws=DRAWS, chains=CHAINS, random_seed=1, progressbar=False)
        return np.array([np.asarray(trace.posterior[name]).mean() for name in names])

    return bambi


def numpyro_with(kind: str) -> Any:
    def numpyro(task: Task) -> Any:
        import jax  # type: ignore[import-not-found]
        import jax.numpy as jnp  # type: ignore[import-not-found]
        import numpy as np
        import numpyro as library  # type: ignore[import-not-found]
        import numpyro.distributions as dist  # type: ignore[import-not-found]
        from numpyro.infer import MCMC, NUTS  # type: ignore[import-not-found]

        def model() -> None:
            w = library.sample("w", dist.Normal(0.0, PRIOR_SD).expand([COLUMNS]).to_event(1))
            eta = task.X @ w
            if kind == "ordinal":
                p = library.sample("p", dist.Dirichlet(jnp.ones(LEVELS)))
                total = jnp.cumsum(p)[:-1]
                law: Any = dist.OrderedLogistic(eta, jnp.log(total) - jnp.log1p(-total))
            else:
                mu = jnp.exp(library.sample("b", dist.Normal(0.0, PRIOR_SD)) + eta)
                if kind == "poisson":
                    law = dist.Poisson(mu)
                else:
                    size = library.sample("size", dist.Gamma(SHAPE, RATE))
                    law = dist.NegativeBinomial2(mu, size) if kind == "negbin" else dist.Gamma(size, size / mu)
            library.sample("y", law, obs=task.y)

        options = {"num_warmup": DRAWS, "num_samples": DRAWS, "num_chains": CHAINS}
        run = MCMC(NUTS(model), **options, chain_method="vectorized", progress_bar=False)
        run.run(jax.random.PRNGKey(1))
        return np.asarray(run.get_samples()["w"]).mean(axis=0)

    return numpyro


def error(task: Task, coef: Any) -> float:
    import numpy as np

    assert np.shape(coef) == (COLUMNS,)
    return float(np.max(np.abs(coef - task.mean) / task.sd))


def fresh_case(kind: str, name: str) -> Case:
    """The case of "poisson", "negbin", "gamma" or "ordinal"."""
    family = Family(kind)

    def load(directory: Path) -> Task:
        import numpy as np

        known = np.load(directory / "truth.npz")
        return Task(*family.data(), known["mean"], known["sd"])

    return Case(
        question=f"From starting a process to the posterior of {name} (1,000 × 5, prior N(0, 2.5²)), at least as exact "
        "as 4,000 effective draws; Credo's time includes its predictive means. Credo checks its Laplace approximation "
        "by importance sampling; the others run NUTS, four chains of 1,000 draws after their own tuning.",
        mode="fresh",
        prepare=lambda directory: truth(family, directory),
        load=load,
        contestants=(
            Contestant("credo", credo_with(kind)),
            Contestant("NumPyro", numpyro_with(kind), requires=("numpyro", "jax")),
            Contestant("PyMC", pymc_with(kind), requires=("pymc",)),
            Contestant("bambi", bambi_with(kind), requires=("bambi", "pymc")),
            Contestant(
                "import scikit-learn",
                command=(sys.executable, "-c", "import numpy, sklearn.linear_model"),
                requires=("scikit-learn",),
            ),
        ),
        quality=Quality("largest error of a coefficient's mean (posterior sds)", error, "lower", ENOUGH),
        bars={"NumPyro": Bar("≥", 10), "PyMC": Bar("≥", 10), "bambi": Bar("≥", 10)},
        limits={"credo": Limit("seconds", 1.5, beyond="import scikit-learn")},
        repeats=3,
    )
