"""Predictions for groups that were not in the data, and other shapes that models meet, against answers by hand."""

import numpy as np
import pytest

import credo as cr
from credo.errors import DataError
from credo.program.ops import OPS

# Statistical bounds below: |mean − truth| < 4.5 standard errors of the draws, a false alarm of 7e-6 each.
LIMIT = 4.5


def grouped(law_of, *, columns=()):
    """Three rows of groups a, b; `law_of(m)` gives the law of the group effects."""
    m = cr.Model()
    g = m.data("g", ["a", "b", "a"], dims="o", levels="G")
    for name, value in columns:
        m.data(name, value, dims="G")
    effect = m.latent("effect", law_of(m), dims="G")
    m.observed("y", cr.Normal(effect[g], 0.5), [1.0, 2.0, 1.5], dims="o")
    return m


def close(values, truth):
    assert abs(np.mean(values) - truth) < LIMIT * np.std(values) / np.sqrt(len(values))


@pytest.mark.parametrize("k", [1, 2, 3])
def test_what_is_not_known_of_new_levels_is_refused(k):
    """As many entries as new levels is no reason to take those of the old ones."""
    column = grouped(lambda m: cr.Normal(m.nodes["off"], 1.0), columns=[("off", [100.0, 200.0])])
    array = grouped(lambda m: cr.Normal(np.array([100.0, 200.0]), 1.0))
    for model in (column, array):
        p = model.fit(draws=20, random_state=0)
        with pytest.raises(DataError, match="mean of effect differs by 'G'"):
            p.predict(g=list("wxyz")[:k])


def test_columns_of_groups_are_given_anew():
    """Old levels first, then new ones in order of appearance: the new group's own mean."""
    m = grouped(lambda m: cr.Normal(m.nodes["off"] * 2.0, 1e-3), columns=[("off", [100.0, 200.0])])
    p = m.fit(draws=100, random_state=0)
    found = p.predict(g=["z", "a", "w"], off=[100.0, 200.0, 300.0, 400.0]).mean
    np.testing.assert_allclose(found, [600.0, 200.0, 800.0], atol=0.1)
    with pytest.raises(DataError, match="2 levels and 1 new"):
        p.predict(g=["z"], off=[300.0])


def test_regression_of_group_effects_on_columns():
    """Effects whose means are U @ β: a matrix product along the groups."""
    m = cr.Model()
    g = m.data("g", ["a", "b", "c"] * 2, dims="o", levels="G")
    u = m.data("u", [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], dims=("G", "column"))
    beta = m.latent("beta", cr.Normal(0, 10.0), dims="column")
    effect = m.latent("effect", cr.Normal(u @ beta, 1e-3), dims="G")
    m.observed("y", cr.Normal(effect[g], 1e-3), [1.0, 2.0, 3.0] * 2, dims="o")
    found = m.fit(draws=200, random_state=0).predict(g=["z"], u=[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 3.0]])
    np.testing.assert_allclose(found.mean, [8.0], atol=0.05)


def test_a_mean_per_group_is_drawn_for_the_new_group():
    """effect ~ Normal(a, 1) with a ~ Normal(3, 2), both per group: of a new group, mean 3 and variance 4 + 1."""
    m = grouped(lambda m: cr.Normal(m.latent("a", cr.Normal(3.0, 2.0), dims="G"), 1.0))
    p = m.fit(draws=4000, random_state=0)
    y = p.predict(g=["z"], random_state=1)
    close(y.draws[:, 0], 3.0)
    close((y.draws[:, 0] - 3.0) ** 2, 4.0 + 1.0 + 0.25)
    assert p.predict(g=["z"], new_levels="mean").mean == pytest.approx(3.0)


def test_an_sd_per_group_is_drawn_for_the_new_group():
    """effect ~ Normal(0, t), t ~ HalfNormal(1) per group: variance E t² = 1, and not Gaussian: E y⁴ = 3 E t⁴ = 9."""
    m = grouped(lambda m: cr.Normal(0.0, m.latent("t", cr.HalfNormal(1.0), dims="G")))
    p = m.fit(draws=2000, random_state=0)
    y = p.predict(g=["z", "a", "w"], random_state=1).draws
    rows = np.concatenate([y[:, 0], y[:, 2]])
    close(rows**2, 1.0 + 0.25)
    close(rows**4, 9.0 + 6.0 * 0.25 + 3.0 * 0.0625)


