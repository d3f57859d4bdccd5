"""Noise models of LinearRegression against quadrature over everything, and against each other."""

import numpy as np
import pytest
from scipy import stats

import credo as cr
from credo.diagnostics import mcse
from credo.errors import NotIdentifiedError, ParameterError


def line(n=25, seed=1, noise=None):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return x[:, None], 0.5 + 1.5 * x + (0.6 * rng.normal(size=n) if noise is None else noise(rng, x))


def grid_moments(x, y, log_noise, log_prior_scale, w_sd=2.0, b_sd=2.0):
    """Mean and sd of (b, w, σ) by a product rule: b, w ~ N(0, sd), σ with log density `log_prior_scale`."""
    b, w = np.linspace(-1, 2, 61)[:, None, None, None], np.linspace(0, 3, 61)[:, None, None]
    t = np.linspace(np.log(0.15), np.log(2.5), 61)[:, None]
    sigma = np.exp(t)
    log_p = sum(log_noise((yi - b - w * xi)[..., 0], sigma[..., 0]) for xi, yi in zip(x[:, 0], y))
    log_p = log_p + (log_prior_scale(sigma) + t)[..., 0] - 0.5 * (w[..., 0] / w_sd) ** 2 - 0.5 * (b[..., 0] / b_sd) ** 2
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    values = [np.broadcast_to(v[..., 0], p.shape) for v in (b, w, sigma)]
    mean = np.array([(p * v).sum() for v in values])
    return mean, np.sqrt([(p * (v - m) ** 2).sum() for v, m in zip(values, mean)])


def found(model):
    posterior = model.posterior_
    parts = (posterior.intercept, posterior.marginals, posterior.noise_scale)
    return np.array([float(np.ravel(p.mean)[0]) for p in parts]), np.array([float(np.ravel(p.sd)[0]) for p in parts])


PRIORS = {"prior": cr.Normal(0, 2), "prior_intercept": cr.Normal(0, 2)}


@pytest.mark.parametrize(
    "scale_prior", [cr.HalfCauchy(0.3), cr.HalfNormal(0.5), cr.Flat(), cr.Gamma(shape=2, rate=1)], ids=repr
)
def test_exact_with_any_prior_of_the_scale(scale_prior):
    x, y = line()
    model = cr.LinearRegression(noise=cr.noise.Normal(scale_prior=scale_prior), **PRIORS).fit(x, y)
    assert model.result_.inference == "collapsed"
    mean, sd = grid_moments(x, y, lambda e, s: -0.5 * (e / s) ** 2 - np.log(s), scale_prior.log_prob)
    actual = found(model)
    np.testing.assert_allclose(actual[0], mean, rtol=1e-5)
    np.testing.assert_allclose(actual[1], sd, rtol=1e-4)


def test_the_flat_prior_of_the_scale_is_a_limit():
    """Flat coefficients: σ uniform is IG(−½, 0), closed form; a half-Normal wide enough is the same by quadrature."""
    x, y = line()
    closed = cr.LinearRegression(prior=cr.Flat(), noise=cr.noise.Normal(scale_prior=cr.Flat())).fit(x, y)
    wide = cr.LinearRegression(prior=cr.Flat(), noise=cr.noise.Normal(scale_prior=cr.HalfNormal(1e6))).fit(x, y)
    assert closed.result_.status == "exact"
    assert wide.result_.inference == "collapsed"
    for a, b in zip(found(closed), found(wide)):
        np.testing.assert_allclose(a, b, rtol=1e-8)


def test_two_dimensions_at_once():
    """Learned scale and a prior of σ: an inverse gamma on σ² is conjugate, and as a density of σ it is not."""
    x, y = line()
    X = np.column_stack([x, x**2])
    conjugate = cr.LinearRegression(noise=cr.noise.Normal(variance_prior=cr.InverseGamma(shape=3, scale=2))).fit(X, y)

    from credo.inference.exact.noise_prior import NoisePrior
    from credo.inference.exact.scale_priors import learned_with_scale_prior
    from credo.models.linear.equations import likelihood_of, prepare
    from credo.models.linear.specification import specify

    class SameAsDensity:
        """σ with σ² ~ IG(3, 2)."""

        def log_prob(self, s):
            return cr.InverseGamma(shape=3, scale=2).log_prob(s**2) + np.log(2 * s)

    spec = specify(conjugate, ("a", "b"))
    statistics, prior, column = prepare(conjugate.statistics_, spec)
    belief = learned_with_scale_prior(
        likelihood_of(statistics, prior, spec, column), NoisePrior(family=SameAsDensity())
    )
    np.testing.assert_allclose(belief.log_evidence, conjugate.log_evidence_, atol=1e-8)
    mean = (belief.weights[:, None] * belief.coefficients()[0]).sum(axis=0)[:, 0]
    np.testing.assert_allclose(mean, conjugate.coef_, rtol=1e-8)


ROBUST = {
    "student-t": (
        cr.noise.StudentT(4.0, scale_prior=cr.HalfNormal(1)),
        lambda e, s: stats.t(4).logpdf(e / s) - np.log(s),
    ),
    "laplace": (cr.noise.Laplace(scale_prior=cr.HalfNormal(1)), lambda e, s: -np.abs(e) / s - np.log(s)),
}


