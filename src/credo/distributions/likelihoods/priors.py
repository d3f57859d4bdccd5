"""Default priors of auxiliary parameters: log density of u = log(parameter), Jacobian included, and two derivatives.

Each is log-concave in u, so that a mode on the line exists and is one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from credo.distributions.base import Family

__all__ = ["Derivatives", "along_line", "degrees_of_freedom", "flat", "half_normal_inverse_root"]

Derivatives = Callable[[Any], tuple[Any, Any, Any]]

# A fourth-order stencil: truncation h⁴ f⁽⁶⁾/90 and rounding ε f/h² are both near 1e-10 for a density of unit scale.
STEP = 0.01


def flat(u: Any) -> tuple[Any, Any, Any]:
    """p(u) ∝ 1: 1/σ for a scale σ, which keeps inferences free of y's units. Improper: the data must fix σ."""
    zero = np.zeros(np.shape(u))
    return zero, zero, zero


def half_normal_inverse_root(u: Any) -> tuple[Any, Any, Any]:
    """φ^(−½) ~ HalfNormal(1): of a shape or dispersion φ, whose φ^(−½) is the coefficient of variation it adds.

    It spreads from none (φ = ∞, the Poisson or the noiseless limit, where its density is finite) to a few times the
    mean. Flat priors on φ or log φ are improper in that limit, and the data cannot mend them.

    Reference: Simpson, Rue, Riebler, Martins and Sørbye (2017), Penalising model component complexity, Stat. Sci. 32.
    """
    with np.errstate(over="ignore"):
        half = 0.5 * np.exp(-np.asarray(u, dtype=np.float64))
    return 0.5 * np.log(0.5 / np.pi) - half - 0.5 * u, half - 0.5, -half


def degrees_of_freedom(u: Any) -> tuple[Any, Any, Any]:
    """ν ~ Gamma(shape 2, rate 0.1): mean 20, its mass from heavy tails to nearly Normal.

    Reference: Juárez and Steel (2010), Model-based clustering of non-Gaussian panel data, JBES 28.
    """
    with np.errstate(over="ignore"):
        tenth = 0.1 * np.exp(np.asarray(u, dtype=np.float64))
    return 2.0 * np.log(0.1) + 2.0 * u - tenth, 2.0 - tenth, -tenth


def along_line(prior: Family) -> Derivatives:
    """A family of the natural parameter, as a density of its logarithm; derivatives by fourth-order differences.

    Where the density or a neighbour of it is zero the derivatives are given as 0: a search stops there.
    """

    def density(u: Any) -> tuple[Any, Any, Any]:
        u = np.asarray(u, dtype=np.float64)
        points = u + STEP * np.arange(-2.0, 3.0).reshape(-1, *(1,) * u.ndim)
        with np.errstate(all="ignore"):
            f = np.asarray(prior.log_prob(np.exp(points)) + points, dtype=np.float64)
            first = (f[0] - 8.0 * f[1] + 8.0 * f[3] - f[4]) / (12.0 * STEP)
            second = (-f[0] + 16.0 * f[1] - 30.0 * f[2] + 16.0 * f[3] - f[4]) / (12.0 * STEP**2)
        return f[2], np.where(np.isfinite(first), first, 0.0), np.where(np.isfinite(second), second, 0.0)

    return density
