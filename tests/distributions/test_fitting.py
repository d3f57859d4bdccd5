"""Fits: known answers, conjugate modes, numerical modes against closed ones, and the data that have no maximum."""

import numpy as np
import pytest
from scipy import optimize, special

import credo.distributions as d
from credo.distributions.fitting import weighted_quantile
from credo.errors import DataError, ParameterError, UnavailableError


def test_elicitation_from_the_issue():
    gamma = d.Gamma.from_moments(5.0, 0.1)
    np.testing.assert_allclose([gamma.shape, gamma.rate], [2500, 500], rtol=1e-12)
    beta = d.Beta.from_moments(0.27, 0.1)
    np.testing.assert_allclose([beta.a, beta.b], [5.0517, 13.6583], rtol=1e-12)
    assert d.Gamma.from_moments(5.0, 2.0).cdf(0.0) == 0 < d.Normal(5.0, 2.0).cdf(0.0)


@pytest.mark.parametrize(
    ("family", "mean", "sd", "name", "message"),
    [
        (d.Beta, 0.5, 0.6, "sd", "the sd of a coin"),
        (d.Beta, 1.2, 0.1, "mean", "between 0 and 1"),
        (d.Gamma, -1.0, 1.0, "mean", "> 0"),
        (d.Poisson, 4.0, 3.0, "sd", "2.0, which the mean implies"),
        (d.Bernoulli, 0.5, 0.1, "sd", "which the mean implies"),
        (d.Binomial, 4.0, 3.0, "sd", "√mean"),
        (d.Binomial, 4.0, 1.5, "sd", "integer"),
        (d.NegativeBinomial, 4.0, 2.0, "sd", "√mean"),
        (d.Lomax, 2.0, 1.0, "sd", "mean"),
        (d.Uniform, 0.0, 0.0, "sd", "> 0"),
        (d.Exponential, 2.0, 1.0, "sd", "which the mean implies"),
        (d.HalfNormal, 2.0, 1.0, "sd", "which the mean implies"),
        (d.Geometric, -1.0, None, "mean", "≥ 0"),
        (d.StudentT, 0.0, 1.0, "df", "given"),
        (d.Normal, 0.0, 0.0, "sd", "> 0"),
    ],
)
def test_infeasible_moments(family, mean, sd, name, message):
    with pytest.raises(ParameterError, match=message) as caught:
        family.from_moments(mean, sd)
    assert caught.value.parameter == name


@pytest.mark.parametrize("family", [d.Cauchy, d.HalfCauchy, d.Flat, d.Mixture])
def test_moments_that_determine_nothing(family):
    with pytest.raises(UnavailableError):
        family.from_moments(1.0, 1.0)


def test_flat_is_improper():
    flat = d.Flat()
    assert flat.log_prob(1e300) == 0.0
    for ask in ("mean", "variance", "sd", "entropy", "median"):
        with pytest.raises(UnavailableError, match="improper"):
            getattr(flat, ask)
    for call in (flat.sample, lambda: flat.cdf(0.0), lambda: flat.quantile(0.5), lambda: flat.interval()):
        with pytest.raises(UnavailableError, match="improper"):
            call()
    assert flat == d.Flat()
    assert hash(flat) == hash(d.Flat())


X = np.array([0.3, 1.2, 2.5, 0.7, 4.1, 1.1])
K = np.array([0, 3, 2, 7, 1, 4])


@pytest.mark.parametrize(
    ("family", "x", "prior", "expected"),
    [
        (d.Bernoulli, [1, 0, 1, 1], d.Beta(2.0, 3.0), (2 - 1 + 3) / (5 - 2 + 4)),
        (d.Geometric, K, d.Beta(2.0, 3.0), (2 - 1 + 6) / (5 - 2 + 6 + K.sum())),
        (d.Poisson, K, d.Gamma(shape=3.0, rate=2.0), (3 - 1 + K.sum()) / (2 + 6)),
        (d.Exponential, X, d.Gamma(shape=3.0, rate=2.0), (3 - 1 + 6) / (2 + X.sum())),
    ],
)
def test_conjugate_modes_equal_the_numerical_climb(family, x, prior, expected):
    name = next(iter(family.fit(x).parameters))
    closed = family.fit(x, prior=prior).parameters[name]
    climbed = family.fit(x, prior={name: prior}).parameters[name]
    np.testing.assert_allclose(closed, expected, rtol=1e-12)
    np.testing.assert_allclose(climbed, expected, rtol=1e-8)


