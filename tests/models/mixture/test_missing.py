"""Missing cells: the likelihood is the marginal one, EM climbs it, and what is predicted is the conditional mean."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from credo.blocks import ArraySource
from credo.errors import ConvergenceWarning
from credo.models.mixture import BayesianGaussianMixture, GaussianMixture, StudentTMixture
from tests.models.mixture.samples import TYPES, clusters, log_density, matrices, start, with_holes


@pytest.mark.parametrize("covariance_type", TYPES)
def test_the_likelihood_is_the_brute_force_marginal_one(covariance_type):
    X = with_holes(clusters(90))
    how = {**start(X, 3, covariance_type), "reg_covar": 0.0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        models = [GaussianMixture(3, max_iter=steps, tol=0.0, **how).fit(X) for steps in (1, 2, 6)]
    for before, after in pairwise(models):
        if after.n_iter_ == before.n_iter_ + 1:  # its bound was computed at these parameters
            assert after.lower_bound_ == pytest.approx(log_density(before, X).mean(), rel=1e-11)
    scores = [log_density(model, X).mean() for model in models]
    assert scores == sorted(scores)
    np.testing.assert_allclose(models[-1].score_samples(X), log_density(models[-1], X), rtol=1e-9)


@pytest.mark.parametrize("covariance_type", TYPES)
def test_em_ends_where_the_marginal_likelihood_is_highest(covariance_type):
    X = with_holes(clusters(60, d=2, k=2), 0.3)
    model = GaussianMixture(
        2, covariance_type=covariance_type, reg_covar=0.0, tol=1e-12, max_iter=20_000, random_state=0
    ).fit(X)
    mean, covariance, best = model.means_, model.covariances_, log_density(model, X).sum()
    rng = np.random.default_rng(0)
    for _ in range(20):
        model.means_ = mean + 1e-3 * rng.normal(size=mean.shape)
        noise = rng.normal(size=covariance.shape)
        noise = noise + noise.swapaxes(-1, -2) if covariance_type in ("full", "tied") else noise
        model.covariances_ = covariance + 1e-3 * noise
        assert log_density(model, X).sum() < best + 1e-7


@pytest.mark.parametrize("covariance_type", TYPES)
def test_no_hole_is_the_ordinary_fit(covariance_type):
    """The observed-data E-step on whole rows gives the moments of the other."""
    from credo.models.mixture.expectation import expected_moments
    from credo.models.mixture.missing import expected_moments_observed

    X = clusters(100)
    g = GaussianMixture(3, **start(X, 3, covariance_type)).fit(X)._components().gaussians
    columns = np.ascontiguousarray(X.T)
    whole, holed = expected_moments(columns, None, g), expected_moments_observed(columns, None, g)
    assert holed.log_likelihood == pytest.approx(whole.log_likelihood, rel=1e-11)
    np.testing.assert_allclose(holed.weight, whole.weight, rtol=1e-9)
    np.testing.assert_allclose(holed.mean, whole.mean, rtol=1e-9)
    np.testing.assert_allclose(holed.scatter, whole.scatter, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("covariance_type", TYPES)
def test_imputed_cells_are_conditional_means(covariance_type):
    X = with_holes(clusters(40), 0.3)
    model = GaussianMixture(2, covariance_type=covariance_type, random_state=0).fit(X)
    filled, shares = model.impute(X), model.predict_proba(X)
    np.testing.assert_array_equal(filled[~np.isnan(X)], X[~np.isnan(X)])
    for i in range(len(X)):
        o, m = np.flatnonzero(~np.isnan(X[i])), np.flatnonzero(np.isnan(X[i]))
        expected = sum(
            share * (mu[m] + S[np.ix_(m, o)] @ np.linalg.solve(S[np.ix_(o, o)], X[i, o] - mu[o]))
            for share, mu, S in zip(shares[i], model.means_, matrices(model), strict=True)
        )
        np.testing.assert_allclose(filled[i, m], expected, rtol=1e-8)


def test_partitions_empty_rows_and_weights():
    X = with_holes(clusters(200))
    X[5] = np.nan
    counts = np.random.default_rng(0).integers(0, 3, len(X))
    how = {**start(X, 2, "full"), "tol": 1e-6, "max_iter": 500}
    whole = GaussianMixture(2, **how).fit(X, sample_weight=counts)
    repeated = GaussianMixture(2, **how).fit(np.repeat(X, counts, axis=0))
    np.testing.assert_allclose(whole.means_, repeated.means_, rtol=1e-9)
    parts = GaussianMixture(2, **how).fit(ArraySource(X, sample_weight=counts, block_rows=11))
    np.testing.assert_allclose(parts.covariances_, whole.covariances_, rtol=1e-9, atol=1e-11)
    assert whole.score_samples(X)[5] == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(whole.predict_proba(X)[5], whole.weights_, rtol=1e-12)


@pytest.mark.parametrize("covariance_type", TYPES)
def test_variational_bayes_takes_holes_too(covariance_type):
    X = with_holes(clusters(120))
    model = BayesianGaussianMixture(n_components=4, covariance_type=covariance_type, random_state=0, max_iter=2000).fit(
        X
    )
    assert np.all(np.diff(model.lower_bounds_) > -1e-6)
    assert np.all(np.isfinite(model.score_samples(X)))
    assert not np.isnan(model.impute(X)).any()


@pytest.mark.parametrize("covariance_type", TYPES)
def test_student_s_likelihood_of_the_observed_cells_and_its_stationarity(covariance_type):
    X = with_holes(clusters(200, k=2), 0.25)
    model = StudentTMixture(
        2, df=4.0, covariance_type=covariance_type, reg_covar=0.0, tol=1e-11, max_iter=20_000, random_state=0
    ).fit(X)
    assert np.all(np.diff(model.lower_bounds_) > -1e-9)

    def log_p(means):
        total = []
        for x in X:
            seen = ~np.isnan(x)
            cut = np.ix_(seen, seen)
            total.append(np.log(sum(
                w * stats.multivariate_t(m[seen], S[cut], df=nu).pdf(x[seen])
                for w, m, S, nu in zip(model.weights_, means, matrices(model), model.df_, strict=True)
            )))  # fmt: skip
        return np.array(total)

    np.testing.assert_allclose(model.score_samples(X), log_p(model.means_), rtol=1e-8)
    best = log_p(model.means_).sum()
    rng = np.random.default_rng(0)
    for _ in range(6):
        assert log_p(model.means_ + 0.02 * rng.standard_normal(model.means_.shape)).sum() < best


def test_student_with_many_degrees_of_freedom_completes_as_a_normal_does():
    X = with_holes(clusters(300, k=2))
    how = {"n_components": 2, "random_state": 0, "tol": 1e-10, "max_iter": 5000}
    normal, student = GaussianMixture(**how).fit(X), StudentTMixture(**how, df=1e8).fit(X)
    order = [np.argsort(m.means_[:, 0]) for m in (normal, student)]
    np.testing.assert_allclose(student.means_[order[1]], normal.means_[order[0]], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(student.impute(X), normal.impute(X), rtol=1e-3, atol=1e-3)
