"""`ascend`: many local searches in a box at once, each with its own quasi-Newton model.

One call of the objective serves all searches, each at its own next point, so that their cost is that of arrays, not of
Python.

Notation
    x, f, g   where a search is, the objective there and its slope
    H (d, d)  model of −(∂²f/∂x²)⁻¹, so that H g is the step to the top
    t         share of the step that is tried next
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["ascend"]

# Share of the promised gain that a step must keep (Nocedal & Wright 2006, §3.1).
ARMIJO = 1e-4
# A first step of at most a twentieth of the cube: slopes of a log improvement may be millions.
FIRST = 0.05
# Backtracking steps before a search is given up.
HALVINGS = 8
# Curvature along a step, in sizes of the slope's change, below which it is rounding.
CURVED = 1e-12

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
    first: float = FIRST,
) -> tuple[np.ndarray, np.ndarray]:
    """Points (m, d) and values (m,) that projected BFGS reaches from starts (m, d) in the box low ≤ x ≤ high (d,).

    objective : points (k, d), and the numbers (k,) of their searches → values (k,) and slopes (k, d); a value that is
        not finite shortens the step
    max_iter : steps of a search
    tol : a search ends when a step gains less, times 1 + |value|, or no coordinate has a slope that could gain as much

    race : where only the highest point is wanted: a search ends when so many steps as good as its last would not take
        it to where the best search is now
    first : what a search's first step may change a coordinate by

    Memory m d². Bertsekas (1982), Projected Newton methods for optimization problems with simple constraints, SIAM J.
    Control 20.

    >>> f = lambda x, which: (-np.sum((x - [0.3, 2.0]) ** 2, axis=1), -2.0 * (x - [0.3, 2.0]))
    >>> x, value = ascend(f, np.array([[0.9, 0.1], [0.0, 0.0]]), np.zeros(2), np.ones(2))
    >>> x.round(6).tolist()
    [[0.3, 1.0], [0.3, 1.0]]
    """
    x = np.clip(np.asarray(starts, dtype=np.float64), low, high)
    m, d = x.shape
    value, slope = objective(x, np.arange(m))
    value = np.where(np.isfinite(value), value, -np.inf)
    inverse, direction = np.zeros((m, d, d)), np.zeros((m, d))
    t, tries, taken, gain = np.ones(m), np.zeros(m, dtype=np.intp), np.zeros(m, dtype=np.intp), np.full(m, np.inf)
    width = float(np.max(high - low, initial=0.0))
    alive = value > -np.inf
    turned = np.flatnonzero(alive)
    while True:
        if turned.size:  # these stand at a new point and take a new direction
            at, up, now = x[turned], slope[turned], value[turned]
            up = np.where(np.where(up < 0.0, at <= low, at >= high), 0.0, up)
            direction[turned] = _direction(up, inverse[turned], first)
            t[turned], tries[turned] = 1.0, 0
            least = tol * (1.0 + np.abs(now))
            goes_on = (np.abs(up).max(axis=1) * width > least) & (gain[turned] > least) & (taken[turned] < max_iter)
            if race is not None:
                goes_on &= now + race * gain[turned] >= value.max()
            alive[turned] = goes_on
        live = np.flatnonzero(alive)
        if not live.size:
            return x, value
        trial = np.maximum(np.minimum(x[live] + t[live, None] * direction[live], high), low)
        f, g = objective(trial, live)
        moved = trial - x[live]
        promised = np.einsum("md,md->m", slope[live], moved)
        good = np.isfinite(f) & (f >= value[live] + ARMIJO * promised) & (promised > 0.0)
        turned = live[good]
        if turned.size:
            step, change = moved[good], slope[turned] - g[good]  # of the descent on −f
            inverse[turned] = _updated(inverse[turned], step, change)
            gain[turned] = f[good] - value[turned]
            x[turned], value[turned], slope[turned] = trial[good], f[good], g[good]
            taken[turned] += 1
        if turned.size < live.size:
            bad = live[~good]
            short = 2.0 * (value[bad] + promised[~good] - np.where(np.isfinite(f[~good]), f[~good], -np.inf))
            share = np.divide(promised[~good], short, out=np.full(bad.size, 0.5), where=short > 0.0)
            t[bad] *= np.clip(share, 0.1, 0.5)  # the top of the parabola through both ends
            tries[bad] += 1
            alive[bad] = tries[bad] < HALVINGS


def _direction(up: np.ndarray, inverse: np.ndarray, first: float) -> np.ndarray:
    """H g within the coordinates that are free to move; the slope, cut to `first`, where H is unknown or misleads."""
    newton = np.einsum("mij,mj->mi", inverse, up)
    newton *= up != 0.0
    steep = ~(np.einsum("md,md->m", newton, up) > 0.0)
    if steep.any():
        newton[steep] = up[steep] * (first / np.maximum(np.abs(up[steep]).max(axis=1, keepdims=True), first))
    return newton


def _updated(inverse: np.ndarray, step: np.ndarray, change: np.ndarray) -> np.ndarray:
    """H after steps (m, d) that changed slopes by −`change`: Broyden, Fletcher, Goldfarb and Shanno's update.

    H = 0 is not known yet: then it begins as the multiple of the identity that fits the step (Nocedal & Wright 2006,
    eq. 6.20). A step without curvature changes nothing.
    """
    product, size = np.einsum("md,md->m", step, change), np.einsum("md,md->m", change, change)
    curved = product > CURVED * size
    fresh = curved & (inverse[:, 0, 0] == 0.0)
    product = np.where(curved, product, 1.0)
    if fresh.any():
        inverse[fresh] = (product[fresh] / size[fresh])[:, None, None] * np.eye(step.shape[1])
    moved = np.einsum("mij,mj->mi", inverse, change)
    grown = (1.0 + np.einsum("md,md->m", change, moved) / product) / product
    shift = (0.5 * grown[:, None] * step - moved / product[:, None]) * curved[:, None]
    half = shift[:, :, None] * step[:, None, :]
    return inverse + half + half.swapaxes(1, 2)
