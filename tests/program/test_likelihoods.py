"""The better routes of likelihoods against the laws' own densities, and their gradients against differences."""

import numpy as np
import pytest
from scipy import special, stats

import credo as cr
from credo.program.density import log_density
from credo.program.evaluate import Program
from credo.program.formula.zero_inflated import ZeroInflatedPoisson
from credo.program.likelihoods import likelihood_of
from credo.program.ordinal import ordinal

N = 25


def built(kind, shape="scalar"):
    """(term, latent nodes with values, Σ log p by scipy as a function of these values)."""
    rng = np.random.default_rng(3)
    m = cr.Model()
    eta = m.latent("eta", cr.Normal(0, 1), shape=(N,))
    at = {"eta": rng.normal(size=N)}
    if kind in ("probit", "cloglog"):
        n = rng.integers(1, 6, size=N)
        y = rng.integers(0, n + 1)
        inverse, mean = {
            "probit": (cr.math.ndtr, special.ndtr), "cloglog": (cr.math.inv_cloglog, lambda e: -np.expm1(-np.exp(e))),
        }[kind]  # fmt: skip
        law = cr.Binomial(n, inverse(eta))
        choose = np.log(special.binom(n, y))

        def by_hand(v):
            other = special.ndtr(-v["eta"]) if kind == "probit" else np.exp(-np.exp(v["eta"]))
            return (choose + y * np.log(mean(v["eta"])) + (n - y) * np.log(other)).sum()

    elif kind.startswith("ordinal"):
        link = kind.partition(":")[2]
        cuts = m.latent("cuts", cr.Normal(0, 1), shape=(3,))
        at["cuts"] = np.array([-1.0, 0.2, 1.4])
        y = rng.integers(0, 4, size=N)
        above = {"logit": lambda e: special.expit(-e), "probit": lambda e: special.ndtr(-e),
                 "cloglog": lambda e: np.exp(-np.exp(e))}[link]  # fmt: skip

        def by_hand(v):
            edges = np.concatenate([[-np.inf], v["cuts"], [np.inf]])
            return np.log(above(edges[y] - v["eta"]) - above(edges[y + 1] - v["eta"])).sum()

        law = cr.Categorical(ordinal(eta, cuts, link))
    else:
        s = m.latent("s", cr.HalfNormal(1), **({"shape": (N,)} if shape == "rows" else {}))
        at["s"] = rng.gamma(3, size=N) if shape == "rows" else np.array(2.5)
        if kind == "zero_inflated":
            y = np.where(np.arange(N) % 3 == 0, 0, rng.poisson(3.0, size=N))
            zi = cr.math.expit(cr.math.log(s))
            law = ZeroInflatedPoisson(cr.math.exp(eta), zi)

            def by_hand(v):
                share = v["s"] / (1 + v["s"])
                return np.log(share * (y == 0) + (1 - share) * stats.poisson.pmf(y, np.exp(v["eta"]))).sum()

        elif kind == "negative_binomial":
            y = rng.poisson(3.0, size=N)
            law = cr.NegativeBinomial(cr.math.exp(eta), s)
            by_hand = lambda v: stats.nbinom.logpmf(y, v["s"], v["s"] / (v["s"] + np.exp(v["eta"]))).sum()
        elif kind == "gamma":
            y = rng.gamma(2.0, size=N)
            law = cr.Gamma(shape=s, rate=s / cr.math.exp(eta))
            by_hand = lambda v: stats.gamma.logpdf(y, v["s"], scale=np.exp(v["eta"]) / v["s"]).sum()
        else:
            y = rng.beta(2, 2, size=N)
            p = cr.math.expit(eta)
            law = cr.Beta(p * s, (1 - p) * s)
            by_hand = lambda v: stats.beta.logpdf(
                y, special.expit(v["eta"]) * v["s"], special.expit(-v["eta"]) * v["s"]
            ).sum()
    node = m.observed("y", law, y)
    assert likelihood_of(law, node) is not None
    nodes = [m.nodes[name] for name in at]
    return log_density(law, node), nodes, at, by_hand


CASES = [("probit", "scalar"), ("cloglog", "scalar"), ("ordinal:logit", "scalar"), ("ordinal:probit", "scalar"),
         ("ordinal:cloglog", "scalar"), ("negative_binomial", "scalar"), ("negative_binomial", "rows"),
         ("beta", "scalar"), ("beta", "rows"), ("zero_inflated", "scalar"),
         ("gamma", "scalar"), ("gamma", "rows")]  # fmt: skip


