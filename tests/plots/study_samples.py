"""Studies of every kind, told without a model so that they cost nothing."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import credo as cr
from credo.plots.studies import ImportancesFigure, importances
from credo.plots.trials import ObjectiveBelief, objective_belief

SPACE = cr.Space(
    rate=cr.Real(1e-4, 1, log=True), kernel=cr.Categorical(["rbf", "linear <b>", "polynomial"]),
    width=cr.Real(0.1, 10, log=True, when={"kernel": "rbf"}), layers=cr.Integer(1, 40), units=cr.Integer(1, 4),
    batch=cr.Ordinal([16, 32, 64]), shuffle=cr.Boolean(), epochs=cr.Constant(3),
)  # fmt: skip


def cost(p: Mapping[str, Any]) -> float:
    """Least, 0, at rate 0.01, kernel "rbf", width 1, 10 layers."""
    spread = np.log10(p["width"]) ** 2 if p["kernel"] == "rbf" else 1.0
    return float((np.log10(p["rate"]) + 2) ** 2 + spread + 0.001 * (p["layers"] - 10) ** 2)


def studied(space: cr.Space, f: Callable[[Mapping[str, Any]], Any], n: int, **options: Any) -> cr.Study:
    study = cr.Study(space, **({"sampler": "sobol", "random_state": 0} | options))
    for _ in range(n):
        trial = study.ask()
        value = f(trial.params)
        if isinstance(value, str):
            study.fail(trial, value)
        elif value is None:
            study.prune(trial, 9.0)
        else:
            study.tell(trial, value)
    return study


@functools.cache
def mixed() -> cr.Study:
    """60 trials, of which some failed and some were pruned; a range narrowed in between."""

    def run(p: Mapping[str, Any]) -> float | str | None:
        return "no <memory>: 40 layers" if p["layers"] > 36 else None if p["rate"] > 0.5 else cost(p)

    study = studied(SPACE, run, 45, name="a <network>")
    study.narrow(layers=(1, 30))
    study.note("30 layers & no more")
    for _ in range(15):
        trial = study.ask()
        study.tell(trial, cost(trial.params))
    return study


@functools.cache
def noisy() -> cr.Study:
    """(x − 0.3)² upside down, with noise of sd 0.2."""
    rng = np.random.default_rng(0)
    space = cr.Space(x=cr.Real(0, 1), y=cr.Real(0, 1))
    return studied(space, lambda p: -4 * (p["x"] - 0.3) ** 2 + 0.2 * rng.normal(), 50, direction="maximize", noisy=True)


@functools.cache
def line() -> cr.Study:
    """One parameter, known well: the least is −1 at 2."""
    return studied(cr.Space(x=cr.Real(0, 4)), lambda p: (p["x"] - 2) ** 2 - 1, 24)


@functools.cache
def two() -> cr.Study:
    """x down and y up cannot both be had."""
    space = cr.Space(x=cr.Real(0, 1), z=cr.Real(0, 1))
    return studied(space, lambda p: (p["x"], p["x"] ** 0.5 - p["z"]), 40, direction=("minimize", "maximize"))


@functools.cache
def limited() -> cr.Study:
    """Half of the trials break the constraint x ≥ ½."""
    study = cr.Study(cr.Space(x=cr.Real(0, 1), y=cr.Real(0, 1)), sampler="sobol", random_state=0)
    for _ in range(20):
        trial = study.ask()
        study.tell(trial, trial["x"] + trial["y"], constraints=[0.5 - trial["x"]])
    return study


@functools.cache
def failed() -> cr.Study:
    return studied(cr.Space(x=cr.Real(0, 1), y=cr.Real(0, 1)), lambda p: "no such file: <train.csv>", 6)


@functools.cache
def once() -> cr.Study:
    return studied(cr.Space(x=cr.Real(0, 1), y=cr.Real(0, 1)), lambda p: p["x"], 1)


@functools.cache
def unasked() -> cr.Study:
    return cr.Study(cr.Space(x=cr.Real(0, 1)), random_state=0)


@functools.cache
def many() -> cr.Study:
    """210 trials of 13 parameters, of which a tenth are a million times as bad."""
    rng = np.random.default_rng(1)
    space = cr.Space({f"p{i}": cr.Real(0, 1) for i in range(13)})
    study = cr.Study(space, sampler="random", random_state=0)
    for point in space.sample(210, rng):
        study.record(point, sum(p**2 for p in point.values()) * (1e6 if rng.random() < 0.1 else 1.0))
    return study


@functools.cache
def believed(name: str, objective: int = 0) -> ObjectiveBelief:
    return objective_belief(STUDIES[name](), objective)


@functools.cache
def important(name: str) -> ImportancesFigure:
    return importances(STUDIES[name]())


STUDIES = {
    "mixed": mixed, "noisy": noisy, "line": line, "two": two, "limited": limited, "failed": failed, "once": once,
    "unasked": unasked,
}  # fmt: skip
