"""Newton's method with line search: the mode, and the curvature there.

The engine knows no model: it is given `evaluate(θ) -> Curve`, which may make one pass over a source of blocks. Where
the objective is not concave its curvature is made positive, eigenvalue by eigenvalue, so that every step ascends; near
a proper mode nothing is changed and the steps converge quadratically.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from credo.inference.result import Result
from credo.numerics.lapack import triangle

__all__ = ["Curve", "NewtonFit", "ascent", "newton"]

# The gain (in nats) a step promises below which it is the last: 3e-7 of a standard deviation, and the error left after
# the step is of the order of its square.
TOLERANCE = 1e-13
MAX_ITER = 100
# Armijo's constant: a full step of an exactly quadratic objective gains half of what its slope promises.
SUFFICIENT = 1e-4
MAX_HALVINGS = 30
# Smallest eigenvalue of the curvature, its diagonal scaled to 1, that a step divides by: below, rounding decides.
SMALLEST = 1e-13


@dataclass(frozen=True)
class Curve:
    """An objective at a point: value, gradient (D,), curvature (D, D) = minus the Hessian."""

    value: float
    gradient: np.ndarray
    curvature: np.ndarray


@dataclass(frozen=True)
class NewtonFit:
    """The point reached, the objective there, and the report."""

    position: np.ndarray
    curve: Curve
    result: Result


def newton(
    evaluate: Callable[[np.ndarray], Curve],
    start: np.ndarray,
    *,
    tol: float = TOLERANCE,
    max_iter: int = MAX_ITER,
    stop: Callable[[np.ndarray, Curve], str | None] | None = None,
) -> NewtonFit:
    """Maximise by Newton steps with backtracking: the maximum of a concave objective, a local one of any other.

    tol : stops when ½ gᵀH⁻¹g, the gain a full step promises, is below tol, or below the rounding of the value
    stop : called after each evaluation; a string ends the run with status "not_identified" and that advice

    Cost: one evaluation an iteration (more only when a step has to be halved), and D³/3 for the step.
    """
    position = np.array(start, dtype=np.float64)
    curve = evaluate(position)
    began, trace, seconds = time.perf_counter(), [curve.value], [0.0]
    status, advice = "max_iter", ()
    if not np.isfinite(curve.value):
        return NewtonFit(position, curve, Result("diverged", "map", (curve.value,), (0.0,)))
    for _ in range(max_iter):
        reason = stop(position, curve) if stop else None
        if reason:
            status, advice = "not_identified", (reason,)
            break
        if not np.all(np.isfinite(curve.curvature)):
            status = "diverged"
            break
        step = ascent(curve.curvature, curve.gradient)
        gain = 0.5 * float(curve.gradient @ step)
        trial, following = _search(evaluate, position, curve, step, gain)
        done = gain <= max(tol, 8.0 * np.finfo(float).eps * abs(curve.value))
        if following is None:  # no step gains: at the mode up to rounding, or stuck
            status = "converged" if done or gain <= 1e-8 * (1.0 + abs(curve.value)) else "max_iter"
            break
        position, curve = trial, following
        trace.append(curve.value)
        seconds.append(time.perf_counter() - began)
        if done:
            status = "converged"
            break
    return NewtonFit(position, curve, Result(status, "map", tuple(trace), tuple(seconds), advice=advice))


def ascent(curvature: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """H⁻¹ g, with H made positive where it is not: g · step > 0 unless g = 0. Cost D³/3, some 10 D³ if not positive.

    Coordinates are scaled to a diagonal of ±1 first, so that their units do not matter.

    >>> ascent(np.diag([2.0, -4.0]), np.array([2.0, 4.0])).tolist()
    [1.0, 1.0]

    Reference: Nocedal and Wright (2006), Numerical Optimization, §3.4.
    """
    size = np.sqrt(np.abs(np.diag(curvature)))
    size = np.where(size > 0.0, size, 1.0)
    scaled = curvature / size / size[:, None]
    factor = triangle(scaled, lower=True)
    if factor is not None and np.min(np.diag(factor)) > np.sqrt(SMALLEST):
        step = scipy.linalg.cho_solve((factor, True), gradient / size, check_finite=False)
    else:
        values, vectors = np.linalg.eigh(0.5 * (scaled + scaled.T))
        step = vectors @ ((vectors.T @ (gradient / size)) / np.maximum(np.abs(values), SMALLEST))
    return step / size


def _search(
    evaluate: Callable[[np.ndarray], Curve], position: np.ndarray, curve: Curve, step: np.ndarray, gain: float
) -> tuple[np.ndarray, Curve | None]:
    """The first of the step and its halves that gains enough; None when none does."""
    scale = 1.0
    rounding = 64.0 * np.finfo(float).eps * (1.0 + abs(curve.value))
    for _ in range(MAX_HALVINGS):
        trial = position + scale * step
        following = evaluate(trial)
        if following.value >= curve.value + SUFFICIENT * scale * 2.0 * gain - rounding:
            return trial, following
        scale *= 0.5
    return position, None
