"""Conjugate leaves, and near-misses that must not be taken for one."""

import numpy as np
from scipy.special import betaln, gammaln

import credo as cr
from credo.program import math as cm
from tests.program.zoo.oracle import (
    Case,
    Truth,
    density,
    gaussian,
    grid,
    log_gamma,
    log_half_normal,
    log_normal,
    mixed,
    positive,
    unit,
    zoo,
)

CONJUGATE, QUADRATURE, EXACT = "conjugate", "quadrature", "exact"
COINS = np.array([1, 0, 1, 1, 1, 0])
COUNTS = np.array([2, 0, 3, 1, 4])


def beta_law(a, b):
    a, b = np.asarray(a, float), np.asarray(b, float)
    return a / (a + b), np.sqrt(a * b / (a + b + 1.0)) / (a + b)


def gamma_law(a, r):
    return np.asarray(a) / r, np.sqrt(a) / np.asarray(r)


def one(name, law, log_evidence):
    return Truth({name: law[0]}, {name: law[1]}, float(log_evidence))


def log_beta(p, a, b):
    return (a - 1) * np.log(p) + (b - 1) * np.log1p(-p) - betaln(a, b)


@zoo
def coins():
    m = cr.Model()
    m.observed("y", cr.Bernoulli(m.latent("p", cr.Beta(2, 3))), COINS)
    return Case(m, {"p": CONJUGATE}, lambda: one("p", beta_law(6, 5), betaln(6, 5) - betaln(2, 3)))


@zoo
def batches_in_groups():
    """A probability a group, picked by codes, with different numbers of trials."""
    g, n, y = np.array([0, 1, 1, 2, 0]), np.array([5, 8, 3, 10, 2]), np.array([1, 6, 3, 4, 2])
    m = cr.Model()
    p = m.latent("p", cr.Beta(1.5, 2.0), shape=3)
    m.observed("y", cr.Binomial(n, p[g]), y)
    a, b = 1.5 + np.bincount(g, y), 2.0 + np.bincount(g, n - y)
    choose = (gammaln(n + 1) - gammaln(y + 1) - gammaln(n - y + 1)).sum()
    return Case(m, {"p": CONJUGATE}, lambda: one("p", beta_law(a, b), choose + np.sum(betaln(a, b) - betaln(1.5, 2.0))))


@zoo
def groups_about_latent_counts():
    """Beta(a, b) with latent a and b: the leaves go, two hyperparameters remain."""
    n, y = np.array([10, 12, 8, 20]), np.array([2, 5, 1, 9])
    m = cr.Model()
    a, b = m.latent("a", cr.Gamma(shape=2.0, rate=0.5)), m.latent("b", cr.Gamma(shape=2.0, rate=0.5))
    m.observed("y", cr.Binomial(n, m.latent("p", cr.Beta(a, b), shape=4)), y)

    def truth():
        theta, weights = grid(a=positive(1e-3, 80.0, 250), b=positive(1e-3, 80.0, 250))
        a, b = theta["a"][:, None], theta["b"][:, None]
        choose = (gammaln(n + 1) - gammaln(y + 1) - gammaln(n - y + 1)).sum()
        joint = np.sum(betaln(a + y, b + n - y) - betaln(a, b), axis=1) + choose
        joint += log_gamma(theta["a"], 2.0, 0.5) + log_gamma(theta["b"], 2.0, 0.5)
        return mixed(joint, weights, theta, leaves={"p": beta_law(a + y, b + n - y)})

    return Case(m, {"a": QUADRATURE, "b": QUADRATURE, "p": CONJUGATE}, truth)


@zoo
def coins_and_batches():
    """One probability behind data of three laws."""
    m = cr.Model()
    p = m.latent("p", cr.Beta(1, 1))
    m.observed("y", cr.Bernoulli(p), COINS)
    m.observed("k", cr.Binomial(4, p), np.array([3, 2]))
    m.observed("first", cr.Geometric(p), np.array([1, 3]))
    # Geometric: either failures before, or trials up to, the first success: told by its support
    failures = 4 if cr.Geometric(0.5).support.low == 0 else 2
    a, b = 1 + 4 + 5 + 2, 1 + 2 + 3 + failures
    return Case(m, {"p": CONJUGATE}, lambda: one("p", beta_law(a, b), betaln(a, b) + np.log(4.0) + np.log(6.0)))


