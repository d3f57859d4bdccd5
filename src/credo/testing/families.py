"""The contract of a scalar family, as checks that run on any instance, yours included.

    import pytest
    from credo.testing.families import SCALAR_CHECKS, check_fit

    @pytest.mark.parametrize("check", SCALAR_CHECKS)
    def test_contract(check):
        check(MyFamily(2.0, 3.0))

Every check compares the family with itself by another road: the cdf with the integral of the density, moments and
entropy with quadrature in x, quantiles with the cdf, draws with the cdf. Statistical checks fix their seed; over fresh
seeds each would fail a right family with probability `FALSE_ALARM` at most.
"""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from credo.distributions.base import is_concrete
from credo.distributions.expectation import integrate
from credo.distributions.flat import Flat
from credo.errors import ParameterError

__all__ = [
    "SCALAR_CHECKS",
    "FALSE_ALARM",
    "check_scalar_family",
    "check_fit",
    "check_from_moments",
    "check_bad_parameters",
]

FALSE_ALARM = 1e-6

#: probabilities at which tails are compared
_LEVELS = np.array([1e-12, 1e-6, 1e-3, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 0.999])


def _close(actual: Any, expected: Any, rtol: float, atol: float = 0.0, what: str = "") -> None:
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=atol, err_msg=what)


def check_identity(family: Any) -> None:
    """Equal to its copies, with the same hash and repr, and different from another type."""
    for twin in (copy.copy(family), copy.deepcopy(family), pickle.loads(pickle.dumps(family))):
        assert twin == family
        assert repr(twin) == repr(family)
        if all(is_concrete(v) for v in family.parameters.values()):
            assert hash(twin) == hash(family)
    assert family != Flat() or isinstance(family, Flat)
    name = next(iter(family.parameters), None)
    if name is not None:
        try:
            setattr(family, name, 1.0)
        except AttributeError:
            pass
        else:
            raise AssertionError("a family must be frozen")


def check_support(family: Any) -> None:
    """−∞ outside the support, NaN for NaN, cdf 0 and 1 at the ends, lists like arrays, levels beyond [0, 1] refused."""
    low, high = np.min(family.support.low), np.max(family.support.high)
    outside = [low - 1.0] * bool(np.isfinite(low)) + [high + 1.0] * bool(np.isfinite(high)) + [-np.inf, np.inf]
    if family.support.is_discrete:
        outside.append(low + 0.5)
    for x in outside:
        assert np.all(np.asarray(family.log_prob(x)) == -np.inf), f"log_prob({x}) must be -inf"
    for function in (family.log_prob, family.cdf, family.survival, family.quantile, family.upper_quantile):
        assert np.all(np.isnan(function(np.nan))), f"{function.__name__}(nan) must be nan"
    np.testing.assert_array_equal([family.cdf(-np.inf), family.cdf(np.inf)], [0.0, 1.0])
    np.testing.assert_array_equal([family.survival(-np.inf), family.survival(np.inf)], [1.0, 0.0])
    x = float(family.quantile(0.4))
    assert np.isfinite(family.log_prob(x))
    np.testing.assert_array_equal(family.log_prob([x]), [family.log_prob(x)])
    for function in (family.quantile, family.upper_quantile):
        for q in (-0.1, 1.1):
            error = _parameter_error(function, q)
            assert error is not None, f"{function.__name__}({q}) must raise ParameterError"
            assert (error.parameter, float(error.value)) == ("q", q)


def check_quantiles(family: Any) -> None:
    """cdf ∘ quantile and survival ∘ upper_quantile are the identity near 0 and 1; both tails add up to 1."""
    for forward, back, sign in ((family.cdf, family.quantile, 1), (family.survival, family.upper_quantile, -1)):
        x = back(_LEVELS)
        assert np.all(sign * np.diff(x) >= 0), f"{back.__name__} is not monotone"
        if family.support.is_discrete:
            reached, before = sign * (forward(x) - _LEVELS) >= 0, sign * (forward(x - 1) - _LEVELS) < 0
            assert np.all(reached & (before | (x == family.support.low))), f"{back.__name__}({_LEVELS}) = {x}"
        else:
            # rounding x to the nearest double moves the cdf by density × spacing
            slack = family.prob(x) * np.spacing(np.abs(x)) / _LEVELS
            ratio = forward(x) / _LEVELS
            assert np.all(np.abs(ratio - 1.0) <= 1e-9 + 2.0 * slack), f"{back.__name__}: {ratio}"
    x = family.quantile(_LEVELS)
    _close(family.cdf(x) + family.survival(x), np.ones(np.shape(x)), 1e-12, what="cdf + survival")
    np.testing.assert_array_equal([family.quantile(0.0), family.upper_quantile(1.0)], [family.support.low] * 2)
    if not family.support.is_discrete:
        assert np.all(family.quantile(1.0) == family.support.high)
    np.testing.assert_array_equal(family.median, family.quantile(0.5))


