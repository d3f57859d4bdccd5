"""The process that log sd of the noise is, and what is learned of its kernel."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.stats

import credo as cr
from credo.kernels import RBF, Matern
from credo.models.gaussian_process.noise import Landmarks
from credo.models.gaussian_process.noise_process import Quadratic

MCYCLE = Path(__file__).parents[2] / "data" / "posteriordb" / "mcycle.csv"


def waves(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose log sd is a wave, of covariance about RBF(1)."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(-2, 2, n))
    return x[:, None], np.sin(3 * x) + log_noise(x, rng.normal(size=n))


def log_noise(x: np.ndarray, draws: np.ndarray | float = 1.0) -> np.ndarray:
    return 0.3 * np.exp(0.8 * np.sin(2 * x)) * draws


def test_the_kernel_is_learned_from_wherever_it_is_stated():
    X, y = waves(150)
    stated = (1.0 * RBF(1.0), 0.1 * RBF(0.01), 3.0 * RBF(300.0))
    models = [cr.GaussianProcessRegressor(noise=kernel).fit(X, y) for kernel in stated]
    assert all(model.result_.ok for model in models)
    evidences = [model.result_.certificate["noise_log_evidence"] for model in models]
    assert np.ptp(evidences) < 0.1
    grid = np.linspace(-1.8, 1.8, 40)
    for model in models:
        # 150 rows tell a log sd within about 0.2; the wave itself has an rms of 0.57.
        gap = np.log(model.noise_scale(grid[:, None])) - np.log(log_noise(grid))
        assert np.sqrt(np.mean(np.square(gap))) < 0.25
        assert 0.3 < model.noise_kernel_.kernel.lengthscale < 3.0


def test_a_fixed_kernel_stays_and_constant_noise_has_none():
    X, y = waves(40)
    kernel = RBF(0.7, fixed=("lengthscale",))
    assert cr.GaussianProcessRegressor(noise=kernel).fit(X, y).noise_kernel_.lengthscale == 0.7
    assert cr.GaussianProcessRegressor().fit(X, y).noise_kernel_ is None


def importance(belief, features, quadratic, rng, draws: int) -> float:
    """log ∫ p(y | γ) p(γ) d(γ₀, γ), p(y | γ) as a Normal density of scipy's formula, by importance sampling."""
    X, y = belief.observations.X, belief.observations.y[:, 0]
    psi = np.column_stack([np.ones(len(X)), features(X)])
    centre, _ = quadratic.coefficients(features)
    size = len(centre)
    precision = psi.T @ quadratic.information @ psi + np.diag([0.0] + [1.0] * (size - 1))
    proposal = scipy.stats.multivariate_t(centre, np.linalg.inv(precision), df=8, seed=rng)
    coefficients = proposal.rvs(draws).reshape(draws, size)
    covariances = belief.kernel(X) + np.exp(2 * coefficients @ psi.T)[:, :, None] * np.eye(len(X))
    _, logs = np.linalg.slogdet(covariances)
    solved = np.linalg.solve(covariances, np.broadcast_to(y[:, None], (draws, len(y), 1)))[..., 0]
    log_y = -0.5 * (solved @ y + logs + len(y) * np.log(2 * np.pi))
    log_prior = scipy.stats.norm.logpdf(coefficients[:, 1:]).sum(axis=1)
    weights = log_y + log_prior - proposal.logpdf(coefficients)
    return float(np.logaddexp.reduce(weights) - np.log(draws))


def test_the_evidence_against_integration():
    """Laplace's error of some tenths of a nat is the method's; differences of nats between kernels are what is used."""
    X, y = waves(60)
    options = {"mean": None, "learn": "evidence"}
    model = cr.GaussianProcessRegressor(1.0 * RBF(0.7), noise=1.0 * RBF(1.0), **options).fit(X, y)
    belief, rng = model.belief_, np.random.default_rng(0)
    quadratic = Quadratic.of(belief)
    for lengthscale in (0.6, 1.0, model.noise_kernel_.kernel.lengthscale):
        features = Landmarks.of(1.0 * RBF(lengthscale), X)
        laplace = quadratic.coefficients(features)[1]
        assert laplace == pytest.approx(importance(belief, features, quadratic, rng, 3000), abs=0.5)