@zoo
def counts_with_exposures():
    e = np.array([1.0, 0.5, 2.0, 1.5, 3.0])
    m = cr.Model()
    m.observed("y", cr.Poisson(e * m.latent("rate", cr.Gamma(shape=2.0, rate=1.0))), COUNTS)
    after = 12.0, 9.0
    evidence = np.sum(COUNTS * np.log(e) - gammaln(COUNTS + 1)) + gammaln(12.0) - gammaln(2.0) - 12.0 * np.log(9.0)
    return Case(m, {"rate": CONJUGATE}, lambda: one("rate", gamma_law(*after), evidence))


@zoo
def rates_about_a_latent_rate():
    """Gamma rates whose own rate is Gamma: the lower level goes, the upper is a hyperparameter."""
    m = cr.Model()
    r = m.latent("r", cr.Gamma(shape=2.0, rate=2.0))
    m.observed("y", cr.Poisson(m.latent("rate", cr.Gamma(shape=3.0, rate=r), shape=5)), COUNTS)

    def truth():
        theta, weights = grid(r=positive(1e-4, 60.0, 800))
        r = theta["r"][:, None]
        each = 3 * np.log(r) - gammaln(3) + gammaln(3 + COUNTS) - (3 + COUNTS) * np.log(r + 1) - gammaln(COUNTS + 1)
        joint = each.sum(1) + log_gamma(theta["r"], 2.0, 2.0)
        return mixed(joint, weights, theta, leaves={"rate": gamma_law(3.0 + COUNTS, r + 1.0)})

    return Case(m, {"r": QUADRATURE, "rate": CONJUGATE}, truth)


@zoo
def counts_and_waits():
    """One rate behind counts, waits and a Gamma of known shape."""
    waits, sums = np.array([0.3, 1.2, 0.8]), np.array([2.5, 1.1])
    m = cr.Model()
    rate = m.latent("rate", cr.Gamma(shape=1.5, rate=0.5))
    m.observed("y", cr.Poisson(2.0 * rate), COUNTS)
    m.observed("t", cr.Exponential(rate), waits)
    m.observed("s", cr.Gamma(shape=2.0, rate=3.0 * rate), sums)
    a, r = 1.5 + 10 + 3 + 4, 0.5 + 10 + 2.3 + 10.8
    evidence = (1.5 * np.log(0.5) - gammaln(1.5) + gammaln(a) - a * np.log(r) + np.sum(COUNTS * np.log(2.0)
                - gammaln(COUNTS + 1)) + 4 * np.log(3.0) + np.log(sums).sum())  # fmt: skip
    return Case(m, {"rate": CONJUGATE}, lambda: one("rate", gamma_law(a, r), evidence))


@zoo
def variance_of_known_mean():
    y, mean = np.array([0.3, -1.0, 2.2, 0.7]), np.array([0.0, 0.0, 1.0, 1.0])
    m = cr.Model()
    v = m.latent("v", cr.InverseGamma(shape=3.0, scale=2.0))
    m.observed("y", cr.Normal(mean, cm.sqrt(v)), y)
    a, b = 5.0, 2.0 + 0.5 * np.sum((y - mean) ** 2)
    law = b / (a - 1), b / (a - 1) / np.sqrt(a - 2)
    evidence = 3 * np.log(2.0) - gammaln(3) + gammaln(a) - a * np.log(b) - 2 * np.log(2 * np.pi)
    return Case(m, {"v": CONJUGATE}, lambda: one("v", law, evidence))


@zoo
def categories():
    y, prior = np.array([0, 2, 2, 1, 2, 0]), np.array([0.5, 1.0, 2.0])
    m = cr.Model()
    m.observed("y", cr.Categorical(m.latent("p", cr.Dirichlet(prior))), y)
    a = prior + np.bincount(y)
    evidence = gammaln(prior.sum()) - gammaln(a.sum()) + np.sum(gammaln(a) - gammaln(prior))
    return Case(m, {"p": CONJUGATE}, lambda: one("p", beta_law(a, a.sum() - a), evidence))


