"""`slopes`: ∂ log p(x)/∂x and ∂ log p/∂(each parameter) of scalar families, elementwise.

Closed forms where samplers and optimisers need them often; five-point differences otherwise. Arguments are taken inside
the support: whoever evaluates the density knows where it is zero.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy

from credo.distributions.base import Family

__all__ = ["CLOSED_FORMS", "slopes", "unchecked", "value_slope"]

Wanted = Sequence[str]
# Five points err by h⁴f⁽⁵⁾/30 and about 2⁻⁵³|f|/h.
STEP = 2.0**-10


def digamma(x: Any) -> Any:
    """ψ(x); its module takes long to import."""
    return scipy.special.digamma(x)


def unchecked(family: type[Family], parameters: Mapping[str, Any]) -> Any:
    """The record of these parameters without its checks: what is evaluated a thousand times a second was checked
    where it was declared, and what leaves the domain gives NaN or −∞."""
    law = object.__new__(family)
    for name, value in parameters.items():
        object.__setattr__(law, name, value)
    return law


def slopes(family: type[Family], parameters: Mapping[str, Any], x: Any, wanted: Wanted) -> dict[str, np.ndarray]:
    """The derivatives named in `wanted`: "x" and parameters; each broadcasts to the shape of log_prob.

    >>> from credo.distributions import Normal
    >>> {k: v.tolist() for k, v in slopes(Normal, {"mean": 0.0, "sd": 2.0}, np.array([2.0]), ["x", "sd"]).items()}
    {'x': [-0.5], 'sd': [0.0]}
    """
    closed = CLOSED_FORMS.get(family.__name__)
    if closed is not None:
        found = closed(x, **parameters)
        if all(name in found for name in wanted):
            return {name: found[name]() for name in wanted}
    with np.errstate(all="ignore"):
        return {name: _difference(family, parameters, x, name) for name in wanted}


def value_slope(law: Any, x: Any) -> np.ndarray:
    """∂ log p(x)/∂x of any scalar law, by five points."""
    step = STEP * np.maximum(np.abs(x), 1e-3)
    with np.errstate(all="ignore"):
        near, far = ([law.log_prob(x + sign * k * step) for sign in (1.0, -1.0)] for k in (1.0, 2.0))
        return (8.0 * (near[0] - near[1]) - (far[0] - far[1])) / (12.0 * step)


def _difference(family: type[Family], parameters: Mapping[str, Any], x: Any, name: str) -> np.ndarray:
    """By five points, in steps relative to the argument."""
    at = np.asarray(x if name == "x" else parameters[name], dtype=np.float64)
    step = STEP * np.maximum(np.abs(at), 1e-3)

    def value(shift: float) -> np.ndarray:
        moved = at + shift * step
        if name == "x":
            return unchecked(family, parameters).log_prob(moved)
        return unchecked(family, {**parameters, name: moved}).log_prob(x)

    return (8.0 * (value(1.0) - value(-1.0)) - (value(2.0) - value(-2.0))) / (12.0 * step)


Closed = dict[str, Callable[[], Any]]


def _normal(x: Any, mean: Any, sd: Any) -> Closed:
    z = (x - mean) / sd
    return {"x": lambda: -z / sd, "mean": lambda: z / sd, "sd": lambda: (z * z - 1.0) / sd}


def _student_t(x: Any, df: Any, mean: Any, scale: Any) -> Closed:
    z = (x - mean) / scale
    pull = (df + 1.0) * z / (df + z * z)

    def by_df() -> Any:
        half = 0.5 * np.asarray(df, dtype=np.float64)
        tail = np.log1p(z * z / df)
        return 0.5 * (digamma(half + 0.5) - digamma(half) - 1.0 / df - tail + pull * z / df)

    return {"x": lambda: -pull / scale, "mean": lambda: pull / scale, "scale": lambda: (pull * z - 1.0) / scale,
            "df": by_df}  # fmt: skip


def _laplace(x: Any, mean: Any, scale: Any) -> Closed:
    z = (x - mean) / scale
    return {"x": lambda: -np.sign(z) / scale, "mean": lambda: np.sign(z) / scale,
            "scale": lambda: (np.abs(z) - 1.0) / scale}  # fmt: skip


def _logistic(x: Any, mean: Any, scale: Any) -> Closed:
    z = (x - mean) / scale
    t = np.tanh(0.5 * z)
    return {"x": lambda: -t / scale, "mean": lambda: t / scale, "scale": lambda: (z * t - 1.0) / scale}


def _cauchy(x: Any, location: Any, scale: Any) -> Closed:
    z = (x - location) / scale
    pull = 2.0 * z / (1.0 + z * z)
    return {"x": lambda: -pull / scale, "location": lambda: pull / scale, "scale": lambda: (pull * z - 1.0) / scale}


def _half_normal(x: Any, scale: Any) -> Closed:
    z = x / scale
    return {"x": lambda: -z / scale, "scale": lambda: (z * z - 1.0) / scale}


def _half_cauchy(x: Any, scale: Any) -> Closed:
    z = x / scale
    pull = 2.0 * z / (1.0 + z * z)
    return {"x": lambda: -pull / scale, "scale": lambda: (pull * z - 1.0) / scale}


def _exponential(x: Any, rate: Any) -> Closed:
    return {"x": lambda: -rate + 0.0 * x, "rate": lambda: 1.0 / rate - x}


def _gamma(x: Any, shape: Any, rate: Any) -> Closed:
    return {"x": lambda: (shape - 1.0) / x - rate, "rate": lambda: shape / rate - x,
            "shape": lambda: np.log(rate) - digamma(shape) + np.log(x)}  # fmt: skip


def _inverse_gamma(x: Any, shape: Any, scale: Any) -> Closed:
    return {"x": lambda: (scale / x - shape - 1.0) / x, "scale": lambda: shape / scale - 1.0 / x,
            "shape": lambda: np.log(scale) - digamma(shape) - np.log(x)}  # fmt: skip


def _log_normal(x: Any, mu: Any, sigma: Any) -> Closed:
    z = (np.log(x) - mu) / sigma
    return {"x": lambda: -(1.0 + z / sigma) / x, "mu": lambda: z / sigma, "sigma": lambda: (z * z - 1.0) / sigma}


def _beta(x: Any, a: Any, b: Any) -> Closed:
    def total() -> Any:
        return digamma(np.asarray(a, dtype=np.float64) + b)

    return {"x": lambda: (a - 1.0) / x - (b - 1.0) / (1.0 - x), "a": lambda: np.log(x) + total() - digamma(a),
            "b": lambda: np.log1p(-x) + total() - digamma(b)}  # fmt: skip


def _uniform(x: Any, low: Any, high: Any) -> Closed:
    width = np.asarray(high, dtype=np.float64) - low
    return {"x": lambda: 0.0 * x, "low": lambda: 1.0 / width + 0.0 * x, "high": lambda: -1.0 / width + 0.0 * x}


def _flat(x: Any) -> Closed:
    return {"x": lambda: 0.0 * x}


def _poisson(x: Any, rate: Any) -> Closed:
    return {"rate": lambda: x / rate - 1.0}


def _bernoulli(x: Any, p: Any) -> Closed:
    return {"p": lambda: x / p - (1.0 - x) / (1.0 - p)}


def _binomial(x: Any, n: Any, p: Any) -> Closed:
    return {"p": lambda: x / p - (n - x) / (1.0 - p)}


def _negative_binomial(x: Any, mean: Any, shape: Any) -> Closed:
    s = np.asarray(shape, dtype=np.float64)
    total = mean + s
    return {"mean": lambda: x / mean - (x + s) / total,
            "shape": lambda: digamma(x + s) - digamma(s) + np.log(s / total) + (mean - x) / total}  # fmt: skip


CLOSED_FORMS: dict[str, Callable[..., Closed]] = {
    "Normal": _normal, "StudentT": _student_t, "Laplace": _laplace, "Logistic": _logistic, "Cauchy": _cauchy,
    "HalfNormal": _half_normal, "HalfCauchy": _half_cauchy, "Exponential": _exponential, "Gamma": _gamma,
    "InverseGamma": _inverse_gamma, "LogNormal": _log_normal, "Beta": _beta, "Uniform": _uniform, "Flat": _flat,
    "Poisson": _poisson, "Bernoulli": _bernoulli, "Binomial": _binomial, "NegativeBinomial": _negative_binomial,
}  # fmt: skip
