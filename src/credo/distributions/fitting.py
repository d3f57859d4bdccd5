"""Fitting where no closed form exists: maximum likelihood and maximum a posteriori by a guarded Newton climb.

A prior over the parameters is one of: None; a dict parameter name → family (names left out are flat); for a family
with one free parameter, a family for it; for several, a vector family over them in constructor order. The prior is a
density in the parameters as named, and so is the mode.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from credo.distributions.base import FINITE, PROBABILITY, Family
from credo.distributions.scalar import POSITIVE_PROBABILITY
from credo.distributions.statistics import ValueCounts
from credo.errors import DataError, ParameterError

__all__ = ["posterior_mode", "is_flat", "log_prior", "weighted_quantile", "maximise"]

F = TypeVar("F", bound=Family)

#: central differences: (step)² × f‴ ≈ 1e-9 of truncation against 1e-16 |f| / step of rounding
_GRADIENT_STEP, _HESSIAN_STEP = 3e-5, 1e-3

#: observations with which a climb begins; all of them finish it
_SAMPLE = 2000

#: a log-parameter this far from its start (a factor of 7e10) has run away: the likelihood has no maximum
_RUNAWAY = 25.0


def weighted_quantile(x: np.ndarray, weights: np.ndarray, q: float) -> float:
    """Smallest x with at least a share q of the weight at or below it; a tie is averaged with the next."""
    order = np.argsort(x, kind="stable")
    order = order[weights[order] > 0]
    cumulative = np.cumsum(weights[order])
    target = q * cumulative[-1]
    i = min(int(np.searchsorted(cumulative, target)), len(order) - 1)
    tie = cumulative[i] == target and i + 1 < len(order)
    return float(0.5 * (x[order[i]] + x[order[i + 1]]) if tie else x[order[i]])


def is_flat(prior: Any, values: dict[str, Any]) -> bool:
    """Whether the prior is constant around these parameter values, so that the MAP is the MLE."""
    from credo.distributions.flat import Flat
    from credo.distributions.uniform import Uniform

    if prior is None or isinstance(prior, Flat):
        return True
    if isinstance(prior, dict):
        return all(name in values and is_flat(p, {name: values[name]}) for name, p in prior.items())
    return (
        isinstance(prior, Uniform)
        and len(values) == 1
        and bool(np.all(prior.support.contains(np.asarray(next(iter(values.values()))))))
    )


def log_prior(owner: str, names: tuple[str, ...], prior: Any) -> Callable[[np.ndarray], float]:
    """The log density of the prior as a function of the parameter vector, in the order of `names`."""
    from credo.distributions.flat import Flat

    if prior is None or isinstance(prior, Flat):
        return lambda values: 0.0
    if isinstance(prior, dict):
        for name, family in prior.items():
            if name not in names or not isinstance(family, Family):
                raise ParameterError(f"{owner}.fit", "prior", f"a dict from {list(names)} to families", prior)
        return lambda values: float(sum(f.log_prob(values[names.index(n)]) for n, f in prior.items()))
    if isinstance(prior, Family) and prior.event_ndim == 0 and len(names) == 1:
        return lambda values: float(prior.log_prob(values[0]))
    if isinstance(prior, Family) and prior.event_ndim == 1 and len(names) > 1:
        return lambda values: float(prior.log_prob(values))
    raise ParameterError(
        f"{owner}.fit", "prior", f"None, a dict from {list(names)} to families, or a family over them", prior
    )


def posterior_mode(
    start: F,
    x: np.ndarray,
    weights: np.ndarray,
    prior: Any,
    free: tuple[str, ...] | None = None,
    *,
    exact: bool = False,
    within: Callable[[F], Any] = lambda family: family,
) -> F:
    """argmax over the free parameters of Σ w log p(x | θ) + log prior(θ), climbing from `start`.

    `exact` says that `start` is the maximum-likelihood fit, returned as it is under a flat prior. Positive parameters
    are climbed in logs, probabilities in logits, locations in units of the spread of the data. `within` maps a
    member to the family that the data follow, such as its truncation.
    """
    owner = type(start).__name__
    names = free or tuple(start.parameters)
    values = {name: float(start.parameters[name]) for name in names}
    density = log_prior(owner, names, prior)
    if exact and is_flat(prior, values):
        return start
    one_law = all(np.ndim(v) == 0 for v in start.parameters.values())
    if start.support.is_discrete and one_law:
        counts = ValueCounts.accumulate(x, weights)
        x, weights = counts.values, counts.weights
    least = 0.5 / (weights.sum() + 1.0)  # half a row: keeps logs and logits of the start finite
    spread = weighted_quantile(x, weights, 0.75) - weighted_quantile(x, weights, 0.25)
    maps = [_coordinate(start.domain[name], values[name], least, spread or 1.0) for name in names]

    def member(theta: np.ndarray) -> F:
        return dataclasses.replace(start, **{n: m[1](t) for n, m, t in zip(names, maps, theta, strict=True)})  # type: ignore[type-var]

    def objective(theta: np.ndarray, stride: int = 1) -> float:
        with np.errstate(all="ignore"):
            try:
                family = member(theta)
                log_p = within(family).log_prob(x[::stride])
            except ParameterError:  # a parameter over- or underflows, far from the maximum
                return -np.inf
            w = weights[::stride]
            value = stride * float(np.sum(np.where(w > 0, w * log_p, 0.0)))
            value += density(np.array([family.parameters[name] for name in names]))
        return value if np.isfinite(value) else -np.inf

    theta = origin = np.array([m[0] for m in maps])
    stride, near = len(x) // _SAMPLE if one_law else 0, False
    while stride > 1 and np.any(weights[::stride] > 0):
        theta, near = maximise(lambda t: objective(t, stride), theta, near=near), True  # noqa: B023
        stride //= 16
    theta = maximise(objective, theta, near=near)
    away = [n for n, t, o in zip(names, theta, origin, strict=True) if abs(t - o) > _RUNAWAY]
    if away:
        raise DataError(
            f"{owner}.fit: the likelihood rises without end as {', '.join(away)} goes to a bound of its range.",
            value={n: float(m[1](t)) for n, m, t in zip(names, maps, theta, strict=True)},
            remedy="Give a prior on it, or choose the limiting family.",
        )
    return member(theta)


def _coordinate(constraint: Any, value: float, least: float, spread: float) -> tuple[float, Callable[[float], Any]]:
    """A parameter's start in an unbounded coordinate, and the way back."""
    if constraint is FINITE:
        return 0.0, lambda t: np.float64(value + spread * t)
    if constraint is PROBABILITY or constraint is POSITIVE_PROBABILITY:
        p = min(max(value, least), 1.0 - least)
        return float(np.log(p / (1.0 - p))), lambda t: np.float64(1.0 / (1.0 + np.exp(-t)))
    return float(np.log(max(value, least) if value == 0 else value)), lambda t: np.exp(np.float64(t))