def test_the_quadratic_against_differences():
    """Its slope is that of log p(y); its information is the mean of −∂² over outcomes that the model would draw."""
    X, y = waves(12)
    X, y = np.concatenate([X, X[:3]]), np.concatenate([y, y[:3] + 0.1])  # copies, which count as one row each
    belief = cr.GaussianProcessRegressor(1.0 * RBF(0.7), noise=RBF(1.0), mean=None).fit(X, y).belief_
    quadratic, row = Quadratic.of(belief), belief.observations.row
    g = 0.5 * np.log(belief.variance)
    assert np.all(belief.noise.inside(belief.observations.X))

    def log_p(g: np.ndarray) -> float:
        return scipy.stats.multivariate_normal(cov=belief.kernel(X) + np.diag(np.exp(2 * g)[row])).logpdf(y)

    step = 1e-5
    slope = [(log_p(g + step * e) - log_p(g - step * e)) / (2 * step) for e in np.eye(len(g))]
    np.testing.assert_allclose(quadratic.slope - quadratic.information @ g, slope, rtol=1e-5, atol=1e-6)
    # Fisher's information of a Normal law: ½ tr(C⁻¹ ∂_a C C⁻¹ ∂_b C).
    v = np.exp(2 * g)[row]
    inverse = np.linalg.inv(belief.kernel(X) + np.diag(v))
    parts = [inverse * (2 * v * (row == a)) for a in range(len(g))]
    expected = [[0.5 * np.trace(a @ b) for b in parts] for a in parts]
    np.testing.assert_allclose(quadratic.information, expected, rtol=1e-8, atol=1e-10)


def test_motorcycles():
    """The noise of the motorcycle table, none before the impact, differs tenfold."""
    x, y = np.loadtxt(MCYCLE, delimiter=",", skiprows=1).T
    X = x[:, None]
    even = cr.GaussianProcessRegressor().fit(X, y)
    varying = cr.GaussianProcessRegressor(noise=1.0 * Matern(20.0)).fit(X, y)
    assert varying.result_.ok
    # Of 133 rows left out one by one: .25 nats a row is what published fits gain.
    assert varying.leave_one_out(X, y).elpd > even.leave_one_out(X, y).elpd + 25
    before, after = varying.noise_scale([[5.0], [30.0]])
    assert after > 8 * before


@pytest.mark.parametrize("unit", [1e-150, 1e150])
def test_units_of_outcomes_do_not_matter(unit):
    X, y = waves(60)
    plain, scaled = (cr.GaussianProcessRegressor(noise=RBF(1.0)).fit(X, each) for each in (y, unit * y))
    np.testing.assert_allclose(scaled.noise_scale(X) / unit, plain.noise_scale(X), rtol=1e-3)
    assert scaled.noise_kernel_.lengthscale == pytest.approx(plain.noise_kernel_.lengthscale, rel=0.05)


@pytest.mark.slow
def test_more_rows_than_it_is_learned_from_and_slopes():
    X, y = waves(900)
    model = cr.GaussianProcessRegressor(noise=RBF(0.05)).fit(X, y)
    assert model.result_.ok
    assert model.result_.certificate["noise_rows"] == 500
    gap = np.log(model.noise_scale(X)) - np.log(log_noise(X[:, 0]))
    assert np.sqrt(np.mean(np.square(gap))) < 0.12
    sloped = cr.GaussianProcessRegressor(noise=RBF(0.05)).fit(X[::3], y[::3], slopes=([[0.0]], 0, [3.0]))
    assert 0.3 < sloped.noise_kernel_.lengthscale < 3.0
    assert sloped.predict_slope_distribution([[0.0]], 0).mean[0] == pytest.approx(3.0, abs=1e-4)
