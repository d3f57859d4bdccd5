"""Expectations under a scalar family by quadrature or summation: the fallback where no closed form exists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from credo.distributions.scalar import ScalarFamily, member
from credo.errors import NumericalError

__all__ = ["integrate", "expect", "entropy", "each"]

#: nodes a panel: exact for polynomials of degree 31
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)

#: open panels at once: an integrand of pure rounding noise halves all of them for ever
_MOST_PANELS = 4096

#: probability left out at each end of a sum over integers
_TAIL = 1e-25

#: integers summed one by one before the sum is continued as an integral
_EXACT = 4096


def integrate(f: Callable[[np.ndarray], np.ndarray], edges: Any, tolerance: float = 1e-12, floor: float = 0.0) -> Any:
    """∫ f over [edges[0], edges[-1]], by Gauss–Legendre panels halved until they agree with their halves.

    f maps nodes (n,) to values (n, ...); edges mark panels and kinks. A panel is done at an error of `tolerance`
    relative to ∫|f|, or of `floor`. Raises `NumericalError` where panels still
    disagree after 60 halvings, or are too many.
    """

    def panels(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        nodes = low[:, None] + 0.5 * (high - low)[:, None] * (1.0 + _NODES)
        values = np.asarray(f(nodes.ravel()), dtype=np.float64)
        values = values.reshape(nodes.shape + values.shape[1:])
        scaled = np.tensordot(values, _WEIGHTS, axes=(1, 0))
        size = np.tensordot(np.abs(values), _WEIGHTS, axes=(1, 0))
        half = (0.5 * (high - low)).reshape((-1,) + (1,) * (scaled.ndim - 1))
        return scaled * half, size * half

    edges = np.asarray(edges, dtype=np.float64)
    low, high = edges[:-1], edges[1:]
    coarse, size = panels(low, high)
    total, scale = np.zeros(coarse.shape[1:]), size.sum(0)
    for _ in range(60):
        if not np.all(np.isfinite(scale)) or len(low) > _MOST_PANELS:
            break
        middle = 0.5 * (low + high)
        left, _size = panels(low, middle)
        right, _size = panels(middle, high)
        error = np.abs(left + right - coarse)
        # NaN compares false, so that an undefined integrand is never declared converged
        good = (
            np.all((error <= tolerance * scale + floor).reshape(len(low), -1), axis=1)
            | (middle <= low)
            | (middle >= high)
        )
        total = total + np.sum((left + right)[good], axis=0)
        if np.all(good):
            return total[()]
        bad = ~good
        low, high = np.concatenate([low[bad], middle[bad]]), np.concatenate([middle[bad], high[bad]])
        coarse = np.concatenate([left[bad], right[bad]])
    raise NumericalError(
        f"An integral did not reach relative accuracy {tolerance:g}; the integrand may be infinite or undefined.",
        value=total,
    )


def expect(family: Any, g: Callable[[Any], Any], tolerance: float = 1e-12, floor: float = 0.0) -> Any:
    """E[g(X)], of the family's batch shape; g works elementwise and its expectation must be finite.

    Continuous: ∫₀^½ g(Q(u)) + g(Q̄(u)) du with the quantile from either end, u = e⁻ᵗ/2. Discrete: the sum over the
    integers. About 1e-11 relative to E|g(X)| for smooth g; a feature of g narrower than a hundredth of the family's sd
    can be missed.
    """
    if family.support.is_discrete:
        return each(family, lambda one: _lattice_sum(one, g))
    return _over_reals(family, g, tolerance, floor)


def entropy(family: Any) -> Any:
    """−E[log p(X)] in nats."""
    return each(family, lambda one: 0.0 - expect(one, one.log_prob))


def _over_reals(family: Any, g: Callable[[Any], Any], tolerance: float, floor: float) -> Any:
    batch = (1,) * len(family.batch_shape)
    # a quantile that rounds to an end of the support must not meet the density's zero or pole there
    low, high = np.asarray(family.support.low, dtype=float), np.asarray(family.support.high, dtype=float)
    inside = (
        np.where(np.isfinite(low), np.nextafter(low, np.inf), low),
        np.where(np.isfinite(high), np.nextafter(high, -np.inf), high),
    )

    def integrand(t: np.ndarray) -> np.ndarray:
        weight = 0.5 * np.exp(-t).reshape((-1, *batch))
        with np.errstate(over="ignore", invalid="ignore"):
            lower = np.clip(family.quantile(weight), *inside)
            upper = np.clip(family.upper_quantile(weight), *inside)
            value = weight * (g(lower) + g(upper))
        # so far out quantiles may overflow, and a finite expectation has nothing left there
        return np.where((weight < 1e-80) & ~np.isfinite(value), 0.0, value)

    centre = integrate(integrand, (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 200.0), tolerance, floor)
    tail = integrate(integrand, (200.0, 300.0, 690.0), 1e-6, tolerance * float(np.max(np.abs(centre))) + floor)
    if np.any(np.abs(tail) > 0.01 * np.abs(centre) + floor):
        raise NumericalError(
            "An expectation has most of its value beyond the quantile of 1e-87, and may be infinite.",
            value=centre + tail,
        )
    return centre + tail


def _lattice_sum(family: Any, g: Callable[[Any], Any]) -> float:
    """Σ p(k) g(k) over the integers that carry all but 2e-25 of the probability."""

    def term(k: np.ndarray) -> np.ndarray:
        log_p = family.log_prob(k)
        charged = log_p > -np.inf
        return np.where(charged, np.exp(log_p) * g(np.where(charged, k, centre)), 0.0)

    centre = family.quantile(0.5)
    first, last = float(family.quantile(_TAIL)), float(family.upper_quantile(_TAIL))
    if not np.isfinite(family.support.high):
        return _run(term, first, last + 1.0, 1.0)
    # a mass bounded above may rise steeply at either end: start a run at both
    middle = np.floor(0.5 * (first + last))
    return _run(term, first, middle + 1.0, 1.0) + _run(term, last, middle, -1.0)


def _run(term: Callable[[np.ndarray], np.ndarray], first: float, stop: float, direction: float) -> float:
    """Σ term(k), k from `first` up (or down) to just before `stop`, for terms that vary steeply only near `first`.

    One by one near `first`; then in strides s of 1/512 of the distance covered, by Euler–Maclaurin:
    Σ_{a ≤ k < b} h(k) = s Σ_i h(a + i s) + (s − 1)/2 [h] − (s² − 1)/12 [h′], [·] the difference from a to b. The next
    term is of order 512⁻⁴/720.
    """
    count = abs(stop - first)
    done = min(count, _EXACT)
    total = float(np.sum(term(first + direction * np.arange(done))))
    while done < count:
        stride = max(1.0, np.floor(min(done, count - done) / 512.0))
        size = min(512.0, count - done)
        ends = first + direction * (done + np.array([0.0, size * stride]))
        total += stride * float(np.sum(term(first + direction * (done + stride * np.arange(size)))))
        if stride > 1.0:
            slopes = 0.5 * (term(ends + direction) - term(ends - direction))
            total += 0.5 * (stride - 1.0) * float(np.diff(term(ends))[0])
            total -= (stride * stride - 1.0) / 12.0 * float(np.diff(slopes)[0])
        done += size * stride
    return total


def each(family: ScalarFamily, function: Callable[[Any], Any]) -> Any:
    """`function` of every element of a batch, as an array of the batch shape."""
    shape = family.batch_shape
    if not shape:
        return function(family)
    out = np.empty(shape)
    for index in np.ndindex(shape):
        out[index] = function(member(family, shape, index))
    return out
