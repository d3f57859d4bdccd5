"""A kernel density of 100,000 values at 1,024 points, to a relative error of 1e-4 everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.case import Bar, Case, Contestant, Quality

ROWS, POINTS = 100_000, 1024
#: asked of both; what is reached is judged against exact sums
RTOL = 1e-4


def load(_: Path) -> tuple[Any, Any, float]:
    """(values, points from three bandwidths below the least to three above the largest, Scott's bandwidth)."""
    import numpy as np

    x = np.random.default_rng(0).normal(size=(ROWS, 1))
    h = float(ROWS**-0.2)
    return x, np.linspace(x.min() - 3 * h, x.max() + 3 * h, POINTS)[:, None], h


def credo(data: tuple[Any, Any, float]) -> Any:
    from credo.models.density import KernelDensity

    x, points, h = data
    return KernelDensity(bandwidth=h, rtol=RTOL).fit(x).score_samples(points)


def scikit_learn(data: tuple[Any, Any, float], rtol: float = 0.0) -> Any:
    """rtol 0 is its default, exact."""
    from sklearn.neighbors import KernelDensity

    x, points, h = data
    return KernelDensity(bandwidth=h, rtol=rtol).fit(x).score_samples(points)


def scikit_learn_to_tolerance(data: tuple[Any, Any, float]) -> Any:
    return scikit_learn(data, RTOL)


def worst_error(data: tuple[Any, Any, float], log_f: Any) -> float:
    """The largest relative error of the density, against sums over all pairs."""
    import numpy as np

    x, points, h = data
    exact = [
        np.exp(-0.5 * np.square((points[i : i + 16] - x[:, 0]) / h)).sum(axis=1) for i in range(0, len(points), 16)
    ]
    f = np.concatenate(exact) / (len(x) * h * np.sqrt(2 * np.pi))
    return float(np.abs(np.exp(log_f) / f - 1.0).max())


CASE = Case(
    question="A Gaussian kernel density of 1e5 values at 1,024 points, fit and scores: Credo to a relative error of "
    "1e-4, scikit-learn as it is (exact) and to the same 1e-4; judged by the largest error, which exact sums give.",
    load=load,
    contestants=(
        Contestant("credo KernelDensity", credo),
        Contestant("scikit-learn KernelDensity", scikit_learn, requires=("scikit-learn",)),
        Contestant("scikit-learn, rtol=1e-4", scikit_learn_to_tolerance, requires=("scikit-learn",)),
    ),
    quality=Quality("largest relative error", worst_error, "lower", RTOL),
    bars={"scikit-learn KernelDensity": Bar("≥", 500)},
    repeats=3,
)
