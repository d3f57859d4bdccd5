"""Simulation-based calibration of fit *and* prediction on three hierarchies, groups never met included.

Parameters come from the priors stated, tables from the parameters, both in plain NumPy; ranked are the parameters, the
effects of a level of the table, and outcomes that nobody saw: of a level of the table, of two rows of one new level
(each, and their difference, which holds no intercept of the level), of a new level within a known one. A right fit
fails a test once in 1,000, all its quantities together (seed fixed). That the test can see: the outcome of a stranger
who is taken for the average (new_levels="mean") must fail.
"""

from __future__ import annotations

from types import MappingProxyType

import numpy as np
import pytest

import credo as cr
from credo.diagnostics import simulation_based_calibration
from credo.program.formula import regress
from credo.program.predictive import ModelPredictive

ALARM = 1e-3
DRAWS = 96
LINE = {"Intercept": cr.Normal(1.0, 2.0), "x": cr.Normal(-1.0, 1.0)}
HALF = LINE | {"sd": cr.HalfNormal(2.0), "sigma": cr.HalfNormal(1.0)}
WRONG = "a stranger taken for the average"


def halfnormal(rng, scale):
    return abs(rng.normal(0.0, scale))


def line(rng):
    return {"Intercept": rng.normal(1.0, 2.0), "x": rng.normal(-1.0, 1.0)}


def drawn(p):
    assert isinstance(p, ModelPredictive)
    return p.draws


def calibrated(hierarchy, simulations, seed=13):
    """SBC of one of the classes below."""

    def infer(rng, data):
        table, new = data
        fit = regress(hierarchy.formula, table, priors=hierarchy.priors, draws=DRAWS, random_state=rng)
        assert fit.posterior.explain().rung == "collapsed"
        assert not fit.posterior.sample_stats  # no chain: the draws are independent
        p = drawn(fit.predict(new, random_state=rng))
        average = drawn(fit.predict(new, new_levels="mean", random_state=rng))
        found = {name: values.reshape(DRAWS) for name, values in fit.draws().items()}
        return found | hierarchy.effects(fit) | hierarchy.outcomes(p) | {WRONG: average[:, hierarchy.stranger]}

    return simulation_based_calibration(
        hierarchy.prior, hierarchy.simulate, infer, simulations=simulations, rng=seed, alarm=ALARM
    )


class VaryingIntercepts:
    """y ~ x + (1 | g): 6 levels of 1 to 6 rows."""

    formula, priors = "y ~ x + (1 | g)", HALF
    g = np.repeat(np.arange(6), [1, 2, 3, 4, 5, 6])
    x = np.cos(1.3 * np.arange(21))
    new = MappingProxyType({"x": [0.5, 0.5, -1.5], "g": [0, 99, 99]})
    stranger = 1

    @classmethod
    def prior(cls, rng):
        theta = line(rng) | {"sigma": halfnormal(rng, 1.0)}
        tau = halfnormal(rng, 2.0)
        u = rng.normal(0.0, tau, size=7)  # the last is the new level's
        y = rng.normal(theta["Intercept"] + theta["x"] * np.array(cls.new["x"]) + u[[0, 6, 6]], theta["sigma"])
        cls.u = u
        return theta | {"sd(Intercept | g)": tau, "level 0": u[0], **cls.outcomes(y), WRONG: y[1]}

    @classmethod
    def simulate(cls, rng, theta):
        y = rng.normal(theta["Intercept"] + theta["x"] * cls.x + cls.u[cls.g], theta["sigma"])
        return {"y": y, "x": cls.x, "g": cls.g}, cls.new

    @staticmethod
    def effects(fit):
        return {"level 0": fit.effects("g")["Intercept"][..., 0].reshape(DRAWS)}

    @staticmethod
    def outcomes(y):
        """Of the rows of `new`, by name."""
        return {"known": y[..., 0], "new": y[..., 1], "new, again": y[..., 2], "difference": y[..., 1] - y[..., 2]}


