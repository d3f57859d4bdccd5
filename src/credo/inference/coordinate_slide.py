"""All columns in the model moved at once: conjugate gradients to the minimum with the signs held.

Coordinate sweeps need as many passes as the condition of the columns in the model, thousands as their number nears that
of the rows; conjugate gradients its root, on the same products. Notation as in `coordinate_descent`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from credo.inference.coordinate_descent import line_search

__all__ = ["slide"]

# Of the slope at the start, where the direction is good enough (the sets of columns still change), and steps to it.
ACCURACY, MAX_STEPS = 1e-8, 500

Product = Callable[[np.ndarray], np.ndarray]


def slide(
    forward: Product,
    backward: Product,
    w: np.ndarray,
    r: np.ndarray,
    l1: np.ndarray,
    ridge: np.ndarray,
    curvature: np.ndarray,
) -> tuple[np.ndarray, float]:
    """Coefficients (m,), none of them 0 before, and by how much F fell, ≥ 0.

    forward, backward : products with the columns (n, m) in the model and with their transpose
    w, r : where they are (m,) and the residual there (n,)
    curvature : (m,) diagonal of the Hessian

    The lower of two points is taken: the lowest on the way to the minimum with the signs held, and that minimum with
    whatever changed its sign set to 0. Cost: two products a step.
    """
    sign = np.sign(w)
    slope = backward(r) - ridge * w
    direction = _conjugate_gradients(
        lambda d: backward(forward(d)) + ridge * d, np.maximum(curvature, np.finfo(float).tiny), slope - l1 * sign
    )
    image = forward(direction)
    t, stopped = line_search(w, direction, slope, float(image @ image + ridge @ np.square(direction)), l1)
    along = w + t * direction
    along[stopped] = 0.0
    cut = np.where((w + direction) * sign > 0.0, w + direction, 0.0)

    def fall(to: np.ndarray) -> float:
        step = to - w
        seen = forward(step)
        quadratic = 0.5 * float(seen @ seen + ridge @ np.square(step))
        return float(slope @ step) - quadratic - float(l1 @ (np.abs(to) - np.abs(w)))

    falls = [fall(along), fall(cut)]
    best = int(np.argmax(falls))
    return ((along, cut)[best], falls[best]) if falls[best] > 0.0 else (w, 0.0)


def _conjugate_gradients(curvature: Product, diagonal: np.ndarray, pull: np.ndarray) -> np.ndarray:
    """d with (Hessian) d near `pull` (m,), preconditioned by the diagonal; a descent direction at every step."""
    d, r = np.zeros_like(pull), pull.copy()
    z = r / diagonal
    direction, rho = z, float(r @ z)
    goal = ACCURACY**2 * rho
    for _ in range(MAX_STEPS):
        if rho <= goal:
            break
        image = curvature(direction)
        bend = float(direction @ image)
        if bend <= 0.0:  # collinear columns: flat to rounding
            break
        d = d + (rho / bend) * direction
        r = r - (rho / bend) * image
        z = r / diagonal
        previous, rho = rho, float(r @ z)
        direction = z + (rho / previous) * direction
    return d
