"""Functions of one cell at a time: value, slope and range of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy

from credo.program.op import EVERYWHERE, Array, Bounds, Op, Static, aligned, binary, monotone, power, unary, unbroadcast

__all__ = ["ELEMENTWISE"]

ROOT_2PI = float(np.sqrt(2.0 * np.pi))
LOG_2 = float(np.log(2.0))


def _late(name: str) -> Any:
    """A function of `scipy.special`, a module that takes long to import, found when it is called."""
    return lambda x: getattr(scipy.special, name)(x)


_expit, _log_expit, _logit = _late("expit"), _late("log_expit"), _late("logit")
_ndtr, _log_ndtr, _ndtri = _late("ndtr"), _late("log_ndtr"), _late("ndtri")
_erf, _erfc, _gammaln, _digamma = _late("erf"), _late("erfc"), _late("gammaln"), _late("digamma")


def _falling(function: Any) -> Any:
    rising = monotone(function)
    return lambda low, high: rising(high, low)


def _within(function: Any, least: float, most: float) -> Any:
    """A rising function that is only defined between two numbers."""
    rising = monotone(function)
    return lambda low, high: rising(min(max(low, least), most), min(max(high, least), most))


def _log1mexp(x: Array) -> Array:
    """log(1 − eˣ), whose cancellation for small and for large |x| needs a formula each (Mächler 2012)."""
    return np.where(x > -LOG_2, np.log(-np.expm1(np.minimum(x, 0.0))), np.log1p(-np.exp(np.minimum(x, -LOG_2))))


def _density_by_ndtr(x: Array, out: Array) -> Array:
    """φ(x)/Φ(x), from logarithms."""
    return np.exp(-0.5 * x * x - out) / ROOT_2PI


def _greater(a: Array, b: Array) -> Array:
    """1 where a > b, ½ where they are equal: the middle of the slopes on either side."""
    return np.where(a == b, 0.5, a > b)


def _larger(a: Bounds, b: Bounds) -> Bounds:
    return max(a[0], b[0]), max(a[1], b[1])


def _smaller(a: Bounds, b: Bounds) -> Bounds:
    return min(a[0], b[0]), min(a[1], b[1])


def _where(values: Sequence[Array], lead: Sequence[bool], static: Static) -> Array:
    condition, a, b = aligned(values, lead)
    return np.where(condition != 0.0, a, b)


def _where_pull(g: Array, out: Array, values: Sequence[Array], static: Static) -> Sequence[Array | None]:
    condition, a, b = values
    chosen = condition != 0.0
    return None, unbroadcast(np.where(chosen, g, 0.0), a.shape), unbroadcast(np.where(chosen, 0.0, g), b.shape)


ELEMENTWISE: tuple[Op, ...] = (
    unary("exp", np.exp, lambda x, out: out, monotone(np.exp)),
    unary("log", np.log, lambda x, out: 1.0 / x, lambda a, b: monotone(np.log)(max(a, 0.0), max(b, 0.0))),
    unary("sqrt", np.sqrt, lambda x, out: 0.5 / out, lambda a, b: monotone(np.sqrt)(max(a, 0.0), max(b, 0.0))),
    unary("square", np.square, lambda x, out: 2.0 * x, lambda a, b: power((a, b), (2.0, 2.0)), "{0}²"),
    unary("abs", np.abs, lambda x, out: np.sign(x),
          lambda a, b: (0.0 if a <= 0.0 <= b else min(abs(a), abs(b)), max(abs(a), abs(b)))),
    unary("log1p", np.log1p, lambda x, out: 1.0 / (1.0 + x), monotone(lambda x: np.log1p(max(x, -1.0)))),
    unary("expm1", np.expm1, lambda x, out: out + 1.0, monotone(np.expm1)),
    unary("log1mexp", _log1mexp, lambda x, out: -1.0 / np.expm1(-x), lambda a, b: (-np.inf, 0.0)),
    # links and their inverses
    unary("expit", _expit, lambda x, out: out * (1.0 - out), monotone(_expit)),
    unary("log_expit", _log_expit, lambda x, out: scipy.special.expit(-x), monotone(_log_expit)),
    unary("logit", _logit, lambda x, out: 1.0 / (x * (1.0 - x)), _within(_logit, 0.0, 1.0)),
    unary("softplus", lambda x: np.logaddexp(0.0, x), lambda x, out: scipy.special.expit(x),
          monotone(lambda x: np.logaddexp(0.0, x))),
    unary("ndtr", _ndtr, lambda x, out: np.exp(-0.5 * x * x) / ROOT_2PI, monotone(_ndtr)),
    unary("log_ndtr", _log_ndtr, _density_by_ndtr, monotone(_log_ndtr)),
    unary("ndtri", _ndtri, lambda x, out: ROOT_2PI * np.exp(0.5 * out * out), _within(_ndtri, 0.0, 1.0)),
    unary("inv_cloglog", lambda x: -np.expm1(-np.exp(x)), lambda x, out: np.exp(x - np.exp(x)),
          monotone(lambda x: -np.expm1(-np.exp(x)))),
    unary("erf", _erf, lambda x, out: 2.0 / np.sqrt(np.pi) * np.exp(-x * x), monotone(_erf)),
    unary("erfc", _erfc, lambda x, out: -2.0 / np.sqrt(np.pi) * np.exp(-x * x), _falling(_erfc)),
    # circular and hyperbolic
    unary("sin", np.sin, lambda x, out: np.cos(x), lambda a, b: (-1.0, 1.0)),
    unary("cos", np.cos, lambda x, out: -np.sin(x), lambda a, b: (-1.0, 1.0)),
    unary("tan", np.tan, lambda x, out: 1.0 + out * out, lambda a, b: EVERYWHERE),
    unary("arcsin", np.arcsin, lambda x, out: 1.0 / np.sqrt(1.0 - x * x), _within(np.arcsin, -1.0, 1.0)),
    unary("arccos", np.arccos, lambda x, out: -1.0 / np.sqrt(1.0 - x * x), lambda a, b: (0.0, float(np.pi))),
    unary("arctan", np.arctan, lambda x, out: 1.0 / (1.0 + x * x), monotone(np.arctan)),
    unary("sinh", np.sinh, lambda x, out: np.cosh(x), monotone(np.sinh)),
    unary("cosh", np.cosh, lambda x, out: np.sinh(x), lambda a, b: (1.0, np.inf)),
    unary("tanh", np.tanh, lambda x, out: 1.0 - out * out, monotone(np.tanh)),
    binary("arctan2", np.arctan2, lambda g, out, a, b: (g * b / (a * a + b * b), -g * a / (a * a + b * b)),
           lambda a, b: (-float(np.pi), float(np.pi)), "arctan2({0}, {1})"),
    # factorials
    unary("gammaln", _gammaln, lambda x, out: scipy.special.digamma(x), lambda a, b: EVERYWHERE, "log Γ({0})"),
    unary("digamma", _digamma, lambda x, out: scipy.special.polygamma(1, x),
          lambda a, b: monotone(_digamma)(a, b) if a > 0.0 else EVERYWHERE),
    # choices
    binary("maximum", np.maximum, lambda g, out, a, b: (g * _greater(a, b), g * _greater(b, a)), _larger,
           "maximum({0}, {1})"),
    binary("minimum", np.minimum, lambda g, out, a, b: (g * _greater(b, a), g * _greater(a, b)), _smaller,
           "minimum({0}, {1})"),
    binary("logaddexp", np.logaddexp, lambda g, out, a, b: (g * np.exp(a - out), g * np.exp(b - out)),
           lambda a, b: (float(np.logaddexp(a[0], b[0])), float(np.logaddexp(a[1], b[1]))), "logaddexp({0}, {1})"),
    Op("where", _where, _where_pull,
       lambda ranges, static: (min(ranges[1][0], ranges[2][0]), max(ranges[1][1], ranges[2][1])), True),
)  # fmt: skip
