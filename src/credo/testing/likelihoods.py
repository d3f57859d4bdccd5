"""The contract of a likelihood, as checks that run on any instance, yours included.

Each takes the likelihood, checked outcomes y (n,), predictors η (n,), and `reference(y, η)`, its log probability of one
row as an mpmath formula: one line, written apart from the code under test.

    check_derivatives(PoissonLog(), y, eta, lambda y, e: y * e - mp.exp(e) - mp.loggamma(y + 1))
"""

from __future__ import annotations

import dataclasses
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np

from credo.errors import DataError

__all__ = [
    "check_record",
    "check_derivatives",
    "check_extremes",
    "check_link",
    "check_out",
    "check_predictive",
    "check_bad_rows",
    "gaussian_integral",
    "log_gaussian_integral",
]

Reference = Callable[[Any, Any], Any]


def check_record(likelihood: Any) -> None:
    """Frozen, and survives pickling."""
    assert likelihood.kind in ("real", "count", "class")
    assert repr(pickle.loads(pickle.dumps(likelihood))) == repr(likelihood)
    assert dataclasses.is_dataclass(likelihood)


def check_derivatives(likelihood: Any, y: np.ndarray, eta: np.ndarray, reference: Reference) -> None:
    """Value and three derivatives against 50-digit differentiation: relative 1e-13, absolute 1e-14."""
    value_and_derivatives = likelihood.value_and_derivatives(y, eta, order=3)
    np.testing.assert_allclose(likelihood.log_prob(y, eta), value_and_derivatives[0], rtol=1e-15, atol=0)
    with mp.workdps(50):
        for order, computed in enumerate(value_and_derivatives):
            for row, value in enumerate(computed):
                known = mp.mpf(float(y[row]))
                expected = float(mp.diff(lambda e, known=known: reference(known, e), mp.mpf(float(eta[row])), order))
                error = abs(value - expected)
                assert error <= 1e-13 * abs(expected) + 1e-14, (order, y[row], eta[row], value, expected)


