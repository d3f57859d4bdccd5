"""States that are summed out: sums, slopes, probabilities and draws against enumeration of every joint state."""

import itertools

import numpy as np
import pytest

import credo as cr
from credo.errors import DataError, MemoryLimitError, UnavailableError
from credo.inference.transforms import unconstrained
from credo.program.collapsed import Collapsed
from credo.program.density import joint_target
from credo.program.finite.states import state_values
from credo.program.plan import plan_of

RNG = np.random.default_rng(1)
Y = RNG.normal(size=40)
NORMAL, SIMPLEX = cr.Normal(0, 1), cr.Dirichlet([1.0, 2.0])


def mixture():
    m = cr.Model()
    p, mu = m.latent("p", cr.Dirichlet([1.0, 2.0, 3.0])), m.latent("mu", cr.Normal(0, 2), shape=3)
    z, s = m.latent("z", cr.Categorical(p), shape=4), m.latent("s", cr.HalfNormal(1))
    m.observed("y", cr.Normal(mu[z], s), Y[:4])
    return m


def classes():
    """Two answers for each person, and several visits of each."""
    m = cr.Model()
    p, q = m.latent("p", SIMPLEX), m.latent("q", cr.Beta(2, 2), shape=(2, 3))
    z = m.latent("z", cr.Categorical(p), shape=3)
    m.observed("visit", cr.Bernoulli(q[z][:, 0][np.array([0, 0, 1, 2, 2, 2])]), [0, 1, 1, 0, 0, 1])
    m.observed("answer", cr.Bernoulli(q[z]), [[0, 1, 1], [1, 1, 0], [0, 0, 1]])
    return m


def holes():
    """Answers of three people to three questions, some not given: what is left has lost its axes."""
    m = cr.Model()
    p, q = m.latent("p", SIMPLEX), m.latent("q", cr.Beta(2, 2), shape=(2, 3))
    z = m.latent("z", cr.Categorical(p), shape=3)
    m.observed("answer", cr.Bernoulli(q[z]), [[0, np.nan, 1], [np.nan, np.nan, 0], [0, 0, 1]])
    return m


def items():
    """Answers to items by people, each in a class: two codes, one of them states."""
    m = cr.Model()
    p, z = m.latent("p", cr.Beta(2, 2), shape=(3, 2)), m.latent("z", cr.Bernoulli(0.4), shape=4)
    person, item = np.array([0, 0, 1, 2, 3, 3, 3]), np.array([0, 1, 2, 2, 1, 0, 0])
    m.observed("answer", cr.Bernoulli(p[item, z[person]]), [0, 1, 1, 1, 0, 0, 1])
    return m


def choice():
    m = cr.Model()
    a, z = m.latent("a", NORMAL, shape=(2, 3)), m.latent("z", cr.Bernoulli(0.4), shape=4)
    m.observed("y", cr.Normal(cr.math.where(z, a[0, 0], 2 * a[0, 1]), 1.0), Y[:4])
    m.observed("c", cr.Categorical(cr.math.softmax(a[z])), [0, 2, 2, 1])
    return m


def predictors():
    """Two predictors with cells that nobody saw: states, one as a number, one as a code."""
    m = cr.Model()
    p, b = m.latent("p", cr.Beta(1, 1)), m.latent("b", NORMAL, shape=3)
    x = m.observed("x", cr.Bernoulli(p), [1, 0, np.nan, 1, np.nan])
    g = m.observed("g", cr.Categorical([0.2, 0.3, 0.5]), [np.nan, 0, np.nan, 2, 1])
    m.observed("y", cr.Normal(b[g] + 0.5 * x, 1.0), Y[:5])
    return m


def network():
    m = cr.Model()
    A, b = m.latent("A", cr.Dirichlet([[1.0, 2], [3, 1]])), m.latent("b", NORMAL, shape=(2, 3))
    u = m.latent("u", cr.Bernoulli(m.latent("t", cr.Beta(1, 1))))
    v, w = m.latent("v", cr.Categorical(A[u])), m.latent("w", cr.Categorical([0.2, 0.3, 0.5]), shape=2)
    m.observed("y", cr.Normal(b[v][0] * u + w, 0.5), Y[:2])
    return m


