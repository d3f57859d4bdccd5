"""Laplace, EP and Gibbs against known answers, dense algebra, finite differences and brute force."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special
import scipy.stats

import credo as cr
from credo.diagnostics.mcmc import mcse
from credo.models.preference.arrow import SharedPrior
from credo.models.preference.gibbs import sample_utilities, truncated_normal
from credo.models.preference.laplace import LogLikelihood, laplace
from credo.models.preference.outcomes import counted
from credo.models.preference.propagation import propagate
from credo.models.preference.scales import ScalesSpace

TWO = np.array([[1.0, 0.5], [0.5, 1.0]])
ENGINES = {"laplace": laplace, "ep": propagate}


def shared(K, rho=(0.0,)):
    return SharedPrior(np.asarray(K, dtype=np.float64), np.asarray(rho, dtype=np.float64))


def first_gap(gaussian, prior):
    """Mean and variance of f_0 − f_1."""
    g = np.stack([prior.times(alpha)[0] for alpha in gaussian.alpha])
    d, V = g[:, 0] - g[:, 1], gaussian.arrow.marginals[0]
    return d.mean(), d.var() + V[0, 0] + V[1, 1] - 2.0 * V[0, 1]


def setting(history, noise=0.3, link="probit"):
    outcomes = counted(history)
    space = ScalesSpace(link, noise, outcomes)
    return outcomes, space, space.start


# MATHS §10: K = [[1, .5], [.5, 1]], P(1 ≻ 2) = Φ((f1 − f2)/(√2 · .3)), one duel won by the first.
def test_known_answer_of_one_duel():
    prior, (outcomes, space, psi) = shared(TWO), setting(cr.Preferences(2).with_duel(0, 1))
    ep = propagate(prior, outcomes, space, psi)
    assert first_gap(ep, prior) == pytest.approx((0.73451227468807, 0.46049171833256), abs=1e-12)
    assert ep.log_evidence == pytest.approx(np.log(0.5), abs=1e-12)
    # Laplace's own: the mode of log Φ(d/(√2 · .3)) − d²/2 (Var(f1 − f2) = 1) and the curvature there.
    at = laplace(prior, outcomes, space, psi)
    mode, variance = first_gap(at, prior)
    k = 1.0 / (np.sqrt(2.0) * 0.3)
    ratio = np.exp(scipy.stats.norm.logpdf(k * mode) - scipy.special.log_ndtr(k * mode))
    assert mode == pytest.approx(k * ratio, abs=1e-9)
    assert variance == pytest.approx(1.0 / (1.0 + k * k * ratio * (k * mode + ratio)), abs=1e-9)
    assert (mode, variance) == pytest.approx((0.5120896259, 0.3677685770), abs=1e-9)


# Two z-tests at 4.5 standard errors: false alarms once in 70,000 seeds.
def test_gibbs_reaches_the_known_answer():
    prior, (outcomes, space, psi) = shared(TWO), setting(cr.Preferences(2).with_duel(0, 1))
    start = propagate(prior, outcomes, space, psi)
    drawn = sample_utilities(prior, outcomes, space, psi, start, 4000, 500, np.random.default_rng(0))
    assert drawn.result.ok
    g = np.stack([prior.times(alpha)[0] for alpha in drawn.alpha]).reshape(4, 4000, 2)
    d = g[..., 0] - g[..., 1]
    own = drawn.arrow.marginals[0]
    inside = own[0, 0] + own[1, 1] - 2.0 * own[0, 1]
    assert abs(d.mean() - 0.73451227468807) < 4.5 * mcse(d)
    square = (d - 0.73451227468807) ** 2 + inside
    assert abs(square.mean() - 0.46049171833256) < 4.5 * mcse(square)


def brute_force(K, history, noise, threshold):
    """E f and P(0 ≻ 1) of three items by 40-point Gauss–Hermite rules on each, and log evidence."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    z = np.stack(np.meshgrid(nodes, nodes, nodes, indexing="ij"), axis=-1).reshape(-1, 3)
    w = np.prod(np.stack(np.meshgrid(weights, weights, weights, indexing="ij"), axis=-1).reshape(-1, 3), axis=1)
    f = z @ np.linalg.cholesky(K).T
    k = 1.0 / (np.sqrt(2.0) * noise)
    p = w / (2.0 * np.pi) ** 1.5
    for event in history.events:
        a, b = event.first, event.second
        if event.kind == "duels":
            p = p * scipy.special.ndtr(k * (f[:, a[0]] - f[:, b[0]] - threshold)) ** event.values[0]
        elif event.kind == "ties":
            d = f[:, a[0]] - f[:, b[0]]
            p = p * (scipy.special.ndtr(k * (threshold - d)) - scipy.special.ndtr(k * (-threshold - d)))
        else:  # the best of three, by quadrature over its own noise
            e = np.linspace(-8.5, 8.5, 69)
            inside = np.ones((len(f), e.size)) * scipy.stats.norm.pdf(e) * (e[1] - e[0])
            for j in b:
                inside *= scipy.special.ndtr((f[:, [a[0]]] - f[:, [j]]) / noise + e)
            p = p * inside.sum(axis=1)
    total = p.sum()
    p /= total
    win = scipy.special.ndtr(k * (f[:, 0] - f[:, 1] - threshold))
    return p @ f, p @ win, np.log(total)


