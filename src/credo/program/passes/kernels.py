"""Laws as powers of one positive parameter s: log p = A log s − B s^k + what is free of s.

law                       s        A         B                k
Normal(m, s)              sd       −1        ½ (x − m)²       −2
HalfNormal(s)             scale    −1        ½ x²             −2
LogNormal(m, s)           sigma    −1        ½ (log x − m)²   −2
Laplace(m, s)             scale    −1        |x − m|          −1
Poisson(s)                rate     x         1                1
Exponential(s)            rate     1         x                1
Gamma(a, s)               rate     a         x                1
InverseGamma(a, s)        scale    a         1/x              1
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from credo.program.model import Factor
from credo.program.nodes import Node, apply, as_node

__all__ = ["Kernel", "kernel_of"]


@dataclass(frozen=True, eq=False)
class Kernel:
    """A law as exp(A log s − B s^k): the parameter's name, A, k, and B s^k at the present values, one a cell."""

    parameter: str
    a: Node
    k: float
    b: Node


def kernel_of(factor: Factor) -> Kernel | None:
    """None for laws that are not of the table."""
    rule = _KERNELS.get(type(factor.law).__name__)
    return None if rule is None else rule(factor.law, factor.node)


def _normal(law: Any, x: Node) -> Kernel:
    return Kernel("sd", as_node(-1.0), -2.0, 0.5 * apply("square", (x - law.mean) / law.sd))


def _half_normal(law: Any, x: Node) -> Kernel:
    return Kernel("scale", as_node(-1.0), -2.0, 0.5 * apply("square", x / law.scale))


def _log_normal(law: Any, x: Node) -> Kernel:
    return Kernel("sigma", as_node(-1.0), -2.0, 0.5 * apply("square", (apply("log", x) - law.mu) / law.sigma))


def _laplace(law: Any, x: Node) -> Kernel:
    return Kernel("scale", as_node(-1.0), -1.0, apply("abs", (x - law.mean) / law.scale))


def _poisson(law: Any, x: Node) -> Kernel:
    return Kernel("rate", x, 1.0, as_node(law.rate))


def _exponential(law: Any, x: Node) -> Kernel:
    return Kernel("rate", as_node(1.0), 1.0, x * law.rate)


def _gamma(law: Any, x: Node) -> Kernel:
    return Kernel("rate", as_node(law.shape), 1.0, x * law.rate)


def _inverse_gamma(law: Any, x: Node) -> Kernel:
    return Kernel("scale", as_node(law.shape), 1.0, apply("divide", law.scale, x))


_KERNELS: dict[str, Callable[[Any, Node], Kernel]] = {
    "Normal": _normal, "HalfNormal": _half_normal, "LogNormal": _log_normal, "Laplace": _laplace, "Poisson": _poisson,
    "Exponential": _exponential, "Gamma": _gamma, "InverseGamma": _inverse_gamma,
}  # fmt: skip