class CorrelatedSlopes:
    """y ~ x + (x | g), LKJ(2), which of two effects is r = 2 Beta(2, 2) − 1: 7 levels of 4 rows.

    Scales keep away from 0, so that importance weights certify themselves and draws are independent.
    """

    formula = "y ~ x + (x | g)"
    priors = MappingProxyType(LINE | {"sd": cr.Gamma(shape=4.0, rate=2.0), "sigma": cr.Gamma(shape=4.0, rate=4.0)})
    g = np.repeat(np.arange(7), 4)
    x = np.tile([-1.0, 0.0, 0.5, 2.0], 7)
    new = MappingProxyType({"x": [1.0, 1.0, -1.5], "g": [3, 99, 99]})
    stranger = 1

    @classmethod
    def prior(cls, rng):
        theta = line(rng) | {"sigma": rng.gamma(4.0, 0.25)}
        a, b, r = rng.gamma(4.0, 0.5), rng.gamma(4.0, 0.5), 2.0 * rng.beta(2.0, 2.0) - 1.0
        u = rng.multivariate_normal([0.0, 0.0], [[a * a, r * a * b], [r * a * b, b * b]], size=8)
        x, own = np.array(cls.new["x"]), u[[3, 7, 7]]
        y = rng.normal(theta["Intercept"] + theta["x"] * x + own[:, 0] + own[:, 1] * x, theta["sigma"])
        cls.u = u
        spreads = {"sd(Intercept | g)": a, "sd(x | g)": b, "cor(Intercept, x | g)": r}
        return theta | spreads | {"level 3": u[3, 0], "slope 3": u[3, 1], **cls.outcomes(y), WRONG: y[1]}

    @classmethod
    def simulate(cls, rng, theta):
        u = cls.u[cls.g]
        y = rng.normal(theta["Intercept"] + theta["x"] * cls.x + u[:, 0] + u[:, 1] * cls.x, theta["sigma"])
        return {"y": y, "x": cls.x, "g": cls.g}, cls.new

    @staticmethod
    def effects(fit):
        found = fit.effects("g")
        return {"level 3": found["Intercept"][..., 3].reshape(DRAWS), "slope 3": found["x"][..., 3].reshape(DRAWS)}

    outcomes = staticmethod(VaryingIntercepts.outcomes)


class Nested:
    """y ~ x + (1 | g/h): 4 levels of g, 3 of h in each, 2 rows of these."""

    formula, priors = "y ~ x + (1 | g/h)", HALF
    g = np.repeat(np.arange(4), 6)
    h = np.tile(np.repeat(np.arange(3), 2), 4)
    x = np.cos(2.1 * np.arange(24))
    new = MappingProxyType({"x": [0.5, 0.5, -1.5], "g": [1, 99, 1], "h": [2, 0, 7]})
    stranger = 1

    @classmethod
    def prior(cls, rng):
        theta = line(rng) | {"sigma": halfnormal(rng, 1.0)}
        a, b = halfnormal(rng, 2.0), halfnormal(rng, 2.0)
        u, v = rng.normal(0.0, a, size=5), rng.normal(0.0, b, size=14)  # v: 3 g + h, a new one, another
        own = np.array([u[1] + v[5], u[4] + v[12], u[1] + v[13]])
        y = rng.normal(theta["Intercept"] + theta["x"] * np.array(cls.new["x"]) + own, theta["sigma"])
        cls.u = u[cls.g] + v[3 * cls.g + cls.h]
        spreads = {"sd(Intercept | g)": a, "sd(Intercept | g:h)": b}
        return theta | spreads | {"g 1": u[1], "g:h 1:2": v[5], **cls.outcomes(y), WRONG: y[1]}

    @classmethod
    def simulate(cls, rng, theta):
        y = rng.normal(theta["Intercept"] + theta["x"] * cls.x + cls.u, theta["sigma"])
        return {"y": y, "x": cls.x, "g": cls.g, "h": cls.h}, cls.new

    @staticmethod
    def effects(fit):
        at = fit.levels("g:h").index("1:2")
        return {
            "g 1": fit.effects("g")["Intercept"][..., 1].reshape(DRAWS),
            "g:h 1:2": fit.effects("g:h")["Intercept"][..., at].reshape(DRAWS),
        }

    @staticmethod
    def outcomes(y):
        return {"known": y[..., 0], "new": y[..., 1], "new within known": y[..., 2]}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("hierarchy", "short", "full"), [(VaryingIntercepts, 120, 1000), (CorrelatedSlopes, 80, 600), (Nested, 80, 400)]
)
def test_fit_and_prediction_are_calibrated(hierarchy, short, full, replicates, record_property):
    found = calibrated(hierarchy, replicates(short, full))
    record_property("alarm", ALARM)
    record_property("smallest p but the wrong one's", min(p for name, p in found.p_values.items() if name != WRONG))
    record_property("p of the wrong one", found.p_values[WRONG])
    assert found.failed == (WRONG,), found.p_values
