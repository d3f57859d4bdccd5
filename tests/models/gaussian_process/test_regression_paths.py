"""Draws of whole functions: their law, their slopes, spectra of every kernel that has one."""

from __future__ import annotations

import numpy as np
import pytest

import credo as cr
from credo.errors import DataError, ParameterError, UnavailableError
from credo.kernels import RBF, Constant, Kernel, Linear, Matern, Periodic, Polynomial, RationalQuadratic, White
from credo.models.gaussian_process import GaussianProcessRegressor
from credo.models.gaussian_process.spectra import prior_draws

KERNELS: list[Kernel] = [
    RBF((1.0, 2.0)),
    Matern(1.3, nu=0.5),
    Matern(1.3, nu=2.5),
    2.0 * RationalQuadratic(1.0, alpha=0.7),
    Periodic(1.1, period=2.0),
    RBF(2.0) * Periodic(0.8, period=1.5, active_dims=(0,)),
    RBF(1.0) + 0.5 * Linear(2.0) + 3.0 * Constant(0.5),
    2.0 * (RBF(1.0, active_dims=(1,)) + Constant(0.5)),
    0.5 * Constant(2.0) * RBF(1.0),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_features_have_the_kernel_as_covariance(kernel):
    """4,000 draws of 4,000 features each: entries err by about k(x, x) √(2/4000) = 0.022 k; 6 of these, of 15 entries
    and nine kernels, are exceeded once in 10⁷ runs."""
    X = np.random.default_rng(0).normal(size=(5, 2))
    f = prior_draws(kernel, 2, 4000, 4000, np.random.default_rng(1))(X)
    K = kernel(X)
    assert np.abs(f @ f.T / 4000 - K).max() < 6 * np.sqrt(2 / 4000) * K.max()


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    x = rng.uniform(-3, 3, (30, 1))
    y = 20 * np.sin(x[:, 0]) + 4 * rng.normal(size=30) + 100
    return GaussianProcessRegressor().fit(x, y)


def test_posterior_paths_have_the_posterior_as_law(fitted):
    """4,000 paths: means within 5 standard errors and sds within 15 %: features add an error to the sds."""
    new = np.array([[-4.0], [0.0], [2.0], [5.0]])
    paths = fitted.sample_paths(4000, random_state=1)
    values, p = paths(new), fitted.predict_distribution(new, noise_scale=0)
    assert len(paths) == 4000
    assert values.shape == (4000, 4)
    assert np.all(np.abs(values.mean(axis=0) - p.mean) < 5 * p.sd / np.sqrt(4000))
    np.testing.assert_allclose(values.std(axis=0), p.sd, rtol=0.15)
    joint = fitted.predict_joint(new, noise_scale=0).covariance
    assert np.abs(np.cov(values.T) - joint).max() < 0.1 * joint.max()
    slopes, q = paths.slope(new)[..., 0], fitted.predict_slope_distribution(new, 0)
    assert np.all(np.abs(slopes.mean(axis=0) - q.mean) < 5 * q.sd / np.sqrt(4000))
    np.testing.assert_allclose(slopes.std(axis=0), q.sd, rtol=0.2)


@pytest.mark.parametrize("prior", [False, True])
def test_a_path_is_a_function_with_slopes(fitted, prior):
    paths = fitted.sample_paths(3, prior=prior, random_state=2)
    x = np.linspace(-5, 5, 11)[:, None]
    np.testing.assert_allclose(paths(x)[:, 4], paths(x[[4]])[:, 0], rtol=1e-12)
    np.testing.assert_allclose((paths(x + 1e-5) - paths(x - 1e-5)) / 2e-5, paths.slope(x)[..., 0], atol=1e-6)
    again = fitted.sample_paths(3, prior=prior, random_state=2)
    np.testing.assert_array_equal(paths(x), again(x))


def test_paths_meet_slopes_and_values_that_were_seen():
    model = GaussianProcessRegressor(RBF(1.0), noise=0, mean=None, optimizer=None)
    model.fit([[0.0], [2.0]], [0.0, 1.0], slopes=([[0.0], [1.0]], 0, [1.0, -1.0]))
    paths = model.sample_paths(5, random_state=0)
    np.testing.assert_allclose(paths([[0.0], [2.0]]), np.tile([0.0, 1.0], (5, 1)), atol=1e-6)
    np.testing.assert_allclose(paths.slope([[0.0], [1.0]])[..., 0], np.tile([1.0, -1.0], (5, 1)), atol=1e-6)
    assert paths([[0.5]]).std() > 1e-3


def test_prior_paths_of_a_normal_mean():
    model = GaussianProcessRegressor(
        1e-6 * RBF(1.0), noise=0.1, mean="linear", mean_prior=cr.Normal(2.0, 3.0), optimizer=None
    ).fit([[0.0], [1.0]], [5.0, 6.0])
    paths = model.sample_paths(4000, prior=True, random_state=0)
    slopes = paths.slope([[0.0]]).ravel()
    # Standard errors 3/√4000 = 0.047 and 0.034: five of each.
    assert abs(slopes.mean() - 2.0) < 0.24
    assert abs(slopes.std() - 3.0) < 0.17


def test_refusals(fitted):
    with pytest.raises(ParameterError, match="n"):
        fitted.sample_paths(0)
    with pytest.raises(DataError, match="1 columns"):
        fitted.sample_paths(1)([[0.0, 1.0]])
    x, y = np.arange(4.0)[:, None], np.zeros(4)
    for kernel in (Polynomial(2, 1.0), RBF(1.0) + White(0.1)):
        model = GaussianProcessRegressor(kernel, noise=0.1, optimizer=None).fit(x, y)
        with pytest.raises(UnavailableError, match="random features"):
            model.sample_paths(1)
