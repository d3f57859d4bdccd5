"""Built to fool a pattern-matcher: what looks linear and is not, and what is linear for one latent but not for two."""

import numpy as np
from scipy.special import gammaln

import credo as cr
from credo.program import math as cm
from tests.program.zoo.oracle import (
    Case,
    density,
    diagonal,
    gaussian,
    grid,
    log_gamma,
    log_half_normal,
    log_normal,
    mixed,
    positive,
    real,
    zoo,
)

EXACT, QUADRATURE = "exact", "quadrature"
Y = np.array([0.8, 1.9, 1.1, 0.3, 1.5])
X = np.array([[1.0, 0.2], [0.4, -1.0], [-0.3, 0.8], [1.2, 0.1], [0.5, 0.9]])


def loglik(mean, sd=1.0, y=Y):
    """Σ log N(y; mean, sd) for mean (B,) or (B, n)."""
    mean = np.asarray(mean)
    return log_normal(y, mean[:, None] if mean.ndim == 1 else mean, np.reshape(sd, (-1, 1))).sum(-1)


@zoo
def affine_over_a_latent():
    """(X w)/d: affine in w, but not in d, which leaves."""
    m = cr.Model()
    w, d = m.latent("w", cr.Normal(0, 1), shape=2), m.latent("d", cr.Gamma(shape=3.0, rate=2.0))
    m.observed("y", cr.Normal((X @ w + 1.0) / d, 1.0), Y)

    def truth():
        theta, weights = grid(d=positive(1e-3, 60.0, 1500))
        k = 1.0 / theta["d"]
        found = gaussian(Y, k[:, None, None] * X, np.zeros(2), np.eye(2), np.ones(5), c=k[:, None] * np.ones(5))
        return mixed(found.log_evidence + log_gamma(theta["d"], 3.0, 2.0), weights, theta, found, {"w": [0, 1]})

    return Case(m, {"w": EXACT, "d": QUADRATURE}, truth)


@zoo
def affine_over_a_normal():
    """(X w)/d, d Normal: d, though Normal and smaller, leaves, and 0 is no place to begin."""
    m = cr.Model()
    w, d = m.latent("w", cr.Normal(0, 1), shape=2), m.latent("d", cr.Normal(2, 0.4))
    m.observed("y", cr.Normal((X @ w + 1.0) / d, 1.0), Y)

    def truth():
        theta, weights = grid(d=real(-1.0, 5.0, 1200))
        k = 1.0 / theta["d"]
        found = gaussian(Y, k[:, None, None] * X, np.zeros(2), np.eye(2), np.ones(5), c=k[:, None] * np.ones(5))
        return mixed(found.log_evidence + log_normal(theta["d"], 2.0, 0.4), weights, theta, found, {"w": [0, 1]})

    return Case(m, {"w": EXACT, "d": QUADRATURE}, truth)


@zoo
def variance_depends_on_w():
    """The mean is linear in w, and the sd knows w too."""
    m = cr.Model()
    w = m.latent("w", cr.Normal(0, 1))
    m.observed("y", cr.Normal(w * X[:, 0], cm.exp(0.5 * w)), Y)
    log_joint = lambda w: loglik(w[:, None] * X[:, 0], np.exp(0.5 * w)) + log_normal(w)
    return Case(m, {"w": QUADRATURE}, lambda: density(log_joint, w=real(-6, 6, 2000)))


@zoo
def one_of_two_sets_the_variance():
    m = cr.Model()
    a, b = m.latent("a", cr.Normal(0, 1)), m.latent("b", cr.Normal(0, 1))
    m.observed("y", cr.Normal(a + b, cm.exp(a - 1.0)), Y)

    def truth():
        theta, weights = grid(a=real(-6, 7, 1200))
        a = theta["a"][:, None]
        found = gaussian(Y, np.ones((5, 1)), [0.0], np.ones((1200, 1, 1)), np.exp(2 * a - 2) * np.ones(5),
                         c=a * np.ones(5))  # fmt: skip
        return mixed(found.log_evidence + log_normal(a[:, 0]), weights, theta, found, {"b": 0})

    return Case(m, {"a": QUADRATURE, "b": EXACT}, truth)


@zoo
def product_of_two_latents():
    """a (X w): either may be integrated out, not both; the larger is."""
    m = cr.Model()
    a, w = m.latent("a", cr.Normal(1, 0.5)), m.latent("w", cr.Normal(0, 1), shape=2)
    m.observed("y", cr.Normal(a * (X @ w), 0.7), Y)

    def truth():
        theta, weights = grid(a=real(-3, 5, 1200))
        a = theta["a"]
        found = gaussian(Y, a[:, None, None] * X, np.zeros(2), np.eye(2), np.full(5, 0.49))
        return mixed(found.log_evidence + log_normal(a, 1.0, 0.5), weights, theta, found, {"w": [0, 1]})

    return Case(m, {"a": QUADRATURE, "w": EXACT}, truth)


