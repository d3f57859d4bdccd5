"""Sites of several linear predictors against brute force: dense matrices, finite differences, quadrature."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

from credo.distributions.sites import CategoricalLogit, NormalLogScale
from credo.errors import DataError
from credo.inference.gaussian_block import LinearFactor, dense
from credo.inference.laplace_block import LaplaceBlock, Site

LAWS = [(NormalLogScale(), 2, 1.3), (CategoricalLogit(4), 3, 2.0), (CategoricalLogit(2), 1, 1.0)]


@pytest.mark.parametrize(("law", "K", "y"), LAWS, ids=lambda each: str(each))
def test_derivatives_are_those_by_differences(law, K, y):
    rng = np.random.default_rng(0)
    if K == 1:
        return
    eta, y, h = rng.normal(size=(K, 6)), np.full(6, y), 1e-5
    found = law.derivatives(y, eta, (), 3)
    for k in range(K):
        e = np.zeros((K, 1))
        e[k] = h
        ends = [law.derivatives(y, eta + sign * e, (), 3) for sign in (1.0, -1.0)]
        for order in range(3):
            slope = (ends[0][order] - ends[1][order]) / (2 * h)
            np.testing.assert_allclose(np.moveaxis(found[order + 1], -2, 0)[k], slope, atol=1e-8)
    many = law.derivatives(y, np.stack([eta, 2 * eta]), (), 2)  # as draws come, an axis before
    np.testing.assert_array_equal(many[2][0], found[2])


def model(law, seed, groups=5, n=40):
    """Intercepts, a slope and groups for each predictor, one group effect in two of them; coefficients that matter."""
    rng = np.random.default_rng(seed)
    K, g, x = law.predictors, np.arange(n) % groups, rng.normal(size=n)
    each = 2 + groups
    p, maps = K * each, []
    fixed, effects, shared = np.zeros((K * n, p)), np.zeros((K * n, p)), np.zeros((K * n, p))
    for k in range(K):
        rows = k * n + np.arange(n)
        fixed[rows, k * each], fixed[rows, k * each + 1] = 1.0, x
        effects[rows, k * each + 2 + g] = 1.0
    shared[n + np.arange(n), 2 + g] = x
    maps = [fixed, effects, shared]
    y = 1 + x + rng.normal(size=n) if K == 2 and not law.log_concave else rng.integers(K + 1, size=n).astype(float)
    site = Site(law, y, maps, [rng.normal(size=K * n) * 0.1], name="y")
    factors = [LinearFactor([np.eye(p)], [np.ones(p)], name="z")]
    return factors, site, p, [((1.0,), (-0.1,), 1.2), ((1.0, 0.8, 0.5), (0.7,), ())]


def brute(factors, site, p, x):
    """Laplace's log ∫ and the mode, by Newton's method on dense matrices."""
    (a0, b0, s), law, K, n = (x[0], x[1], x[2]), site.law, site.law.predictors, site.n
    A = sum(a * M.toarray() for a, M in zip(x[3:6], site.maps, strict=True))
    offset, z = x[6] * site.constants[0], np.zeros(p)

    def full(blocks):
        return (
            A.T @ np.block([[np.diag(blocks[k, m]) for m in range(K)] for k in range(K)]) @ A
            + np.eye(p) * (a0 / s) ** 2
        )

    def value(z):
        eta = (A @ z + offset).reshape(K, n)
        return law.derivatives(site.y, eta, (), 0)[0].sum() - 0.5 * (((a0 * z + b0) / s) ** 2).sum() - p * np.log(s)

    for _ in range(100):
        eta = (A @ z + offset).reshape(K, n)
        _, first, second = law.derivatives(site.y, eta)
        slope, H = A.T @ first.ravel() - a0 * (a0 * z + b0) / s**2, full(-second)
        safe = H if np.linalg.eigvalsh(H)[0] > 0 else full(law.safe_curvature(site.y, eta))
        step = np.linalg.solve(safe, slope)
        while value(z + step) < value(z) - 1e-10:
            step = 0.5 * step
        z = z + step
        if np.abs(step).max() < 1e-12:
            break
    return value(z) - 0.5 * np.linalg.slogdet(H)[1], z


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("law", [NormalLogScale(), CategoricalLogit(3), CategoricalLogit(4)], ids=str)
def test_value_and_gradient(law, sparse, monkeypatch):
    if sparse:
        monkeypatch.setattr(dense, "LARGEST", 0)
    factors, site, p, coefficients = model(law, 1)
    block = LaplaceBlock(factors, [site], p)
    x = block.pack(coefficients)
    value, gradient = block.log_marginal(x)
    truth, z = brute(factors, site, p, x)
    assert value == pytest.approx(truth, abs=1e-8)
    np.testing.assert_allclose(block.condition(x).mean, z, atol=1e-6)
    for k in range(len(x)):
        step = np.zeros(len(x))
        step[k] = 1e-5
        ends = [brute(factors, site, p, x + sign * step)[0] for sign in (1.0, -1.0)]
        assert gradient[k] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-6, abs=1e-6)


def test_weights_give_the_integral_of_means_and_log_sds():
    """5 groups of 9 rows with a level and a log sd of their own, against sums over grids, levels in closed form.
    Within 5 standard errors; a false alarm in 1e-6."""
    rng = np.random.default_rng(4)
    G, n = 5, 9
    g = np.repeat(np.arange(G), n)
    y = (1.0 + rng.normal(size=G)[g]) + np.exp(-0.5 + 0.5 * rng.normal(size=G)[g]) * rng.normal(size=G * n)
    p = 2 + 2 * G
    M = np.zeros((2 * G * n, p))
    M[: G * n, 0], M[G * n :, 1] = 1.0, 1.0
    M[np.arange(G * n), 2 + g], M[G * n + np.arange(G * n), 2 + G + g] = 1.0, 1.0
    site = Site(NormalLogScale(), y, [M], name="y")
    eye = np.eye(p)
    factors = [LinearFactor([eye[k]], name=str(k)) for k in ([0, 1], slice(2, 2 + G), slice(2 + G, p))]
    block = LaplaceBlock(factors, [site], p)
    assert block.groups == G
    tau, omega = 0.9, 0.6
    coefficients = [((1.0,), (), 2.0), ((1.0,), (), tau), ((1.0,), (), omega), ((1.0,), (), ())]
    belief = block.condition(coefficients)
    z, log_w = belief.draw_weighted(400, rng)
    a, b, t = np.linspace(-5, 7, 81), np.linspace(-3, 2, 61), np.linspace(-6, 6, 49)
    total = -0.125 * (a[:, None] ** 2 + b**2) - np.log(8 * np.pi) + np.log((a[1] - a[0]) * (b[1] - b[0]))
    log_n = -0.5 * t * t - 0.5 * np.log(2 * np.pi) + np.log(t[1] - t[0])
    a, b, v = a[:, None, None], b[None, :, None], omega * t
    log_sd = b + v
    variance = np.exp(2 * log_sd) + n * tau**2
    for k in range(G):
        own, square = y[g == k].mean(), np.square(y[g == k] - y[g == k].mean()).sum()
        inner = -0.5 * n * np.log(2 * np.pi) - (n - 1) * log_sd - 0.5 * np.log(variance)
        inner = inner - 0.5 * (square * np.exp(-2 * log_sd) + n * (own - a) ** 2 / variance)
        total = total + logsumexp(inner + log_n, axis=-1)
    truth = float(logsumexp(total))
    mean, spread = np.exp(log_w).mean(), np.exp(log_w).std() / np.sqrt(len(log_w))
    assert abs(belief.log_marginal + np.log(mean) - truth) < 5.0 * spread / mean < 0.2
    assert abs(belief.log_marginal - truth) > 0.3  # Laplace alone would not do
    weights, of = np.exp(total - truth), np.exp(log_w - logsumexp(log_w))
    means = [(weights * each).sum() for each in (a[..., 0], b[..., 0])]
    sds = [np.sqrt((weights * (each - m) ** 2).sum()) for each, m in zip((a[..., 0], b[..., 0]), means, strict=True)]
    error = np.sqrt((of**2).sum())
    assert np.abs((of @ z[:, :2] - means) / sds).max() < 5.0 * error
    assert np.isinf(belief.rival())


def test_a_level_between_its_prior_and_its_rows_has_a_rival():
    """Two rows of a sixth group agree far off the prior: a level at them and a tiny sd, or one near 0 and a wide sd."""
    y = np.concatenate([2.0 * np.random.default_rng(0).normal(size=30), [9.0, 9.001]])
    g, n = np.append(np.repeat(np.arange(5), 6), [5, 5]), 32
    M = np.zeros((2 * n, 12))
    M[np.arange(n), g], M[n + np.arange(n), 6 + g] = 1.0, 1.0
    factors = [LinearFactor([np.eye(12)[k]], name=str(k)) for k in (slice(6), slice(6, 12))]
    block = LaplaceBlock(factors, [Site(NormalLogScale(), y, [M], name="y")], 12)
    assert block.condition([((1.0,), (), 1.5), ((1.0,), (), 2.0), ((1.0,), (), ())]).rival() < 12.0


def test_outcomes_are_checked():
    with pytest.raises(DataError, match="finite"):
        Site(NormalLogScale(), [1.0, np.nan], [np.ones((4, 1))])
    with pytest.raises(DataError, match="classes 0 … 2"):
        Site(CategoricalLogit(3), [1.0, 3.0], [np.ones((4, 1))])
