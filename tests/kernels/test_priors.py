"""The slope of a prior in the logs of hyperparameters, against formulas worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

import credo as cr
from credo.kernels import RBF, Linear, White

V = np.array([0.4, 2.5])
# θ ↦ log p(e^θ) + θ, differentiated
BY_HAND = [
    (cr.LogNormal(0.3, 0.8), -(np.log(V) - 0.3) / 0.64),
    (cr.Gamma(shape=3.0, rate=2.0), 3.0 - 2.0 * V),
    (cr.InverseGamma(shape=3.0, scale=2.0), -3.0 + 2.0 / V),
    (cr.HalfNormal(1.5), 1.0 - V**2 / 2.25),
    (cr.HalfCauchy(1.5), 1.0 - 2.0 * V**2 / (V**2 + 2.25)),
    (cr.Exponential(rate=0.7), 1.0 - 0.7 * V),
    (cr.Normal(1.0, 0.1), 1.0 - V * (V - 1.0) / 0.01),
    (cr.Uniform(0.1, 3.0), np.ones(2)),
    (cr.Uniform(0.4, 2.5), np.ones(2)),  # on the edges: the slope from inside
    (cr.Laplace(1.0, 0.5), 1.0 - V * np.sign(V - 1.0) / 0.5),
    (cr.Flat(), np.ones(2)),
    (cr.Gamma(shape=np.array([3.0, 5.0]), rate=2.0), np.array([3.0, 5.0]) - 2.0 * V),  # one for each column
    (cr.MultivariateNormal([1.0, 2.0], [[1.0, 0.5], [0.5, 2.0]]),
     1.0 - V * np.linalg.solve([[1.0, 0.5], [0.5, 2.0]], V - [1.0, 2.0])),
]  # fmt: skip


@pytest.mark.parametrize(
    ("prior", "expected"), BY_HAND, ids=[f"{type(p).__name__}{i}" for i, (p, _) in enumerate(BY_HAND)]
)
def test_any_family(prior, expected):
    kernel = RBF(V, priors={"lengthscale": prior})
    np.testing.assert_allclose(kernel.log_prior_gradient(), expected, rtol=1e-8, atol=1e-8)


def test_order_and_what_has_none():
    gamma = cr.Gamma(shape=3.0, rate=2.0)
    kernel = (
        RBF(V) + 2.0 * Linear(0.5, priors={"lengthscale": gamma}) + White(fixed="variance", priors={"variance": gamma})
    )
    assert kernel.names == ("0.lengthscale[0]", "0.lengthscale[1]", "1.variance", "1.kernel.lengthscale")
    np.testing.assert_allclose(kernel.log_prior_gradient(), [0.0, 0.0, 0.0, 2.0], atol=1e-9)
    assert RBF(fixed="lengthscale").log_prior_gradient().shape == (0,)


def test_outside_the_support_there_is_no_slope():
    kernel = RBF(2.0, priors={"lengthscale": cr.Uniform(0.0, 1.0)})
    assert kernel.log_prior() == -np.inf
    assert np.isnan(kernel.log_prior_gradient()).all()
