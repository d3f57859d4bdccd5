"""Inference through representatives: exact where all are kept; derivatives; the greedy choice by brute force."""

import numpy as np
import pytest

from credo.design.tastes import Duel, NoneOfThem, Order, Rating, Tie
from credo.design.tastes.prior import NOISE, PageScales, kernel_of, rows_of
from credo.design.tastes.projected import ProjectedLikelihood, representatives, utility_belief
from credo.design.tastes.record import record_of
from credo.models.preference.laplace import LogLikelihood
from tests.design.tastes.people import cube, pages


def everything(n=6, seed=0, people=False):
    """(kernel, rows, outcomes, scales) of answers of every kind."""
    space, rng = cube(), np.random.default_rng(seed)
    said = pages(space, n, rng)
    p = space.sample(7, rng)
    said += [Duel(p[0], p[1]), Tie(p[1:4], p[1:5]), NoneOfThem(p[4:6]), Rating(p[6], stars=4), Order(p[:5])]
    record = record_of(space, said, {"ann": pages(space, 3, rng)} if people else None)
    outcomes = record.outcomes
    space_of = PageScales("probit", NOISE, outcomes)
    rows = rows_of(space, space.encode(record.points).X)[outcomes.items]
    return kernel_of(space), rows, outcomes, space_of.scales(space_of.start)


@pytest.mark.parametrize("people", [False, True])
def test_with_the_identity_it_is_the_likelihood_of_the_items(people):
    _, rows, outcomes, scales = everything(people=people)
    g = np.random.default_rng(1).normal(size=(outcomes.n_blocks, len(rows)))
    ours = ProjectedLikelihood(outcomes, scales, np.eye(len(rows))).derivatives(g)
    theirs = LogLikelihood(outcomes, scales).derivatives(g)
    for a, b in zip(ours, theirs):
        np.testing.assert_allclose(a, b, atol=1e-10)


def test_derivatives_are_slopes_of_the_value():
    _, rows, outcomes, scales = everything(people=True)
    rng = np.random.default_rng(2)
    projected = ProjectedLikelihood(outcomes, scales, rng.normal(size=(len(rows), 5)) / 3)
    g, direction, h = rng.normal(size=(outcomes.n_blocks, 5)), rng.normal(size=(outcomes.n_blocks, 5)), 1e-4
    up, down = projected.derivatives(g + h * direction), projected.derivatives(g - h * direction)
    _, gradient, curvature = projected.derivatives(g)
    # central differences err by h² ~ 1e-8 relative
    assert np.vdot(gradient, direction) == pytest.approx((up[0] - down[0]) / (2 * h), rel=1e-6)
    moved = -np.einsum("uij,uj->ui", curvature, direction)
    np.testing.assert_allclose(moved, (up[1] - down[1]) / (2 * h), rtol=1e-5, atol=1e-6)


def test_representatives_are_the_greedy_ones():
    kernel, rows, _, _ = everything()
    K, kept = kernel(rows), []
    for _ in range(8):  # each time the row of largest variance given those kept
        inner = K[np.ix_(kept, kept)]
        left = np.diag(K) - np.einsum("ij,ji->i", K[:, kept], np.linalg.solve(inner, K[kept]) if kept else K[kept])
        left[kept] = -1.0
        kept.append(int(np.argmax(left)))
    assert representatives(kernel, rows, 8).tolist() == sorted(kept)
    twice = np.concatenate([rows, rows])
    assert len(representatives(kernel, twice, len(twice))) <= len(rows)


def test_a_few_representatives_less_change_little_and_far_too_few_are_less_sure_on_the_whole():
    kernel, rows, outcomes, scales = everything(20)
    new = np.random.default_rng(3).random((50, 3))
    exact, close, rough = (utility_belief(kernel, rows, outcomes, scales, 0.0, most) for most in (999, 60, 8))
    mean, sd = exact.means(new)[0], np.sqrt(exact.variances(new))
    gap = np.abs(close.means(new)[0] - mean) / sd
    assert gap.max() < 0.25
    assert np.mean(rough.variances(new) > exact.variances(new)) > 0.5