def test_new_levels_along_two_dims():
    """Both dims of a table get new levels; its corner of new rows and new columns comes from the prior."""
    m = cr.Model()
    g = m.data("g", ["a", "b", "b"], dims="o", levels="G")
    h = m.data("h", [1, 2, 3], dims="o", levels="H")
    row = m.latent("row", cr.Normal(0.0, 1.0), dims="G")
    m.latent("table", cr.Normal(5.0, 2.0), dims=("G", "H"))
    m.observed("y", cr.Normal(row[g] + m.nodes["table"].sum("H")[g] / 3.0, 1.0), [1.0, 2, 3], dims="o")
    m.observed("z", cr.Normal(m.nodes["table"][0][h], 1.0), [1.0, 2, 3], dims="o")
    p = m.fit(draws=500, random_state=0)
    found = p.predict("z", g=["c", "a", "b"], h=[9, 1, 8])
    close(found.draws[:, 0], 5.0)
    assert found.mean[1] < 4.5


def test_vectors_times_draws():
    """Every pairing of vector and matrix, with draws or without, against a loop."""
    rng = np.random.default_rng(0)
    shapes = [(3,), (3, 3)]
    for a_shape in shapes:
        for b_shape in shapes:
            for lead in ((False, False), (True, False), (False, True), (True, True)):
                a, b = (rng.normal(size=(4, *s) if has else s) for s, has in zip((a_shape, b_shape), lead))
                found = OPS["matmul"].forward([a, b], lead, {})
                for i in range(4) if any(lead) else ():
                    one = (a[i] if lead[0] else a) @ (b[i] if lead[1] else b)
                    np.testing.assert_allclose(found[i], one, rtol=1e-13)


def test_a_known_vector_times_a_latent_one():
    """y ~ Normal(x'w, 1), w ~ N(0, I): the posterior mean of w is x (x'x + 1)⁻¹ y, and prediction works."""
    x = np.array([1.0, 2.0, 3.0])
    m = cr.Model()
    w = m.latent("w", cr.Normal(0, 1), shape=3)
    m.observed("y", cr.Normal(x @ w, 1.0), 5.0)
    p = m.fit(random_state=0)
    np.testing.assert_allclose(p.mean["w"], x * 5.0 / 15.0, rtol=1e-12)
    y = p.predict()
    assert y.mean[0] == pytest.approx(14.0 * 5.0 / 15.0, abs=LIMIT / np.sqrt(4000))
    assert p.log_likelihood().shape == (4000,)


def test_deterministics_of_observed_nodes_with_missing_cells():
    """The sum of 1, a missing cell and 2, with y_missing ~ N(μ, 1) and μ | y ~ N(1, 1/3)."""
    m = cr.Model()
    mu = m.latent("mu", cr.Normal(0, 1))
    y = m.observed("y", cr.Normal(mu, 1.0), [1.0, np.nan, 2.0])
    m.deterministic("total", y.sum())
    p = m.fit(random_state=0)
    close(p["total"], 4.0)
    close((p["total"] - 4.0) ** 2, 1.0 + 1.0 / 3.0)


def test_missing_cells_of_a_truncated_law():
    """They follow the law, √(2/π) on average, and tell nothing of the rest."""
    m = cr.Model()
    mu = m.latent("mu", cr.Normal(0, 1))
    m.observed("y", cr.Truncated(cr.Normal(0, 1), 0, np.inf), [1.0, np.nan])
    m.observed("z", cr.Normal(mu, 1.0), [1.0])
    p = m.fit(random_state=0)
    assert p.mean["mu"] == pytest.approx(0.5)
    close(p["y_missing"][:, 0], np.sqrt(2.0 / np.pi))


def test_waits_of_zero_have_an_evidence():
    """Gamma(2, 1) and waits 0, 1, 2: log Γ(5)/Γ(2) − 5 log 4."""
    m = cr.Model()
    rate = m.latent("rate", cr.Gamma(shape=2.0, rate=1.0))
    m.observed("y", cr.Exponential(rate), [0.0, 1.0, 2.0])
    assert m.fit(draws=20).log_evidence == pytest.approx(np.log(24.0) - 5.0 * np.log(4.0), rel=1e-12)


@pytest.mark.parametrize("named", [True, False])
def test_exposures_of_zero_tell_nothing(named):
    """Gamma(3, 1) with counts 0, 5, 1 over 0, 2, ½: Gamma(9, 3.5), evidence of the two others alone."""
    posteriors = []
    for keep in ([0, 1, 2], [1, 2]):
        m = cr.Model()
        exposure = np.array([0.0, 2.0, 0.5])[keep]
        rate = m.latent("rate", cr.Gamma(shape=3.0, rate=1.0))
        times = m.data("exposure", exposure) if named else exposure
        m.observed("y", cr.Poisson(times * rate), np.array([0, 5, 1])[keep])
        posteriors.append(m.fit(draws=20))
    assert posteriors[0].inference == "exact"
    assert posteriors[0].mean["rate"] == pytest.approx(9.0 / 3.5, rel=1e-12)
    assert posteriors[0].log_evidence == pytest.approx(posteriors[1].log_evidence, rel=1e-12)
    np.testing.assert_array_equal(posteriors[0].log_likelihood()[:, 0], 0.0)
    assert posteriors[0].predict().mean[0] == 0.0