K3 = np.array([[1.0, 0.4, 0.1], [0.4, 1.5, -0.2], [0.1, -0.2, 0.8]])
HISTORY = cr.Preferences(3).with_duel(0, 1, count=2).with_duel(2, 0).with_tie(1, 2).with_choice(0, [0, 1, 2])


@pytest.fixture(scope="module")
def exact():
    _, space, psi = setting(HISTORY, noise=0.7)
    return brute_force(K3, HISTORY, 0.7, space.scales(psi).threshold)


# Three means and one probability at 4.5 standard errors: false alarms once in 35,000 seeds.
def test_gibbs_is_brute_force_within_its_error(exact):
    mean, win, _ = exact
    prior, (outcomes, space, psi) = shared(K3), setting(HISTORY, noise=0.7)
    start = propagate(prior, outcomes, space, psi)
    drawn = sample_utilities(prior, outcomes, space, psi, start, 4000, 500, np.random.default_rng(1))
    g = np.stack([prior.times(alpha)[0] for alpha in drawn.alpha]).reshape(4, 4000, 3)
    for j in range(3):
        assert abs(g[..., j].mean() - mean[j]) < 4.5 * mcse(g[..., j])
    k, t = space.scales(psi).duel, space.scales(psi).threshold
    own = drawn.arrow.marginals[0]
    v = own[0, 0] + own[1, 1] - 2.0 * own[0, 1]
    p = scipy.special.ndtr(k * (g[..., 0] - g[..., 1] - t) / np.sqrt(1.0 + k * k * v))
    assert abs(p.mean() - win) < 4.5 * mcse(p)


def test_approximations_are_near_brute_force(exact):
    mean, _, evidence = exact
    prior, (outcomes, space, psi) = shared(K3), setting(HISTORY, noise=0.7)
    for engine, near, nats in ((propagate, 0.01, 0.02), (laplace, 0.1, 0.2)):
        found = engine(prior, outcomes, space, psi)
        np.testing.assert_allclose(prior.times(found.alpha[0])[0], mean, atol=near)
        assert found.log_evidence == pytest.approx(evidence, abs=nats)


def everything(link):
    rng = np.random.default_rng(1)
    history = cr.Preferences(5)
    for user in (None, "a", "b"):
        for _ in range(3):
            p = rng.permutation(5).tolist()
            history = history.with_duel(p[0], p[1], user=user, count=2).with_tie(p[1], p[2], user=user)
            history = history.with_choice(p[0], p[:4], user=user).with_ranking(p[:3], p[3:4], user=user)
            history = history.with_rating(p[0], rng.normal() * 3 + 5, user=user)
            history = history.with_grade(p[2], int(rng.integers(3)), user=user)
    outcomes, space, psi = setting(history, 0.7, link)
    X = rng.normal(size=(5, 2))
    D = np.square(X[:, None] - X).sum(axis=2)
    return (
        outcomes,
        space,
        psi + 0.1 * rng.normal(size=psi.size),
        lambda log_l: 1.3 * np.exp(-0.5 * D / np.exp(2 * log_l)),
    )


