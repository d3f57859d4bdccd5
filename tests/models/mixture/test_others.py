"""Mixtures of Student-t's, counts, categories and regressions: known answers, invariances, refusals."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import stats

import credo.saving
from credo.blocks import ArraySource
from credo.distributions import Gamma
from credo.errors import ConvergenceWarning, DataError, DataWarning, ParameterError
from credo.models.mixture import (
    CategoricalMixture,
    GaussianMixture,
    PoissonMixture,
    RegressionMixture,
    StudentTMixture,
)
from tests.models.mixture.samples import TYPES, clusters


def heavy(n=400, seed=0):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.standard_t(3, (n, 2)), 15 + rng.standard_t(3, (n, 2)) @ np.array([[1, 0.7], [0, 1]])])


@pytest.mark.parametrize("covariance_type", TYPES)
def test_student_s_density_and_rise(covariance_type):
    X = heavy()
    model = StudentTMixture(2, covariance_type=covariance_type, random_state=0, tol=1e-8, max_iter=2000).fit(X)
    d = X.shape[1]
    S = {
        "full": lambda k: model.covariances_[k],
        "tied": lambda k: model.covariances_,
        "diag": lambda k: np.diag(model.covariances_[k]),
        "spherical": lambda k: model.covariances_[k] * np.eye(d),
    }[covariance_type]
    exact = np.log(sum(
        w * stats.multivariate_t(m, S(k), nu).pdf(X)
        for k, (w, m, nu) in enumerate(zip(model.weights_, model.means_, model.df_, strict=True))
    ))  # fmt: skip
    np.testing.assert_allclose(model.score_samples(X), exact, rtol=1e-9)
    assert np.all(np.diff(model.lower_bounds_) > -1e-9)
    assert np.all((model.df_ > 1.5) & (model.df_ < 6.0))  # 3 each, from 400 rows


def test_student_s_learned_df_is_the_likelihood_s_best():
    X = heavy(200)
    model = StudentTMixture(2, random_state=0, tol=1e-13, max_iter=20_000).fit(X)
    best, df = model.score(X), model.df_
    for step in (0.95, 1.05):
        model.df_ = df * step
        assert model.score(X) < best


def test_student_with_many_degrees_of_freedom_is_normal():
    X = clusters(200, k=2)
    how = {"tol": 1e-10, "max_iter": 5000, "random_state": 0, "reg_covar": 0.0}
    t, normal = StudentTMixture(2, df=1e9, **how).fit(X), GaussianMixture(2, **how).fit(X)
    np.testing.assert_allclose(np.sort(t.means_, axis=0), np.sort(normal.means_, axis=0), atol=1e-4)
    assert t._n_parameters() == normal._n_parameters()


def test_student_resists_outliers_that_move_normals():
    X = np.concatenate([clusters(300, d=2, k=1), [[500.0, -400.0]]])
    t, normal = StudentTMixture(1).fit(X), GaussianMixture(1).fit(X)
    centre = np.median(X, axis=0)
    assert np.linalg.norm(t.means_[0] - centre) < 0.2 * np.linalg.norm(normal.means_[0] - centre)


def counts(n=300, seed=0):
    rng = np.random.default_rng(seed)
    return np.vstack([rng.poisson([1, 9, 0.2], (n, 3)), rng.poisson([8, 2, 3], (n // 2, 3))]).astype(float)


def test_poisson_s_density_stationarity_and_bic():
    X = counts()
    model = PoissonMixture(2, random_state=0, tol=1e-12, max_iter=5000).fit(X)

    def log_density(weights, rates):
        return np.log(sum(w * stats.poisson(r).pmf(X).prod(axis=1) for w, r in zip(weights, rates, strict=True)))

    np.testing.assert_allclose(model.score_samples(X), log_density(model.weights_, model.rates_), rtol=1e-10)
    best, rng = log_density(model.weights_, model.rates_).sum(), np.random.default_rng(0)
    for _ in range(20):
        assert log_density(model.weights_, model.rates_ * np.exp(1e-2 * rng.normal(size=(2, 3)))).sum() < best
    assert model.bic(X) == pytest.approx(-2 * best + 7 * np.log(len(X)))
    assert model.sample(5)[0].shape == (5, 3)


def test_poisson_s_invariances_and_prior():
    X = counts()
    weights = np.random.default_rng(0).integers(0, 3, len(X))
    one = PoissonMixture(1, tol=1e-12).fit(X, sample_weight=weights)
    np.testing.assert_allclose(one.rates_[0], np.average(X, axis=0, weights=weights), rtol=1e-12)
    holed = X.copy()
    holed[:40, 1] = np.nan
    np.testing.assert_allclose(PoissonMixture(1).fit(holed).rates_[0], np.nanmean(holed, axis=0), rtol=1e-12)
    belief = PoissonMixture(1, rate_prior=Gamma(shape=3.0, rate=2.0)).fit(X)
    np.testing.assert_allclose(belief.rates_[0], (X.sum(axis=0) + 2) / (len(X) + 2), rtol=1e-12)
    parts = PoissonMixture(2, random_state=0).fit(ArraySource(X, block_rows=17))
    np.testing.assert_allclose(parts.rates_, PoissonMixture(2, random_state=0).fit(X).rates_, rtol=1e-9)
    zero = X.copy()
    zero[:, 0] = 0.0
    assert np.all(np.isfinite(PoissonMixture(2, random_state=0).fit(zero).score_samples(X)))
    with pytest.raises(DataError, match="Negative values"):
        PoissonMixture(2).fit(-X)
    with pytest.raises(ParameterError, match="rate_prior"):
        PoissonMixture(2, rate_prior=Gamma(shape=0.5, rate=2.0)).fit(X)


def answers(n=600, seed=0):
    """Two classes, three questions: text, numbers, text."""
    rng = np.random.default_rng(seed)
    labels = rng.random(n) < 0.4
    X = np.empty((n, 3), dtype=object)
    X[:, 0] = np.where(rng.random(n) < np.where(labels, 0.9, 0.1), "yes", "no")
    X[:, 1] = np.where(rng.random(n) < np.where(labels, 0.8, 0.15), 1, 2)
    X[:, 2] = np.array(["a", "b", "c"])[np.where(rng.random(n) < np.where(labels, 0.7, 0.1), 0, rng.integers(1, 3, n))]
    return X, labels


def test_categorical_classes_and_density():
    X, labels = answers()
    model = CategoricalMixture(2, random_state=0, tol=1e-10, max_iter=5000).fit(X)
    assert [list(c) for c in model.categories_] == [["no", "yes"], [1.0, 2.0], ["a", "b", "c"]]
    for p in model.probabilities_:
        np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    first = model.predict(X) == model.predict(X)[np.flatnonzero(labels)[0]]
    assert max(np.mean(first == labels), np.mean(first != labels)) > 0.85
    by_hand = sum(
        w * p0[["no", "yes"].index(X[0, 0])] * p1[[1, 2].index(X[0, 1])] * p2["abc".index(X[0, 2])]
        for w, p0, p1, p2 in zip(model.weights_, *model.probabilities_, strict=True)
    )
    assert model.score_samples(X[:1])[0] == pytest.approx(np.log(by_hand), rel=1e-12)
    assert np.all(np.diff(model.lower_bounds_) > -1e-12)
    assert model._n_parameters() == 2 * (1 + 1 + 2) + 1
    assert set(model.sample(50)[0][:, 0]) <= {"yes", "no"}


def test_categorical_missing_unseen_and_prior(tmp_path):
    X, _ = answers()
    one = CategoricalMixture(1, concentration=2.0).fit(X)
    assert one.probabilities_[0][0, 1] == pytest.approx((np.sum(X[:, 0] == "yes") + 1) / (len(X) + 2))
    holed = X.copy()
    holed[::4, 0], holed[1::4, 1] = None, np.nan
    model = CategoricalMixture(2, random_state=0).fit(holed)
    blank = np.array([[None, np.nan, None]], dtype=object)
    np.testing.assert_allclose(model.predict_proba(blank)[0], model.weights_, rtol=1e-12)
    with pytest.warns(DataWarning, match="x0"):
        strange = model.predict_proba(np.array([["maybe", 1, "a"]], dtype=object))
    np.testing.assert_allclose(strange, model.predict_proba(np.array([[None, 1, "a"]], dtype=object)))
    credo.saving.save(model, tmp_path / "m.credo")
    np.testing.assert_array_equal(credo.saving.load(tmp_path / "m.credo").predict(X), model.predict(X))
    with pytest.raises(DataError, match="x1"):
        CategoricalMixture(2).fit(np.array([[1, np.nan], [2, np.nan], [1, np.nan]]))
    with pytest.raises(ParameterError, match="concentration"):
        CategoricalMixture(2, concentration=0.5).fit(X)


def lines(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X, up = rng.uniform(0, 10, (n, 2)), rng.random(n) < 0.6
    y = np.where(up, 2 * X[:, 0] - X[:, 1], 20 - X[:, 0]) + rng.normal(0, np.where(up, 0.3, 0.6))
    return X, y, up


def test_regressions_are_found():
    X, y, up = lines()
    model = RegressionMixture(2, random_state=0).fit(X, y)
    order = np.argsort(-model.coef_[:, 0])
    np.testing.assert_allclose(model.coef_[order], [[2, -1], [-1, 0]], atol=0.15)
    np.testing.assert_allclose(model.noise_scale_[order], [0.3, 0.6], rtol=0.2)
    shares = model.responsibilities(X, y)[:, order[0]]
    assert np.mean((shares > 0.5) == up) > 0.95
    p = model.predict_distribution(X[:4])
    np.testing.assert_allclose(p.mean, model.predict(X[:4]), rtol=1e-12)
    np.testing.assert_allclose(p.log_prob(y[:4]), model.log_prob(X[:4], y[:4]), rtol=1e-10)
    assert np.all(np.diff(model.lower_bounds_) > -1e-10)
    assert model.bic(X, y) < RegressionMixture(1).fit(X, y).bic(X, y)


def test_one_regression_is_least_squares_whatever_the_units():
    X, y, _ = lines()
    weights = np.random.default_rng(0).integers(0, 3, len(X))
    shifted = X * [1e4, 1e-3] + [1e6, 0]
    model = RegressionMixture(1).fit(shifted, y, sample_weight=weights)
    rows = np.column_stack([np.ones(len(X)), X])
    exact = np.linalg.lstsq(rows * np.sqrt(weights)[:, None], y * np.sqrt(weights), rcond=None)[0]
    np.testing.assert_allclose(model.coef_[0] * [1e4, 1e-3], exact[1:], rtol=1e-8)
    np.testing.assert_allclose(model.predict(shifted), rows @ exact, rtol=1e-8)
    collinear = np.column_stack([X, X[:, 0] - X[:, 1]])
    np.testing.assert_allclose(RegressionMixture(1).fit(collinear, y).predict(collinear),
                               RegressionMixture(1).fit(X, y).predict(X), rtol=1e-7)  # fmt: skip


def test_regressions_stream_warm_start_and_refuse():
    X, y, _ = lines()
    whole = RegressionMixture(2, random_state=0, warm_start=True).fit(X, y)
    parts = RegressionMixture(2, random_state=0).fit(ArraySource(X, y, block_rows=23))
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-7)
    assert whole.fit(X, y).n_iter_ <= 3
    with pytest.raises(DataError, match="carry y"):
        RegressionMixture(2).fit(ArraySource(X))
    with pytest.raises(ParameterError, match="one per row"):
        whole.responsibilities(X, y[:3])
    x = np.arange(12.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        with pytest.warns(DataWarning, match="exactly"):
            RegressionMixture(2, random_state=0).fit(x[:, None], np.abs(x - 5.5))


def test_categories_stream_with_missing_cells():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (400, 4)) + 5.0
    X[::7, 1] = np.nan
    X[:40, 2] = 9.0  # a category of the first blocks only
    whole = CategoricalMixture(2, random_state=0).fit(X)
    parts = CategoricalMixture(2, random_state=0).fit(ArraySource(X, block_rows=61, column_names=("a", "b", "c", "d")))
    assert parts.lower_bound_ == pytest.approx(whole.lower_bound_, rel=1e-12)
    assert [c.tolist() for c in parts.categories_] == [c.tolist() for c in whole.categories_]
    assert parts.feature_names_in_.tolist() == ["a", "b", "c", "d"]


def test_a_fit_that_did_not_converge_warns_in_both_languages():
    from sklearn.exceptions import ConvergenceWarning as Theirs

    X = clusters(200)
    for category in (ConvergenceWarning, Theirs):
        with pytest.warns(category, match="did not converge"):
            GaussianMixture(3, max_iter=1, tol=0.0, random_state=0).fit(X)
