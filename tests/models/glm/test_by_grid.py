"""One column and an intercept, by integrals over a grid: rows left out, average and conditional effects."""

import numpy as np
import pytest
from scipy import optimize, stats
from scipy.special import expit, logsumexp

import credo as cr

PRIOR_SD = 1.5
rng = np.random.default_rng(1)
x = rng.normal(size=30)
RATE = np.exp(1.0 + 0.6 * x)
COUNTS, AMOUNTS = rng.poisson(RATE).astype(float), rng.gamma(2.0, RATE / 2.0)
LABELS = (rng.random(30) < expit(0.5 + x)).astype(float)


def poisson(eta, y, t):
    return stats.poisson.logpmf(y, np.exp(eta))


def gamma(eta, y, t):
    return stats.gamma.logpdf(y, np.exp(t), scale=np.exp(eta - t))


def logistic(eta, y, t):
    return np.where(y > 0, -np.logaddexp(0.0, -eta), -np.logaddexp(0.0, eta))


def on_grid(family, y, log_shape=None, steps=61, reach=8.0):
    """(b, w[, log α]) (G, 2 or 3), log p(y_i | ·) (G, n) and the log prior (G,): b flat, w ~ N(0, 1.5²),
    α^(−½) ~ HalfNormal(1) where no log α is given. Axes are those of the curvature at the mode, by differences."""
    learned = family is gamma and log_shape is None

    def parts(points):
        t = points[:, 2:] if learned else np.array(log_shape or 0.0)
        log_prior = -0.5 * np.square(points[:, 1] / PRIOR_SD)
        if learned:  # u = e^{−t/2} is half-normal, |du/dt| = u/2
            log_prior = log_prior - 0.5 * np.exp(-points[:, 2]) - 0.5 * points[:, 2]
        return family(points[:, :1] + points[:, 1:2] * x, y, t), log_prior

    def negative(point):
        rows, log_prior = parts(point[None])
        return -float(rows.sum() + log_prior[0])

    start = np.array([0.5, 0.3, 0.5][: 3 if learned else 2])
    mode = optimize.minimize(negative, start, method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-9}).x
    h = 1e-3 * np.eye(mode.size)
    corner = lambda a, b: negative(mode + a + b) - negative(mode + a - b)
    curvature = np.array([[(corner(a, b) - corner(-a, b)) / 4e-6 for b in h] for a in h])
    axes = np.linalg.inv(np.linalg.cholesky(curvature))
    grid = np.stack(np.meshgrid(*[np.linspace(-reach, reach, steps)] * mode.size, indexing="ij"), axis=-1)
    points = mode + grid.reshape(-1, mode.size) @ axes
    return points, *parts(points)


@pytest.mark.parametrize(
    ("model", "family", "y", "log_shape"),
    [
        (cr.PoissonRegression, poisson, COUNTS, None),
        (lambda prior: cr.GammaRegression(prior=prior, shape=2.0), gamma, AMOUNTS, np.log(2.0)),
        pytest.param(cr.GammaRegression, gamma, AMOUNTS, None, marks=pytest.mark.slow),
    ],
    ids=["poisson", "gamma, known shape", "gamma"],
)
def test_a_row_left_out_is_the_integral_without_it(model, family, y, log_shape):
    _, rows, log_prior = on_grid(family, y, log_shape)
    total = rows.sum(axis=1) + log_prior
    exact = logsumexp(total) - logsumexp(total[:, None] - rows, axis=0)
    fitted = model(prior=cr.Normal(0.0, PRIOR_SD)).fit(x[:, None], y)
    found = fitted.leave_one_out(x[:, None], y)
    assert found.method == "psis"
    assert found.reliable
    # 8,192 points, k̂ < .5: a ratio's relative error is some 1/√8192 times its sd, which is below 1
    np.testing.assert_allclose(found.pointwise, exact, atol=0.05)
    np.testing.assert_allclose(found.elpd, exact.sum(), atol=0.05)
    hardest = np.argsort(exact)[:3]
    for i in hardest:
        rest = np.arange(x.size) != i
        refit = model(prior=cr.Normal(0.0, PRIOR_SD)).fit(x[rest, None], y[rest])
        np.testing.assert_allclose(refit.predict_distribution(x[[i], None]).log_prob(y[[i]]), exact[i], atol=0.02)


@pytest.mark.parametrize(
    ("model", "family", "y", "mean", "slope"),
    [
        (cr.LogisticRegression, logistic, LABELS, expit, lambda eta: expit(eta) * expit(-eta)),
        (cr.PoissonRegression, poisson, COUNTS, np.exp, np.exp),
    ],
    ids=["logistic", "poisson"],
)
def test_effects_are_integrals_of_derivatives(model, family, y, mean, slope):
    points, rows, log_prior = on_grid(family, y)
    log_p = rows.sum(axis=1) + log_prior
    weight = np.exp(log_p - logsumexp(log_p))
    b, w = points[:, :1], points[:, 1:]

    def compare(centre, sd, lower, upper, draws):
        exact = weight @ draws
        exact_sd = np.sqrt(weight @ np.square(draws - exact))
        # 1,000 points of a lattice: five standard errors of as many draws (20 numbers, false alarm 1e-5)
        assert abs(centre - exact) < 5 * exact_sd / np.sqrt(1000)
        assert abs(sd / exact_sd - 1.0) < 5 / np.sqrt(2000)
        assert abs(weight @ (draws < lower) - 0.05) < 5 * np.sqrt(0.05 * 0.95 / 1000)
        assert abs(weight @ (draws > upper) - 0.05) < 5 * np.sqrt(0.05 * 0.95 / 1000)

    fitted = model(prior=cr.Normal(0.0, PRIOR_SD)).fit(x[:, None], y)
    effect = cr.average_effects(fitted, x[:, None])["x0"]
    compare(effect.mean, effect.sd, effect.lower, effect.upper, (slope(b + w * x) * w).mean(axis=1))
    values = [-1.0, 0.0, 2.0]
    curve = cr.conditional_effect(fitted, x[:, None], "x0", values)
    for k, value in enumerate(values):
        at = [np.ravel(part[k])[-1] for part in (curve.mean, curve.sd, curve.lower, curve.upper)]
        compare(*at, mean(b + w * value)[:, 0])
