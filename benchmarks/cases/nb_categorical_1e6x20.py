"""Categorical naive Bayes, a million rows of twenty columns of eight categories."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.case import Bar, Case, Contestant, Quality


def load(_: Path) -> tuple[Any, Any]:
    import numpy as np

    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 1_000_000)
    return np.minimum(rng.integers(0, 8, (1_000_000, 20)) + (rng.random((1_000_000, 20)) < 0.1 * y[:, None]), 7), y


def credo(data: tuple[Any, Any]) -> Any:
    from credo.models.naive_bayes import CategoricalNB

    return CategoricalNB().fit(*data).predict(data[0])


def scikit_learn(data: tuple[Any, Any]) -> Any:
    from sklearn.naive_bayes import CategoricalNB

    return CategoricalNB().fit(*data).predict(data[0])


CASE = Case(
    question="CategoricalNB, fit and predict on 1e6 × 20 with three classes, input checks included.",
    load=load,
    contestants=(
        Contestant("credo CategoricalNB", credo),
        Contestant("scikit-learn CategoricalNB", scikit_learn, requires=("scikit-learn",)),
    ),
    quality=Quality("accuracy", lambda data, result: float((result == data[1]).mean()), "higher", 1e-6),
    bars={"scikit-learn CategoricalNB": Bar("≥", 3)},
)
