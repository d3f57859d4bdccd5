"""Priors of LinearRegression: the collinear table of MATHS §3, sampled against exact, modes by conditions."""

import numpy as np
import pytest
from scipy import integrate

import credo as cr
from credo.diagnostics import mcse
from credo.distributions.ard import ARD
from credo.distributions.elastic_net import ElasticNet
from credo.distributions.horseshoe import Horseshoe
from credo.errors import NotIdentifiedError, ParameterError, UnavailableError

KNOWN = cr.noise.Normal(1.0)


def collinear():
    state = np.random.RandomState(1)
    z = state.normal(0, 1, 1000)
    X = np.stack([z + state.normal(0, 0.1, 1000) for _ in range(3)], axis=1)
    return X, X.sum(axis=1) + state.normal(0, 1, 1000)


def small(n=40, p=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + 1.0
    return X, X @ np.linspace(-1, 1, p) + 2.0 + 0.5 * rng.normal(size=n)


def within(model, mean, sd, slack=0.0, errors=4.0):
    """Mean and sd of the coefficients within `errors` Monte Carlo standard errors, plus what the reference errs."""
    chains = model.posterior_.chains.values["coef"]
    assert np.all(np.abs(model.coef_ - mean) < errors * mcse(chains) + slack)
    assert np.all(np.abs(model.posterior_.sd - sd) < errors * mcse(chains, "sd") + slack)


# -- the collinear table -----------------------------------------------------------------------------------------------


def test_lasso_mode_by_its_conditions():
    X, y = collinear()
    for prior, options, known in (
        (cr.Laplace(0, 0.001), {"fit_intercept": False}, [0.92052767, 0, 1.0043411]),
        (cr.Laplace(0, 1 / 1000), {}, [0.90393659, 0, 1.01617857]),  # scikit-learn's alpha = 1: 2nα = 2σ²/b
    ):
        model = cr.LinearRegression(prior=prior, noise=KNOWN, inference="map", **options).fit(X, y)
        np.testing.assert_allclose(model.coef_, known, atol=5e-9)
        slope = X.T @ (y - X @ model.coef_ - model.intercept_) / 1000.0
        active = model.coef_ != 0
        np.testing.assert_allclose(slope[active], np.sign(model.coef_[active]), atol=1e-8)
        assert np.all(np.abs(slope) <= 1.0 + 1e-8)
        assert model.result_.inference == "map"
        assert model.result_.ok


def test_laplace_posterior():
    """3-D quadrature (±.001): six numbers at 4 Monte Carlo errors."""
    X, y = collinear()
    model = cr.LinearRegression(prior=cr.Laplace(0, 0.001), noise=KNOWN, fit_intercept=False).fit(X, y)
    assert model.result_.inference == "gibbs"
    assert model.result_.status == "converged"
    within(model, [0.836, 0.189, 0.903], [0.2326, 0.1477, 0.2360], slack=1e-3)


def test_uniform_prior_far_away_is_flat():
    X, y = collinear()
    model = cr.LinearRegression(prior=cr.Uniform(-10, 10), noise=KNOWN, fit_intercept=False).fit(X, y)
    assert model.result_.status == "exact"
    np.testing.assert_allclose(model.coef_, [1.18064406, 0.9728663, 0.80945043], atol=5e-9)
    np.testing.assert_allclose(model.posterior_.sd, [0.25235782, 0.26217409, 0.26346792], atol=5e-9)
    sampled = cr.LinearRegression(prior=cr.Uniform(-10, 10), noise=KNOWN, fit_intercept=False, inference="gibbs").fit(
        X, y
    )
    within(sampled, model.coef_, model.posterior_.sd)


# -- sampled against exact ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prior", [cr.Normal(0.3, 0.5), cr.Normal(0, None), None, cr.Flat()], ids=repr)
@pytest.mark.parametrize(
    "noise", [None, KNOWN, cr.noise.Normal(scale_prior=cr.HalfNormal(1))], ids=["learned", "known", "half-normal"]
)
def test_gibbs_agrees_with_algebra(prior, noise):
    X, y = small()
    exact = cr.LinearRegression(prior=prior, noise=noise).fit(X, y)
    drawn = cr.LinearRegression(prior=prior, noise=noise, inference="gibbs").fit(X, y)
    assert exact.result_.inference in ("exact", "collapsed")
    assert drawn.result_.inference == "gibbs"
    within(drawn, exact.coef_, exact.posterior_.sd, errors=5.0)
    np.testing.assert_allclose(drawn.noise_scale_, exact.noise_scale_, rtol=0.02)


@pytest.mark.parametrize(
    "prior", [cr.Laplace(0.2, 0.3), cr.StudentT(3, 0.1, 0.4), ElasticNet(0.5, 0.7), cr.Uniform(-0.5, 0.6)], ids=repr
)
def test_one_coefficient_against_quadrature(prior):
    X, y = small(20, 1)
    X = X - X.mean()
    model = cr.LinearRegression(prior=prior, noise=cr.noise.Normal(0.5), fit_intercept=False).fit(X, y)
    gram, cross = float((X[:, 0] ** 2).sum()) / 0.25, float(X[:, 0] @ y) / 0.25

    def moment(power):
        def density(w):
            with np.errstate(over="ignore"):
                return w**power * np.exp(cross * w - 0.5 * gram * w * w + prior.log_prob(w) - 0.5 * cross**2 / gram)

        ends = (-0.5, 0.6) if isinstance(prior, cr.Uniform) else (-3.0, 3.0)
        return integrate.quad(density, *ends, points=[0.0, 0.2], limit=200)[0]

    mean = moment(1) / moment(0)
    within(model, [mean], [np.sqrt(moment(2) / moment(0) - mean**2)])


def test_rows_few_and_columns_many():
    """The n × n form against the P × P one: the same posterior, the columns being orthogonal copies of it."""
    X, y = small(12, 30, seed=3)
    model = cr.LinearRegression(prior=cr.Normal(0, 0.5), noise=cr.noise.Normal(0.7), inference="gibbs").fit(X, y)
    exact = cr.LinearRegression(prior=cr.Normal(0, 0.5), noise=cr.noise.Normal(0.7)).fit(X, y)
    within(model, exact.coef_, exact.posterior_.sd, errors=5.0)


def test_horseshoe_finds_the_few():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 20))
    y = 3.0 * X[:, 0] - 2.0 * X[:, 5] + rng.normal(size=80)
    model = cr.LinearRegression(prior=Horseshoe()).fit(X, y)
    others = np.delete(model.coef_, [0, 5])
    assert abs(model.coef_[0] - 3) < 0.4
    assert abs(model.coef_[5] + 2) < 0.4
    assert np.abs(others).max() < 0.2
    assert 0.8 < model.noise_scale_ < 1.25


