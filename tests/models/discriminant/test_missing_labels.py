"""Missing labels under a prior: EM to the posterior's mode, against a direct search and the gain it brings."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp
from scipy.stats import invwishart, multivariate_normal

import credo as cr
from credo.models.discriminant.family import DiscriminantFamily
from credo.models.generative.family import Part
from credo.models.generative.learning import learn_with_missing_labels
from credo.models.generative.rows import Rows

NIW = cr.NormalInverseWishart(np.array([0.5, -0.5]), 0.5, 5.0, np.array([[2.0, 0.5], [0.5, 1.0]]))
BOTH = [cr.LinearDiscriminantAnalysis, cr.QuadraticDiscriminantAnalysis]


@pytest.mark.parametrize("shared", [True, False])
def test_em_ends_at_the_mode_of_the_posterior(shared):
    """Σ log p(x, y) + Σ log p(x) + log p(μ, Σ) by scipy's densities: no step of a search from there is better."""
    rng = np.random.default_rng(0)
    codes = np.where(np.arange(30) < 8, np.arange(30) % 2, -1)
    X = rng.normal(size=(30, 2)) + 1.5 * (np.arange(30) % 2)[:, None]
    family = DiscriminantFamily(shared, prior=NIW, at_mode=True)
    fit = learn_with_missing_labels(Rows(X, codes, None, 2), (Part(family),), 2, np.array([0.4, 0.6]))
    found = fit.result.objective
    assert np.all(np.diff(found) >= -1e-9 * np.abs(found[:-1]))
    _, (belief,) = fit.params

    def objective(v):
        mean = v[:4].reshape(2, 2)
        roots = [np.array([[np.exp(a), 0.0], [b, np.exp(c)]]) for a, b, c in v[4:].reshape(-1, 3)]
        each = [root @ root.T for root in roots]
        two = each * 2 if shared else each
        joint = np.stack([multivariate_normal.logpdf(X, m, s) for m, s in zip(mean, two)], axis=1) + np.log([0.4, 0.6])
        value = logsumexp(joint[8:], axis=1).sum() + joint[np.arange(8), codes[:8]].sum()
        value += sum(multivariate_normal.logpdf(m, NIW.mean, s / NIW.kappa) for m, s in zip(mean, two))
        return -value - sum(invwishart.logpdf(s, NIW.df, NIW.scale_matrix) for s in each)

    roots = np.linalg.cholesky(belief.covariance)
    start = np.concatenate([belief.mean.ravel(), *([np.log(r[0, 0]), r[1, 0], np.log(r[1, 1])] for r in roots)])
    best = minimize(objective, start, method="BFGS", options={"gtol": 1e-8})
    assert objective(start) - best.fun < 1e-5
    np.testing.assert_allclose(start, best.x, atol=5e-3)


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("prior", [None, "auto"])
def test_rows_without_a_label_help_where_few_have_one(cls, prior):
    """Two labelled rows a class in four columns: without a prior there is no covariance to begin with."""
    rng = np.random.default_rng(1)
    y = np.arange(300) % 2
    X = rng.normal(size=(300, 4)) + 1.5 * y[:, None]
    some = np.where(np.arange(300) < 4, y.astype(float), np.nan)
    if prior is None:
        with pytest.raises(cr.errors.NotPositiveDefiniteError, match="prior='auto'"):
            cls().fit(X, some)
        return
    model = cls(prior=prior).fit(X, some)
    few = cls(prior=prior).fit(X[:4], y[:4])
    assert model.result_.ok
    assert model.class_count_.sum() == pytest.approx(300.0)
    assert model.score(X, y) > 0.9 > 0.85 > few.score(X, y)  # .933 is the best that can be, on average


@pytest.mark.parametrize("cls", BOTH)
def test_all_labels_given_is_the_plain_fit(cls):
    rng = np.random.default_rng(2)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 2)) + 40.0 * y[:, None]  # apart: EM tells the missing label for certain
    one = y.astype(float)
    one[7] = np.nan
    weak = cr.NormalInverseWishart(np.zeros(2), 1e-4, 5.0, np.eye(2))
    full, missing = cls(prior=weak).fit(X, y), cls(prior=weak).fit(X, one)
    np.testing.assert_allclose(missing.log_prob(X), full.log_prob(X), rtol=1e-8)
    p, q = missing.predict_distribution(X), full.predict_distribution(X)
    np.testing.assert_allclose(p.probabilities, q.probabilities, atol=1e-8)
