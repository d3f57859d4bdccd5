"""Where a density over few dimensions peaks, and how wide it is there in every direction."""

from __future__ import annotations

import numpy as np

from credo.errors import NumericalError
from credo.inference.hyper.density import Density

__all__ = ["climb", "find_mode", "whitening"]

MAX_STEPS = 200
# A step of the search is at most this many times the scale of its start.
LONGEST, FURTHEST = 2.0, 1e6
MAX_HALVINGS = 40
# Where gᵀ H⁻¹ g is below this the mode is within 0.1 sd: lattices need no better centre.
NEAR = 1e-2


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # what is not finite is stepped back from
def find_mode(
    density: Density, start: np.ndarray, scale: np.ndarray, inverse: np.ndarray | None = None, *, finish: bool = True
) -> tuple[np.ndarray, float, np.ndarray]:
    """(mode (d,), log density there, approximate inverse Hessian (d, d)) by BFGS with bounded steps, from a guess of
    the inverse Hessian if there is one; then, to `finish`, by Newton's method: where a density is steep BFGS stands
    still anywhere.

    Raises `NumericalError` where the density is 0 at the start, or still rises after 200 steps: it has no mode, or an
    infinite one.
    """
    x = np.array(start, dtype=np.float64)
    value, slope = density.gradient(x, scale)
    if not np.isfinite(value) or not np.isfinite(slope).all():
        raise NumericalError(
            f"The density or its gradient is not finite at the start θ = {x.tolist()}.",
            value=x,
            remedy="Start inside the support.",
        )
    inverse, longest, halvings = np.diag(scale**2) if inverse is None else inverse, LONGEST, 0
    for _ in range(MAX_STEPS):
        step = inverse @ slope
        gain = slope @ step
        if gain < NEAR or halvings == MAX_HALVINGS:  # halved that often, rounding hides what is higher nearby
            return climb(density, x, scale) if finish else (x, value, inverse)
        length = np.abs(step / scale).max()
        step *= min(1.0, longest / length)
        trial, new_slope = density.gradient(x + step, scale)
        finite = np.isfinite(trial) and np.isfinite(new_slope).all()
        change = slope - new_slope if finite else np.zeros(len(x))
        curvature = change @ step
        if curvature > 1e-10 * np.sqrt((change @ change) * (step @ step)):
            keep = np.eye(len(x)) - np.outer(step, change) / curvature
            inverse = keep @ inverse @ keep.T + np.outer(step, step) / curvature
        elif finite and length >= longest:
            inverse = 4.0 * inverse  # bent upwards, or straight: go on faster
        if finite and trial > value + 1e-4 * (slope @ step):
            # A mode may lie far off: steps that were cut short, and rose, may be twice as long next time.
            longest = min(2.0 * longest, FURTHEST) if length >= longest else LONGEST
            x, value, slope, halvings = x + step, trial, new_slope, 0
        else:  # the gradient there has bent the next step already
            longest, halvings = 0.5 * np.abs(step / scale).max(), halvings + 1
    raise NumericalError(
        f"The density of the hyperparameters has no mode within reach: it still rises at θ = {x.tolist()}.",
        value=x,
        remedy="Its posterior is improper, or nearly: state proper priors for the hyperparameters.",
    )


def climb(density: Density, x: np.ndarray, scale: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
    """From near a mode to it: curvatures by differences, taken positive, and steps halved until they rise."""
    value, slope = density.gradient(x, scale)
    inverse = np.diag(scale**2)
    for _ in range(MAX_STEPS):
        rows = [(density.gradient(x + e, scale)[1], density.gradient(x - e, scale)[1]) for e in np.diag(1e-4 * scale)]
        hessian = np.array([after - before for after, before in rows]) * (scale / 2e-4)
        if not np.isfinite(hessian).all():
            break
        values, vectors = np.linalg.eigh(0.5 * (hessian + hessian.T))
        values = np.maximum(np.abs(values), 1e-10 * np.abs(values).max(initial=1e-300))
        inverse = (vectors / values) @ vectors.T * np.outer(scale, scale)
        step = inverse @ slope
        if slope @ step < NEAR:
            break
        step *= min(1.0, LONGEST / np.abs(step / scale).max())
        for _ in range(MAX_HALVINGS):
            trial, new_slope = density.gradient(x + step, scale)
            finite = np.isfinite(trial) and np.isfinite(new_slope).all()
            if finite and trial > value + 1e-4 * (slope @ step):
                break
            step = 0.5 * step
        else:
            break
        x, value, slope = x + step, trial, new_slope
    return x, value, inverse


def whitening(density: Density, mode: np.ndarray, value: float, inverse: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """T (d, d): θ = mode + T u, so that the density falls by about 2 at a distance of 2 along every column.

    Directions from the Hessian (differences of gradients), lengths then measured: where the mode is flat, sharp, or
    lies on a shoulder, curvature says little about width.
    """
    d = len(mode)
    width = np.minimum(np.sqrt(np.maximum(inverse.diagonal(), 0.0)), 3.0 * scale)
    _, here = density.gradient(mode, scale)
    falls = np.array([here - density.gradient(mode + step, scale)[1] for step in np.diag(0.05 * width)])
    scaled = falls * width / 0.05
    scaled = 0.5 * (scaled + scaled.T)
    if not np.isfinite(scaled).all():
        scaled = np.eye(d)
    values, vectors = np.linalg.eigh(scaled)
    lengths = 1.0 / np.sqrt(np.clip(values, 0.1, 1e8))
    T = width[:, None] * vectors * lengths
    for k in range(d):
        reach = [_reach(density, mode, value, sign * T[:, k]) for sign in (1.0, -1.0)]
        T[:, k] *= 0.25 * sum(reach)
    return T


def _reach(density: Density, mode: np.ndarray, value: float, direction: np.ndarray) -> float:
    """How many times `direction` (about one sd) the log density is 1 to 4 below its mode, aiming at 2."""
    low, high, r = 0.0, np.inf, 2.0
    for _ in range(30):
        drop = value - density.value(mode + r * direction)
        if 1.0 <= drop <= 4.0:
            return r * np.sqrt(2.0 / drop)
        if drop < 1.0:
            low = r
        else:
            high = r
        guess = r * np.sqrt(2.0 / drop) if 0.0 < drop < np.inf else (3.0 * r if drop <= 0.0 else 0.3 * r)
        guess = min(max(guess, 0.25 * r), 4.0 * r)
        r = guess if low < guess < high else (0.5 * (low + high) if np.isfinite(high) else 4.0 * low)
    return r
