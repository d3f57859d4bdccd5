"""Labels that nothing tells apart: three cases, against exact values and against the same model with labels in order.

Where labels are exchangeable the answer is about all K! labellings, the evidence too, and says so; `ordered=True` keeps
one of them.
"""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate

import credo as cr
from credo.errors import ParameterError, UnavailableError
from credo.program.plan import plan_of

DATA = Path(__file__).parents[1] / "data" / "posteriordb"
REFERENCES = json.loads((DATA / "references.json").read_text())


def numbers(name):
    return np.array(json.loads((DATA / f"{name}.json").read_text())["y"], dtype=float)


def assert_as_published(found, name):
    """Means and sds of draws taken as independent, within 4 of their errors of exact values."""
    for entry, (mean, sd) in REFERENCES[name]["exact"].items():
        if entry in found:
            x = found[entry]
            assert abs(x.mean() - mean) < 4 * sd / np.sqrt(x.size), entry
            assert abs(x.std() / sd - 1.0) < 4 / np.sqrt(2 * x.size), entry


def two_normals(ordered):
    """posteriordb's low_dim_gauss_mix, whose means are in order there."""
    m = cr.Model()
    theta, sigma = m.latent("theta", cr.Beta(5, 5)), m.latent("sigma", cr.HalfNormal(2), shape=2)
    mu = m.latent("mu", cr.Normal(0, 2), shape=2, ordered=ordered)
    y = numbers("low_dim_gauss_mix")
    z = m.latent("z", cr.Bernoulli(1 - theta), shape=y.size)
    m.observed("y", cr.Normal(mu[z], sigma[z]), y)
    return m


def in_order(post):
    """Draws with the labels sorted by mu."""
    order = np.argsort(post["mu"], axis=1)
    first = order[:, 0] == 0
    found = {"theta": np.where(first, post["theta"], 1 - post["theta"])}
    for name in ("mu", "sigma"):
        x = np.take_along_axis(post[name], order, axis=1)
        found |= {f"{name}[{k + 1}]": x[:, k] for k in range(2)}
    return found, first