@zoo
def counted_categories():
    y, prior = np.array([[3, 1, 2], [0, 4, 1]]), np.array([1.0, 1.0, 1.0])
    m = cr.Model()
    m.observed("y", cr.Multinomial(y.sum(1), m.latent("p", cr.Dirichlet(prior))), y)
    a = prior + y.sum(0)
    evidence = (gammaln(3.0) - gammaln(a.sum()) + np.sum(gammaln(a)) + np.sum(gammaln(y.sum(1) + 1))
                - gammaln(y + 1).sum())  # fmt: skip
    return Case(m, {"p": CONJUGATE}, lambda: one("p", beta_law(a, a.sum() - a), evidence))


@zoo
def leaf_beside_a_block():
    """A linear block, a leaf and a hyperparameter in one model, which share nothing but the fit."""
    y = np.array([0.5, 1.5, -0.4, 0.9])
    m = cr.Model()
    p, mu, s = m.latent("p", cr.Beta(1, 1)), m.latent("mu", cr.Normal(0, 2)), m.latent("s", cr.HalfNormal(1))
    m.observed("y", cr.Normal(mu, s), y)
    m.observed("k", cr.Bernoulli(p), COINS)

    def truth():
        theta, weights = grid(s=positive(0.02, 8.0, 600))
        found = gaussian(y, np.ones((4, 1)), [0.0], 4 * np.ones((600, 1, 1)), theta["s"][:, None] ** 2 * np.ones(4))
        law = tuple(np.full(600, v) for v in beta_law(5, 3))
        joint = found.log_evidence + log_half_normal(theta["s"]) + betaln(5, 3)
        return mixed(joint, weights, theta, found, {"mu": 0}, leaves={"p": law})

    return Case(m, {"p": CONJUGATE, "mu": EXACT, "s": QUADRATURE}, truth)


@zoo
def leaf_whose_prior_is_learned_elsewhere():
    """The Gamma's rate also scales the noise of Normal data."""
    y = np.array([0.5, 1.5, -0.4, 0.9])
    m = cr.Model()
    s = m.latent("s", cr.HalfNormal(2))
    m.observed("k", cr.Poisson(m.latent("rate", cr.Gamma(shape=2.0, rate=s))), COUNTS)
    m.observed("y", cr.Normal(0.0, s), y)

    def truth():
        theta, weights = grid(s=positive(0.02, 16.0, 800))
        s = theta["s"]
        counts = 2 * np.log(s) - gammaln(2) + gammaln(12) - 12 * np.log(s + 5) - gammaln(COUNTS + 1).sum()
        joint = counts + log_normal(y, 0.0, s[:, None]).sum(1) + log_half_normal(s, 2.0)
        return mixed(joint, weights, theta, leaves={"rate": gamma_law(12.0, s + 5.0)})

    return Case(m, {"s": QUADRATURE, "rate": CONJUGATE}, truth)


# -- near-misses -------------------------------------------------------------------------------------------------------


@zoo
def probability_squared():
    m = cr.Model()
    m.observed("y", cr.Bernoulli(m.latent("p", cr.Beta(2, 3)) ** 2), COINS)
    log_joint = lambda p: log_beta(p, 2, 3) + 8 * np.log(p) + 2 * np.log1p(-(p**2))
    return Case(m, {"p": QUADRATURE}, lambda: density(log_joint, p=unit()))


@zoo
def probability_used_in_two_ways():
    """Coins, and a Normal about the same p: conjugate for the one, not for both."""
    y = np.array([0.9, 0.4])
    m = cr.Model()
    p = m.latent("p", cr.Beta(2, 3))
    m.observed("k", cr.Bernoulli(p), COINS)
    m.observed("y", cr.Normal(p, 0.3), y)
    log_joint = lambda p: log_beta(p, 2, 3) + 4 * np.log(p) + 2 * np.log1p(-p) + log_normal(y, p[:, None], 0.3).sum(1)
    return Case(m, {"p": QUADRATURE}, lambda: density(log_joint, p=unit()))


