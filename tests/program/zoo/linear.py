"""Known sds: every latent is integrated out exactly, however the affine mean is written."""

import numpy as np

import credo as cr
from credo.program import math as cm
from tests.program.zoo.oracle import (
    Case,
    block,
    diagonal,
    exact,
    gaussian,
    grid,
    indicator,
    log_half_normal,
    log_normal,
    mixed,
    positive,
    real,
    zoo,
)

EXACT = "exact"


def numbers(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


@zoo
def a_mean():
    y = numbers(1, 6) + 1.0
    m = cr.Model()
    m.observed("y", cr.Normal(m.latent("mu", cr.Normal(0.5, 2)), 1.5), y)
    return Case(m, {"mu": EXACT}, lambda: exact(gaussian(y, np.ones((6, 1)), [0.5], [[4.0]], np.full(6, 2.25)), mu=0))


@zoo
def regression():
    X, y = numbers(2, 9, 3), numbers(3, 9)
    m = cr.Model()
    w = m.latent("w", cr.Normal(np.array([0.0, 1.0, -1.0]), np.array([1.0, 2.0, 0.5])), shape=3)
    m.observed("y", cr.Normal(X @ w, 0.7), y)
    V = np.diag([1.0, 4.0, 0.25])
    return Case(m, {"w": EXACT}, lambda: exact(gaussian(y, X, [0.0, 1.0, -1.0], V, np.full(9, 0.49)), w=[0, 1, 2]))


@zoo
def flat_regression():
    X, y = block(np.ones(8), numbers(4, 8)), numbers(5, 8) + 100.0
    m = cr.Model()
    b = m.latent("b", cr.Flat(), shape=2)
    m.observed("y", cr.Normal(X @ b, 2.0), y)
    truth = lambda: exact(gaussian(y, np.zeros((8, 0)), np.zeros(0), np.zeros((0, 0)), np.full(8, 4.0), F=X),
                          proper=False, b=[0, 1])  # fmt: skip
    return Case(m, {"b": EXACT}, truth)


@zoo
def flat_beside_proper():
    X, y = numbers(6, 8, 2), numbers(7, 8) + 3.0
    m = cr.Model()
    a, w = m.latent("a", cr.Flat()), m.latent("w", cr.Normal(0, 1), shape=2)
    m.observed("y", cr.Normal(a + X @ w, 1.0), y)
    truth = lambda: exact(gaussian(y, X, np.zeros(2), np.eye(2), np.ones(8), F=np.ones((8, 1))), proper=False,
                          w=[0, 1], a=2)  # fmt: skip
    return Case(m, {"a": EXACT, "w": EXACT}, truth)


@zoo
def constants_hidden_in_data():
    """Offset, scale and sds all come as data nodes, through functions of data alone."""
    x, o, s, y = np.abs(numbers(8, 7)) + 0.1, numbers(9, 7), np.abs(numbers(10, 7)) + 0.5, numbers(11, 7)
    m = cr.Model()
    dx, do, ds = m.data("x", x, dims="i"), m.data("o", o, dims="i"), m.data("s", s, dims="i")
    w = m.latent("w", cr.Normal(1, 3))
    m.observed("y", cr.Normal(do**2 + cm.log(dx) * w / ds, cm.exp(ds) / 2.0), y, dims="i")
    truth = lambda: exact(gaussian(y, (np.log(x) / s)[:, None], [1.0], [[9.0]], (np.exp(s) / 2) ** 2, c=o**2), w=0)
    return Case(m, {"w": EXACT}, truth)


@zoo
def affine_disguised():
    """3 (w − 2)/4 − (1 − w)/2 + −w: affine, written to look as if it were not."""
    y = numbers(12, 5)
    m = cr.Model()
    w = m.latent("w", cr.Normal(0, 1))
    m.observed("y", cr.Normal(3.0 * (w - 2.0) / 4.0 - (1.0 - w) / 2.0 + -w, np.ones(5)), y)
    truth = lambda: exact(gaussian(y, np.full((5, 1), 0.25), [0.0], [[1.0]], np.ones(5), c=-2.0), w=0)
    return Case(m, {"w": EXACT}, truth)


@zoo
def cancelled():
    """w − w + a: nothing is learned of w, which keeps its prior."""
    y = numbers(13, 4)
    m = cr.Model()
    w, a = m.latent("w", cr.Normal(2, 3)), m.latent("a", cr.Normal(0, 1))
    m.observed("y", cr.Normal(w - w + a, np.ones(4)), y)
    truth = lambda: exact(gaussian(y, [[0.0, 1.0]] * 4, [2.0, 0.0], np.diag([9.0, 1.0]), np.ones(4)), w=0, a=1)
    return Case(m, {"w": EXACT, "a": EXACT}, truth)


@zoo
def used_twice():
    y, z = numbers(14, 4), numbers(15, 3)
    m = cr.Model()
    w = m.latent("w", cr.Normal(0, 2))
    m.observed("y", cr.Normal(w, np.ones(4)), y)
    m.observed("z", cr.Normal(2.0 * w + 1.0, np.full(3, 0.5)), z)
    A, c = np.array([[1.0]] * 4 + [[2.0]] * 3), np.array([0.0] * 4 + [1.0] * 3)
    both, S = np.concatenate([y, z]), np.array([1.0] * 4 + [0.25] * 3)
    return Case(m, {"w": EXACT}, lambda: exact(gaussian(both, A, [0.0], [[4.0]], S, c=c), w=0))


@zoo
def chain():
    """a → b → c → y, each affine in the one before."""
    y = numbers(16, 3) + 2.0
    m = cr.Model()
    a = m.latent("a", cr.Normal(0, 1))
    b = m.latent("b", cr.Normal(a + 1.0, 0.5))
    c = m.latent("c", cr.Normal(2.0 * b - a, 2.0))
    m.observed("y", cr.Normal(c, np.ones(3)), y)
    # b = 1 + a + .5 e, c = 2 + a + e + 2 f in independent a, e, f
    L = np.array([[1.0, 0, 0], [1.0, 0.5, 0], [1.0, 1.0, 2.0]])
    A = np.array([[0.0, 0, 1]] * 3)
    truth = lambda: exact(gaussian(y, A, [0.0, 1.0, 2.0], L @ L.T, np.ones(3)), a=0, b=1, c=2)
    return Case(m, dict.fromkeys("abc", EXACT), truth)


@zoo
def through_a_deterministic():
    X, y = numbers(17, 6, 2), numbers(18, 6)
    m = cr.Model()
    w = m.latent("w", cr.Normal(0, 1), shape=2)
    eta = m.deterministic("eta", X @ w)
    twice = m.deterministic("twice", 2.0 * eta + 1.0)
    m.observed("y", cr.Normal(twice - eta, 1.0), y)
    return Case(m, {"w": EXACT}, lambda: exact(gaussian(y, X, np.zeros(2), np.eye(2), np.ones(6), c=1.0), w=[0, 1]))


@zoo
def random_walk():
    """Steps summed up by a triangular matrix; only some times are observed."""
    y = np.cumsum(numbers(19, 8))
    m = cr.Model()
    steps = m.latent("steps", cr.Normal(0, 1), shape=8)
    path = m.deterministic("path", np.tril(np.ones((8, 8))) @ steps)
    m.observed("y", cr.Normal(path[np.array([1, 3, 4, 7])], 0.3), y[[1, 3, 4, 7]])
    A = np.tril(np.ones((8, 8)))[[1, 3, 4, 7]]
    truth = lambda: exact(gaussian(y[[1, 3, 4, 7]], A, np.zeros(8), np.eye(8), np.full(4, 0.09)), steps=np.arange(8))
    return Case(m, {"steps": EXACT}, truth)


@zoo
def walk_by_centred_laws():
    """The same prior as a vector whose law refers to slices of another: x₁… given x₀… by a law a step."""
    y = numbers(20, 4)
    m = cr.Model()
    x0 = m.latent("x0", cr.Normal(0, 1))
    x1 = m.latent("x1", cr.Normal(0.8 * x0, 0.6))
    x2 = m.latent("x2", cr.Normal(0.8 * x1, 0.6))
    x3 = m.latent("x3", cr.Normal(0.8 * x2, 0.6))
    m.observed("y", cr.Normal(cm.concat(x0, x1, x2, x3), 0.5), y)
    V = 0.8 ** np.abs(np.subtract.outer(range(4), range(4)))  # stationary: 0.64 + 0.36 = 1
    truth = lambda: exact(gaussian(y, np.eye(4), np.zeros(4), V, np.full(4, 0.25)), x0=0, x1=1, x2=2, x3=3)
    return Case(m, dict.fromkeys(("x0", "x1", "x2", "x3"), EXACT), truth)


@zoo
def matrix_valued_latent():
    X, Y = numbers(21, 5, 2), numbers(22, 5, 3)
    m = cr.Model()
    B = m.latent("B", cr.Normal(0, 2), shape=(2, 3))
    m.observed("Y", cr.Normal(X @ B, 0.5), Y)
    A = np.kron(X, np.eye(3))
    truth = lambda: exact(gaussian(Y.ravel(), A, np.zeros(6), 4.0 * np.eye(6), np.full(15, 0.25)),
                          B=np.arange(6).reshape(2, 3))  # fmt: skip
    return Case(m, {"B": EXACT}, truth)


@zoo
def matrix_turned_about():
    """Transposes, sums along named axes, reshapes and codes of one matrix."""
    g, y, v = np.array([0, 2, 1, 1, 0]), numbers(23, 5), numbers(24, 3)
    m = cr.Model()
    m.dim("row", 2), m.dim("column", 3)
    B = m.latent("B", cr.Normal(0, 1), dims=("row", "column"))
    picked = B.T[g].sum("row") + B.reshape(6)[np.array([0, 1, 2, 3, 5])] - (B @ v)[np.array([0, 0, 1, 1, 0])]
    m.observed("y", cr.Normal(picked + B.mean() + B[1, 2], 1.0), y)
    M = np.zeros((5, 2, 3))
    for i in range(5):
        M[i, :, g[i]] += 1.0
        M[i].flat[[0, 1, 2, 3, 5][i]] += 1.0
        M[i, [0, 0, 1, 1, 0][i]] -= v
        M[i] += 1.0 / 6.0
        M[i, 1, 2] += 1.0
    truth = lambda: exact(gaussian(y, M.reshape(5, 6), np.zeros(6), np.eye(6), np.ones(5)),
                          B=np.arange(6).reshape(2, 3))  # fmt: skip
    return Case(m, {"B": EXACT}, truth)


@zoo
def concatenated():
    y = numbers(25, 6)
    m = cr.Model()
    u, v = m.latent("u", cr.Normal(0, 1), shape=2), m.latent("v", cr.Normal(1, 2), shape=3)
    m.observed("y", cr.Normal(cm.concat(u, 5.0, v)[::-1] * np.arange(1.0, 7.0), 1.0), y)
    A = np.zeros((6, 5))
    for row, column in ((0, 4), (1, 3), (2, 2), (4, 1), (5, 0)):
        A[row, column] = row + 1.0
    c = np.array([0, 0, 0, 20.0, 0, 0])
    truth = lambda: exact(gaussian(y, A, [0.0, 0, 1, 1, 1], np.diag([1.0, 1, 4, 4, 4]), np.ones(6), c=c),
                          u=[0, 1], v=[2, 3, 4])  # fmt: skip
    return Case(m, {"u": EXACT, "v": EXACT}, truth)


@zoo
def paired_comparisons():
    """Differences of entries picked by two codes."""
    i, j, y = np.array([0, 1, 2, 3, 0]), np.array([1, 2, 3, 0, 2]), numbers(26, 5)
    m = cr.Model()
    s = m.latent("s", cr.Normal(0, 1), shape=4)
    m.observed("y", cr.Normal(s[i] - s[j], 0.5), y)
    A = indicator(i, 4) - indicator(j, 4)
    return Case(
        m, {"s": EXACT}, lambda: exact(gaussian(y, A, np.zeros(4), np.eye(4), np.full(5, 0.25)), s=np.arange(4))
    )


@zoo
def nested_groups():
    """Classes in schools: each class's mean lies about its school's."""
    school_of, k, y = np.array([0, 0, 1, 1, 1]), np.array([0, 0, 1, 2, 3, 4, 4]), numbers(27, 7)
    m = cr.Model()
    a = m.latent("a", cr.Normal(0, 2), shape=2)
    b = m.latent("b", cr.Normal(a[school_of], 0.5), shape=5)
    m.observed("y", cr.Normal(b[k], 1.0), y)
    T = block(np.eye(7)[:, :2], np.eye(7)[:, 2:])
    T[2:, :2] = indicator(school_of, 2)
    V = T @ np.diag([4.0, 4, *[0.25] * 5]) @ T.T
    A = block(np.zeros((7, 2)), indicator(k, 5))
    truth = lambda: exact(gaussian(y, A, np.zeros(7), V, np.ones(7)), a=[0, 1], b=np.arange(2, 7))
    return Case(m, {"a": EXACT, "b": EXACT}, truth)


@zoo
def crossed_groups():
    g, h, y = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 0, 1, 0, 1]), numbers(28, 6)
    m = cr.Model()
    mu = m.latent("mu", cr.Normal(0, 10))
    a, b = m.latent("a", cr.Normal(0, 1), shape=3), m.latent("b", cr.Normal(0, 2), shape=2)
    m.observed("y", cr.Normal(mu + a[g] + b[h], 0.5), y)
    A = block(np.ones(6), indicator(g, 3), indicator(h, 2))
    V = np.diag([100.0, 1, 1, 1, 4, 4])
    truth = lambda: exact(gaussian(y, A, np.zeros(6), V, np.full(6, 0.25)), mu=0, a=[1, 2, 3], b=[4, 5])
    return Case(m, {"mu": EXACT, "a": EXACT, "b": EXACT}, truth)


