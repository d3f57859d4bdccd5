"""log p of one number, and its slopes, in plain floats: a hyperprior costs 1 µs so, and 15 µs as arrays of no axis.

Each function takes x and the parameters and returns (log p, (slope by x, by each parameter)); it raises `ValueError`,
`ZeroDivisionError` or `OverflowError` off the domain, where the law's own density is asked instead.
"""

from __future__ import annotations

from collections.abc import Callable
from math import lgamma, log, log1p, pi, sqrt

__all__ = ["of_numbers"]

Slopes = tuple[float, ...]
HALF_LOG_2PI = 0.5 * log(2.0 * pi)
HALF_LOG_HALF_PI = 0.5 * log(0.5 * pi)
LOG_PI = log(pi)
LOG_2 = log(2.0)


def of_numbers(family: str, names: tuple[str, ...]) -> Callable[..., tuple[float, Slopes]] | None:
    """The function of a family given by these parameters."""
    return _TABLE.get((family, names))


def _normal(x: float, mean: float, sd: float) -> tuple[float, Slopes]:
    z = (x - mean) / sd
    return -0.5 * z * z - log(sd) - HALF_LOG_2PI, (-z / sd, z / sd, (z * z - 1.0) / sd)


def _half_normal(x: float, scale: float) -> tuple[float, Slopes]:
    sqrt(x)  # raises below 0
    z = x / scale
    return -0.5 * z * z - log(scale) - HALF_LOG_HALF_PI, (-z / scale, (z * z - 1.0) / scale)


def _cauchy(x: float, location: float, scale: float) -> tuple[float, Slopes]:
    z = (x - location) / scale
    pull = 2.0 * z / (1.0 + z * z)
    return -log1p(z * z) - log(scale) - LOG_PI, (-pull / scale, pull / scale, (pull * z - 1.0) / scale)


def _half_cauchy(x: float, scale: float) -> tuple[float, Slopes]:
    sqrt(x)
    value, (by_x, _, by_scale) = _cauchy(x, 0.0, scale)
    return value + LOG_2, (by_x, by_scale)


def _exponential(x: float, rate: float) -> tuple[float, Slopes]:
    sqrt(x)
    return log(rate) - rate * x, (-rate, 1.0 / rate - x)


def _log_normal(x: float, mu: float, sigma: float) -> tuple[float, Slopes]:
    y = log(x)
    value, (by_y, by_mu, by_sigma) = _normal(y, mu, sigma)
    return value - y, ((by_y - 1.0) / x, by_mu, by_sigma)


def _gamma(x: float, shape: float, rate: float) -> tuple[float, Slopes]:
    y, r = log(x), log(rate)
    value = shape * r - lgamma(shape) + (shape - 1.0) * y - rate * x
    return value, ((shape - 1.0) / x - rate, r - _digamma(shape) + y, shape / rate - x)


def _inverse_gamma(x: float, shape: float, scale: float) -> tuple[float, Slopes]:
    value, (by_y, by_shape, by_scale) = _gamma(1.0 / x, shape, scale)
    return value - 2.0 * log(x), (-by_y / (x * x) - 2.0 / x, by_shape, by_scale)


def _beta(x: float, a: float, b: float) -> tuple[float, Slopes]:
    y, z = log(x), log1p(-x)
    value = (a - 1.0) * y + (b - 1.0) * z + lgamma(a + b) - lgamma(a) - lgamma(b)
    total = _digamma(a + b)
    return value, ((a - 1.0) / x - (b - 1.0) / (1.0 - x), y + total - _digamma(a), z + total - _digamma(b))


def _digamma(x: float) -> float:
    """By the recurrence up to 10, and the asymptotic series there, whose next term is 2e-14 (x > 0)."""
    log(x)
    total = 0.0
    while x < 10.0:
        total -= 1.0 / x
        x += 1.0
    t = 1.0 / (x * x)
    series = t * (1 / 12 - t * (1 / 120 - t * (1 / 252 - t * (1 / 240 - t * (1 / 132 - t * (691 / 32760 - t / 12))))))
    return total + log(x) - 0.5 / x - series


_TABLE: dict[tuple[str, tuple[str, ...]], Callable[..., tuple[float, Slopes]]] = {
    ("Normal", ("mean", "sd")): _normal,
    ("HalfNormal", ("scale",)): _half_normal,
    ("Cauchy", ("location", "scale")): _cauchy,
    ("HalfCauchy", ("scale",)): _half_cauchy,
    ("Exponential", ("rate",)): _exponential,
    ("LogNormal", ("mu", "sigma")): _log_normal,
    ("Gamma", ("shape", "rate")): _gamma,
    ("InverseGamma", ("shape", "scale")): _inverse_gamma,
    ("Beta", ("a", "b")): _beta,
}
