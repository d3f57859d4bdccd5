"""Linear and quadratic discriminants: boundaries, shrinkage, posteriors, missing cells, streaming, drawing."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.discriminant_analysis as peer
from scipy.special import entr, logsumexp
from sklearn.base import clone
from sklearn.covariance import ledoit_wolf
from sklearn.datasets import load_iris

import credo as cr
from credo.distributions import MultivariateNormal, MultivariateStudentT, NormalInverseWishart
from credo.errors import DataError, DataWarning, ParameterError
from credo.models.discriminant import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
    SingularCovarianceError,
)

X, Y = load_iris(return_X_y=True)
rng = np.random.default_rng(0)
BOTH = [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis]


@pytest.mark.parametrize("solver", ["svd", "lsqr", "eigen"])
def test_iris_as_scikit_learn(solver):
    ours = LinearDiscriminantAnalysis(solver=solver).fit(X, Y)
    theirs = peer.LinearDiscriminantAnalysis(solver=solver).fit(X, Y)
    assert ours.score(X, Y) == pytest.approx(0.98)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-9)
    apart = theirs.coef_ - theirs.coef_.mean(axis=0)  # ours are about the mean of all rows, whatever the solver
    np.testing.assert_allclose(ours.coef_ - ours.coef_.mean(axis=0), apart, rtol=1e-7)
    assert QuadraticDiscriminantAnalysis().fit(X, Y).score(X, Y) == pytest.approx(0.98)
    if solver != "lsqr":
        np.testing.assert_allclose(np.abs(ours.transform(X)), np.abs(theirs.transform(X)), atol=1e-8)


def test_shared_diagonal_has_the_linear_boundary_of_the_formula():
    """w_j = (μ₊ − μ₋)/σ_j², w₀ = log(p₊/(1 − p₊)) + Σ (μ₋² − μ₊²)/(2 σ_j²)."""
    x, y = X[:130], (Y[:130] > 0).astype(int)
    model = LinearDiscriminantAnalysis(covariance_type="diag").fit(x, y)
    low, high = x[y == 0].mean(axis=0), x[y == 1].mean(axis=0)
    variance = (((x[y == 0] - low) ** 2).sum(axis=0) + ((x[y == 1] - high) ** 2).sum(axis=0)) / len(x)
    p = y.mean()
    np.testing.assert_allclose(model.covariance_ if hasattr(model, "covariance_") else variance, variance)
    np.testing.assert_allclose(model.coef_[0], (high - low) / variance)
    np.testing.assert_allclose(model.intercept_[0], np.log(p / (1 - p)) + np.sum((low**2 - high**2) / (2 * variance)))


@pytest.mark.parametrize("cls", BOTH)
def test_density_and_boundary_say_the_same(cls):
    model = cls().fit(X, Y)
    joint = model.predict_joint_log_proba(X)
    np.testing.assert_allclose(np.exp(joint - logsumexp(joint, axis=1)[:, None]), model.predict_proba(X), atol=1e-10)
    sigma = sum(np.cov(X[c == Y].T, bias=True) for c in range(3)) / 3
    if cls is LinearDiscriminantAnalysis:
        law = MultivariateNormal(X[Y == 1].mean(axis=0), sigma)
        np.testing.assert_allclose(model.log_prob(X, 1), np.log(1 / 3) + law.log_prob(X), rtol=1e-9)


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("options", [{}, {"covariance_type": "diag"}, {"prior": "auto"}])
def test_missing_cells_equal_quadrature(cls, options):
    """p(y, x₁) = ∫∫ p(y, x₁, x₂) dx₂ for Normals: by the marginal, against a fine sum over x₂."""
    x2 = X[:, :2]
    model = cls(**options).fit(x2, Y)
    grid = np.linspace(-2, 9, 4001)
    full = np.exp(model.predict_joint_log_proba(np.column_stack([np.full(4001, 5.5), grid])))
    part = np.exp(model.predict_joint_log_proba([[5.5, np.nan]]))[0]
    np.testing.assert_allclose(part, full.sum(axis=0) * (grid[1] - grid[0]), rtol=1e-6)
    np.testing.assert_allclose(model.predict_proba([[np.nan, np.nan]])[0], 1 / 3)


@pytest.mark.parametrize("cls", BOTH)
def test_predictive_is_multivariate_student_t(cls):
    prior = NormalInverseWishart([5.0, 3.0], 0.5, 4.0, np.eye(2))
    x = X[:, :2]
    model = cls(prior=prior, priors=[1 / 3] * 3, solver="svd").fit(x, Y)
    laws = []
    if cls is QuadraticDiscriminantAnalysis:
        posteriors = []
        for c in range(3):
            own = x[c == Y]
            posteriors.append(prior.update(50, own.mean(axis=0), np.cov(own.T, bias=True) * 50))
        for q in posteriors:
            df = q.df - 1
            laws.append(MultivariateStudentT(df, q.mean, q.scale_matrix * (1 + 1 / q.kappa) / df))
        np.testing.assert_allclose(model.means_[0], posteriors[0].mean)
        expected = np.stack([law.log_prob(x[::10]) for law in laws], axis=1)
        expected = np.exp(expected - logsumexp(expected, axis=1)[:, None])
        np.testing.assert_allclose(model.predict_distribution(x[::10]).probabilities, expected, rtol=1e-9)
    p = model.predict_distribution(x[::10])
    assert np.all(p.epistemic >= 0.0)


@pytest.mark.parametrize("cls", BOTH)
def test_the_epistemic_part_shrinks_as_one_over_n(cls):
    """Rows repeated 16 times: 16 times less, within 20 % (128 draws of the parameters, and second order)."""
    draws = np.random.default_rng(1)
    y = np.repeat([0, 1], 60)
    x = draws.normal(0.7 * y[:, None], 1.0, (120, 2))
    few = cls().fit(x, y).predict_distribution(x).epistemic.mean()
    many = cls().fit(np.tile(x, (16, 1)), np.tile(y, 16)).predict_distribution(x).epistemic.mean()
    assert few / many == pytest.approx(16.0, rel=0.2)


def test_split_of_the_entropy_agrees_with_many_draws():
    draws = np.random.default_rng(3)
    y = np.repeat([0, 1], 15)
    x = draws.normal(y[:, None], 1.0, (30, 2))
    model = QuadraticDiscriminantAnalysis().fit(x, y)
    evidence, entropy = [], []
    for _ in range(800):
        joint = model._drawn_joint(x[::5], draws)
        evidence.append(logsumexp(joint, axis=1))
        entropy.append(entr(np.exp(joint - evidence[-1][:, None])).sum(axis=1))
    weight = np.exp(np.array(evidence) - np.max(evidence, axis=0))
    expected = (weight * np.array(entropy)).sum(axis=0) / weight.sum(axis=0)
    p = model.predict_distribution(x[::5])
    # 128 draws: four standard errors of the epistemic part, and the error of the 800 draws here
    np.testing.assert_allclose(p.epistemic, p.entropy - expected, rtol=0.5, atol=0.02)


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("options", [{}, {"covariance_type": "diag"}, {"prior": "auto"}])
def test_batches_and_weights(cls, options):
    whole = cls(**options).fit(X, Y)
    parts = cls(**options)
    order = np.random.default_rng(0).permutation(150)
    if cls is LinearDiscriminantAnalysis or options.get("prior"):
        for rows in (order[:75], order[75:]):
            parts.partial_fit(X[rows], Y[rows], classes=[0, 1, 2])
        np.testing.assert_allclose(parts.predict_proba(X), whole.predict_proba(X), atol=1e-10)
    w = np.random.default_rng(1).integers(1, 3, 150)
    weighted, repeated = (
        clone(whole).fit(X, Y, sample_weight=w),
        clone(whole).fit(np.repeat(X, w, axis=0), np.repeat(Y, w)),
    )
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-10)


def test_ledoit_wolf_is_scikit_learns_on_columns_of_unit_sd():
    x = rng.normal(size=(30, 6)) @ rng.normal(size=(6, 6))
    y = np.repeat([0, 1], 15)
    model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(x, y)
    expected = 0.0
    for c in range(2):
        own = x[y == c]
        sd = own.std(axis=0)
        expected = expected + 0.5 * np.outer(sd, sd) * ledoit_wolf((own - own.mean(axis=0)) / sd)[0]
    np.testing.assert_allclose(model.covariance_, expected, rtol=1e-9)
    with pytest.raises(ParameterError, match="second time"):
        model.partial_fit(x, y)


@pytest.mark.parametrize("cls", BOTH)
def test_missing_cells_in_fit_by_em(cls):
    x = X.copy()
    x[rng.random(x.shape) < 0.15] = np.nan
    model = cls().fit(x, Y)
    assert model.result_.status == "converged"
    assert np.all(np.diff(model.result_.objective) >= -1e-8 * np.abs(model.result_.objective[:-1]))
    assert model.score(X, Y) > 0.95
    np.testing.assert_allclose(model.means_, cls().fit(X, Y).means_, atol=0.15)
    with pytest.raises(DataError, match="NaN"):
        cls().partial_fit(x, Y, classes=[0, 1, 2])


@pytest.mark.parametrize("cls", BOTH)
def test_missing_labels_by_em(cls):
    y = Y.astype(float)
    y[np.arange(150) % 5 > 0] = np.nan
    model = cls().fit(X, y)
    assert model.result_.ok
    assert model.score(X, Y) > 0.93
    with pytest.raises(cr.errors.UnavailableError):
        cls(solver="eigen", shrinkage=0.1).fit(X, y)


@pytest.mark.parametrize("cls", BOTH)
def test_draws_have_the_moments_of_their_class(cls):
    """4,000 draws: means within 5 standard errors."""
    model = cls().fit(X, Y)
    rows, labels = model.sample(4000, label=2, random_state=0)
    assert set(labels) == {2}
    sd = rows.std(axis=0)
    assert np.all(np.abs(rows.mean(axis=0) - X[Y == 2].mean(axis=0)) < 5 * sd / np.sqrt(4000))


def test_log_prob_integrates_to_one():
    model = QuadraticDiscriminantAnalysis().fit(X[:, :2], Y)
    a, b = np.meshgrid(np.arange(2, 11, 0.05), np.arange(0, 7, 0.05))
    mass = np.exp(model.log_prob(np.column_stack([a.ravel(), b.ravel()]))).sum() * 0.05**2
    assert mass == pytest.approx(1.0, abs=1e-3)  # tails beyond the window


def test_more_columns_than_rows_and_a_class_of_one_row():
    x = rng.normal(size=(12, 40))
    y = np.repeat([0, 1, 2], [6, 5, 1])
    x[y == 1] += 1.0
    theirs = peer.LinearDiscriminantAnalysis().fit(x, y)
    np.testing.assert_allclose(
        LinearDiscriminantAnalysis().fit(x, y).predict_proba(x), theirs.predict_proba(x), atol=1e-6
    )
    with pytest.raises(SingularCovarianceError, match="prior"):
        LinearDiscriminantAnalysis().fit(x, y).log_prob(x)
    with pytest.raises(DataError, match="only 1 sample"):
        QuadraticDiscriminantAnalysis().fit(x, y)
    model = QuadraticDiscriminantAnalysis(prior="auto").fit(x, y)
    assert np.all(np.isfinite(model.predict_distribution(x).probabilities))


def test_covariances_without_an_inverse_are_given_the_default_prior():
    x = rng.normal(size=(12, 4))
    y = np.repeat([0, 1], [9, 3])
    with pytest.warns(DataWarning, match="class 1 is not of full rank"):
        model = QuadraticDiscriminantAnalysis().fit(x, y)
    stated = QuadraticDiscriminantAnalysis(prior="auto").fit(x, y)
    np.testing.assert_array_equal(model.predict_proba(x), stated.predict_proba(x))
    for own in (QuadraticDiscriminantAnalysis(reg_param=0.3), QuadraticDiscriminantAnalysis(covariance_type="diag")):
        with pytest.raises(SingularCovarianceError, match="class 1"):
            own.fit(x if own.reg_param else x * (y == 0)[:, None], y)
    # a row of weight 3 is three rows; more rows end the need for a prior
    with pytest.warns(DataWarning):
        heavy = QuadraticDiscriminantAnalysis().fit(x[:10], y[:10], np.r_[np.ones(9), 3.0])
    with pytest.warns(DataWarning):
        copies = QuadraticDiscriminantAnalysis().fit(x[[*range(10), 9, 9]], y[[*range(10), 9, 9]])
    np.testing.assert_allclose(heavy.predict_proba(x), copies.predict_proba(x), rtol=1e-10)
    more = rng.normal(size=(9, 4))
    model.partial_fit(more, np.ones(9, dtype=int))
    whole = QuadraticDiscriminantAnalysis().fit(np.r_[x, more], np.r_[y, np.ones(9, dtype=int)])
    np.testing.assert_allclose(model.predict_proba(x), whole.predict_proba(x), rtol=1e-10)


@pytest.mark.parametrize("model", [LinearDiscriminantAnalysis(), LinearDiscriminantAnalysis(covariance_type="diag"),
                                   QuadraticDiscriminantAnalysis(prior="auto")])  # fmt: skip
def test_saved_and_loaded_it_predicts_the_same(model, tmp_path):
    fit = clone(model).fit(X, Y)
    cr.save(fit, tmp_path / "m.credo")
    again = cr.load(tmp_path / "m.credo")
    np.testing.assert_array_equal(again.predict_proba(X), fit.predict_proba(X))
    np.testing.assert_array_equal(again.predict_distribution(X).aleatoric, fit.predict_distribution(X).aleatoric)
    assert again.partial_fit(X, Y).class_count_.sum() == 300
