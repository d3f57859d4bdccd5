"""Latent Gaussian engines: known answers, brute force on small cases, and three ways to the same posterior."""

import numpy as np
import pytest
import scipy.special

from credo.distributions.likelihoods import (
    BernoulliCloglog,
    BernoulliLogit,
    BernoulliProbit,
    BinomialLogit,
    GammaLog,
    LaplaceIdentity,
    NegativeBinomialLog,
    NormalIdentity,
    OrdinalProbit,
    PoissonLog,
    StudentTIdentity,
)
from credo.errors import (
    ConvergenceWarning,
    DataError,
    NotPositiveDefiniteError,
    ParameterError,
    UnavailableError,
)
from credo.inference.latent_gaussian import LatentPrior, WeightPrior, expectation_propagation, laplace_latent
from credo.inference.weighted import SplitProposal, importance_sample

RNG = np.random.default_rng(5)
X = np.sort(RNG.uniform(-2.0, 2.0, 12))
ENGINES = pytest.mark.parametrize("engine", [laplace_latent, expectation_propagation])


def rbf(a, b=None, lengthscale=0.8, sd=1.5):
    b = a if b is None else b
    return sd**2 * np.exp(-0.5 * ((a[:, None] - b) / lengthscale) ** 2)


#: likelihood, outcomes of a smooth function at X, ψ
CASES = {
    "logit": (BernoulliLogit(), (np.sin(X) > 0.2).astype(float), None),
    "probit": (BernoulliProbit(), (np.sin(X) > 0.2).astype(float), None),
    "cloglog": (BernoulliCloglog(), (np.sin(X) > 0.2).astype(float), None),
    "binomial": (BinomialLogit(np.full(12, 6)), np.round(6.0 / (1.0 + np.exp(-X))), None),
    "poisson": (PoissonLog(), np.round(np.exp(1.0 + X)), None),
    "negative binomial": (NegativeBinomialLog(), np.round(np.exp(1.0 + X)), np.array([0.7])),
    "gamma": (GammaLog(), np.exp(X) + 0.3, np.array([1.2])),
    "normal": (NormalIdentity(None), np.sin(X), np.array([-0.5])),
    "ordinal": (OrdinalProbit(3), np.digitize(X, [-0.7, 0.6]).astype(float), np.array([-0.6, 0.2])),
    "student": (StudentTIdentity(df=5.0), np.sin(X) + 0.2, np.array([-0.9])),
}
every = pytest.mark.parametrize("case", CASES)


def test_one_probit_datum():
    """MATHS §10; one datum is EP's exact case."""
    prior = LatentPrior([[4.0]])
    ep = expectation_propagation(prior, BernoulliProbit(), [1.0])
    np.testing.assert_allclose([ep.mean[0], ep.variance[0]], [1.42729929292, 1.96281672842], rtol=1e-11)
    assert ep.log_evidence == pytest.approx(np.log(0.5), rel=1e-14)
    laplace = laplace_latent(prior, BernoulliProbit(), [1.0])
    np.testing.assert_allclose([laplace.mean[0], laplace.variance[0]], [1.06151627542, 1.66077023776], rtol=1e-11)


def test_breast_cancer():
    """MATHS §10: standardised, 4·RBF(5), Laplace."""
    from sklearn.datasets import load_breast_cancer

    features, y = load_breast_cancer(return_X_y=True)
    features = (features - features.mean(axis=0)) / features.std(axis=0)
    squares = np.sum(features**2, axis=1)
    distance = np.maximum(squares[:, None] + squares - 2.0 * features @ features.T, 0.0)
    fit = laplace_latent(LatentPrior(4.0 * np.exp(-distance / 50.0)), BernoulliLogit(), y.astype(float))
    assert fit.log_evidence == pytest.approx(-90.0233460254, abs=1e-9)
    assert fit.result.status == "converged"