@zoo
def inner_product_of_latents():
    """v @ w, three entries each, one of them data's neighbour: the later declared leaves where sizes are equal."""
    m = cr.Model()
    v = m.latent("v", cr.Normal(0, 1), shape=2)
    w = m.latent("w", cr.Normal(1, 0.5), shape=2)
    m.observed("y", cr.Normal(v @ w, np.ones(5)), Y)

    def truth():
        theta, weights = grid(p=real(-3, 5, 120), q=real(-3, 5, 120))
        w = np.stack([theta["p"], theta["q"]], axis=-1)
        found = gaussian(Y, np.repeat(w[:, None, :], 5, axis=1), np.zeros(2), np.eye(2), np.ones(5))
        return mixed(found.log_evidence + log_normal(w, 1.0, 0.5).sum(-1), weights, {"w": w}, found, {"v": [0, 1]})

    return Case(m, {"v": EXACT, "w": QUADRATURE}, truth)


@zoo
def triangle_of_products():
    """ab + bc + ca: one of the three at most, and the first declared stays."""
    m = cr.Model()
    a, b, c = (m.latent(name, cr.Normal(0.5, 1)) for name in "abc")
    m.observed("y", cr.Normal(a * b + b * c + c * a, np.ones(5)), Y)

    def truth():
        theta, weights = grid(b=real(-6, 7, 200), c=real(-6, 7, 200))
        b, c = theta["b"], theta["c"]
        A = (b + c)[:, None, None] * np.ones((5, 1))
        found = gaussian(Y, A, [0.5], np.ones((b.size, 1, 1)), np.ones(5), c=(b * c)[:, None] * np.ones(5))
        return mixed(found.log_evidence + log_normal(b, 0.5) + log_normal(c, 0.5), weights, theta, found, {"a": 0})

    return Case(m, {"a": EXACT, "b": QUADRATURE, "c": QUADRATURE}, truth)


@zoo
def product_that_another_law_breaks():
    """ab, but a also sets a Poisson rate: a leaves for good, and b may come back."""
    m = cr.Model()
    a, b = m.latent("a", cr.Normal(0, 1)), m.latent("b", cr.Normal(0, 1))
    m.observed("y", cr.Normal(a * b, np.ones(5)), Y)
    m.observed("k", cr.Poisson(cm.exp(a)), np.array([3, 1]))

    def truth():
        theta, weights = grid(a=real(-6, 6, 1200))
        a = theta["a"]
        found = gaussian(Y, a[:, None, None] * np.ones((5, 1)), [0.0], np.ones((1200, 1, 1)), np.ones(5))
        counts = 4 * a - 2 * np.exp(a) - gammaln(4)
        return mixed(found.log_evidence + log_normal(a) + counts, weights, theta, found, {"b": 0})

    return Case(m, {"a": QUADRATURE, "b": EXACT}, truth)


@zoo
def shared_with_counts():
    """a in a Normal mean beside b, and in a Poisson rate: b is linear given a."""
    m = cr.Model()
    a, b = m.latent("a", cr.Normal(0, 1)), m.latent("b", cr.Normal(0, 2))
    m.observed("y", cr.Normal(a + b, np.ones(5)), Y)
    m.observed("k", cr.Poisson(cm.exp(a)), np.array([2, 4, 3]))

    def truth():
        theta, weights = grid(a=real(-6, 6, 1200))
        a = theta["a"]
        found = gaussian(Y, np.ones((5, 1)), [0.0], 4 * np.ones((1200, 1, 1)), np.ones(5), c=a[:, None] * np.ones(5))
        counts = 9 * a - 3 * np.exp(a) - gammaln([3, 5, 4]).sum()
        return mixed(found.log_evidence + log_normal(a) + counts, weights, theta, found, {"b": 0})

    return Case(m, {"a": QUADRATURE, "b": EXACT}, truth)


@zoo
def square_by_power():
    m = cr.Model()
    w = m.latent("w", cr.Normal(1, 1))
    m.observed("y", cr.Normal(w**2, np.ones(5)), Y)
    log_joint = lambda w: loglik(w**2) + log_normal(w, 1.0)
    return Case(m, {"w": QUADRATURE}, lambda: density(log_joint, w=real(-6, 8, 3000)))


@zoo
def square_by_product():
    """w times itself, by way of another name."""
    m = cr.Model()
    w = m.latent("w", cr.Normal(2, 0.5))
    again = m.deterministic("again", w + 0.0)
    m.observed("y", cr.Normal(w * again, np.ones(5)), Y)
    return Case(
        m, {"w": QUADRATURE}, lambda: density(lambda w: loglik(w**2) + log_normal(w, 2.0, 0.5), w=real(-3, 7, 3000))
    )


