"""What the cases `model_*_fresh` share: one multilevel model from a fresh process to 4,000 draws.

Every contestant gets the same priors. The samplers get the parametrisation that suits them (non-centred where a group
has few rows, centred where it has many). The truth is integrated from densities written out again here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.case import Bar, Case, Contestant, Limit, Quality

__all__ = ["Kind", "Task", "fresh_case", "integrated", "quantities"]

CHAINS, DRAWS, FEW = 4, 1000, 250
#: MCSEs; by batch means with 39 degrees of freedom: one of ten means is beyond in 1 of 350 runs
ENOUGH = 4.0
BATCHES = 10


class Task(NamedTuple):
    """The data's arrays by name, and the posterior means and sds of the quantities judged."""

    data: dict[str, Any]
    mean: Any
    sd: Any


class Kind(NamedTuple):
    """One model and how each contestant says it. names : of the quantities judged, in the order of the truth.

    truth : data → (means, sds). seconds : the most Credo may take, beyond imports. few : whether the samplers make
    a quarter of the draws only, since a full run would take very long.
    """

    title: str
    data: Callable[[], dict[str, Any]]
    truth: Callable[[dict[str, Any]], tuple[Any, Any]]
    credo: Callable[[dict[str, Any]], Any]
    pymc: Callable[[dict[str, Any]], Any]
    numpyro: Callable[[dict[str, Any]], Any]
    names: tuple[str, ...]
    seconds: float
    few: bool = False


def quantities(draws: dict[str, Any]) -> Any:
    """(Q, chains, draws) of arrays (chains, draws, ...)."""
    import numpy as np

    return np.concatenate([np.moveaxis(np.asarray(v).reshape(*np.shape(v)[:2], -1), -1, 0) for v in draws.values()])


def integrated(posterior: Callable[[Any], tuple[Any, Any, Any]], start: Any, points: int) -> tuple[Any, Any]:
    """Means and sds by a Gauss–Hermite product rule about the mode of few hyperparameters η.

    posterior : rows (S, d) → log p(η | y) (S,), and means and variances (S, Q) of the quantities given η.
    """
    import numpy as np
    import scipy.optimize

    def loss(eta: Any) -> float:
        return -float(posterior(eta[None])[0][0])

    d = len(start)
    mode = scipy.optimize.minimize(loss, start, method="Nelder-Mead", options={"xatol": 1e-3, "fatol": 1e-3}).x
    step = 2e-2 * np.eye(d)
    corners = np.array(
        [mode + s * a + t * b for a in step for b in step for s, t in ((1, 1), (1, -1), (-1, 1), (-1, -1))]
    )
    precision = -(posterior(corners)[0].reshape(-1, 4) @ [1, -1, -1, 1]).reshape(d, d) / 1.6e-3
    z, weight = np.polynomial.hermite_e.hermegauss(points)
    grid = np.stack(np.meshgrid(*[z] * d, indexing="ij"), axis=-1).reshape(-1, d)
    log_w = np.log(weight)[np.indices((points,) * d).reshape(d, -1)].sum(axis=0) + 0.5 * np.square(grid).sum(axis=1)
    parts = [
        posterior(part)
        for part in np.array_split(mode + np.linalg.solve(np.linalg.cholesky(precision).T, grid.T).T, 50)
    ]
    log_p, means, variances = (np.concatenate([part[k] for part in parts]) for k in range(3))
    w = np.exp(log_p + log_w - (log_p + log_w).max())
    w /= w.sum()
    mean = w @ means
    return mean, np.sqrt(w @ (variances + np.square(means - mean)))


def credo_with(kind: Kind) -> Any:
    def credo(task: Task) -> Any:
        posterior = kind.credo(task.data).fit(random_state=1)
        assert posterior.result.ok
        return quantities({name: posterior.values[name] for name in kind.names})

    return credo


def nutpie_with(kind: Kind) -> Any:
    def nutpie(task: Task) -> Any:
        import nutpie as library  # type: ignore[import-not-found]

        model = library.compile_pymc_model(kind.pymc(task.data))
        size = {"draws": FEW, "tune": FEW} if kind.few else {"draws": DRAWS}
        trace = library.sample(model, **size, chains=CHAINS, cores=1, seed=1, progress_bar=False)
        return quantities({name: trace.posterior[name] for name in kind.names})

    return nutpie


def numpyro_with(kind: Kind) -> Any:
    def numpyro(task: Task) -> Any:
        import jax  # type: ignore[import-not-found]
        from numpyro.infer import MCMC, NUTS  # type: ignore[import-not-found]

        draws = FEW if kind.few else DRAWS
        run = MCMC(
            NUTS(kind.numpyro(task.data)),
            num_warmup=draws,
            num_samples=draws,
            num_chains=CHAINS,
            chain_method="vectorized",
            progress_bar=False,
        )
        run.run(jax.random.PRNGKey(1))
        found = run.get_samples(group_by_chain=True)
        return quantities({name: found[name] for name in kind.names})

    return numpyro


def error(task: Task, draws: Any) -> float:
    """The largest error of a mean, in its Monte Carlo standard error by batch means."""
    import numpy as np

    parts = np.array_split(draws, BATCHES, axis=2)
    means = np.concatenate([part.mean(axis=2) for part in parts], axis=1)
    mcse = means.std(axis=1, ddof=1) / np.sqrt(means.shape[1])
    return float(np.max(np.abs(draws.mean(axis=(1, 2)) - task.mean) / mcse))


def fresh_case(kind: Kind) -> Case:
    """The case of a model."""

    def prepare(directory: Path) -> None:
        import numpy as np

        mean, sd = kind.truth(kind.data())
        np.savez(directory / "truth.npz", mean=mean, sd=sd)

    def load(directory: Path) -> Task:
        import numpy as np

        known = np.load(directory / "truth.npz")
        return Task(kind.data(), known["mean"], known["sd"])

    less = (
        f" The samplers make four chains of {FEW} draws after {FEW} of tuning instead of 1,000 each: their ratios are "
        "lower bounds."
        if kind.few
        else " The samplers run four chains of 1,000 draws after their own tuning."
    )
    return Case(
        question=f"From starting a process to 4,000 draws of {kind.title}, declared in nodes. Credo integrates what is "
        f"linear and Normal exactly and draws independently.{less}",
        mode="fresh",
        prepare=prepare,
        load=load,
        contestants=(
            Contestant("credo Model", credo_with(kind)),
            Contestant("PyMC + nutpie", nutpie_with(kind), requires=("nutpie", "pymc")),
            Contestant("NumPyro", numpyro_with(kind), requires=("numpyro", "jax")),
            Contestant("import credo.Model", command=(sys.executable, "-c", "import numpy, credo; credo.Model")),
        ),
        quality=Quality("largest error of a mean (its MCSEs)", error, "lower", ENOUGH),
        bars={"PyMC + nutpie": Bar("≥", 20), "NumPyro": Bar("≥", 20)},
        limits={"credo Model": Limit("seconds", kind.seconds, beyond="import credo.Model")},
        repeats=1 if kind.few else 3,
        warmups=0 if kind.few else 1,
        timeout=1800.0,
    )
