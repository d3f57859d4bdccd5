"""Adaptive rejection: exact laws with tangents and with chords, few evaluations, and a refusal that names points."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.integrate
import scipy.stats as st
from hypothesis import given
from hypothesis import strategies as strategy

import credo as cr
from credo.errors import NumericalError, ParameterError
from credo.inference.direct import adaptive_rejection
from credo.inference.direct.envelope import Envelope, tangents

#: of each Kolmogorov–Smirnov test below; seeds are fixed, so that it was taken once
FALSE_ALARM = 1e-3
REAL = (-np.inf, np.inf)

#: log density, derivative, support, law
CASES = {
    "normal": (lambda x: -0.5 * x * x, lambda x: -x, REAL, st.norm()),
    "far and narrow": (
        lambda x: -0.5 * ((x - 1e5) / 1e-2) ** 2, lambda x: -(x - 1e5) / 1e-4, REAL, st.norm(1e5, 1e-2),
    ),
    "far and wide": (lambda x: -0.5 * ((x + 1e6) / 1e5) ** 2, lambda x: -(x + 1e6) / 1e10, REAL, st.norm(-1e6, 1e5)),
    "gumbel": (lambda x: x - np.exp(x), lambda x: 1 - np.exp(x), REAL, st.gumbel_l()),
    "exponential": (lambda x: -3 * x, lambda x: 0 * x - 3, (0, np.inf), st.expon(scale=1 / 3)),
    "gamma": (lambda x: 2 * np.log(x) - x, lambda x: 2 / x - 1, (0, np.inf), st.gamma(3)),
    "beta": (lambda x: np.log(x) + 2 * np.log1p(-x), lambda x: 1 / x - 2 / (1 - x), (0, 1), st.beta(2, 3)),
    "uniform": (lambda x: 0 * x, lambda x: 0 * x, (2, 5), st.uniform(2, 3)),
    "kink": (lambda x: -np.abs(x - 0.3), lambda x: -np.sign(x - 0.3), REAL, st.laplace(0.3)),
    "support not stated": (
        lambda x: np.where((x > -1) & (x < 1.5), -x, -np.inf), lambda x: 0 * x - 1, REAL,
        st.truncexpon(2.5, loc=-1),
    ),
    "tail": (lambda x: -0.5 * x * x, lambda x: -x, (5, np.inf), st.truncnorm(5, np.inf)),
}  # fmt: skip


@pytest.mark.parametrize("with_gradient", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_the_law_is_exact(name, with_gradient):
    log_density, slope, support, law = CASES[name]
    draws = adaptive_rejection(
        log_density, gradient=slope if with_gradient else None, support=support, size=20_000, rng=5
    )
    assert st.kstest(draws["x"], law.cdf).pvalue > FALSE_ALARM
    assert draws.acceptance_rate > 0.9
    assert draws.result.certificate["evaluations"] < 5000
    lagged = np.corrcoef(draws["x"][1:], draws["x"][:-1])[0, 1]  # draws are independent
    assert abs(lagged) < st.norm.isf(FALSE_ALARM / 2) / np.sqrt(20_000)


def test_draws_from_the_coarse_first_envelopes_are_exact_too():
    """1,500 runs of 4 draws each: nearly all come before the envelope has learned anything."""
    draws = np.concatenate(
        [
            adaptive_rejection(lambda x: x - np.exp(x), gradient=lambda x: 1 - np.exp(x), size=4, rng=i)["x"]
            for i in range(1500)
        ]
    )
    assert st.kstest(draws, st.gumbel_l.cdf).pvalue > FALSE_ALARM


def test_a_distribution_brings_its_support():
    draws = adaptive_rejection(cr.Gamma(shape=3, rate=2), size=5000, rng=0)
    assert st.kstest(draws["x"], st.gamma(3, scale=0.5).cdf).pvalue > FALSE_ALARM


@given(
    slopes=strategy.lists(strategy.floats(-30, 30), min_size=2, max_size=6, unique=True),
    gaps=strategy.lists(strategy.floats(0.01, 3), min_size=6, max_size=6),
)
def test_the_areas_of_an_envelope_are_its_integrals(slopes, gaps):
    """Tangents of a concave function with these slopes at these points, on a finite interval."""
    slope = np.sort(slopes)[::-1]
    x = np.cumsum(gaps[: slope.size])
    y = np.append(0.0, np.cumsum(0.5 * (slope[1:] + slope[:-1]) * np.diff(x)))
    envelope = tangents(x, y, slope, x[0] - 1, x[-1] + 1)

    def height(t):
        return np.exp(np.min(y + slope * (t - x)))

    for a, b, log_area in zip(envelope.left, envelope.right, envelope.log_areas()):
        whole, _ = scipy.integrate.quad(height, a, b, epsrel=1e-10, epsabs=0)
        assert np.exp(log_area) == pytest.approx(whole, rel=1e-8, abs=1e-300)
    t, ceiling = envelope.sample(50, np.random.default_rng(0))
    np.testing.assert_allclose(ceiling, [np.min(y + slope * (each - x)) for each in t], atol=1e-9)


def test_an_envelope_is_sampled_by_its_areas():
    envelope = Envelope(
        np.array([-np.inf, 0.0, 1.0]), np.array([0.0, 1.0, np.inf]), np.array([0.0, 0.0, 1.0]),
        np.array([0.0, 0.0, 0.0]), np.array([2.0, 0.0, -4.0]),
    )  # fmt: skip
    areas = np.array([0.5, 1.0, 0.25])
    np.testing.assert_allclose(envelope.log_areas(), np.log(areas))
    t, _ = envelope.sample(20_000, np.random.default_rng(1))
    counts = np.histogram(t, [-np.inf, 0, 1, np.inf])[0]
    assert st.chisquare(counts, 20_000 * areas / areas.sum()).pvalue > FALSE_ALARM


def bimodal(x):
    return np.logaddexp(-0.5 * (x - 3) ** 2, -0.5 * (x + 3) ** 2)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"log_density": lambda x: -np.log1p(x * x)}, NumericalError, "not concave: at .* above the envelope"),
        ({"log_density": bimodal}, NumericalError, "not concave: at 0 it is .*, below the chord from -1 .* to 1"),
        (
            {"log_density": lambda x: -np.log1p(x * x), "gradient": lambda x: -2 * x / (1 + x * x)},
            NumericalError, "not concave: at -1 it is .* above the tangent at -3",
        ),
        ({"log_density": lambda x: -x * x, "gradient": lambda x: 2 * x}, NumericalError, "check the gradient"),
        ({"log_density": lambda x: -x * x, "gradient": lambda x: x * np.nan}, ParameterError, "gradient must be of"),
        ({"log_density": lambda x: 0 * x}, NumericalError, "does not fall off"),
        ({"log_density": lambda x: x}, NumericalError, "does not fall off|infinite"),
        ({"log_density": lambda x: np.where(x > 2, -x, -np.inf)}, NumericalError, "zero at the start"),
        ({"log_density": lambda x: -x * x, "width": 0.0}, ParameterError, "width must be finite and > 0"),
        ({"log_density": lambda x: -x * x, "support": (1, 1)}, ParameterError, "low < high"),
        ({"log_density": cr.Poisson(3.0)}, ParameterError, "an interval of real numbers"),
        ({"log_density": cr.Target(lambda x: 0.0, {"a": ()})}, ParameterError, "a function x"),
        ({"log_density": lambda x: np.zeros(3)}, ParameterError, "one log density a row"),
    ],
)  # fmt: skip
def test_misuse_is_named(arguments, error, message):
    with pytest.raises(error, match=message):
        adaptive_rejection(**{"size": 1000, "rng": 0, **arguments})
