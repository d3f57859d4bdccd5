"""Draws of a costly density, from its interpolation between nodes: against closed forms and against quadrature."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import gamma, kstest

import credo as cr
from credo.inference.hyper import integrate
from credo.inference.hyper.splines import Splines
from credo.program.collapsed import Collapsed


@pytest.mark.parametrize("a", [[0.3], [0.7], [0.5, 9.0], [0.7, 4.0, 9.0]])
def test_draws_of_logarithms_of_scales_near_zero(a):
    """Kolmogorov-Smirnov on 8 margins at 1e-5, and means of exp θ, where its mass is far from θ's, within 4.5 standard
    errors: false-alarm rate 1.4e-4."""
    a = np.array(a)
    density = lambda t: np.sum(a * t - np.exp(t) - gammaln(a), axis=-1)
    found = integrate(None, np.zeros(len(a)), batch=density, tolerance=1e-2, also=np.exp)
    spent = found.n_evaluations
    z = found.sample(4000, np.random.default_rng(1), exact=False)
    assert found.n_evaluations == spent
    for k, shape in enumerate(a):
        assert kstest(np.exp(z[:, k]), lambda x, shape=shape: gamma.cdf(x, shape)).pvalue > 1e-5
        assert abs(np.exp(z[:, k]).mean() - shape) < 4.5 * np.sqrt(shape / 4000)
    ratio = np.exp(density(z) - found.interpolated(z))
    assert ratio.std() / ratio.mean() < 0.1
    np.testing.assert_allclose(found.weights @ np.exp(found.nodes), a, atol=1e-2 * np.sqrt(a).max())


def test_functions_of_hyperparameters_settle_too():
    """exp θ of a Gamma(0.3) variable: lattices agree on θ long before they do on it; one of no variance is let be."""
    density = lambda t: np.sum(0.3 * t - np.exp(t) - gammaln(0.3), axis=-1)
    errors = []
    for also in (None, np.exp):
        found = integrate(None, [0.0], batch=density, tolerance=1e-2, also=also)
        second = found.weights @ np.exp(2.0 * found.nodes[:, 0])
        errors.append(abs(np.sqrt(second - (found.weights @ np.exp(found.nodes[:, 0])) ** 2) / np.sqrt(0.3) - 1.0))
    assert errors[0] > 0.02
    assert errors[1] < 0.01
    cauchy = lambda t: -np.logaddexp(t[:, 0], -t[:, 0])
    assert integrate(None, [0.0], batch=cauchy, also=np.exp).converged


@pytest.mark.parametrize("d", [1, 2, 3])
def test_splines_are_exact_for_parabolas(d):
    """Where some nodes are missing, too: they are extrapolated."""
    rng = np.random.default_rng(d)
    units = np.stack([each.ravel() for each in np.meshgrid(*[np.arange(-5, 6)] * d)], axis=1) * 8
    root = np.eye(d) + 0.2 * rng.normal(size=(d, d))
    log_p = lambda at: -np.square(at @ root / 16.0).sum(axis=1)
    kept = log_p(units) > -9.0
    splines = Splines(units[kept], log_p(units[kept]), 8, log_p(units[kept]) > -6.0)
    at = rng.uniform(-16.0, 16.0, size=(200, d))
    np.testing.assert_allclose(splines(at), log_p(at), atol=0.02)


def model(seed, groups, n, level):
    rng = np.random.default_rng(seed)
    x, g = rng.normal(size=n), np.arange(n) % groups
    y = x + np.exp(0.4 * x) * rng.normal(size=n) + level * rng.normal(size=groups)[g]
    return {"x": x, "y": y, "g": g, "h": np.arange(n) // 3 % 5}


@pytest.mark.parametrize(
    ("formulas", "table"),
    [
        (["y ~ x + (1|g)", "sigma ~ x"], model(1, 4, 40, 0.0)),  # a scale near 0
        # few groups: a heavy tail upwards
        pytest.param(["y ~ x + (1|g)", "sigma ~ x"], model(4, 2, 30, 2.0), marks=pytest.mark.slow),
    ],
)
def test_draws_of_costly_models_agree_with_quadrature(formulas, table, monkeypatch):
    """Means within 4.5 standard errors, 6 figures: false-alarm rate 4e-5; and a certificate that has looked."""
    monkeypatch.setattr(Collapsed, "is_quick", False)  # as if its density were dear
    fit = cr.regress(formulas, table, random_state=0, draws=2000).posterior
    told = fit.result.certificate
    assert told["interpolation_error"] < 0.1 or told["pareto_k"] < 0.7
    assert fit.result.ok
    if "pareto_k" in told:  # draws repeat: they are worth what the weights are
        assert fit.summary().columns["ess_bulk"].max() <= told["effective"] < 2000
    for name in ("sd(Intercept | g)", "sigma_Intercept", "sigma_coefficients"):
        drawn = fit.values[name]
        assert abs(drawn.mean() - np.ravel(fit.mean[name])[0]) < 4.5 * drawn.std() / np.sqrt(2000)