def switch():
    """One state that all cells share, and a probability that depends on it."""
    m = cr.Model()
    a, h = m.latent("a", NORMAL, shape=2), m.latent("h", cr.Bernoulli(0.3))
    z = m.latent("z", cr.Bernoulli(0.2 + 0.5 * h), shape=5)
    m.observed("y", cr.Normal(a[z] + h, 1.0), Y[:5])
    return m


def line():
    """Neighbours tied by a potential: every cell of it touches two."""
    m = cr.Model()
    J, z = m.latent("J", NORMAL), m.latent("z", cr.Bernoulli(0.4), shape=7)
    m.potential("pair", J * (2 * z[1:] - 1) * (2 * z[:-1] - 1))
    m.observed("y", cr.Normal(z, 1.0), Y[:7])
    return m


def grid():
    m = cr.Model()
    J, z = m.latent("J", NORMAL), m.latent("z", cr.Bernoulli(0.4), shape=(3, 3))
    m.potential("down", J * z[1:] * z[:-1])
    m.potential("along", J * z[:, 1:] * z[:, :-1])
    m.observed("y", cr.Normal(z, 1.0), Y[:9].reshape(3, 3))
    return m


def known():
    m = cr.Model()
    m.observed("y", cr.Normal(m.latent("n", cr.Binomial(5, 0.4), shape=2), 1.0), [1.0, 3.0])
    return m


def zeros():
    """A Poisson with more zeros than it should."""
    m = cr.Model()
    rate, share = m.latent("rate", cr.Gamma(shape=2, rate=1)), m.latent("share", cr.Beta(1, 1))
    on = m.latent("on", cr.Bernoulli(share), shape=6)
    m.observed("y", cr.Poisson(rate * on), [0, 0, 3, 1, 0, 2])
    return m


def by_logit():
    m = cr.Model()
    b, z = m.latent("b", NORMAL, shape=2), m.latent("z", cr.Bernoulli(cr.math.expit(m.latent("a", NORMAL))), shape=3)
    m.observed("y", cr.Binomial([3, 4, 5], cr.math.expit(b[z])), [1, 4, 0])
    return m


def vectors():
    m = cr.Model()
    mu, z = m.latent("mu", NORMAL, shape=(2, 3)), m.latent("z", cr.Categorical([0.3, 0.7]), shape=3)
    share = m.latent("share", cr.Dirichlet(np.ones((2, 4))))
    m.observed("y", cr.MultivariateNormal(mu[z], np.eye(3) + 0.2), Y[:9].reshape(3, 3))
    m.observed("c", cr.Categorical(share[z]), [0, 3, 2])
    m.observed("k", cr.Multinomial(5, share[z]), [[1, 1, 3, 0], [0, 2, 2, 1], [5, 0, 0, 0]])
    return m


def regressions():
    """Each row on one of two regressions."""
    m = cr.Model()
    W, x = m.latent("W", NORMAL, shape=(2, 2)), m.data("x", Y[:10].reshape(5, 2))
    z = m.latent("z", cr.Categorical([0.3, 0.7]), shape=5)
    m.observed("y", cr.StudentT(4.0, (x * W[z]).sum(-1), 1.0), Y[10:15])
    return m


def chain(shape=6, lengths=None, transition=None, tied=False):
    m = cr.Model()
    mu = m.latent("mu", NORMAL, shape=2)
    P = m.latent("P", cr.Dirichlet(np.ones((2, 2)))) if transition is None else transition(m)
    z = m.chain("z", m.latent("start", SIMPLEX), P, shape=shape, lengths=lengths)
    if tied:  # a cell of y touches two states
        m.observed("y", cr.Normal(mu[z[1:]] - mu[z[:-1]], 0.7), Y[: int(np.prod(shape)) - 1])
    else:
        m.observed("y", cr.Normal(mu[z], 0.7), Y[: int(np.prod(shape))].reshape(shape))
    return m


def switching(m):
    return m.latent("Q", cr.Dirichlet(np.ones((2, 2, 2))))[m.latent("h", cr.Bernoulli(0.4))]


def step_by_step(m):
    return m.latent("Q", cr.Dirichlet(np.ones((4, 2, 2))))


def two_chains():
    m = cr.Model()
    P, a = m.latent("P", cr.Dirichlet(np.ones((2, 2)))), m.latent("a", NORMAL)
    z = m.chain("z", [0.5, 0.5], P, shape=4)
    w = m.chain("w", [0.3, 0.7], [[0.9, 0.1], [0.0, 1.0]], shape=4)
    m.observed("y", cr.Normal(a * z - w, 0.7), Y[:4])
    return m


