"""Posteriors compared and averaged: leave-one-out against refits, evidences against each other."""

import numpy as np
import pytest

import credo as cr
from credo.errors import ParameterError, UnavailableError


def fits(n=30, flat=False):
    rng = np.random.default_rng(0)
    x = np.linspace(-1, 1, n)
    y = 0.5 + x + 0.4 * rng.normal(size=n)
    found = {}
    for name, degree in (("level", 0), ("line", 1), ("cubic", 3)):
        m = cr.Model()
        w = m.latent("w", cr.Flat() if flat else cr.Normal(0, 2), shape=degree + 1)
        sigma = m.latent("sigma", cr.HalfNormal(1))
        basis = m.data("basis", np.vander(x, degree + 1, increasing=True), dims=("obs", None))
        m.observed("y", cr.Normal(basis @ w, sigma), y, dims="obs")
        found[name] = m.fit(random_state=0)
    return found


def test_the_line_wins_and_weights_follow_the_evidence():
    found = fits()
    comparison = cr.compare(found)
    assert comparison.chosen == "line"
    assert comparison.rows[-1].name == "level"
    both = cr.average(found)
    evidences = np.array([p.log_evidence for p in found.values()])
    expected = np.exp(evidences - evidences.max())
    np.testing.assert_allclose(list(both.weights_.values()), expected / expected.sum(), rtol=1e-12)
    stacked = cr.average(found, by="stacking")
    assert stacked.weights_["level"] < 0.1
    p = both.predict("y")
    assert p.mean.shape == (30,)
    np.testing.assert_allclose(p.variance, p.aleatoric + p.epistemic)


def test_leave_one_out_equals_a_refit_without_the_row():
    """Four standard errors of 4,000 draws: 6e-5 by chance, for three rows."""
    found = fits()["line"]
    comparison = cr.compare({"a": found, "b": fits()["level"]})
    y = found.model.nodes["y"].value
    for i in (0, 11, 29):
        m = cr.Model()
        keep = np.delete(np.arange(30), i)
        basis = m.data("basis", found.model.nodes["basis"].value[keep], dims=("obs", None))
        w, sigma = m.latent("w", cr.Normal(0, 2), shape=2), m.latent("sigma", cr.HalfNormal(1))
        m.observed("y", cr.Normal(basis @ w, sigma), y[keep], dims="obs")
        law = m.fit(random_state=1).predict(basis=found.model.nodes["basis"].value[[i]])
        assert comparison.pointwise["a"][i] == pytest.approx(float(law.log_prob(y[[i]])[0]), abs=0.03)


def test_what_cannot_be_compared_is_named():
    flat = fits(flat=True)
    with pytest.raises(UnavailableError, match="has no evidence"):
        cr.average(flat)
    with pytest.raises(ParameterError, match="estimators, or two and more posteriors"):
        cr.compare({"a": flat["line"], "b": cr.LinearRegression()})
    with pytest.raises(ParameterError, match="to compare estimators"):
        cr.compare({"a": cr.LinearRegression()})


def test_regressions_by_formula_are_compared_too():
    rng = np.random.default_rng(1)
    x = rng.normal(size=40)
    table = {"y": 1.0 + 2.0 * x + rng.normal(size=40), "x": x}
    fits = {"level": cr.regress("y ~ 1", table, random_state=0), "line": cr.regress("y ~ x", table, random_state=0)}
    assert cr.compare(fits).chosen == "line"
    assert cr.average(fits).weights_["line"] > 0.99


def test_noise_makes_no_model_the_simpler():
    """Twins, one of them with the tighter prior of a coefficient that the data know: their p differ by less than a
    tenth, of which draws decide; the better one is chosen, whichever comes first."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=60)
    y = x + 0.5 * rng.normal(size=60)
    found = {}
    for k, sd in enumerate((1.0, 1.1, 1.2, 1.3)):
        m = cr.Model()
        w, s = m.latent("w", cr.Normal(0, sd)), m.latent("s", cr.HalfNormal(1))
        m.observed("y", cr.Normal(w * m.data("x", x, dims="obs"), s), y, dims="obs")
        found[f"m{k}"] = m.fit(random_state=k)
    comparison = cr.compare(found)
    assert comparison.chosen == comparison.best
    assert len({row.complexity for row in comparison.rows}) == 1
