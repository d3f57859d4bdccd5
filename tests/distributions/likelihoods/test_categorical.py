"""Categorical-logit: derivatives against mpmath, integrals against the binary case and a two-dimensional grid."""

import mpmath as mp
import numpy as np
import pytest

from credo.distributions.likelihoods import BernoulliLogit, CategoricalLogit
from credo.errors import DataError, ParameterError

RNG = np.random.default_rng(3)


def log_softmax(y, eta):
    return eta[y] - mp.log(mp.fsum(mp.exp(e) for e in eta))


@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_derivatives(scale):
    k, n = 4, 5
    likelihood = CategoricalLogit(k)
    y, eta = RNG.integers(0, k, n), scale * RNG.normal(size=(n, k))
    value, gradient, hessian = likelihood.value_and_derivatives(y, eta)
    np.testing.assert_allclose(likelihood.log_prob(y, eta), value, rtol=1e-15)
    u, v = RNG.normal(size=(n, k)), RNG.normal(size=(n, k))
    third = likelihood.third_contraction(eta, u, v)

    def along(row, *directions):
        """Mixed directional derivative of log p at η[row], in mpmath."""
        point = [mp.mpf(e) for e in eta[row]]

        def moved(*steps):
            return log_softmax(
                y[row],
                [e + mp.fsum(s * d[c] for s, d in zip(steps, directions, strict=True)) for c, e in enumerate(point)],
            )

        return float(mp.diff(moved, (0,) * len(directions), (1,) * len(directions)))

    basis = np.eye(k)
    with mp.workdps(40):
        for row in range(n):
            assert value[row] == pytest.approx(float(log_softmax(y[row], list(map(mp.mpf, eta[row])))), rel=1e-13)
            for a in range(k):
                assert gradient[row, a] == pytest.approx(along(row, basis[a]), rel=1e-12, abs=1e-15)
                assert third[row, a] == pytest.approx(along(row, basis[a], u[row], v[row]), rel=1e-9, abs=1e-13)
                for b in range(k):
                    assert hessian[row, a, b] == pytest.approx(along(row, basis[a], basis[b]), rel=1e-9, abs=1e-13)


def test_extremes_shift_and_out():
    likelihood = CategoricalLogit(3)
    eta = np.array([[1e3, -1e3, 0.0], [-1e6, 1e6, 1e6]])
    y = np.array([1, 2])
    out = (np.empty(2), np.empty((2, 3)), np.empty((2, 3, 3)))
    parts = likelihood.value_and_derivatives(y, eta, out=out)
    assert all(a is b for a, b in zip(parts, out, strict=True))
    np.testing.assert_allclose(parts[0], [-2000.0, -np.log(2.0)])
    shifted = likelihood.value_and_derivatives(y, eta + 5.0)
    for a, b in zip(parts, shifted, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-9)
    np.testing.assert_allclose(parts[1].sum(axis=1), 0.0, atol=1e-15)
    np.testing.assert_allclose(parts[2].sum(axis=-1), 0.0, atol=1e-15)
    assert likelihood.value_and_derivatives(np.array([2]), np.array([[0.0, 0.0, 80.0]]))[1][0, 2] > 0


def test_link_start_and_check():
    likelihood = CategoricalLogit(3)
    eta = RNG.normal(size=(4, 3))
    centred = eta - eta.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(likelihood.link(likelihood.mean(eta)), centred, rtol=1e-12)
    start = likelihood.initial_eta(np.array([2, 0]))
    np.testing.assert_allclose(likelihood.mean(start)[0], [0.5 / 4.5, 0.5 / 4.5, 3.5 / 4.5])
    assert likelihood.check([0, 2, 1]).dtype == np.intp
    for bad in (3, -1, 0.5, np.nan):
        with pytest.raises(DataError, match="row 1") as caught:
            likelihood.check([0, bad, 1])
        assert caught.value.rows == [1]
    with pytest.raises(ParameterError):
        CategoricalLogit(1)
    with pytest.raises(ParameterError):
        CategoricalLogit(3).predictive_probabilities(np.zeros((2, 2)), np.ones((2, 2)))


@pytest.mark.parametrize("v", [0.0, 0.5, 1e4])
def test_two_classes_are_the_binary_case(v):
    m = RNG.normal(size=(5, 2))
    covariance = np.broadcast_to(v * np.array([[1.0, 0.3], [0.3, 0.6]]), (5, 2, 2))
    softmax, logit = CategoricalLogit(2), BernoulliLogit()
    difference, spread = m[:, 1] - m[:, 0], v * (1.6 - 0.6)
    np.testing.assert_allclose(
        softmax.predictive_probabilities(m, covariance)[:, 1], logit.predictive_mean(difference, spread), rtol=1e-13
    )
    y = np.array([0, 1, 1, 0, 1])
    np.testing.assert_allclose(
        softmax.predictive_log_prob(y, m, covariance),
        logit.predictive_log_prob(y, difference, spread),
        rtol=1e-9,
        atol=1e-13,
    )
    np.testing.assert_allclose(softmax.expected_entropy(m, covariance), logit.expected_entropy(difference, spread))
    np.testing.assert_allclose(softmax.epistemic(m, covariance)[:, 0], logit.epistemic(difference, spread))


# Errors stated in CategoricalLogit's docstring, with room for other rows.
@pytest.mark.parametrize(("s", "tolerance"), [(0.3, 2e-4), (1.0, 1e-3), (10.0, 1e-2), (100.0, 2e-2)])
def test_lattice_against_a_grid(s, tolerance):
    """Three classes with independent η: softmax sees two dimensions, which a fine trapezoid grid integrates."""
    m = np.array([[0.3, -0.5, 0.2], [2.0, 0.0, -1.0]]) * max(1.0, s / 3)
    v = s * s * np.array([[1.0, 0.5, 0.8], [0.2, 1.0, 1.0]])
    z = np.linspace(-7.0, 7.0, 501 if s > 1 else 141)
    weights = np.exp(-0.5 * (z[:, None] ** 2 + z**2)).ravel()
    weights /= weights.sum()
    flat = np.stack([g.ravel() for g in np.meshgrid(z, z, indexing="ij")], axis=1)
    likelihood = CategoricalLogit(3)
    p = likelihood.predictive_probabilities(m, v)
    for row in range(2):
        # contrasts of η against class 0
        contrast = np.array([[-1.0, 1.0, 0.0], [-1.0, 0.0, 1.0]])
        root = np.linalg.cholesky(contrast @ np.diag(v[row]) @ contrast.T)
        d = contrast @ m[row] + flat @ root.T
        softmax = likelihood.mean(np.column_stack([np.zeros(len(d)), d]))
        np.testing.assert_allclose(p[row], weights @ softmax, atol=tolerance)
        entropy = -np.sum(softmax * np.log(np.maximum(softmax, 1e-300)), axis=1)
        assert likelihood.expected_entropy(m, v)[row] == pytest.approx(weights @ entropy, abs=5 * tolerance)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(likelihood.aleatoric(m, v) + likelihood.epistemic(m, v), p * (1 - p), rtol=1e-12)
    log_p = likelihood.predictive_log_prob(np.array([1, 2]), m, v)
    np.testing.assert_allclose(np.exp(log_p), p[[0, 1], [1, 2]], rtol=1e-10)


def test_unlikely_class_keeps_a_finite_log():
    value = CategoricalLogit(3).predictive_log_prob([2], np.array([[0.0, 0.0, -2000.0]]), np.ones((1, 3)))
    assert -2010 < value[0] < -1990
