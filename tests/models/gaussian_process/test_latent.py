"""What the latent fits rest on: gradients in all hyperparameters, warm starts, the importance check, the softmax."""

import numpy as np
import pytest
import scipy.special

import credo as cr
from credo.distributions.likelihoods import BernoulliLogit, NegativeBinomialLog, PoissonLog, StudentTIdentity
from credo.errors import NumericalError
from credo.inference.latent_gaussian import LatentPrior, expectation_propagation, laplace_latent, laplace_softmax
from credo.models.gaussian_process.latent import LatentFit
from credo.models.gaussian_process.latent_certificate import certificate, holds
from credo.models.gaussian_process.latent_evidence import LatentEvidence, LatentTask
from credo.models.gaussian_process.latent_ladder import require_memory
from credo.models.gaussian_process.latent_softmax import SoftmaxFit, _Evidence, _Task

RNG = np.random.default_rng(6)
X = RNG.normal(size=(18, 2))
F = X[:, 0] - 0.5 * X[:, 1]
PRIOR = cr.Gamma(shape=3.0, rate=2.0)
KERNEL = 2.0 * cr.kernels.RBF((1.0, 2.0), priors={"lengthscale": PRIOR})
CASES = {
    "logit": (BernoulliLogit(), (F > 0).astype(float)),
    "poisson": (PoissonLog(), np.round(np.exp(1.0 + F))),
    "negative binomial": (NegativeBinomialLog(), np.round(np.exp(1.0 + F))),
    "student": (StudentTIdentity(), F + 0.3 * RNG.standard_t(4, size=18)),
}


def numeric(function, position, h=1e-4):
    return np.array([(function(position + s) - function(position - s)) / (2 * h) for s in h * np.eye(position.size)])


@pytest.mark.parametrize("engine", ["laplace", "ep"])
@pytest.mark.parametrize("case", CASES)
def test_gradient_of_all_hyperparameters(case, engine):
    """θ, ψ and the mean at once, priors included, and unchanged by where the last evaluation was."""
    likelihood, y = CASES[case]
    task = LatentTask(KERNEL, likelihood, X, y, offset=0.1 * X[:, 1], mean=None)
    position = task.start() + 0.1
    warm = LatentEvidence(task, engine)
    warm(position + 0.7)
    value, gradient = warm(position)
    cold = LatentEvidence(task, engine)(position)
    assert value == pytest.approx(cold[0], abs=1e-6)
    # EP while searching matches moments to 1e-5, Newton stops at 1e-8 nats: slopes to some 1e-4
    np.testing.assert_allclose(gradient, cold[1], atol=5e-4)
    slopes = numeric(lambda at: LatentEvidence(task, engine)(at)[0], position, 1e-3)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-3, atol=1e-3)
    assert len(task.names) == position.size == gradient.size


def test_evidence_weights_are_all_gradients_at_once():
    """Σ W ∘ dK for any symmetric dK is what central differences of the evidence say."""
    likelihood, y = CASES["logit"]
    K = KERNEL(X) + 0.01 * np.eye(18)
    root = RNG.normal(size=(18, 18))
    change = root @ root.T / 18.0
    for engine in (laplace_latent, expectation_propagation):
        weight, along = engine(LatentPrior(K), likelihood, y).evidence_weights()
        h = 1e-4
        up, down = (engine(LatentPrior(K + s * change), likelihood, y).log_evidence for s in (h, -h))
        assert np.vdot(weight, change) == pytest.approx((up - down) / (2 * h), rel=1e-5)
        np.testing.assert_allclose(weight, weight.T, atol=1e-12)
        up, down = (engine(LatentPrior(K, s), likelihood, y).log_evidence for s in (h, -h))
        assert along.sum() == pytest.approx((up - down) / (2 * h), rel=1e-5)


def test_softmax_gradients():
    """Own covariances a class, weights, means: W_c and w against central differences."""
    y = np.digitize(F, [-0.5, 0.6])
    weights = RNG.uniform(0.5, 2.0, 18)
    K = np.stack([KERNEL(X), 1.5 * cr.kernels.RBF(0.7)(X), cr.kernels.Matern(1.0)(X)])
    change = 0.3 * cr.kernels.RBF(1.5)(X)
    mean = np.array([0.1, -0.2, 0.3])

    def evidence(s=0.0, c=0, m=mean):
        moved = K.copy()
        moved[c] += s * change
        return laplace_softmax(moved, y, 3, m, weights)

    weight, along = evidence().evidence_weights()
    h = 1e-4
    for c in range(3):
        slope = (evidence(h, c).log_evidence - evidence(-h, c).log_evidence) / (2 * h)
        assert np.vdot(weight[c], change) == pytest.approx(slope, rel=1e-5, abs=1e-7)
    slopes = numeric(lambda m: evidence(m=m).log_evidence, mean)
    np.testing.assert_allclose(along.sum(axis=0), slopes, rtol=1e-5, atol=1e-7)
    # and through the kernel and the sum-to-zero means
    task = _Task(KERNEL, X, y, 3, None, weights)
    objective = _Evidence(task, "laplace")
    position = task.start() + 0.1
    _, gradient = objective(position)
    np.testing.assert_allclose(gradient, numeric(lambda at: objective(at)[0], position), rtol=1e-4, atol=1e-5)


