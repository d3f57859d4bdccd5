"""Densities of single numbers in plain floats: against the laws' own, and differences of these."""

import numpy as np
import pytest
from scipy import special

import credo as cr
from credo.program.scalars import _digamma, of_numbers

LAWS = {
    "Normal": lambda a, b: cr.Normal(a - 2.0, b), "HalfNormal": lambda a, b: cr.HalfNormal(a),
    "Cauchy": lambda a, b: cr.Cauchy(a - 2.0, b), "HalfCauchy": lambda a, b: cr.HalfCauchy(a),
    "Exponential": lambda a, b: cr.Exponential(a), "LogNormal": lambda a, b: cr.LogNormal(a - 2.0, b),
    "Gamma": lambda a, b: cr.Gamma(shape=a, rate=b), "InverseGamma": lambda a, b: cr.InverseGamma(shape=a, scale=b),
    "Beta": lambda a, b: cr.Beta(a, b),
}  # fmt: skip


@pytest.mark.parametrize("name", LAWS)
def test_value_and_slopes(name):
    rng = np.random.default_rng(0)
    for _ in range(20):
        law, x = LAWS[name](*rng.gamma(2.0, size=2)), rng.uniform(0.01, 0.99)
        given = {k: float(v) for k, v in law.parameters.items() if v is not None}
        one = of_numbers(name, tuple(given))
        assert one is not None
        value, slopes = one(x, *given.values())
        assert value == pytest.approx(float(law.log_prob(x)), rel=1e-12, abs=1e-12)
        for k, slope in enumerate(slopes):
            at = np.array([x, *given.values()])
            h = 1e-5 * max(abs(at[k]), 0.1)
            by = [type(law)(**dict(zip(given, (at + s * h * (np.arange(len(at)) == k))[1:]))).log_prob(
                (at + s * h * (np.arange(len(at)) == k))[0]) for s in (1.0, -1.0)]  # fmt: skip
            assert slope == pytest.approx((by[0] - by[1]) / (2.0 * h), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("name", [name for name in LAWS if name not in ("Normal", "Cauchy")])
def test_off_the_support_it_raises(name):
    one = of_numbers(name, tuple(k for k, v in LAWS[name](1.0, 1.0).parameters.items() if v is not None))
    assert one is not None
    with pytest.raises((ValueError, ZeroDivisionError)):
        one(-0.5, *[1.0] * (1 if name in ("HalfNormal", "HalfCauchy", "Exponential") else 2))


def test_digamma():
    for x in np.geomspace(1e-3, 1e6, 50):
        assert _digamma(x) == pytest.approx(special.digamma(x), rel=1e-13, abs=1e-13)
