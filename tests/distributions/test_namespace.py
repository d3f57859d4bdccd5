"""Densities and cdfs use only what JAX has too: they run on a namespace that offers nothing else."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.special

import credo.distributions as d
from credo.distributions import scalar

#: scipy.special names that jax.scipy.special defines (JAX 0.4.35 documentation)
JAX_SPECIAL = ("betainc", "betaln", "digamma", "entr", "erf", "erfc", "erfinv", "expit", "gammainc", "gammaincc",
               "gammaln", "logit", "log_ndtr", "logsumexp", "ndtr", "ndtri", "polygamma", "xlogy", "xlog1py",
               "zeta")  # fmt: skip


class OnlyJax:
    name = "jax"
    special = SimpleNamespace(**{n: getattr(scipy.special, n) for n in JAX_SPECIAL})

    def __getattr__(self, attribute):
        return getattr(np, attribute)


FAMILIES = [
    d.Normal(1.0, 2.0),
    d.StudentT(3.0),
    d.Laplace(),
    d.Logistic(),
    d.Cauchy(),
    d.Uniform(),
    d.HalfNormal(),
    d.HalfCauchy(),
    d.Gamma(shape=30.0, rate=2.0),
    d.InverseGamma(shape=3.0, scale=2.0),
    d.Beta(0.3, 2.0),
    d.Exponential(2.0),
    d.LogNormal(),
    d.Pareto(3.0),
    d.Lomax(3.0),
    d.Bernoulli(0.3),
    d.Categorical([0.2, 0.8]),
    d.Binomial(5, 0.3),
    d.Poisson(3.0),
    d.NegativeBinomial(3.0, 2.0),
    d.Geometric(0.3),
    d.BetaBinomial(5, 1.0, 2.0),
    d.Truncated(d.Normal(), 0.0, 1.0),
    d.Mixture([0.3, 0.7], [d.Normal(), d.Normal(2.0)]),
]


@pytest.mark.parametrize("family", FAMILIES, ids=[type(f).__name__ for f in FAMILIES])
def test_one_formula(family, monkeypatch):
    x = np.array([-1.0, 0.0, 0.5, 1.0, 2.0, np.nan, np.inf])
    expected = family.log_prob(x), family.cdf(x), family.survival(x)
    monkeypatch.setattr(scalar, "namespace", lambda *values: OnlyJax())
    np.testing.assert_allclose(family.log_prob(x), expected[0], rtol=1e-14)
    np.testing.assert_allclose(family.cdf(x), expected[1], rtol=1e-12)
    np.testing.assert_allclose(family.survival(x), expected[2], rtol=1e-12)


def test_lists_integers_and_nodes():
    assert d.Normal(0, 1).log_prob([0, 1]).shape == (2,)
    assert d.Poisson(3).prob(2) == pytest.approx(4.5 * np.exp(-3))

    class Node:
        __array_ufunc__ = None

    node = Node()
    assert d.Normal(node, 1.0).mean is node
    assert d.Gamma(shape=node, rate=node).shape is node
    assert d.Uniform(0.0, node).high is node
