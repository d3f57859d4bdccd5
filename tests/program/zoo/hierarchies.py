"""Hyperparameters: sds, correlations, rates of decay; what is linear given them is integrated out exactly."""

import numpy as np

import credo as cr
from credo.program import math as cm
from tests.program.zoo.oracle import (
    Case,
    Truth,
    block,
    diagonal,
    gaussian,
    grid,
    indicator,
    log_gamma,
    log_half_cauchy,
    log_half_normal,
    log_normal,
    mixed,
    positive,
    real,
    zoo,
)

EXACT, QUADRATURE = "exact", "quadrature"
Y8 = np.array([28.0, 8, -3, 7, -1, 1, 18, 12])
S8 = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])


def numbers(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


def schools_given(tau):
    """Of (mu, theta…): theta = mu + tau z."""
    T = np.zeros((tau.size, 9, 9))
    T[:, :, 0] = 1.0
    T[:, np.arange(1, 9), np.arange(1, 9)] = tau[:, None]
    V = T @ np.diag([25.0, *[1.0] * 8]) @ np.swapaxes(T, -1, -2)
    return gaussian(Y8, block(np.zeros((8, 1)), np.eye(8)), np.zeros(9), V, S8**2)


def schools_truth():
    theta, weights = grid(tau=positive(1e-6, 1e5, 500))
    found = schools_given(theta["tau"])
    joint = found.log_evidence + log_half_cauchy(theta["tau"], 5.0)
    return mixed(joint, weights, theta, found, {"mu": 0, "theta": np.arange(1, 9)})


@zoo
def eight_schools_centred():
    m = cr.Model()
    mu, tau = m.latent("mu", cr.Normal(0, 5)), m.latent("tau", cr.HalfCauchy(5))
    theta = m.latent("theta", cr.Normal(mu, tau), shape=8)
    m.observed("y", cr.Normal(theta, S8), Y8)
    return Case(m, {"mu": EXACT, "tau": QUADRATURE, "theta": EXACT}, schools_truth)


@zoo
def eight_schools_non_centred():
    """The twin of the one above: (mu, tau) have one posterior."""
    m = cr.Model()
    mu, tau = m.latent("mu", cr.Normal(0, 5)), m.latent("tau", cr.HalfCauchy(5))
    z = m.latent("z", cr.Normal(0, 1), shape=8)
    m.observed("y", cr.Normal(m.deterministic("theta", mu + tau * z), S8), Y8)

    def truth():
        theta, weights = grid(tau=positive(1e-6, 1e5, 500))
        t = theta["tau"]
        A = np.concatenate([np.ones((t.size, 8, 1)), t[:, None, None] * np.eye(8)], axis=-1)
        found = gaussian(Y8, A, np.zeros(9), np.diag([25.0, *[1.0] * 8]), S8**2)
        return mixed(
            found.log_evidence + log_half_cauchy(t, 5.0), weights, theta, found, {"mu": 0, "z": np.arange(1, 9)}
        )

    return Case(m, {"mu": EXACT, "tau": QUADRATURE, "z": EXACT}, truth)


@zoo
def flat_hierarchy():
    """Flat mu and flat tau > 0: proper a posteriori with eight groups, and no evidence to give."""
    m = cr.Model()
    mu, tau = m.latent("mu", cr.Flat()), m.latent("tau", cr.Flat(), low=0.0)
    theta = m.latent("theta", cr.Normal(mu, tau), shape=8)
    m.observed("y", cr.Normal(theta, S8), Y8)

    def truth():
        theta, weights = grid(tau=positive(1e-5, 1e7, 600))
        t = theta["tau"]
        # theta = mu + e, e ~ N(0, tau²): the columns are e…, then the flat mu
        found = gaussian(Y8, np.eye(8), np.zeros(8), diagonal((t**2, 8)), S8**2, F=np.ones((8, 1)))
        share = t[:, None] ** 2 / (t[:, None] ** 2 + S8**2)
        mu_mean = found.mean[:, 8]
        mean = mu_mean[:, None] + share * (Y8 - mu_mean[:, None])
        sd = np.sqrt(share * S8**2 + np.square(1.0 - share) * np.square(found.sd[:, 8:9]))
        return mixed(found.log_evidence, weights, theta, found, {"mu": 8}, proper=False, leaves={"theta": (mean, sd)})

    return Case(m, {"mu": EXACT, "tau": QUADRATURE, "theta": EXACT}, truth)


G = np.array([0, 0, 0, 1, 1, 2, 2, 2, 3, 3])
GROUPED = indicator(G, 4) @ np.array([1.0, -0.5, 2.0, 0.2]) + 0.7 * numbers(50, 10)


@zoo
def one_scale_for_all():
    """tau is the groups' sd and twice the noise's."""
    m = cr.Model()
    tau = m.latent("tau", cr.HalfNormal(2))
    a = m.latent("a", cr.Normal(1.0, tau), shape=4)
    m.observed("y", cr.Normal(a[G], 0.5 * tau), GROUPED)

    def truth():
        theta, weights = grid(tau=positive(0.02, 40.0))
        v = theta["tau"] ** 2
        found = gaussian(GROUPED, indicator(G, 4), np.ones(4), diagonal((v, 4)), 0.25 * v[:, None] * np.ones(10))
        return mixed(
            found.log_evidence + log_half_normal(theta["tau"], 2.0), weights, theta, found, {"a": np.arange(4)}
        )

    return Case(m, {"tau": QUADRATURE, "a": EXACT}, truth)


@zoo
def scale_inside_and_outside():
    """b[g] has sd tau by its law, and is multiplied by s, a second scale, where it is used."""
    m = cr.Model()
    tau, s = m.latent("tau", cr.HalfNormal(1)), m.latent("s", cr.HalfNormal(2))
    b = m.latent("b", cr.Normal(0, tau), shape=4)
    m.observed("y", cr.Normal(s * b[G] + s, np.ones(10)), GROUPED)

    def truth():
        theta, weights = grid(tau=positive(1e-5, 10.0, 120), s=positive(1e-5, 20.0, 120))
        t, k = theta["tau"], theta["s"]
        found = gaussian(GROUPED, k[:, None, None] * indicator(G, 4), np.zeros(4), diagonal((t**2, 4)), np.ones(10),
                         c=k[:, None] * np.ones(10))  # fmt: skip
        joint = found.log_evidence + log_half_normal(t) + log_half_normal(k, 2.0)
        return mixed(joint, weights, theta, found, {"b": np.arange(4)})

    return Case(m, {"tau": QUADRATURE, "s": QUADRATURE, "b": EXACT}, truth)


@zoo
def ratio_of_scales():
    """Groups' sd as a multiple of the noise's: a product of two hyperparameters in the law."""
    m = cr.Model()
    sigma, ratio = m.latent("sigma", cr.HalfNormal(2)), m.latent("ratio", cr.Gamma(shape=2.0, rate=1.0))
    a = m.latent("a", cr.Normal(0, sigma * ratio), shape=4)
    m.observed("y", cr.Normal(a[G], sigma), GROUPED)

    def truth():
        theta, weights = grid(sigma=positive(0.05, 20.0, 120), ratio=positive(1e-4, 60.0, 120))
        s, r = theta["sigma"], theta["ratio"]
        found = gaussian(GROUPED, indicator(G, 4), np.zeros(4), diagonal(((s * r) ** 2, 4)),
                         s[:, None] ** 2 * np.ones(10))  # fmt: skip
        joint = found.log_evidence + log_half_normal(s, 2.0) + log_gamma(r, 2.0, 1.0)
        return mixed(joint, weights, theta, found, {"a": np.arange(4)})

    return Case(m, {"sigma": QUADRATURE, "ratio": QUADRATURE, "a": EXACT}, truth)


@zoo
def variance_instead_of_sd():
    """√v with v ~ InverseGamma: conjugate only if the mean were known, which it is not."""
    m = cr.Model()
    v = m.latent("v", cr.InverseGamma(shape=3.0, scale=2.0))
    mu = m.latent("mu", cr.Normal(0, 2))
    m.observed("y", cr.Normal(mu, cm.sqrt(v)), GROUPED)

    def truth():
        theta, weights = grid(v=positive(0.01, 400.0, 600))
        v = theta["v"]
        found = gaussian(GROUPED, np.ones((10, 1)), [0.0], diagonal(np.full(600, 4.0)), v[:, None] * np.ones(10))
        joint = found.log_evidence + log_gamma(1.0 / v, 3.0, 2.0) - 2.0 * np.log(v)
        return mixed(joint, weights, theta, found, {"mu": 0})

    return Case(m, {"v": QUADRATURE, "mu": EXACT}, truth)


@zoo
def precision_instead_of_sd():
    m = cr.Model()
    p = m.latent("p", cr.Gamma(shape=2.0, rate=1.0))
    mu = m.latent("mu", cr.Normal(0, 2))
    m.observed("y", cr.Normal(mu, 1.0 / cm.sqrt(p)), GROUPED)

    def truth():
        theta, weights = grid(p=positive(1e-4, 50.0, 600))
        v = 1.0 / theta["p"]
        found = gaussian(GROUPED, np.ones((10, 1)), [0.0], diagonal(np.full(600, 4.0)), v[:, None] * np.ones(10))
        return mixed(found.log_evidence + log_gamma(theta["p"], 2.0, 1.0), weights, theta, found, {"mu": 0})

    return Case(m, {"p": QUADRATURE, "mu": EXACT}, truth)


@zoo
def an_sd_for_each_group():
    """Two groups, each with its own noise, about one mean."""
    k, y = np.array([0, 0, 0, 1, 1, 1, 1]), np.array([0.3, 0.9, 0.5, -1.0, 3.0, 1.5, -2.0])
    m = cr.Model()
    sigma = m.latent("sigma", cr.HalfNormal(2), shape=2)
    mu = m.latent("mu", cr.Normal(0, 3))
    m.observed("y", cr.Normal(mu, sigma[k]), y)

    def truth():
        theta, weights = grid(one=positive(0.01, 20.0, 130), two=positive(0.02, 25.0, 130))
        sds = np.stack([theta["one"], theta["two"]], axis=-1)
        found = gaussian(y, np.ones((7, 1)), [0.0], diagonal(np.full(len(sds), 9.0)), sds[:, k] ** 2)
        joint = found.log_evidence + log_half_normal(sds, 2.0).sum(-1)
        return mixed(joint, weights, {"sigma": sds}, found, {"mu": 0})

    return Case(m, {"sigma": QUADRATURE, "mu": EXACT}, truth)


@zoo
def noise_that_grows():
    """sd = sigma exp(gamma x): one coefficient a cell, and a Normal node that only the sd knows."""
    x, y = np.linspace(-1, 1, 9), np.array([0.1, 0.3, -0.2, 0.5, 0.9, 0.2, 2.0, -1.5, 3.0])
    m = cr.Model()
    sigma, gamma = m.latent("sigma", cr.HalfNormal(1)), m.latent("gamma", cr.Normal(0, 1))
    w = m.latent("w", cr.Normal(0, 2), shape=2)
    m.observed("y", cr.Normal(w[0] + w[1] * x, sigma * cm.exp(gamma * x)), y)

    def truth():
        theta, weights = grid(sigma=positive(0.05, 8.0, 120), gamma=real(-3.0, 5.0, 120))
        s, k = theta["sigma"], theta["gamma"]
        S = (s[:, None] * np.exp(k[:, None] * x)) ** 2
        found = gaussian(y, block(np.ones(9), x), np.zeros(2), 4.0 * np.eye(2), S)
        joint = found.log_evidence + log_half_normal(s) + log_normal(k)
        return mixed(joint, weights, theta, found, {"w": [0, 1]})

    return Case(m, {"sigma": QUADRATURE, "gamma": QUADRATURE, "w": EXACT}, truth)


@zoo
def decay():
    """a + b exp(−k t): linear in a and b, a curve in k."""
    t = np.arange(8.0)
    y = 1.0 + 3.0 * np.exp(-0.5 * t) + 0.2 * numbers(51, 8)
    m = cr.Model()
    k = m.latent("k", cr.Gamma(shape=2.0, rate=2.0))
    a, b = m.latent("a", cr.Normal(0, 3)), m.latent("b", cr.Normal(0, 3))
    m.observed("y", cr.Normal(a + b * cm.exp(-k * t), 0.2), y)

    def truth():
        theta, weights = grid(k=positive(1e-5, 25.0, 1000))
        A = np.stack([np.ones((1000, 8)), np.exp(-theta["k"][:, None] * t)], axis=-1)
        found = gaussian(y, A, np.zeros(2), 9.0 * np.eye(2), np.full(8, 0.04))
        return mixed(found.log_evidence + log_gamma(theta["k"], 2.0, 2.0), weights, theta, found, {"a": 0, "b": 1})

    return Case(m, {"k": QUADRATURE, "a": EXACT, "b": EXACT}, truth)


@zoo
def correlated_slopes():
    """Intercept and slope of each group by a Cholesky factor of (t1, t2, rho), the noise known."""
    g, x = np.repeat(np.arange(4), 3), np.tile([-1.0, 0.0, 1.0], 4)
    y = np.array([0.2, 1.1, 2.2, -1.0, -0.8, -0.7, 1.0, 0.4, 0.1, 0.9, 2.2, 3.3])
    m = cr.Model()
    t1, t2 = m.latent("t1", cr.HalfNormal(1)), m.latent("t2", cr.HalfNormal(1))
    rho = m.latent("rho", cr.Uniform(-1, 1))
    z = m.latent("z", cr.Normal(0, 1), shape=(2, 4))
    intercept = t1 * z[0]
    slope = t2 * (rho * z[0] + cm.sqrt(1.0 - rho**2) * z[1])
    m.observed("y", cr.Normal(intercept[g] + slope[g] * x, 0.3), y)

    def truth():
        # Gauss–Legendre in an angle, rho = sin(angle), so that √(1 − rho²) is smooth to the ends.
        u, w = np.polynomial.legendre.leggauss(16)
        angle = (0.5 * np.pi * u, np.log(0.5 * np.pi * w))
        theta, weights = grid(t1=positive(0.01, 7.0, 32), t2=positive(0.01, 7.0, 32), angle=angle)
        a, b, q = theta["t1"], theta["t2"], theta.pop("angle")
        theta["rho"] = np.sin(q)
        first = a[:, None, None] * indicator(g, 4) + (b * np.sin(q))[:, None, None] * (indicator(g, 4) * x[:, None])
        second = (b * np.cos(q))[:, None, None] * (indicator(g, 4) * x[:, None])
        A = np.concatenate([first, second], axis=-1)
        found = gaussian(y, A, np.zeros(8), np.eye(8), np.full(12, 0.09))
        joint = found.log_evidence + log_half_normal(a) + log_half_normal(b) + np.log(0.5 * np.cos(q))
        return mixed(joint, weights, theta, found, {"z": np.arange(8).reshape(2, 4)})

    return Case(m, {"t1": QUADRATURE, "t2": QUADRATURE, "rho": QUADRATURE, "z": EXACT}, truth)


@zoo
def autoregression_on_data():
    """phi multiplies data only: it is linear."""
    y = np.array([0.1, 0.6, 0.2, -0.5, -0.1, 0.8, 1.3, 0.9, 0.3, -0.2])
    m = cr.Model()
    past = m.data("past", y[:-1], dims="t")
    phi, c, s = m.latent("phi", cr.Normal(0, 1)), m.latent("c", cr.Flat()), m.latent("s", cr.HalfCauchy(1))
    m.observed("y", cr.Normal(c + phi * past, s), y[1:], dims="t")

    def truth():
        theta, weights = grid(s=positive(0.02, 300.0, 800))
        S = theta["s"][:, None] ** 2 * np.ones(9)
        found = gaussian(y[1:], y[:-1, None], [0.0], np.ones((800, 1, 1)), S, F=np.ones((9, 1)))
        joint = found.log_evidence + log_half_cauchy(theta["s"])
        return mixed(joint, weights, theta, found, {"phi": 0, "c": 1}, proper=False)

    return Case(m, {"phi": EXACT, "c": EXACT, "s": QUADRATURE}, truth)


@zoo
def autoregression_with_gaps():
    """phi times unseen cells: two of them, so that phi, one number, is what leaves the block."""
    first = np.array([1.0, -0.5, 0.3, 2.0, -1.5])
    second, third = np.array([0.6, np.nan, 0.1, np.nan, -0.4]), np.array([0.9, -0.2, -0.6, 1.2, -0.9])
    m = cr.Model()
    phi = m.latent("phi", cr.Normal(0, 1))
    b = m.observed("b", cr.Normal(phi * first, 0.5), second)
    m.observed("c", cr.Normal(phi * b, 0.5), third)

    def truth():
        theta, weights = grid(phi=real(-3.0, 3.0, 600))
        f = theta["phi"][:, None]
        seen, gone = [0, 2, 4], [1, 3]
        y = np.concatenate([second[seen], third])
        A = np.zeros((600, 8, 2))
        A[:, 4, 0] = A[:, 6, 1] = f[:, 0]
        c = np.concatenate([f * first[seen], np.where(np.isfinite(second), f * np.nan_to_num(second), 0.0)], axis=1)
        found = gaussian(y, A, f * first[gone], 0.25 * np.ones((600, 1, 1)) * np.eye(2), np.full(8, 0.25), c=c)
        return mixed(found.log_evidence + log_normal(f[:, 0]), weights, theta, found, {"b_missing": [0, 1]})

    return Case(m, {"phi": QUADRATURE, "b_missing": EXACT}, truth)


@zoo
def errors_in_variables():
    """The slope times the true x: a product; the two xs stay, the slope leaves."""
    seen, y = np.array([-1.2, -0.3, 0.4, 1.5, 0.9]), np.array([-1.0, 0.1, 0.3, 2.2, 1.0])
    m = cr.Model()
    slope = m.latent("slope", cr.Normal(0, 2))
    x = m.latent("x", cr.Normal(0, 1), shape=5)
    m.observed("seen", cr.Normal(x, 0.4), seen)
    m.observed("y", cr.Normal(slope * x, 0.3), y)

    def truth():
        theta, weights = grid(slope=real(-6.0, 9.0, 1000))
        f = theta["slope"][:, None, None]
        A = np.concatenate([np.broadcast_to(np.eye(5), (1000, 5, 5)), f * np.eye(5)], axis=1)
        S = np.array([0.16] * 5 + [0.09] * 5)
        found = gaussian(np.concatenate([seen, y]), A, np.zeros(5), np.eye(5), S)
        return mixed(found.log_evidence + log_normal(f[:, 0, 0], 0.0, 2.0), weights, theta, found, {"x": np.arange(5)})

    return Case(m, {"slope": QUADRATURE, "x": EXACT}, truth)


@zoo
def crossed_with_scales():
    g, h = np.repeat([0, 1, 2], 4), np.tile([0, 1, 2, 3], 3)
    y = np.array([1.2, 0.1, 2.0, 1.6, 0.2, -0.8, 0.7, 0.8, 2.1, 0.9, 3.2, 2.2])
    m = cr.Model()
    ta, tb = m.latent("ta", cr.HalfNormal(1)), m.latent("tb", cr.HalfNormal(1))
    mu = m.latent("mu", cr.Normal(0, 5))
    a, b = m.latent("a", cr.Normal(0, ta), shape=3), m.latent("b", cr.Normal(mu, tb), shape=4)
    m.observed("y", cr.Normal(a[g] + b[h], 0.3), y)

    def truth():
        theta, weights = grid(ta=positive(1e-6, 8.0, 120), tb=positive(1e-6, 8.0, 120))
        p, q = theta["ta"], theta["tb"]
        # independent (a, b − mu, mu); b itself through T
        T = np.eye(8)
        T[3:7, 7] = 1.0
        V = T @ diagonal((p**2, 3), (q**2, 4), 25.0) @ T.T
        A = block(indicator(g, 3), indicator(h, 4), np.zeros((12, 1)))
        found = gaussian(y, A, np.zeros(8), V, np.full(12, 0.09))
        joint = found.log_evidence + log_half_normal(p) + log_half_normal(q)
        return mixed(joint, weights, theta, found, {"a": [0, 1, 2], "b": [3, 4, 5, 6], "mu": 7})

    return Case(m, {"ta": QUADRATURE, "tb": QUADRATURE, "mu": EXACT, "a": EXACT, "b": EXACT}, truth)


@zoo
def nested_with_scales():
    """Pupils in classes in schools, the lower level written non-centred, the upper centred."""
    school_of = np.array([0, 0, 1, 1, 2])
    k = np.array([0, 0, 1, 1, 2, 2, 3, 4, 4])
    y = np.array([0.9, 1.3, 0.1, 0.4, -1.0, -0.6, -1.3, 2.1, 2.4])
    m = cr.Model()
    t1, t2 = m.latent("t1", cr.HalfNormal(2)), m.latent("t2", cr.HalfNormal(1))
    a = m.latent("a", cr.Normal(0, t1), shape=3)
    z = m.latent("z", cr.Normal(0, 1), shape=5)
    level = m.deterministic("level", a[school_of] + t2 * z)
    m.observed("y", cr.Normal(level[k], 0.4), y)

    def truth():
        theta, weights = grid(t1=positive(1e-6, 14.0, 120), t2=positive(1e-6, 8.0, 120))
        p, q = theta["t1"], theta["t2"]
        schools = np.broadcast_to(indicator(school_of[k], 3), (p.size, 9, 3))
        A = np.concatenate([schools, q[:, None, None] * indicator(k, 5)], axis=-1)
        found = gaussian(y, A, np.zeros(8), diagonal((p**2, 3), (1.0, 5)), np.full(9, 0.16))
        joint = found.log_evidence + log_half_normal(p, 2.0) + log_half_normal(q)
        return mixed(joint, weights, theta, found, {"a": [0, 1, 2], "z": [3, 4, 5, 6, 7]})

    return Case(m, {"t1": QUADRATURE, "t2": QUADRATURE, "a": EXACT, "z": EXACT}, truth)


@zoo
def local_scales():
    """A scale for each of two coefficients (half-Cauchy): the horseshoe's funnel."""
    X, y = block([1.0, -1, 1, -1, 2, 0], [0.0, 1, 1, -1, 0, 1]), np.array([2.1, -1.8, 2.2, -2.4, 4.2, 0.1])
    m = cr.Model()
    lam = m.latent("lam", cr.HalfNormal(3), shape=2)
    w = m.latent("w", cr.Normal(0, lam), shape=2)
    m.observed("y", cr.Normal(X @ w, 0.5), y)

    def truth():
        theta, weights = grid(p=positive(1e-5, 25.0, 150), q=positive(1e-5, 25.0, 150))
        sds = np.stack([theta["p"], theta["q"]], axis=-1)
        found = gaussian(y, X, np.zeros(2), sds[:, :, None] ** 2 * np.eye(2), np.full(6, 0.25))
        return mixed(
            found.log_evidence + log_half_normal(sds, 3.0).sum(-1), weights, {"lam": sds}, found, {"w": [0, 1]}
        )

    return Case(m, {"lam": QUADRATURE, "w": EXACT}, truth)


@zoo
def known_only_above_zero():
    """A Normal node kept above 0 is not Normal: it leaves the block, the unrestricted one stays."""
    x, y = np.array([-1.0, 0.0, 1.0, 2.0]), np.array([0.1, 0.4, 0.1, 0.9])
    m = cr.Model()
    a, b = m.latent("a", cr.Normal(0, 1)), m.latent("b", cr.Normal(0, 1), low=0.0)
    m.observed("y", cr.Normal(a + b * x, 0.5), y)

    def truth():
        theta, weights = grid(b=(lambda u, w: (2.5 * (u + 1), np.log(2.5 * w)))(*np.polynomial.legendre.leggauss(200)))
        f = theta["b"]
        found = gaussian(y, np.ones((4, 1)), [0.0], np.ones((200, 1, 1)), np.full(4, 0.25), c=f[:, None] * x)
        return mixed(found.log_evidence + log_half_normal(f), weights, theta, found, {"a": 0})

    return Case(m, {"a": EXACT, "b": QUADRATURE}, truth)


@zoo
def coefficients_of_other_laws():
    """Student's t and uniform coefficients leave; the Normal one stays."""
    X = np.array([[1.0, 0.3, -1.0], [1.0, -0.8, 0.5], [1.0, 1.2, 0.4], [1.0, 0.1, 1.3], [1.0, -0.4, -0.6]])
    y = np.array([0.2, 1.4, 1.9, 2.2, 0.3])
    m = cr.Model()
    a, b = m.latent("a", cr.StudentT(4, 0, 1)), m.latent("b", cr.Uniform(-1, 2))
    w = m.latent("w", cr.Normal(0, 1))
    m.observed("y", cr.Normal(a * X[:, 0] + b * X[:, 1] + w * X[:, 2], 0.6), y)

    def truth():
        u, k = np.polynomial.legendre.leggauss(120)
        theta, weights = grid(a=real(-8.0, 10.0, 300), b=(0.5 + 1.5 * u, np.log(1.5 * k)))
        f, h = theta["a"], theta["b"]
        c = f[:, None] * X[:, 0] + h[:, None] * X[:, 1]
        found = gaussian(y, X[:, 2:], [0.0], np.ones((f.size, 1, 1)), np.full(5, 0.36), c=c)
        prior = np.log(0.375) - 2.5 * np.log1p(f**2 / 4.0) - np.log(3.0)  # t with 4 degrees of freedom: 3/8 at 0
        return mixed(found.log_evidence + prior, weights, theta, found, {"w": 0})

    return Case(m, {"a": QUADRATURE, "b": QUADRATURE, "w": EXACT}, truth)


@zoo
def four_separate_scales():
    """Four groups with nothing in common but the prior: four hyperparameters, each integral of one dimension."""
    k = np.repeat(np.arange(4), 6)
    y = np.repeat([0.0, 1.0, -1.0, 2.0], 6) + np.repeat([0.4, 0.8, 1.5, 1.0], 6) * numbers(52, 24)
    m = cr.Model()
    s = m.latent("s", cr.HalfNormal(2), shape=4)
    mu = m.latent("mu", cr.Normal(0, 2), shape=4)
    m.observed("y", cr.Normal(mu[k], s[k]), y)

    def truth():
        parts = []
        for j in range(4):
            theta, weights = grid(s=positive(0.02, 20.0, 600))
            found = gaussian(y[k == j], np.ones((6, 1)), [0.0], diagonal(np.full(600, 4.0)),
                             theta["s"][:, None] ** 2 * np.ones(6))  # fmt: skip
            parts.append(mixed(found.log_evidence + log_half_normal(theta["s"], 2.0), weights, theta, found, {"mu": 0}))
        stack = lambda what, name: np.array([getattr(p, what)[name] for p in parts])
        return Truth({n: stack("mean", n) for n in ("s", "mu")}, {n: stack("sd", n) for n in ("s", "mu")},
                     sum(p.log_evidence for p in parts))  # fmt: skip

    return Case(m, {"s": "importance", "mu": EXACT}, truth)