SIGMA = np.array([[2.0, 0.9, 0.0], [0.9, 1.0, -0.3], [0.0, -0.3, 0.5]])


@zoo
def correlated_prior():
    X, y = numbers(29, 6, 3), numbers(30, 6)
    m = cr.Model()
    w = m.latent("w", cr.MultivariateNormal(np.array([1.0, 0, -1]), SIGMA))
    m.observed("y", cr.Normal(X @ w, 1.0), y)
    return Case(m, {"w": EXACT}, lambda: exact(gaussian(y, X, [1.0, 0, -1], SIGMA, np.ones(6)), w=[0, 1, 2]))


@zoo
def correlated_noise():
    X, y = numbers(31, 3, 2), numbers(32, 3)
    m = cr.Model()
    w = m.latent("w", cr.Normal(0, 1), shape=2)
    m.observed("y", cr.MultivariateNormal(X @ w, SIGMA), y)
    return Case(m, {"w": EXACT}, lambda: exact(gaussian(y, X, np.zeros(2), np.eye(2), SIGMA), w=[0, 1]))


@zoo
def correlated_about_a_latent_mean():
    """Rows of a matrix about a shared latent mean, with one known covariance."""
    y = numbers(33, 4, 2)
    S = np.array([[1.0, 0.6], [0.6, 2.0]])
    m = cr.Model()
    mu = m.latent("mu", cr.Normal(0, 3), shape=2)
    W = m.latent("W", cr.MultivariateNormal(mu, S), shape=(4, 2))
    m.observed("y", cr.Normal(W, 0.5), y)
    T = np.block([[np.eye(2), np.zeros((2, 8))], [np.tile(np.eye(2), (4, 1)), np.eye(8)]])
    V = T @ np.block([[9.0 * np.eye(2), np.zeros((2, 8))], [np.zeros((8, 2)), np.kron(np.eye(4), S)]]) @ T.T
    A = block(np.zeros((8, 2)), np.eye(8))
    truth = lambda: exact(gaussian(y.ravel(), A, np.zeros(10), V, np.full(8, 0.25)), mu=[0, 1],
                          W=2 + np.arange(8).reshape(4, 2))  # fmt: skip
    return Case(m, {"mu": EXACT, "W": EXACT}, truth)