@pytest.mark.parametrize(("name", "link"), [("laplace", "probit"), ("laplace", "logit"), ("ep", "probit")])
def test_evidence_gradients(name, link):
    outcomes, space, psi, K = everything(link)
    own, h = np.arange(3) > 0, 1e-4

    def at(log_l=0.0, log_rho=-0.5, moved=psi):
        return ENGINES[name](shared(K(log_l), np.exp(log_rho) * own), outcomes, space, moved)

    def slope(f):
        return (f(h).log_evidence - f(-h).log_evidence) / (2 * h)

    found = at()
    along = np.vdot(found.kernel_weight, (K(h) - K(-h)) / (2 * h))
    assert along == pytest.approx(slope(lambda s: at(log_l=s)), rel=1e-5, abs=1e-5)
    assert found.deviation == pytest.approx(slope(lambda s: at(log_rho=-0.5 + s)), rel=1e-5, abs=1e-5)
    for k in range(psi.size):
        unit = np.eye(psi.size)[k]
        assert found.psi[k] == pytest.approx(slope(lambda s, u=unit: at(moved=psi + s * u)), rel=1e-5, abs=1e-5)


def test_arrow_is_the_dense_algebra():
    outcomes, space, psi, K = everything("probit")
    rho = np.array([0.0, 0.6, 0.6])
    prior = shared(K(0.0), rho)
    M = LogLikelihood(outcomes, space.scales(psi)).derivatives(np.zeros((3, 5)))[2]
    arrow = prior.given(M)
    full = np.kron(np.ones((3, 3)) + np.diag(rho), K(0.0))
    block = np.zeros((15, 15))
    for u in range(3):
        block[5 * u : 5 * u + 5, 5 * u : 5 * u + 5] = M[u]
    dense = np.linalg.solve(np.eye(15) + full @ block, full)
    rng = np.random.default_rng(0)
    b = rng.normal(size=(3, 5))
    np.testing.assert_allclose(arrow.spread(b).ravel(), dense @ b.ravel(), atol=1e-12)
    np.testing.assert_allclose(prior.times(b).ravel(), full @ b.ravel(), atol=1e-12)
    np.testing.assert_allclose(
        arrow.relax(b).ravel(), np.linalg.solve(np.eye(15) + block @ full, b.ravel()), atol=1e-12
    )
    assert arrow.half_log_determinant == pytest.approx(0.5 * np.linalg.slogdet(np.eye(15) + full @ block)[1], abs=1e-12)
    for u in range(3):
        rows = slice(5 * u, 5 * u + 5)
        np.testing.assert_allclose(arrow.marginals[u], dense[rows, rows], atol=1e-12)
        np.testing.assert_allclose(prior.root @ arrow.whitened(u) @ prior.root.T, dense[rows, rows], atol=1e-12)
    draws = arrow.draw(np.broadcast_to(b, (40_000, 3, 5)), rng).reshape(-1, 15)
    # entries of a 15 × 15 covariance of 40,000 draws: six standard errors of the largest
    np.testing.assert_allclose(np.cov(draws.T), dense, atol=6 * np.diag(dense).max() * np.sqrt(2 / 40_000))


def test_copies_of_an_item_are_one_item():
    """A singular K (an item listed twice) takes jitter and gives both the same utility."""
    K = np.array([[1.0, 1.0, 0.2], [1.0, 1.0, 0.2], [0.2, 0.2, 1.0]])
    outcomes, space, psi = setting(cr.Preferences(3).with_duel(0, 2).with_duel(1, 2))
    for engine in ENGINES.values():
        found = engine(shared(K), outcomes, space, psi)
        g = shared(K).times(found.alpha[0])[0]
        assert g[0] == pytest.approx(g[1], abs=1e-4)
        assert g[0] > g[2]


def test_truncated_normals_have_their_moments():
    rng = np.random.default_rng(0)
    mean, low, high = (
        np.array([0.0, -3.0, 2.0, -10.0]),
        np.array([0.5, 1.0, -1.0, 0.0]),
        np.array([2.0, np.inf, 0.0, np.inf]),
    )
    x = truncated_normal(np.broadcast_to(mean, (50_000, 4)), low, high, rng)
    expected = scipy.stats.truncnorm((low - mean), (high - mean), loc=mean)
    z = (x.mean(axis=0) - expected.mean()) / (expected.std() / np.sqrt(50_000))
    assert np.all(np.abs(z) < 4.5)  # false alarms once in 35,000 seeds
    assert np.all((x >= low) & (x <= high))
