"""Hyperparameters integrated over: against quadrature, between rungs, and what is read off the draws."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

import credo as cr
from credo.errors import UnavailableError
from credo.kernels import RBF
from credo.models.gaussian_process import GaussianProcessRegressor


def table(n=30):
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(-2, 2, n))[:, None]
    return x, np.sin(2 * x[:, 0]) + 0.3 * rng.normal(size=n)


def kernel():
    return RBF(1.0, priors={"lengthscale": cr.LogNormal(0.0, 0.7)})


@pytest.fixture(scope="module")
def exact():
    """Of one lengthscale, on a grid: log evidence, and the mean and variance of f at 0.3."""
    X, y = table()
    grid = np.linspace(-3, 2, 250)
    weights, means, variances = [], [], []
    for theta in grid:
        model = GaussianProcessRegressor(RBF(float(np.exp(theta))), noise=0.3, mean=None, optimizer=None).fit(X, y)
        weights.append(model.log_evidence_ - 0.5 * (theta / 0.7) ** 2 - np.log(0.7 * np.sqrt(2 * np.pi)))
        p = model.predict_distribution([[0.3]], noise_scale=0)
        means.append(p.mean.item())
        variances.append(p.variance.item())
    w, m, v = np.exp(np.array(weights) - logsumexp(weights)), np.array(means), np.array(variances)
    mean = w @ m
    return logsumexp(weights) + np.log(grid[1] - grid[0]), mean, w @ (v + (m - mean) ** 2)


@pytest.mark.parametrize("inference", ["laplace", "nuts", "slice"])
def test_each_rung_agrees_with_quadrature(exact, inference):
    """64 of the draws are averaged: their mean errs by an eighth of the spread between them, here below 0.03."""
    X, y = table()
    draws = 300 if inference == "slice" else 400
    model = GaussianProcessRegressor(
        kernel(), noise=0.3, mean=None, inference=inference, draws=draws, warmup=100, random_state=0
    ).fit(X, y)  # fmt: skip
    assert model.result_.inference == inference
    assert model.result_.ok
    p = model.predict_distribution([[0.3]], noise_scale=0)
    assert p.mean.item() == pytest.approx(exact[1], abs=0.03)
    assert p.variance.item() == pytest.approx(exact[2], rel=0.1)
    assert model.predict([[0.3]]).item() == pytest.approx(p.mean.item())
    assert model.posterior_["lengthscale"].shape[0] == 4 * draws
    if inference == "laplace":
        # k̂ is small: the importance estimate errs by √(spread of weights/1200), a few hundredths of a nat.
        assert model.evidence_.log_value == pytest.approx(exact[0], abs=0.1)
        assert not model.evidence_.maximised
        assert model.result_.certificate["pareto_k"] < 0.7


def test_what_is_read_off_the_draws(tmp_path):
    X, y = table()
    model = GaussianProcessRegressor(kernel(), noise=None, inference="laplace", draws=100, random_state=0).fit(X, y)
    found = model.sensitivity(X)
    assert set(found) == {"lengthscale", "noise"}
    assert all(np.isfinite(s.prior) for s in found.values())
    loo = model.leave_one_out(X, y)
    plug_in = GaussianProcessRegressor(kernel()).fit(X, y).leave_one_out(X, y)
    assert loo.elpd == pytest.approx(plug_in.elpd, abs=2.0)
    assert loo.pointwise.shape == (30,)
    assert 0.3 < model.bayesian_r2(X).mean < 1.0
    assert model.sample_paths(70, random_state=0)(X).shape == (70, 30)
    cr.save(model, tmp_path / "model.credo")
    other = cr.load(tmp_path / "model.credo")
    np.testing.assert_array_equal(other.predict_distribution(X).sd, model.predict_distribution(X).sd)
    with pytest.raises(UnavailableError, match="one joint"):
        model.predict_joint(X)
    with pytest.raises(UnavailableError, match="integrated"):
        model.update(X, y)


def test_integrating_over_a_noise_that_varies_is_certified():
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(-2, 2, 60))
    y = np.sin(2 * x) + 0.2 * np.exp(0.8 * x) * rng.normal(size=60)
    both = [
        GaussianProcessRegressor(1.0 * RBF(1.0, priors={"lengthscale": cr.LogNormal(0.0, 1.0)}), noise=noise,
                                 inference="laplace", draws=100, random_state=0).fit(x[:, None], y)
        for noise in (None, cr.noise.LogLinear())
    ]  # fmt: skip
    assert all(model.result_.certificate["pareto_k"] < 0.7 for model in both)
    assert both[1].evidence_.log_value > both[0].evidence_.log_value + 2.0
    assert both[1].posterior_["log noise"].mean() > 0.3
