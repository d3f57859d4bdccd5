"""Importance sampling of hyperparameters: what its weights do not certify."""

from __future__ import annotations

import numpy as np
import pytest

import credo as cr
from credo.inference.direct.adaptive import adaptive_importance
from credo.program.collapsed import Collapsed
from credo.program.importance import are_settled, fit_importance
from credo.program.plan import plan_of


@pytest.mark.parametrize(("scale", "usable"), [(0.1, True), (3.0, False)])
def test_good_weights_do_not_vouch_for_a_heavy_tail(scale: float, usable: bool):
    """Equal weights are the best there are; yet 4,000 draws of a log-Normal of sd 3 do not give its variance: nearly
    all of that lies 6 sds out."""
    z = np.random.default_rng(0).standard_normal((4000, 2))
    x = np.column_stack([z[:, 0], np.exp(scale * z[:, 1])])
    assert are_settled(np.square(x - x.mean(axis=0)), np.full(4000, 1 / 4000)) == usable


def test_a_variance_of_a_few_draws_is_not_settled():
    """One draw in 200 holds nearly all of the variance: 20 effective draws, an sd right to 11 % at best."""
    z = np.random.default_rng(1).standard_normal((4000, 1))
    z[::200] *= 30.0
    assert not are_settled(np.square(z), np.full(4000, 1 / 4000))


def test_infinite_squares_are_left_alone():
    z = np.square(np.random.default_rng(2).standard_normal((4000, 2)))
    z[0, 1] = np.inf
    assert are_settled(z, np.full(4000, 1 / 4000))
    assert are_settled(z[:, 1:], np.full(4000, 1 / 4000))


@pytest.mark.parametrize(("place", "sd"), [(6.0, 0.5), (5.0, 1.0)])
def test_a_second_hill_of_one_number_among_eleven_is_seen(place: float, sd: float):
    """Eleven independent numbers, one of them with a hill of mass .02 far out. Draws of a Student-t of all eleven miss
    nearly all of it, with k̂ ≤ .5 and 6,000 effective draws; ours find some, and enough to say that the sd is not
    known."""

    def log_density(x: np.ndarray) -> np.ndarray:
        far = np.log(0.02 / sd) - 0.5 * np.square((x[:, 0] - place) / sd)
        hills = np.logaddexp(np.log(0.98) - 0.5 * np.square(x[:, 0]), far)
        return hills - 0.5 * np.square(x[:, 1:]).sum(axis=1) - 5.5 * np.log(2.0 * np.pi)

    for seed in range(3):
        found = adaptive_importance(log_density, np.zeros(11), np.eye(11), 10_000, np.random.default_rng(seed))
        assert found.weights @ (found.positions[:, 0] > place - 2.0 * sd) > 0.002
        assert not are_settled(np.square(found.positions - found.mean), found.weights)


def test_several_modes_adapt():
    """Two modes of unlike widths and masses in six dimensions, from the same first guess of both."""
    places, wide = np.array([np.full(6, -4.0), np.full(6, 4.0)]), np.array([0.7, 1.4])

    def log_density(x: np.ndarray) -> np.ndarray:
        z = (x[:, None, :] - places) / wide[:, None]
        logs = -0.5 * np.square(z).sum(axis=2) - 6.0 * np.log(wide * np.sqrt(2.0 * np.pi)) + np.log([0.2, 0.8])
        return np.logaddexp(*logs.T)

    found = adaptive_importance(log_density, places, np.array([np.eye(6)] * 2), 8000, np.random.default_rng(0))
    assert found.effective > 5000
    assert found.pareto_k < 0.5
    # 3,000 effective draws of a share .8 would have sd .008, and .016 of the log evidence; a false alarm in 10⁶ runs
    assert abs(found.weights @ (found.positions[:, 0] > 0.0) - 0.8) < 5 * 0.008
    assert abs(found.log_evidence) < 5 * 0.016


def test_groups_that_may_be_shrunken_are_not_certified():
    """Means and log sds of nine groups of four rows, one group very tight: most of the variance of its mean lies with
    rare draws that say the group is not tight at all. By importance alone its sd was .05, certified, where quadrature
    says .065; that of another group .45 for .57."""
    rng = np.random.default_rng(0)
    u, v = rng.normal(0, 1, 9), rng.normal(0, 0.3, 9)
    v[0] = -5.0
    y = u[:, None] + np.exp(v)[:, None] * rng.standard_normal((9, 4))
    model = cr.Model()
    model.dim("group", 9)
    of_means, of_sds = model.latent("of_means", cr.HalfNormal(1.0)), model.latent("of_sds", cr.HalfNormal(1.0))
    mean = model.latent("mean", cr.Normal(0, of_means), dims="group")
    log_sd = model.latent("log_sd", cr.Normal(0, of_sds), dims="group")
    group = np.repeat(np.arange(9), 4)
    model.observed("y", cr.Normal(mean[group], cr.math.exp(log_sd[group])), y.ravel())
    assert fit_importance(Collapsed(plan_of(model, "auto")), 4000, np.random.default_rng(0)) is None
