"""Coefficients without a posterior mean: what is said of them, and integrals that grow or do not."""

import warnings

import numpy as np
import pytest
from scipy import integrate, stats

import credo as cr
from credo.errors import ConvergenceWarning
from credo.models.moments import untold_without_mean
from credo.models.scale_mixtures import Box, HorseshoeMixture, LaplaceMixture, StudentTMixture

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 2))
Y = X[:, 0] + rng.normal(size=30)
CONSTANT = np.column_stack([X[:, 0], np.full(30, 2.0)])
TWO, ONE = np.zeros(2), np.ones(2)


@pytest.mark.parametrize(
    ("mixture", "told", "lost"),
    [
        (HorseshoeMixture(TWO, ONE), [True, False], [False, True]),
        (HorseshoeMixture(TWO, ONE, learned=True), [True, True], [False, False]),
        (StudentTMixture(TWO, ONE, df=np.array([1.0, 1.0])), [True, False], [False, True]),
        (StudentTMixture(TWO, ONE, df=np.array([3.0, 0.5])), [False, False], [False, True]),
        (StudentTMixture(TWO, ONE, df=1.5), [False, False], [False, False]),
        (LaplaceMixture(TWO, ONE), [False, False], [False, False]),
        (LaplaceMixture(TWO, ONE, learned=True), [True, False], [False, False]),
        (LaplaceMixture(TWO, ONE, learned=True), [False, False], [True, True]),
        (Box(TWO, ONE), [False, False], [False, False]),
    ],
)
def test_which_means_exist(mixture, told, lost):
    assert untold_without_mean(mixture, np.array(told)).tolist() == lost


def test_copies_share_two_tails_and_have_a_mean():
    """E|w₁| up to T, of w₁ + w₂ ~ N(1, 1) and Cauchy priors, settles; of one Cauchy alone it grows by log 10 · 2/π a
    decade."""

    def up_to(reach, density):
        return 2.0 * integrate.quad(lambda t: np.exp(t) ** 2 * density(np.exp(t)), -20.0, np.log(reach), limit=400)[0]

    def of_copies(w):  # w₂ is near 1 − w₁, where its prior hardly changes
        return stats.cauchy.pdf(w) * stats.cauchy.pdf(1.0 - w)

    decade = [up_to(10.0 * reach, stats.cauchy.pdf) - up_to(reach, stats.cauchy.pdf) for reach in (1e4, 1e6)]
    np.testing.assert_allclose(decade, 2.0 / np.pi * np.log(10.0), rtol=1e-6)
    np.testing.assert_allclose(up_to(1e6, of_copies), up_to(1e4, of_copies), rtol=1e-6)


@pytest.mark.parametrize(
    ("make", "rows", "y"),
    [
        (lambda: cr.LinearRegression(prior=cr.StudentT(1, 0, 1)), CONSTANT, Y),
        pytest.param(
            lambda: cr.LinearRegression(prior=cr.Horseshoe(), noise=cr.noise.Normal(1.0)), X[:1], Y[:1],
            marks=pytest.mark.slow,
        ),
        (lambda: cr.LogisticRegression(prior=cr.StudentT(1, 0, 1)), CONSTANT, Y > 0),
        pytest.param(
            lambda: cr.LinearRegression(prior=cr.Horseshoe(), noise=cr.noise.StudentT(4)), CONSTANT, Y,
            marks=pytest.mark.slow,
        ),
    ],
    ids=["a constant column", "one row", "two classes", "robust"],
)  # fmt: skip
def test_a_mean_that_does_not_exist_is_not_certified(make, rows, y):
    with pytest.warns(ConvergenceWarning, match="has no mean"):
        model = make().fit(rows, y)
    assert model.result_.status == "not_certified"
    assert "x1 has no mean" in model.result_.message
    assert "x0 has" not in model.result_.message


@pytest.mark.slow
def test_means_that_exist_are_left_alone():
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        copies = cr.LinearRegression(prior=cr.StudentT(1, 0, 1)).fit(X[:, [0, 0]], Y)
        lighter = cr.LinearRegression(prior=cr.StudentT(2, 0, 1)).fit(CONSTANT, Y)
    assert copies.result_.ok
    assert lighter.result_.ok
