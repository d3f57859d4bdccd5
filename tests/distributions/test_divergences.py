"""KL: closed forms against quadrature and sums, identities, and pairs without a closed form."""

import numpy as np
import pytest

import credo.distributions as d
from credo.distributions.divergences import _numerical, kl
from credo.errors import UnavailableError

PAIRS = [
    (d.Normal(0, 1), d.Normal(1, 2)),
    (d.LogNormal(0, 1), d.LogNormal(1, 2)),
    (d.HalfNormal(1), d.HalfNormal(3)),
    (d.Laplace(0, 1), d.Laplace(1, 3)),
    (d.Cauchy(0, 1), d.Cauchy(2, 3)),
    (d.Uniform(0, 1), d.Uniform(-1, 2)),
    (d.Gamma(shape=2, rate=1), d.Gamma(shape=3, rate=0.5)),
    (d.InverseGamma(shape=2, scale=1), d.InverseGamma(shape=3, scale=0.5)),
    (d.Exponential(1), d.Exponential(3)),
    (d.Beta(2, 3), d.Beta(0.5, 2)),
    (d.Pareto(3, 2), d.Pareto(1, 1)),
    (d.Bernoulli(0.3), d.Bernoulli(0.6)),
    (d.Binomial(5, 0.3), d.Binomial(5, 0.6)),
    (d.Categorical([0.3, 0.7]), d.Categorical([0.5, 0.5])),
    (d.Poisson(3), d.Poisson(4)),
    (d.Geometric(0.3), d.Geometric(0.5)),
]


@pytest.mark.parametrize(("p", "q"), PAIRS, ids=[type(p).__name__ for p, _ in PAIRS])
def test_closed_form(p, q):
    np.testing.assert_allclose(kl(p, q), _numerical(p, q), rtol=1e-10)
    assert abs(kl(p, p)) <= 1e-15
    assert kl(q, p) >= 0


@pytest.mark.parametrize(
    ("p", "q", "fisher"),
    [
        (d.Gamma(shape=1e8, rate=1e8), d.Gamma(shape=1e8, rate=1e8 * (1 + 1e-7)), 1e8),
        (d.Normal(1e8, 1), d.Normal(1e8, 1 + 1e-7), 2.0),
        (d.Poisson(1e10), d.Poisson(1e10 * (1 + 1e-7)), 1e10),
    ],
)
def test_small_divergences_keep_their_digits(p, q, fisher):
    """KL ≈ ½ I ε² for a relative change ε of one parameter; the next term is ε smaller."""
    np.testing.assert_allclose(kl(p, q), 0.5 * fisher * 1e-14, rtol=1e-6)


def test_pairs_without_a_closed_form():
    np.testing.assert_allclose(kl(d.Beta(2, 2), d.Uniform()), -d.Beta(2, 2).entropy, rtol=1e-12)
    same = d.Gamma(shape=1.0, rate=3.0), d.Exponential(3.0)
    np.testing.assert_allclose(*(kl(d.Exponential(2.0), q) for q in same), rtol=1e-10)
    k, p, q = np.arange(5), d.Binomial(4, 0.2), d.Poisson(1.0)
    np.testing.assert_allclose(kl(p, q), np.sum(p.prob(k) * (p.log_prob(k) - q.log_prob(k))), rtol=1e-13)
    mixed = d.Mixture([0.5, 0.5], [d.Normal(0, 1), d.Normal(0, 1)])
    assert abs(kl(mixed, d.Normal(0, 1))) < 1e-12
    batch = kl(d.Normal([0.0, 1.0], 1.0), d.Laplace(0.0, [[1.0], [2.0]]))
    assert batch.shape == (2, 2)
    np.testing.assert_allclose(batch[1, 0], kl(d.Normal(0.0, 1.0), d.Laplace(0.0, 2.0)), rtol=1e-12)


def test_infinite_and_unavailable():
    assert kl(d.Normal(0, 1), d.Exponential(1.0)) == np.inf
    assert kl(d.Uniform(0, 2), d.Uniform(0, 1)) == np.inf
    assert kl(d.Binomial(4, 0.2), d.Binomial(3, 0.2)) == np.inf
    assert kl(d.Binomial(3, 0.2), d.Binomial(4, 0.2)) < np.inf
    assert kl(d.Bernoulli(0.5), d.Bernoulli(0.0)) == np.inf
    assert kl(d.Poisson(1.0), d.Poisson(0.0)) == np.inf
    with pytest.raises(UnavailableError, match="discrete"):
        kl(d.Poisson(1.0), d.Normal(0, 1))
