"""Acquisition functions of mean and sd against 60-digit arithmetic, quadrature and brute force."""

import mpmath
import numpy as np
import pytest
import scipy.integrate
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from credo.design.acquisition import equations

EXTREME = [3e5, 40.0, 3.0, 0.0, -0.999, -1.0, -1.001, -5.0, -29.9, -30.0, -30.1, -38.0, -100.0, -1e3, -1e6, -1e9]


def exact(u):
    """log h, Φ/h and φ/h to 60 digits and more."""
    with mpmath.workdps(80):
        u = mpmath.mpf(u)
        density = mpmath.exp(-u * u / 2) / mpmath.sqrt(2 * mpmath.pi)
        if u > -50:
            h = density + u * mpmath.erfc(-u / mpmath.sqrt(2)) / 2
            w = h / density
        else:  # the asymptotic series, whose terms here fall by more than 1e2 each
            w = sum((-1) ** k * mpmath.fac2(2 * k + 1) / u ** (2 * k + 2) for k in range(14))
        log_h = mpmath.log(w) - u * u / 2 - mpmath.log(2 * mpmath.pi) / 2
        return float(log_h), float((1 - w) / (w * -u)) if u else 1.2533141373155003, float(1 / w)


@pytest.mark.parametrize(
    ("u", "expected"),
    [(0, -0.9189385332046727), (-1, -2.485121025712641), (-5, -16.74430116266099), (-38, -730.1961834021137),
     (-100, -5010.12957880025)],
)  # fmt: skip
def test_log_h_has_the_known_values(u, expected):
    np.testing.assert_allclose(equations.log_h(np.array(float(u))), expected, rtol=5e-16 * 4)


@pytest.mark.parametrize("u", EXTREME)
def test_log_h_and_its_slopes_to_full_precision(u):
    log_h, mass, density = exact(u)
    np.testing.assert_allclose(equations.log_h(np.array([u])), log_h, rtol=1e-14, atol=2e-13)
    found = equations.log_h_slopes(np.array([u]))
    # 1 + uR loses u² = 900 units of rounding where the series takes over
    np.testing.assert_allclose(found[0], mass, rtol=1e-12)
    np.testing.assert_allclose(found[1], density, rtol=1e-12, atol=1e-300)


@given(st.floats(-1e4, 30.0))
@settings(deadline=None)
def test_slope_of_log_h_is_its_derivative(u):
    step = 1e-5 * max(1.0, abs(u))
    ends = equations.log_h(np.array([u - step, u + step]))
    found = equations.log_h_slopes(np.array([u]))[0]
    np.testing.assert_allclose(np.diff(ends) / (2 * step), found, rtol=1e-6, atol=1e-8)


def test_slopes_are_finite_and_monotone_across_the_branches():
    u = -np.geomspace(1e-3, 1e160, 20_001)
    mass, density = equations.log_h_slopes(u)
    assert np.all(np.isfinite(mass))
    assert np.all(np.isfinite(density))
    assert np.all(np.diff(mass[u > -1e100]) > 0.0)
    assert np.all(np.isfinite(equations.log_h(u)))


def test_expected_improvement_is_the_integral():
    mean, sd, best = 0.7, 0.6, 0.2
    law = scipy.stats.norm(mean, sd)
    expected = scipy.integrate.quad(lambda f: (best - f) * law.pdf(f), -np.inf, best, epsabs=1e-13)[0]
    found = equations.log_expected_improvement(np.array(mean), np.array(sd), np.array(best))
    np.testing.assert_allclose(np.exp(found.value), expected, rtol=1e-10)
    parts = equations.improvement_parts(np.array(mean), np.array(sd), np.array(best))
    np.testing.assert_allclose(sum(parts), expected, rtol=1e-10)


FUNCTIONS = {
    "log_ei": lambda m, s: equations.log_expected_improvement(m, s, np.array(0.3)),
    "bound": lambda m, s: equations.confidence_bound(m, s, 1.7),
    "feasible": equations.log_feasibility,
}


@pytest.mark.parametrize("name", list(FUNCTIONS))
@given(st.floats(-50.0, 50.0), st.floats(-6.0, 3.0))
@settings(deadline=None, max_examples=60)
def test_slopes_in_mean_and_sd(name, mean, log_sd):
    f, sd = FUNCTIONS[name], np.exp(log_sd)
    value, by_mean, by_sd = f(np.array(mean), np.array(sd))
    h = 1e-5 * sd
    up, down = f(np.array(mean + h), np.array(sd)).value, f(np.array(mean - h), np.array(sd)).value
    rounding = 4e-16 * abs(value) / h
    np.testing.assert_allclose((up - down) / (2 * h), by_mean, rtol=1e-4, atol=1e-7 + rounding)
    up, down = f(np.array(mean), np.array(sd + h)).value, f(np.array(mean), np.array(sd - h)).value
    np.testing.assert_allclose((up - down) / (2 * h), by_sd, rtol=1e-4, atol=1e-7 + rounding)


@pytest.mark.parametrize("z", [-1e6, -38.0, -1.0, 0.0, 5.0, 60.0])
def test_feasibility_far_out(z):
    """log Φ(z) and its slopes, where Φ is 0 or 1 in floating point."""
    value, by_mean, by_sd = equations.log_feasibility(np.array(-z), np.array(1.0))
    assert np.all(np.isfinite([value, by_mean, by_sd]))
    with mpmath.workdps(60):
        if z > -1e5:
            exact_value = float(mpmath.log(mpmath.ncdf(z)))
            np.testing.assert_allclose(value, exact_value, rtol=1e-12, atol=1e-300)
        hazard = float(mpmath.npdf(z) / mpmath.ncdf(z)) if z > -1e5 else -z
    np.testing.assert_allclose(by_mean, -hazard, rtol=1e-10, atol=1e-300)


def test_log_mean_exp():
    values = np.random.default_rng(0).normal(size=(4, 7)) * 3 - 800.0
    value, share = equations.log_mean_exp(values)
    np.testing.assert_allclose(value, np.log(np.mean(np.exp(values + 800.0), axis=1)) - 800.0, rtol=1e-14)
    np.testing.assert_allclose(share.sum(axis=1), 1.0)