@zoo
def ratio_to_itself():
    """w/w is 1, which no rule should need to know: it divides by w."""
    m = cr.Model()
    w, a = m.latent("w", cr.Normal(5, 0.5)), m.latent("a", cr.Normal(0, 1))
    m.observed("y", cr.Normal(a * (w / w), np.ones(5)), Y)

    def truth():
        theta, weights = grid(w=real(1, 9, 800))
        found = gaussian(Y, np.ones((5, 1)), [0.0], np.ones((800, 1, 1)), np.ones(5))
        return mixed(found.log_evidence + log_normal(theta["w"], 5.0, 0.5), weights, theta, found, {"a": 0})

    return Case(m, {"w": QUADRATURE, "a": EXACT}, truth)


@zoo
def absolute_value():
    m = cr.Model()
    w = m.latent("w", cr.Normal(3, 1))
    m.observed("y", cr.Normal(abs(w), np.ones(5)), Y)
    return Case(
        m, {"w": QUADRATURE}, lambda: density(lambda w: loglik(np.abs(w)) + log_normal(w, 3.0), w=real(-4, 9, 4001))
    )


@zoo
def wave():
    """One entry enters linearly, the other as a phase."""
    t = np.array([0.0, 0.7, 1.4, 2.1, 2.8])
    m = cr.Model()
    a, p = m.latent("a", cr.Normal(0, 2)), m.latent("p", cr.Normal(0, 0.5))
    m.observed("y", cr.Normal(a * cm.cos(t + p), 0.5), Y)

    def truth():
        theta, weights = grid(p=real(-4, 4, 1600))
        A = np.cos(t + theta["p"][:, None])[:, :, None]
        found = gaussian(Y, A, [0.0], 4 * np.ones((1600, 1, 1)), np.full(5, 0.25))
        return mixed(found.log_evidence + log_normal(theta["p"], 0.0, 0.5), weights, theta, found, {"a": 0})

    return Case(m, {"a": EXACT, "p": QUADRATURE}, truth)


@zoo
def entries_of_one_vector_at_odds():
    """w[0] in the mean and w[1] in the sd: one node, which cannot be half in the block."""
    m = cr.Model()
    w = m.latent("w", cr.Normal(0, 1), shape=2)
    m.observed("y", cr.Normal(w[0], cm.exp(w[1])), Y)

    def truth():
        theta, weights = grid(p=real(-5, 5, 250), q=real(-5, 5, 250))
        w = np.stack([theta["p"], theta["q"]], axis=-1)
        joint = loglik(w[:, 0], np.exp(w[:, 1])) + log_normal(w).sum(-1)
        return mixed(joint, weights, {"w": w})

    return Case(m, {"w": QUADRATURE}, truth)


@zoo
def a_child_that_is_not_normal():
    """x | w is Student's t, so that w, Normal and linear, cannot be integrated out; nor can x."""
    m = cr.Model()
    w = m.latent("w", cr.Normal(0, 1))
    x = m.latent("x", cr.StudentT(3, w, 0.5))
    m.observed("y", cr.Normal(x, np.ones(5)), Y)

    def log_joint(w, x):
        t = 3.0
        student = (gammaln(2.0) - gammaln(1.5) - 0.5 * np.log(t * np.pi * 0.25)
                   - 2.0 * np.log1p(((x - w) / 0.5) ** 2 / t))  # fmt: skip
        return log_normal(w) + student + loglik(x)

    return Case(
        m, {"w": QUADRATURE, "x": QUADRATURE}, lambda: density(log_joint, w=real(-6, 6, 400), x=real(-4, 6, 400))
    )


@zoo
def an_sd_of_a_latent_by_a_latent():
    """x ~ N(0, exp w): x stays, w leaves."""
    m = cr.Model()
    w = m.latent("w", cr.Normal(0, 0.5))
    x = m.latent("x", cr.Normal(0, cm.exp(w)))
    m.observed("y", cr.Normal(x, np.ones(5)), Y)

    def truth():
        theta, weights = grid(w=real(-4, 4, 800))
        V = np.exp(2 * theta["w"])[:, None, None]
        found = gaussian(Y, np.ones((5, 1)), [0.0], V, np.ones(5))
        return mixed(found.log_evidence + log_normal(theta["w"], 0.0, 0.5), weights, theta, found, {"x": 0})

    return Case(m, {"w": QUADRATURE, "x": EXACT}, truth)


