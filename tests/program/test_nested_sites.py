"""Which laws are recognised as sites: η and ψ read off a law give its density back."""

import numpy as np
import pytest
from scipy import special, stats

import credo as cr
from credo.program import math as cm
from credo.program.evaluate import Program
from credo.program.model import Model
from credo.program.passes.affine import NotAffineError
from credo.program.passes.collapse import find_block
from credo.program.passes.sites import recognised
from credo.program.prepare import prepared

X = np.random.default_rng(3).normal(size=(6, 2))
G = np.array([0, 1, 2, 2, 1, 0])
E = np.array([0.5, 1.0, 2.0, 1.5, 1.0, 3.0])


def parts():
    m = Model()
    m.dim("group", 3)
    w = m.latent("w", cr.Normal(0, 1), shape=2)
    u = m.latent("u", cr.Normal(0, 1), dims="group")
    s = m.latent("s", cr.HalfNormal(1))
    t = m.latent("t", cr.HalfNormal(1), dims="group")
    g = m.data("g", G, levels="group")
    return m, w, u, s, t, g


def eta(w, u, g):
    return X @ w + u[g]


COUNTS, BINARY, POSITIVE = [0, 1, 2, 3, 0, 5], [0, 1, 1, 0, 1, 0], [0.5, 1.0, 2.0, 0.1, 3.0, 0.7]

# law of (w, u, s, t, g), values, name of the site, log p(y | η, ψ) by SciPy
SITES = {
    "poisson": (lambda w, u, s, t, g: cr.Poisson(cm.exp(eta(w, u, g))), COUNTS, "PoissonLog",
                lambda y, e: stats.poisson.logpmf(y, np.exp(e))),
    "exposure": (lambda w, u, s, t, g: cr.Poisson(E * cm.exp(eta(w, u, g))), COUNTS, "PoissonLog",
                 lambda y, e: stats.poisson.logpmf(y, np.exp(e))),
    "taken apart": (lambda w, u, s, t, g: cr.Poisson(E**s * cm.exp(X @ w) * cm.sqrt(cm.exp(u)[g]) / (1.0 + s)), COUNTS,
                    "PoissonLog", lambda y, e: stats.poisson.logpmf(y, np.exp(e))),
    "powers": (lambda w, u, s, t, g: cr.Poisson(cm.exp(w[0]) ** 3 * cm.exp(X @ w) ** 2), COUNTS, "PoissonLog",
               lambda y, e: stats.poisson.logpmf(y, np.exp(e))),
    "logit": (lambda w, u, s, t, g: cr.Bernoulli(cm.expit(eta(w, u, g))), BINARY, "BernoulliLogit",
              lambda y, e: special.log_expit(np.where(y, e, -e))),
    "logit by hand": (lambda w, u, s, t, g: cr.Bernoulli(1.0 / (1.0 + cm.exp(-eta(w, u, g)))), BINARY,
                      "BernoulliLogit", lambda y, e: special.log_expit(np.where(y, e, -e))),
    "one minus": (lambda w, u, s, t, g: cr.Bernoulli(1.0 - cm.expit(eta(w, u, g))), BINARY, "BernoulliLogit",
                  lambda y, e: special.log_expit(np.where(y, e, -e))),
    "probit": (lambda w, u, s, t, g: cr.Bernoulli(cm.ndtr(u)[g]), BINARY, "BernoulliProbit",
               lambda y, e: special.log_ndtr(np.where(y, e, -e))),
    "cloglog": (lambda w, u, s, t, g: cr.Bernoulli(1.0 - cm.exp(-cm.exp(eta(w, u, g)))), BINARY, "BernoulliCloglog",
                lambda y, e: np.where(y, np.log(-np.expm1(-np.exp(e))), -np.exp(e))),
    "cloglog by expm1": (lambda w, u, s, t, g: cr.Bernoulli(-cm.expm1(-s * cm.exp(eta(w, u, g)))), BINARY,
                         "BernoulliCloglog", lambda y, e: np.where(y, np.log(-np.expm1(-np.exp(e))), -np.exp(e))),
    "loglog": (lambda w, u, s, t, g: cr.Bernoulli(cm.exp(-cm.exp(eta(w, u, g)))), BINARY, "BernoulliCloglog",
               lambda y, e: np.where(y, np.log(-np.expm1(-np.exp(e))), -np.exp(e))),
    "binomial": (lambda w, u, s, t, g: cr.Binomial(np.array([1, 2, 3, 4, 5, 6]), cm.expit(eta(w, u, g))),
                 [0, 1, 2, 3, 0, 5], "BinomialLogit",
                 lambda y, e: stats.binom.logpmf(y, np.arange(1, 7), special.expit(e))),
    "negative binomial": (lambda w, u, s, t, g: cr.NegativeBinomial(cm.exp(eta(w, u, g)), s), COUNTS,
                          "NegativeBinomialLog",
                          lambda y, e, k: stats.nbinom.logpmf(y, k, k / (k + np.exp(e)))),
    "gamma": (lambda w, u, s, t, g: cr.Gamma(shape=s, rate=s / cm.exp(eta(w, u, g))), POSITIVE, "GammaLog",
              lambda y, e, k: stats.gamma.logpdf(y, k, scale=np.exp(e) / k)),
    "gamma by rate": (lambda w, u, s, t, g: cr.Gamma(shape=t[g], rate=cm.exp(eta(w, u, g))), POSITIVE, "GammaLog",
                      lambda y, e, k: stats.gamma.logpdf(y, k, scale=np.exp(e) / k)),
    "exponential": (lambda w, u, s, t, g: cr.Exponential(s * cm.exp(eta(w, u, g))), POSITIVE, "ExponentialLog",
                    lambda y, e: stats.expon.logpdf(y, scale=np.exp(e))),
    "student": (lambda w, u, s, t, g: cr.StudentT(4.0, eta(w, u, g) * s, t[g]), POSITIVE, "StudentT",
                lambda y, e, df, scale: stats.t.logpdf(y, df, e, scale)),
    "beta": (lambda w, u, s, t, g: cr.Beta((mu := cm.expit(eta(w, u, g))) * s, s * (1.0 - mu)),
             [0.1, 0.5, 0.9, 0.3, 0.2, 0.7], "BetaLogit",
             lambda y, e, k: stats.beta.logpdf(y, k * special.expit(e), k * special.expit(-e))),
}  # fmt: skip


