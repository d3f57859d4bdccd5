"""`climb`: hyperparameters where an objective is highest, by quasi-Newton steps in a box, from one start or several.

Notation
    θ (h,)   logs of hyperparameters; the objective, in nats, is a log evidence or another log score
    wall     a θ at which the objective is −∞: a covariance that cannot be factored, an overflow
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.optimize

from credo.errors import NumericalError, ParameterError
from credo.inference.result import Result
from credo.models.gaussian_process.quasi_newton import Curvature, QuasiNewton

__all__ = ["Climb", "climb"]

# A millionth of a nat moves no conclusion; but in the flat valleys of irrelevant columns a hundred steps of less than
# 1e-4 were seen to add up to 0.16 nats, by which scikit-learn's search then was ahead.
TOLERANCE = 1e-6
MAX_ITER = 200
# Restarts are scattered about the start by a factor e^1.5 = 4.5 either way (one sd): wide enough to leave a basin,
# while starts drawn over ten decades of bounds mostly land where a kernel is constant or white.
SCATTER = 1.5

Objective = Callable[[np.ndarray], tuple[float, np.ndarray]]


@dataclass(frozen=True, eq=False)
class Climb:
    """Where the best start led.

    theta (h,); value, the objective there; gradient (h,)
    result : `Result` with the objective at each iteration; its certificate holds the evaluations, the walls met and
        the largest slope that a bound does not hold
    restarts : the value that each start reached, in order; −∞ where none was found
    """

    theta: np.ndarray
    value: float
    gradient: np.ndarray
    result: Result
    restarts: tuple[float, ...]


def climb(
    objective: Objective,
    start: Any,
    bounds: Any,
    *,
    n_restarts: int = 0,
    rng: np.random.Generator,
    tol: float = TOLERANCE,
    max_iter: int = MAX_ITER,
    names: Sequence[str] = (),
    inference: str = "evidence",
    curvature: Curvature | None = None,
) -> Climb:
    """Maximise `objective` over a box.

    Parameters
    ----------
    objective : θ (h,) → (value, gradient (h,)); a `NumericalError` or a value that is not finite is a wall, from which
        the step is shortened
    start (h,), bounds (h, 2) : start is moved into the box
    n_restarts : further starts, scattered about the first by a factor e^1.5
    tol : nats; stop when the last step gained less, and slopes promise no more than its root
    names (h,) : of the entries of θ, for advice; inference : the rung that `result` names
    curvature : θ → about −∂² of the objective there (h, h), positive definite, where that is cheap to have: the first
        climb then takes its steps by it (`QuasiNewton`), and where the objective has `value`, θ → the value alone, asks
        no slope of steps that are too long

    Raises
    ------
    NumericalError : every start is a wall.

    References
    ----------
    Byrd, Lu, Nocedal and Zhu (1995), SIAM Journal on Scientific Computing 16 (L-BFGS-B).

    >>> rng = np.random.default_rng(0)
    >>> top = climb(lambda t: (-np.sum((t - 1) ** 2), -2 * (t - 1)), np.zeros(2), [(-5, 5), (-5, 0.5)], rng=rng)
    >>> top.theta.round(6).tolist(), top.result.status
    ([1.0, 0.5], 'converged')
    """
    bounds = np.asarray(bounds, dtype=np.float64).reshape(-1, 2)
    start = np.clip(np.asarray(start, dtype=np.float64), bounds[:, 0], bounds[:, 1])
    if n_restarts < 0 or int(n_restarts) != n_restarts:
        raise ParameterError("climb", "n_restarts", "an integer ≥ 0", n_restarts)
    scattered = start + SCATTER * rng.standard_normal((int(n_restarts), start.size))
    starts = [start, *np.clip(scattered, bounds[:, 0], bounds[:, 1])]
    searches = [_Ascent(objective) for _ in starts]
    known = [curvature, *[None] * int(n_restarts)]
    climbs = [
        search.run(each, bounds, tol, max_iter, inference, bent)
        for search, each, bent in zip(searches, starts, known, strict=True)
    ]
    best = max(climbs, key=lambda each: each.value)
    if best.value == -np.inf:
        if searches[0].error is not None:  # it names what is wrong
            raise searches[0].error
        raise NumericalError(
            f"The objective is not finite at any of {len(starts)} starts.",
            value=start,
            remedy="State other starting hyperparameters or a larger noise, or rescale the columns.",
        )
    certificate = {**best.result.certificate, "starts": len(starts)}
    advice = (*best.result.advice, *_at_bounds(best.theta, best.gradient, bounds, names))
    result = replace(best.result, certificate=certificate, advice=advice)
    return replace(best, result=result, restarts=tuple(each.value for each in climbs))


class _Ascent:
    """One search, with what it has seen."""

    def __init__(self, objective: Objective) -> None:
        self.objective = objective
        self.evaluations = self.walls = 0
        self.error: NumericalError | None = None
        self.value, self.theta, self.gradient, self.seen = -np.inf, np.empty(0), np.empty(0), np.empty(0)
        self.trace: list[float] = []
        self.seconds: list[float] = []

    def run(
        self,
        start: np.ndarray,
        bounds: np.ndarray,
        tol: float,
        max_iter: int,
        inference: str,
        curvature: Curvature | None = None,
    ) -> Climb:
        self.clock = time.perf_counter()
        self.theta, self.gradient = start, np.zeros(start.size)
        value, gradient = self._evaluate(start)
        if value == -np.inf:
            return Climb(start, value, gradient, Result("diverged", inference), ())
        self._accept(start, value, gradient)
        converged = True
        if start.size and curvature is not None:
            alone = self._value if hasattr(self.objective, "value") else None
            engine = QuasiNewton(self._evaluate, start, value, gradient, bounds, curvature, alone)
            converged = engine.run(tol, max_iter, lambda: self._accept(engine.theta, engine.value, engine.slope))
        elif start.size:
            options = {"maxiter": max_iter, "maxfun": 20 * max_iter, "maxcor": 20, "gtol": np.sqrt(tol) / 10,
                       "ftol": tol / 10 / max(abs(value), 1.0)}  # fmt: skip
            found = scipy.optimize.minimize(
                self._descending, start, jac=True, method="L-BFGS-B", bounds=bounds, callback=self._step,
                options=options,
            )  # fmt: skip
            # A line search that finds nothing more along an ascent direction stands at the top up to rounding.
            converged = found.status != 1
        slope = np.where(_held(self.theta, self.gradient, bounds), 0.0, self.gradient)
        certificate = {"evaluations": self.evaluations, "walls": self.walls,
                       "largest_slope": float(np.abs(slope).max(initial=0.0))}  # fmt: skip
        status = "converged" if converged else "max_iter"
        result = Result(status, inference, tuple(self.trace), tuple(self.seconds), certificate)
        return Climb(self.theta, self.value, self.gradient, result, ())

    def _evaluate(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        return self._asked(theta, self.objective)

    def _value(self, theta: np.ndarray) -> float:
        objective: Any = self.objective
        return self._asked(theta, lambda theta: (objective.value(theta), np.zeros(theta.size)))[0]

    def _asked(self, theta: np.ndarray, objective: Objective) -> tuple[float, np.ndarray]:
        if not np.array_equal(theta, self.seen):  # else the slope is asked for after the value
            self.evaluations, self.seen = self.evaluations + 1, theta.copy()
        try:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
                value, gradient = objective(theta)
            value, gradient = float(value), np.array(gradient, dtype=np.float64)
        except NumericalError as error:
            self.error = error
            value, gradient = -np.inf, np.zeros(theta.size)
        if not (np.isfinite(value) and np.all(np.isfinite(gradient))):
            self.walls += 1
            return -np.inf, np.zeros(theta.size)
        return value, gradient

    def _accept(self, theta: np.ndarray, value: float, gradient: np.ndarray) -> None:
        self.theta, self.value, self.gradient = theta.copy(), value, gradient
        self.trace.append(value)
        self.seconds.append(time.perf_counter() - self.clock)

    def _descending(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = self._evaluate(theta)
        self.last = theta.copy(), value, gradient
        if value == -np.inf:
            # A parabola that leaves the last iterate with its slope and has its top a sixth of the way to the wall:
            # the line search steps there, where an enormous value would send it back to the start.
            promise = abs(float(self.gradient @ (theta - self.theta)))
            return -self.value + 2.0 * promise, 5.0 * self.gradient
        return -value, -gradient

    def _step(self, theta: np.ndarray) -> None:
        last, value, gradient = self.last
        if value > self.value:
            self._accept(last, value, gradient)


def _held(theta: np.ndarray, gradient: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """(h,) whether a bound alone keeps the objective from rising along this entry."""
    return ((theta <= bounds[:, 0]) & (gradient < 0.0)) | ((theta >= bounds[:, 1]) & (gradient > 0.0))


def _at_bounds(theta: np.ndarray, gradient: np.ndarray, bounds: np.ndarray, names: Sequence[str]) -> tuple[str, ...]:
    held = np.flatnonzero(_held(theta, gradient, bounds))
    if not held.size:
        return ()
    shown = ", ".join(f"{names[i] if names else f'entry {i}'} = {np.exp(theta[i]):.3g}" for i in held.tolist())
    return (f"At the bound: {shown}. Widen the bounds (limits=), or fix it there or give it a prior.",)
