"""Evidence and left-out scores against dense Normal algebra; copies of rows against rows; gradients by differences."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

import credo as cr
from credo.errors import DataError
from credo.kernels import RBF, Matern
from credo.models.gaussian_process.belief import Belief
from credo.models.gaussian_process.mean import mean_of
from credo.models.gaussian_process.noise import Known, Landmarks, Learned, noise_of, stated
from credo.models.gaussian_process.observations import Observations, distinct
from credo.models.gaussian_process.solvers import Exact

KERNEL = 1.5 * Matern((0.7, 0.9), nu=2.5)
MEANS = [(None, None), ("constant", None), ("linear", None), ("linear", cr.Normal(0.3, 2.0))]


def sample(seed=0, targets=2):
    """18 rows, four of them copies, with weights and ratios of noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(14, 2))
    X = np.concatenate([X, X[:4]])
    y = rng.normal(size=(18, targets)) + 0.5
    return X, y, rng.uniform(0.5, 2.0, 18), rng.integers(1, 4, 18).astype(float)


def belief(X, y, ratio, weights, mean=None, prior=None, noise=None, merge=True):
    noise = Learned(0.4, 1.0) if noise is None else noise
    average = mean_of(mean, prior, X, weights, 1.0)
    return Belief(KERNEL, noise, average, Observations.of(X, y, ratio, weights, merge=merge), Exact())


def differences(score, b, step=1e-5):
    t = b.theta
    return np.array([(score(b.at(t + h)).value - score(b.at(t - h)).value) / (2 * step) for h in step * np.eye(t.size)])


def test_the_tiny_process_of_the_book_of_answers():
    """MATHS §10."""
    X, y, one = np.array([[0.0], [0.5], [1.3], [2.0]]), np.array([[0.2], [0.9], [-0.3], [-1.1]]), np.ones(4)
    b = Belief(1.5 * RBF(0.7), Learned(np.sqrt(0.1), 1.0), mean_of(None, None, X, one, 1.0),
               Observations.of(X, y, one, one), Exact())  # fmt: skip
    score = b.evidence()
    assert score.value == pytest.approx(-4.7482320097377, abs=1e-12)
    # θ holds the log of the sd, the answers are for that of the variance.
    np.testing.assert_allclose(score.theta * [1, 1, 0.5], [-0.92764463, 0.53367237, -0.13796761], atol=1e-8)
    mean, variance = b.latent(np.array([[1.0], [3.0]]))
    np.testing.assert_allclose(mean[:, 0], [0.324121510745, -0.337829385815], atol=1e-12)
    np.testing.assert_allclose(variance, [0.102360647842, 1.25791007451], atol=1e-11)
    loo = b.left_out_score([np.array([i]) for i in range(4)])
    assert loo.value == pytest.approx(-3.8848732811258, abs=1e-12)


@pytest.mark.parametrize(("mean", "prior"), MEANS)
def test_evidence_is_the_density_of_the_rows(mean, prior):
    """A Normal prior of the mean adds H B Hᵀ to K; a flat one is its limit, less the density of β there."""
    X, y, ratio, weights = sample()
    rows = np.repeat(np.arange(18), weights.astype(int))
    b = belief(X, y, ratio, weights, mean, prior)
    K = KERNEL(X[rows], X[rows].copy()) + np.diag(0.16 * ratio[rows])
    average = b.mean
    H = average.design(X[rows])
    if average.flat:
        sd = 1e3
        wide = K + sd**2 * H @ H.T
        density = -0.5 * np.vdot(y[rows], np.linalg.solve(wide, y[rows]))
        density -= 0.5 * y.shape[1] * (np.linalg.slogdet(wide)[1] + len(rows) * np.log(2 * np.pi))
        expected, tol = density + y.shape[1] * H.shape[1] * np.log(sd * np.sqrt(2 * np.pi)), 1e-4
    else:
        B = np.linalg.inv(average.precision) if H.shape[1] else np.empty((0, 0))
        centre = H @ average.location
        expected, tol = sum(
            scipy.stats.multivariate_normal(centre, K + H @ B @ H.T).logpdf(column) for column in y[rows].T
        ), 1e-9  # fmt: skip
    assert b.evidence(False).value == pytest.approx(expected, abs=tol)


@pytest.mark.parametrize(("mean", "prior"), MEANS)
def test_copies_count_as_rows(mean, prior):
    X, y, ratio, weights = sample()
    rows = np.repeat(np.arange(18), weights.astype(int))
    merged = belief(X, y, ratio, weights, mean, prior)
    seen = Observations.of(X[rows], y[rows], ratio[rows], np.ones(len(rows)), merge=False)
    apart = Belief(merged.kernel, merged.noise, merged.mean, seen, Exact())
    assert len(merged.observations.X) == 14
    assert merged.evidence(False).value == pytest.approx(apart.evidence(False).value, abs=1e-10)
    np.testing.assert_allclose(merged.evidence().theta, apart.evidence().theta, atol=1e-10)
    for mine, theirs in zip(merged.latent(X + 0.1), apart.latent(X + 0.1), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-11)