def maximise(objective: Callable[[np.ndarray], float], theta: np.ndarray, *, near: bool = False) -> np.ndarray:
    """A local maximum: Nelder–Mead to come near (it bears −∞ at a prior's bound), Newton to finish.

    `near` tries Newton at once. Raises `DataError` where every point around the start has probability zero.
    """
    from scipy.optimize import minimize

    if near:
        found, converged = _newton(objective, theta)
        if converged:
            return found
    if objective(theta) == -np.inf:
        theta = _feasible(objective, theta)
    simplex = np.vstack([theta, theta + 0.3 * np.eye(len(theta))])
    tolerance = 1e-10 * max(1.0, abs(objective(theta)))
    options = {"initial_simplex": simplex, "xatol": 1e-5, "fatol": tolerance, "maxiter": 2000, "maxfev": 4000}
    with np.errstate(invalid="ignore"):  # ∞ − ∞ between two impossible vertices
        theta = minimize(lambda t: -objective(t), theta, method="Nelder-Mead", options=options).x
    return _newton(objective, theta)[0]


def _newton(objective: Callable[[np.ndarray], float], theta: np.ndarray) -> tuple[np.ndarray, bool]:
    """Newton steps that do not lower the objective, and whether they came to rest."""
    best = objective(theta)
    for _ in range(20):
        gradient, hessian = _differences(objective, theta)
        # not finite at a bound of the prior; not concave far from the maximum
        if not np.all(np.isfinite([*gradient, *hessian.ravel()])) or np.linalg.eigvalsh(hessian)[-1] >= 0.0:
            break
        step = -np.linalg.solve(hessian, gradient)
        value = objective(theta + step)
        # rounding of the objective hides the last improvement, so the final step may lose that much
        if not value >= best - 1e-13 * abs(best) or np.max(np.abs(step)) > 1.0:
            break
        theta, best = theta + step, value
        if np.max(np.abs(step)) < 1e-5:  # convergence is quadratic: 1e-10 is left
            return theta, True
    return theta, False


def _feasible(objective: Callable[[np.ndarray], float], theta: np.ndarray) -> np.ndarray:
    """A point of positive density, on growing boxes around `theta` along the axes."""
    for radius in (0.5, 1.0, 2.0, 4.0, 8.0, 16.0):
        for axis in np.eye(len(theta)):
            for sign in (1.0, -1.0):
                if objective(theta + sign * radius * axis) > -np.inf:
                    return theta + sign * radius * axis
    raise DataError(
        "fit: the prior gives probability zero to every parameter value near the data's.",
        remedy="Check the prior's bounds, or widen it.",
    )


def _differences(objective: Callable[[np.ndarray], float], theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gradient and Hessian by central differences."""
    axes = np.eye(len(theta))
    centre = objective(theta)
    gradient = np.array(
        [objective(theta + _GRADIENT_STEP * e) - objective(theta - _GRADIENT_STEP * e) for e in axes]
    ) / (2.0 * _GRADIENT_STEP)
    h = _HESSIAN_STEP
    sides = [(objective(theta + h * e), objective(theta - h * e)) for e in axes]
    hessian = np.empty((len(theta),) * 2)
    for i, e in enumerate(axes):
        hessian[i, i] = (sides[i][0] + sides[i][1] - 2.0 * centre) / h**2
        for j in range(i):
            both = objective(theta + h * (e + axes[j])) + objective(theta - h * (e + axes[j]))
            hessian[i, j] = hessian[j, i] = (both + 2.0 * centre - sum(sides[i]) - sum(sides[j])) / (2.0 * h**2)
    return gradient, hessian
