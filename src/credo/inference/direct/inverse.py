"""Inversion: y = F⁻¹(u) with u uniform, from a quantile function, a distribution function or a density."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from credo.distributions.support import Support
from credo.errors import ConvergenceWarning, DataError, NumericalError, ParameterError, warn
from credo.inference.direct.densities import as_line_density, check_size, checked_start, interval
from credo.inference.direct.piecewise import invert_density
from credo.inference.direct.records import DirectDraws
from credo.inference.result import Result
from credo.numerics.inversion import boundary, invert_cdf
from credo.numerics.random import as_generator

__all__ = ["inversion", "U_ERROR"]

#: the error in u aimed at: a Kolmogorov–Smirnov test would need 10^19 draws to see it
U_ERROR = 1e-10


def inversion(
    *,
    quantile: Callable[[np.ndarray], Any] | None = None,
    cdf: Callable[[np.ndarray], Any] | None = None,
    log_density: Any = None,
    support: Support | tuple[float, float] | None = None,
    size: int,
    rng: Any = None,
    start: float | None = None,
    breaks: Sequence[float] = (),
) -> DirectDraws:
    """Independent draws of one number by y = F⁻¹(u), u ~ U(0, 1).

    Parameters
    ----------
    quantile : F⁻¹, u (n,) → (n,).
    cdf : F, x (n,) → (n,); inverted to the spacing of floats. Jumps are found: the draw is the smallest x with
        F(x) ≥ u.
    log_density : log p̃, x (n,) → (n,), up to a constant; or a distribution. Integrated and inverted as a piecewise
        Chebyshev series. The log evidence log ∫ p̃ comes with it.
    support : `Support` or (low, high); None is the distribution's own, or the real line.
    size : number of draws.
    rng : seed or generator.
    start : a point where the density is positive, if the middle of the support (0, or 1 from its end) does not lead to
        one.
    breaks : where to cut: kinks, jumps, and narrow modes far from the others.

    Returns
    -------
    DirectDraws of "x", whose certificate holds `u_error`: a bound on |F(y) − u|, measured for a cdf, for a density
    estimated from series that are checked between their nodes, and NaN for a quantile function, which is believed.

    Raises
    ------
    ParameterError : not exactly one function; an empty support. DataError : F or F⁻¹ out of range, NaN or falling.
    NumericalError : a density that is NaN, infinite, zero everywhere or improper, or whose mass lies on a scale beyond
        floating point's reach from `start`.

    Warns
    -----
    ConvergenceWarning : the error in u may exceed 1e-10, as near a pole that floats cannot resolve.

    Cost: a cdf takes some 15 evaluations a draw, a density a few thousand in all, then 2 µs a draw.

    Reference: Devroye (1986), Non-Uniform Random Variate Generation, chapter 2.

    Examples
    --------
    >>> draws = inversion(log_density=lambda x: -0.5 * x**2, size=1000, rng=0)
    >>> draws.result.certificate["u_error"] < 1e-10
    True
    >>> abs(draws.log_evidence - 0.5 * np.log(2.0 * np.pi)) < 1e-10
    np.True_
    """
    given = [name for name, f in (("quantile", quantile), ("cdf", cdf), ("log_density", log_density)) if f is not None]
    if len(given) != 1:
        raise ParameterError("inversion", "function", "exactly one of quantile, cdf and log_density", given)
    size = check_size("inversion", size)
    for name, f in (("quantile", quantile), ("cdf", cdf)):
        if f is not None and not callable(f):
            raise ParameterError("inversion", name, "a function of an array (n,)", f)
    density = None if log_density is None else as_line_density("inversion", log_density)
    low, high = interval("inversion", support, log_density)
    start = checked_start("inversion", start, low, high)
    cuts = _checked_breaks(breaks)
    began = time.perf_counter()
    # Both 0 and 1 are avoided: their images are the ends of the support, perhaps infinite.
    u = np.maximum(as_generator(rng).random(size), 2.0**-54)
    x, u_error = u, float("nan")
    log_evidence, evidence_error, advice = float("nan"), float("nan"), ()
    if quantile is not None:
        x = _checked(quantile(u), size, "quantile")
    elif cdf is not None:
        x, u_error = _from_cdf(cdf, u, low, high)
    elif density is not None:
        inverse = invert_density(density, low, high, start, cuts)
        if not inverse.u_error < 1.0:
            raise NumericalError(
                f"inversion: the mass of the density cannot be resolved (the error in u may be {inverse.u_error:.1e}).",
                value=inverse.u_error,
                remedy="It has a pole that is not integrable, or too steep for floats: name poles in breaks=, or give "
                "the cdf or the quantile function.",
            )
        x, u_error = inverse.quantile(u), inverse.u_error
        log_evidence, evidence_error = inverse.log_normaliser, u_error
    if u_error > U_ERROR:
        advice = (
            f"the error in u may be {u_error:.1e} (> {U_ERROR:g}). Name kinks, jumps and poles in breaks=, or give the "
            "quantile function.",
        )
        warn(f"inversion: {advice[0]}", ConvergenceWarning)
    seconds = (time.perf_counter() - began,)
    status = "not_certified" if advice else "converged"
    result = Result(status, "inversion", (), seconds, {"u_error": u_error}, advice)
    joint = None if density is None else density.log_prob
    return DirectDraws({"x": x[None]}, result, density=joint, log_evidence=log_evidence,
                       log_evidence_error=evidence_error)  # fmt: skip


def _checked_breaks(breaks: Any) -> np.ndarray:
    try:
        cuts = np.asarray(breaks, dtype=np.float64)
    except (TypeError, ValueError):
        cuts = np.array([np.nan])
    if cuts.ndim != 1 or not np.all(np.isfinite(cuts)):
        raise ParameterError("inversion", "breaks", "finite numbers (n,)", breaks)
    return cuts


def _checked(x: Any, size: int, name: str) -> np.ndarray:
    try:
        x = np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError("inversion", name, f"a function that returns {size} numbers for {size}", x) from None
    if x.shape != (size,):
        raise ParameterError("inversion", name, f"vectorised: ({size},) for {size} numbers", x)
    if not np.all(np.isfinite(x)):
        bad = int(np.flatnonzero(~np.isfinite(x))[0])
        raise DataError(f"inversion: {name} returned {x[bad]} (draw {bad}).", rows=[bad], value=x[bad])
    return x


def _from_cdf(cdf: Callable, u: np.ndarray, low: float, high: float) -> tuple[np.ndarray, float]:
    """Quantiles of u, and the largest |F(x) − u| away from jumps."""

    def values(x: np.ndarray) -> np.ndarray:
        found = _checked(cdf(x), x.size, "cdf")
        if np.any((found < 0.0) | (found > 1.0)):
            bad = int(np.argmax((found < 0.0) | (found > 1.0)))
            raise DataError(f"inversion: cdf({x[bad]:.6g}) = {found[bad]:.6g} is not in [0, 1].", value=found[bad])
        return found

    a, b = _bracket(values, u, low, high)
    at_low = float(values(a[:1])[0])
    if at_low > 0.0 and np.any(u <= at_low):  # an atom at the low end, such as the zeros of a zero-inflated law
        atom = u <= at_low
        x, missed = a.copy(), 0.0
        if not atom.all():
            x[~atom], missed = _between(values, u[~atom], a[~atom], b[~atom])
    else:
        x, missed = _between(values, u, a, b)
    order = np.argsort(u, kind="stable")
    falls = np.flatnonzero(np.diff(x[order]) < -64.0 * np.spacing(np.abs(x[order][1:])))
    if falls.size:
        first, then = order[falls[0]], order[falls[0] + 1]
        raise DataError(
            f"inversion: the cdf is not monotone: it is {u[first]:.6g} at {x[first]:.6g} and {u[then]:.6g} at "
            f"{x[then]:.6g}.",
            value=(x[first], x[then]),
        )
    return x, missed


def _between(values: Callable, u: np.ndarray, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, float]:
    """The same between finite ends (n,) that bracket every quantile."""
    try:
        x = invert_cdf(values, u, a, b)
    except NumericalError:  # a jump at 0, whose neighbours are more halvings away than any other number's
        x = boundary(lambda t: values(t) >= u, a, b)
    missed = np.abs(values(x) - u)
    jumps = np.flatnonzero(missed > 0.1 * U_ERROR)
    if jumps.size:
        at, level = x[jumps], u[jumps]
        gap = 64.0 * np.spacing(np.abs(at)) + 1e-300
        below, above = values(at - gap), values(at + gap)
        if np.any((below > level) | (above < level)):
            bad = int(np.argmax((below > level) | (above < level)))
            raise DataError(
                f"inversion: the cdf is not monotone near {at[bad]:.6g}: {below[bad]:.6g} before and {above[bad]:.6g} "
                f"after, on looking for {level[bad]:.6g}.",
                value=at[bad],
            )
        x[jumps] = boundary(lambda t: values(t) >= level, at - gap, at + gap)
        missed[jumps] = 0.0
    return x, float(missed.max())


def _bracket(values: Callable, u: np.ndarray, low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    """Finite ends (n,) between which F crosses each u: the given ones, or found by doubling from the middle."""
    centre = 0.0 if low == -np.inf and high == np.inf else low + 1.0 if high == np.inf else high - 1.0
    ends = []
    for end, sign, extreme in ((low, -1.0, float(u.min())), (high, 1.0, float(u.max()))):
        reach = 1.0
        while not np.isfinite(end):
            trial = centre + sign * reach
            at = float(values(np.array([trial]))[0])
            if (at < extreme) if sign < 0 else (at >= extreme):
                end = trial
            reach *= 2.0
            if reach > 1e300:
                raise DataError(
                    f"inversion: the cdf never passes {extreme:.3g} towards {sign * np.inf}.", value=(trial, at)
                )
        ends.append(end)
    at_low, at_high = (float(values(np.array([end]))[0]) for end in ends)
    if at_high < u.max() or at_low > at_high:
        raise DataError(
            f"inversion: the cdf is {at_low:.6g} at {ends[0]:.6g} and {at_high:.6g} at {ends[1]:.6g}, and must rise "
            "from 0 to 1 over the support.",
            value=(at_low, at_high),
        )
    return np.full(u.size, ends[0]), np.full(u.size, ends[1])