def test_units_do_not_matter_to_what_is_learned():
    X, y = small()
    for prior in (Horseshoe(), cr.Laplace(0, None)):
        base = cr.LinearRegression(prior=prior).fit(X, y)
        scaled = cr.LinearRegression(prior=prior).fit(X * 1e12, y * 1e-12)
        np.testing.assert_allclose(scaled.coef_ * 1e24, base.coef_, rtol=1e-6)


def test_several_targets_are_fitted_as_each_alone():
    X, y = small()
    both = cr.LinearRegression(prior=cr.Laplace(0, 0.5)).fit(X, np.column_stack([y, 2 * y + X[:, 0]]))
    alone = cr.LinearRegression(prior=cr.Laplace(0, 0.5)).fit(X, y)
    assert both.coef_.shape == (2, 3)
    assert both.predict_distribution(X[:4]).shape == (4, 2)
    error = mcse(both.posterior_.chains.values["coef"])[0] + mcse(alone.posterior_.chains.values["coef"])
    assert np.all(np.abs(both.coef_[0] - alone.coef_) < 4 * error)


def test_a_fit_is_a_function_of_its_data():
    X, y = small()
    fits = [cr.LinearRegression(prior=cr.Laplace(0, 0.5), random_state=s).fit(X, y).coef_ for s in (None, None, 7)]
    assert np.array_equal(fits[0], fits[1])
    assert not np.array_equal(fits[0], fits[2])


def test_the_posterior_record():
    X, y = small()
    posterior = cr.LinearRegression(prior=cr.Laplace(0, 0.5)).fit(X, y).posterior_
    assert posterior["coef"].shape[1:] == (3,)
    assert posterior.sample(5, 0).shape == (5, 3)
    assert posterior.covariance.shape == (3, 3)
    low, high = posterior.interval(0.9)
    assert np.all(low < posterior.mean)
    assert np.all(posterior.mean < high)
    assert set(posterior.summary()) == {"intercept", "x0", "x1", "x2"}
    assert posterior.noise_scale.mean > 0
    with pytest.raises(ParameterError, match="coef"):
        posterior["nothing"]
    with pytest.raises(UnavailableError):
        posterior.log_prob(posterior.mean)


def test_save_and_load(tmp_path):
    X, y = small()
    model = cr.LinearRegression(prior=cr.Laplace(0, 0.5), noise=cr.noise.StudentT(4)).fit(X, y)
    cr.save(model, tmp_path / "m.credo")
    again = cr.load(tmp_path / "m.credo")
    assert np.array_equal(again.coef_, model.coef_)
    assert np.array_equal(again.predict_distribution(X[:3]).mean, model.predict_distribution(X[:3]).mean)


