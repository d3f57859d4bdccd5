"""Importance sampling and resampling: known expectations and evidence, errors that are right, failures that say so."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats as st
from hypothesis import given
from hypothesis import strategies as strategy
from scipy.special import gammaln

import credo as cr
from credo.errors import ConvergenceWarning, NumericalError, ParameterError, ZeroProbabilityError
from credo.inference import Target
from credo.inference.direct import importance, resample, sampling_importance_resampling
from credo.inference.direct.resampling import SCHEMES
from credo.inference.posterior import Posterior

#: of each statistical statement below; seeds are fixed, so that it was taken once
FALSE_ALARM = 1e-3
Z = st.norm.isf(FALSE_ALARM / 2)


def test_beta_binomial():
    """Prior Beta(2, 3), 7 of 10: evidence C(10, 7) B(9, 6)/B(2, 3), posterior Beta(9, 6)."""
    model = st.betabinom(10, 2, 3)

    def log_density(p):
        return st.beta.logpdf(p, 2, 3) + st.binom.logpmf(7, 10, p)

    found = importance(log_density, cr.Beta(2, 3), size=20_000, rng=0)
    assert abs(found.log_evidence - model.logpmf(7)) < Z * found.log_evidence_error
    for power in (1, 2, 3):
        value, error = found.expect(lambda p, power=power: p**power)
        assert abs(value - st.beta(9, 6).moment(power)) < Z * error
    assert found.result.status == "converged"
    assert found.result.certificate["pareto_k"] < 0.7
    assert isinstance(found, Posterior)
    ends = np.array(found.interval(0.9))
    np.testing.assert_allclose(ends, st.beta(9, 6).ppf([0.05, 0.95]), atol=0.02)
    assert found.summary()["x"]["mcse_mean"] == pytest.approx(float(found.expect(lambda p: p).error))


def test_equal_weights_have_the_error_of_a_plain_mean():
    found = importance(cr.Normal(0, 1), cr.Normal(0, 1), size=5000, rng=0)
    assert found.log_evidence == pytest.approx(0.0, abs=1e-12)
    assert found.log_evidence_error == pytest.approx(0.0, abs=1e-7)
    x = found.values["x"]
    value, error = found.expect(lambda x: x)
    assert value == pytest.approx(x.mean())
    assert error == pytest.approx(x.std(ddof=1) / math.sqrt(5000))
    assert found.effective == pytest.approx(5000)


def test_the_stated_errors_are_right():
    """300 runs: z-scores of the mean, of a tail probability and of the evidence have variance 1 (χ² within 1 − 10⁻³).

    With 2,000 draws the delta method's own bias is of the order 1/√2000: the bounds are widened by 5 %.
    """
    target, proposal = st.norm(1.0, 1.0), cr.StudentT(4, 0.0, 1.5)
    scores = []
    for seed in range(300):
        found = importance(lambda x: target.logpdf(x) + 3.0, proposal, size=2000, rng=seed)
        mean, tail = found.expect(lambda x: x), found.expect(lambda x: x > 2.0)
        scores.append(
            [
                (mean.value - 1.0) / mean.error,
                (tail.value - target.sf(2.0)) / tail.error,
                (found.log_evidence - 3.0) / found.log_evidence_error,
            ]
        )
    variances = np.square(scores).mean(axis=0)
    low, high = st.chi2(300).ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2]) / 300
    assert np.all((variances > 0.95 * low) & (variances < 1.05 * high))


def test_the_evidence_is_unbiased():
    """800 runs of 100 draws; the mean of Ẑ is 1."""
    found = np.array(
        [
            importance(cr.Normal(0, 1), cr.Normal(2.0, 2.0), size=100, rng=i).log_evidence for i in range(800)
        ]
    )  # fmt: skip
    z = np.exp(found)
    assert abs(z.mean() - 1.0) < Z * z.std() / math.sqrt(800)


def test_the_best_proposal_is_the_target_times_the_size_of_the_function():
    """P(X > 3) of N(0, 1) = 1.3499e-3: q ∝ 1{x > 3} p has no variance at all in Σ f p/q, and p has 1/P − 1 a draw."""
    exact = st.norm.sf(3.0)
    best = cr.Truncated(cr.Normal(0, 1), low=3.0)
    x = best.sample(1000, np.random.default_rng(0))
    terms = np.exp(st.norm.logpdf(x) - best.log_prob(x))
    np.testing.assert_allclose(terms, exact, rtol=1e-9)


def test_a_target_with_names_shapes_and_bounds():
    """μ ~ N(0, 2²), σ ~ half-N(1), as their own target: evidence 1, means 0 and √(2/π)."""
    mu, sigma = cr.Normal(0, 2), cr.HalfNormal(1)
    target = Target(
        lambda x: mu.log_prob(x[:, :2]).sum(axis=1) + sigma.log_prob(x[:, 2]),
        {"mu": (2,), "sigma": ()}, supports={"sigma": sigma.support}, vectorised=True,
    )  # fmt: skip
    found = importance(target, {"mu": cr.Normal(0, 2.5), "sigma": cr.Exponential(1)}, size=20_000, rng=0)
    assert found.values["mu"].shape == (20_000, 2)
    assert abs(found.log_evidence) < Z * found.log_evidence_error
    value, error = found.expect(lambda v: v["sigma"] + v["mu"][:, 0])
    assert abs(value - math.sqrt(2 / math.pi)) < Z * error


def test_a_proposal_with_light_tails_is_not_certified():
    with pytest.warns(ConvergenceWarning, match=r"Pareto k̂ is .*more draws will not help.*NUTS"):
        found = importance(cr.Cauchy(0, 1), cr.Normal(0, 1), size=4000, rng=0)
    assert found.result.status == "not_certified"


def test_a_few_positive_weights_are_not_certified():
    with pytest.warns(ConvergenceWarning, match="Pareto k̂ is inf"):
        found = importance(lambda x: np.where(x > 2.4, 0.0, -np.inf), cr.Normal(0, 1), size=1000, rng=0)
    assert found.weights.sum() == pytest.approx(1.0)
    assert np.all((found.weights > 0) == (found.values["x"] > 2.4))


@pytest.mark.parametrize(
    ("target", "proposal", "error", "message"),
    [
        (cr.Beta(2, 3), cr.Uniform(2, 3), ZeroProbabilityError, "zero at all 1000 draws"),
        (cr.Normal(0, 1), cr.Uniform(0, 1), ParameterError, r"it is 0 at x = -0\.\d*, where log p̃ = -0\.9\d*"),
        (cr.Normal(0, 1), cr.HalfNormal(1), ParameterError, "positive wherever the target is"),
        (
            lambda x: -np.abs(x).sum(axis=1), cr.Uniform(np.zeros(3), 1.0), ParameterError,
            "positive wherever the target is",
        ),
        (lambda x: np.where(x > 1, np.nan, -x * x), cr.Normal(0, 1), NumericalError, "log density is nan at x = "),
        (lambda x: np.where(x > 1, np.inf, -x * x), cr.Normal(0, 1), NumericalError, "log density is inf at x = "),
        (lambda x: x[:3], cr.Normal(0, 1), ParameterError, "one log density a row"),
        (cr.Normal(0, 1), 3, ParameterError, "proposal must be a distribution"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("sampler", [importance, sampling_importance_resampling])
def test_misuse_is_named(sampler, target, proposal, error, message):
    arguments = {"draws": 1000} if sampler is sampling_importance_resampling else {}
    with pytest.raises(error, match=message):
        sampler(target, proposal, size=1000, rng=0, **arguments)


def test_a_target_of_no_mass_beyond_the_proposal_is_accepted():
    """N(½, 0.05²) under U(0, 1): the target is positive outside too, ten sds away."""
    found = importance(cr.Normal(0.5, 0.05), cr.Uniform(0, 1), size=4000, rng=0)
    assert abs(found.log_evidence) < Z * found.log_evidence_error


@pytest.mark.parametrize(
    ("target", "proposal"),
    [
        (lambda k: k * math.log(3.0) - 3.0 - gammaln(k + 1), cr.Poisson(4.0)),  # positive between integers too
        (lambda x: np.sum([1, 2, 3] * np.log(x), axis=1) + gammaln(9) - math.log(12), cr.Dirichlet(np.ones(3) * 1.5)),
    ],
)
def test_formulas_that_mean_nothing_off_the_support_are_not_held_against_the_proposal(target, proposal):
    found = importance(target, proposal, size=4000, rng=0)
    assert abs(found.log_evidence) < Z * found.log_evidence_error


def test_a_proposal_that_denies_its_own_draws_is_named():
    class Wrong:
        def sample(self, n, rng):
            return rng.random(n)

        def log_prob(self, x):
            return np.where(x < 0.5, 0.0, -np.inf)

    with pytest.raises(NumericalError, match="at its own draw"):
        importance(cr.Normal(0, 1), Wrong(), size=100, rng=0)


# -- resampling ----------------------------------------------------------------------------------------------------


@given(
    weights=strategy.lists(strategy.floats(0, 10), min_size=1, max_size=30).filter(lambda w: sum(w) > 0.1),
    size=strategy.integers(1, 50),
    scheme=strategy.sampled_from(SCHEMES),
    seed=strategy.integers(0, 100),
)
def test_counts_are_what_the_scheme_allows(weights, size, scheme, seed):
    w = np.array(weights) / np.sum(weights)
    at = resample(weights, size, seed, scheme)
    assert at.shape == (size,)
    assert np.all(np.diff(at) >= 0)
    counts = np.bincount(at, minlength=w.size)
    assert np.all(counts[w == 0] == 0)
    share = size * w
    if scheme == "systematic":
        assert np.all(np.abs(counts - share) < 1 + 1e-9)
    if scheme == "stratified":
        assert np.all(np.abs(counts - share) < 2)
    if scheme == "residual":
        assert np.all(counts >= np.floor(share - 1e-9))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_scheme_is_unbiased(scheme):
    w = np.array([0.05, 0.5, 0.13, 0.32])
    counts = np.array([np.bincount(resample(w, 7, seed, scheme), minlength=4) for seed in range(4000)])
    error = np.maximum(counts.std(axis=0), 1e-9) / math.sqrt(4000)
    assert np.all(np.abs(counts.mean(axis=0) - 7 * w) < st.norm.isf(FALSE_ALARM / 8) * error)


def test_resampled_draws_follow_the_target():
    """20 × 2,000 draws: the distance of their law from the target's is that of 40,000, and hardly seen by 2,000."""
    found = sampling_importance_resampling(cr.Gamma(shape=3, rate=1), cr.Exponential(0.3), size=2000, rng=1)
    assert st.kstest(found["x"], st.gamma(3).cdf).pvalue > FALSE_ALARM
    assert abs(found.log_evidence) < Z * found.log_evidence_error
    assert found.result.certificate["distinct"] > 1500
    lagged = np.corrcoef(found["x"][1:], found["x"][:-1])[0, 1]
    assert abs(lagged) < Z / math.sqrt(2000)  # in random order


@pytest.mark.parametrize("weights", [[], [0.0, 0.0], [1.0, -1.0], [1.0, math.nan], [[1.0]], [math.inf, 1.0]])
def test_bad_weights_are_named(weights):
    with pytest.raises(ParameterError, match="weights must be"):
        resample(weights)


def test_a_bad_scheme_is_named():
    with pytest.raises(ParameterError, match="scheme must be one of systematic"):
        resample([1.0], scheme="bootstrap")


def test_weighted_draws_can_be_saved(tmp_path):
    found = importance(cr.Normal(0, 1), cr.StudentT(5, 0, 1), size=200, rng=0)
    cr.save(found, tmp_path / "draws.credo")
    again = cr.load(tmp_path / "draws.credo")
    assert np.array_equal(again.log_weights, found.log_weights)
    assert again.log_evidence_error == found.log_evidence_error
