"""The contract of a likelihood, as checks that run on any instance, yours included.

Each takes the likelihood, checked outcomes y (n,), predictors η (n,), and `reference(y, η, *ψ)`, its log probability of
one row as an mpmath formula: one line, written apart from the code under test. ψ are its auxiliary parameters, if any.

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
    "check_joint",
    "check_auxiliary",
    "check_law",
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


def check_derivatives(
    likelihood: Any, y: np.ndarray, eta: np.ndarray, reference: Reference, psi: Any = None, rtol: float = 1e-13
) -> None:
    """Value and three derivatives in η against 50-digit differentiation: relative `rtol`, absolute 1e-14."""
    value_and_derivatives = likelihood.value_and_derivatives(y, eta, order=3, psi=psi)
    np.testing.assert_allclose(likelihood.log_prob(y, eta, psi), value_and_derivatives[0], rtol=1e-15, atol=0)
    with mp.workdps(50):
        known_psi = _mpf(psi)
        for order, computed in enumerate(value_and_derivatives):
            for row, value in enumerate(computed):
                known = mp.mpf(float(y[row]))
                expected = float(
                    mp.diff(lambda e, known=known: reference(known, e, *known_psi), mp.mpf(float(eta[row])), order)
                )
                error = abs(value - expected)
                assert error <= rtol * abs(expected) + 1e-14, (order, y[row], eta[row], psi, value, expected)


def check_joint(
    likelihood: Any, y: np.ndarray, eta: np.ndarray, reference: Reference, psi: Any, rtol: float = 1e-12
) -> None:
    """Gradient and Hessian in (η, ψ) against 50-digit differentiation, relative `rtol`, absolute 1e-13.

    The Hessian is symmetric, lower orders give the same numbers, and a batch of ψ gives each ψ's own.
    """
    psi = np.asarray(psi, dtype=np.float64)
    value, gradient, hessian = likelihood.joint_derivatives(y, eta, psi)
    np.testing.assert_allclose(value, likelihood.log_prob(y, eta, psi), rtol=1e-15)
    np.testing.assert_array_equal(hessian, np.swapaxes(hessian, -1, -2))
    for order in (0, 1):
        parts = likelihood.joint_derivatives(y, eta, psi, order=order)
        assert len(parts) == order + 1
        np.testing.assert_array_equal(parts[order], (value, gradient)[order])
    batch = likelihood.joint_derivatives(y, eta, np.stack([psi, psi + 0.25]))
    np.testing.assert_allclose(batch[2][0], hessian, rtol=1e-13, atol=1e-13)
    assert batch[2].shape == (2, *hessian.shape)
    d = 1 + psi.size
    with mp.workdps(50):
        for row in range(len(y)):
            point = [mp.mpf(float(eta[row])), *_mpf(psi)]
            known = mp.mpf(float(y[row]))
            formula = lambda *p, known=known: reference(known, *p)  # noqa: E731
            for i in range(d):
                orders = [0] * d
                orders[i] = 1
                pairs = [(gradient[row, i], tuple(orders))]
                for j in range(i, d):
                    both = orders.copy()
                    both[j] += 1
                    pairs.append((hessian[row, i, j], tuple(both)))
                for computed, n in pairs:
                    expected = float(mp.diff(formula, tuple(point), n))
                    error = abs(computed - expected)
                    assert error <= rtol * abs(expected) + 1e-13, (n, y[row], eta[row], psi, computed, expected)


def check_auxiliary(likelihood: Any, y: np.ndarray, psi: Any) -> None:
    """Names, start and prior of ψ agree in size; the prior's derivatives are those of its value (relative 1e-6)."""
    a = len(likelihood.auxiliary)
    start = likelihood.initial_auxiliary(y)
    assert start.shape == (a,)
    assert np.all(np.isfinite(start))
    assert np.all(np.isfinite(likelihood.value_and_derivatives(y, likelihood.initial_eta(y), psi=start)[0]))
    assert all(np.shape(value)[:1] == (3,) for value in likelihood.auxiliary_values(np.stack([psi] * 3)).values())
    value, gradient, hessian = likelihood.auxiliary_log_prior(psi)
    assert (np.shape(value), gradient.shape, hessian.shape) == ((), (a,), (a, a))
    batch = likelihood.auxiliary_log_prior(np.stack([psi, psi + 0.3]))
    assert [part.shape for part in batch] == [(2,), (2, a), (2, a, a)]
    h = 1e-5 * np.eye(a)
    up, down = likelihood.auxiliary_log_prior(psi + h), likelihood.auxiliary_log_prior(psi - h)
    np.testing.assert_allclose((up[0] - down[0]) / 2e-5, gradient, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose((up[1] - down[1]) / 2e-5, hessian, rtol=1e-6, atol=1e-6)


def check_law(likelihood: Any, y: np.ndarray, eta: np.ndarray, psi: Any = None) -> None:
    """`law` has the likelihood's log probabilities, mean and variance."""
    law = likelihood.law(eta, psi)
    np.testing.assert_allclose(law.log_prob(y), likelihood.log_prob(y, eta, psi), rtol=1e-9, atol=1e-11)
    if likelihood.kind != "class":
        np.testing.assert_allclose(law.mean, likelihood.mean(eta, psi), rtol=1e-12)
        np.testing.assert_allclose(law.variance, likelihood.variance(eta, psi), rtol=1e-12)


def _mpf(psi: Any) -> list[Any]:
    return [] if psi is None else [mp.mpf(float(value)) for value in psi]


def check_extremes(likelihood: Any, y: np.ndarray, psi: Any = None) -> None:
    """No warning and no NaN at η = ±30, ±700, ±1e3, ±1e6; the curvature never positive where it claims concavity."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for size in (30.0, 700.0, 1e3, 1e6):
            for sign in (-1.0, 1.0):
                eta = np.full(y.shape, sign * size)
                parts = likelihood.value_and_derivatives(y, eta, order=3, psi=psi)
                assert not any(np.any(np.isnan(part)) for part in parts), (eta[0], psi, parts)
                assert np.all(parts[2] <= 0) or not likelihood.log_concave
                if size <= 700.0:
                    joint = likelihood.joint_derivatives(y, eta, psi)
                    assert not any(np.any(np.isnan(part)) for part in joint), (eta[0], psi, joint)


def check_link(likelihood: Any, y: np.ndarray, eta: np.ndarray, psi: Any = None, canonical: bool | None = True) -> None:
    """link ∘ mean is the identity and the start of Newton is finite.

    In an exponential family the score is (y − mean) ∂mean/∂η / Var, so that −E ℓ″ · Var = (∂ mean/∂η)²; `canonical`
    asks it of every −ℓ″, which only canonical links grant. `None` skips both (no exponential family).
    """
    np.testing.assert_allclose(likelihood.link(likelihood.mean(eta, psi)), eta, rtol=1e-10, atol=1e-10)
    assert np.all(np.isfinite(likelihood.initial_eta(y)))
    if canonical is None:
        return
    h = 1e-5
    slope = (likelihood.mean(eta + h, psi) - likelihood.mean(eta - h, psi)) / (2.0 * h)
    _, score, curvature = likelihood.value_and_derivatives(y, eta, psi=psi)
    variance = likelihood.variance(eta, psi)
    if canonical:
        np.testing.assert_allclose(-curvature * variance, slope**2, rtol=1e-6)
    np.testing.assert_allclose(score * variance, slope * (y - likelihood.mean(eta, psi)), rtol=1e-6, atol=1e-9)


def check_out(likelihood: Any, y: np.ndarray, eta: np.ndarray, psi: Any = None) -> None:
    """Every order gives the same numbers, and `out` is filled and returned."""
    whole = likelihood.value_and_derivatives(y, eta, order=3, psi=psi)
    for order in range(4):
        out = tuple(np.full(eta.shape, np.nan) for _ in range(order + 1))
        parts = likelihood.value_and_derivatives(y, eta, order=order, out=out, psi=psi)
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
    psi: Any = None,
) -> None:
    """Predictive log probability, mean and both parts of the variance against mpmath quadrature.

    `moments` = (E[y | η], Var(y | η)) as mpmath formulas, or None to check the log probability alone.
    """
    with mp.workdps(20):
        known = _mpf(psi)
        exact = log_gaussian_integral(lambda e: reference(mp.mpf(y), e, *known), m, v)
        value = float(likelihood.predictive_log_prob(np.array([y]), np.array([m]), np.array([v]), psi)[0])
        assert abs(value - exact) <= 1e-10 * max(1.0, abs(exact)), (y, m, v, value, exact)
        if moments is None:
            return
        mean, variance = moments
        expected = gaussian_integral(mean, m, v)
        aleatoric = gaussian_integral(variance, m, v)
        epistemic = gaussian_integral(lambda e: (mean(e) - expected) ** 2, m, v)
        arrays = (np.array([m]), np.array([v]))
        for name, exact in (("predictive_mean", expected), ("aleatoric", aleatoric), ("epistemic", epistemic)):
            value = float(getattr(likelihood, name)(*arrays, psi)[0])
            assert abs(value - exact) <= 1e-9 * abs(exact) + 1e-12, (name, m, v, value, exact)
