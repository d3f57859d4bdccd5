"""Learned prior scales know no units: neither those of y under any noise, nor those of the rung that found them."""

from functools import partial

import numpy as np
import pytest
from scipy import special, stats

import credo as cr
from credo.diagnostics import mcse
from credo.inference.gibbs_chains import run_chains
from credo.models.linear import gibbs, robust

LEARNED = [cr.Horseshoe(), cr.Laplace(0, None), cr.StudentT(3.0, 0, None), cr.Normal(0, None), None]
ROWS = np.linspace(0.3, 0.9, 12)
NOISES = {
    "known": lambda k: cr.noise.Normal(0.5 * k),
    "rows": lambda k: cr.noise.Normal(ROWS * k),
    "learned": lambda k: None,
    "student-t": lambda k: cr.noise.StudentT(4.0, 0.5 * k),
}


def small(n=12, p=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, X @ np.linspace(1.0, -0.5, p) + 0.5 * rng.normal(size=n) + 1.0


# -- units of y --------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::credo.errors.ConvergenceWarning")
@pytest.mark.parametrize("prior", LEARNED, ids=repr)
@pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)
def test_units_of_y_do_not_matter(prior, noise, monkeypatch):
    """Chains of one seed take the same steps in any unit, but for rounding: a few of them show it, converged or not."""
    for module in (gibbs, robust):
        monkeypatch.setattr(module, "run_chains", partial(run_chains, warm_up=20, draws=40, budget=40))
    X, y = small()

    def figures(k):
        model = cr.LinearRegression(prior=prior, noise=noise(k)).fit(X, y * k)
        return np.hstack([model.coef_, model.intercept_, model.posterior_.sd, model.prior_scale_]) / k

    for k in (1e-3, 1e3):
        np.testing.assert_allclose(figures(k), figures(1.0), rtol=1e-8)


def test_rows_of_equal_noise_are_rows_of_known_noise():
    X, y = small()
    for prior in LEARNED:
        one, each = (
            cr.LinearRegression(prior=prior, noise=cr.noise.Normal(scale)).fit(X, y)
            for scale in (0.7, np.full(len(y), 0.7))
        )
        np.testing.assert_allclose(each.coef_, one.coef_, rtol=1e-8)
        np.testing.assert_allclose(each.prior_scale_, one.prior_scale_, rtol=1e-8)


@pytest.mark.parametrize("noise", [20.0, np.linspace(8.0, 40.0, 8)], ids=["one", "rows"])
@pytest.mark.parametrize("prior", LEARNED[:3], ids=repr)
def test_known_noise_against_quadrature(prior, noise):
    """One coefficient w, its scale s on a grid. The unit is the noise of mean precision; 6 × (mean, sd) at 4 Monte
    Carlo errors: a false alarm in 1,300."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=8)
    y = 0.6 * x + 1.0 + 0.5 * rng.normal(size=8)
    model = cr.LinearRegression(prior=prior, noise=cr.noise.Normal(noise)).fit(x[:, None], y)

    precision = np.broadcast_to(1.0 / np.square(noise), 8)
    a, b = (v - np.average(v, weights=precision) for v in (x, y))
    gram, cross = precision @ a**2, precision @ (a * b)
    t = np.linspace(-16.0, 16.0, 161)  # log of s · sd(x) / noise; beyond lies 1e-7 of the half-Cauchy
    s = np.exp(t) / np.sqrt(gram / 8.0)
    edges = np.linspace(-12.0, 12.0, 1201) / np.sqrt(gram)
    w = 0.5 * (edges[1:] + edges[:-1])
    if isinstance(prior, cr.Horseshoe):  # λτ, the product of two half-Cauchys
        weight, law = np.where(t == 0.0, 1.0, t / np.sinh(np.where(t == 0.0, 1.0, t))), stats.norm(0.0, s)
    else:
        weight = 1.0 / np.cosh(t)
        law = stats.laplace(0.0, s) if isinstance(prior, cr.Laplace) else stats.t(3.0, 0.0, s)
    mass = np.diff(law.cdf(edges[:, None]), axis=0) @ weight * np.exp(cross * w - 0.5 * gram * w**2)
    mean = mass @ w / mass.sum()
    sd = np.sqrt(mass @ (w - mean) ** 2 / mass.sum())
    chains = model.posterior_.chains.values["coef"]
    assert abs(model.coef_[0] - mean) < 4.0 * mcse(chains)[0]
    assert abs(model.posterior_.sd[0] - sd) < 4.0 * mcse(chains, "sd")[0]


# -- units of the scale ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prior", [cr.Normal(0, None), None], ids=repr)
@pytest.mark.parametrize("noise", [None, cr.noise.Normal(0.5), cr.noise.Normal(scale_prior=cr.HalfNormal(1))], ids=repr)
def test_prior_scale_is_one_number_on_every_rung(prior, noise):
    """6 comparisons at 4 Monte Carlo errors: a false alarm in 2,600."""
    X, y = small(40, 3)
    exact = cr.LinearRegression(prior=prior, noise=noise).fit(3.0 * X, y)
    drawn = cr.LinearRegression(prior=prior, noise=noise, inference="gibbs").fit(3.0 * X, y)
    draws = drawn.posterior_.chains.values["prior_scale"]
    assert abs(drawn.prior_scale_ - exact.prior_scale_) < 4.0 * mcse(draws)


@pytest.mark.parametrize("known", [True, False])
def test_prior_scale_against_quadrature(known):
    """E[s | y], s = σ√r: the trapezoid rule over log √r, σ² integrated in closed form."""
    X, y = small(12, 3)
    model = cr.LinearRegression(prior=cr.Normal(0, None), noise=cr.noise.Normal(0.7 if known else None)).fit(X, y)
    unit = 0.7 if known else 1.0
    A, b = (X - X.mean(axis=0)) / unit, (y - y.mean()) / unit
    values, vectors = np.linalg.eigh(A.T @ A)
    t = np.linspace(-30.0, 30.0, 20001)
    shrunk = 1.0 / (1.0 + np.exp(2.0 * t)[:, None] * values)
    square = b @ b - (1.0 - shrunk) @ (np.square(vectors.T @ A.T @ b) / values)
    of_y = np.exp(-0.5 * square) if known else square**-5.5
    sigma = 1.0 if known else np.sqrt(0.5 * square) * np.exp(special.gammaln(5.0) - special.gammaln(5.5))
    density = of_y * np.sqrt(shrunk.prod(axis=1)) / np.cosh(t + 0.5 * np.log(values.sum() / 12))
    np.testing.assert_allclose(model.prior_scale_, density @ (sigma * np.exp(t)) / density.sum(), rtol=1e-5)


def test_prior_scale_without_a_mean_is_infinite():
    model = cr.LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0])  # one row beside the intercept: σ is Cauchy-tailed
    assert model.prior_scale_ == np.inf
    assert np.isfinite(model.coef_).all()