MODELS = {
    "mixture": mixture, "classes": classes, "holes": holes, "items": items, "choice": choice,
    "predictors": predictors,
    "network": network, "switch": switch, "line": line, "grid": grid,
    "known": known, "zeros": zeros, "by_logit": by_logit, "vectors": vectors, "regressions": regressions,
    "chain": chain, "chain of lengths": lambda: chain(6, [2, 1, 3]), "chains side by side": lambda: chain((2, 3)),
    "chain switched": lambda: chain(5, transition=switching),
    "chain by step": lambda: chain(5, transition=step_by_step),
    "chain tied": lambda: chain(6, [2, 4], tied=True), "two chains": two_chains,
}  # fmt: skip


class Enumerated:
    """Every joint state of a model's finite nodes, at one draw of its priors."""

    def __init__(self, m, seed):
        self.plan = plan_of(m, "nuts")
        self.finite = [node for node in self.plan.latents if node.support.is_discrete]
        target = joint_target([f.term for f in self.plan.factors], self.plan.latents)
        prior = {name: value[0] for name, value in m.sample_prior(1, random_state=seed).items()}
        prior |= {f.hidden.name: np.ravel(prior[f.name])[f.missing] for f in m.factors if f.hidden is not None}
        cells = [state_values(node) for node in self.finite for _ in range(node.size)]
        self.states = np.array(list(itertools.product(*cells)))
        each = []
        for row in self.states:
            parts = np.split(row, np.cumsum([node.size for node in self.finite])[:-1])
            values = prior | {str(node.name): part for node, part in zip(self.finite, parts)}
            each.append(target.log_density(np.concatenate([np.ravel(values[str(n.name)]) for n in self.plan.latents])))
        self.log_sum = np.logaddexp.reduce(each)
        self.weights = np.exp(np.array(each) - self.log_sum)
        self.theta = np.concatenate([np.empty(0), *(np.ravel(prior[str(n.name)]) for n in self.plan.rest)])


@pytest.mark.parametrize("name", MODELS)
def test_sums_slopes_and_probabilities_are_those_of_enumeration(name):
    every = Enumerated(MODELS[name](), seed=3)
    collapsed = Collapsed(every.plan)
    value = collapsed._log_density(every.theta)
    assert value == pytest.approx(every.log_sum, abs=1e-10)
    inputs = collapsed.inputs(np.stack([every.theta, every.theta])) if every.plan.rest else {}
    nodes, at = {node.number: node for node in every.plan.rest}, 0
    found = {}
    for leaf in every.plan.leaves:
        found |= leaf.probabilities(inputs, nodes, 2)
    for node in every.finite:
        cells = every.states[:, at : at + node.size]
        at += node.size
        for k, state in enumerate(state_values(node)):
            expected = (every.weights @ (cells == state)).reshape(node.shape)
            np.testing.assert_allclose(found[node.name][1, k], expected, atol=1e-12)
    if every.plan.rest:
        np.testing.assert_allclose(collapsed.log_densities(np.stack([every.theta] * 2)), every.log_sum, atol=1e-10)
        free, bijection = unconstrained(collapsed.target)
        z, step = bijection.inverse(every.theta), 1e-5
        moves = step * np.eye(len(z))
        slopes = [(free.evaluate(z + h).log_density - free.evaluate(z - h).log_density) / (2 * step) for h in moves]
        np.testing.assert_allclose(free.evaluate(z, gradient=True).gradient, slopes, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["mixture", "switch", "line", "chain of lengths", "two chains", "known"])
def test_draws_have_the_frequencies_of_enumeration(name):
    """Every joint state of probability above 1e-3, each by its own count: a false alarm in 1e-5 of runs."""
    every, n = Enumerated(MODELS[name](), seed=5), 20_000
    inputs = Collapsed(every.plan).inputs(np.tile(every.theta, (n, 1))) if every.plan.rest else {}
    drawn = {}
    for leaf in every.plan.leaves:
        drawn |= leaf.draw(inputs, {node.number: node for node in every.plan.rest}, n, np.random.default_rng(0))
    rows = np.concatenate([drawn[node.name].reshape(n, -1) for node in every.finite], axis=1)
    number = {tuple(row): i for i, row in enumerate(every.states.tolist())}
    counts = np.bincount([number[tuple(row)] for row in rows.astype(float).tolist()], minlength=len(every.states))
    often = every.weights > 1e-3
    p = every.weights[often]
    assert np.all(np.abs(counts[often] - n * p) < 5.5 * np.sqrt(n * p * (1 - p) + 1e-9))


