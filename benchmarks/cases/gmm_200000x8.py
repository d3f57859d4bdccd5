"""Gaussian mixtures of the usual size: 200,000 × 8, eight full covariances, from one start to one log likelihood."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.case import Bar, Case, Contestant, Quality

ROWS, COLUMNS, COMPONENTS, STEPS = 200_000, 8, 8, 30


class Task(NamedTuple):
    """Rows and a start in scikit-learn's parameters."""

    X: Any
    start: dict[str, Any]


def load(_: Path) -> Task:
    import numpy as np

    rng = np.random.default_rng(1)
    labels = rng.integers(COMPONENTS, size=ROWS)
    turns = rng.normal(size=(COMPONENTS, COLUMNS, COLUMNS)) / np.sqrt(COLUMNS) + np.eye(COLUMNS)
    X = rng.normal(0, 2, (COMPONENTS, COLUMNS))[labels] + np.einsum(
        "nij,nj->ni", turns[labels], rng.standard_normal((ROWS, COLUMNS))
    )
    precision = np.linalg.inv(np.cov(X[:2000].T))
    start = {
        "n_components": COMPONENTS,
        "means_init": X[:COMPONENTS],
        "weights_init": np.full(COMPONENTS, 1 / COMPONENTS),
        "precisions_init": np.stack([precision] * COMPONENTS),
        # both take the same steps from there, so that both end at the same likelihood
        "tol": 0.0,
        "max_iter": STEPS,
    }
    return Task(X, start)


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


CASE = Case(
    question=f"{STEPS} steps of EM on 200,000 × 8 with eight full covariances, from the same start: the same log "
    "likelihood a row, how fast?",
    load=load,
    contestants=(
        Contestant("credo GaussianMixture", credo),
        Contestant("scikit-learn GaussianMixture", scikit_learn, requires=("scikit-learn",)),
    ),
    quality=Quality("log likelihood a row", log_likelihood, "higher", 1e-9),
    bars={"scikit-learn GaussianMixture": Bar("≥", 5)},
)
