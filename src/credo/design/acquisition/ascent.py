"""`ascend`: many local searches in the unit cube at once, each with its own quasi-Newton model.

One call of the objective serves all searches, so that their cost is that of arrays, not of Python.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["ascend"]

# Pairs of steps kept: beyond eight L-BFGS gains little (Nocedal & Wright 2006, §7.2).
MEMORY = 8
# Share of the promised gain that a step must keep (Nocedal & Wright 2006, §3.1).
ARMIJO = 1e-4
# A first step of at most a twentieth of the cube: slopes of a log improvement may be millions.
FIRST = 0.05
# Backtracking steps before a search is given up: all others wait for it.
HALVINGS = 8

Objective = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def ascend(
    objective: Objective,
    starts: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    *,
    max_iter: int = 60,
    tol: float = 1e-7,
    race: float | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Points (m, d) and values (m,) that projected L-BFGS reaches from starts (m, d) in the box low ≤ x ≤ high (d,).

    objective : points (k, d), and the numbers (k,) of their searches → values (k,) and slopes (k, d); a value that is
        not finite shortens the step
    tol : a search ends when a step gains less, times 1 + |value|, or no coordinate has a slope that could gain as much

    race : where only the highest point is wanted: a search ends when so many steps as good as its last would not take
        it to where the best search is now

    Bertsekas (1982), Projected Newton methods for optimization problems with simple constraints, SIAM J. Control 20.

    >>> f = lambda x, which: (-np.sum((x - [0.3, 2.0]) ** 2, axis=1), -2.0 * (x - [0.3, 2.0]))
    >>> x, value = ascend(f, np.array([[0.9, 0.1], [0.0, 0.0]]), np.zeros(2), np.ones(2))
    >>> x.round(6).tolist()
    [[0.3, 1.0], [0.3, 1.0]]
    """
    x = np.clip(np.asarray(starts, dtype=np.float64), low, high)
    m, d = x.shape
    value, slope = objective(x, np.arange(m))
    active = np.isfinite(value)
    value, slope = np.where(active, value, -np.inf), np.where(active[:, None], slope, 0.0)
    steps, changes = np.zeros((0, m, d)), np.zeros((0, m, d))
    for _ in range(max_iter):
        free = ~(((x <= low) & (slope < 0.0)) | ((x >= high) & (slope > 0.0)))
        active &= np.max(np.abs(slope) * free, axis=1, initial=0.0) * np.max(high - low) > tol * (1.0 + np.abs(value))
        if not active.any():
            break
        steepest = slope * free
        steepest *= FIRST / np.maximum(np.abs(steepest).max(axis=1, keepdims=True), FIRST)
        direction = _direction(slope * free, steps, changes) * free if len(steps) else steepest
        uphill = np.einsum("md,md->m", direction, slope) > 0.0
        direction = np.where(uphill[:, None], direction, steepest)
        new, new_value, new_slope, moved = _line_search(objective, x, value, slope, direction, active, low, high)
        step, change = new - x, slope - new_slope  # of the descent on −f
        curved = np.einsum("md,md->m", step, change) > 1e-12 * np.einsum("md,md->m", change, change)
        keep = (moved & curved)[:, None]
        steps = np.concatenate([steps[-(MEMORY - 1) :], np.where(keep, step, 0.0)[None]])
        changes = np.concatenate([changes[-(MEMORY - 1) :], np.where(keep, change, 0.0)[None]])
        gain = np.subtract(new_value, value, out=np.zeros(m), where=moved)
        active &= moved & (gain > tol * (1.0 + np.abs(new_value)))
        if race is not None:
            active &= new_value + race * gain >= np.max(new_value, initial=-np.inf)
        x, value, slope = new, new_value, new_slope
    return x, value


def _direction(slope: np.ndarray, steps: np.ndarray, changes: np.ndarray) -> np.ndarray:
    """H · slope (m, d) by the two-loop recursion; a search whose pair was dropped has zeros there."""
    products = np.einsum("kmd,kmd->km", steps, changes)
    inverse = np.where(products > 0.0, 1.0 / np.where(products > 0.0, products, 1.0), 0.0)
    q, alphas = slope.copy(), np.zeros(products.shape)
    for k in reversed(range(len(steps))):
        alphas[k] = inverse[k] * np.einsum("md,md->m", steps[k], q)
        q -= alphas[k][:, None] * changes[k]
    if len(steps):  # the latest pair sets the scale
        size = np.einsum("md,md->m", changes[-1], changes[-1])
        q *= np.where(products[-1] > 0.0, products[-1] / np.where(size > 0.0, size, 1.0), 1.0)[:, None]
    for k in range(len(steps)):
        beta = inverse[k] * np.einsum("md,md->m", changes[k], q)
        q += (alphas[k] - beta)[:, None] * steps[k]
    return q


def _line_search(
    objective: Objective, x: np.ndarray, value: np.ndarray, slope: np.ndarray, direction: np.ndarray,
    active: np.ndarray, low: np.ndarray, high: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """The first of x + t direction, put back into the box, t = 1, ½ … by parabolas, that gains enough; who moved."""
    new, new_value, new_slope = x.copy(), value.copy(), slope.copy()
    moved, t = np.zeros(len(x), dtype=bool), np.ones(len(x))
    todo = np.flatnonzero(active)
    for _ in range(HALVINGS):
        trial = np.clip(x[todo] + t[todo, None] * direction[todo], low, high)
        f, g = objective(trial, todo)
        promised = np.einsum("md,md->m", slope[todo], trial - x[todo])
        good = np.isfinite(f) & (f >= value[todo] + ARMIJO * promised) & (promised > 0.0)
        done = todo[good]
        new[done], new_value[done], new_slope[done], moved[done] = trial[good], f[good], g[good], True
        short = np.where(np.isfinite(f), 2.0 * (value[todo] + promised - f), np.inf)
        factor = np.where(short > 0.0, promised / np.where(short > 0.0, short, 1.0), 0.5)
        t[todo] *= np.clip(factor, 0.1, 0.5)
        todo = todo[~good]
        if not todo.size:
            break
    return new, new_value, new_slope, moved