def check_extremes(likelihood: Any, y: np.ndarray) -> None:
    """No warning and no NaN at η = ±30, ±1e3, ±1e6, and the value falls in both tails or stays below 0."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for size in (30.0, 1e3, 1e6):
            for sign in (-1.0, 1.0):
                parts = likelihood.value_and_derivatives(y, np.full(y.shape, sign * size), order=3)
                assert not any(np.any(np.isnan(part)) for part in parts)
                assert np.all(parts[2] <= 0)


def check_link(likelihood: Any, y: np.ndarray, eta: np.ndarray) -> None:
    """link ∘ mean is the identity; the start of Newton is finite; score and information agree with the moments.

    At the mean of y the score of a canonical link is y − mean, scaled; its negative derivative is the variance, scaled
    the same: −ℓ″ · Var = (∂ mean/∂η)².
    """
    np.testing.assert_allclose(likelihood.link(likelihood.mean(eta)), eta, rtol=1e-10, atol=1e-10)
    assert np.all(np.isfinite(likelihood.initial_eta(y)))
    h = 1e-5
    slope = (likelihood.mean(eta + h) - likelihood.mean(eta - h)) / (2.0 * h)
    _, score, curvature = likelihood.value_and_derivatives(y, eta)
    np.testing.assert_allclose(-curvature * likelihood.variance(eta), slope**2, rtol=1e-6)
    np.testing.assert_allclose(
        score * likelihood.variance(eta), slope * (y - likelihood.mean(eta)), rtol=1e-6, atol=1e-9
    )


def check_out(likelihood: Any, y: np.ndarray, eta: np.ndarray) -> None:
    """Every order gives the same numbers, and `out` is filled and returned."""
    whole = likelihood.value_and_derivatives(y, eta, order=3)
    for order in range(4):
        out = tuple(np.full(eta.shape, np.nan) for _ in range(order + 1))
        parts = likelihood.value_and_derivatives(y, eta, order=order, out=out)
        assert len(parts) == order + 1
        for part, buffer, expected in zip(parts, out, whole, strict=False):
            assert part is buffer
            np.testing.assert_array_equal(part, expected)


def check_bad_rows(likelihood: Any, good: np.ndarray, bad: Any) -> None:
    """`check` accepts good outcomes, and names the row of each bad one: NaN, infinity and `bad`."""
    np.testing.assert_array_equal(likelihood.check(good), good)
    for value in (np.nan, np.inf, bad):
        y = np.array(good, dtype=np.float64)
        y[1] = value
        error = _refusal(likelihood, y)
        assert error.rows == [1]
        assert "row 1" in str(error)
    for shape in ((0,), (2, 2)):
        _refusal(likelihood, np.ones(shape))


def _refusal(likelihood: Any, y: np.ndarray) -> DataError:
    """The error that `check` must raise."""
    try:
        likelihood.check(y)
    except DataError as error:
        return error
    raise AssertionError(f"{likelihood}.check must refuse {y}")


def gaussian_integral(f: Callable[[Any], Any], m: float, v: float) -> Any:
    """∫ f(η) N(η; m, v) dη to about 15 digits by mpmath, with panels around m and around 0, where f bends."""
    center, sd = mp.mpf(m), mp.sqrt(mp.mpf(v))
    edges = {center + sd * k for k in (-40, -25, -16, -11, -8, -6, -4, -2, 0, 2, 4, 6, 8, 11, 16, 25, 40)}
    edges |= {mp.mpf(k) for k in (-80, -40, -20, -10, -5, -2, 0, 2, 5, 10, 20, 40, 80)}
    low, high = center - 40 * sd, center + 40 * sd
    inside = sorted(e for e in edges if low <= e <= high)
    norm = mp.sqrt(2 * mp.pi) * sd
    return mp.quad(lambda e: f(e) * mp.exp(-((e - center) ** 2) / (2 * sd**2)) / norm, inside)


def log_gaussian_integral(log_f: Callable[[Any], Any], m: float, v: float) -> Any:
    """log ∫ exp(log_f(η)) N(η; m, v) dη, log_f concave: mode by thirds, ends where the integrand is e⁻⁹⁰ of it."""
    center, sd = mp.mpf(m), mp.sqrt(mp.mpf(v))

    def log_p(e: Any) -> Any:
        return log_f(e) - (e - center) ** 2 / (2 * sd**2)

    low, high = center - 500 * sd - 50, center + 500 * sd + 50
    for _ in range(120):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        low, high = (a, high) if log_p(a) < log_p(b) else (low, b)
    mode = (low + high) / 2
    peak = log_p(mode)
    edges = []
    for side in (-1, 1):
        reach = sd * mp.mpf("1e-6")
        while peak - log_p(mode + side * reach) < 90:
            reach *= 2
        inner = reach / 2
        for _ in range(10):
            middle = (inner + reach) / 2
            inner, reach = (middle, reach) if peak - log_p(mode + side * middle) < 90 else (inner, middle)
        edges.append(mode + side * reach)
    left, right = edges
    panels = {left + (right - left) * k / 24 for k in range(25)}
    panels |= {mp.mpf(k) for k in (-20, -10, -5, -2, 0, 2, 5, 10, 20) if left < k < right}
    mass = mp.quad(lambda e: mp.exp(log_p(e) - peak), sorted(panels))
    return peak + mp.log(mass / (mp.sqrt(2 * mp.pi) * sd))


def check_predictive(
    likelihood: Any,
    y: float,
    m: float,
    v: float,
    reference: Reference,
    moments: tuple[Callable[[Any], Any], Callable[[Any], Any]] | None,
) -> None:
    """Predictive log probability, mean and both parts of the variance against mpmath quadrature.

    `moments` = (E[y | η], Var(y | η)) as mpmath formulas, or None to check the log probability alone.
    """
    with mp.workdps(20):
        exact = log_gaussian_integral(lambda e: reference(mp.mpf(y), e), m, v)
        value = float(likelihood.predictive_log_prob(np.array([y]), np.array([m]), np.array([v]))[0])
        assert abs(value - exact) <= 1e-10 * max(1.0, abs(exact)), (y, m, v, value, exact)
        if moments is None:
            return
        mean, variance = moments
        expected = gaussian_integral(mean, m, v)
        aleatoric = gaussian_integral(variance, m, v)
        epistemic = gaussian_integral(lambda e: (mean(e) - expected) ** 2, m, v)
        arrays = (np.array([m]), np.array([v]))
        for name, exact in (("predictive_mean", expected), ("aleatoric", aleatoric), ("epistemic", epistemic)):
            value = float(getattr(likelihood, name)(*arrays)[0])
            assert abs(value - exact) <= 1e-9 * abs(exact) + 1e-12, (name, m, v, value, exact)
