"""Student-t noise of unknown scale where some rows are fitted exactly: answered where the posterior is proper, and
refused where it is not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

import credo as cr
from credo.errors import NotIdentifiedError
from credo.inference.exact.noise_prior import NoisePrior
from credo.models.linear.robust import LatentNoise
from credo.models.linear.ties import require_noise_off_the_plane, require_scale_above_rounding

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
NOISY = X @ [1.0, 2.0] + RNG.standard_t(3, 60)
SOME, MOST = RNG.random(60) < 0.5, RNG.random(60) < 0.8
COPIES = np.r_[np.zeros(40, int), np.arange(20)]


@pytest.mark.parametrize(("df", "tied"), [(3.0, 8), (1.0, 8), (0.5, 6)])
def test_the_power_of_sigma_that_decides(df, tied):
    """Quadrature over one coefficient: the slope of log p(y | σ) in log σ at 0 is K − s + (n − s) df; refused where it
    is ≤ 0."""
    x, y = np.linspace(0.5, 2.0, 10), np.where(np.arange(10) < tied, 0.0, np.arange(10) - 2.5)

    def log_likelihood(t):
        w = np.sinh(np.linspace(-12.0, 12.0, 4001)) * np.exp(t)  # about the plane, at its own width
        step = np.cosh(np.linspace(-12.0, 12.0, 4001)) * np.exp(t)
        rows = stats.t.logpdf((y[:, None] - x[:, None] * w) * np.exp(-t), df).sum(axis=0) - 10 * t
        return special.logsumexp(rows + np.log(step))

    slope = (log_likelihood(-28.0) - log_likelihood(-32.0)) / 4.0
    assert slope == pytest.approx(1 - tied + (10 - tied) * df, abs=0.05)
    model = cr.LinearRegression(prior=cr.Flat(), fit_intercept=False, noise=cr.noise.StudentT(df=df))
    if slope < 0.0:
        with pytest.raises(NotIdentifiedError, match="one plane exactly"):
            model.fit(x[:, None], y)


@pytest.mark.parametrize(
    ("X", "y", "noise"),
    [
        (X, np.where(MOST, 0.0, NOISY), cr.noise.StudentT()),
        (X, np.where(MOST, 0.0, NOISY), cr.noise.StudentT(df=1.0)),
        (X, np.where(MOST, 0.0, NOISY), cr.noise.StudentT(scale_prior=cr.HalfNormal(1.0))),
        (X[COPIES], NOISY[COPIES], cr.noise.StudentT()),
        (X, np.where(MOST, X @ [1.0, 2.0], NOISY), cr.noise.StudentT(df=2.0)),
        (X * 1e9, np.where(MOST, 0.0, NOISY) * 1e-9, cr.noise.StudentT(df=1.0)),
        (X, np.full(60, 3.0), cr.noise.StudentT(scale_prior=cr.HalfNormal(1.0))),
    ],
    ids=["zeros", "zeros, df stated", "zeros, half-normal", "copies", "rows without noise", "other units", "constant"],
)
@pytest.mark.filterwarnings("ignore::credo.errors.DataWarning")
def test_what_runs_to_zero_is_refused(X, y, noise):
    for how in ({}, {"prior": cr.Normal(0, 1), "inference": "nuts"}):
        with pytest.raises(NotIdentifiedError, match="scale"):
            cr.LinearRegression(noise=noise, **how).fit(X, y)


def test_chains_that_ran_to_zero_are_no_answer():
    """Of an exact fit that no search found."""
    from credo.models.linear.ties import require_scale_above_rounding

    with pytest.raises(NotIdentifiedError, match="fell to 0"):
        require_scale_above_rounding(np.array([[1.0, 1e-20]]), NOISY[:, None])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("X", "y", "noise"),
    [
        (X, np.where(SOME, 0.0, NOISY), cr.noise.StudentT(df=4.0)),
        (X, np.round(NOISY, 1), cr.noise.StudentT()),
        (np.round(X[:, :1]), np.round(NOISY), cr.noise.StudentT()),
        (np.repeat(X[:12], 5, axis=0), np.repeat(NOISY[:12], 5), cr.noise.StudentT()),
        (X, np.where(MOST, 0.0, NOISY), cr.noise.StudentT(df=1.0, scale_prior=cr.LogNormal(0.0, 0.5))),
        (X[:1], NOISY[:1], cr.noise.StudentT(df=4.0, scale_prior=cr.HalfNormal(1.0))),
    ],
    ids=["zeros, heavier df", "rounded", "few values", "all rows five times", "a prior that vanishes at 0", "one row"],
)
def test_ties_that_leave_a_posterior_are_answered(X, y, noise):
    model = cr.LinearRegression(prior=cr.Laplace(0.0, 1.0), noise=noise).fit(X, y)
    assert model.result_.ok
    assert 1e-4 < model.posterior_["noise_scale"].mean() < 4.0


@pytest.mark.parametrize("far", [1e15, 1e100])
def test_an_outlier_makes_no_ties_of_the_other_rows(far):
    """Student-t noise of a df near 0 draws such: beside it all others are alike to any number of digits of its own."""
    design, rows = np.column_stack([np.ones(12), X[:12]]), np.r_[NOISY[:11], far]
    noise, prior = LatentNoise(False, None, None, cr.HalfNormal(1.0), None), NoisePrior(family=cr.HalfNormal(1.0))
    require_noise_off_the_plane(design, rows[:, None], noise, prior)
    require_scale_above_rounding(np.full((8, 1), 1.0), rows[:, None])
    with pytest.raises(NotIdentifiedError, match="10 of 12 rows lie on one plane exactly"):
        require_noise_off_the_plane(design, np.r_[np.zeros(10), 1.0, far][:, None], noise, prior)
