"""`climb_from_fewer`: hyperparameters by the evidence of all rows, from where a third of them (half of 400) has led.

An evidence of n/3 rows costs a twenty-seventh of one of all, and has its top nearby, about 1/√n away. What is more, it
knows the curvature there: differences of its slope give −∂² of its log evidence, three times which is about that of all
rows. So the climb with all rows begins with steps of the right length and takes some ten evaluations in place of forty.

Where functions are rough, an evidence has a second top at which all that is rough is noise, and a climb may end there.
So other starts are looked at, and the fewest rows climb from the best.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from credo.errors import NumericalError
from credo.models.gaussian_process.learning import TOLERANCE, Climb, Objective, climb

__all__ = ["climb_from_fewer"]

# Rows are divided by this from one climb to the next, but not below so many: of 100 rows in five columns one evidence
# in eight was seen to have its top in another valley than that of 300 has, and an evaluation is mostly overhead.
FEWER, LEAST = 3, 200
# Nats that a step promises, where curvature is known. Steps of 1e-6 were seen to add up to no more than 1e-3.
ENOUGH = 1e-4
# Nats; the tops of n/3 and of n rows are about h/2 nats apart, so that digits beyond these are for nothing.
ROUGH = 0.05
# Of a hyperparameter whose log is known by fewer rows to no better than 1/√TOLD, the start is kept up to a factor e³:
# in the far ends of noise and lengthscales slopes die out, and all rows, which may tell, would not leave them.
TOLD, TRUSTED = 1.0, 3.0
# Differences of slopes over this change of a log: rounding of slopes and curvature of third order are both below 1e-3.
STEP = 1e-4
# Curvature is at least this a row, lest a step along what cannot be told be endless.
LEAST_CURVATURE = 1e-3


def climb_from_fewer(
    objective: Objective,
    of_fewer: Callable[[int], Objective],
    n: int,
    start: Any,
    bounds: Any,
    *,
    rng: np.random.Generator,
    tol: float = TOLERANCE,
    n_restarts: int = 0,
    others: Sequence[np.ndarray] = (),
    doubtful: Callable[[np.ndarray], bool] | None = None,
    **options: Any,
) -> Climb:
    """As `climb`, of an objective of n rows of which `of_fewer` gives that of some; restarts are of all rows.

    others : further starts (h,); the fewest rows climb from the best, and from the next if where that leads is
        `doubtful`

    The certificate adds "fewer_rows", rows → evaluations.
    """
    size = max(n // FEWER, LEAST)
    start = np.asarray(start, dtype=np.float64)
    options = {"rng": rng, **options}
    full = {"tol": tol, "n_restarts": n_restarts, **options}
    if 2 * size > n or not start.size:
        return _from_best(objective, [start, *others], doubtful, bounds, **full)
    fewer = of_fewer(size)
    try:
        found = climb_from_fewer(fewer, of_fewer, size, start, bounds, tol=max(tol, ROUGH), others=others,
            doubtful=doubtful, **options)  # fmt: skip
        curvature = _Curvature(fewer, np.asarray(bounds, dtype=np.float64).reshape(-1, 2)[:, 1], n, size)
        begin = np.where(
            np.diag(curvature.raw(found.theta)) * (n / size) < TOLD,
            np.clip(found.theta, start - TRUSTED, start + TRUSTED),
            found.theta,
        )
        top = climb(objective, begin, bounds, curvature=curvature, **{**full, "tol": max(tol, ENOUGH)})
    except NumericalError:  # all rows may do better; if not, they say why
        return climb(objective, start, bounds, **full)
    before = found.result.certificate
    counts = {**before.get("fewer_rows", {}), size: before["evaluations"] + curvature.evaluations}
    return replace(top, result=replace(top.result, certificate={**top.result.certificate, "fewer_rows": counts}))


def _from_best(
    objective: Objective, starts: Sequence[np.ndarray], doubtful: Callable[[np.ndarray], bool] | None, bounds: Any,
    **full: Any,
) -> Climb:  # fmt: skip
    """The climb from the best start; if where it leads is doubtful, or these are all rows, the higher of it and that
    from the first start, or, if that is the best and doubtful, from the next."""
    if len(starts) == 1:
        return climb(objective, starts[0], bounds, **full)
    box = np.asarray(bounds, dtype=np.float64).reshape(-1, 2)
    starts = [np.clip(each, box[:, 0], box[:, 1]) for each in starts]
    order = np.argsort([-_value(objective, each) for each in starts], kind="stable")
    climbs = [climb(objective, starts[order[0]], bounds, **full)]
    unsure = doubtful is not None and doubtful(climbs[0].theta)
    if unsure or (order[0] != 0 and full["tol"] < ROUGH):
        second = order[1] if order[0] == 0 else 0
        climbs.append(climb(objective, starts[second], bounds, **{**full, "n_restarts": 0}))
    higher = max(climbs, key=lambda each: each.value)
    evaluations = sum(each.result.certificate["evaluations"] for each in climbs) + len(starts)
    certificate = {
        **higher.result.certificate,
        "evaluations": evaluations,
        "starts": climbs[0].result.certificate["starts"],
    }
    return replace(higher, result=replace(higher.result, certificate=certificate), restarts=climbs[0].restarts)


def _value(objective: Objective, theta: np.ndarray) -> float:
    """−∞ where there is none."""
    try:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
            value = float(getattr(objective, "value", lambda theta: objective(theta)[0])(theta))
    except NumericalError:
        return -np.inf
    return value if np.isfinite(value) else -np.inf


class _Curvature:
    """θ → n/size times −∂² of the objective of fewer rows (h, h), its eigenvalues made positive; h + 1 evaluations."""

    def __init__(self, objective: Objective, upper: np.ndarray, n: int, size: int) -> None:
        self.objective, self.upper, self.ratio, self.least = objective, upper, n / size, LEAST_CURVATURE * size
        self.evaluations = 0
        self.last: tuple[np.ndarray, np.ndarray] | None = None

    def __call__(self, theta: np.ndarray) -> np.ndarray:
        values, vectors = np.linalg.eigh(self.raw(theta))
        return self.ratio * ((vectors * np.maximum(np.abs(values), self.least)) @ vectors.T)

    def raw(self, theta: np.ndarray) -> np.ndarray:
        """−∂² of the objective of fewer rows as it is."""
        if self.last is not None and np.array_equal(self.last[0], theta):
            return self.last[1]
        slope = self.objective(theta)[1]
        rows = []
        for i, at in enumerate(theta):
            step = np.zeros(theta.size)
            step[i] = STEP if at + STEP <= self.upper[i] else -STEP
            rows.append((slope - self.objective(theta + step)[1]) / step[i])
        self.evaluations += 1 + theta.size
        H = np.array(rows)
        if not np.all(np.isfinite(H)):
            raise NumericalError("The evidence of fewer rows has no curvature.", value=H)
        self.last = theta.copy(), 0.5 * (H + H.T)
        return self.last[1]
