"""One ask of Bayesian optimisation: 100 trials in 6 dimensions told, the next point wanted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.case import Bar, Case, Contestant, Limit

TRIALS, COLUMNS = 100, 6


def history(trials: int) -> tuple[Any, Any]:
    import numpy as np

    from benchmarks.bo_problems import hartmann6

    X = np.random.default_rng(0).random((trials, COLUMNS))
    return X, np.array([hartmann6(x) for x in X])


def load(_: Path) -> tuple[Any, Any]:
    return history(TRIALS)


def credo(data: tuple[Any, Any]) -> Any:
    import numpy as np

    from credo.design.acquisition import propose

    return propose(*data, noisy=False, rng=np.random.default_rng(0)).points  # as the peer is told


def optuna_gp(data: tuple[Any, Any]) -> Any:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    space = {f"x{j}": optuna.distributions.FloatDistribution(0.0, 1.0) for j in range(COLUMNS)}
    study = optuna.create_study(sampler=optuna.samplers.GPSampler(seed=0, deterministic_objective=True))
    for x, y in zip(*data):
        params = dict(zip(space, x.tolist()))
        study.add_trial(optuna.trial.create_trial(params=params, distributions=space, value=float(y)))
    return study.ask(space).params


def botorch(data: tuple[Any, Any]) -> Any:
    import torch
    from botorch.acquisition import LogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.models.transforms import Standardize
    from botorch.optim import optimize_acqf
    from gpytorch.mlls import ExactMarginalLogLikelihood

    torch.manual_seed(0)
    X, y = torch.tensor(data[0]), -torch.tensor(data[1])[:, None]
    model = SingleTaskGP(X, y, outcome_transform=Standardize(m=1))
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    bounds = torch.stack([torch.zeros(COLUMNS), torch.ones(COLUMNS)]).double()
    function = LogExpectedImprovement(model, best_f=y.max())
    return optimize_acqf(function, bounds, q=1, num_restarts=10, raw_samples=512)[0]


CASE = Case(
    question="How long does one ask take with 100 trials in 6 dimensions, hyperparameters learned afresh?",
    load=load,
    contestants=(
        Contestant("credo propose", credo),
        Contestant("Optuna GPSampler", optuna_gp, requires=("optuna", "torch")),
        Contestant("BoTorch LogEI", botorch, requires=("botorch",)),
    ),
    bars={"Optuna GPSampler": Bar("≥", 5), "BoTorch LogEI": Bar("≥", 5)},
    limits={"credo propose": Limit("seconds", 0.1)},
)
