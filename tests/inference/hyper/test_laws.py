"""Second moments of what depends on θ may lie where θ hardly has mass: the lattice goes there, or tells."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import gammaln

import credo as cr
from credo.inference.hyper import integrate


@pytest.mark.parametrize(("df", "has_end"), [(3.0, True), (5.0, True), (40.0, True), (2.0, False), (1.0, False)])
def test_a_student_t_as_a_mixture(df, has_end):
    """x | t ~ Normal(0, eᵗ) with e²ᵗ inverse Gamma(ν/2, ν/2): its variance is ν/(ν − 2), and none for ν ≤ 2."""
    density = lambda t: (-df * t - 0.5 * df * np.exp(-2.0 * t))[:, 0]
    laws = lambda t: (np.zeros_like(t), np.exp(t))
    found = integrate(None, [0.0], batch=density, laws=laws)
    assert found.converged
    assert found.endless is not None
    assert found.endless.tolist() == [not has_end]
    if has_end:
        assert found.weights @ np.exp(2.0 * found.nodes[:, 0]) == pytest.approx(df / (df - 2.0), rel=1e-3)


def test_in_two_dimensions_only_the_tail_that_matters_is_followed():
    """Two of them, of which one moment alone has a heavy tail."""
    density = lambda t: -3.0 * t[:, 0] - 1.5 * np.exp(-2.0 * t[:, 0]) - 0.5 * t[:, 1] ** 2
    laws = lambda t: (np.zeros_like(t), np.exp(t * [1.0, 0.1]))
    plain, found = (integrate(None, [0.0, 0.0], batch=density, laws=each) for each in (None, laws))
    second = found.weights @ np.exp(2.0 * found.nodes * [1.0, 0.1])
    np.testing.assert_allclose(second, [3.0, np.exp(0.02)], rtol=1e-3)
    assert found.endless is not None
    assert not found.endless.any()
    assert found.n_evaluations < 2.5 * plain.n_evaluations


@pytest.mark.parametrize("n", [4, 5, 6, 12])
def test_few_rows_under_flat_priors(n):
    """The mean given n rows is a Student t with n − 2 degrees of freedom (σ itself is flat), σ² an inverse Gamma."""
    y = np.random.default_rng(n).standard_normal(n)
    m = cr.Model()
    mu, sigma = m.latent("mu", cr.Flat()), m.latent("sigma", cr.Flat(), low=0.0)
    m.observed("y", cr.Normal(mu, sigma), y)
    posterior, df, rss = m.fit(random_state=0), n - 2.0, float(np.sum((y - y.mean()) ** 2))
    mean = np.sqrt(rss / 2.0) * np.exp(gammaln((df - 1.0) / 2.0) - gammaln(df / 2.0))
    assert posterior.mean["mu"] == pytest.approx(y.mean(), abs=1e-6)
    assert posterior.mean["sigma"] == pytest.approx(mean, rel=1e-4)
    if df <= 2.0:
        assert np.isinf(posterior.sd["mu"])
        assert np.isinf(posterior.sd["sigma"])
    else:
        square = rss / (df - 2.0)
        assert posterior.sd["mu"] == pytest.approx(np.sqrt(square / n), rel=1e-3)
        assert posterior.sd["sigma"] == pytest.approx(np.sqrt(square - mean**2), rel=1e-3)