# -- modes -------------------------------------------------------------------------------------------------------------


def test_modes_are_stationary():
    X, y = small()
    for prior in (cr.StudentT(3, 0.1, 0.4), ElasticNet(0.5, 0.7), cr.Laplace(0.2, 0.3)):
        model = cr.LinearRegression(prior=prior, noise=cr.noise.Normal(0.5), inference="map").fit(X, y)

        def objective(w, prior=prior):
            residual = (y - y.mean()) - (X - X.mean(axis=0)) @ w
            return 0.5 * (residual**2).sum() / 0.25 - prior.log_prob(w).sum()

        best = objective(model.coef_)
        for step in 1e-4 * np.vstack([np.eye(3), -np.eye(3)]):
            assert objective(model.coef_ + step) >= best
        with pytest.raises(UnavailableError, match="point"):
            _ = model.posterior_.sd


def test_uniform_mode_is_bounded_least_squares():
    X, y = small()
    model = cr.LinearRegression(prior=cr.Uniform(-0.5, 0.6), inference="map").fit(X, y)
    slope = (X - X.mean(axis=0)).T @ (y - X @ model.coef_ - model.intercept_)
    at_low, at_high = model.coef_ == -0.5, model.coef_ == 0.6
    assert np.all(slope[at_low] <= 0)
    assert np.all(slope[at_high] >= 0)
    assert (at_low | at_high).any()
    assert np.all(np.abs(slope[~(at_low | at_high)]) < 1e-9)


@pytest.mark.parametrize(
    ("prior", "noise", "reason"),
    [
        (cr.Laplace(0, 1), None, "unknown noise"),
        (Horseshoe(), KNOWN, "infinite at 0"),
        (cr.Laplace(0, None), KNOWN, "scale 0"),
        (None, KNOWN, "scale 0"),
        (cr.Normal(0, 1), cr.noise.StudentT(), "joint mode"),
        (cr.Normal(0, 1), cr.noise.Laplace(1.0), "corners"),
    ],
)
def test_modes_that_are_refused(prior, noise, reason):
    with pytest.raises(ParameterError, match=reason):
        cr.LinearRegression(prior=prior, noise=noise, inference="map").fit(*small())


def test_other_refusals():
    X, y = small()
    for options, match in [
        ({"prior": cr.Laplace(0, 1), "inference": "exact"}, "no closed form"),
        ({"prior": ARD(), "inference": "gibbs"}, "ARD"),
        ({"prior": ARD(), "noise": cr.noise.StudentT()}, "StudentT"),
        ({"prior": cr.Laplace(0, [1, 2])}, "3 columns"),
        ({"inference": "nuts"}, "algebra"),
        ({"prior": Horseshoe(), "prior_intercept": cr.Normal(0, 1)}, "prior_intercept"),
    ]:
        with pytest.raises(ParameterError, match=match):
            cr.LinearRegression(**options).fit(X, y)
    with pytest.raises(NotIdentifiedError):
        cr.LinearRegression(prior=cr.Laplace(0, 1)).fit(X[:3], y[:3])
    with pytest.raises(UnavailableError, match="evidence"):
        _ = cr.LinearRegression(prior=cr.Laplace(0, 1)).fit(X, y).log_evidence_


# -- ARD ---------------------------------------------------------------------------------------------------------------


def test_ard_against_scikit_learn():
    """A maximum of the same evidence at least as high, irrelevant columns exactly zero."""
    from sklearn.linear_model import ARDRegression

    rng = np.random.default_rng(5)
    X, w = rng.normal(size=(100, 30)), np.zeros(30)
    w[[2, 7, 11]] = 2.0, -1.0, 0.5
    y = X @ w + 0.5 * rng.normal(size=100) + 4.0
    ours, theirs = cr.LinearRegression(prior=ARD()).fit(X, y), ARDRegression(max_iter=1000, tol=1e-8).fit(X, y)

    def evidence(sd, noise):
        stated = cr.Normal(0, np.maximum(sd, 1e-9))
        return cr.LinearRegression(prior=stated, noise=cr.noise.Normal(noise)).fit(X, y).log_evidence_

    high = evidence(ours.prior_scale_, ours.noise_scale_)
    assert high >= evidence(theirs.lambda_**-0.5, theirs.alpha_**-0.5) - 1e-6
    np.testing.assert_allclose(ours.log_evidence_, high, atol=1e-5)
    assert (ours.coef_ == 0).sum() >= 10
    assert np.linalg.norm(ours.coef_ - w) < 0.4
    assert ours.result_.ok
    assert np.all(np.diff(ours.result_.objective) > -1e-9)
