"""`integrate` against closed forms: Normals, logistic and log-Gamma densities, products, mixtures, improper ones."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import digamma, gammaln, polygamma

from credo.errors import ConvergenceWarning, NumericalError, ParameterError
from credo.inference.hyper import integrate


def log_gamma(a, b):
    """The logarithm of a Gamma(a, rate b) variable, with its normalising constant: skewed, exponential to the left."""
    density = lambda t: np.sum(a * t - b * np.exp(t) + a * np.log(b) - gammaln(a), axis=-1)
    return density, digamma(a) - np.log(b), np.sqrt(polygamma(1, a))


@pytest.mark.parametrize("batched", [True, False])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_skewed_densities(d, batched):
    density, mean, sd = log_gamma(np.array([0.5, 3.0, 20.0])[:d], np.array([2.0, 0.1, 5.0])[:d])
    mix = np.array([[1.0, 0.8, 0.0], [0.0, 1.0, -0.5], [0.3, 0.0, 1.0]])[:d, :d]  # correlated: t = mix θ
    turned = lambda theta: density(theta @ mix.T) + np.log(abs(np.linalg.det(mix)))
    found = integrate(None if batched else turned, np.full(d, 3.0), batch=turned if batched else None)
    assert found.converged
    assert found.n_modes == 1
    assert abs(found.log_evidence) < 1e-3
    inverse = np.linalg.inv(mix)
    covariance = inverse @ np.diag(sd**2) @ inverse.T
    true_sd = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose((found.mean - inverse @ mean) / true_sd, 0.0, atol=1e-3)
    np.testing.assert_allclose(found.sd / true_sd, 1.0, atol=1e-3)
    assert found.n_evaluations < [0, 100, 1000, 15000][d]


def test_gradients_save_evaluations_and_change_nothing():
    density, mean, _ = log_gamma(np.array([2.0, 3.0]), np.ones(2))
    slope = lambda t: np.array([2.0, 3.0]) - np.exp(t)
    plain = integrate(density, np.zeros(2))
    given = integrate(density, np.zeros(2), value_and_gradient=lambda t: (density(t), slope(t)))
    np.testing.assert_allclose(given.mean, mean, atol=1e-3)
    np.testing.assert_allclose(plain.mean, given.mean, atol=1e-4)


@pytest.mark.parametrize("start", [-30.0, 0.0, 8.0])
def test_flat_shoulders_and_far_starts(start):
    """log of a half-Cauchy scale, density sech(t)/π: exponential on both sides; sd π/2."""
    found = integrate(lambda t: float(np.log(2 / np.pi) - np.logaddexp(t[0], -t[0])), [start])
    assert found.converged
    assert abs(found.log_evidence) < 1e-3
    assert found.sd[0] == pytest.approx(np.pi / 2, rel=1e-3)


@pytest.mark.parametrize(("df", "within"), [(1.0, 0.02), (3.0, 2e-3)])
def test_polynomial_tails_are_told(df, within):
    """Student-t: no exponential fall-off, and no variance to speak of: a warning, and log evidence all the same."""
    from scipy.stats import t as student

    with pytest.warns(ConvergenceWarning, match="error of tail"):
        found = integrate(None, [3.0], batch=lambda theta: student.logpdf(theta[:, 0], df))
    assert abs(found.log_evidence) < within
    assert not found.converged


@pytest.mark.parametrize("d", [1, 2, 3])
def test_a_second_mode_is_found_and_counted(d):
    two = lambda t: np.logaddexp(-0.5 * np.sum(t**2, axis=-1), -0.5 * np.sum((t - 9.0) ** 2, axis=-1))
    found = integrate(None, np.zeros(d), batch=two)
    assert found.n_modes == 2
    assert found.log_evidence == pytest.approx(np.log(2.0) + 0.5 * d * np.log(2 * np.pi), abs=2e-3)
    np.testing.assert_allclose(found.mean, 4.5, atol=2e-2)
    costly = integrate(two, np.zeros(d), more_starts=[np.full(d, 9.0)])
    np.testing.assert_allclose(costly.mean, 4.5, atol=2e-2)


def test_a_bent_ridge_has_one_mode():
    banana = lambda t: -0.5 * t[:, 0] ** 2 - 2.0 * (t[:, 1] - t[:, 0] ** 2) ** 2
    found = integrate(None, np.zeros(2), batch=banana)
    assert found.n_modes == 1
    assert found.log_evidence == pytest.approx(np.log(np.pi), abs=1e-3)
    np.testing.assert_allclose([*found.mean, *found.sd], [0.0, 1.0, 1.0, 1.5], atol=0.01)


@pytest.mark.parametrize("a", [[1000.0, 300.0, 5000.0], [30.0, 50.0, 200.0], [10.0, 20.0, 30.0], [40.0, 90.0]])
def test_costly_densities_take_few_evaluations(a):
    """With gradients some 70 to 110 evaluations; the errors stated hold."""
    a = np.array(a)
    density, mean, sd = log_gamma(a, np.ones(len(a)))
    slope = lambda t: (density(t), a - np.exp(t))
    found = integrate(density, np.log(a) + 0.5, value_and_gradient=slope, max_evaluations=150, tolerance=1e-2)
    assert found.converged
    assert found.n_evaluations < 120
    assert abs(found.log_evidence) < found.errors["log_evidence"]
    np.testing.assert_array_less(np.abs(found.mean - mean) / sd, found.errors["mean"])
    np.testing.assert_array_less(np.abs(found.sd / sd - 1.0), found.errors["sd"])
    draws = found.sample(20_000, np.random.default_rng(0))  # costs nothing more
    np.testing.assert_allclose((draws.mean(axis=0) - mean) / sd, 0.0, atol=0.04)
    assert found.n_evaluations < 120


def test_few_nodes_and_an_honest_error():
    """A skewed one that no polynomial follows: about 150 nodes, and no error beyond what is said."""
    density, mean, sd = log_gamma(np.array([1.0, 2.0, 3.0]), np.ones(3))
    with pytest.warns(ConvergenceWarning, match="error of"):
        found = integrate(density, np.log([2.0, 2.0, 2.0]), max_evaluations=150, tolerance=1e-2)
    assert len(found.nodes) <= 200
    assert abs(found.log_evidence) < found.errors["log_evidence"] + found.errors["tail"]
    np.testing.assert_array_less(np.abs(found.mean - mean) / sd, found.errors["mean"] + found.errors["tail"])
    np.testing.assert_array_less(np.abs(found.sd / sd - 1.0), found.errors["sd"] + found.errors["tail"])
    nodes, weights = found.heaviest(0.99)
    assert len(nodes) < 100
    assert weights.sum() == pytest.approx(1.0)
    draws = found.sample(4000, np.random.default_rng(0), exact=False)
    np.testing.assert_allclose((draws.mean(axis=0) - mean) / sd, 0.0, atol=0.08)
    np.testing.assert_allclose(draws.std(axis=0) / sd, 1.0, atol=0.06)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_draws_follow_the_density(d):
    """Kolmogorov-Smirnov on each margin of 5,000 draws, log-Gamma cdf: 6 tests at 1e-5, false-alarm rate 6e-5."""
    from scipy.stats import gamma, kstest

    a = np.array([0.7, 4.0, 9.0])[:d]
    density, _, _ = log_gamma(a, np.ones(d))
    found = integrate(None, np.zeros(d), batch=density)
    draws = found.sample(5000, np.random.default_rng(1))
    for k in range(d):
        assert kstest(draws[:, k], lambda t, k=k: gamma.cdf(np.exp(t), a[k])).pvalue > 1e-5
    assert len(np.unique(draws)) == draws.size
    np.testing.assert_array_equal(draws, found.sample(5000, np.random.default_rng(1)))
    counts = np.bincount(found.sample_nodes(1000, np.random.default_rng(2)), minlength=len(found.weights))
    np.testing.assert_allclose(counts, 1000 * found.weights, atol=1.0)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_matched_points_have_the_posterior_s_moments(d):
    rng = np.random.default_rng(3)
    root = np.linalg.qr(rng.normal(size=(d, d)))[0] * rng.uniform(0.5, 3.0, d)
    inverse, mean = np.linalg.inv(root), rng.normal(size=d)
    found = integrate(None, np.zeros(d), batch=lambda t: -0.5 * np.square((t - mean) @ inverse.T).sum(axis=1))
    points, weights = found.matched()
    assert len(points) == [0, 3, 9, 15][d]
    assert (weights > 0.0).all()
    u = (points - found.mean) @ np.linalg.inv(np.linalg.cholesky(found.covariance)).T
    for powers in np.ndindex(*(6,) * d):
        if sum(powers) <= 5:
            normal = np.prod([0.0 if k % 2 else [1.0, 1.0, 3.0][k // 2] for k in powers])
            assert weights @ np.prod(u ** np.array(powers), axis=1) == pytest.approx(normal, abs=1e-9)


def test_improper_densities_and_bad_input_are_named():
    with pytest.raises(NumericalError, match="it still rises"):
        integrate(lambda t: float(t[0]), [0.0])
    with pytest.raises(NumericalError, match="does not fall off"):
        integrate(None, [0.0], batch=lambda t: -np.log1p(np.abs(t[:, 0])) * 0.01)
    with pytest.raises(NumericalError, match="not finite at the start"):
        integrate(lambda t: -np.inf, [0.0])
    with pytest.raises(NumericalError, match="The log density is nan at"):
        integrate(lambda t: float("nan"), [0.0])
    with pytest.raises(ParameterError, match="one to three finite numbers"):
        integrate(lambda t: 0.0, np.zeros(4))
    with pytest.raises(ParameterError, match="log_density must be given"):
        integrate(None, [0.0])
