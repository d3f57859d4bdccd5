"""One ask of Bayesian optimisation: 500 trials in 6 dimensions told, the next point wanted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.case import Bar, Case, Contestant, Limit
from benchmarks.cases.bo_ask import botorch, credo, history, optuna_gp


def load(_: Path) -> tuple[Any, Any]:
    return history(500)


CASE = Case(
    question="How long does one ask take with 500 trials in 6 dimensions, hyperparameters learned afresh?",
    load=load,
    contestants=(
        Contestant("credo propose", credo),
        Contestant("Optuna GPSampler", optuna_gp, requires=("optuna", "torch")),
        Contestant("BoTorch LogEI", botorch, requires=("botorch",)),
    ),
    bars={"Optuna GPSampler": Bar("≥", 5), "BoTorch LogEI": Bar("≥", 5)},
    limits={"credo propose": Limit("seconds", 0.5)},
)