@pytest.mark.parametrize(("kind", "shape"), CASES)
def test_values_gradients_and_batches(kind, shape):
    term, nodes, at, by_hand = built(kind, shape)
    program = Program([term], nodes)
    values = {node.number: np.asarray(at[str(node.name)]) for node in nodes}
    found, pull = program.value_and_pull(values)
    assert float(found[0]) == pytest.approx(by_hand(at), rel=1e-10)
    gradients = pull([1.0])
    for node in nodes:
        name, x = str(node.name), np.asarray(at[str(node.name)], dtype=float)
        for place in list(np.ndindex(*x.shape))[:6]:
            h = np.zeros(x.shape)
            h[place] = 1e-5
            slope = (by_hand({**at, name: x + h}) - by_hand({**at, name: x - h})) / 2e-5
            assert np.asarray(gradients[node.number])[place] == pytest.approx(slope, rel=2e-6, abs=2e-6)
    rng = np.random.default_rng(0)
    batch = {str(n.name): at[str(n.name)] * rng.uniform(0.8, 1.2, size=(5, *n.shape)) for n in nodes}
    batch = {name: np.sort(value) if name == "cuts" else value for name, value in batch.items()}
    together = program.values({node.number: batch[str(node.name)] for node in nodes}, lead=True)[0]
    one_by_one = [by_hand({name: value[i] for name, value in batch.items()}) for i in range(5)]
    np.testing.assert_allclose(together, one_by_one, rtol=1e-10)


@pytest.mark.parametrize("kind", ["probit", "cloglog", "ordinal:logit", "ordinal:probit"])
def test_they_stay_finite_far_out(kind):
    term, nodes, at, _ = built(kind)
    far = 5.0 if kind == "cloglog" else 30.0
    program = Program([term], nodes)
    for sign in (-1, 1):
        values = {n.number: np.full(N, sign * far) if n.name == "eta" else at[str(n.name)] for n in nodes}
        found, pull = program.value_and_pull(values)
        assert np.isfinite(found[0])
        assert all(np.isfinite(g).all() for g in pull([1.0]).values())


@pytest.mark.parametrize("alpha", [[1.0, 1.0, 1.0], [0.5, 2.0, 3.5]])
def test_a_simplex(alpha):
    m = cr.Model()
    p = m.latent("p", cr.Dirichlet(alpha))
    term = m.factors[0].term
    assert term.kind == "dirichlet_density"
    at = np.random.default_rng(0).dirichlet([2.0, 2.0, 2.0], size=4)
    program = Program([term], [p])
    np.testing.assert_allclose(
        program.values({p.number: at}, lead=True)[0], stats.dirichlet.logpdf(at.T, alpha), rtol=1e-12
    )
    _, pull = program.value_and_pull({p.number: at[0]})
    np.testing.assert_allclose(pull([1.0])[p.number], (np.array(alpha) - 1) / at[0], rtol=1e-12)


@pytest.mark.parametrize("law", ["gamma", "beta", "negative_binomial"])
def test_one_number_for_all_rows(law):
    rng = np.random.default_rng(0)
    m = cr.Model()
    s = m.latent("s", cr.HalfNormal(1))
    y = {"gamma": rng.gamma(2, size=7), "beta": rng.beta(2, 2, size=7), "negative_binomial": rng.poisson(2, size=7)}[
        law
    ]
    made, by_hand = {
        "gamma": (cr.Gamma(shape=s, rate=2.0), lambda v: stats.gamma.logpdf(y, v, scale=0.5).sum()),
        "beta": (cr.Beta(s, 2 * s), lambda v: stats.beta.logpdf(y, v, 2 * v).sum()),
        "negative_binomial": (cr.NegativeBinomial(s, 2.0), lambda v: stats.nbinom.logpmf(y, 2, 2 / (2 + v)).sum()),
    }[law]
    term = log_density(made, m.observed("y", made, y))
    assert term.kind.endswith("likelihood")
    program = Program([term], [s])
    at = np.array([0.7, 1.3])
    np.testing.assert_allclose(program.values({s.number: at}, lead=True)[0], [by_hand(v) for v in at], rtol=1e-12)
    _, pull = program.value_and_pull({s.number: at[1]})
    slope = (by_hand(1.3 + 1e-6) - by_hand(1.3 - 1e-6)) / 2e-6
    assert pull([1.0])[s.number] == pytest.approx(slope, rel=1e-6)
