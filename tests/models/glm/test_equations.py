"""Derivatives of a block against finite differences: one predictor, several with designs of their own, auxiliaries."""

from dataclasses import dataclass

import numpy as np
import pytest

from credo.blocks.source import Block
from credo.distributions.likelihoods import CategoricalLogit, GammaLog, NegativeBinomialLog, OrdinalLogit, PoissonLog
from credo.distributions.likelihoods.base import Likelihood
from credo.models.glm.equations import Design, accumulate, log_likelihoods, values_and_gradients


@dataclass(frozen=True)
class NormalLogScale(Likelihood):
    """y ~ N(η_0, e^(2 η_1)): two linear predictors."""

    def log_prob(self, y, eta, psi=None):
        return -0.5 * np.log(2 * np.pi) - eta[..., 1] - 0.5 * np.square((y - eta[..., 0]) * np.exp(-eta[..., 1]))

    def joint_derivatives(self, y, eta, psi=None, order=2):
        inverse = np.exp(-2.0 * eta[..., 1])
        r = y - eta[..., 0]
        first = np.stack([r * inverse, np.square(r) * inverse - 1.0], axis=-1)
        second = np.empty((*first.shape, 2))
        second[..., 0, 0], second[..., 1, 1] = -inverse, -2.0 * np.square(r) * inverse
        second[..., 0, 1] = second[..., 1, 0] = -2.0 * r * inverse
        return (self.log_prob(y, eta), first, second)[: order + 1]


RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3)) + 1.0
Y = RNG.integers(0, 3, size=30)
CASES = {
    "one predictor": (PoissonLog(), Y, None),
    "dispersion": (NegativeBinomialLog(), Y, None),
    "shape": (GammaLog(), Y + 0.5, None),
    "cut-points": (OrdinalLogit(3), Y, None),
    "softmax": (CategoricalLogit(3), Y, None),
    "two predictors": (NormalLogScale(), Y * 1.0, (np.array([0, 1, 2]), np.array([1]))),
}


@pytest.mark.parametrize("name", CASES)
def test_derivatives_and_batches_agree(name):
    likelihood, y, columns = CASES[name]
    intercept = name != "cut-points"
    design = Design(likelihood, intercept, np.ones(3), np.array([1.0, 2.0, 0.5]), columns=columns)
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
