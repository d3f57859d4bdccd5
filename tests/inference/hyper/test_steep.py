"""Modes of steep densities, where BFGS's curvature collapses."""

import numpy as np

import credo as cr
from credo.inference.hyper.density import Density
from credo.inference.hyper.mode import find_mode


def test_the_mode_of_a_steep_density_is_a_mode():
    """exp links of large counts behind logits of wide uniform priors: slopes of 1e4 beside curvatures of 1e-3."""
    rng = np.random.default_rng(3)
    t = np.linspace(-1.7, 1.7, 40)
    X = np.stack([np.ones(40), t, t**2, t**3], axis=1)
    y = rng.poisson(np.exp(X @ [4.3, 1.25, 0.07, -0.23]))
    half = np.array([20.0, 10.0, 10.0, 10.0])

    def both(z: np.ndarray) -> tuple[float, np.ndarray]:
        beta = half * np.tanh(z)
        eta = X @ beta
        rate = np.exp(eta)
        return float(y @ eta - rate.sum()), (X.T @ (y - rate)) * half * (1.0 - np.tanh(z) ** 2)

    def rows(z: np.ndarray) -> np.ndarray:
        return np.array([both(row)[0] for row in z])

    for start in (np.zeros(4), np.full(4, 0.3), np.array([0.1, -0.4, 0.2, 0.5])):
        mode, _, inverse = find_mode(Density(None, rows, both), start, np.ones(4))
        slope = both(mode)[1]
        assert slope @ inverse @ slope < 0.02  # within .15 sd


def test_a_model_like_that_is_certified():
    rng = np.random.default_rng(3)
    t = np.linspace(-1.7, 1.7, 40)
    count = rng.poisson(np.exp(4.3 + 1.25 * t + 0.07 * t**2 - 0.23 * t**3))
    m = cr.Model()
    alpha = m.latent("alpha", cr.Uniform(-20, 20))
    beta = m.latent("beta", cr.Uniform(-10, 10), shape=3)
    x = m.data("x", np.stack([t, t**2, t**3], axis=1))
    m.observed("y", cr.Poisson(cr.math.exp(alpha + x @ beta)), count)
    fit = m.fit(random_state=0)
    assert fit.result.ok
    assert abs(fit.mean["alpha"] - 4.3) < 0.2
