"""Random-walk Metropolis on the collinear regression (three columns with correlation 0.99, flat prior): ESS ≥ 1,000."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.case import Case, Contestant, Quality


def load(_: Path) -> tuple[Any, Any]:
    """XᵀX and Xᵀy: with noise of sd 1 they are all that the likelihood needs."""
    import numpy as np

    np.random.seed(1)  # noqa: NPY002 — the example is stated with the legacy generator
    z = np.random.normal(0, 1, 1000)  # noqa: NPY002
    X = np.array([z + np.random.normal(0, 0.1, 1000) for _ in range(3)]).T  # noqa: NPY002
    y = X.sum(axis=1) + np.random.normal(0, 1, 1000)  # noqa: NPY002
    return X.T @ X, X.T @ y


def credo(moments: tuple[Any, Any]) -> Any:
    import numpy as np

    from credo.distributions.support import Support
    from credo.inference.mcmc import RandomWalk, sample
    from credo.inference.target import Target

    A, b = moments
    target = Target(
        lambda w: w @ b - 0.5 * np.sum((w @ A) * w, axis=-1),
        {"w": (3,)},
        supports={"w": Support("real", -10.0, 10.0)},
        vectorised=True,
    )
    return sample(target, RandomWalk(), draws=7000, warmup=1000, rng=0).values["w"]


def worst_ess(moments: Any, draws: Any) -> float:
    from arviz_stats.base.array import array_stats

    return min(1000.0, *(float(array_stats.ess(draws[..., j])) for j in range(3)))


CASE = Case(
    question="How long does random-walk Metropolis take to 1,000 effective draws of every coefficient of the collinear "
    "regression (four chains; wanted: at most 2 s)?",
    load=load,
    contestants=(Contestant("credo RandomWalk", credo),),
    quality=Quality("ESS, up to 1,000", worst_ess, "higher", 0.0),
)