def test_nothing_unknown_but_states_is_exact():
    post = known().fit(random_state=0)
    every = Enumerated(known(), seed=0)
    assert post.result.status == "exact"
    assert post.log_evidence == pytest.approx(every.log_sum, abs=1e-12)
    np.testing.assert_allclose(post.mean["n"], every.weights @ every.states, atol=1e-12)
    assert post["n"].dtype.kind == "i"


def test_impossible_data_have_density_zero():
    m = cr.Model()
    s = m.latent("s", cr.HalfNormal(1))
    z = m.chain("z", [1.0, 0.0], [[1.0, 0.0], [0.5, 0.5]], shape=3)
    m.observed("y", cr.Normal(0.0, s), Y[:2])
    m.observed("k", cr.Poisson(z), [0, 0, 1])
    assert Collapsed(plan_of(m, "nuts"))._log_density(np.array([1.0])) == -np.inf


def test_a_count_without_a_largest_value_is_refused():
    m = cr.Model()
    n = m.latent("n", cr.Poisson(3.0))
    m.observed("y", cr.Normal(n, 1.0), [2.0])
    with pytest.raises(UnavailableError, match=r"n is a latent Poisson: it has no largest value.*high="):
        m.fit()


def test_a_count_with_a_largest_value_is_summed():
    m = cr.Model()
    n = m.latent("n", cr.Poisson(3.0), high=20)
    m.observed("y", cr.Normal(n, 1.0), [2.0])
    post = m.fit(random_state=0)
    k = np.arange(21)
    w = cr.Poisson(3.0).prob(k) / cr.Poisson(3.0).cdf(20) * cr.Normal(k, 1.0).prob(2.0)
    assert post.log_evidence == pytest.approx(np.log(w.sum()), abs=1e-10)
    assert post.mean["n"] == pytest.approx(w @ k / w.sum(), abs=1e-10)


def test_one_cell_of_too_many_states_is_refused():
    m = cr.Model()
    z = m.latent("z", cr.Bernoulli(0.5), shape=30)
    m.observed("y", cr.Normal(z.sum(), 1.0), 12.0)
    with pytest.raises(UnavailableError, match="y depends on 30 cells of z together"):
        m.fit()


def test_a_wide_grid_is_refused():
    m = cr.Model()
    z = m.latent("z", cr.Bernoulli(0.5), shape=(40, 40))
    m.potential("down", z[1:] * z[:-1])
    m.potential("along", z[:, 1:] * z[:, :-1])
    m.observed("y", cr.Normal(z, 1.0), np.zeros((40, 40)))
    with pytest.raises(MemoryLimitError, match="joint states"):
        m.fit()


def test_states_outside_an_array_are_refused():
    m = cr.Model()
    mu, z = m.latent("mu", NORMAL, shape=2), m.latent("z", cr.Categorical([0.2, 0.3, 0.5]), shape=3)
    with pytest.raises(DataError, match=r"takes values from 0 to 2, and .* has 2 entries"):
        mu[z]


@pytest.mark.parametrize(
    ("initial", "transition", "options", "said"),
    [
        ([0.5, 0.5], np.eye(3), {"shape": 4}, "must be"),
        ([0.5, 0.5], np.eye(2), {}, "dims of z must be given"),
        ([0.5, 0.5], np.eye(2), {"shape": 4, "lengths": [1, 2]}, "of sum 4"),
        ([0.5, 0.5], np.tile(np.eye(2), (5, 1, 1)), {"shape": 4}, "5 transition matrices for 3 steps"),
        ([0.5, 0.6], np.eye(2), {"shape": 4}, "sum to 1"),
    ],
)
def test_a_chain_that_does_not_fit_together_is_refused(initial, transition, options, said):
    with pytest.raises(cr.errors.CredoError, match=said):
        cr.Model().chain("z", initial, transition, **options)