def test_softmax_blocks_and_importance_weights():
    """Blocks are those of the dense covariance; the weights' mean is the ratio of evidences, as brute force says."""
    y, K = np.array([0, 2]), np.array([[2.0, 0.8], [0.8, 1.5]])
    fit = laplace_softmax(K, y, 3)
    z = np.linspace(-5.0, 5.0, 11)
    grid = np.stack([g.ravel() for g in np.meshgrid(*[z] * 6, indexing="ij")], axis=1).reshape(-1, 3, 2)
    f = grid @ np.linalg.cholesky(K).T
    log_p = np.moveaxis(f, 1, 2) - scipy.special.logsumexp(f, axis=1)[..., None]
    log_mass = log_p[:, 0, 0] + log_p[:, 1, 2] - 0.5 * np.sum(grid**2, axis=(1, 2)) - 3.0 * np.log(2.0 * np.pi)
    exact = scipy.special.logsumexp(log_mass) + 6.0 * np.log(z[1] - z[0])
    weights = fit.log_weights(20_000, np.random.default_rng(0))
    # the weights' sd is below 0.6, so four standard errors of the log of their mean are 0.02
    assert fit.log_evidence + scipy.special.logsumexp(weights) - np.log(20_000) == pytest.approx(exact, abs=0.02)
    mean, joint = fit.predict(K, np.diag(K))
    np.testing.assert_allclose(mean, fit.mean, atol=1e-9)
    np.testing.assert_allclose(joint, fit.blocks(), atol=1e-9)


def test_certificate_finds_the_evidence():
    """Two rows: the weighted evidence is brute force's within four standard errors; a far Gaussian does not hold."""
    likelihood, y = BernoulliLogit(), np.array([0.0, 1.0])
    K = np.array([[9.0, 6.0], [6.0, 9.0]])
    z = np.linspace(-8.0, 8.0, 601)
    grid = np.stack([g.ravel() for g in np.meshgrid(z, z, indexing="ij")], axis=1)
    log_p = likelihood.log_prob(y, grid @ np.linalg.cholesky(K).T).sum(axis=1) - 0.5 * np.sum(grid**2, axis=1)
    exact = scipy.special.logsumexp(log_p) - np.log(2.0 * np.pi) + 2.0 * np.log(z[1] - z[0])
    for engine in (laplace_latent, expectation_propagation):
        found = certificate(engine(LatentPrior(K), likelihood, y))
        assert found["log_evidence_weighted"] == pytest.approx(exact, abs=0.15)
    far = certificate(laplace_latent(LatentPrior(1e6 * np.eye(3)), likelihood, np.ones(3)))
    assert not holds(far)
    near = certificate(laplace_latent(LatentPrior(1e-4 * np.eye(3)), likelihood, np.ones(3)))
    assert holds(near)


def test_anderson_settles_correlated_sites():
    """Rows that nearly repeat one another under a wide prior: plain sweeps take 150, accelerated ones a fifth."""
    rows = np.repeat(X, 4, axis=0) + 0.01 * RNG.normal(size=(72, 2))
    y = (rows[:, 0] > 0).astype(float)
    fit = expectation_propagation(LatentPrior(100.0 * cr.kernels.RBF(3.0)(rows)), BernoulliLogit(), y)
    assert fit.result.ok
    assert fit.result.n_iter < 50


def test_state_is_rebuilt_from_the_sites():
    """What predictions start from, K and the sites, is the posterior that was learned; paths are draws of it."""
    likelihood, y = CASES["student"]
    fit = LatentFit.learn(LatentTask(KERNEL, likelihood, X, y, mean=None), rng=np.random.default_rng(0))
    assert fit.psi is not None
    engine = laplace_latent if fit.inference == "laplace" else expectation_propagation
    again = engine(LatentPrior(fit.kernel(X), fit.mean), likelihood, y, fit.psi)
    np.testing.assert_allclose(fit.state.mean, again.mean, atol=1e-5)
    assert fit.log_evidence == pytest.approx(again.log_evidence, abs=1e-5)
    mean, variance = fit.latent(X[:3])
    np.testing.assert_allclose(mean, again.mean[:3], atol=1e-5)
    paths = fit.paths(X[:3], 4000)
    assert np.all(np.abs(paths.mean(axis=0) - mean) < 4.0 * np.sqrt(variance / 4000))


def test_softmax_keeps_its_mode():
    y = np.digitize(F, [-0.5, 0.6])
    fit = SoftmaxFit.learn(KERNEL, X, y, 3, optimize=False, rng=np.random.default_rng(0))
    np.testing.assert_allclose(fit.posterior.pull, fit.pull, atol=1e-9)
    assert fit.posterior.result.n_iter <= 3


def test_more_rows_than_memory():
    with pytest.raises(NumericalError, match="for 1,000,000 rows needs"):
        require_memory("GaussianProcessClassifier", 10**6, 6)
