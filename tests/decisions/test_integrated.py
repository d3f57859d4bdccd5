"""Decisions on a mixture over points of a posterior: its excess is the average of its members', in closed form."""

from __future__ import annotations

import numpy as np
import pytest

import credo as cr
from credo.decisions.laws import IntegratedLaw, Law, law
from credo.prediction.integrated import IntegratedPredictive

LOCATION, WEIGHTS = np.array([[0.0, 1.0, 5.0], [0.5, 2.0, 4.0], [-1.0, 1.5, 6.0]]), [0.2, 0.5, 0.3]


@pytest.mark.parametrize("family", [lambda m: cr.Normal(m, 2.0), lambda m: cr.StudentT(3.0, m, 2.0)])
def test_the_closed_excess_is_the_quadrature(family):
    p = IntegratedPredictive(WEIGHTS, lambda rows: family(LOCATION[:, rows]), 3)
    closed = law(p)
    assert isinstance(closed, IntegratedLaw)
    actions = np.linspace(-3.0, 9.0, 15).reshape(5, 3)
    assert closed.excess(actions) == pytest.approx(Law(p).excess(actions), rel=1e-6)
    assert closed.excess(actions[0]) == pytest.approx(Law(p).excess(actions[0]), rel=1e-6)
    best = cr.decide(p, cr.losses.Linear(over=1, under=9))
    assert p.cdf(best) == pytest.approx(0.9, abs=1e-9)


def test_other_members_keep_the_quadrature():
    p = IntegratedPredictive(WEIGHTS, lambda rows: cr.Laplace(LOCATION[:, rows], 1.0), 3)
    assert type(law(p)) is Law
