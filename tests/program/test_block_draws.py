"""Draws of the block at fewer values of θ than there are draws, and densities where some rows are singular."""

import numpy as np

import credo as cr
from credo.program.collapsed import Collapsed
from credo.program.plan import plan_of
from credo.program.quadrature import _at_representatives, _representatives


def groups(seed=0):
    rng = np.random.default_rng(seed)
    g, x = np.repeat(np.arange(8), 12), rng.normal(size=96)
    y = 1.0 + rng.normal(size=8)[g] + 0.5 * x + rng.normal(size=96)
    m = cr.Model()
    m.dim("g", 8)
    codes, xd = m.data("code", g, dims="obs", levels="g"), m.data("x", x, dims="obs")
    a, w = m.latent("a", cr.Normal(0, 5)), m.latent("w", cr.Normal(0, 5))
    tau, sigma = m.latent("tau", cr.HalfNormal(2)), m.latent("sigma", cr.HalfNormal(2))
    u = m.latent("u", cr.Normal(0, tau), dims="g")
    m.observed("y", cr.Normal(a + u[codes] + w * xd, sigma), y, dims="obs")
    return m


def test_few_representatives_have_the_moments_of_all_draws():
    """Against exact moments by quadrature; 4,000 draws, 10 latents: |z| > 5 by chance in 1 of 80,000 runs."""
    model = groups()
    exact = model.fit(random_state=1)
    collapsed = Collapsed(plan_of(model, "auto"))
    theta = np.column_stack([exact["tau"], exact["sigma"]])
    for most in (20, 200):
        drawn = collapsed.split(_at_representatives(collapsed, theta, most, np.random.default_rng(2)))
        for name in ("a", "w", "u"):
            mean, sd = exact.exact_moments[name]
            z = (drawn[name].mean(axis=0) - mean) / (sd / np.sqrt(4000))
            assert np.all(np.abs(z) < 5.0), (name, z)
            # Sds err by 1.1 % (one of Monte Carlo's), and by what few representatives leave out.
            np.testing.assert_allclose(drawn[name].std(axis=0), sd, rtol=0.06)


def test_the_means_follow_theta_within_a_group_of_rows():
    """The regression of draws on θ is that of draws made one by one: 20 z-scores; beyond 5 in 1 of 80,000 runs."""
    model = groups()
    exact = model.fit(random_state=1)
    collapsed = Collapsed(plan_of(model, "auto"))
    theta = np.column_stack([exact["tau"], exact["sigma"]])[:1500]
    centred = theta - theta.mean(axis=0)
    slopes = [
        np.linalg.lstsq(centred, _at_representatives(collapsed, theta, most, np.random.default_rng(5)), rcond=None)[0]
        for most in (20, 1500)
    ]
    error = (
        np.sqrt(2.0)
        * np.append(exact["u"].std(axis=0).max(), exact["a"].std()).max()
        / (np.sqrt(1500) * centred.std(axis=0))
    )
    assert np.all(np.abs(slopes[0] - slopes[1]) < 5.0 * error[:, None])


def test_representatives_are_the_means_of_their_groups():
    theta = np.exp(np.random.default_rng(0).normal(size=(500, 3)))
    centres, nearest = _representatives(theta, 20)
    assert centres.shape == (20, 3)
    for k in range(20):
        if np.any(nearest == k):
            np.testing.assert_allclose(centres[k], theta[nearest == k].mean(axis=0))


def test_a_singular_row_counts_as_zero_and_the_others_stay():
    collapsed = Collapsed(plan_of(groups(), "auto"))
    good = np.array([[1.0, 1.0], [0.5, 2.0], [2.0, 0.7]])
    rows = np.concatenate([good[:2], [[1e-170, 1.0]], good[2:]])
    with np.errstate(all="ignore"):  # as its callers do
        values = collapsed.log_densities(rows)
    np.testing.assert_allclose(values[[0, 1, 3]], collapsed.log_densities(good), rtol=1e-12)
    assert values[2] == -np.inf