@every
@ENGINES
def test_gradients(case, engine):
    """∂ log evidence against central differences, in a log variance, a lengthscale, the mean and ψ."""
    likelihood, y, psi = CASES[case]

    def evidence(sd=1.5, lengthscale=0.8, mean=0.1, psi=psi):
        options = {"tol": 1e-11} if engine is expectation_propagation else {}
        return engine(LatentPrior(rbf(X, None, lengthscale, sd), mean), likelihood, y, psi, **options)

    fit = evidence()
    assert fit.result.ok
    h = 1e-4
    changes = [
        lambda: 2.0 * rbf(X) / 1.5,
        lambda: rbf(X) * (X[:, None] - X) ** 2 / 0.8**3,
    ]
    gradient, along_mean = fit.evidence_gradient(changes, [np.ones(12)])
    numeric = [
        (evidence(sd=1.5 + h).log_evidence - evidence(sd=1.5 - h).log_evidence) / (2 * h),
        (evidence(lengthscale=0.8 + h).log_evidence - evidence(lengthscale=0.8 - h).log_evidence) / (2 * h),
    ]
    np.testing.assert_allclose(gradient, numeric, rtol=2e-6, atol=2e-7)
    numeric = (evidence(mean=0.1 + h).log_evidence - evidence(mean=0.1 - h).log_evidence) / (2 * h)
    assert along_mean[0] == pytest.approx(numeric, rel=2e-6, abs=2e-7)
    steps = [] if psi is None else h * np.eye(psi.size)
    numeric = [
        (evidence(psi=psi + step).log_evidence - evidence(psi=psi - step).log_evidence) / (2 * h) for step in steps
    ]
    np.testing.assert_allclose(fit.auxiliary_gradient(), numeric, rtol=2e-6, atol=2e-7)


