"""The shared contract on every scalar family, at ordinary and extreme parameters, and against SciPy's laws."""

import numpy as np
import pytest
from scipy import stats

import credo.distributions as d
from credo.testing.families import SCALAR_CHECKS, check_bad_parameters, check_fit, check_from_moments

# family, SciPy's law of the same parameters
CASES = [
    (d.Normal(1.0, 2.0), stats.norm(1, 2)),
    (d.Normal(-1e8, 1e-2), stats.norm(-1e8, 1e-2)),
    (d.StudentT(0.7, 1.0, 2.0), stats.t(0.7, 1, 2)),
    (d.StudentT(1.5, 0.0, 1.0), stats.t(1.5)),
    (d.StudentT(5.5, 1.0, 2.0), stats.t(5.5, 1, 2)),
    (d.StudentT(1e6, 0.0, 1.0), stats.t(1e6)),
    (d.Laplace(1.0, 2.0), stats.laplace(1, 2)),
    (d.Logistic(-1.0, 0.5), stats.logistic(-1, 0.5)),
    (d.Cauchy(1.0, 2.0), stats.cauchy(1, 2)),
    (d.Uniform(-1.0, 3.0), stats.uniform(-1, 4)),
    (d.HalfNormal(2.0), stats.halfnorm(scale=2)),
    (d.HalfCauchy(2.0), stats.halfcauchy(scale=2)),
    (d.Gamma(shape=0.05, rate=2.0), stats.gamma(0.05, scale=0.5)),
    (d.Gamma(shape=1.0, rate=2.0), stats.gamma(1.0, scale=0.5)),
    (d.Gamma(shape=3.0, scale=2.0), stats.gamma(3.0, scale=2)),
    (d.Gamma(shape=2500.0, rate=500.0), stats.gamma(2500.0, scale=1 / 500)),
    (d.InverseGamma(shape=0.6, scale=2.0), stats.invgamma(0.6, scale=2)),
    (d.InverseGamma(shape=9.0, scale=2.0), stats.invgamma(9.0, scale=2)),
    (d.Beta(0.3, 1.7), stats.beta(0.3, 1.7)),
    (d.Beta(1.0, 3.0), stats.beta(1, 3)),
    (d.Beta(5.0517, 13.6583), stats.beta(5.0517, 13.6583)),
    (d.Beta(3e3, 9e3), stats.beta(3e3, 9e3)),
    (d.Exponential(0.2), stats.expon(scale=5)),
    (d.LogNormal(0.5, 0.4), stats.lognorm(0.4, scale=np.exp(0.5))),
    (d.LogNormal(-3.0, 1.5), stats.lognorm(1.5, scale=np.exp(-3.0))),
    (d.Pareto(0.8, 2.0), stats.pareto(0.8, scale=2)),
    (d.Pareto(9.0, 2.0), stats.pareto(9.0, scale=2)),
    (d.Lomax(1.8, 2.0), stats.lomax(1.8, scale=2)),
    (d.Lomax(9.0, 2.0), stats.lomax(9.0, scale=2)),
    (d.Truncated(d.Normal(0.0, 1.0), -0.5, 2.0), stats.truncnorm(-0.5, 2.0)),
    (d.Truncated(d.Normal(0.0, 1.0), 6.0, np.inf), None),
    (d.Bernoulli(0.3), stats.bernoulli(0.3)),
    (d.Categorical([0.2, 0.0, 0.5, 0.3]), None),
    (d.Binomial(10, 0.3), stats.binom(10, 0.3)),
    (d.Binomial(5000, 0.999), stats.binom(5000, 0.999)),
    (d.Poisson(0.2), stats.poisson(0.2)),
    (d.Poisson(1234.5), stats.poisson(1234.5)),
    (d.NegativeBinomial(10.0, 2.0), stats.nbinom(2.0, 2.0 / 12.0)),
    (d.NegativeBinomial(0.5, 0.1), stats.nbinom(0.1, 0.1 / 0.6)),
    (d.NegativeBinomial(50.0, 1e4), stats.nbinom(1e4, 1e4 / 10050.0)),
    (d.Geometric(0.3), stats.geom(0.3, loc=-1)),
    (d.BetaBinomial(12, 2.0, 3.0), stats.betabinom(12, 2, 3)),
    (d.BetaBinomial(40, 0.2, 0.1), stats.betabinom(40, 0.2, 0.1)),
    (d.Mixture([0.3, 0.7], [d.Normal(-1.0, 1.0), d.Normal(2.0, 0.5)]), None),
    (d.Mixture([0.2, 0.0, 0.8], [d.Gamma(shape=2, rate=1), d.Cauchy(), d.LogNormal(1.0, 0.3)]), None),
    (d.Mixture([0.4, 0.6], [d.Poisson(0.0), d.Poisson(7.0)]), None),
    (d.Truncated(d.Poisson(3.0), 2, 9), None),
    (d.Truncated(d.Gamma(shape=0.5, rate=1.0), 0.0, 3.0), None),
]
IDS = [repr(f).replace("\n", " ")[:60] for f, _ in CASES]