def test_binomial_conjugate_and_per_row_trials():
    n = np.array([5, 9, 3, 8, 4, 6])
    fit = d.Binomial.fit(K, prior=d.Beta(2.0, 2.0), n=n)
    assert fit.p == pytest.approx((1 + K.sum()) / (2 + n.sum()), rel=1e-14)
    assert d.Binomial.fit(K, n=n).p == pytest.approx(K.sum() / n.sum(), rel=1e-14)
    with pytest.raises(DataError, match="row 3"):
        d.Binomial.fit(K, n=5)


def test_mode_under_a_prior_is_a_maximum():
    prior = {"shape": d.Gamma(shape=2.0, rate=1.0), "rate": d.HalfNormal(1.0)}
    fit = d.Gamma.fit(X, prior=prior)

    def cost(t):
        g = d.Gamma(shape=np.exp(t[0]), rate=np.exp(t[1]))
        return -(g.log_prob(X).sum() + prior["shape"].log_prob(g.shape) + prior["rate"].log_prob(g.rate))

    best = optimize.minimize(cost, [0.0, 0.0], method="BFGS", options={"gtol": 1e-8}).x
    np.testing.assert_allclose([fit.shape, fit.rate], np.exp(best), rtol=1e-6)


def test_uniform_prior_is_maximum_likelihood_inside_its_bounds_and_the_bound_outside():
    mle = d.Normal.fit(X)
    wide = {"mean": d.Uniform(-10, 10), "sd": d.Uniform(0, 10)}
    assert d.Normal.fit(X, prior=wide) == mle
    assert d.Normal.fit(X, prior={"sd": d.Flat()}) == mle
    assert d.Exponential.fit(X, prior=d.Uniform(0, 10)) == d.Exponential.fit(X)
    tight = d.Normal.fit(X, prior={"mean": d.Uniform(-10, 1.0)})
    assert 1.0 - 1e-4 < tight.mean <= 1.0
    assert tight.sd == pytest.approx(np.sqrt(np.mean((X - 1.0) ** 2)), rel=1e-4)


def test_priors_that_do_not_fit_the_family():
    for prior in ({"sigma": d.Flat()}, d.Gamma(shape=1, rate=1), 3.0, {"sd": 1.0}):
        with pytest.raises(ParameterError, match=r"Normal\.fit\.prior"):
            d.Normal.fit(X, prior=prior)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: d.Normal.fit([2.0, 2.0]), "all observations are equal"),
        (lambda: d.Laplace.fit([2.0]), "equal"),
        (lambda: d.Gamma.fit([0.0, 1.0]), "row 0 is 0"),
        (lambda: d.Gamma.fit([1.0, 1.0]), "equal"),
        (lambda: d.Gamma.fit([1.0, -1.0]), "outside the support"),
        (lambda: d.Beta.fit([0.2, 1.0]), "row 1 is exactly 1"),
        (lambda: d.LogNormal.fit([0.0, 1.0]), "row 0 is 0"),
        (lambda: d.Exponential.fit([0.0]), "infinite"),
        (lambda: d.NegativeBinomial.fit([2, 2, 3, 2]), "variance"),
        (lambda: d.NegativeBinomial.fit([0, 0]), "all observations are 0"),
        (lambda: d.Lomax.fit([1.0, 1.1, 1.2]), "exponential"),
        (lambda: d.Pareto.fit([1.0, 1.0]), "not all equal"),
        (lambda: d.StudentT.fit(np.linspace(-1, 1, 50)), "df"),
        (lambda: d.BetaBinomial.fit([5, 5, 5, 5, 6, 4], n=10), "rises without end"),
        (lambda: d.Cauchy.fit([1.0, 1.0, 1.0, 1.0, 5.0]), "equal"),
        (lambda: d.Uniform.fit([1.0, 1.0]), "equal"),
        (lambda: d.Poisson.fit([0.5]), "outside the support"),
        (lambda: d.Poisson.fit([]), "at least one"),
        (lambda: d.Normal.fit([1.0, np.nan]), "row 1"),
        (lambda: d.Normal.fit([1.0, 2.0], weights=[1.0]), "weights"),
    ],
)
def test_data_without_a_maximum(call, message):
    with pytest.raises(DataError, match=message):
        call()


