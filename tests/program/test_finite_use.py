"""States in use: on every rung, missing cells, prediction, saving, probabilities."""

import numpy as np
import pytest
from scipy import integrate

import credo as cr
from credo.errors import ParameterError
from credo.program.finite.posterior import pointwise_without_states

RNG = np.random.default_rng(0)
X = RNG.normal(size=60)
Y = np.concatenate([RNG.normal(-2, 1, 30), RNG.normal(2, 1, 30)])
Y[[5, 40]] = np.nan


def two_lines():
    m = cr.Model()
    x, p = m.data("x", X, dims="obs"), m.latent("p", cr.Beta(2, 2))
    mu = m.latent("mu", cr.Normal(0, 3), shape=2, ordered=True)
    z = m.latent("z", cr.Bernoulli(p), dims="obs")
    m.deterministic("centre", mu[z])
    m.observed("y", cr.Normal(mu[z] + 0.1 * x, 1.0), Y, dims="obs")
    return m


@pytest.fixture(scope="module")
def post():
    return two_lines().fit(random_state=0)


def test_missing_cells_leave_the_sum(post):
    """The same states as without those rows; theirs are drawn from the prior, and their data given them."""
    kept = np.isfinite(Y)
    m = cr.Model()
    p, mu = m.latent("p", cr.Beta(2, 2)), m.latent("mu", cr.Normal(0, 3), shape=2, ordered=True)
    z = m.latent("z", cr.Bernoulli(p), shape=58)
    m.observed("y", cr.Normal(mu[z] + 0.1 * X[kept], 1.0), Y[kept])
    without = m.fit(random_state=0)
    assert post.log_evidence == pytest.approx(without.log_evidence, abs=0.02)
    np.testing.assert_allclose(post.probabilities("z")[kept], without.probabilities("z"), atol=0.01)
    np.testing.assert_allclose(post.probabilities("z")[5], [1 - post.mean["p"], post.mean["p"]], atol=0.01)
    assert post["y_missing"].shape == (4000, 2)


def test_draws_of_states_have_their_probabilities(post):
    """60 cells, 4000 draws: beyond 5 errors in 4e-5 of runs."""
    p = post.probabilities("z")[:, 1]
    assert np.all(np.abs(post["z"].mean(axis=0) - p) < 5 * np.sqrt(p * (1 - p) / 4000) + 1e-3)
    np.testing.assert_array_equal(post["centre"], np.take_along_axis(post["mu"], post["z"], axis=1))


def test_new_rows_have_new_states(post):
    predicted = post.predict("y", x=np.array([0.0, 10.0, 20.0]))
    expected = np.mean((1 - post["p"]) * post["mu"][:, 0] + post["p"] * post["mu"][:, 1])
    np.testing.assert_allclose(predicted.mean, expected + np.array([0.0, 1.0, 2.0]), atol=5 * 2.3 / np.sqrt(4000))


def test_new_steps_of_a_chain_are_a_new_sequence():
    m = cr.Model()
    t, mu = m.data("t", np.zeros(60), dims="time"), m.latent("mu", cr.Normal(0, 3), shape=2, ordered=True)
    z = m.chain("z", [1.0, 0.0], [[0.5, 0.5], [0.0, 1.0]], dims="time", lengths=[20, 40])
    m.observed("y", cr.Normal(mu[z] + t, 1.0), Y, dims="time")
    post = m.fit(random_state=0, draws=2000)
    predicted = post.predict("y", t=np.zeros(4))
    share = 0.5 ** np.arange(4)  # still in the first state
    expected = share * post.mean["mu"][0] + (1 - share) * post.mean["mu"][1]
    np.testing.assert_allclose(predicted.mean, expected, atol=5 * 2.3 / np.sqrt(2000))


def test_a_saved_model_sums_states(post, tmp_path):
    cr.save(post, tmp_path / "post.credo")
    loaded = cr.load(tmp_path / "post.credo")
    np.testing.assert_array_equal(loaded.probabilities("z"), post.probabilities("z"))
    np.testing.assert_array_equal(loaded.model.fit(random_state=0)["z"], post["z"])


def test_a_saved_chain_is_a_chain(tmp_path):
    m = cr.Model()
    P, mu = m.latent("P", cr.Dirichlet(np.ones((2, 2)))), m.latent("mu", cr.Normal(0, 3), shape=2, ordered=True)
    z = m.chain("z", [0.5, 0.5], P, shape=60, lengths=[20, 40])
    m.observed("y", cr.Normal(mu[z], 1.0), Y)
    assert "z[60] ~ Chain(" in repr(m)
    cr.save(m, tmp_path / "chain.credo")
    loaded = cr.load(tmp_path / "chain.credo")
    assert repr(loaded) == repr(m)
    one, two = (each.fit(random_state=0, draws=400) for each in (m, loaded))
    np.testing.assert_array_equal(one["z"], two["z"])