def _pieces(family: Any) -> np.ndarray:
    """Edges for quadrature in x: quantiles from either tail, so that no scale is missed."""
    tails = np.array([1e-15, 1e-12, 1e-9, 1e-6, 1e-4, 1e-3, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4])
    edges = np.concatenate([family.quantile(tails), [family.quantile(0.5)], family.upper_quantile(tails)])
    return np.unique(edges)


def check_density(family: Any) -> None:
    """The density (mass) integrates (sums) to the differences of the cdf: to 1 in all."""
    if family.support.is_discrete:
        k = np.arange(family.quantile(1e-14), family.upper_quantile(1e-14) + 1.0)
        _close(np.cumsum(family.prob(k)), family.cdf(k), 1e-9, 1e-13, "sum of the mass")
        return
    edges = _pieces(family)
    for a, b in pairwise(edges):
        area = _area(family.prob, a, b, 1e-10)
        difference = family.cdf(b) - family.cdf(a) if family.cdf(b) < 0.5 else family.survival(a) - family.survival(b)
        # differences of a cdf near its plateau carry the rounding of the ends
        slack = 1e-15 + 2.0 * family.prob(a) * np.spacing(abs(a)) + 2.0 * family.prob(b) * np.spacing(abs(b))
        assert abs(area - difference) <= 1e-8 * difference + slack, (
            f"density over [{a}, {b}]: {area}, cdf: {difference}"
        )


def _area(f: Callable[[np.ndarray], np.ndarray], a: float, b: float, tolerance: float) -> float:
    """∫ f from a to b, in log x where the ends differ by orders of magnitude."""
    if a > 0 and b > 10.0 * a:
        return float(integrate(lambda t: f(np.exp(t)) * np.exp(t), np.linspace(np.log(a), np.log(b), 9), tolerance))
    return float(integrate(f, [a, 0.5 * (a + b), b], tolerance))


def _integral(family: Any, g: Callable[[np.ndarray], np.ndarray]) -> float:
    """E[g(X)] by summation or by quadrature in x over the central 1 − 2e-15."""
    if family.support.is_discrete:
        k = np.arange(family.quantile(1e-18), family.upper_quantile(1e-18) + 1.0)
        k = k[family.prob(k) > 0]
        return float(np.sum(family.prob(k) * g(k)))
    edges = _pieces(family)
    return sum(_area(lambda x: family.prob(x) * g(x), a, b, 1e-10) for a, b in pairwise(edges))


def check_moments(family: Any, rtol: float = 1e-6) -> None:
    """mean and variance against integrals of the density (where the variance is finite), sd = √variance."""
    mean, variance = family.mean, family.variance
    assert np.shape(variance) == family.batch_shape
    np.testing.assert_array_equal(family.sd, np.sqrt(variance))
    if np.isfinite(variance):
        # what the tails beyond 1e-15 hold is below 1e-6 of the variance unless the 4th moment is near infinite
        _close(_integral(family, lambda x: x), mean, rtol, rtol * float(family.sd), "mean")
        _close(_integral(family, lambda x: np.square(x - mean)), variance, 10 * rtol, 0.0, "variance")


def check_entropy(family: Any) -> None:
    """entropy against −∫ p log p."""
    assert np.shape(family.entropy) == family.batch_shape
    _close(_integral(family, lambda x: -family.log_prob(x)), family.entropy, 1e-8, 1e-8, "entropy")


def check_draws(family: Any, n: int = 20_000, seed: int = 20240607) -> None:
    """Draws follow the cdf: the Dvoretzky–Kiefer–Wolfowitz bound at `FALSE_ALARM`; the same seed, the same draws."""
    x = family.sample(n, seed)
    np.testing.assert_array_equal(x, family.sample(n, seed))
    assert np.all(family.support.contains(x)), "draws outside the support"
    values, counts = np.unique(x, return_counts=True)
    empirical = np.cumsum(counts) / n
    bound = math.sqrt(math.log(2.0 / FALSE_ALARM) / (2.0 * n))
    below = empirical - counts / n
    left = family.cdf(values - 1.0) if family.support.is_discrete else family.cdf(values)
    distance = max(np.max(np.abs(empirical - family.cdf(values))), np.max(np.abs(below - left)))
    assert distance <= bound, f"Kolmogorov distance {distance:.4f} > {bound:.4f}"