@zoo
def potential_on_the_mean():
    """A potential is any curve: what it touches leaves, though this one is Normal in disguise."""
    m = cr.Model()
    a, b = m.latent("a", cr.Normal(0, 1)), m.latent("b", cr.Normal(0, 1))
    m.observed("y", cr.Normal(a + b, np.ones(5)), Y)
    m.potential("pull", -0.5 * (a - 1.0) ** 2)

    def truth():
        theta, weights = grid(a=real(-6, 6, 800))
        a = theta["a"]
        found = gaussian(Y, np.ones((5, 1)), [0.0], np.ones((800, 1, 1)), np.ones(5), c=a[:, None] * np.ones(5))
        return mixed(found.log_evidence + log_normal(a) - 0.5 * (a - 1) ** 2, weights, theta, found, {"b": 0})

    return Case(m, {"a": QUADRATURE, "b": EXACT}, truth)


@zoo
def potential_on_a_scale():
    """A potential of the hyperparameter alone leaves the block whole: here it makes a HalfNormal of a flat prior."""
    m = cr.Model()
    w, s = m.latent("w", cr.Normal(0, 2), shape=2), m.latent("s", cr.Flat(), low=0.0)
    m.observed("y", cr.Normal(X @ w, s), Y)
    m.potential("prior of s", -0.5 * s**2)

    def truth():
        theta, weights = grid(s=positive(0.01, 20.0, 800))
        found = gaussian(Y, X, np.zeros(2), 4.0 * np.eye(2), theta["s"][:, None] ** 2 * np.ones(5))
        joint = found.log_evidence - 0.5 * theta["s"] ** 2
        return mixed(joint, weights, theta, found, {"w": [0, 1]}, proper=False)

    return Case(m, {"w": EXACT, "s": QUADRATURE}, truth)


@zoo
def sum_scaled_by_a_normal():
    """a (b + c): b and c stay together, a leaves, though each alone would be as good."""
    m = cr.Model()
    a, b, c = m.latent("a", cr.Normal(1, 0.3)), m.latent("b", cr.Normal(0, 1)), m.latent("c", cr.Normal(0, 1), shape=5)
    m.observed("y", cr.Normal(a * (b + c), 0.5), Y)

    def truth():
        theta, weights = grid(a=real(-2, 4, 1000))
        A = theta["a"][:, None, None] * np.concatenate([np.ones((5, 1)), np.eye(5)], axis=1)
        found = gaussian(Y, A, np.zeros(6), np.eye(6), np.full(5, 0.25))
        joint = found.log_evidence + log_normal(theta["a"], 1.0, 0.3)
        return mixed(joint, weights, theta, found, {"b": 0, "c": np.arange(1, 6)})

    return Case(m, {"a": QUADRATURE, "b": EXACT, "c": EXACT}, truth)


@zoo
def covariance_by_a_latent():
    """A multivariate Normal whose covariance is s² times a matrix: its mean is collapsed, given s."""
    K = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, 0.5], [0.2, 0.5, 1.0]])
    y = np.array([1.0, 2.0, 0.5])
    m = cr.Model()
    mu, s = m.latent("mu", cr.Normal(0, 2)), m.latent("s", cr.HalfNormal(2))
    m.observed("y", cr.MultivariateNormal(mu * np.ones(3), s**2 * K), y)

    def log_joint(mu, s):
        r = y - mu[:, None]
        q = np.sum(r * np.linalg.solve(K, r.T).T, axis=1) / s**2
        log = -0.5 * q - 3 * np.log(s) - 0.5 * np.linalg.slogdet(K)[1] - 1.5 * np.log(2 * np.pi)
        return log + log_normal(mu, 0.0, 2.0) + log_half_normal(s, 2.0)

    return Case(
        m,
        {"mu": EXACT, "s": QUADRATURE},
        lambda: density(log_joint, mu=real(-12, 12, 300), s=positive(0.02, 14, 300)),
    )


@zoo
def noise_added_to_a_latent_twice():
    """Two latents only their sum is seen of: perfectly confounded, and proper because the priors are."""
    m = cr.Model()
    a, b = m.latent("a", cr.Normal(0, 1)), m.latent("b", cr.Normal(0, 3))
    s = m.latent("s", cr.HalfNormal(1))
    m.observed("y", cr.Normal(a + b, s), Y)

    def truth():
        theta, weights = grid(s=positive(0.05, 8.0, 600))
        V = diagonal(np.ones(600), np.full(600, 9.0))
        found = gaussian(Y, np.ones((5, 2)), np.zeros(2), V, theta["s"][:, None] ** 2 * np.ones(5))
        return mixed(found.log_evidence + log_half_normal(theta["s"]), weights, theta, found, {"a": 0, "b": 1})

    return Case(m, {"a": EXACT, "b": EXACT, "s": QUADRATURE}, truth)
