"""Chains that cannot begin, or are lost, at random starts: from likely draws of the priors."""

import numpy as np
import pytest

import credo as cr
from credo.errors import NumericalError


def far_from_zero():
    """log(x − 990) is NaN within ±2 of 0, where chains begin by default."""
    m = cr.Model()
    x = m.latent("x", cr.Normal(1000.0, 1.0))
    m.observed("y", cr.Normal(cr.math.log(x - 990.0), 0.05), 2.35)
    return m


def test_no_density_at_random_starts():
    """Against a grid; four Monte Carlo errors of some 1,000 effective draws."""
    found = far_from_zero().fit("nuts", draws=2000, warmup=400, random_state=0)
    x = np.linspace(994.0, 1006.0, 4001)
    p = np.exp(-0.5 * (x - 1000.0) ** 2 - 0.5 * ((2.35 - np.log(x - 990.0)) / 0.05) ** 2)
    mean = (x * p).sum() / p.sum()
    sd = np.sqrt(((x - mean) ** 2 * p).sum() / p.sum())
    assert abs(found.mean["x"] - mean) < 4.0 * sd / np.sqrt(found.result.certificate["ess_bulk"])
    assert found.sd["x"] == pytest.approx(sd, rel=0.15)
    assert "have no density" in str(found.explain())


def test_starts_that_were_asked_for_are_not_changed():
    with pytest.raises(NumericalError, match="start"):
        far_from_zero().fit("nuts", initial={"x": 0.0}, random_state=0)


def frequency(centre, sd):
    m = cr.Model()
    t = np.linspace(0.0, 6.0, 60)
    w, s = m.latent("w", cr.Normal(centre, sd)), m.latent("s", cr.HalfNormal(0.5))
    y = np.sin(5.0 * t) + 0.2 * np.random.default_rng(0).normal(size=60)
    m.observed("y", cr.Normal(cr.math.sin(w * t), s), y)
    return m


def test_chains_lost_in_corners_are_begun_anew():
    """A frequency: a mode beside every multiple of the data's length, of no mass but one."""
    found = frequency(5.0, 1.0).fit("nuts", draws=2000, warmup=400, random_state=0)
    assert found.result.ok
    assert abs(found.mean["w"] - 5.0) < 0.05
    assert "do not meet" in str(found.explain())


def test_modes_of_like_mass_are_not_hidden():
    """±w alike: chains stay apart, and that is said."""
    m = cr.Model()
    w = m.latent("w", cr.Normal(0.0, 2.0))
    m.observed("y", cr.Normal(w * w, 0.1), np.full(5, 4.0))
    with pytest.warns(cr.errors.ConvergenceWarning):
        found = m.fit("nuts", draws=1000, warmup=300, random_state=1)
    assert not found.result.ok
    assert found["w"].min() < -1.5
    assert found["w"].max() > 1.5


@pytest.mark.parametrize(
    ("inference", "who"), [("auto", "Model"), ("nuts", "chain 0"), ("map", "search 0"), ("laplace", "search 0")]
)
def test_starts_outside_the_support_are_named(inference, who):
    m = cr.Model()
    m.observed("y", cr.Normal(0, m.latent("b", cr.HalfNormal(1))), [0.3, -1.0])
    with pytest.raises(NumericalError, match=f"{who}: the start b = -1.* is outside its support"):
        m.fit(inference, initial={"b": -1.0})