@zoo
def probability_of_failure():
    """1 − p: counted as failures, not as p."""
    m = cr.Model()
    m.observed("y", cr.Bernoulli(1.0 - m.latent("p", cr.Beta(2, 3))), COINS)
    return Case(m, {"p": CONJUGATE}, lambda: one("p", beta_law(4, 7), betaln(4, 7) - betaln(2, 3)))


@zoo
def probability_within_bounds():
    """A Beta kept above 0.2 is no longer one."""
    m = cr.Model()
    m.observed("y", cr.Bernoulli(m.latent("p", cr.Beta(2, 3), low=0.2)), COINS)
    x, w = unit()
    scaled = 0.2 + 0.8 * x, w + np.log(0.8)
    inside = np.log(1.0 - 0.1808)  # P(p > 0.2) = Σ_{k ≤ 1} C(4, k) 0.2ᵏ 0.8⁴⁻ᵏ
    log_joint = lambda p: log_beta(p, 2, 3) - inside + 4 * np.log(p) + 2 * np.log1p(-p)
    return Case(m, {"p": QUADRATURE}, lambda: density(log_joint, p=scaled))


@zoo
def rate_plus_a_constant():
    m = cr.Model()
    m.observed("y", cr.Poisson(m.latent("rate", cr.Gamma(shape=2.0, rate=1.0)) + 1.0), COUNTS)
    log_joint = lambda rate: (log_gamma(rate, 2.0, 1.0) + 10 * np.log(rate + 1) - 5 * (rate + 1)
                              - gammaln(COUNTS + 1).sum())  # fmt: skip
    return Case(m, {"rate": QUADRATURE}, lambda: density(log_joint, rate=positive(1e-5, 40.0, 1000)))


@zoo
def product_of_rates():
    """Either rate is conjugate given the other, and neither is integrated out as if it were alone."""
    m = cr.Model()
    a, b = m.latent("a", cr.Gamma(shape=3.0, rate=2.0)), m.latent("b", cr.Gamma(shape=3.0, rate=2.0))
    m.observed("y", cr.Poisson(a * b), COUNTS)
    log_joint = lambda a, b: (log_gamma(a, 3.0, 2.0) + log_gamma(b, 3.0, 2.0) + 10 * np.log(a * b) - 5 * a * b
                              - gammaln(COUNTS + 1).sum())  # fmt: skip
    return Case(m, {"a": QUADRATURE, "b": QUADRATURE},
                lambda: density(log_joint, a=positive(1e-3, 25.0, 350), b=positive(1e-3, 25.0, 350)))  # fmt: skip


@zoo
def gamma_as_an_sd():
    """A Gamma in the place of a sd is conjugate to nothing."""
    y = np.array([0.5, 1.5, -0.4, 0.9])
    m = cr.Model()
    m.observed("y", cr.Normal(0.0, m.latent("s", cr.Gamma(shape=2.0, rate=1.0))), y)
    log_joint = lambda s: log_gamma(s, 2.0, 1.0) + log_normal(y, 0.0, s[:, None]).sum(1)
    return Case(m, {"s": QUADRATURE}, lambda: density(log_joint, s=positive(0.02, 40.0, 1000)))


@zoo
def gamma_of_latent_shape():
    """Gamma data with a latent shape and a Gamma rate: the rate is a leaf only where the shape is known."""
    y = np.array([0.5, 1.5, 0.4, 0.9])
    m = cr.Model()
    k, r = m.latent("k", cr.Gamma(shape=3.0, rate=1.0)), m.latent("r", cr.Gamma(shape=2.0, rate=1.0))
    m.observed("y", cr.Gamma(shape=k, rate=r), y)
    log_joint = lambda k, r: (log_gamma(k, 3.0, 1.0) + log_gamma(r, 2.0, 1.0)
                              + log_gamma(y, k[:, None], r[:, None]).sum(1))  # fmt: skip
    return Case(m, {"k": QUADRATURE, "r": QUADRATURE},
                lambda: density(log_joint, k=positive(0.05, 40.0, 350), r=positive(0.03, 40.0, 350)))  # fmt: skip


