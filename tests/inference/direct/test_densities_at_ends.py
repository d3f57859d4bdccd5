"""Densities that are highest at an end of their support; laws and functions that do not fit the draws."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats as st

import credo as cr
from credo.errors import NumericalError, ParameterError
from credo.inference.direct import annealed_importance, importance, inversion, rejection, resample, smc
from credo.inference.direct.piecewise import invert_density
from credo.inference.direct.resampling import SCHEMES

#: log density of z = (x − end)/scale ≥ 0 up to a constant, and the distribution function
FALLING = {
    "exponential": (lambda z: -z, st.expon.cdf),
    "power": (lambda z: -2.5 * np.log1p(z), lambda z: 1.0 - (1.0 + z) ** -1.5),
    "half Normal": (lambda z: -0.5 * z**2, st.halfnorm.cdf),
}
U = np.linspace(1e-3, 1.0 - 1e-3, 200)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])
@pytest.mark.parametrize("end", [0.0, 1.0, -3.0, 123.4])
@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize("name", FALLING)
def test_the_mode_may_be_at_an_end(name, side, end, scale):
    """A mode on the float of the end itself had a width of nothing, and nothing was integrated."""
    log_density, cdf = FALLING[name]
    low, high = (end, np.inf) if side > 0 else (-np.inf, end)
    inverse = invert_density(lambda x: log_density(side * (x - end) / scale), low, high)
    u = cdf(side * (inverse.quantile(U) - end) / scale)
    assert np.max(np.abs((u if side > 0 else 1.0 - u) - U)) <= max(inverse.u_error, 1e-12)
    assert inverse.u_error < 1e-9


@pytest.mark.parametrize("end", [1.0, -1e8, 1e300])
def test_a_density_narrower_than_floats_are_spaced_is_refused(end):
    with pytest.raises(NumericalError):
        inversion(log_density=lambda x: -((x - end) / (1e-20 * abs(end))), support=(end, np.inf), size=10, rng=0)


@pytest.mark.parametrize("sampler", [importance, annealed_importance, smc])
@pytest.mark.parametrize(("target", "parameter"), [(cr.Normal([0.0, 0.0, 0.0], 1), "target")])
def test_a_law_of_another_shape_than_the_draws_is_named(sampler, target, parameter):
    with pytest.raises(ParameterError, match=f"{parameter} must be a distribution of the shape of one draw"):
        sampler(target, cr.Normal([0.0, 0.0], 2.0), size=800, rng=0)
    with pytest.raises(ParameterError, match=f"{parameter} must be a distribution of the shape of one draw"):
        rejection(target, cr.Normal(0.0, 2.0), log_bound=2.0, size=10, rng=0)


def test_an_expectation_is_never_silently_nan():
    weighted = importance(cr.Exponential(1.0), cr.Normal(0.5, 2.0), size=5000, rng=0)
    with np.errstate(invalid="ignore"):
        value, error = weighted.expect(np.sqrt)  # NaN where x < 0: the target is zero there
        assert abs(value - np.sqrt(np.pi) / 2) < 4 * error
        both = weighted.expect(lambda x: np.column_stack([np.sqrt(x), x]))
        assert both.value[0] == pytest.approx(float(value), rel=1e-12)
        for draws in (weighted, inversion(log_density=cr.Normal(0, 1).log_prob, size=100, rng=0)):
            with pytest.raises(NumericalError, match="NaN at"):
                draws.expect(lambda x: np.sqrt(x - 1.0))


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("unit", [1e308, 1e-320])
def test_weights_of_any_scale(scheme, unit):
    assert np.bincount(resample(np.array([unit, unit]), 1000, scheme=scheme, rng=0), minlength=2).min() > 400