@pytest.mark.parametrize("name", SITES)
def test_what_is_read_off_a_law_gives_its_density(name):
    build, y, law, log_prob = SITES[name]
    m, w, u, s, t, g = parts()
    m.observed("y", build(w, u, s, t, g), y)
    factor = m.factors[-1]
    block = find_block(m.factors, m.latents, sites=True)
    assert {node.name for node in block.nodes} <= {"w", "u"}
    assert block.is_site(factor)
    form = recognised(factor, block.forms)
    block.forms.form(form.eta)  # is affine
    assert form.law == law
    rng = np.random.default_rng(0)
    values = {n.number: np.abs(rng.normal(size=n.shape)) + 0.2 for n in m.latents}
    program = Program([form.eta, *form.psi, factor.term], m.latents)
    at, *psi, term = program.values(values)
    np.testing.assert_allclose(np.sum(log_prob(form.y, at, *psi)), term, rtol=1e-12)


REFUSED = {
    "sum of rates": (lambda w, u, s, t, g: cr.Poisson(cm.exp(eta(w, u, g)) + 0.1), COUNTS, "not exp of a linear"),
    "lapses": (lambda w, u, s, t, g: cr.Bernoulli(0.9 * cm.expit(eta(w, u, g))), BINARY, "no known link"),
    "shape in the block": (lambda w, u, s, t, g: cr.Gamma(shape=cm.exp(u)[g], rate=1.0), POSITIVE, "shape"),
    "two curves": (lambda w, u, s, t, g: cr.StudentT(4.0, X @ w, cm.exp(w[0])), POSITIVE, "scale"),
    "beta": (lambda w, u, s, t, g: cr.Beta(cm.exp(u)[g], 2.0), [0.1, 0.5, 0.9, 0.3, 0.2, 0.7], "μφ"),
    "another law": (lambda w, u, s, t, g: cr.Laplace(eta(w, u, g), 1.0), POSITIVE, "is Laplace"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_recognised_is_told(name):
    build, y, told = REFUSED[name]
    m, *nodes = parts()
    m.observed("y", build(*nodes), y)
    block = find_block(m.factors, m.latents, sites=True)
    assert told in "; ".join(block.reasons.values())
    assert not any(block.is_site(f) for f in m.factors)


def test_products_in_the_predictor_leave_one_out():
    """η = a b: either may be in the block, not both; the larger stays."""
    m = Model()
    a = m.latent("a", cr.Normal(0, 1), shape=6)
    b = m.latent("b", cr.Normal(0, 1))
    m.observed("y", cr.Poisson(cm.exp(a * b)), COUNTS)
    block = find_block(m.factors, m.latents, sites=True)
    assert [node.name for node in block.nodes] == ["a"]
    assert "multiplies" in block.reasons["b"]


def test_missing_cells_leave_the_site():
    m = Model()
    u = m.latent("u", cr.Normal(0, 1), shape=6)
    m.observed("y", cr.Poisson(cm.exp(u)), [1.0, np.nan, 2.0, 0.0, np.nan, 1.0])
    factors, latents = prepared(m)
    block = find_block(factors, latents, sites=True)
    form = recognised(factors[-1], block.forms)
    assert form.y.tolist() == [1.0, 2.0, 0.0, 1.0]
    [term] = block.forms.form(form.eta)
    np.testing.assert_array_equal(term.matrix.toarray(), np.eye(6)[[0, 2, 3, 5]])


def test_unobserved_counts_are_no_site():
    m = Model()
    u = m.latent("u", cr.Normal(0, 1))
    rate = m.latent("rate", cr.Gamma(shape=2.0, rate=cm.exp(u)))
    m.observed("y", cr.Poisson(rate), 3.0)
    forms = find_block([], [u]).forms
    factor = next(f for f in m.factors if f.name == "rate")
    with pytest.raises(NotAffineError, match="Gamma"):
        recognised(factor, forms)


def test_a_normal_whose_log_sd_is_of_the_block():
    m, w, u, s, t, g = parts()
    v = m.latent("v", cr.Normal(0, s), dims="group")
    sd = cm.exp(0.3 * w[1] + v[g]) * t[g]
    m.observed("y", cr.Normal(eta(w, u, g), sd), POSITIVE)
    factors, latents = prepared(m)
    block = find_block(factors, latents, sites=True)
    assert {str(node.name) for node in block.nodes} == {"w", "u", "v"}
    form = recognised(next(f for f in factors if f.name == "y"), block.forms)
    assert form.law == "NormalLogScale"
    rng = np.random.default_rng(1)
    values = {
        "w": rng.normal(size=2),
        "u": rng.normal(size=3),
        "v": rng.normal(size=3),
        "s": 0.7,
        "t": np.ones(3) * 1.3,
    }
    got = Program([form.eta], latents).values({n.number: np.asarray(values[str(n.name)]) for n in latents})[0]
    mean = X @ values["w"] + values["u"][G]
    np.testing.assert_allclose(got, [mean, 0.3 * values["w"][1] + values["v"][G] + np.log(1.3)], rtol=1e-12)
    # not through a square root: the block keeps what it can have
    other, w, u, s, t, g = parts()
    other.observed("y", cr.Normal(X @ w, cm.sqrt(s**2 + cm.exp(u)[g]) * t[g]), POSITIVE)
    assert {str(n.name) for n in find_block(*prepared(other), sites=True).nodes} == {"w"}


def test_classes_by_softmax():
    m = Model()
    W = m.latent("W", cr.Normal(0, 1), shape=(2, 3))
    m.observed("k", cr.Categorical(cm.softmax(X @ W)), [0, 1, 2, 2, 1, 0])
    factors, latents = prepared(m)
    form = recognised(next(f for f in factors if f.name == "k"), find_block(factors, latents, sites=True).forms)
    assert (form.law, form.known) == ("CategoricalLogit", (3,))
    at = np.random.default_rng(2).normal(size=(2, 3))
    node = next(n for n in latents if n.name == "W")
    got = Program([form.eta], [node]).values({node.number: at})[0]
    np.testing.assert_allclose(got, (X @ (at[:, 1:] - at[:, :1])).T, rtol=1e-12)