@every
@ENGINES
def test_three_forms_agree(case, engine):
    """Weights, their dual and a dense prior on f give one posterior; so do the gradients in S₀."""
    likelihood, y, psi = CASES[case]
    features = np.column_stack([np.ones(12), X, X**2])
    covariance = np.array([[1.0, 0.2, 0.0], [0.2, 0.8, -0.1], [0.0, -0.1, 0.3]])
    prior = WeightPrior(features, covariance, mean=[0.1, 0.0, -0.1], offset=0.05)
    options = {"tol": 1e-10} if engine is expectation_propagation else {}
    primal = engine(prior, likelihood, y, psi, **options)
    dual = engine(prior.dual(), likelihood, y, psi, **options)
    np.testing.assert_allclose(primal.mean, dual.mean, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(primal.variance, dual.variance, rtol=1e-7)
    np.testing.assert_allclose(primal.covariance(), dual.covariance(), rtol=1e-6, atol=1e-8)
    assert primal.log_evidence == pytest.approx(dual.log_evidence, rel=1e-9)
    mean, lower = primal.weights()
    weights_mean, variances = prior.weights_given(dual.state)
    np.testing.assert_allclose(mean, weights_mean, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(np.diag(np.linalg.inv(lower @ lower.T)), variances, rtol=1e-6)
    np.testing.assert_array_equal(lower, np.tril(lower))
    change = np.array([[0.3, 0.1, 0.0], [0.1, 0.2, 0.0], [0.0, 0.0, 1.0]])
    a, b = primal.evidence_gradient([change], [X]), dual.evidence_gradient([features @ change @ features.T], [X])
    np.testing.assert_allclose(np.concatenate(a), np.concatenate(b), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("power", [1.0, 0.5, 0.1])
def test_normal_is_exact(power):
    prior, noise, y = LatentPrior(rbf(X), 0.3), NormalIdentity(0.4), np.sin(X)
    for fit in (laplace_latent(prior, noise, y), expectation_propagation(prior, noise, y, power=power)):
        total = rbf(X) + 0.16 * np.eye(12)
        inverse = np.linalg.inv(total)
        np.testing.assert_allclose(fit.mean, 0.3 + rbf(X) @ inverse @ (y - 0.3), rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(fit.covariance(), rbf(X) - rbf(X) @ inverse @ rbf(X), rtol=1e-6, atol=1e-8)
        residual = y - 0.3
        log_evidence = -0.5 * (residual @ inverse @ residual + np.linalg.slogdet(2 * np.pi * total)[1])
        assert fit.log_evidence == pytest.approx(log_evidence, rel=1e-9)
        new = np.array([-1.0, 0.5])
        cross = rbf(X, new)
        mean, variance = fit.predict(cross, np.full(2, 1.5**2), 0.3)
        np.testing.assert_allclose(mean, 0.3 + cross.T @ inverse @ residual, rtol=1e-7)
        np.testing.assert_allclose(variance, 2.25 - np.sum(cross * (inverse @ cross), axis=0), rtol=1e-6, atol=1e-9)


def brute_force(covariance, likelihood, y, psi):
    """Log evidence, mean and covariance of two latents on a grid of standard normals."""
    z = np.linspace(-9.0, 9.0, 721)
    grid = np.stack([g.ravel() for g in np.meshgrid(z, z, indexing="ij")], axis=1)
    f = grid @ np.linalg.cholesky(covariance).T
    log_p = likelihood.log_prob(y, f, psi).sum(axis=1) - 0.5 * np.sum(grid**2, axis=1) - np.log(2 * np.pi)
    log_evidence = scipy.special.logsumexp(log_p) + 2.0 * np.log(z[1] - z[0])
    weights = np.exp(log_p - scipy.special.logsumexp(log_p))
    mean = weights @ f
    return log_evidence, mean, (f - mean).T @ ((f - mean) * weights[:, None])


@pytest.mark.parametrize("rows", [[2, 9], [0, 5]])
@every
def test_two_latents(case, rows):
    """EP's own error on two data: 0.1 % of an sd, 1.1 % of a variance, 0.002 nats bound all cases (measured)."""
    likelihood, y, psi = CASES[case]
    if case == "binomial":
        likelihood = BinomialLogit(6)
    covariance = np.array([[2.0, 1.2], [1.2, 1.5]])
    log_evidence, mean, exact = brute_force(covariance, likelihood, y[rows], psi)
    fit = expectation_propagation(LatentPrior(covariance), likelihood, y[rows], psi)
    sd = np.sqrt(np.diag(exact))
    assert np.all(np.abs(fit.mean - mean) < 0.001 * sd)
    np.testing.assert_allclose(fit.variance, np.diag(exact), rtol=0.011)
    assert fit.log_evidence == pytest.approx(log_evidence, abs=0.002)


@pytest.mark.parametrize("y", [0.3, 6.0])
def test_one_laplace_datum(y):
    """The absolute loss: EP alone takes it, and is exact for one datum."""
    noise, prior = LaplaceIdentity(0.7), LatentPrior([[2.0]], 0.5)
    f = np.unique(np.concatenate([np.linspace(-12, 12, 200_001), y + 8.0 * np.linspace(-1, 1, 100_001) ** 3]))
    density = np.exp(noise.log_prob(y, f) - 0.25 * (f - 0.5) ** 2) / np.sqrt(4.0 * np.pi)
    mass = np.trapezoid(density, f)
    mean = np.trapezoid(f * density, f) / mass
    for power in (1.0, 0.5):
        fit = expectation_propagation(prior, noise, [y], power=power)
        if power == 1.0:
            assert fit.log_evidence == pytest.approx(np.log(mass), abs=1e-6)
            assert fit.mean[0] == pytest.approx(mean, abs=1e-6)
            assert fit.variance[0] == pytest.approx(np.trapezoid((f - mean) ** 2 * density, f) / mass, abs=1e-6)
        assert fit.result.ok
    with pytest.raises(ParameterError, match="smooth"):
        laplace_latent(prior, noise, [y])


def test_outliers_have_sites_of_negative_precision():
    """Student-t with an outlier: the mode is one, its Gaussian has the Hessian's inverse, EP converges."""
    y = np.sin(X)
    y[[3, 8]] += (9.0, -7.0)
    noise, prior = StudentTIdentity(4.0, 0.2), LatentPrior(rbf(X))
    fit = laplace_latent(prior, noise, y)
    assert fit.result.status == "converged"
    assert np.any(fit.state.tau < 0)
    _, slope, curvature = noise.value_and_derivatives(y, fit.mean)
    np.testing.assert_allclose(fit.mean, rbf(X) @ slope, atol=1e-6)
    exact = np.linalg.inv(np.linalg.inv(rbf(X)) - np.diag(curvature))
    np.testing.assert_allclose(fit.covariance(), exact, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(fit.variance, np.diag(exact), rtol=1e-6)
    sign, log_determinant = np.linalg.slogdet(np.eye(12) - rbf(X) * curvature)
    assert sign == 1
    assert fit.state.half_log_determinant == pytest.approx(0.5 * log_determinant, rel=1e-10)
    ep = expectation_propagation(prior, noise, y)
    assert ep.result.ok
    assert np.any(ep.state.tau < 0)
    keep = np.delete(np.arange(12), [3, 8])
    clean = laplace_latent(LatentPrior(rbf(X[keep])), noise, y[keep])
    np.testing.assert_allclose(ep.mean[keep], clean.mean, atol=0.3)


@ENGINES
def test_weights_count_rows(engine):
    likelihood, y, _ = CASES["poisson"]
    twice = np.concatenate([np.arange(12), [2, 2, 7]])
    weights = np.ones(12)
    weights[2], weights[7] = 3.0, 2.0
    features = np.column_stack([np.ones(12), X])
    options = {"tol": 1e-11} if engine is expectation_propagation else {}
    a = engine(WeightPrior(features, np.eye(2)), likelihood, y, weights=weights, **options)
    b = engine(WeightPrior(features[twice], np.eye(2)), likelihood, y[twice], **options)
    # EP's repeated rows each have a site of their own: close, not equal
    tolerance = 1e-9 if engine is laplace_latent else 2e-3
    np.testing.assert_allclose(a.mean, b.mean[:12], rtol=tolerance, atol=tolerance)
    assert a.log_evidence == pytest.approx(b.log_evidence, rel=tolerance)
    weights[2] = 0.0
    without = engine(WeightPrior(features, np.eye(2)), likelihood, y, weights=weights, **options)
    rows = np.delete(np.arange(12), 2)
    other = engine(WeightPrior(features[rows], np.eye(2)), likelihood, y[rows], weights=weights[rows], **options)
    assert without.log_evidence == pytest.approx(other.log_evidence, rel=1e-9)


@ENGINES
@pytest.mark.parametrize("form", ["dense", "weights"])
def test_importance_check(engine, form):
    """`whitened` and `log_joint` are what importance sampling needs: k̂ certifies, the evidence agrees."""
    likelihood, y, _ = CASES["probit"]
    features = np.column_stack([np.ones(12), X])
    prior = LatentPrior(rbf(X) + 0.5) if form == "dense" else WeightPrior(features, 2.0 * np.eye(2))
    fit = engine(prior, likelihood, y)
    mean, lower = fit.whitened()
    proposal = SplitProposal.gaussian(np.ones(1), mean[None], lower[None])
    draws = importance_sample(proposal, fit.log_joint, 8000)
    assert draws.k_hat < 0.7
    # standard error of the log normaliser is below 0.03 with these points; Laplace's own error is a few tenths
    assert fit.log_evidence == pytest.approx(
        draws.log_normaliser, abs=0.1 if engine is expectation_propagation else 0.6
    )


def test_singular_prior_and_far_outcomes():
    """Duplicate rows, a constant latent, a huge prior variance, counts of a million: converged, nothing NaN."""
    twin = np.repeat(X[:4], 3)
    for covariance in (rbf(twin), np.ones((12, 12)), 1e8 * rbf(twin), 1e-12 * rbf(twin)):
        for engine in (laplace_latent, expectation_propagation):
            fit = engine(LatentPrior(covariance), BernoulliLogit(), (np.arange(12) % 3 > 0).astype(float))
            assert fit.result.ok, (covariance[0, 0], engine, fit.result)
            assert np.isfinite(fit.log_evidence)
            np.testing.assert_allclose(fit.mean[:3], fit.mean[0], rtol=1e-5, atol=1e-12)
    counts = np.array([0.0, 1e6, 3.0])
    for engine in (laplace_latent, expectation_propagation):
        fit = engine(LatentPrior(100.0 * np.eye(3)), PoissonLog(), counts)
        assert fit.result.ok
        assert fit.mean[1] == pytest.approx(np.log(1e6), abs=1e-5)


def test_refusals():
    prior = LatentPrior(np.eye(3))
    with pytest.raises(DataError):
        laplace_latent(prior, BernoulliLogit(), [0.0, 1.0, 2.0])
    with pytest.raises(ParameterError, match="y"):
        laplace_latent(prior, BernoulliLogit(), [0.0, 1.0])
    with pytest.raises(ParameterError, match="psi"):
        laplace_latent(prior, GammaLog(), [1.0, 1.0, 2.0])
    with pytest.raises(ParameterError, match="weights"):
        laplace_latent(prior, BernoulliLogit(), [0.0, 1.0, 1.0], weights=[1.0, -1.0, 1.0])
    with pytest.raises(ParameterError, match="power"):
        expectation_propagation(prior, BernoulliLogit(), [0.0, 1.0, 1.0], power=0.0)
    with pytest.raises(ParameterError, match="covariance"):
        LatentPrior(np.ones((2, 3)))
    with pytest.raises(ParameterError, match="mean"):
        LatentPrior(np.eye(2), [1.0, 2.0, 3.0])
    fit = laplace_latent(prior, BernoulliLogit(), [0.0, 1.0, 1.0])
    with pytest.raises(UnavailableError):
        fit.weights()
    with pytest.warns(ConvergenceWarning):
        stopped = expectation_propagation(LatentPrior(rbf(X[:3])), BernoulliLogit(), [0.0, 1.0, 1.0], max_iter=1)
    assert stopped.result.status == "max_iter"


def test_prior_far_from_the_outcomes():
    """e^800 overflows at the prior mean: both engines find f = m + K (y − e^f)."""
    for engine in (laplace_latent, expectation_propagation):
        fit = engine(LatentPrior([[1.0]], 800.0), PoissonLog(), [3.0])
        assert fit.result.ok
        assert fit.mean[0] == pytest.approx(np.log(803.0 - fit.mean[0]), abs=1e-3)
    assert laplace_latent(LatentPrior([[1.0]], -1e4), GammaLog(2.0), [3.0]).result.ok
    assert laplace_latent(WeightPrior([[1.0]], [[1.0]], 800.0), PoissonLog(), [3.0]).result.ok


def test_indefinite_covariance_is_named():
    with pytest.raises(NotPositiveDefiniteError, match="eigenvalue -1"):
        LatentPrior([[1.0, 2.0], [2.0, 1.0]])


def test_symmetric_outliers_have_no_single_mode():
    """Two Cauchy outcomes far apart on one latent: the point between is a saddle, and the status says so."""
    fit = laplace_latent(
        LatentPrior(100.0 * np.ones((2, 2)) + 1e-6 * np.eye(2)), StudentTIdentity(1.0, 0.1), [-5.0, 5.0]
    )
    assert fit.result.status == "not_identified"
