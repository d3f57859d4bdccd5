"""Log-likelihood terms: closed forms, sums to one, finite differences, far tails."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special
import scipy.stats

import credo as cr
from credo.models.preference.choices import ChoiceTerms
from credo.models.preference.outcomes import counted
from credo.models.preference.scales import ScalesSpace
from credo.models.preference.terms import row_terms


def everything(link):
    history = cr.Preferences(4).with_duel(0, 1).with_tie(1, 2).with_grades([0, 1, 2], [0, 1, 2]).with_rating(3, 7.0)
    outcomes = counted(history)
    space = ScalesSpace(link, 0.7, outcomes)
    rng = np.random.default_rng(0)
    return row_terms(outcomes, space.scales(space.start + 0.3 * rng.normal(size=space.start.size)))


def each_of(terms):
    return np.arange(terms.low.size)


@pytest.mark.parametrize("link", ["probit", "logit"])
@pytest.mark.parametrize("far", [1.0, 30.0])
def test_row_derivatives(link, far):
    terms = everything(link)
    rows, h = each_of(terms), 1e-4
    eta = far * np.linspace(-1.0, 1.0, rows.size)
    parts = terms.value_and_derivatives(rows, eta, 3)
    up, down = (terms.value_and_derivatives(rows, eta + s * h, 3) for s in (1, -1))
    for order in range(3):
        slope = (up[order] - down[order]) / (2 * h)
        np.testing.assert_allclose(parts[order + 1], slope, rtol=2e-6, atol=1e-7 * (1 + abs(slope).max()))


@pytest.mark.parametrize("link", ["probit", "logit"])
def test_tilted_moments_against_quadrature(link):
    terms = everything(link)
    rows = each_of(terms)
    m, v = np.linspace(-2.0, 1.5, rows.size), np.linspace(0.3, 4.0, rows.size)
    log_z, mean, variance = terms.tilted_moments(rows, m, v)
    z = np.linspace(-12, 12, 40_001)[:, None]
    eta = m + np.sqrt(v) * z
    p = np.exp(terms.log_prob(rows, eta)) * scipy.stats.norm.pdf(z) * (z[1] - z[0])
    np.testing.assert_allclose(np.exp(log_z), p.sum(axis=0), rtol=1e-8)
    center = (p * eta).sum(axis=0) / p.sum(axis=0)
    np.testing.assert_allclose(mean, center, rtol=1e-8)
    np.testing.assert_allclose(variance, (p * (eta - center) ** 2).sum(axis=0) / p.sum(axis=0), rtol=1e-7)


def choice_terms(logistic):
    shown = np.array([[True, True, True], [True, True, False], [True, False, False]])
    return ChoiceTerms(shown, 0.8, logistic)


@pytest.mark.parametrize("logistic", [False, True])
@pytest.mark.parametrize("far", [1.0, 12.0])
def test_choice_derivatives(logistic, far):
    terms = choice_terms(logistic)
    rng = np.random.default_rng(0)
    f, h = far * rng.normal(size=(3, 4)), 1e-4
    root = rng.normal(size=(3, 4, 4))
    S = root @ root.transpose(0, 2, 1)
    _, gradient, curvature = terms.derivatives(f)
    slope = terms.curvature_slope(f, S)
    for j in range(4):
        step = h * np.eye(4)[j]
        up, down = terms.derivatives(f + step), terms.derivatives(f - step)
        np.testing.assert_allclose(gradient[:, j], (up[0] - down[0]) / (2 * h), atol=2e-6 * far)
        np.testing.assert_allclose(-curvature[:, :, j], (up[1] - down[1]) / (2 * h), atol=2e-6)
        moved = 0.5 * np.einsum("cij,cji->c", S, up[2] - down[2]) / (2 * h)
        np.testing.assert_allclose(slope[:, j], moved, atol=1e-5)


@pytest.mark.parametrize("logistic", [False, True])
def test_choices_sum_to_one(logistic):
    f = np.array([0.3, -1.0, 2.0, 0.1])
    turns = np.array([np.roll(f, -k) for k in range(4)])
    terms = ChoiceTerms(np.ones((4, 3), dtype=bool), 0.8, logistic)
    assert np.exp(terms.derivatives(turns)[0]).sum() == pytest.approx(1.0, abs=1e-12)


def test_the_best_of_two_is_a_duel_in_any_tail():
    gap = np.array([-60.0, -20.0, -3.0, 0.0, 5.0, 40.0])
    f = np.column_stack([gap, np.zeros(6)])
    value, gradient, curvature = ChoiceTerms(np.ones((6, 1), dtype=bool), 1.0, False).derivatives(f)
    np.testing.assert_allclose(value, scipy.special.log_ndtr(gap / np.sqrt(2.0)), rtol=1e-12, atol=1e-15)
    assert np.all(np.isfinite(gradient))
    assert np.all(np.isfinite(curvature))


def test_many_rivals_far_ahead():
    """43 equal ones: 1/43 each; and far behind them all, no worse than the duel with each by itself allows."""
    shown = np.ones((1, 42), dtype=bool)
    terms = ChoiceTerms(shown, 1.0, False)
    assert np.exp(terms.derivatives(np.zeros((1, 43)))[0][0]) == pytest.approx(1 / 43, rel=1e-12)
    behind = np.zeros((1, 43))
    behind[0, 0] = -15.0
    e = np.linspace(0, 30, 200_001)
    log_p = scipy.stats.norm.logpdf(e) + 42 * scipy.special.log_ndtr(e - 15.0)
    expected = scipy.special.logsumexp(log_p) + np.log(e[1] - e[0])
    assert terms.derivatives(behind)[0][0] == pytest.approx(expected, rel=1e-10)