@pytest.mark.parametrize("check", SCALAR_CHECKS, ids=lambda c: c.__name__)
@pytest.mark.parametrize("family", [f for f, _ in CASES], ids=IDS)
def test_contract(family, check):
    check(family)


@pytest.mark.parametrize(("family", "law"), [c for c in CASES if c[1]], ids=[i for i, c in zip(IDS, CASES) if c[1]])
def test_against_scipy(family, law):
    q = np.array([1e-5, 0.01, 0.2, 0.5, 0.8, 0.99, 1 - 1e-5])
    x = np.unique(law.ppf(q))
    log_prob = law.logpmf(x) if family.support.is_discrete else law.logpdf(x)
    np.testing.assert_allclose(family.log_prob(x), log_prob, rtol=2e-9, atol=1e-8)
    np.testing.assert_allclose(family.cdf(x), law.cdf(x), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(family.survival(x), law.sf(x), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(family.entropy, law.entropy(), rtol=1e-6, atol=1e-7)
    mean, variance = law.stats("mv")
    if np.isfinite(variance):
        np.testing.assert_allclose(family.mean, mean, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(family.variance, variance, rtol=1e-6)


FITS = [
    (d.Normal(1.0, 2.0), {}, None),
    (d.StudentT(3.0, 1.0, 2.0), {}, None),
    (d.StudentT(3.0, 1.0, 2.0), {"df": 3.0}, ("mean", "scale")),
    (d.Laplace(1.0, 2.0), {}, None),
    (d.Logistic(1.0, 2.0), {}, None),
    (d.Cauchy(1.0, 2.0), {}, None),
    (d.HalfNormal(2.0), {}, None),
    (d.HalfCauchy(2.0), {}, None),
    (d.Gamma(shape=0.4, rate=2.0), {}, None),
    (d.Gamma(shape=900.0, rate=2.0), {}, None),
    (d.InverseGamma(shape=3.0, scale=2.0), {}, None),
    (d.Beta(0.5, 3.0), {}, None),
    (d.Beta(500.0, 300.0), {}, None),
    (d.Exponential(3.0), {}, None),
    (d.LogNormal(1.0, 0.5), {}, None),
    (d.Pareto(3.0, 2.0), {}, ("shape",)),
    (d.Lomax(2.5, 2.0), {}, None),
    (d.Bernoulli(0.3), {}, None),
    (d.Binomial(7, 0.3), {"n": 7}, ("p",)),
    (d.Poisson(3.0), {}, None),
    (d.NegativeBinomial(4.0, 1.5), {}, None),
    (d.Geometric(0.3), {}, None),
    (d.BetaBinomial(12, 2.0, 3.0), {"n": 12}, ("a", "b")),
]


@pytest.mark.parametrize(("family", "arguments", "free"), FITS, ids=[repr(f)[:40] for f, *_ in FITS])
def test_fit(family, arguments, free):
    found = check_fit(family, free=free, **arguments)
    for name in free or family.parameters:
        # 400 draws: the worst relative standard error here is a third (df); five of them
        assert abs(found.parameters[name] / family.parameters[name] - 1.0) < 1.7


MOMENTS = [
    (d.Normal(1.0, 2.0), {}),
    (d.StudentT(5.0, 1.0, 2.0), {"df": 5.0}),
    (d.Laplace(1.0, 2.0), {}),
    (d.Logistic(1.0, 2.0), {}),
    (d.Uniform(-1.0, 3.0), {}),
    (d.HalfNormal(2.0), {}),
    (d.Gamma(shape=2500.0, rate=500.0), {}),
    (d.InverseGamma(shape=3.5, scale=2.0), {}),
    (d.Beta(0.5, 3.0), {}),
    (d.Exponential(3.0), {}),
    (d.LogNormal(1.0, 0.5), {}),
    (d.Pareto(3.0, 2.0), {}),
    (d.Lomax(2.5, 2.0), {}),
    (d.Bernoulli(0.3), {}),
    (d.Binomial(7, 0.3), {}),
    (d.Poisson(3.0), {}),
    (d.NegativeBinomial(4.0, 1.5), {}),
    (d.Geometric(0.3), {}),
    (d.BetaBinomial(12, 2.0, 3.0), {"n": 12}),
]


@pytest.mark.parametrize(("family", "arguments"), MOMENTS, ids=[repr(f)[:40] for f, _ in MOMENTS])
def test_from_moments(family, arguments):
    check_from_moments(family, **arguments)


BAD = [
    (d.Normal, {"mean": 0.0, "sd": 1.0}, {"mean": [np.inf], "sd": [0.0, -1.0, np.inf, [1.0, 0.0]]}),
    (d.StudentT, {"df": 2.0}, {"df": [0.0, np.inf, None], "scale": [0.0]}),
    (d.Laplace, {"mean": 0.0, "scale": 1.0}, {"scale": [0.0, -1.0]}),  # None is a scale to be learned
    (d.Logistic, {"mean": 0.0, "scale": 1.0}, {"scale": [0.0]}),
    (d.Cauchy, {"location": 0.0, "scale": 1.0}, {"scale": [-2.0]}),
    (d.Uniform, {"low": 0.0, "high": 1.0}, {"high": [0.0, -1.0, np.inf]}),
    (d.HalfNormal, {"scale": 1.0}, {"scale": [0.0]}),
    (d.HalfCauchy, {"scale": 1.0}, {"scale": [0.0]}),
    (d.Gamma, {"shape": 1.0, "rate": 1.0}, {"shape": [0.0], "rate": [-1.0]}),
    (d.InverseGamma, {"shape": 1.0, "scale": 1.0}, {"shape": [0.0], "scale": [-1.0]}),
    (d.Beta, {"a": 1.0, "b": 1.0}, {"a": [0.0], "b": [-1.0]}),
    (d.Exponential, {"rate": 1.0}, {"rate": [0.0]}),
    (d.LogNormal, {"mu": 0.0, "sigma": 1.0}, {"sigma": [0.0]}),
    (d.Pareto, {"shape": 1.0, "scale": 1.0}, {"shape": [0.0], "scale": [-1.0]}),
    (d.Lomax, {"shape": 1.0, "scale": 1.0}, {"shape": [0.0], "scale": [-1.0]}),
    (d.Bernoulli, {"p": 0.5}, {"p": [-0.1, 1.1]}),
    (d.Categorical, {"p": [0.5, 0.5]}, {"p": [[0.5, 0.6], [1.5, -0.5], 0.3]}),
    (d.Binomial, {"n": 3, "p": 0.5}, {"n": [-1, 2.5, np.inf], "p": [1.1]}),
    (d.Poisson, {"rate": 1.0}, {"rate": [-1.0, np.inf]}),
    (d.NegativeBinomial, {"mean": 1.0, "shape": 1.0}, {"mean": [0.0], "shape": [0.0]}),
    (d.Geometric, {"p": 0.5}, {"p": [0.0, 1.1]}),
    (d.BetaBinomial, {"n": 3, "a": 1.0, "b": 1.0}, {"n": [-1], "a": [0.0], "b": [0.0]}),
]


@pytest.mark.parametrize(("make", "good", "bad"), BAD, ids=[m.__name__ for m, *_ in BAD])
def test_bad_parameters(make, good, bad):
    check_bad_parameters(make, good, bad)