@pytest.mark.parametrize(("mean", "prior"), MEANS)
@pytest.mark.parametrize("noise", ["one", "columns", "function"])
def test_gradient_of_the_evidence(mean, prior, noise):
    X, y, ratio, weights = sample()
    scatter = {
        "one": Learned(0.4, 1.0),
        "columns": noise_of(stated(cr.noise.LogLinear()), X, weights, 1.0, 1.0).with_theta([-0.5, 0.2, 0.3]),
        "function": noise_of(stated(0.5 * RBF(2.0)), X, weights, 1.0, 1.0),
    }[noise]
    if noise == "function":
        scatter = scatter.with_theta(np.r_[-0.5, 0.1 * np.arange(scatter.theta.size - 1)])
    b = belief(X, y, ratio, weights, mean, prior, scatter)
    expected = differences(lambda other: other.evidence(False), b)
    np.testing.assert_allclose(b.evidence().theta, expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize(("mean", "prior"), MEANS)
@pytest.mark.parametrize("size", [1, 4])
def test_folds_left_out(mean, prior, size):
    """The closed form is what refitting to the other rows gives, and its gradient is its slope."""
    X, y, ratio, _ = sample()
    one = np.ones(18)
    b = belief(X, y, ratio, one, mean, prior, merge=False)
    folds = np.array_split(np.random.default_rng(1).permutation(18), 18 // size)
    total = 0.0
    for fold in folds:
        rest = np.setdiff1d(np.arange(18), fold)
        part = Belief(KERNEL, b.noise, b.mean, Observations.of(X[rest], y[rest], ratio[rest], one[rest]), Exact())
        m, cov = part.latent(X[fold], joint=True)
        cov = cov + np.diag(0.16 * ratio[fold])
        total += sum(scipy.stats.multivariate_normal(m[:, t], cov).logpdf(y[fold, t]) for t in range(2))
    score = b.left_out_score(folds)
    assert score.value == pytest.approx(total, abs=1e-9)
    expected = differences(lambda other: other.left_out_score(folds), b)
    np.testing.assert_allclose(score.theta, expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize(("mean", "prior"), MEANS)
def test_a_row_left_out_of_its_copies(mean, prior):
    X, y, ratio, weights = sample()
    b = belief(X, y, ratio, weights, mean, prior)
    means, variances = b.left_out(y, ratio, weights, b.observations.row)
    for i in (0, 3, 8, 15, 17):
        keep = np.arange(18) != i
        rest = Belief(KERNEL, b.noise, b.mean, Observations.of(X[keep], y[keep], ratio[keep], weights[keep]), Exact())
        m, v = rest.latent(X[[i]])
        np.testing.assert_allclose(means[i], m[0], atol=1e-12)
        assert variances[i] == pytest.approx(v[0] + 0.16 * ratio[i], abs=1e-12)


@settings(deadline=None, derandomize=True, max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=30))
def test_distinct_rows(pairs):
    X = np.array(pairs, dtype=float)
    first, row = distinct(X)
    np.testing.assert_array_equal(X[first][row], X)
    assert len(np.unique(X, axis=0)) == len(first)
    assert np.all(np.diff(first) > 0)
    assert all(first[row[i]] <= i for i in range(len(X)))


def test_rows_without_noise_must_agree():
    X, zero, one = np.zeros((2, 1)), np.zeros(2), np.ones(2)
    with pytest.raises(DataError, match="rows 0, 1"):
        Observations.of(X, np.array([[0.0], [1.0]]), zero, one)
    seen = Observations.of(X, np.array([[1.0], [1.0]]), zero, one)
    assert len(seen.X) == 1
    assert seen.rest(np.ones(1))[0] == 0.0
    # Beside an exact row a noisy copy says nothing.
    seen = Observations.of(X, np.array([[1.0], [5.0]]), np.array([0.0, 1.0]), one)
    assert seen.y.item() == 1.0
    assert seen.noise(np.ones(1)).item() == 0.0


def test_landmarks_span_the_rows():
    X = np.linspace(0, 1, 60)[:, None]
    kernel = 0.5 * RBF(0.4)
    phi = Landmarks.of(kernel, X)(X)
    assert phi.shape[1] < 20
    # What is left to know of each row is below a thousandth of its variance.
    np.testing.assert_allclose(phi @ phi.T, kernel(X), atol=0.5e-3)


def test_known_noise_has_nothing_to_learn():
    assert Known().theta.size == 0
    assert Known().log_prior()[0] == 0.0
