"""One-dimensional posteriors by quadrature: a discrete measure with an error estimate, then few Gauss nodes.

A density on the real line that is analytic and decays at both ends is integrated by the trapezoid rule with
exponential convergence (Trefethen and Weideman, SIAM Review 56, 2014). `discretise` finds the bulk, lays the rule and
halves its step until the integral settles; `gauss_rule` compresses the measure to m nodes that integrate every
polynomial of degree 2m − 1 exactly against it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from credo.errors import NumericalError

__all__ = ["DiscreteMeasure", "discretise", "gauss_rule", "log_gauss_rule", "gauss_hermite"]

# exp(−40) = 4e-18: what lies beyond adds less than rounding to any moment.
LOG_NEGLIGIBLE = 40.0
MAX_NODES = 20_000


@dataclass(frozen=True)
class DiscreteMeasure:
    """A normalised density seen through nodes (J,) and weights (J,) that sum to 1.

    log_integral : log ∫ exp(log_density)
    error : estimated absolute error of log_integral
    """

    nodes: np.ndarray
    weights: np.ndarray
    log_integral: float
    error: float

    def expect(self, values: np.ndarray) -> np.ndarray:
        """Σ_j weight_j values_j over the first axis."""
        return np.tensordot(self.weights, values, axes=(0, 0))


def discretise(
    log_density: Callable[[np.ndarray], np.ndarray],
    start: float = 0.0,
    step: float = 0.5,
    *,
    rtol: float = 1e-10,
    limits: tuple[float, float] = (-700.0, 700.0),
) -> DiscreteMeasure:
    """Discretise exp(log_density) on the real line (log_density: (J,) → (J,), up to a constant).

    `start` and `step` are a guess of where the mass is and of its width; both are adapted. `limits` bound the search:
    a density still above exp(−40) of its peak there raises `NumericalError` (it is improper, or nearly). The step is
    halved until log ∫ changes by less than `rtol`. Cost: a few hundred evaluations, vectorised.

    >>> m = discretise(lambda t: -0.5 * t**2)
    >>> abs(m.log_integral - 0.5 * float(np.log(2 * np.pi))) < 1e-12
    True
    """
    low, high = limits
    grid = np.linspace(low, high, 1401)
    log_p = log_density(grid)
    if not np.any(np.isfinite(log_p)):
        raise NumericalError("The density is zero or undefined everywhere on the search interval.", value=log_p)
    center = _climb(log_density, grid, log_p, start, step)
    peak = float(log_density(np.array([center]))[0])
    lower = _edge(log_density, center, peak, -abs(step), low)
    upper = _edge(log_density, center, peak, abs(step), high)
    n, previous = 32, np.inf
    while True:
        nodes = np.linspace(lower, upper, n + 1)
        log_p = log_density(nodes)
        top = float(np.max(log_p))
        mass = np.exp(log_p - top)
        log_integral = top + float(np.log(np.sum(mass) * (upper - lower) / n))
        error = abs(log_integral - previous)
        if error < rtol:
            keep = mass > np.exp(-LOG_NEGLIGIBLE)
            return DiscreteMeasure(nodes[keep], mass[keep] / mass[keep].sum(), log_integral, error)
        if n > MAX_NODES:
            raise NumericalError(
                f"Quadrature did not settle with {n} nodes (last change {error:.1e}).",
                value=error,
                remedy="The density is rough or nearly improper: rescale the data or state a proper prior.",
            )
        previous, n = log_integral, 2 * n


def _climb(log_density: Callable, grid: np.ndarray, log_p: np.ndarray, start: float, step: float) -> float:
    """The mode, to a fraction of its width: best of the coarse grid and `start`, refined by shrinking brackets."""
    best = int(np.nanargmax(log_p))
    center, half = float(grid[best]), float(grid[1] - grid[0])
    near = start + step * np.arange(-8.0, 9.0)
    log_near = log_density(near)
    if np.nanmax(log_near) > log_p[best]:
        center, half = float(near[int(np.nanargmax(log_near))]), step
    for _ in range(12):
        trial = center + half * np.linspace(-1.0, 1.0, 17)
        center = float(trial[int(np.nanargmax(log_density(trial)))])
        half /= 6.0
    return center


def _edge(log_density: Callable, center: float, peak: float, step: float, limit: float) -> float:
    """Where the density has fallen below exp(−40) of the peak, stepping outwards then bisecting."""
    floor = peak - LOG_NEGLIGIBLE
    reach, inner = step * 1e-6, center
    while True:
        outer = center + reach
        if abs(outer) >= abs(limit) and np.sign(outer) == np.sign(limit):
            value = float(log_density(np.array([limit]))[0])
            if value > floor:
                raise NumericalError(
                    f"The density does not fall off towards {limit:g}: it is improper, or nearly.",
                    value=value - peak,
                    remedy="State a proper prior.",
                )
            outer = limit
            break
        if not float(log_density(np.array([outer]))[0]) > floor:
            break
        inner, reach = outer, reach * 2.0
    for _ in range(8):
        middle = 0.5 * (inner + outer)
        if float(log_density(np.array([middle]))[0]) > floor:
            inner = middle
        else:
            outer = middle
    return outer


def gauss_rule(measure: DiscreteMeasure, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss nodes and weights (≤ m of each) of a discrete measure: exact for polynomials of degree 2m − 1.

    Lanczos on diag(nodes) started from √weights gives the Jacobi matrix; its eigen-decomposition is the rule (Golub
    and Welsch 1969; Gautschi 2004, §2.2). Fully re-orthogonalised. Cost J m².
    """
    nodes, weights = measure.nodes, measure.weights
    m = min(m, nodes.size)
    shift, scale = nodes[0], max(float(nodes[-1] - nodes[0]), np.finfo(float).tiny)
    x = (nodes - shift) / scale
    basis = np.sqrt(weights / weights.sum())[:, None]
    diagonal, off = [], []
    for k in range(m):
        image = x * basis[:, k]
        diagonal.append(float(basis[:, k] @ image))
        image = image - basis @ (basis.T @ image)
        image = image - basis @ (basis.T @ image)
        norm = float(np.linalg.norm(image))
        if k == m - 1 or norm < 1e-14:
            break
        off.append(norm)
        basis = np.column_stack([basis, image / norm])
    values, vectors = scipy.linalg.eigh_tridiagonal(np.array(diagonal), np.array(off))
    gauss_weights = np.square(vectors[0])
    return shift + scale * values, gauss_weights / gauss_weights.sum()


