"""The prior's strength by rows left out: against refits without the row, on heavy tails, and where it must not act."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
from scipy.special import logsumexp

import credo as cr
from credo.blocks.source import Block
from credo.distributions import NormalInverseWishart
from credo.models.discriminant.base import UnsupportedError
from credo.models.discriminant.family import DiscriminantFamily
from credo.models.generative.memberships import Memberships


def by_refits(family, X, y, weights, log_class, strengths):
    """Σ log p(y_i | x_i, rest): T, scatters and means computed anew without one count of the row, m₀ and κ kept."""
    k, d = len(log_class), X.shape[1]
    whole = family.accumulate(X, Memberships(k, y, weights))
    total = weights.sum()
    m, kappa, _, T = replace(family, rows=1.0)._learned(whole.weight, whole.mean, whole.scatter)
    first = T * (total + 1.0) - whole.scatter.sum(axis=0)
    value = np.zeros(len(strengths))
    for i in range(len(X)):
        left = weights - (np.arange(len(X)) == i)
        rest = family.accumulate(X[left > 0], Memberships(k, y[left > 0], left[left > 0]))
        within = (rest.scatter.sum(axis=0) + first) / (total + 1.0)
        for j, r in enumerate(strengths):
            prior = NormalInverseWishart(m, kappa, r + d + 1.0, r * within)
            joint = (
                DiscriminantFamily(False, prior=prior).finalize(rest, left).log_predictive(X[i : i + 1])[0] + log_class
            )
            value[j] += weights[i] * (joint[y[i]] - logsumexp(joint))
    return value


@pytest.mark.parametrize("counts", [False, True])
def test_scores_are_those_of_refits_without_the_row(counts):
    """Rows that count several times lose one of them; a class of one row is left with its prior."""
    rng = np.random.default_rng(0)
    y = np.r_[np.zeros(6, int), np.ones(8, int), 2]
    X = rng.normal(size=(15, 3)) @ rng.normal(size=(3, 3)) + y[:, None]
    weights = rng.integers(1, 4, 15).astype(float) if counts else np.ones(15)
    family = DiscriminantFamily(False, prior="auto")
    log_class = np.log(np.bincount(y, weights) / weights.sum())
    left_out = family.left_out(family.accumulate(X, Memberships(3, y, weights)), log_class)
    axes = [scipy.linalg.eigh(own, left_out.within) for own in left_out.spread]
    scores = weights @ left_out.scores(Block(X, y, weights, 0), axes)
    np.testing.assert_allclose(
        scores[::6], by_refits(family, X, y, weights, log_class, left_out.strengths[::6]), rtol=1e-9
    )


def heavy(n, rng, df=2.0):
    """Two classes of one covariance, Student-t: the scatters of few rows differ by their outliers."""
    y = np.arange(n) % 2
    scale = np.sqrt(df / rng.chisquare(df, n))
    return rng.normal(size=(n, 4)) * scale[:, None] + 1.5 * y[:, None], y


def log_score(model, X, y):
    return np.log(model.predict_distribution(X).probabilities[np.arange(len(y)), y]).mean()


def by_evidence(model):
    """The model with the strength that the scatters alone say."""
    model = copy(model)
    family = replace(model.parts_[0].family, rows=None)
    model.beliefs_ = (family.finalize(model.statistics_[1], model.statistics_[0]),)
    return model


def test_heavy_tails_are_not_taken_for_different_covariances():
    """Of eight tables the evidence loses .04 to .5 nats a row: here every one of four, and a fifth on average."""
    gained = []
    for seed in range(4):
        rng = np.random.default_rng([1, seed])
        X, y = heavy(300, rng)
        new = heavy(2000, rng)
        ours = cr.QuadraticDiscriminantAnalysis(prior="auto").fit(X, y)
        gained.append(log_score(ours, *new) - log_score(by_evidence(ours), *new))
    assert min(gained) > 0.0
    assert np.mean(gained) > 0.15
    holes = np.where(rng.random(X.shape) < 0.05, np.nan, X)
    assert cr.QuadraticDiscriminantAnalysis(prior="auto").fit(holes, y).parts_[0].family.rows > 100.0


def test_normal_classes_are_as_the_evidence_has_them():
    rng = np.random.default_rng(2)
    y = np.arange(120) % 2
    X = rng.normal(size=(120, 3)) * np.where(y[:, None], [3.0, 1.0, 0.3], 1.0)
    ours = cr.QuadraticDiscriminantAnalysis(prior="auto").fit(X, y)
    np.testing.assert_allclose(ours.log_prob(X), by_evidence(ours).log_prob(X), atol=1e-12)


def test_weights_are_repeated_rows_and_order_does_not_matter():
    rng = np.random.default_rng(3)
    X, y = heavy(60, rng)
    w = rng.integers(1, 4, 60)
    weighted = cr.QuadraticDiscriminantAnalysis(prior="auto").fit(X, y, sample_weight=w)
    order = rng.permutation(np.repeat(np.arange(60), w))
    repeated = cr.QuadraticDiscriminantAnalysis(prior="auto").fit(X[order], y[order])
    assert weighted.parts_[0].family.rows == pytest.approx(repeated.parts_[0].family.rows)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-7)


def test_what_needs_the_rows_again_is_refused():
    X, y = heavy(20, np.random.default_rng(4))
    with pytest.raises(UnsupportedError, match="prior='auto'"):
        cr.QuadraticDiscriminantAnalysis(solver="eigen", shrinkage="auto").partial_fit(X, y, classes=[0, 1])
    with pytest.raises(cr.errors.ParameterError, match="'auto' or None"):
        cr.QuadraticDiscriminantAnalysis(prior="leave-one-out").fit(X, y)
    with pytest.raises(cr.errors.ParameterError, match="prior"):
        cr.QuadraticDiscriminantAnalysis(prior=3).fit(X, y)


def test_one_row_of_a_class_and_columns_without_spread():
    X = np.column_stack([np.arange(9.0), np.full(9, 2.0)])
    model = cr.QuadraticDiscriminantAnalysis(prior="auto").fit(X, [0] * 8 + [1])
    assert np.all(np.isfinite(model.predict_distribution(X).probabilities))
