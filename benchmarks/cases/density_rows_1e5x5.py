"""A kernel density of 100,000 rows of five columns at 200 rows, to a relative error of 1e-4 everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.case import Bar, Case, Contestant, Quality

ROWS, COLUMNS, POINTS = 100_000, 5, 200
#: asked of both; what is reached is judged against exact sums
RTOL = 1e-4


def load(_: Path) -> tuple[Any, Any, float]:
    """(rows, rows to score, Scott's bandwidth)."""
    import numpy as np

    rng = np.random.default_rng(0)
    x = rng.normal(size=(ROWS, COLUMNS))
    h = float(ROWS ** (-1 / (COLUMNS + 4)))
    return x, rng.normal(size=(POINTS, COLUMNS)), h


def credo(data: tuple[Any, Any, float]) -> Any:
    from credo.models.density import KernelDensity

    x, points, h = data
    return KernelDensity(bandwidth=h, rtol=RTOL).fit(x).score_samples(points)


def scikit_learn(data: tuple[Any, Any, float]) -> Any:
    from sklearn.neighbors import KernelDensity

    x, points, h = data
    return KernelDensity(bandwidth=h, rtol=RTOL).fit(x).score_samples(points)


def worst_error(data: tuple[Any, Any, float], log_f: Any) -> float:
    """The largest relative error of the density, against sums over all pairs."""
    import numpy as np

    x, points, h = data
    exact = [np.exp(-0.5 * np.square((x - point) / h).sum(axis=1)).sum() for point in points]
    f = np.array(exact) / (len(x) * (h * np.sqrt(2 * np.pi)) ** COLUMNS)
    return float(np.abs(np.exp(log_f) / f - 1.0).max())


CASE = Case(
    question="A Gaussian kernel density of 1e5 × 5 at 200 rows, fit and scores, both asked for a relative error "
    "of 1e-4; judged by the largest error, which exact sums give.",
    load=load,
    contestants=(
        Contestant("credo KernelDensity", credo),
        Contestant("scikit-learn KernelDensity", scikit_learn, requires=("scikit-learn",)),
    ),
    quality=Quality("largest relative error", worst_error, "lower", RTOL),
    bars={"scikit-learn KernelDensity": Bar("≥", 3)},
    repeats=3,
)
