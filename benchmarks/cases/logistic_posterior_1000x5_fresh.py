"""From nothing to a posterior and its predictive: a logistic regression of 1,000 × 5 in a fresh process."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.case import Bar, Case, Contestant, Limit, Quality

ROWS, COLUMNS, PRIOR_SD = 1000, 5, 2.5
CHAINS, DRAWS = 4, 1000  # the defaults of PyMC and bambi
#: means of 4,000 effective draws err by 1/√4000 sds; the largest of six stays below three times that in 98 of 100 runs
ENOUGH = 3.0 / 4000**0.5


class Answer(NamedTuple):
    """Posterior means (intercept first) and predictive probabilities of the rows."""

    mean: Any
    probabilities: Any


class Task(NamedTuple):
    """Data, and the posterior's means and sds."""

    X: Any
    y: Any
    mean: Any
    sd: Any


def data() -> tuple[Any, Any]:
    import numpy as np

    rng = np.random.default_rng(0)
    X = rng.standard_normal((ROWS, COLUMNS))
    eta = -0.2 + X @ np.array([0.6, 0.3, -0.6, 0.7, 0.1])
    return X, (rng.random(ROWS) < 1.0 / (1.0 + np.exp(-eta))).astype(np.int64)


def prepare(directory: Path) -> None:
    """The truth by importance sampling from a Normal at the mode: 200,000 draws, so 1/450 of an sd."""
    import numpy as np

    X, y = data()
    rows = np.column_stack([np.ones(ROWS), X])
    theta = np.zeros(COLUMNS + 1)
    for _ in range(30):
        p = 1.0 / (1.0 + np.exp(-rows @ theta))
        precision = (rows * (p * (1.0 - p))[:, None]).T @ rows + np.eye(COLUMNS + 1) / PRIOR_SD**2
        theta = theta + np.linalg.solve(precision, rows.T @ (y - p) - theta / PRIOR_SD**2)
    rng = np.random.default_rng(1)
    z = rng.standard_normal((200_000, COLUMNS + 1))
    draws = theta + np.linalg.solve(np.linalg.cholesky(precision).T, z.T).T
    signed = np.where(y == 1, 1.0, -1.0)[:, None] * rows
    log_p = np.empty(len(draws))
    for part in np.array_split(np.arange(len(draws)), 100):
        log_p[part] = -np.logaddexp(0.0, -draws[part] @ signed.T).sum(axis=1)
    log_w = log_p - 0.5 * np.square(draws).sum(axis=1) / PRIOR_SD**2 + 0.5 * np.square(z).sum(axis=1)
    w = np.exp(log_w - log_w.max())
    w /= w.sum()
    mean = w @ draws
    np.savez(directory / "truth.npz", mean=mean, sd=np.sqrt(w @ np.square(draws - mean)))


def load(directory: Path) -> Task:
    import numpy as np

    truth = np.load(directory / "truth.npz")
    return Task(*data(), truth["mean"], truth["sd"])


def credo(task: Task) -> Answer:
    import numpy as np

    import credo as cr

    prior = cr.Normal(0, PRIOR_SD)
    model = cr.LogisticRegression(prior=prior, prior_intercept=prior).fit(task.X, task.y)
    assert model.result_.ok
    mean = np.append(model.posterior_.intercept_mean, model.posterior_.mean)
    return Answer(mean, model.predict_distribution(task.X).probabilities[:, 1])


def averaged(draws: Any, X: Any) -> Answer:
    """From draws (S, 6)."""
    import numpy as np

    p = 1.0 / (1.0 + np.exp(-draws[:, :1] - draws[:, 1:] @ X.T))
    return Answer(draws.mean(axis=0), p.mean(axis=0))


def pymc(task: Task) -> Answer:
    import numpy as np
    import pymc as pm  # type: ignore[import-not-found]

    with pm.Model():
        b = pm.Normal("b", 0.0, PRIOR_SD)
        w = pm.Normal("w", 0.0, PRIOR_SD, shape=COLUMNS)
        pm.Bernoulli("y", logit_p=b + pm.math.dot(task.X, w), observed=task.y)
        trace = pm.sample(DRAWS, chains=CHAINS, random_seed=1, progressbar=False, compute_convergence_checks=False)
    b, w = (np.asarray(trace.posterior[name]) for name in ("b", "w"))
    return averaged(np.column_stack([b.ravel(), w.reshape(-1, COLUMNS)]), task.X)


def bambi(task: Task) -> Answer:
    import bambi as bmb  # type: ignore[import-not-found]
    import numpy as np
    import pandas as pd

    names = [f"x{j}" for j in range(COLUMNS)]
    frame = pd.DataFrame(task.X, columns=names).assign(y=task.y)
    prior = bmb.Prior("Normal", mu=0.0, sigma=PRIOR_SD)
    model = bmb.Model(
        f"y ~ {' + '.join(names)}",
        frame,
        family="bernoulli",
        priors=dict.fromkeys(["Intercept", *names], prior),
        center_predictors=False,
    )
    trace = model.fit(draws=DRAWS, chains=CHAINS, random_seed=1, progressbar=False)
    draws = np.column_stack([np.asarray(trace.posterior[name]).ravel() for name in ["Intercept", *names]])
    return averaged(draws, task.X)


def numpyro(task: Task) -> Answer:
    import jax  # type: ignore[import-not-found]
    import numpy as np
    import numpyro as library  # type: ignore[import-not-found]
    import numpyro.distributions as dist  # type: ignore[import-not-found]
    from numpyro.infer import MCMC, NUTS  # type: ignore[import-not-found]

    rows = np.column_stack([np.ones(ROWS), task.X])

    def model() -> None:
        w = library.sample("w", dist.Normal(0.0, PRIOR_SD).expand([COLUMNS + 1]).to_event(1))
        library.sample("y", dist.Bernoulli(logits=rows @ w), obs=task.y)

    kernel = NUTS(model)
    run = MCMC(
        kernel,
        num_warmup=DRAWS,
        num_samples=DRAWS,
        num_chains=CHAINS,
        chain_method="vectorized",
        progress_bar=False,
    )
    run.run(jax.random.PRNGKey(1))
    return averaged(np.asarray(run.get_samples()["w"]), task.X)


def error(task: Task, answer: Answer) -> float:
    import numpy as np

    assert answer.probabilities.shape == (ROWS,)
    return float(np.max(np.abs(answer.mean - task.mean) / task.sd))


CASE = Case(
    question="From starting a process to the posterior of a logistic regression (1,000 × 5, prior N(0, 2.5²)) and its "
    "predictive probabilities, at least as exact as 4,000 effective draws. Credo checks its Laplace approximation by "
    "importance sampling; the others run NUTS, four chains of 1,000 draws after their own tuning.",
    mode="fresh",
    prepare=prepare,
    load=load,
    contestants=(
        Contestant("credo LogisticRegression", credo),
        Contestant("NumPyro", numpyro, requires=("numpyro", "jax")),
        Contestant("PyMC", pymc, requires=("pymc",)),
        Contestant("bambi", bambi, requires=("bambi", "pymc")),
        Contestant(
            "import scikit-learn",
            command=(sys.executable, "-c", "import numpy, sklearn.linear_model"),
            requires=("scikit-learn",),
        ),
    ),
    quality=Quality("largest error of a mean (posterior sds)", error, "lower", ENOUGH),
    bars={"NumPyro": Bar("≥", 10), "PyMC": Bar("≥", 10), "bambi": Bar("≥", 10)},
    limits={"credo LogisticRegression": Limit("seconds", 1.5, beyond="import scikit-learn")},
    repeats=3,
)
