"""NIST's one-way analyses of variance as models: certified sums of squares give every posterior in closed form."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.special import gammaln

import credo as cr
from credo.program import math as cm

DATA = Path(__file__).parents[1] / "data" / "nist_anova"
CERTIFIED = json.loads((DATA / "certified.json").read_text())
PROMISED = 1e-3  # of quadrature, in sds
#: constant leading digits of the data: NIST's own measure of how hard they are
HARD = {"sirstv": 196.0, "smls01": 1.0, "smls04": 1e6}


def table(name):
    rows = np.loadtxt(DATA / f"{name}.csv", delimiter=",", skiprows=1)
    return rows[:, 0].astype(int) - 1, rows[:, 1]


def known(name):
    """Groups k, rows n, sums of squares between and within."""
    c = CERTIFIED[name]
    k = c["between"]["df"] + 1
    return k, c["within"]["df"] + k, c["between"]["ss"], c["within"]["ss"]


@pytest.mark.parametrize("name", CERTIFIED)
def test_fixed_groups(name):
    """Flat means and p(σ) ∝ 1/σ: σ² ~ InverseGamma((n − k)/2, SS/2), means t about the groups' own with n − k degrees
    of freedom. The posterior means carry the certified sum of squares between groups, to the digits that data of so
    many constant leading ones have."""
    g, y = table(name)
    k, n, between, within = known(name)
    m = cr.Model()
    codes = m.data("treatment", g, dims="row", levels="treatments")
    mu = m.latent("mu", cr.Flat(), dims="treatments")
    sigma = m.latent("sigma", cr.Flat(), low=0.0)
    m.observed("y", cr.Normal(mu[codes], sigma), y, dims="row")
    m.potential("scale-free", -cm.log(sigma))
    assert m.explain().treatment == {"mu": "exact", "sigma": "quadrature"}
    posterior = m.fit(random_state=0)
    free, each = n - k, n / k
    means = np.bincount(g, y - HARD[name]) / each
    found = posterior.mean["mu"] - HARD[name]
    np.testing.assert_allclose(found, means, atol=1e-9 * HARD[name], rtol=1e-12)
    digits = 1e-9 if HARD[name] < 1e3 else 1e-7  # 1e6 and 16 digits: 1e-10 of a spread of 0.1, squared and summed
    assert each * np.sum((found - found.mean()) ** 2) == pytest.approx(between, rel=digits)
    np.testing.assert_allclose(posterior.sd["mu"], np.sqrt(within / each / (free - 2)), rtol=PROMISED)
    mean = np.sqrt(within / 2.0) * np.exp(gammaln((free - 1) / 2.0) - gammaln(free / 2.0))
    sd = np.sqrt(within / (free - 2) - mean**2)
    assert abs(posterior.mean["sigma"] - mean) < PROMISED * sd
    assert posterior.sd["sigma"] == pytest.approx(sd, rel=PROMISED)


@pytest.mark.parametrize("name", CERTIFIED)
def test_random_groups(name):
    """mu flat, tau and sigma HalfNormal of ten residual sds: given these the likelihood knows the data by the two
    certified sums of squares alone."""
    g, y = table(name)
    k, n, between, within = known(name)
    each, s = n / k, 10.0 * CERTIFIED[name]["residual_sd"]
    m = cr.Model()
    codes = m.data("treatment", g, dims="row", levels="treatments")
    mu, tau, sigma = m.latent("mu", cr.Flat()), m.latent("tau", cr.HalfNormal(s)), m.latent("sigma", cr.HalfNormal(s))
    a = m.latent("a", cr.Normal(mu, tau), dims="treatments")
    m.observed("y", cr.Normal(a[codes], sigma), y, dims="row")
    assert m.explain().treatment == {"mu": "exact", "tau": "quadrature", "sigma": "quadrature", "a": "exact"}
    posterior = m.fit(random_state=0)
    t, q = np.meshgrid(np.exp(np.linspace(np.log(1e-5 * s), np.log(6.0 * s), 500)),
                       np.exp(np.linspace(np.log(0.04 * s), np.log(0.4 * s), 200)), indexing="ij")  # fmt: skip
    V = t**2 + q**2 / each
    log = (-(n - k) * np.log(q) - within / (2 * q**2) - 0.5 * (k - 1) * np.log(V) - between / each / (2 * V)
           - (t**2 + q**2) / (2 * s**2) + np.log(t * q))  # fmt: skip
    w = np.exp(log - log.max())
    w /= w.sum()
    for node, x in (("tau", t), ("sigma", q)):
        mean = np.sum(w * x)
        sd = np.sqrt(np.sum(w * (x - mean) ** 2))
        assert abs(posterior.mean[node] - mean) < PROMISED * sd, node
        assert posterior.sd[node] == pytest.approx(sd, rel=PROMISED), node
    assert posterior.mean["mu"] == pytest.approx(y.mean(), rel=1e-12)
    assert posterior.sd["mu"] == pytest.approx(np.sqrt(np.sum(w * V) / k), rel=PROMISED)
