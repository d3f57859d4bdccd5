"""Grouped counts and classes, which NUTS fits, against quadrature: a grid of (intercept, slope, τ), on which each
group's effect is integrated by the trapezoidal rule."""

import numpy as np
import pytest
from scipy import special, stats

import credo as cr
from credo.program.formula import regress

GROUPS, EACH = 12, 20
PRIORS = {"Intercept": cr.Normal(0.0, 2.0), "x": cr.Normal(0.0, 2.0), "sd": cr.HalfNormal(1.0)}


def table(family):
    rng = np.random.default_rng(4)
    g = np.repeat(np.arange(GROUPS), EACH)
    x = rng.normal(size=g.size)
    eta = 0.3 + 0.5 * x + rng.normal(0.0, 0.8, size=GROUPS)[g]
    y = rng.poisson(np.exp(eta)) if family == "poisson" else (rng.random(g.size) < special.expit(eta)).astype(int)
    return {"x": x, "g": g, "y": y}


def moments(family, data, a, b, tau):
    """Means and sds of intercept, slope and τ over the grid a × b × tau."""
    s = np.arange(-5.0, 5.0, 0.03)  # a group's intercept, a + its effect; sums at equal steps are exact to rounding
    x, y = data["x"].reshape(GROUPS, EACH, 1), data["y"].reshape(GROUPS, EACH, 1)
    prior = stats.norm.logpdf(s, a[:, None, None], tau[:, None])  # (a, τ, s)
    log = np.empty((len(a), len(b), len(tau)))
    for j, slope in enumerate(b):
        eta = s + slope * x
        each = np.sum(y * eta - (np.exp(eta) if family == "poisson" else np.logaddexp(0.0, eta)), axis=1)  # (group, s)
        log[:, j] = sum(special.logsumexp(prior + row, axis=-1) for row in each)
    log -= (a[:, None, None] ** 2 + b[:, None] ** 2) / 8 + tau**2 / 2
    w = np.exp(log - log.max())
    w /= w.sum()
    found = []
    for axis, values in enumerate((a, b, tau)):
        share = w.sum(axis=tuple(other for other in range(3) if other != axis))
        mean = share @ values
        found.append((mean, np.sqrt(share @ (values - mean) ** 2)))
    return found


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::credo.errors.ConvergenceWarning")
@pytest.mark.parametrize("family", ["poisson", "bernoulli"])
def test_groups_against_quadrature(family, replicates, record_property):
    """Each mean is off by less than 4.5 of its standard errors, but once in 150,000."""
    data = table(family)
    fit = regress(
        "y ~ x + (1 | g)", data, family, priors=PRIORS, draws=replicates(1600, 8000), warmup=500, random_state=0
    )
    summary = fit.summary()
    names = ("Intercept", "x", "sd(Intercept | g)")
    grids = []
    for name in names:
        mean, sd = summary[name]["mean"], summary[name]["sd"]
        low = max(mean - 5 * sd, 0.06) if name == names[2] else mean - 5 * sd
        grids.append(np.linspace(low, mean + (7 if name == names[2] else 5) * sd, 22))
    for name, (mean, sd) in zip(names, moments(family, data, *grids)):
        row = summary[name]
        record_property(f"error of {name} in its standard errors", (row["mean"] - mean) / row["mcse_mean"])
        assert abs(row["mean"] - mean) < 4.5 * row["mcse_mean"] + 0.01 * sd, name
        assert row["sd"] == pytest.approx(sd, rel=0.15), name
