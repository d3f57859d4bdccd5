"""Conjugate models: known answers, posteriors and evidence by brute force, and the algebra of updating."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

import credo.distributions as d
from credo.distributions.conjugate import ConjugateModel, normal_inverse_gamma_mode
from credo.errors import DataError, ParameterError

NIG = d.NormalInverseGamma(0.5, 0.7, 2.5, 1.3)
NIW = d.NormalInverseWishart([0.3, -0.2], 1.5, 4.5, [[1.0, 0.3], [0.3, 2.0]])
WISHES = np.array([[0.4, 1.0], [-1.0, 0.2], [2.0, -0.7], [0.1, 0.1]])

#: model, rows, and rows as the predictive sees them (a known parameter that differs by row is tested apart)
CASES = {
    "bernoulli": (ConjugateModel(d.Beta(1.5, 2.5), d.Bernoulli), [1, 0, 1, 1, 0]),
    "binomial": (ConjugateModel(d.Beta(1.5, 2.5), d.Binomial, n=6), [1, 6, 0, 3]),
    "geometric": (ConjugateModel(d.Beta(1.5, 2.5), d.Geometric), [0, 4, 1]),
    "negative_binomial": (ConjugateModel(d.Beta(1.5, 2.5), d.NegativeBinomial, shape=2.5), [0, 4, 1]),
    "categorical": (ConjugateModel(d.Dirichlet([0.5, 1.0, 2.0]), d.Categorical), [2, 0, 2, 1]),
    "multinomial": (
        ConjugateModel(d.Dirichlet([0.5, 1.0, 2.0]), d.Multinomial, n=4),
        [[2, 0, 2], [1, 3, 0], [0, 0, 4]],
    ),
    "poisson": (ConjugateModel(d.Gamma(shape=2.0, rate=0.7), d.Poisson), [3, 0, 7, 2]),
    "exposure": (ConjugateModel(d.Gamma(shape=2.0, rate=0.7), d.Poisson, exposure=2.5), [3, 0, 7, 2]),
    "exponential": (ConjugateModel(d.Gamma(shape=2.0, rate=0.7), d.Exponential), [0.3, 1.4, 0.0]),
    "mean": (ConjugateModel(d.Normal(0.5, 2.0), d.Normal, sd=0.7), [0.3, 1.4, -2.0]),
    "variance": (ConjugateModel(d.InverseGamma(shape=2.0, scale=0.7), d.Normal, mean=0.4), [0.3, 1.4, -2.0]),
    "mean_variance": (ConjugateModel(NIG, d.Normal), [0.3, 1.4, -2.0, 0.9]),
    "mean_covariance": (ConjugateModel(NIW, d.MultivariateNormal), WISHES),
    "bound": (ConjugateModel(d.Pareto(2.5, 1.1), d.Uniform), [0.3, 1.9, 0.0, 1.9]),
}
each_case = pytest.mark.parametrize(("model", "rows"), CASES.values(), ids=CASES)


def parameters(family):
    return np.concatenate([np.ravel(np.asarray(v, dtype=float)) for v in family.parameters.values()])


def test_batting_average():
    model = ConjugateModel(d.Beta.from_moments(0.27, 0.1), d.Binomial, n=300).update(100)
    assert model.posterior.a == pytest.approx(105.0517, abs=1e-4)
    assert model.posterior.b == pytest.approx(213.6583, abs=1e-4)
    at_bats = ConjugateModel(d.Beta.from_moments(0.27, 0.1), d.Bernoulli).update([1, 0], weights=[100, 200])
    np.testing.assert_allclose(parameters(at_bats.posterior), parameters(model.posterior), rtol=1e-14)


@each_case
def test_evidence_is_the_product_of_predictions(model, rows):
    """log p(x₁..n) = Σ log p(x_i | x₁..i−1), and datum by datum is all at once, in any order."""
    step, total = model, 0.0
    for row in rows:
        total += float(step.predictive().log_prob(row))
        step = step.update(row)
    whole = model.update(rows)
    assert whole.log_evidence == pytest.approx(total, rel=1e-11, abs=1e-11)
    assert step.log_evidence == pytest.approx(total, rel=1e-11, abs=1e-11)
    backwards = model.update(rows[::-1])
    for other in (step, backwards, model.update(rows[:1]).merge(model.update(rows[1:])), whole.update([])):
        np.testing.assert_allclose(parameters(other.posterior), parameters(whole.posterior), rtol=1e-13, atol=1e-15)
    assert model.log_evidence == 0.0
    assert model.posterior is model.prior


@each_case
def test_weights_count_rows(model, rows):
    rows = np.asarray(rows)
    counts = np.arange(len(rows)) % 3
    weighted, repeated = model.update(rows, weights=counts), model.update(np.repeat(rows, counts, axis=0))
    np.testing.assert_allclose(parameters(weighted.posterior), parameters(repeated.posterior), rtol=1e-13)
    assert weighted.log_evidence == pytest.approx(repeated.log_evidence, rel=1e-12)


@each_case
def test_predictive_integrates_to_one(model, rows):
    predictive = model.update(rows).predictive()
    if isinstance(predictive, d.Multinomial | d.DirichletMultinomial):
        table = np.array([[i, j, 4 - i - j] for i in range(5) for j in range(5 - i)])
        total = predictive.prob(table).sum()
    elif predictive.event_ndim == 1:
        return  # MultivariateStudentT: compared with SciPy in test_multivariate
    elif predictive.support.is_discrete:
        total = predictive.prob(np.arange(200_000)).sum()
    else:
        total = predictive.cdf(1e300) - predictive.cdf(-1e300)
    assert total == pytest.approx(1.0, abs=1e-6)  # the beta-geometric tail beyond 2e5 holds 1e-7


# likelihoods from SciPy, and the range of the one unknown
BRUTE = {
    "bernoulli": (lambda t: stats.bernoulli(t), (0, 1)),
    "binomial": (lambda t: stats.binom(6, t), (0, 1)),
    "geometric": (lambda t: stats.geom(t, loc=-1), (0, 1)),
    "negative_binomial": (lambda t: stats.nbinom(2.5, t), (0, 1)),
    "poisson": (lambda t: stats.poisson(t), (0, np.inf)),
    "exposure": (lambda t: stats.poisson(2.5 * t), (0, np.inf)),
    "exponential": (lambda t: stats.expon(scale=1 / t), (0, np.inf)),
    "mean": (lambda t: stats.norm(t, 0.7), (-np.inf, np.inf)),
    "variance": (lambda t: stats.norm(0.4, np.sqrt(t)), (0, np.inf)),
}


@pytest.mark.parametrize("name", BRUTE)
def test_posterior_and_evidence_by_quadrature(name):
    model, rows = CASES[name]
    likelihood, (low, high) = BRUTE[name]
    after = model.update(rows)

    def joint(t):
        law = likelihood(t)
        density = law.pmf if hasattr(law.dist, "pmf") else law.pdf
        return float(model.prior.prob(t)) * float(np.prod(density(np.asarray(rows))))

    evidence, _ = integrate.quad(joint, low, high, epsabs=0, epsrel=1e-10, limit=200)
    assert after.log_evidence == pytest.approx(np.log(evidence), abs=1e-8)
    for t in (0.2, 0.45, 0.8):
        assert after.posterior.prob(t) == pytest.approx(joint(t) / evidence, rel=1e-8)


@pytest.mark.parametrize("name", ["categorical", "multinomial"])
def test_simplex_posterior_and_evidence_by_quadrature(name):
    model, rows = CASES[name]
    after = model.update(rows)
    counts = np.bincount(rows, minlength=3) if name == "categorical" else np.sum(rows, axis=0)
    coefficient = 1.0
    if name == "multinomial":
        coefficient = np.prod([stats.multinomial(4, [1 / 3] * 3).pmf(r) * 3.0**4 for r in rows])

    # x = sin²: the square roots of Dirichlet(½, ...) at the edges become smooth
    def joint(s, t):
        x, y = np.sin(s) ** 2, np.sin(t) ** 2
        p = np.array([x, (1 - x) * y, (1 - x) * (1 - y)])
        jacobian = np.sin(2 * s) * np.sin(2 * t) * (1 - x)
        return coefficient * np.prod(p**counts) * stats.dirichlet([0.5, 1.0, 2.0]).pdf(p / p.sum()) * jacobian

    nodes, weights = np.polynomial.legendre.leggauss(24)
    nodes, weights = (nodes + 1) * np.pi / 4, weights * np.pi / 4
    evidence = sum(wi * wj * joint(a, b) for a, wi in zip(nodes, weights) for b, wj in zip(nodes, weights))
    assert after.log_evidence == pytest.approx(np.log(evidence), abs=1e-8)
    np.testing.assert_array_equal(after.posterior.concentration, model.prior.concentration + counts)


def test_bound_by_quadrature():
    model, rows = CASES["bound"]
    after = model.update(rows)
    evidence, _ = integrate.quad(lambda t: float(model.prior.prob(t)) * t ** -len(rows), 1.9, np.inf)
    assert after.log_evidence == pytest.approx(np.log(evidence), abs=1e-8)
    assert (after.posterior.shape, after.posterior.scale) == (6.5, 1.9)
    ahead = after.predictive()
    for x in (0.4, 1.9, 5.0):  # ∫ p(x | θ) p(θ) dθ
        exact, _ = integrate.quad(lambda t: float(after.posterior.prob(t)) / t, max(x, 1.9), np.inf)
        assert ahead.prob(x) == pytest.approx(exact, rel=1e-7)


def test_mean_and_variance_by_quadrature():
    model, rows = CASES["mean_variance"]
    after = model.update(rows)

    def joint(mu, variance):
        likelihood = np.prod([stats.norm.pdf(x, mu, np.sqrt(variance)) for x in rows], axis=0)
        prior = stats.norm.pdf(mu, 0.5, np.sqrt(0.7 * variance)) * stats.invgamma.pdf(variance, 2.5, scale=1.3)
        return likelihood * prior

    u, z = np.linspace(-4, 10, 281)[:, None], np.linspace(-9, 9, 181)
    variance = np.exp(u)
    # d(μ, σ²) = σ³ d(z, log σ²) with μ = 0.4 + σ z
    volume = variance**1.5 * (u[1] - u[0]) * (z[1] - z[0])
    evidence = np.sum(joint(0.4 + np.sqrt(variance) * z, variance) * volume)
    assert after.log_evidence == pytest.approx(np.log(evidence), abs=1e-6)
    for mu, variance in ((0.3, 0.8), (1.0, 2.0)):
        exact = joint(mu, variance) / evidence
        assert np.exp(after.posterior.log_prob((mu, variance))) == pytest.approx(exact, rel=1e-5)


def test_mean_and_covariance_by_bayes_rule():
    """prior × likelihood / posterior is the evidence at every (μ, Σ)."""
    model, rows = CASES["mean_covariance"]
    after = model.update(rows)
    mu, sigma = model.prior.sample(5, rng=0)
    for one, covariance in zip(mu, sigma, strict=True):
        likelihood = stats.multivariate_normal(one, covariance).logpdf(rows).sum()
        value = model.prior.log_prob((one, covariance)) + likelihood - after.posterior.log_prob((one, covariance))
        assert value == pytest.approx(after.log_evidence, abs=1e-9)


def test_known_parameters_by_row():
    one = ConjugateModel(d.Normal(0.0, 2.0), d.Normal).update([1.0, 2.0], sd=[0.5, 3.0])
    two = ConjugateModel(d.Normal(0.0, 2.0), d.Normal).update(1.0, sd=0.5).update(2.0, sd=3.0)
    np.testing.assert_allclose(parameters(one.posterior), parameters(two.posterior), rtol=1e-14)
    precision = 1 / 4 + 1 / 0.25 + 1 / 9
    np.testing.assert_allclose(parameters(one.posterior), [(1 / 0.25 + 2 / 9) / precision, precision**-0.5])
    covariance = 4.0 + np.diag([0.25, 9.0])
    assert one.log_evidence == pytest.approx(stats.multivariate_normal([0, 0], covariance).logpdf([1, 2]))
    hits = ConjugateModel(d.Beta(2, 3), d.Binomial).update([3, 0], n=[5, 2])
    assert parameters(hits.posterior).tolist() == [5.0, 7.0]
    assert hits.predictive(n=4).n == 4
    words = ConjugateModel(d.Dirichlet([1.0, 1.0]), d.Multinomial).update([[3, 1], [0, 9]])
    assert words.posterior.concentration.tolist() == [4.0, 11.0]
    assert words.predictive(n=2).n == 2
    rates = ConjugateModel(d.Gamma(shape=1, rate=1), d.Poisson).update([4, 10], exposure=[2.0, 5.0])
    assert (rates.posterior.shape, rates.posterior.rate) == (15.0, 8.0)


@settings(max_examples=40)
@given(
    st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=12),
    st.integers(1, 11),
    st.sampled_from([0.0, 1e8, -1e8]),
)
def test_partitions_agree_far_from_zero(x, cut, offset):
    """Any split merges to the same posterior, and data like N(1e8, 1) keep their variance."""
    x = np.asarray(x) + offset
    model = ConjugateModel(d.NormalInverseGamma(offset, 1.0, 2.0, 1.0), d.Normal)
    whole, parts = model.update(x), model.update(x[:cut]).merge(model.update(x[cut:]))
    np.testing.assert_allclose(parameters(parts.posterior), parameters(whole.posterior), rtol=1e-12, atol=1e-9)
    shifted = ConjugateModel(d.NormalInverseGamma(0.0, 1.0, 2.0, 1.0), d.Normal).update(x - offset)
    # x − offset is exact to 1.5e-8, the spacing of doubles at 1e8
    assert whole.posterior.scale == pytest.approx(shifted.posterior.scale, rel=1e-9, abs=1e-6)


def test_normal_fit_with_prior_is_the_joint_mode():
    rng = np.random.default_rng(0)
    x = rng.normal(2.0, 3.0, 50)
    fitted = d.Normal.fit(x, prior=NIG)
    total, mean, scatter = len(x), x.mean(), np.square(x - x.mean()).sum()
    mu, variance = normal_inverse_gamma_mode(NIG, total, mean, scatter)
    assert (fitted.mean, fitted.variance) == (pytest.approx(mu), pytest.approx(variance))
    posterior = ConjugateModel(NIG, d.Normal).update(x).posterior
    top = posterior.log_prob((mu, variance))
    for step in ((1e-3, 0.0), (-1e-3, 0.0), (0.0, 1e-3), (0.0, -1e-3)):
        assert posterior.log_prob((mu + step[0], variance + step[1])) < top
    flat = d.NormalInverseGamma(0.0, 1e12, 1e-9, 1e-9)
    assert normal_inverse_gamma_mode(flat, 1e9, 1.0, 1e9)[1] == pytest.approx(1.0, rel=1e-8)


def test_errors_name_what_is_wrong():
    with pytest.raises(ParameterError, match="conjugate pair"):
        ConjugateModel(d.Gamma(shape=1, rate=1), d.Bernoulli)
    with pytest.raises(ParameterError, match="conjugate pair"):
        ConjugateModel(d.Beta(1, 1), d.Bernoulli(0.5))
    with pytest.raises(ParameterError, match="not a batch"):
        ConjugateModel(d.Beta([1, 2], 1), d.Bernoulli)
    with pytest.raises(ParameterError, match="known parameter"):
        ConjugateModel(d.Beta(1, 1), d.Bernoulli, n=3)
    with pytest.raises(ParameterError, match=r"n must be given"):
        ConjugateModel(d.Beta(1, 1), d.Binomial).update(3)
    with pytest.raises(DataError, match="row 1"):
        ConjugateModel(d.Beta(1, 1), d.Bernoulli).update([1, 2])
    with pytest.raises(DataError, match="row 0"):
        ConjugateModel(d.Beta(1, 1), d.Binomial, n=3).update(4)
    with pytest.raises(DataError, match="row 2"):
        ConjugateModel(d.Dirichlet([1, 1]), d.Categorical).update([0, 1, 2])
    with pytest.raises(DataError, match="3 counts for 2"):
        ConjugateModel(d.Dirichlet([1, 1]), d.Multinomial).update([[0, 1, 2]])
    with pytest.raises(DataError, match="row 0"):
        ConjugateModel(d.Dirichlet([1, 1]), d.Multinomial).update([[0.5, 1]])
    with pytest.raises(DataError, match="columns"):
        ConjugateModel(NIW, d.MultivariateNormal).update([[1.0, 2.0, 3.0]])
    with pytest.raises(DataError, match="row 1"):
        ConjugateModel(d.Normal(0, 1), d.Normal, sd=1.0).update([0.0, np.nan])
    with pytest.raises(ParameterError, match="sd"):
        ConjugateModel(d.Normal(0, 1), d.Normal).update([0.0, 1.0], sd=[1.0, 1.0, 1.0])
    with pytest.raises(DataError, match="sd must be > 0"):
        ConjugateModel(d.Normal(0, 1), d.Normal, sd=0.0).update([0.0, 1.0])
    with pytest.raises(ParameterError, match="same prior"):
        ConjugateModel(d.Beta(1, 1), d.Bernoulli).merge(ConjugateModel(d.Beta(1, 2), d.Bernoulli))
