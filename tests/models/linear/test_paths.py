"""Regularisation paths and the dictionary between penalties and priors."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
import sklearn.linear_model as peers
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes

import credo as cr
from credo.distributions import Laplace, Normal
from credo.distributions.elastic_net import ElasticNet
from credo.errors import DataError, ParameterError, UnavailableError
from credo.models.linear import penalties
from credo.models.linear.paths import elastic_net_path, lasso_path, ridge_path


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True)


# -- paths ---------------------------------------------------------------------------------------------------------


def test_ridge_path_is_scikit_learns_ridge(diabetes):
    X, y = diabetes
    path = ridge_path(X, y, [1.0, 0.1, 0.0])
    for penalty, coef, intercept in zip(path.penalties, path.coefs, path.intercepts, strict=True):
        peer = peers.Ridge(alpha=penalty).fit(X, y)
        np.testing.assert_allclose(coef, peer.coef_, rtol=1e-7)
        assert intercept == pytest.approx(peer.intercept_)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("l1_ratio", [1.0, 0.4])
@pytest.mark.parametrize("sparse", [True, False])
def test_paths_are_scikit_learns(diabetes, l1_ratio, fit_intercept, sparse):
    X, y = diabetes
    X = scipy.sparse.csc_array(X) if sparse else X
    path = elastic_net_path(X, y, l1_ratio, n_alphas=7, tol=1e-12, fit_intercept=fit_intercept)
    for alpha, coef, intercept in zip(path.alphas, path.coefs, path.intercepts, strict=True):
        peer = peers.ElasticNet(alpha=alpha, l1_ratio=l1_ratio, tol=1e-12, max_iter=10**6, fit_intercept=fit_intercept)
        peer.fit(diabetes[0], y)
        np.testing.assert_allclose(coef, peer.coef_, rtol=1e-4, atol=1e-3)
        assert intercept == pytest.approx(peer.intercept_, rel=1e-6)
    assert path.gaps.max() <= 1e-12
    assert not path.coefs[0].any()


def test_standardising_is_rescaling_the_columns(diabetes):
    X, y = diabetes
    X = X * np.geomspace(1e-3, 1e3, X.shape[1])
    sd = X.std(axis=0)
    for make in (ridge_path, lasso_path):
        grid = [3.0, 0.3]
        scaled = make(X / sd, y, grid)
        path = make(X, y, grid, standardize=True)
        np.testing.assert_allclose(path.coefs * sd, scaled.coefs, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(path.df, scaled.df, rtol=1e-6)
        np.testing.assert_allclose(path.rss, np.square(path.predict(X) - y).sum(axis=1), rtol=1e-9)


def test_degrees_of_freedom_are_the_trace_of_the_fit(diabetes):
    X, y = diabetes
    Xc = X - X.mean(axis=0)
    path = ridge_path(X, y, [0.5])
    hat = Xc @ np.linalg.solve(Xc.T @ Xc + 0.5 * np.eye(10), Xc.T)
    assert path.df[0] == pytest.approx(np.trace(hat))
    net = elastic_net_path(X, y, 0.5, [0.01], df=True)
    A = Xc[:, net.coefs[0] != 0]
    hat = A @ np.linalg.solve(A.T @ A + 442 * 0.005 * np.eye(A.shape[1]), A.T)
    assert net.df[0] == pytest.approx(np.trace(hat))
    assert lasso_path(X, y, [0.5]).df[0] == np.count_nonzero(lasso_path(X, y, [0.5]).coefs)
    wide = np.random.default_rng(0).normal(size=(10, 40))
    target = wide[:, 0] + wide[:, 1]
    dense, sparse = (
        elastic_net_path(x, target, 0.1, [0.1], tol=1e-13, df=True) for x in (wide, scipy.sparse.csc_array(wide))
    )
    assert dense.df[0] == pytest.approx(sparse.df[0])


def test_a_mode_of_the_path_is_the_mode_under_its_prior(diabetes):
    X, y = diabetes
    path = ridge_path(X, y, standardize=True)
    model = cr.LinearRegression(prior=path.prior(50, 54.0), noise=cr.noise.Normal(54.0)).fit(X, y)
    np.testing.assert_allclose(model.coef_, path.coefs[50], rtol=1e-8)
    net = elastic_net_path(X, y, 0.5, [0.1], standardize=True, tol=1e-12)
    prior = net.prior(0, 54.0)
    assert isinstance(prior, ElasticNet)
    w = net.coefs[0]
    step = 1e-4 * np.abs(w).max()

    def log_joint(w):
        r = y - net.intercepts[0] - X @ w
        return -0.5 * r @ r / 54.0**2 + np.sum(prior.log_prob(w))

    rng = np.random.default_rng(0)
    assert all(log_joint(w) >= log_joint(w + step * rng.normal(size=10)) for _ in range(100))


def test_information_criteria_and_cross_validation(diabetes):
    X, y = diabetes
    path = lasso_path(X, y)
    assert np.all(np.diff(path.rss) <= 1e-6 * path.rss[0])
    chosen = path.bic().argmin()
    assert 0 < path.df[chosen] <= path.df[path.aic().argmin()]
    np.testing.assert_allclose(path.aic(54.0), path.rss / 54.0**2 + 2 * (path.df + 1))
    cv = path.cross_validate(X, y)
    assert cv.simplest <= cv.best
    assert cv.errors.shape == (10, 100)
    again = path.cross_validate(X, y)
    np.testing.assert_array_equal(cv.errors, again.errors)
    halves = [(np.arange(221), np.arange(221, 442)), (np.arange(221, 442), np.arange(221))]
    assert ridge_path(X, y, [1.0, 0.1]).cross_validate(X, y, halves).errors.shape == (2, 2)
    # A lasso near BIC's choice: leaving rows out costs little.
    assert cv.mean[cv.best] < 1.1 * path.rss[-1] / 442


def test_save_and_load(tmp_path, diabetes):
    path = lasso_path(*diabetes, n_alphas=5)
    cr.save(path, tmp_path / "path.credo")
    np.testing.assert_array_equal(cr.load(tmp_path / "path.credo").coefs, path.coefs)


def test_refusals_are_named(diabetes):
    X, y = diabetes
    for bad in ({"alphas": [0.0]}, {"alphas": []}, {"alphas": [np.nan]}, {"eps": 0.0}, {"n_alphas": 0}):
        with pytest.raises(ParameterError):
            lasso_path(X, y, **bad)
    with pytest.raises(ParameterError, match="ridge_path"):
        elastic_net_path(X, y, 0.0)
    with pytest.raises(DataError, match="constant"):
        lasso_path(X, np.ones(442))
    with pytest.raises(ParameterError):
        ridge_path(X, y, [-1.0])
    with pytest.raises(ParameterError, match="noise_scale"):
        ridge_path(X[:5], y[:5], [0.0]).aic()
    with pytest.raises(UnavailableError, match="df=True"):
        elastic_net_path(X, y).bic()
    with pytest.raises(ParameterError, match="cv"):
        lasso_path(X, y, [1.0]).cross_validate(X, y, 1)


def test_a_large_mean_costs_the_lasso_no_digits(diabetes):
    X, y = diabetes
    near, far = (lasso_path(X + shift, y, [0.1], tol=1e-10).coefs for shift in (0.0, 1e6))
    np.testing.assert_allclose(far, near, rtol=1e-4, atol=1e-2)


# -- dictionary ----------------------------------------------------------------------------------------------------

POSITIVE = st.floats(1e-6, 1e6)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(POSITIVE, POSITIVE, st.integers(1, 10**6), st.floats(0.0, 1.0))
def test_dictionary_round_trips(penalty, sigma, n, share):
    assert penalties.prior_to_ridge(penalties.ridge_to_prior(penalty, sigma), sigma) == pytest.approx(penalty)
    assert penalties.prior_to_lasso(penalties.lasso_to_prior(penalty, n, sigma), n, sigma) == pytest.approx(penalty)
    if share in (0.0, 1.0) or 1e-6 < share < 1.0 - 1e-6:
        prior = penalties.elastic_net_to_prior(penalty, share, n, sigma)
        alpha, again = penalties.prior_to_elastic_net(prior, n, sigma)
        assert alpha == pytest.approx(penalty)
        assert again == pytest.approx(share, abs=1e-9)


def test_dictionary_matches_scikit_learn(diabetes):
    """2nα = 2σ²/b (MATHS §3), and λ = σ²/sd²."""
    assert penalties.lasso_to_prior(1.0, 1000) == Laplace(0.0, 0.001)
    assert penalties.prior_to_ridge(Normal(0, 1000**-0.5)) == pytest.approx(1000.0)


def test_noise_on_inputs_is_ridge():
    """E‖y − (X + N)w‖² = ‖y − Xw‖² + n s²‖w‖², exactly: here N takes all ± s, each equally often."""
    rng = np.random.default_rng(0)
    X, y, s = rng.normal(size=(4, 2)), rng.normal(size=4), np.array([0.3, 0.7])
    signs = (np.indices((2,) * 8).reshape(8, -1).T * 2 - 1).reshape(-1, 4, 2)
    noisy = X + s * signs
    gram = np.mean([x.T @ x for x in noisy], axis=0)
    w = np.linalg.solve(gram, np.mean([x.T @ y for x in noisy], axis=0))
    ridge = penalties.input_noise_to_ridge(s, 4)
    np.testing.assert_allclose(w, np.linalg.solve(X.T @ X + np.diag(ridge), X.T @ y), rtol=1e-12)
    prior = penalties.ridge_to_prior(ridge)
    model = cr.LinearRegression(prior=prior, noise=cr.noise.Normal(1.0), fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.coef_, w, rtol=1e-10)


@pytest.mark.parametrize(
    "call",
    [
        lambda: penalties.ridge_to_prior(0.0),
        lambda: penalties.lasso_to_prior(1.0, 10, noise_scale=-1.0),
        lambda: penalties.elastic_net_to_prior(1.0, 1.5, 10),
        lambda: penalties.prior_to_ridge(Normal(1.0, 1.0)),
        lambda: penalties.prior_to_lasso(Normal(0.0, 1.0), 10),
        lambda: penalties.prior_to_elastic_net(cr.Cauchy(0.0, 1.0), 10),
        lambda: penalties.input_noise_to_ridge(-1.0, 10),
    ],
)
def test_dictionary_refusals_are_named(call):
    with pytest.raises(ParameterError):
        call()


# -- optimality ------------------------------------------------------------------------------------------------------


def kkt_residual(X, y, path):
    """Largest violation of the lasso's conditions over a path, relative to the largest penalty."""
    slope = (X.T @ (y[:, None] - X @ path.coefs.T - path.intercepts)).T / y.size
    alphas = path.alphas[:, None]
    inside = np.maximum(np.abs(slope) - alphas, 0.0)
    return np.where(path.coefs != 0.0, np.abs(slope - alphas * np.sign(path.coefs)), inside).max() / alphas.max()


