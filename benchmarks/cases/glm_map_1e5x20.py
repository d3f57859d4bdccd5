"""The mode of a Poisson and of a Gamma regression of 1e5 × 20 under a Normal prior, to the same gradient."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.case import Bar, Case, Contestant, Quality

ROWS, COLUMNS, PRIOR_SD = 100_000, 20, 0.05


class Task(NamedTuple):
    X: Any
    counts: Any
    amounts: Any


def load(_: Path) -> Task:
    import numpy as np

    rng = np.random.default_rng(0)
    X = rng.standard_normal((ROWS, COLUMNS))
    mean = np.exp(0.5 + X @ (0.2 * rng.standard_normal(COLUMNS)))
    return Task(X, rng.poisson(mean).astype(float), rng.gamma(2.0, mean / 2.0))


def credo(task: Task) -> list[Any]:
    import numpy as np

    from credo import Normal
    from credo.models.glm import GammaRegression, PoissonRegression

    options: dict[str, Any] = {"prior": Normal(0, PRIOR_SD), "inference": "map"}
    fits = [
        PoissonRegression(**options).fit(task.X, task.counts),
        GammaRegression(shape=1.0, **options).fit(task.X, task.amounts),
    ]
    return [np.append(fit.intercept_, fit.coef_) for fit in fits]


def glum(task: Task) -> list[Any]:
    """Mean half-deviance + ½ α‖w‖² is the same prior at α = 1/(n sd²); its default tolerance stops early."""
    import numpy as np
    from glum import GeneralizedLinearRegressor  # type: ignore[import-not-found]

    fits = [
        GeneralizedLinearRegressor(
            family=family, alpha=1.0 / (ROWS * PRIOR_SD**2), l1_ratio=0.0, gradient_tol=1e-10, link="log"
        ).fit(task.X, y)
        for family, y in (("poisson", task.counts), ("gamma", task.amounts))
    ]
    return [np.append(fit.intercept_, fit.coef_) for fit in fits]


def gradient(task: Task, fitted: list[Any]) -> float:
    """Largest partial derivative of the log posteriors, as log10 of its size a row."""
    import numpy as np

    worst = 0.0
    for theta, y, gamma in zip(fitted, (task.counts, task.amounts), (False, True), strict=True):
        mean = np.exp(theta[0] + task.X @ theta[1:])
        rest = y / mean - 1.0 if gamma else y - mean
        each = np.append(rest.sum(), task.X.T @ rest - theta[1:] / PRIOR_SD**2)
        worst = max(worst, float(np.abs(each).max()))
    return float(np.log10(worst / ROWS + 1e-300))


CASE = Case(
    question="The modes of a Poisson and a Gamma regression of 1e5 × 20 with prior N(0, 0.05²), in memory and with "
    "input checks, against glum at the same penalty and an equal gradient; one thread each.",
    load=load,
    contestants=(
        Contestant('credo PoissonRegression and GammaRegression(inference="map")', credo),
        Contestant("glum", glum, requires=("glum",)),
    ),
    # At 1e-9 a row the mode is known to 1e-6 of a posterior sd; below, rounding would be compared.
    quality=Quality("log10 gradient a row, -9 at least", lambda d, f: max(gradient(d, f), -9.0), "lower", 0.0),
    bars={"glum": Bar("≥", 1)},
    repeats=9,
)
