"""ElasticNet against the contract of scalar families; Horseshoe and ARD by what they promise."""

import numpy as np
import pytest
from scipy import integrate, stats

from credo.distributions.ard import ARD
from credo.distributions.elastic_net import ElasticNet
from credo.distributions.horseshoe import Horseshoe
from credo.errors import ParameterError, UnavailableError
from credo.testing.families import SCALAR_CHECKS, check_bad_parameters


@pytest.mark.parametrize("check", SCALAR_CHECKS)
@pytest.mark.parametrize(
    "scales", [(1.0, 1.0), (1.0, 0.05), (1.0, 2.99), (1.0, 3.01), (1.0, 30.0), (1e-3, 1e4), (3.0, 1e-3)]
)
def test_contract(check, scales):
    check(ElasticNet(*scales))


def test_density_is_the_product_of_a_laplace_and_a_normal():
    x = np.linspace(-3, 3, 7)
    product = stats.laplace(scale=0.7).pdf(x) * stats.norm(scale=1.3).pdf(x)
    total = integrate.quad(
        lambda t: stats.laplace(scale=0.7).pdf(t) * stats.norm(scale=1.3).pdf(t), -20, 20, points=[0]
    )[0]
    np.testing.assert_allclose(ElasticNet(0.7, 1.3).prob(x), product / total, rtol=1e-10)


def test_bad_parameters():
    check_bad_parameters(
        ElasticNet, {"laplace_scale": 1.0, "normal_sd": 1.0}, {"laplace_scale": [0.0, -1.0], "normal_sd": [0.0]}
    )


def test_horseshoe_draws_share_a_scale():
    """Given τ the coefficients are independent; the τ of a row is seen in all of its sizes. Correlation of log sizes is
    Var log τ / (Var log τ + Var log λ + Var log |z|) = 0.33; false alarm < 1e-6."""
    w = np.log(np.abs(Horseshoe(2.0).sample((20_000, 2), 0)))
    quarter_pi = np.pi**2 / 4.0  # variance of the log of a half-Cauchy
    of_normal = np.pi**2 / 8.0  # variance of log |z|
    expected = quarter_pi / (2.0 * quarter_pi + of_normal)
    assert abs(np.corrcoef(w.T)[0, 1] - expected) < 0.04


def test_what_has_no_density_says_so():
    for family in (Horseshoe(1.0), ARD()):
        with pytest.raises(UnavailableError):
            family.log_prob(0.0)
    for family in (Horseshoe(), ARD()):
        with pytest.raises(UnavailableError):
            family.sample(3, 0)
    with pytest.raises(ParameterError, match="scale"):
        Horseshoe(-1.0)
