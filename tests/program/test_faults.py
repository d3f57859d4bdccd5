"""What is NaN is named: the expression, in which node's law, at which values."""

from __future__ import annotations

import numpy as np

import credo as cr
from credo.program.faults import fault_of


def test_nothing_is_wrong():
    m = cr.Model()
    a = m.latent("a", cr.Normal(0, 1))
    m.observed("y", cr.Normal(cr.math.exp(a), 1.0), [1.0, 2.0])
    assert fault_of(m) == ""


def test_the_innermost_expression_is_named():
    m = cr.Model()
    a, b = m.latent("a", cr.Normal(0, 1)), m.latent("b", cr.Normal(0, 1))
    m.observed("fine", cr.Normal(b, 1.0), [0.0])
    m.observed("y", cr.Normal(cr.math.exp(cr.math.sqrt(a)) + b, 1.0), [1.0, 2.0])
    told = fault_of(m)
    assert told.startswith("sqrt(a), in the law of y, is NaN at ")
    share = int(told.split(" of 200 draws")[0].split()[-1])
    assert abs(share / 200 - 0.5) < 4 * np.sqrt(0.25 / 200)
    at = float(told.split("a = ")[1].rstrip(".").replace("−", "-"))
    assert at < 0
    assert "b =" not in told  # it has no part in it


def test_infinite_values_and_potentials():
    m = cr.Model()
    a = m.latent("a", cr.Normal(0, 1000))
    m.observed("y", cr.Normal(a, 1.0), [1.0])
    m.potential("pull", -(cr.math.exp(a) ** 2))
    told = fault_of(m)
    assert "infinite" in told
    assert "in the potential pull" in told


def test_flat_priors_have_no_draws():
    m = cr.Model()
    a = m.latent("a", cr.Flat())
    m.observed("y", cr.Normal(cr.math.log(-cr.math.exp(a)), 1.0), [1.0])
    assert fault_of(m) == ""


def test_a_failed_fit_is_a_finding():
    m = cr.Model()
    a, b = m.latent("a", cr.HalfNormal(1)), m.latent("b", cr.Normal(0, 1))
    m.observed("y", cr.Normal(cr.math.log(a - 50) + b, 1.0), [0.3, 0.2])
    found = m.check()
    assert found.absent["posterior"] == "the fit failed."
    assert [fault_of(m) in f.what for f in found.findings if f.part == "inference"] == [True]
    assert "100 %" in str(found)
