"""Baum–Welch on 100,000 × 4 with eight states, from one start to one log likelihood, beside hmmlearn's two ways."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.case import Bar, Case, Contestant, Quality

ROWS, COLUMNS, STATES, STEPS = 100_000, 4, 8, 10


class Task(NamedTuple):
    """Rows, lengths of the sequences, and a start."""

    X: Any
    lengths: list[int]
    start: Any
    transitions: Any
    means: Any
    covariances: Any


def load(_: Path) -> Task:
    import numpy as np

    rng = np.random.default_rng(1)
    moves = 0.9 * np.eye(STATES) + 0.1 * rng.dirichlet(np.ones(STATES), STATES)
    edges, draws, states = moves.cumsum(axis=1)[:, :-1], rng.random(ROWS), np.zeros(ROWS, dtype=int)
    for t in range(1, ROWS):
        states[t] = np.searchsorted(edges[states[t - 1]], draws[t])
    turns = rng.normal(size=(STATES, COLUMNS, COLUMNS)) / np.sqrt(COLUMNS) + np.eye(COLUMNS)
    X = rng.normal(0, 2, (STATES, COLUMNS))[states] + np.einsum(
        "nij,nj->ni", turns[states], rng.standard_normal((ROWS, COLUMNS))
    )
    return Task(
        X,
        [ROWS // 10] * 10,
        np.full(STATES, 1 / STATES),
        0.5 * np.eye(STATES) + 0.5 / STATES,
        X[rng.choice(ROWS, STATES, replace=False)],
        np.stack([np.cov(X.T)] * STATES),
    )


def credo(task: Task) -> float:
    import warnings

    from credo.models.hidden_markov import GaussianHMM

    model = GaussianHMM(
        STATES, startprob_prior=1.0, transmat_prior=1.0, startprob_init=task.start, transmat_init=task.transitions,
        means_init=task.means, covariances_init=task.covariances, reg_covar=0.0, tol=0.0, max_iter=STEPS,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the stated steps do not converge
        return model.fit(task.X, lengths=task.lengths).score(task.X, lengths=task.lengths)


def hmmlearn(implementation: str) -> Callable[[Task], float]:
    def run(task: Task) -> float:
        from hmmlearn.hmm import GaussianHMM

        # its priors on means and covariances off: maximum likelihood, as above
        model = GaussianHMM(
            STATES, "full", min_covar=0.0, means_weight=0.0, covars_prior=0.0, covars_weight=0.0, n_iter=STEPS,
            tol=-float("inf"), init_params="", implementation=implementation,
        )  # fmt: skip
        model.startprob_, model.transmat_ = task.start, task.transitions
        model.means_, model.covars_ = task.means, task.covariances
        return float(model.fit(task.X, task.lengths).score(task.X, task.lengths))

    return run


CASE = Case(
    question=f"{STEPS} steps of Baum–Welch on {ROWS:,} × {COLUMNS} in ten sequences, {STATES} states with full "
    "covariances, from one start, and the log likelihood there: the same number, how fast?",
    load=load,
    contestants=(
        Contestant("credo GaussianHMM", credo),
        Contestant("hmmlearn GaussianHMM (default)", hmmlearn("log"), requires=("hmmlearn",)),
        Contestant("hmmlearn GaussianHMM (scaling)", hmmlearn("scaling"), requires=("hmmlearn",)),
    ),
    quality=Quality("log likelihood", lambda _, value: value, "higher", 1e-5),
    bars={"hmmlearn GaussianHMM (default)": Bar("≥", 5), "hmmlearn GaussianHMM (scaling)": Bar("≥", 2)},
    repeats=3,
)
