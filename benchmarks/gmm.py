"""Gaussian mixtures with full covariances beside scikit-learn's, from one start to one log likelihood."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.case import Bar, Case, Contestant, Quality


class Task(NamedTuple):
    """Rows and a start in scikit-learn's parameters."""

    X: Any
    start: dict[str, Any]


def made(rows: int, columns: int, components: int, steps: int) -> Callable[[Path], Task]:
    def load(_: Path) -> Task:
        import numpy as np

        rng = np.random.default_rng(1)
        labels = rng.integers(components, size=rows)
        turns = rng.normal(size=(components, columns, columns)) / np.sqrt(columns) + np.eye(columns)
        X = rng.normal(0, 2, (components, columns))[labels] + np.einsum(
            "nij,nj->ni", turns[labels], rng.standard_normal((rows, columns))
        )
        precision = np.linalg.inv(np.cov(X[:2000].T))
        start = {
            "n_components": components,
            "means_init": X[:components],
            "weights_init": np.full(components, 1 / components),
            "precisions_init": np.stack([precision] * components),
            # both take the same steps from there, so that both end at the same likelihood
            "tol": 0.0,
            "max_iter": steps,
        }
        return Task(X, start)

    return load


def credo(task: Task) -> Any:
    import warnings

    from credo.models.mixture import GaussianMixture

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the stated steps do not converge
        return GaussianMixture(**task.start).fit(task.X)


def scikit_learn(task: Task) -> Any:
    import warnings

    from sklearn.mixture import GaussianMixture

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return GaussianMixture(**task.start).fit(task.X)


def log_likelihood(task: Task, model: Any) -> float:
    return float(model.score(task.X))


def case(rows: int, columns: int, components: int, steps: int, wanted: float) -> Case:
    return Case(
        question=f"{steps} steps of EM on {rows:,} × {columns} with {components} full covariances, from one start: "
        "the same log likelihood a row, how fast?",
        load=made(rows, columns, components, steps),
        contestants=(
            Contestant("credo GaussianMixture", credo),
            Contestant("scikit-learn GaussianMixture", scikit_learn, requires=("scikit-learn",)),
        ),
        quality=Quality("log likelihood a row", log_likelihood, "higher", 1e-9),
        bars={"scikit-learn GaussianMixture": Bar("≥", wanted)},
    )
