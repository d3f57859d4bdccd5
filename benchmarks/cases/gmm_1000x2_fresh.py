"""From starting a process to a small mixture: 1,000 × 2, three components, initialisation included."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.case import Bar, Case, Contestant, Quality


def load(_: Path) -> Any:
    import numpy as np

    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [6.0, 1.0], [2.0, 6.0]])
    return centres[rng.integers(3, size=1000)] + rng.standard_normal((1000, 2))


def credo(X: Any) -> Any:
    from credo.models.mixture import GaussianMixture

    return GaussianMixture(3, random_state=0).fit(X)


def scikit_learn(X: Any) -> Any:
    from sklearn.mixture import GaussianMixture

    return GaussianMixture(3, random_state=0).fit(X)


def log_likelihood(X: Any, model: Any) -> float:
    return float(model.score(X))


CASE = Case(
    question="From starting a process to a fitted mixture of three components on 1,000 × 2, started by k-means: is "
    "anything lost on small data? (Nothing is compiled.)",
    mode="fresh",
    load=load,
    contestants=(
        Contestant("credo GaussianMixture", credo),
        Contestant("scikit-learn GaussianMixture", scikit_learn, requires=("scikit-learn",)),
    ),
    # both stop when a step gains less than 1e-3 a row
    quality=Quality("log likelihood a row", log_likelihood, "higher", 1e-3),
    bars={"scikit-learn GaussianMixture": Bar("≥", 1)},
)