def test_chains_before_data_move_as_they_should():
    """Counts of steps in 2,000 paths: each within 5 errors."""
    m = cr.Model()
    z = m.chain("z", [0.2, 0.8], [[0.9, 0.1], [0.3, 0.7]], shape=(3, 5), lengths=[2, 3])
    m.observed("y", cr.Normal(z, 1.0), np.zeros((3, 5)))
    drawn = m.sample_prior(2000, random_state=0)["z"]
    for first in (0, 2):
        assert abs(drawn[..., first].mean() - 0.8) < 5 * 0.4 / np.sqrt(6000)
    for before, p in ((0, 0.1), (1, 0.7)):
        after = drawn[..., 1][drawn[..., 0] == before]
        assert abs(after.mean() - p) < 5 * np.sqrt(p * (1 - p) / after.size)


@pytest.mark.parametrize(
    "inference", ["nuts", "laplace", "map", "metropolis", pytest.param("slice", marks=pytest.mark.slow)]
)
@pytest.mark.filterwarnings("ignore::credo.errors.ConvergenceWarning")
def test_every_rung_sums_states(inference):
    """One probability behind states that are all but seen: its posterior is nearly Beta(2 + 8, 2 + 4)."""
    m = cr.Model()
    p = m.latent("p", cr.Beta(2, 2))
    z = m.latent("z", cr.Bernoulli(p), shape=12)
    m.observed("y", cr.Normal(z, 0.1), np.repeat([1.0, 0.0], [8, 4]))
    options = {} if inference in ("laplace", "map") else {"warmup": 100}
    found = m.fit(inference, random_state=0, **({} if inference == "map" else {"draws": 800}), **options)
    if inference == "map":
        assert found.values["p"] == pytest.approx(9 / 14, abs=1e-3)
        return
    assert found["p"].mean() == pytest.approx(10 / 16, abs=0.05)  # 0.12 is its sd, 30 to 800 effective draws
    assert set(found["z"].mean(axis=0).round(2)) == {0.0, 1.0}


def test_a_normal_block_beside_states_stays_exact():
    """Effects that no state touches are integrated out as ever; the evidence against quadrature."""
    m = cr.Model()
    w, b = m.latent("w", cr.Normal(0, 1)), m.latent("b", cr.Normal(0, 2))
    z = m.latent("z", cr.Bernoulli(0.3))
    m.observed("u", cr.Normal(w, 1.0), 0.5)
    m.observed("v", cr.Normal(b * z, 1.0), 1.2)
    plan = m.explain().treatment
    assert (plan["w"], plan["z"], plan["b"]) == ("exact", "conjugate", "quadrature")
    post = m.fit(random_state=0)
    density = cr.Normal(0, 2).prob

    def v_given(state):
        return integrate.quad(lambda t: density(t) * cr.Normal(t * state, 1.0).prob(1.2), -20, 20)[0]

    expected = cr.Normal(0, np.sqrt(2)).log_prob(0.5) + np.log(0.7 * v_given(0) + 0.3 * v_given(1))
    assert post.log_evidence == pytest.approx(expected, abs=1e-3)


def test_a_cell_given_all_others(post):
    """log p(y_i | the rest, draw), which leaving one out needs: a mixture's density; of rows that share a state, by
    summing over it by hand."""
    factor = next(f for f in post.model.factors if f.name == "y")
    found = pointwise_without_states(post, factor)
    assert found is not None
    p, mu = post["p"][:, None], post["mu"]
    each = [cr.Normal(mu[:, k, None] + 0.1 * X, 1.0).prob(Y) for k in range(2)]
    np.testing.assert_allclose(found, np.log((1 - p) * each[0] + p * each[1]), rtol=1e-10)
    assert np.isnan(found[:, 5]).all()

    m = cr.Model()
    rate = m.latent("rate", cr.Gamma(shape=2, rate=1), shape=2)
    z = m.latent("z", cr.Bernoulli(0.4), shape=2)
    y = np.array([2.0, 3.0, 0.0])
    m.observed("y", cr.Poisson(rate[z][np.array([0, 0, 1])]), y)
    few = m.fit(random_state=0, draws=40)
    found = pointwise_without_states(few, m.factors[-1])
    law = cr.Poisson(few["rate"][:, :, None]).prob(y)  # (draws, state, row)
    weight = np.array([0.6, 0.4])
    other = weight * law[:, :, 1]
    expected = np.log((other * law[:, :, 0]).sum(axis=1) / other.sum(axis=1))
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-10)
    np.testing.assert_allclose(found[:, 2], np.log((weight * law[:, :, 2]).sum(axis=1)), rtol=1e-10)


def test_only_states_have_probabilities(post):
    with pytest.raises(ParameterError, match=r"one of \['z'\]"):
        post.probabilities("mu")