@zoo
def missing_and_forgotten():
    """Cells nobody saw and nobody uses leave the density, and are drawn afterwards."""
    X, y = numbers(34, 6, 2), numbers(35, 6)
    y[[1, 4]] = np.nan
    m = cr.Model()
    w = m.latent("w", cr.Normal(0, 1), shape=2)
    m.observed("y", cr.Normal(X @ w, 1.0), y)
    seen = np.isfinite(y)
    truth = lambda: exact(gaussian(y[seen], X[seen], np.zeros(2), np.eye(2), np.ones(4)), w=[0, 1])
    return Case(m, {"w": EXACT}, truth)


@zoo
def missing_and_used():
    """A gap in a panel: the second wave of two people is unseen, the third depends on it."""
    first, second, third = numbers(36, 4), numbers(37, 4), numbers(38, 4)
    second[[0, 2]] = np.nan
    m = cr.Model()
    mu = m.latent("mu", cr.Normal(0, 1))
    a = m.observed("a", cr.Normal(mu, 1.0), first, dims="person")
    b = m.observed("b", cr.Normal(0.5 * a + mu, 1.0), second, dims="person")
    m.observed("c", cr.Normal(0.5 * b + mu, 1.0), third, dims="person")
    # unknown: mu, then b₀ and b₂ = mu + .5 a + e
    V = np.array([[1.0, 1, 1], [1, 2, 1], [1, 1, 2]])
    prior = np.array([0.0, 0.5 * first[0], 0.5 * first[2]])
    seen = [1, 3]
    A = np.array([[1.0, 0, 0]] * 4 + [[1.0, 0, 0]] * 2 + [[1, 0.5, 0], [1, 0, 0], [1, 0, 0.5], [1, 0, 0]])
    c = np.concatenate([np.zeros(4), 0.5 * first[seen], [0, 0.5 * second[1], 0, 0.5 * second[3]]])
    y = np.concatenate([first, second[seen], third])
    truth = lambda: exact(gaussian(y, A, prior, V, np.ones(10), c=c), mu=0, b_missing=[1, 2])
    return Case(m, {"mu": EXACT, "b_missing": EXACT}, truth)