def test_priors_rescue_what_the_likelihood_cannot():
    nb = d.NegativeBinomial.fit([2, 2, 3, 2], prior={"shape": d.Gamma(shape=2, rate=0.1)})
    assert np.isfinite(nb.shape)
    t = d.StudentT.fit(np.linspace(-1, 1, 50), prior={"df": d.Gamma(shape=2, rate=0.1)})
    assert 1 < t.df < 1000
    assert d.Bernoulli.fit([0, 0], prior={"p": d.Beta(2, 2)}).p == pytest.approx(0.25, rel=1e-7)
    assert d.Poisson.fit([0, 0], prior={"rate": d.Gamma(shape=3, rate=1)}).rate == pytest.approx(2 / 3, rel=1e-7)


def test_gamma_fit_of_concentrated_data():
    rng = np.random.default_rng(0)
    x = 1e8 + rng.standard_normal(1000)
    fit = d.Gamma.fit(x)
    # the MLE's sd tends to the sample's as the shape grows; 1e-7 is the skewness that is left
    assert fit.sd == pytest.approx(x.std(), rel=1e-6)
    assert fit.mean == pytest.approx(x.mean(), rel=1e-15)


def test_beta_score_equations():
    x = d.Beta(2e5, 3e5).sample(500, 1)
    fit = d.Beta.fit(x)
    total = special.digamma(fit.a + fit.b)
    np.testing.assert_allclose(special.digamma(fit.a) - total, np.mean(np.log(x)), rtol=1e-9)
    np.testing.assert_allclose(special.digamma(fit.b) - total, np.mean(np.log1p(-x)), rtol=1e-9)


def test_uniform_fit_and_its_pareto_prior():
    assert d.Uniform.fit([3.0, 1.0, 2.0], weights=[0, 1, 1]) == d.Uniform(1.0, 2.0)
    assert d.Uniform.fit([1.0, 2.0], prior={"high": d.Pareto(2.0, 5.0)}).high == 5.0
    assert d.Uniform.fit([1.0, 2.0], prior={"high": d.Pareto(2.0, 1.5)}).high == 2.0
    with pytest.raises(UnavailableError):
        d.Uniform.fit([1.0, 2.0], prior={"high": d.Normal(0, 1)})


def test_categorical_fit():
    fit = d.Categorical.fit([0, 2, 2], weights=[1, 1, 2], n_categories=4)
    np.testing.assert_allclose(fit.p, [0.25, 0, 0.75, 0])
    np.testing.assert_allclose(
        d.Categorical.fit([0, 1, 1], prior=d.Dirichlet([2.0, 2.0, 2.0])).p, [2 / 6, 3 / 6, 1 / 6]
    )
    with pytest.raises(ParameterError, match="concentration"):
        d.Categorical.fit([0, 0], prior=d.Dirichlet([0.5, 0.5]))


def test_truncated_fit_recovers_the_normal_behind_the_cut():
    truth = d.Truncated(d.Normal(0.0, 1.0), 0.5, np.inf)
    x = truth.sample(20_000, 5)
    fit = d.Truncated.fit(x, base=d.Normal(1.0, 1.0), low=0.5)
    # four standard errors at n = 20,000 (Fisher information of the truncated Normal, inverted numerically: .06, .02)
    np.testing.assert_array_less(np.abs([fit.base.mean, fit.base.sd - 1.0]), [0.25, 0.09])
    np.testing.assert_allclose([fit.mean, fit.sd], [x.mean(), x.std()], rtol=1e-6)  # moments match at the MLE


def test_mixture_fit_points_to_em():
    with pytest.raises(UnavailableError, match="GaussianMixture"):
        d.Mixture.fit([1.0])


def test_weighted_quantile():
    x, w = np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.0])
    assert weighted_quantile(x, w, 0.5) == np.median(np.repeat(x, w.astype(int)))
    assert weighted_quantile(np.array([1.0, 2.0]), np.array([1.0, 1.0]), 0.5) == 1.5
    assert weighted_quantile(np.array([9.0, 2.0]), np.array([0.0, 1.0]), 0.9) == 2.0
