"""Derivatives of a block against finite differences: one predictor, softmax, auxiliaries."""

import numpy as np
import pytest

import credo as cr
from credo.blocks.source import Block
from credo.distributions.likelihoods import CategoricalLogit, GammaLog, NegativeBinomialLog, OrdinalLogit, PoissonLog
from credo.models.glm.equations import Design, accumulate, log_likelihoods, values_and_gradients
from credo.models.glm.prior import GlmPrior, PredictorPrior, _between_knots
from credo.models.priors import resolve_prior

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3)) + 1.0
Y = RNG.integers(0, 3, size=30)
CASES = {
    "one predictor": (PoissonLog(), Y),
    "dispersion": (NegativeBinomialLog(), Y),
    "shape": (GammaLog(), Y + 0.5),
    "cut-points": (OrdinalLogit(3), Y),
    "softmax": (CategoricalLogit(3), Y),
}


@pytest.mark.parametrize("name", CASES)
def test_derivatives_and_batches_agree(name):
    likelihood, y = CASES[name]
    intercept = name != "cut-points"
    design = Design(likelihood, intercept, np.ones(3), np.array([1.0, 2.0, 0.5]))
    offset = None if name == "softmax" else np.linspace(-0.2, 0.2, 30)
    block = Block(design.rows(X), y if name == "softmax" else y.astype(float), RNG.random(30), 0, offset)
    theta = 0.3 * RNG.normal(size=design.size)
    exact = accumulate(block, theta, design)
    step = 1e-5
    for i, e in enumerate(np.eye(design.size) * step):
        up, down = accumulate(block, theta + e, design), accumulate(block, theta - e, design)
        np.testing.assert_allclose(exact.gradient[i], (up.value - down.value) / (2 * step), rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(exact.curvature[i], (down.gradient - up.gradient) / (2 * step), rtol=1e-5, atol=1e-6)
    points = theta + 0.1 * RNG.normal(size=(7, design.size))
    each = [accumulate(block, point, design) for point in points]
    values, gradients = values_and_gradients(block, points, design)
    np.testing.assert_allclose(values, [one.value for one in each], rtol=1e-12)
    np.testing.assert_allclose(log_likelihoods(block, points, design), values, rtol=1e-12)
    np.testing.assert_allclose(gradients, [one.gradient for one in each], rtol=1e-9, atol=1e-12)
    # raw Θ on raw rows are the same predictors
    raw = Block(design.raw().rows(X), block.y, block.weights, 0, offset)
    np.testing.assert_allclose(log_likelihoods(raw, design.to_raw(points), design.raw()), values, rtol=1e-10)


@pytest.mark.parametrize("p", [1, 3, 50])
def test_the_integral_over_the_learned_scale_is_looked_up_between_knots(p):
    """Thousands of values of a function of one number are cubics through fewer, to a millionth of a nat."""
    whitening = resolve_prior("", cr.Normal(0, 1.0), np.ones(p)).whitening
    prior = GlmPrior((PredictorPrior(whitening, True, None, False, np.zeros(p)),), gain=p / 2.0)
    q = np.exp(np.random.default_rng(p).uniform(-20.0, 6.0, 4096))
    for function in (prior._scale_integral, prior._mean_log_scale):
        value, slope = function(q)
        np.testing.assert_allclose(_between_knots(function, q), value, atol=1e-6)
        step = 1e-4 * q
        np.testing.assert_allclose(
            slope * q, q * (function(q + step)[0] - function(q - step)[0]) / (2.0 * step), atol=1e-6
        )
        np.testing.assert_allclose(_between_knots(function, q[:9]), value[:9], rtol=1e-12)