def log_gauss_rule(measure: DiscreteMeasure, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss nodes and weights of a measure on log h, for functions of a scale-like hyperparameter h.

    What depends on h does so through shrinkage factors such as h s²/(1 + h s²), logistic curves in log h, which
    polynomials in log h follow badly and polynomials in x = 1/(1 + exp(−(log h − mean)/2)) well: 24 nodes give
    predictive moments to 1e-9 and 99.9 % quantiles to 1e-7 of an sd where the plain rule gives 3e-2
    (tests/inference/exact).
    """
    center = float(measure.weights @ measure.nodes)
    x = 0.5 * (1.0 + np.tanh(0.25 * (measure.nodes - center)))
    nodes, weights = gauss_rule(DiscreteMeasure(x, measure.weights, measure.log_integral, measure.error), m)
    kept = weights > 1e-10  # below the rule's own error, and each node costs a cdf for every row predicted
    nodes, weights = nodes[kept], weights[kept] / weights[kept].sum()
    nodes = np.clip(nodes, np.finfo(float).tiny, 1.0 - np.finfo(float).epsneg)
    return center + 2.0 * (np.log(nodes) - np.log1p(-nodes)), weights


def gauss_hermite(m: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of E f(Z), Z ~ N(0, 1): Σ w_j f(z_j), exact for polynomials of degree 2m − 1."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(m)
    return nodes, weights / weights.sum()