@zoo
def spurious_dependence_on_a_hyperparameter():
    """t − t + w: t is a hyperparameter, of which nothing is learned."""
    y = numbers(39, 4)
    m = cr.Model()
    t, w = m.latent("t", cr.HalfNormal(2)), m.latent("w", cr.Normal(0, 1))
    m.observed("y", cr.Normal(t - t + w, np.ones(4)), y)

    def truth():
        theta, weights = grid(t=positive(1e-5, 30.0))
        found = gaussian(y, np.ones((4, 1)), [0.0], np.ones((400, 1, 1)), np.ones(4))
        return mixed(found.log_evidence + log_half_normal(theta["t"], 2.0), weights, theta, found, {"w": 0})

    return Case(m, {"t": "quadrature", "w": EXACT}, truth)


@zoo
def an_sd_that_looks_latent():
    """exp of a Normal node in the sd: that node must not be in the block, the mean's must."""
    y = numbers(40, 9) * 2.0 + 1.0
    m = cr.Model()
    mu, log_s = m.latent("mu", cr.Normal(0, 2)), m.latent("log_s", cr.Normal(0, 1))
    m.observed("y", cr.Normal(mu, cm.exp(log_s)), y)

    def truth():
        theta, weights = grid(log_s=real(-4.0, 5.0))
        S = np.exp(2.0 * theta["log_s"])[:, None] * np.ones(9)
        found = gaussian(y, np.ones((9, 1)), [0.0], diagonal(np.full(400, 4.0)), S)
        return mixed(found.log_evidence + log_normal(theta["log_s"]), weights, theta, found, {"mu": 0})

    return Case(m, {"mu": EXACT, "log_s": "quadrature"}, truth)