@zoo
def chain_of_probabilities():
    """q ~ Beta(1 + p, 2): q is a leaf, p only its parent."""
    m = cr.Model()
    p = m.latent("p", cr.Beta(2, 2))
    m.observed("y", cr.Bernoulli(m.latent("q", cr.Beta(1.0 + p, 2.0))), COINS)

    def truth():
        theta, weights = grid(p=unit())
        p = theta["p"]
        joint = log_beta(p, 2, 2) + betaln(5 + p, 4) - betaln(1 + p, 2)
        return mixed(joint, weights, theta, leaves={"q": beta_law(5 + p, 4.0)})

    return Case(m, {"p": QUADRATURE, "q": CONJUGATE}, truth)


@zoo
def scaled_variances_with_gaps():
    """√(c v[g]) with known c, a level that nobody belongs to, and cells nobody saw."""
    g, c = np.array([0, 2, 0, 2, 0]), np.array([1.0, 2.0, 0.5, 1.0, 3.0])
    y = np.array([0.3, -1.0, np.nan, 0.7, 1.1])
    m = cr.Model()
    v = m.latent("v", cr.InverseGamma(shape=3.0, scale=2.0), shape=3)
    m.observed("y", cr.Normal(0.0, cm.sqrt(c * v[g])), y)
    k = np.isfinite(y)
    squares, sizes = np.bincount(g[k], y[k] ** 2 / c[k], minlength=3), np.bincount(g[k], minlength=3)
    a, b = 3.0 + 0.5 * sizes, 2.0 + 0.5 * squares
    law = b / (a - 1), b / (a - 1) / np.sqrt(a - 2)
    evidence = (np.sum(3 * np.log(2.0) - gammaln(3) + gammaln(a) - a * np.log(b))
                - 0.5 * np.sum(np.log(2 * np.pi * c[k])))  # fmt: skip
    return Case(m, {"v": CONJUGATE}, lambda: one("v", law, evidence))


@zoo
def gaps_in_groups():
    """Probabilities by group, through a name and with cells nobody saw."""
    g, y = np.array([0, 1, 1, 0, 1]), np.array([1.0, np.nan, 0.0, 1.0, 1.0])
    m = cr.Model()
    p = m.deterministic("by row", m.latent("p", cr.Beta(2, 1), shape=2)[g])
    m.observed("y", cr.Bernoulli(p), y)
    a, b = np.array([4.0, 3.0]), np.array([1.0, 2.0])
    return Case(m, {"p": CONJUGATE}, lambda: one("p", beta_law(a, b), np.sum(betaln(a, b) - betaln(2, 1))))


@zoo
def probability_halved():
    """p/2 is not a Beta's likelihood, though it is a known number times p."""
    m = cr.Model()
    m.observed("y", cr.Bernoulli(m.latent("p", cr.Beta(2, 3)) / 2.0), COINS)
    log_joint = lambda p: log_beta(p, 2, 3) + 4 * np.log(p / 2) + 2 * np.log1p(-p / 2)
    return Case(m, {"p": QUADRATURE}, lambda: density(log_joint, p=unit()))


@zoo
def sum_of_two_rates():
    """Cells that stand on two entries of one node at once."""
    m = cr.Model()
    rate = m.latent("rate", cr.Gamma(shape=2.0, rate=1.0), shape=2)
    m.observed("y", cr.Poisson(rate[0] + rate[1]), COUNTS)

    def truth():
        # the sum is Gamma(4, 1) a priori, and the share Beta(2, 2) whatever it is
        a, r, b = 14.0, 6.0, 2.0
        mean, square = a / r / 2.0, a * (a + 1) / r**2 * (b * (b + 1) / (2 * b * (2 * b + 1)))
        evidence = gammaln(a) - gammaln(4.0) - a * np.log(r) - gammaln(COUNTS + 1).sum()
        return one("rate", (np.full(2, mean), np.full(2, np.sqrt(square - mean**2))), evidence)

    return Case(m, {"rate": QUADRATURE}, truth)