@pytest.mark.parametrize("name", ROBUST)
def test_robust_noise_against_quadrature(name):
    """Six numbers at 5 Monte Carlo errors."""
    noise, log_density = ROBUST[name]
    x, y = line(15, noise=lambda rng, x: 0.5 * rng.standard_t(2, size=len(x)))
    model = cr.LinearRegression(noise=noise, **PRIORS).fit(x, y)
    mean, sd = grid_moments(x, y, log_density, cr.HalfNormal(1).log_prob)
    chains = model.posterior_.chains.values
    parts = [chains["intercept"], chains["coef"][..., 0], chains["noise_scale"]]
    actual = found(model)
    assert np.all(np.abs(actual[0] - mean) < 5 * np.array([mcse(c) for c in parts]) + 1e-3 * sd)
    assert np.all(np.abs(actual[1] - sd) < 5 * np.array([mcse(c, "sd") for c in parts]) + 1e-3 * sd)


def test_an_outlier_moves_the_robust_line_less():
    x, y = line()
    far = y.copy()
    far[0] += 1000.0
    for noise in (cr.noise.StudentT(4), cr.noise.Laplace()):
        clean, dirty = (cr.LinearRegression(prior=cr.Normal(0, 10), noise=noise).fit(x, t) for t in (y, far))
        assert abs(clean.coef_[0] - dirty.coef_[0]) < 0.3
    assert abs(cr.LinearRegression().fit(x, far).coef_[0] - 1.5) > 5.0


def test_gibbs_laplace_and_normal_limits_agree():
    x, y = line(60)
    normal = cr.LinearRegression(prior=cr.Normal(0, 2)).fit(x, y)
    nearly = cr.LinearRegression(prior=cr.Normal(0, 2), noise=cr.noise.StudentT(1e6)).fit(x, y)
    weighed = cr.LinearRegression(prior=cr.Normal(0, 2), noise=cr.noise.StudentT(1e6), inference="laplace").fit(x, y)
    for model in (nearly, weighed):
        np.testing.assert_allclose(model.coef_, normal.coef_, atol=0.15 * normal.posterior_.sd[0])
        np.testing.assert_allclose(model.posterior_.sd, normal.posterior_.sd, rtol=0.12)


def test_weights_count_rows():
    x, y = line()
    weights = np.arange(len(y)) % 3
    noise = cr.noise.StudentT(4)
    counted = cr.LinearRegression(noise=noise).fit(x, y, sample_weight=weights)
    repeated = cr.LinearRegression(noise=noise).fit(np.repeat(x, weights, axis=0), np.repeat(y, weights))
    assert np.array_equal(counted.coef_, repeated.coef_)
    with pytest.raises(ParameterError, match="whole"):
        cr.LinearRegression(noise=noise).fit(x, y, sample_weight=weights + 0.5)


def test_a_scale_that_follows_the_features():
    x, y = line(300, noise=lambda rng, x: np.exp(-0.5 + 0.7 * x) * rng.normal(size=len(x)))
    model = cr.LinearRegression(prior=cr.Flat(), noise=cr.noise.Normal(scale=cr.noise.LogLinear())).fit(x, y)
    slope, level = model.posterior_["noise_coef"][:, 0], model.posterior_["noise_intercept"]
    # each truth within 4 posterior sds
    assert abs(slope.mean() - 0.7) < 4 * slope.std() < 0.4
    assert abs(level.mean() + 0.5) < 4 * level.std() < 0.4
    assert abs(model.coef_[0] - 1.5) < 4 * model.posterior_.sd[0]
    p = model.predict_distribution(np.array([[-1.0], [1.0]]))
    np.testing.assert_allclose(p.sd[1] / p.sd[0], np.exp(1.4), rtol=0.25)
    assert model.noise_scale_ is None


def test_refusals():
    x, y = line()
    with pytest.raises(ParameterError, match="noise"):
        cr.LinearRegression(noise="normal").fit(x, y)
    for make in (
        lambda: cr.noise.Normal(1.0, scale_prior=cr.HalfNormal(1)),
        lambda: cr.noise.Normal(scale_prior=cr.Normal(0, 1)),
        lambda: cr.noise.Normal(scale_prior=cr.HalfNormal(1), variance_prior=cr.InverseGamma(shape=1, scale=1)),
        lambda: cr.noise.StudentT(df=0),
        lambda: cr.noise.StudentT(df=3, df_prior=cr.Gamma(shape=2, rate=1)),
        lambda: cr.noise.Laplace(scale=[1.0, 2.0]),
        lambda: cr.noise.LogLinear(cr.Laplace(0, 1)),
    ):
        with pytest.raises(ParameterError):
            make()
    with pytest.raises(ParameterError, match="all rows"):
        cr.LinearRegression(noise=cr.noise.StudentT()).partial_fit(x, y)
    with pytest.raises(NotIdentifiedError):
        cr.LinearRegression(prior=cr.Normal(0, 1), noise=cr.noise.StudentT(4)).fit(x[:2], y[:2])
