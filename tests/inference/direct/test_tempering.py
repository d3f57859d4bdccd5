"""SMC and annealed importance sampling: evidence of conjugate models by four routes, errors that are right, modes."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats as st
from hypothesis import given
from hypothesis import strategies as strategy

import credo as cr
from credo.errors import ConvergenceWarning, NumericalError, ParameterError, ZeroProbabilityError
from credo.inference import Target
from credo.inference.direct import annealed_importance, importance, smc
from credo.inference.direct.population import RandomWalkMoves, conditional_ess, next_temperature
from credo.inference.mcmc import NUTS, RandomWalk, Slice
from credo.inference.posterior import Posterior

#: of each statistical statement below; seeds are fixed, so that it was taken once
FALSE_ALARM = 1e-3
Z = st.norm.isf(FALSE_ALARM / 2)
#: the same for an error from eight islands
T = st.t(7).isf(FALSE_ALARM / 2)


def beta_binomial(p):
    """Prior Beta(2, 3), 70 of 100; the proposal is the prior."""
    return st.beta.logpdf(p, 2, 3) + st.binom.logpmf(70, 100, p)


BETA_EVIDENCE = st.betabinom(100, 2, 3).logpmf(70)


class LinearGaussian:
    """y = X w + ε, w ~ N(0, 2² I) of 3, ε ~ N(0, 0.7² I) of 20: everything in closed form."""

    rng = np.random.default_rng(11)
    X = rng.normal(size=(20, 3))
    y = X @ [1.0, -2.0, 0.5] + 0.7 * rng.normal(size=20)
    prior = cr.Normal(np.zeros(3), 2.0)
    evidence = st.multivariate_normal(np.zeros(20), 4.0 * X @ X.T + 0.49 * np.eye(20)).logpdf(y)
    precision = X.T @ X / 0.49 + np.eye(3) / 4.0
    mean = np.linalg.solve(precision, X.T @ y / 0.49)
    sd = np.sqrt(np.diag(np.linalg.inv(precision)))

    @classmethod
    def log_density(cls, w):
        residual = cls.y - w @ cls.X.T
        likelihood = -0.5 * np.square(residual).sum(axis=1) / 0.49 - 20 * math.log(0.7 * math.sqrt(2 * math.pi))
        return -0.125 * np.square(w).sum(axis=1) - 3 * math.log(2.0 * math.sqrt(2 * math.pi)) + likelihood


@pytest.mark.parametrize("sampler", [importance, smc, annealed_importance])
def test_the_evidence_of_beta_binomial(sampler):
    found = sampler(beta_binomial, cr.Beta(2, 3), size=4000, rng=1)
    quantile = T if sampler is smc else Z
    assert abs(found.log_evidence - BETA_EVIDENCE) < quantile * found.log_evidence_error
    assert found.log_evidence_error < 0.05
    posterior = st.beta(72, 33)
    for power in (1, 2):
        value, error = found.expect(lambda p, power=power: p**power)
        assert abs(value - posterior.moment(power)) < quantile * error
    assert found.result.status == "converged"
    assert isinstance(found, Posterior)


@pytest.mark.parametrize("sampler", [smc, annealed_importance])
def test_the_evidence_of_a_linear_gaussian_model_from_its_prior(sampler):
    model = LinearGaussian
    found = sampler(model.log_density, model.prior, size=2000, rng=2)
    quantile = T if sampler is smc else Z
    assert abs(found.log_evidence - model.evidence) < quantile * found.log_evidence_error
    assert found.log_evidence_error < 0.2
    value, error = found.expect(lambda w: w)
    assert np.all(np.abs(value - model.mean) < quantile * error)
    np.testing.assert_allclose(found.sd, model.sd, rtol=0.2)


def test_the_evidence_of_a_linear_gaussian_model_by_importance():
    """From the prior hardly a draw counts; from a Student-t at the posterior nearly all do."""
    model = LinearGaussian
    near = cr.MultivariateStudentT(5, model.mean, 1.5 * np.linalg.inv(model.precision))
    found = importance(model.log_density, near, size=4000, rng=3)
    assert abs(found.log_evidence - model.evidence) < Z * found.log_evidence_error
    assert found.log_evidence_error < 0.02


def modes(x):
    """0.3 N(−5, 0.3² I) + 0.7 N(5, 0.4² I) in two dimensions, times e²."""
    left = math.log(0.3) + st.norm.logpdf(x, -5.0, 0.3).sum(axis=1)
    right = math.log(0.7) + st.norm.logpdf(x, 5.0, 0.4).sum(axis=1)
    return np.logaddexp(left, right) + 2.0


@pytest.mark.parametrize("sampler", [smc, annealed_importance])
def test_two_separated_modes_keep_their_weights(sampler):
    found = sampler(modes, cr.Normal(np.zeros(2), 6.0), size=4000, rng=1)
    quantile = T if sampler is smc else Z
    share = found.expect(lambda x: x[:, 0] > 0)
    assert abs(share.value - 0.7) < quantile * share.error
    assert share.error < 0.05
    assert abs(found.log_evidence - 2.0) < quantile * found.log_evidence_error
    inside = found.expect(lambda x: (x[:, 0] < 0) * (x[:, 0] + 5.0) ** 2)  # 0.3 · 0.3²
    assert abs(inside.value - 0.027) < quantile * inside.error


def test_the_trace_says_what_happened():
    found = smc(beta_binomial, cr.Beta(2, 3), size=800, rng=1)
    trace = found.trace
    steps = len(trace["temperature"])
    assert trace["temperature"][-1] == 1.0
    assert np.all(np.diff(trace["temperature"], prepend=0.0) > 0)
    assert trace["ess"].shape == trace["log_evidence"].shape == trace["resampled"].shape == (steps, 8)
    assert np.all((trace["ess"] > 1) & (trace["ess"] <= 100 + 1e-9))
    assert np.array_equal(trace["resampled"], trace["ess"] < 50)
    assert np.all((trace["acceptance_rate"] > 0.1) & (trace["acceptance_rate"] < 0.8))
    pooled = np.logaddexp.reduce(trace["log_evidence"][-1]) - math.log(8)
    assert found.log_evidence == pytest.approx(pooled) == found.result.objective[-1]
    assert not annealed_importance(beta_binomial, cr.Beta(2, 3), size=200, rng=0).trace["resampled"].any()
    again = smc(beta_binomial, cr.Beta(2, 3), size=800, rng=1)
    assert np.array_equal(again.values["x"], found.values["x"])


def test_the_posterior_follows_its_law():
    """Resampled from 4,000 particles with some 1,000 ancestors: a Kolmogorov–Smirnov statistic of 400 independent
    draws would be exceeded by chance."""
    found = annealed_importance(beta_binomial, cr.Beta(2, 3), size=4000, rng=5)
    x, w = found.values["x"], found.weights
    order = np.argsort(x)
    distance = np.max(np.abs(np.cumsum(w[order]) - st.beta(72, 33).cdf(x[order])))
    assert distance < st.kstwo(int(found.effective)).isf(FALSE_ALARM)


@pytest.mark.filterwarnings("ignore::credo.errors.ConvergenceWarning")  # rightly, of each run; they are averaged here
@pytest.mark.parametrize("sampler", [smc, annealed_importance])
def test_the_evidence_is_unbiased_even_with_few_particles(sampler):
    """150 runs of 100 particles, with a schedule of three steps that leaves relative errors of some .2."""
    least = {"islands": 2} if sampler is smc else {}
    z = np.exp(
        [
            sampler(
                lambda x: st.norm.logpdf(x, 1.5, 0.5), cr.Normal(0, 1), size=100, rng=seed, moves=1,
                temperatures=[0.1, 0.4, 1.0], **least,
            ).log_evidence
            for seed in range(150)
        ]
    )  # fmt: skip
    assert z.std() > 0.05
    assert abs(z.mean() - 1.0) < st.t(149).isf(FALSE_ALARM / 2) * z.std(ddof=1) / math.sqrt(150)


@pytest.mark.slow
def test_z_scores_of_smc_are_student_t(replicates, record_property):
    """Of log evidence and of the mean, on the linear-Gaussian model; Kolmogorov–Smirnov against t with 7 degrees of
    freedom at 10⁻³ each.

    Islands' Ẑ are skew and log Ẑ has a bias of −½ of its variance, which the sizes here keep below a tenth of the
    error: a statement about 50 or 200 runs, not about 10⁶.
    """
    runs, model = replicates(50, 200), LinearGaussian
    scores = []
    for seed in range(runs):
        found = smc(model.log_density, model.prior, size=2000, rng=seed)
        mean = found.expect(lambda w: w[:, 0])
        scores.append(
            [
                (found.log_evidence - model.evidence) / found.log_evidence_error,
                (mean.value - model.mean[0]) / mean.error,
            ]
        )
    for name, z in zip(("evidence", "mean"), np.transpose(scores)):
        p = st.kstest(z, st.t(7).cdf).pvalue
        record_property(f"p of the {name}'s z-scores", float(p))
        assert p > FALSE_ALARM


@pytest.mark.slow
def test_z_scores_of_annealed_importance_are_normal(replicates, record_property):
    runs, model = replicates(50, 200), LinearGaussian
    scores = []
    for seed in range(runs):
        found = annealed_importance(model.log_density, model.prior, size=400, rng=seed)
        scores.append((found.log_evidence - model.evidence) / found.log_evidence_error)
    p = st.kstest(scores, st.norm.cdf).pvalue
    record_property("p of the evidence's z-scores", float(p))
    assert p > FALSE_ALARM


@pytest.mark.parametrize(
    "kernel", [Slice(), lambda x, w: RandomWalk(covariance=np.atleast_2d(np.cov(x.T, aweights=w)), adapt=None)]
)
def test_any_kernel_without_gradients_moves_the_particles(kernel):
    found = smc(beta_binomial, cr.Beta(2, 3), size=400, rng=4, kernel=kernel, moves=2)
    assert abs(found.log_evidence - BETA_EVIDENCE) < T * found.log_evidence_error
    mean = found.expect(lambda p: p)
    assert abs(mean.value - 72 / 105) < T * mean.error


def test_a_target_with_names_shapes_and_bounds():
    """Five data of N(μ, σ²): against the integral over a fine grid."""
    y = np.array([4.8, 5.3, 6.1, 4.9, 5.6])
    mu, sigma = cr.Normal(0, 10), cr.HalfNormal(2)

    def log_density(x):
        return mu.log_prob(x[:, 0]) + sigma.log_prob(x[:, 1]) + st.norm.logpdf(y, x[:, :1], x[:, 1:]).sum(axis=1)

    target = Target(log_density, {"mu": (), "sigma": ()}, supports={"sigma": sigma.support}, vectorised=True)
    found = smc(target, {"mu": mu, "sigma": sigma}, size=2000, rng=0)
    grid = np.stack(np.meshgrid(np.linspace(-5, 15, 801), np.linspace(0.005, 12, 800), indexing="ij"), axis=-1)
    values = log_density(grid.reshape(-1, 2))
    exact = np.logaddexp.reduce(values) + math.log(20 / 800) + math.log(11.995 / 799)
    assert abs(found.log_evidence - exact) < T * found.log_evidence_error
    assert found.values["sigma"].shape == (2000,)
    assert np.all(found.values["sigma"] > 0)
    assert set(found.mean) == {"mu", "sigma"}


def test_a_hard_constraint_is_a_first_step_like_any_other():
    """The target is zero on 97.7 % of the proposal: N(0, 1) beyond 2, evidence its tail."""
    found = smc(lambda x: np.where(x > 2, st.norm.logpdf(x), -np.inf), cr.Normal(0, 1), size=4000, rng=0)
    assert abs(found.log_evidence - st.norm.logsf(2)) < T * found.log_evidence_error
    assert found.values["x"].min() > 2


def test_islands_that_disagree_are_not_certified():
    """One step from N(0, 3²) to N(0, 0.001²): of 50 particles one carries all, if any."""
    with pytest.warns(ConvergenceWarning, match="islands' log evidences lie between"):
        found = smc(cr.Normal(0, 0.001), cr.Normal(0, 3), size=400, rng=1, temperatures=[1.0])
    assert found.result.status == "not_certified"
    assert found.log_evidence_error > 0.5


def test_moves_that_are_never_accepted_are_said():
    kernel = RandomWalk(scale=1e6, adapt=None)
    with pytest.warns(ConvergenceWarning, match="% of moves were accepted at temperature"):
        smc(cr.Normal(0, 1), cr.Normal(0, 2), size=400, rng=1, kernel=kernel)


@given(
    log_ratio=strategy.lists(strategy.floats(-1e6, 50), min_size=2, max_size=40),
    beta=strategy.floats(0, 0.99),
    share=strategy.floats(0.3, 0.99),
)
def test_the_next_temperature_keeps_the_share(log_ratio, beta, share):
    log_ratio = np.array(log_ratio)
    log_w = np.full(log_ratio.size, -math.log(log_ratio.size))
    following = next_temperature(beta, log_w, log_ratio, share)
    assert beta < following <= 1.0 or following == beta == pytest.approx(following)
    kept = conditional_ess(np.exp(log_w), (following - beta) * (log_ratio - log_ratio.max()))
    assert kept >= share - 1e-6
    if following < 1.0 and following - beta > 1e-12:
        assert kept == pytest.approx(share, abs=1e-3)


def test_moves_of_a_singular_population_are_finite():
    x = np.ones((50, 3)) * [1.0, 0.0, 1e8]
    x[:, 1] = np.linspace(0, 1, 50)
    moves = RandomWalkMoves.tuned(x, np.full(50, 0.02), None)
    assert np.all(np.isfinite(moves.factor))
    assert np.all(np.diag(moves.factor) > 0)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"size": 100}, ParameterError, "size must be an integer ≥ 400"),
        ({"islands": 1}, ParameterError, "islands must be an integer ≥ 2"),
        ({"ess_step": 1.0}, ParameterError, "ess_step"),
        ({"moves": 0}, ParameterError, "moves must be an integer ≥ 1"),
        ({"temperatures": [0.5, 0.2, 1.0]}, ParameterError, "temperatures must be ascending"),
        ({"temperatures": [0.5]}, ParameterError, "temperatures must be ascending"),
        ({"kernel": NUTS()}, ParameterError, "a kernel without gradients"),
        ({"kernel": Slice}, ParameterError, "a kernel without gradients"),
        ({"target": lambda x: np.full(x.shape, -np.inf)}, ZeroProbabilityError, "zero at all"),
        ({"target": lambda x: np.full(x.shape, np.nan)}, NumericalError, "log density is nan"),
        ({"proposal": cr.Uniform(0, 1)}, ParameterError, "positive wherever the target is"),
        ({"proposal": None}, ParameterError, "proposal must be a distribution"),
    ],
)
def test_misuse_is_named(arguments, error, message):
    given_ = {"target": cr.Normal(0, 1), "proposal": cr.Normal(0, 2), "size": 800, "rng": 0, **arguments}
    with pytest.raises(error, match=message):
        smc(given_.pop("target"), given_.pop("proposal"), **given_)


def test_a_population_can_be_saved(tmp_path):
    found = smc(cr.Normal(1, 1), cr.Normal(0, 2), size=400, rng=0)
    cr.save(found, tmp_path / "population.credo")
    again = cr.load(tmp_path / "population.credo")
    assert np.array_equal(again.trace["ess"], found.trace["ess"])
    assert again.islands == 8
    assert again.expect(lambda x: x) == found.expect(lambda x: x)