@pytest.mark.parametrize("ordered", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_two_normals(ordered):
    """The first case: two labellings, far apart."""
    post = two_normals(ordered).fit(random_state=1)
    assert post.result.ok
    found, first = in_order(post)
    assert_as_published(found, "low_dim_gauss_mix-low_dim_gauss_mix")
    reference = REFERENCES["low_dim_gauss_mix-low_dim_gauss_mix"]["log_evidence"]
    assert post.log_evidence == pytest.approx(reference, abs=0.03)  # not log 2 less, as one labelling of two has
    if ordered:
        assert first.all()
        assert not any("labelling" in said for said in post.result.advice)
    else:
        assert abs(first.mean() - 0.5) < 5 * 0.5 / np.sqrt(first.size)
        assert "all 2 labellings count; to keep one labelling, declare mu with ordered=True" in post.result.advice[-1]
        assert "nothing tells the labels of z apart" in str(two_normals(False).explain())


@pytest.mark.slow
@pytest.mark.parametrize("ordered", [False, True])
def test_two_normals_by_chains(ordered):
    """Every chain stays with one labelling: certified with labels in order, and exchanged at random."""
    post = two_normals(ordered).fit("nuts", random_state=1)
    assert post.result.ok
    found, first = in_order(post)
    assert_as_published(found, "low_dim_gauss_mix-low_dim_gauss_mix")
    if not ordered:
        assert abs(first.mean() - 0.5) < 5 * 0.5 / np.sqrt(first.size)
        same = np.where(first[:, None], post["z"], 1 - post["z"])  # states move with their labels
        assert np.all(same[:, np.argmin(numbers("low_dim_gauss_mix"))] == 0)


@pytest.mark.parametrize("ordered", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_two_means(ordered):
    """The second case, posteriordb's normal_2: share and two means, all the rest known."""
    y = numbers("normal_2")
    m = cr.Model()
    theta, mu = m.latent("theta", cr.Uniform(0, 1)), m.latent("mu", cr.Normal(0, 10), shape=2, ordered=ordered)
    z = m.latent("z", cr.Bernoulli(1 - theta), shape=y.size)
    m.observed("y", cr.Normal(mu[z], 1.0), y)
    post = m.fit(random_state=2)
    assert post.result.ok
    assert post.log_evidence == pytest.approx(REFERENCES["normal_2-normal_mixture"]["log_evidence"], abs=1e-3)
    mu = np.sort(post["mu"], axis=1)
    assert_as_published({"mu[1]": mu[:, 0], "mu[2]": mu[:, 1]}, "normal_2-normal_mixture")
    if not ordered:
        assert post.mean["mu"] == pytest.approx(np.full(2, mu.mean()), abs=1e-2 * np.ptp(mu.mean(axis=0)))


def test_three_overlapping_components():
    """The third case: six labellings, and probabilities of states that are all 1/3 until they are told apart."""
    rng = np.random.default_rng(0)
    y = np.concatenate([rng.normal(-4, 1, 20), rng.normal(0, 1, 20), rng.normal(5, 1, 26)])
    posts = []
    for ordered in (False, True):
        m = cr.Model()
        p, mu = m.latent("p", cr.Dirichlet(np.full(3, 2.0))), m.latent("mu", cr.Normal(0, 5), shape=3, ordered=ordered)
        z, s = m.latent("z", cr.Categorical(p), shape=y.size), m.latent("s", cr.HalfNormal(2))
        m.observed("y", cr.Normal(mu[z], s), y)
        posts.append(m.fit(random_state=0))
    free, one = posts
    assert free.result.certificate["modes"] == 6
    assert free.log_evidence == pytest.approx(one.log_evidence, abs=0.03)
    assert "all 6 labellings count" in free.result.advice[-1]
    np.testing.assert_allclose(free.mean["p"], 1 / 3, atol=0.01)
    mean, sd = np.sort(free["mu"], axis=1).mean(axis=0), one["mu"].std(axis=0)
    np.testing.assert_allclose(mean, one["mu"].mean(axis=0), atol=5 * sd.max() * np.sqrt(2 / 4000))
    assert free.mean["s"] == pytest.approx(one.mean["s"], abs=5 * one["s"].std() * np.sqrt(2 / 4000))


def labels_in(m):
    return [labels.classes for leaf in plan_of(m, "nuts").leaves for labels in leaf.labels]


def chain_of(initial, transition, prior=None):
    m = cr.Model()
    mu = m.latent("mu", cr.Normal(0, 1) if prior is None else prior, shape=3)
    z = m.chain("z", initial, transition(m), shape=5)
    m.observed("y", cr.Normal(mu[z], 1.0), np.arange(5.0))
    return m


def free_rows(m):
    return m.latent("P", cr.Dirichlet(np.ones((3, 3))))


def test_which_labels_are_exchangeable():
    assert labels_in(chain_of(np.ones(3) / 3, free_rows)) == [((0, 1, 2),)]
    assert labels_in(chain_of([0.2, 0.2, 0.6], free_rows)) == [((0, 1),)]
    assert labels_in(chain_of(np.ones(3) / 3, free_rows, cr.Normal([0.0, 1.0, 0.0], 1.0))) == [((0, 2),)]
    # Rows that prefer to stay are exchanged with their columns; a chain that only goes on is not.
    assert labels_in(chain_of(np.ones(3) / 3, lambda m: np.eye(3) * 0.7 + 0.1)) == [((0, 1, 2),)]
    assert labels_in(chain_of(np.ones(3) / 3, lambda m: np.eye(3) * 0.7 + 0.3 * np.roll(np.eye(3), 1, axis=1))) == []


def test_a_concatenation_of_scalars_has_labels():
    m = cr.Model()
    mu = cr.math.concat(m.latent("a", cr.Normal(0, 1)), m.latent("b", cr.Normal(0, 1)))
    z = m.latent("z", cr.Categorical([0.5, 0.5]), shape=4)
    m.observed("y", cr.Normal(mu[z], 1.0), np.arange(4.0))
    assert labels_in(m) == [((0, 1),)]


def test_different_covariates_tell_labels_apart():
    m = cr.Model()
    mu, x = m.latent("mu", cr.Normal(0, 1), shape=2), m.data("x", np.array([1.0, 2.0]))
    z = m.latent("z", cr.Bernoulli(0.5), shape=4)
    m.observed("y", cr.Normal((mu * x)[z], 1.0), np.arange(4.0))
    assert labels_in(m) == []


# -- vectors in order --------------------------------------------------------------------------------------------------


def test_the_density_of_an_ordered_vector_is_normalised():
    """Three ordered numbers whose laws differ: over the ordered cone, by quadrature."""
    mean, sd = np.array([0.0, 0.5, 0.2]), np.array([1.0, 0.7, 2.0])
    m = cr.Model()
    x = m.latent("x", cr.Normal(mean, sd), shape=3, ordered=True)
    m.observed("y", cr.Normal(x.sum(), 1.0), 0.3)
    constant = next(f for f in m.factors if f.name == "x_order").node.value
    laws = [cr.Normal(a, b) for a, b in zip(mean, sd)]
    inside = integrate.quad(lambda t: laws[1].prob(t) * laws[0].cdf(t) * laws[2].survival(t), -8, 8, epsabs=1e-12)[0]
    assert constant == pytest.approx(-np.log(inside), abs=1e-6)
    drawn = m.sample_prior(2000, random_state=0)["x"]
    assert np.all(np.diff(drawn, axis=1) > 0)


def test_one_law_in_order_has_k_factorial():
    m = cr.Model()
    s = m.latent("s", cr.HalfNormal(1))
    x = m.latent("x", cr.Normal(0, s), shape=(2, 4), ordered=True)
    m.observed("y", cr.Normal(x, 1.0), np.zeros((2, 4)))
    assert next(f for f in m.factors if f.name == "x_order").node.value == pytest.approx(2 * np.log(24))
    drawn = m.sample_prior(500, random_state=0)["x"]
    assert np.all(np.diff(drawn, axis=-1) > 0)


@pytest.mark.parametrize("ends", [(None, None), (0.0, None), (None, 1.0), (-1.0, 1.0)])
def test_ordered_between_ends(ends):
    low, high = ends
    m = cr.Model()
    x = m.latent("x", cr.Normal(0, 1), shape=2, low=low, high=high, ordered=True)
    m.observed("y", cr.Normal(x[0] + 2 * x[1], 0.5), 0.4)
    post = m.fit(random_state=0)
    assert post.result.ok
    a, b = -6 if low is None else low, 6 if high is None else high
    t = np.linspace(a, b, 801)
    u, v = np.meshgrid(t, t, indexing="ij")
    w = cr.Normal(0, 1).prob(u) * cr.Normal(0, 1).prob(v) * cr.Normal(u + 2 * v, 0.5).prob(0.4)
    w *= np.where(u < v, 1.0, np.where(u == v, 0.5, 0.0))
    expected = [(w * u).sum() / w.sum(), (w * v).sum() / w.sum()]
    np.testing.assert_allclose(post.mean["x"], expected, atol=0.02)


def test_what_cannot_be_in_order_is_refused():
    m = cr.Model()
    with pytest.raises(ParameterError, match="shape of a must be of one axis at least"):
        m.latent("a", cr.Normal(0, 1), ordered=True)
    with pytest.raises(ParameterError, match="real numbers"):
        m.latent("a", cr.Poisson(3.0), shape=2, ordered=True)
    centre = m.latent("centre", cr.Normal(0, 1), shape=2)
    with pytest.raises(UnavailableError, match="probability of the order is not known"):
        m.latent("a", cr.Normal(centre, 1.0), ordered=True)


def test_a_hidden_chain_as_published():
    """posteriordb's hmm_example: means in order, with priors of their own; its first state has weight 1 either way."""
    y = numbers("hmm_example")
    m = cr.Model()
    P = m.latent("P", cr.Dirichlet(np.ones((2, 2))))
    mu = m.latent("mu", cr.Normal([3.0, 10.0], 1.0), shape=2, low=0, ordered=True)
    z = m.chain("z", [0.5, 0.5], P, shape=y.size)
    m.observed("y", cr.Normal(mu[z], 1.0), y)
    post = m.fit(random_state=1)
    assert post.result.ok
    found = {f"theta{i + 1}[{j + 1}]": post["P"][:, i, j] for i, j in itertools.product(range(2), range(2))}
    found |= {f"mu[{k + 1}]": post["mu"][:, k] for k in range(2)}
    assert_as_published(found, "hmm_example-hmm_example")