@pytest.mark.parametrize("sparse", [True, False])
def test_optimality_of_the_collinear_table(sparse):
    legacy = np.random.RandomState(1)
    z = legacy.normal(0.0, 1.0, 1000)
    X = np.column_stack([z + legacy.normal(0.0, 0.1, 1000) for _ in range(3)])
    y = X.sum(axis=1) + legacy.normal(0.0, 1.0, 1000)
    path = lasso_path(scipy.sparse.csr_array(X) if sparse else X, y, [1.0, 1e-2, 1e-4], tol=1e-14)
    np.testing.assert_allclose(path.coefs[0], [0.90393659, 0.0, 1.01617857], atol=1e-8)
    assert kkt_residual(X, y, path) <= 1e-8


@pytest.mark.parametrize("seed", range(3))
def test_optimality_where_sparse_columns_outnumber_rows(seed):
    """Down to where nearly every row is fitted, which sweeps alone need thousands of passes for."""
    rng = np.random.default_rng(seed)
    X = scipy.sparse.random_array((60, 900), density=0.05, rng=rng, format="csr", data_sampler=rng.standard_normal)
    y = X[:, :8].sum(axis=1) + 0.5 * rng.standard_normal(60)
    path = lasso_path(X, y, n_alphas=12, tol=1e-12)
    assert path.df is not None
    assert path.df[-1] >= 50
    assert kkt_residual(X, y, path) <= 1e-8
