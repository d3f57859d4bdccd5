"""Newton's method that scales itself: parameters of any units, from starts far away.

Every coordinate has a width: 1/√|∂²log p/∂z²|, the sd that the density has along it. Differences step by widths, the
Hessian is scaled to a diagonal of ±1, and a damping λ as of Levenberg and Marquardt, in these units, bounds the steps:
large where the quadratic model promised more than there was, nothing near the mode.

References: Nocedal and Wright (2006), Numerical Optimization, chs 4 and 10; Nielsen (1999), Damping parameter in
Marquardt's method.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from credo.errors import NumericalError
from credo.inference.target import Target

__all__ = ["Ascent", "climb", "gradient_of", "identified", "negative_hessian", "widths_of"]

EPS = float(np.finfo(float).eps)
# A coordinate of an exact size z moves at least by this share of its difference step.
LEAST = 1e-4
# A curvature below 1e-9 in units of max(1, |z|) is that of a flat density: sd beyond 30,000 times the value.
FLAT = 1e-9
# Rounding of differences in a Hessian scaled to a unit diagonal: a smaller eigenvalue is not told from 0.
NOISE = 1e-10
# Damping of the first step, and what ends the search: no step of any length gains.
DAMPING, MOST_DAMPING = 1e-3, 1e18
# Longest step of a coordinate in units of max(1, |z|).
LONGEST = 100.0
# … and one that is short: along a tail that falls to its limit, gains grow small long before steps do.
SHORT = 1e-6
# Rounding of a log density in units of its own.
ROUNDING = 64.0 * EPS


class Ascent(NamedTuple):
    """Where one start led: z (k,), log density, its value at each iteration, whether the rule was met."""

    z: np.ndarray
    value: float
    trace: tuple[float, ...]
    converged: bool


def gradient_of(target: Target, z: np.ndarray, size: np.ndarray | None = None) -> np.ndarray:
    """∂log p/∂z, by central differences where the target gives none (error about 1e-10 relative).

    size : (k,), what a coordinate's step is measured by; max(1, |z|) where not known
    """
    if target.has_gradient:
        return target.evaluate(z, gradient=True).gradient  # type: ignore[return-value]
    steps = EPS ** (1 / 3) * (np.maximum(1.0, np.abs(z)) if size is None else size)
    rows = np.concatenate([z + np.diag(steps), z - np.diag(steps)])
    values = target.evaluate_rows(rows)[0]
    return (values[: z.size] - values[z.size :]) / (2.0 * steps)


def negative_hessian(target: Target, z: np.ndarray, size: np.ndarray | None = None) -> np.ndarray:
    """−∂²log p/∂z², the target's own, else by central differences of the gradient: 2 dim gradients. size : as above"""
    if target.hessian is not None:
        return -np.asarray(target.hessian(z), dtype=np.float64)
    # Differences of an exact gradient are best at ε^⅓; of a differenced one, wider, at ε^¼.
    size = np.maximum(1.0, np.abs(z)) if size is None else size
    steps = EPS ** (1 / 3 if target.has_gradient else 1 / 4) * size
    rows = np.concatenate([z + np.diag(steps), z - np.diag(steps)])
    if target.has_gradient:
        slopes = target.evaluate_rows(rows, gradient=True)[1]
        assert slopes is not None
    else:
        slopes = np.array([gradient_of(target, row, size) for row in rows])
    columns = (slopes[: z.size] - slopes[z.size :]) / (2.0 * steps[:, None])
    return -0.5 * (columns + columns.T)


def widths_of(hessian: np.ndarray, z: np.ndarray) -> np.ndarray:
    """1/√|diagonal|, no more than what a flat density has."""
    natural = np.maximum(1.0, np.abs(z))
    return 1.0 / np.sqrt(np.maximum(np.abs(hessian.diagonal()), FLAT / natural**2))


def identified(hessian: np.ndarray, z: np.ndarray) -> tuple[float, int]:
    """The smallest eigenvalue of the Hessian scaled to a unit diagonal, 0 or less where the density is flat or rising,
    and the coordinate that it is mostly along."""
    flat = hessian.diagonal() * np.square(np.maximum(1.0, np.abs(z))) <= FLAT
    if flat.any():
        return min(0.0, float(hessian.diagonal()[flat].min())), int(np.argmax(flat))
    width = widths_of(hessian, z)
    curvature, axes = np.linalg.eigh(hessian * width * width[:, None])
    least = float(curvature[0])
    return (least if least > NOISE else min(least, 0.0)), int(np.argmax(np.abs(axes[:, 0])))


def climb(target: Target, z: np.ndarray, max_iter: int, tol: float) -> Ascent:
    """From z to a local maximum. Stops when the model promises less than tol (1 + |log p|) nats."""
    value = target.evaluate(z).log_density
    trace, damping, growth = [value], DAMPING, 2.0
    size = np.where(z != 0.0, np.clip(np.abs(z), LEAST, None), 1.0)
    for _ in range(max_iter):
        slope, hessian = gradient_of(target, z, size), negative_hessian(target, z, size)
        if not (np.all(np.isfinite(slope)) and np.all(np.isfinite(hessian))):
            raise NumericalError(f"maximise: the gradient or Hessian is not finite at {target.describe(z)}.", value=z)
        width = widths_of(hessian, z)
        curvature, axes = np.linalg.eigh(hessian * width * width[:, None])
        along, curved = axes.T @ (slope * width), np.abs(curvature)  # so that a saddle is left
        while True:
            step = width * (axes @ (along / (curved + damping)))
            promise = float(slope @ step)
            if 0.5 * promise <= tol * (1.0 + abs(value)) and curvature[0] > -NOISE and damping <= 1.0:
                full = width * (axes @ (along / np.maximum(curved, NOISE)))
                if np.all(np.abs(full) <= SHORT * np.maximum(1.0, np.abs(z))) or identified(hessian, z)[0] <= 0.0:
                    return _last(target, z, value, full, trace)
            step *= min(1.0, LONGEST / max(float(np.max(np.abs(step) / np.maximum(1.0, np.abs(z)))), 1e-300))
            trial = target.evaluate(z + step).log_density
            gain = trial - value + ROUNDING * (1.0 + abs(value))
            if gain >= 1e-4 * float(slope @ step):
                break
            damping, growth = damping * growth, 2.0 * growth
            if damping > MOST_DAMPING:  # rounding: nothing larger is to be found along an ascent direction
                return Ascent(z, value, tuple(trace), promise <= np.sqrt(tol) * (1.0 + abs(value)))
        expected = float(slope @ step) - 0.5 * float(step @ hessian @ step)
        ratio = gain / max(expected, 1e-300)
        damping, growth = damping * max(0.1, 1.0 - (2.0 * min(ratio, 1.0) - 1.0) ** 3), 2.0
        z, value = z + step, trial
        size = np.minimum(np.maximum(np.abs(z), width), np.maximum(1.0, np.abs(z)))
        trace.append(value)
    return Ascent(z, value, tuple(trace), False)


def _last(target: Target, z: np.ndarray, value: float, step: np.ndarray, trace: list[float]) -> Ascent:
    """Newton's own step: it is at hand, and squares the error."""
    last = target.evaluate(z + step).log_density
    if last >= value - ROUNDING * (1.0 + abs(value)):
        return Ascent(z + step, last, tuple(trace), True)
    return Ascent(z, value, tuple(trace), True)
