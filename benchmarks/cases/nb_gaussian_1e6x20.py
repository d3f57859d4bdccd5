"""Gaussian naive Bayes, a million rows of twenty columns: fit and predict in one read each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.case import Bar, Case, Contestant, Quality


def load(_: Path) -> tuple[Any, Any]:
    import numpy as np

    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 1_000_000)
    return rng.standard_normal((1_000_000, 20)) + 0.3 * y[:, None], y


def credo(data: tuple[Any, Any]) -> Any:
    from credo.models.naive_bayes import GaussianNB

    return GaussianNB().fit(*data).predict(data[0])


def scikit_learn(data: tuple[Any, Any]) -> Any:
    from sklearn.naive_bayes import GaussianNB

    return GaussianNB().fit(*data).predict(data[0])


CASE = Case(
    question="GaussianNB, fit and predict on 1e6 × 20 with three classes, input checks included.",
    load=load,
    contestants=(
        Contestant("credo GaussianNB", credo),
        Contestant("scikit-learn GaussianNB", scikit_learn, requires=("scikit-learn",)),
    ),
    quality=Quality("accuracy", lambda data, result: float((result == data[1]).mean()), "higher", 1e-6),
    bars={"scikit-learn GaussianNB": Bar("≥", 6)},
)
