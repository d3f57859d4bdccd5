"""A model on other data: the same answers as one declared on them from the start; what cannot change is said."""

import numpy as np
import pytest

import credo as cr
from credo.errors import DataError, ParameterError
from credo.program.fitting import full_target
from credo.program.plan import plan_of

RNG = np.random.default_rng(0)


def rows(n, schools):
    rng = np.random.default_rng(n)
    x, g = rng.normal(size=n), np.array(schools)[np.arange(n) % len(schools)]
    return x, g, x + rng.normal(size=n)


def school_model(x, g, y, offset=None):
    """Everything a declaration can have: levels, dims, sums, picks, slices, a restricted law, a potential, a name."""
    m = cr.Model()
    hours = m.data("hours", x, dims="pupil")
    school = m.data("school", g, dims="pupil", levels="schools")
    m.dim("term", 2)
    w = m.latent("w", cr.Normal(np.array([0.0, 1.0]), 5.0), dims="term")
    tau = m.latent("tau", cr.HalfNormal(1.0))
    a = m.latent("a", cr.Normal(0, tau), dims="schools")
    sd = m.latent("sd", cr.Normal(1.0, 1.0), low=0.1)
    mean = m.deterministic("mean", w[0] + w[1] * hours + a[school] - a.mean())
    m.potential("soft", -((hours @ hours) * 0.001) * cr.math.square(w))
    m.observed("score", cr.Normal(mean, sd), y, dims="pupil")
    return m


def assert_same_density(one, two):
    first, second = (full_target(plan_of(m, "nuts")) for m in (one, two))
    assert first.shapes == second.shapes
    for _ in range(5):
        x = np.abs(RNG.normal(size=first.dim)) + 0.2
        a, b = first.evaluate(x, gradient=True), second.evaluate(x, gradient=True)
        assert a.log_density == pytest.approx(b.log_density, rel=1e-13)
        np.testing.assert_allclose(a.gradient, b.gradient, rtol=1e-11)


def test_more_rows_and_other_groups():
    old, new = rows(12, ["north", "south"]), rows(30, ["east", "north", "west"])
    m = school_model(*old)
    moved = m.with_data(hours=new[0], school=new[1], score=new[2])
    assert_same_density(moved, school_model(*new))
    assert repr(moved) == repr(school_model(*new))
    assert_same_density(m, school_model(*old))  # the first is as it was
    assert moved.with_data(hours=old[0], school=old[1], score=old[2]).sizes == m.sizes


def test_what_is_not_given_stays():
    x, g, y = rows(12, ["north", "south"])
    m = school_model(x, g, y)
    assert_same_density(m.with_data(score=y + 1.0), school_model(x, g, y + 1.0))
    assert_same_density(m.with_data(), m)
    with pytest.raises(DataError, match=r"score has 12 along 'pupil', and the new data 3.*Give new values of score"):
        m.with_data(hours=x[:3], school=g[:3])


def test_missing_cells_stay_missing():
    y = np.array([1.0, np.nan, 2.0, np.nan, 0.5])
    m = cr.Model()
    u = m.latent("u", cr.Normal(0, 1))
    x = m.observed("x", cr.Normal(u, 1), y, dims="row")
    m.observed("z", cr.Normal(2.0 * x, 1), np.arange(5.0), dims="row")
    assert_same_density(m.with_data(), m)
    full = m.with_data(x=np.arange(7.0), z=np.ones(7))
    assert [node.name for node in full.latents] == ["u"]
    assert full.nodes["z"].shape == (7,)


def test_declared_levels_and_sizes_stay():
    m = cr.Model()
    m.dim("schools", ["east", "north", "south", "west"])
    g = m.data("school", ["north", "south"], dims="pupil", levels="schools")
    a = m.latent("a", cr.Normal(0, 1), dims="schools")
    m.observed("y", cr.Normal(a[g], 1), [1.0, 2.0], dims="pupil")
    moved = m.with_data(school=["west"], y=[0.5])
    assert moved.nodes["a"].shape == (4,)
    with pytest.raises(DataError, match="home"):
        m.with_data(school=["home"], y=[0.5])


def test_answers_of_a_fit():
    """Conjugate: the posterior on new data by formula."""
    m = cr.Model()
    mu = m.latent("mu", cr.Normal(0, 10))
    m.observed("y", cr.Normal(mu, 1), [1.0, 2.0], dims="row")
    y = np.array([3.0, 4.0, 8.0])
    found = m.with_data(y=y).fit(random_state=0)
    assert found.mean["mu"] == pytest.approx(y.sum() / (3 + 0.01), rel=1e-12)


def test_refusals():
    x, g, y = rows(12, ["north", "south"])
    m = school_model(x, g, y)
    with pytest.raises(ParameterError, match="a data or observed node: hours, school, score"):
        m.with_data(tau=1.0)
    with pytest.raises(DataError, match="other new data"):
        m.with_data(hours=x[:3], school=g[:4], score=y[:3])
    fixed = cr.Model()
    slope = fixed.latent("slope", cr.Normal(0, 1))
    fixed.observed("y", cr.Normal(slope * x, 1), y, dims="row")
    with pytest.raises(DataError, match=r"m\.data"):
        fixed.with_data(y=y[:5])


def test_functions_of_the_users_follow():
    jnp = pytest.importorskip("jax.numpy")

    def curve(x, a):
        return jnp.exp(a * x)

    def build(x, y):
        m = cr.Model()
        at = m.data("x", x, dims="row")
        a = m.latent("a", cr.Normal(0, 1))
        m.observed("y", cr.Normal(cr.math.call(curve, at, a, dims="row"), 0.1), y, dims="row")
        return m

    x, y = np.linspace(0, 1, 9), np.linspace(1, 2, 9)
    assert_same_density(build(x[:4], y[:4]).with_data(x=x, y=y), build(x, y))


def test_a_recursion_of_a_thousand_steps():
    """Shared sub-expressions are asked for their range, told and made anew once each, not once a path."""
    m = cr.Model()
    y = m.data("y", np.zeros(3), dims="row")
    a = m.latent("a", cr.HalfNormal(1))
    x = a
    for _ in range(700):
        x = 0.5 * x + 0.5 * x * a / (1.0 + x)
    m.observed("z", cr.Normal(cr.math.exp(-x) * y, a), np.zeros(3), dims="row")
    assert x.bounds[0] == 0.0
    assert "…" in repr(x)
    assert len(repr(x)) < 2000
    assert m.with_data(y=np.ones(5), z=np.ones(5)).nodes["z"].shape == (5,)


def test_hidden_chains_follow():
    m = cr.Model()
    mean = m.latent("mean", cr.Normal(0, 5), shape=2)
    z = m.chain("z", [0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], shape=6)
    m.observed("y", cr.Normal(mean[z], 1.0), np.arange(6.0))
    assert_same_density(m.with_data(), m)


def test_order_follows():
    m = cr.Model()
    mean = m.latent("mean", cr.Normal(0, 5), shape=2, ordered=True)
    m.observed("y", cr.Normal(mean, 1.0), [0.0, 1.0])
    assert "ordered" in repr(m)
    assert repr(m.with_data()) == repr(m)
    assert_same_density(m.with_data(), m)