def check_shapes(family: Any) -> None:
    """draws: size + batch; densities and cdf broadcast x against the batch; a batch of copies gives copies."""
    for size in ((), (3,), (2, 3)):
        assert np.shape(family.sample(size if size else None, 0)) == size + family.batch_shape
    assert np.shape(family.sample(4, 0)) == (4, *family.batch_shape)
    batch = family._map(lambda v, k: np.broadcast_to(v, (2, 1, *np.shape(v)[np.ndim(v) - k :])).copy())
    assert batch.batch_shape == (2, 1)
    q = np.array([0.2, 0.6, 0.9])
    x = family.quantile(q)
    for name, argument in (("log_prob", x), ("cdf", x), ("survival", x), ("quantile", q), ("upper_quantile", q)):
        one, many = getattr(family, name)(argument), getattr(batch, name)(argument)
        assert (np.shape(one), np.shape(many)) == ((3,), (2, 3)), name
        _close(many, np.broadcast_to(one, (2, 3)), 1e-13, 1e-300, name)
    for name in ("mean", "variance", "sd", "entropy", "median"):
        one, many = getattr(family, name), getattr(batch, name)
        _close(many, np.full((2, 1), one), 1e-12, 1e-300, name)
    assert np.shape(batch.sample(5, 0)) == (5, 2, 1)
    low, high = family.interval(0.5)
    assert (low, high) == (family.quantile(0.25), family.quantile(0.75))


SCALAR_CHECKS: tuple[Callable[[Any], None], ...] = (
    check_identity,
    check_support,
    check_quantiles,
    check_density,
    check_moments,
    check_entropy,
    check_draws,
    check_shapes,
)


def check_scalar_family(family: Any) -> None:
    """All of `SCALAR_CHECKS` on one concrete scalar instance."""
    for check in SCALAR_CHECKS:
        check(family)


def check_bad_parameters(make: Callable[..., Any], good: dict[str, Any], bad: dict[str, list[Any]]) -> None:
    """Each bad value raises `ParameterError` with owner, parameter and value; NaN is always bad."""
    owner = type(make(**good)).__name__
    for name, values in bad.items():
        for value in [*values, np.nan]:
            error = _parameter_error(make, **{**good, name: value})
            assert error is not None, f"{owner}({name}={value!r}) must raise ParameterError"
            assert (error.owner, error.parameter) == (owner, name), str(error)
            assert error.value is value or np.array_equal(error.value, value), error.value


def _parameter_error(function: Callable[..., Any], *values: Any, **named: Any) -> ParameterError | None:
    try:
        function(*values, **named)
    except ParameterError as error:
        return error
    return None


def check_fit(
    family: Any, draws: int = 400, seed: int = 7, free: tuple[str, ...] | None = None, **arguments: Any
) -> Any:
    """`fit` on draws from the family: a maximum that no small step improves; weights ≡ repeated rows; flat prior ≡ MLE.

    `free` names the parameters that are fitted; `arguments` are the keywords that `fit` needs (trials, bounds). Returns
    the fit.
    """
    rng = np.random.default_rng(seed)
    x = family.sample(draws, rng)
    fit = type(family).fit
    found = fit(x, **arguments)
    names = tuple(found.parameters) if free is None else free
    best = float(np.sum(found.log_prob(x)))
    for name in names:
        for step in (-1e-3, 1e-3):
            value = found.parameters[name]
            moved = type(family)(**{**found.parameters, name: value + step * (abs(value) or 1.0)})
            assert float(np.sum(moved.log_prob(x))) <= best + 1e-9 * abs(best), f"{name} {step:+}: not a maximum"
    counts = rng.integers(0, 4, draws)
    weighted, repeated = fit(x, counts, **arguments), fit(np.repeat(x, counts), **arguments)
    flat = fit(x, prior={name: Flat() for name in names}, **arguments) if _takes_dict(found) else found
    for name in names:
        _close(weighted.parameters[name], repeated.parameters[name], 1e-6, what=f"weights, {name}")
        _close(flat.parameters[name], found.parameters[name], 1e-6, what=f"flat prior, {name}")
    return found


def _takes_dict(family: Any) -> bool:
    return not any(np.ndim(v) for v in family.parameters.values())


def check_from_moments(family: Any, **arguments: Any) -> None:
    """`from_moments(mean, sd)` returns the family that has them."""
    again = type(family).from_moments(family.mean, family.sd, **arguments)
    _close(again.mean, family.mean, 1e-9, 1e-12, "mean")
    _close(again.sd, family.sd, 1e-9, 1e-12, "sd")
    for name, value in family.parameters.items():
        _close(again.parameters[name], value, 1e-6, 1e-9, name)
