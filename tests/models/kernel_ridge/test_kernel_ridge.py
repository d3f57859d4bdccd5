"""Kernel ridge: its primal form, scikit-learn's mean, dense Gaussian algebra, coverage of what can be refused."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from sklearn.kernel_ridge import KernelRidge as Peer
from sklearn.utils.estimator_checks import parametrize_with_checks

import credo as cr
from credo.errors import NotIdentifiedError, ParameterError
from credo.kernels import RBF, Linear, Matern, White
from credo.models.kernel_ridge import KernelRidge


# Its tables of copied rows leave σ unidentified, which is warned of: tests/inference/exact/test_propriety.py.
@pytest.mark.filterwarnings("ignore:.*(not identified|fit the rows exactly):credo.errors.DataWarning")
@parametrize_with_checks(
    [KernelRidge(), KernelRidge("linear"), KernelRidge(Matern(1.0), alpha=0.1), KernelRidge(noise=cr.noise.Normal(0.5))]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def table(n=40, d=3, targets=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    shape = (n,) if targets is None else (n, targets)
    return (
        X,
        (X[:, :1] @ np.ones((1, shape[-1] if targets else 1))).reshape(shape) * 2.0 + 3.0 + rng.normal(size=shape),
        rng,
    )


@pytest.mark.parametrize("inference", ["auto", "evidence"])
@pytest.mark.parametrize("noise", [None, cr.noise.Normal(1.3)])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("targets", [None, 2])
def test_linear_kernel_is_linear_regression(inference, noise, intercept, targets):
    X, y, rng = table(targets=targets)
    new = rng.normal(size=(7, 3))
    primal = cr.LinearRegression(prior=cr.Normal(0, None), noise=noise, inference=inference, fit_intercept=intercept)
    primal.fit(X, y)
    dual = KernelRidge(Linear(), noise=noise, inference=inference, fit_intercept=intercept).fit(X, y)
    p, q = primal.predict_distribution(new), dual.predict_distribution(new)
    np.testing.assert_allclose(q.mean, p.mean, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(q.epistemic, p.epistemic, rtol=1e-9)
    np.testing.assert_allclose(q.aleatoric, p.aleatoric, rtol=1e-9)
    np.testing.assert_allclose(q.quantile(0.9), p.quantile(0.9), rtol=1e-9)
    np.testing.assert_allclose(dual.predict(new), q.mean, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(X.T @ dual.dual_coef_, primal.coef_.T, rtol=1e-9, atol=1e-9)
    assert dual.log_evidence_ == pytest.approx(primal.log_evidence_, rel=1e-10)
    np.testing.assert_allclose(dual.noise_scale_, primal.noise_scale_, rtol=1e-9)


def test_linear_kernel_with_a_stated_ratio_is_ridge():
    X, y, rng = table()
    primal = cr.LinearRegression(prior=cr.Normal(0, 0.5), noise=cr.noise.Normal(1.3)).fit(X, y)
    dual = KernelRidge("linear", alpha=1.3**2 / 0.5**2, noise=cr.noise.Normal(1.3)).fit(X, y)
    new = rng.normal(size=(5, 3))
    np.testing.assert_allclose(dual.predict(new), primal.predict(new), rtol=1e-10)
    np.testing.assert_allclose(dual.predict_distribution(new).sd, primal.predict_distribution(new).sd, rtol=1e-10)
    assert dual.log_evidence_ == pytest.approx(primal.log_evidence_, rel=1e-10)


@pytest.mark.parametrize(
    "named",
    [
        {"kernel": "rbf", "gamma": 0.3},
        {"kernel": "polynomial", "gamma": 0.3, "degree": 2, "coef0": 0.7},
        {"kernel": "linear"},
    ],
)
def test_mean_without_intercept_is_scikit_learns(named):
    X, y, rng = table()
    peer = Peer(alpha=0.7, **named).fit(X, y)
    ours = KernelRidge(alpha=0.7, fit_intercept=False, **named).fit(X, y)
    new = rng.normal(size=(5, 3))
    np.testing.assert_allclose(ours.predict(new), peer.predict(new), rtol=1e-8)
    if named["kernel"] == "rbf":  # others have fewer dimensions than rows: coefficients are not unique
        np.testing.assert_allclose(ours.dual_coef_, peer.dual_coef_, rtol=1e-6, atol=1e-8)
    assert ours.alpha_ == 0.7


def test_evidence_and_predictions_against_dense_gaussians():
    """y ~ N(0, σ² K/α + σ² I + s² 11ᵀ) as s → ∞, by the definitions."""
    X, y, rng = table(15, 2)
    new, alpha, sigma, s2 = rng.normal(size=(4, 2)), 0.4, 0.8, 1e8
    kernel = RBF(0.9)
    model = KernelRidge(kernel, alpha=alpha, noise=cr.noise.Normal(sigma)).fit(X, y)
    C = sigma**2 * (kernel(X) / alpha + np.eye(15)) + s2
    k = sigma**2 * kernel(new, X) / alpha + s2
    p = model.predict_distribution(new)
    np.testing.assert_allclose(p.mean, k @ np.linalg.solve(C, y), rtol=1e-5)
    variance = sigma**2 / alpha + s2 - np.einsum("ni,in->n", k, np.linalg.solve(C, k.T))
    np.testing.assert_allclose(p.epistemic, variance, rtol=1e-5)
    dense = scipy.stats.multivariate_normal(np.zeros(15), C).logpdf(y) + 0.5 * np.log(2 * np.pi * s2)
    assert model.log_evidence_ == pytest.approx(dense, rel=1e-6)


def test_weights_count_rows():
    X, y, rng = table(20, 2, targets=2)
    counts = rng.integers(0, 4, 20)
    # The ratio is stated: rows repeated with the same y are evidence of no noise at all.
    weighted = KernelRidge(RBF(1.0), alpha=0.5).fit(X, y, sample_weight=counts)
    repeated = KernelRidge(RBF(1.0), alpha=0.5).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts, axis=0))
    new = rng.normal(size=(5, 2))
    p, q = weighted.predict_distribution(new), repeated.predict_distribution(new)
    np.testing.assert_allclose(p.mean, q.mean, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(p.sd, q.sd, rtol=1e-8)
    np.testing.assert_allclose(weighted.predict(new), p.mean, rtol=1e-8, atol=1e-8)
    assert weighted.log_evidence_ == pytest.approx(repeated.log_evidence_, rel=1e-9)


def test_units_of_y_and_x_do_not_matter_to_the_default():
    X, y, rng = table()
    new = rng.normal(size=(5, 3))
    p = KernelRidge().fit(X, y).predict_distribution(new)
    for unit in (1e-12, 1e12):
        q = KernelRidge().fit(X * unit, y * unit).predict_distribution(new * unit)
        np.testing.assert_allclose(q.mean, p.mean * unit, rtol=1e-7)
        np.testing.assert_allclose(q.sd, p.sd * unit, rtol=1e-7)


def test_far_from_the_rows_belief_returns_to_the_prior():
    X, y, _ = table()
    model = KernelRidge(RBF(0.5), noise=cr.noise.Normal(1.0), alpha=0.5).fit(X, y)
    p = model.predict_distribution(np.full((1, 3), 50.0))
    assert p.epistemic[0] > 1.0 / 0.5
    assert p.mean[0] == pytest.approx(model.intercept_)


def test_belief_about_the_curve_alone():
    X, y, _ = table()
    model = KernelRidge(noise=cr.noise.Normal(1.0)).fit(X, y)
    assert np.all(model.predict_distribution(X[:2], noise_scale=0.0).aleatoric == 0.0)
    with pytest.raises(ParameterError, match="learned"):
        KernelRidge().fit(X, y).predict_distribution(X[:2], noise_scale=0.0)


def test_duplicates_constant_columns_and_white_kernels():
    X, y, _ = table(20)
    X[:, 2] = 1.0
    X[5:10] = X[4]
    p = KernelRidge(RBF(1.0) + White(0.1)).fit(X, y).predict_distribution(X)
    assert np.all(np.isfinite(p.sd))
    assert np.all(np.isfinite(KernelRidge().fit(np.ones((5, 2)), y[:5]).predict_distribution(X[:, :2]).sd))


def test_one_row():
    with pytest.raises(NotIdentifiedError, match="n_samples=1"):
        KernelRidge().fit([[1.0]], [2.0])
    p = KernelRidge(noise=cr.noise.Normal(1.0), alpha=1.0).fit([[1.0]], [2.0]).predict_distribution([[1.0]])
    assert p.mean[0] == pytest.approx(2.0)


def test_save_and_load(tmp_path):
    X, y, _ = table()
    model = KernelRidge(2.0 * RBF([1.0, 2.0, 3.0])).fit(X, y)
    cr.save(model, tmp_path / "model.credo")
    again = cr.load(tmp_path / "model.credo")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.predict_distribution(X).sd, model.predict_distribution(X).sd)


@pytest.mark.parametrize(
    "bad",
    [
        {"kernel": "sigmoid"}, {"alpha": 0.0}, {"alpha": np.nan}, {"gamma": -1.0}, {"inference": "nuts"},
        {"noise": 3.0}, {"noise": cr.noise.Normal(np.ones(40))}, {"kernel": "polynomial", "coef0": 0.0},
        {"kernel": "polynomial", "degree": 0},
    ],
)  # fmt: skip
def test_refusals_are_named(bad):
    X, y, _ = table()
    with pytest.raises(ParameterError):
        KernelRidge(**bad).fit(X, y)
