"""The shared contract on likelihoods with auxiliary parameters: derivatives, priors, extremes, predictives."""

import itertools

import mpmath as mp
import numpy as np
import pytest
import scipy.special

from credo.distributions.gamma import Gamma
from credo.distributions.half_normal import HalfNormal
from credo.distributions.likelihoods import (
    BernoulliCloglog,
    BernoulliLogit,
    BernoulliProbit,
    BinomialLogit,
    GammaLog,
    LaplaceIdentity,
    NegativeBinomialLog,
    NormalIdentity,
    OrdinalLogit,
    OrdinalProbit,
    PoissonLog,
    StudentTIdentity,
)
from credo.errors import ParameterError
from credo.testing import likelihoods as contract


def negative_binomial(y, eta, u):
    phi, mu = mp.exp(u), mp.exp(eta)
    gammas = mp.loggamma(y + phi) - mp.loggamma(phi) - mp.loggamma(y + 1)
    return gammas - phi * mp.log(1 + mu / phi) - y * mp.log(1 + phi / mu)


def gamma(y, eta, u):
    a = mp.exp(u)
    return a * (u - eta) - mp.loggamma(a) + (a - 1) * mp.log(y) - a * y * mp.exp(-eta)


def student_t(y, eta, kappa, tau):
    df, z = mp.exp(kappa), (y - eta) * mp.exp(-tau)
    gammas = mp.loggamma((df + 1) / 2) - mp.loggamma(df / 2) - mp.log(mp.pi * df) / 2
    return gammas - tau - (df + 1) / 2 * mp.log(1 + z * z / df)


def normal(y, eta, tau):
    return -(((y - eta) * mp.exp(-tau)) ** 2) / 2 - tau - mp.log(2 * mp.pi) / 2


REAL = np.array([-2.0, 0.0, 1.5, 40.0])
COUNTS = np.array([0.0, 1.0, 7.0, 400.0])
CASES = {
    "negative binomial": (NegativeBinomialLog(), COUNTS, negative_binomial, -1.0, False),
    "gamma": (GammaLog(), np.array([1e-3, 0.8, 30.0]), gamma, 0.0, False),
    "student t": (StudentTIdentity(), REAL, student_t, -np.inf, None),
    "normal": (NormalIdentity(None), REAL, normal, -np.inf, True),
}
every = pytest.mark.parametrize(("likelihood", "values", "reference", "bad", "canonical"), CASES.values(), ids=CASES)
ETA = np.array([-9.0, -1.0, -1e-9, 0.0, 0.7, 5.0])


def grid(values):
    return (a.ravel() for a in np.meshgrid(values, ETA))


@every
@pytest.mark.parametrize("u", [-4.0, 0.3, 6.0])
def test_contract(likelihood, values, reference, bad, canonical, u):
    y, eta = grid(values)
    psi = np.full(len(likelihood.auxiliary), u) - 0.1 * np.arange(len(likelihood.auxiliary))
    contract.check_record(likelihood)
    contract.check_derivatives(likelihood, y, eta, reference, psi, rtol=1e-12)
    contract.check_joint(likelihood, y, eta, reference, psi)
    contract.check_out(likelihood, y, eta, psi)
    contract.check_auxiliary(likelihood, y, psi)
    contract.check_law(likelihood, y, eta, psi)
    if u > 0:
        contract.check_link(likelihood, y, eta, psi, canonical)
    contract.check_bad_rows(likelihood, y, bad)


@every
def test_extremes(likelihood, values, reference, bad, canonical):
    """Parameters from 1e-8 to 1e8, outcomes to 1e12: finite or rightly infinite, and right where it can be."""
    y = np.array([*values, 1e6, 1e12])
    a = len(likelihood.auxiliary)
    for psi in itertools.product(np.log([1e-8, 1.0, 1e8]), repeat=a):
        contract.check_extremes(likelihood, y, np.array(psi))
        near = likelihood.initial_eta(y) + 1e-3
        with mp.workdps(50):
            exact = [float(reference(mp.mpf(float(k)), mp.mpf(float(e)), *map(mp.mpf, psi)))
                     for k, e in zip(y, near, strict=True)]  # fmt: skip
        np.testing.assert_allclose(likelihood.log_prob(y, near, np.array(psi)), exact, rtol=1e-9, atol=1e-7)


def probit(y, eta):
    return mp.log(mp.ncdf(eta if y else -eta))


def cloglog(y, eta):
    return mp.log(-mp.expm1(-mp.exp(eta))) if y else -mp.exp(eta)


def binomial(y, eta):
    return mp.log(mp.binomial(12, y)) - y * mp.log(1 + mp.exp(-eta)) - (12 - y) * mp.log(1 + mp.exp(eta))


@pytest.mark.parametrize(
    ("likelihood", "values", "reference", "bad"),
    [
        (BernoulliProbit(), np.array([0.0, 1.0]), probit, 2.0),
        (BernoulliCloglog(), np.array([0.0, 1.0]), cloglog, 0.5),
        (BinomialLogit(12), np.array([0.0, 5.0, 12.0]), binomial, 13.0),
    ],
)
def test_without_auxiliary(likelihood, values, reference, bad):
    y, eta = (a.ravel() for a in np.meshgrid(values, [*ETA, -33.0, -3.1, -2.9, 3.01]))
    contract.check_record(likelihood)
    contract.check_derivatives(likelihood, y, eta, reference, rtol=1e-12)
    contract.check_extremes(likelihood, y)
    contract.check_out(likelihood, y, eta)
    mild = np.abs(eta) < 2  # the family's probability rounds to 1 beyond
    contract.check_law(likelihood, y[mild], eta[mild])
    contract.check_link(likelihood, y[mild], eta[mild], canonical=isinstance(likelihood, BinomialLogit))
    contract.check_bad_rows(likelihood, y, bad)


def ordinal(cdf):
    def reference(y, eta, *psi):
        cuts = [-mp.inf, psi[0]]
        for gap in psi[1:]:
            cuts.append(cuts[-1] + mp.exp(gap))
        cuts.append(mp.inf)
        low, high = (None if mp.isinf(cuts[k]) else cuts[k] - eta for k in (int(y), int(y) + 1))
        if high is None:
            return mp.log(cdf(-low))
        if low is None:
            return mp.log(cdf(high))
        return mp.log(cdf(-low) - cdf(-high) if low > 0 else cdf(high) - cdf(low))

    return reference


@pytest.mark.parametrize(
    ("likelihood", "reference"),
    [
        (OrdinalLogit(4), ordinal(lambda x: 1 / (1 + mp.exp(-x)))),
        (OrdinalProbit(4), ordinal(mp.ncdf)),
    ],
)
@pytest.mark.parametrize("psi", [(-1.0, 0.3, -2.0), (0.5, 2.0, -9.0), (3.0, -0.3, 0.4)])
def test_ordinal(likelihood, reference, psi):
    y, eta = grid(np.arange(4.0))
    psi = np.array(psi)
    contract.check_record(likelihood)
    contract.check_derivatives(likelihood, y, eta, reference, psi, rtol=1e-11)
    contract.check_joint(likelihood, y, eta, reference, psi, rtol=1e-10)
    contract.check_extremes(likelihood, y, psi)
    contract.check_out(likelihood, y, eta, psi)
    contract.check_auxiliary(likelihood, y, psi)
    contract.check_law(likelihood, y, eta, psi)
    contract.check_bad_rows(likelihood, y, 4.0)
    p = likelihood.probabilities(eta, psi)
    np.testing.assert_allclose(p.sum(axis=-1), 1.0, rtol=1e-14)
    np.testing.assert_allclose(p @ np.arange(4.0), likelihood.mean(eta, psi), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(("m", "v"), [(1.0, 0.7), (-2.0, 9.0)])
def test_predictive(m, v):
    """The averages of the moments by mpmath once: they are slow."""
    psi = np.array([0.4])
    phi = mp.exp(mp.mpf(0.4))
    log_moments = (mp.exp, lambda e: mp.exp(e) + mp.exp(2 * e) / phi) if v < 5 else None
    contract.check_predictive(NegativeBinomialLog(), 4.0, m, v, negative_binomial, log_moments, psi)
    contract.check_predictive(NegativeBinomialLog(), 0.0, m, v, negative_binomial, None, psi)
    gamma_moments = (mp.exp, lambda e: mp.exp(2 * e) / phi) if v < 5 else None
    contract.check_predictive(GammaLog(), 2.5, m, v, gamma, gamma_moments, psi)
    contract.check_predictive(NormalIdentity(None), 2.5, m, v, normal, (lambda e: e, lambda e: phi**2), psi)
    for likelihood, reference, p in (
        (BernoulliProbit(), probit, mp.ncdf),
        (BernoulliCloglog(), cloglog, lambda e: -mp.expm1(-mp.exp(e))),
    ):
        moments = (p, lambda e, p=p: p(e) * (1 - p(e))) if v < 5 else None
        contract.check_predictive(likelihood, 1.0, m, v, reference, moments)
        z = np.linspace(-12.0, 12.0, 200_001)
        weights = np.exp(-0.5 * z * z) / np.exp(-0.5 * z * z).sum()
        eta = m + np.sqrt(v) * z
        mean = likelihood.mean(eta)
        np.testing.assert_allclose(likelihood.aleatoric(m, v), weights @ likelihood.variance(eta), rtol=1e-9)
        np.testing.assert_allclose(likelihood.epistemic(m, v), weights @ (mean - weights @ mean) ** 2, rtol=1e-9)
        np.testing.assert_allclose(likelihood.expected_entropy(m, v), weights @ likelihood._entropy(eta), rtol=1e-9)


@pytest.mark.parametrize(("m", "v"), [(1.0, 0.7), (3.0, 1e4)])
def test_ordinal_predictive(m, v):
    psi = np.array([-1.0, 0.3, -2.0])
    for likelihood, cdf in ((OrdinalLogit(4), lambda x: 1 / (1 + mp.exp(-x))), (OrdinalProbit(4), mp.ncdf)):
        for y in (0.0, 2.0):
            contract.check_predictive(likelihood, y, m, v, ordinal(cdf), None, psi)
        z = np.linspace(-12.0, 12.0, 200_001)
        weights = np.exp(-0.5 * z * z)
        weights /= weights.sum()
        eta = m + np.sqrt(v) * z
        mean, variance = likelihood.mean(eta, psi), likelihood.variance(eta, psi)
        at = (np.array([m]), np.array([v]), psi)
        np.testing.assert_allclose(likelihood.predictive_mean(*at), weights @ mean, rtol=1e-9)
        np.testing.assert_allclose(likelihood.aleatoric(*at), weights @ variance, rtol=1e-8)
        np.testing.assert_allclose(
            likelihood.epistemic(*at), weights @ (mean - weights @ mean) ** 2, rtol=1e-8, atol=1e-14
        )


@pytest.mark.parametrize("df", [0.5, 4.0, 1e3])
@pytest.mark.parametrize("y", [0.0, 3.0, 40.0])
@pytest.mark.parametrize("v", [0.0, 1e-4, 1.0, 100.0])
def test_student_t_and_laplace_predictive(df, y, v):
    """Against two dense grids around the Normal and around y; the Student-t's integrand may have two peaks."""
    for likelihood in (StudentTIdentity(df, 0.5), LaplaceIdentity(0.5)):
        value = float(likelihood.predictive_log_prob(y, 0.0, v))
        if v == 0.0:
            assert value == pytest.approx(float(likelihood.log_prob(y, 0.0)), rel=1e-12)
            continue
        # u³ spacing puts nodes at the kink
        near = y + 40.0 * np.linspace(-1.0, 1.0, 40_001) ** 3
        eta = np.unique(np.concatenate([np.linspace(-42.0, 42.0, 40_001) * np.sqrt(v), near]))
        log_f = likelihood.log_prob(y, eta) - 0.5 * eta**2 / v - 0.5 * np.log(2.0 * np.pi * v)
        expected = scipy.special.logsumexp(log_f + np.log(np.gradient(eta)))
        assert value == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_known_parameters_are_not_auxiliary():
    """A number a row is data; a family is a prior; anything else is refused."""
    rows = StudentTIdentity(df=4.0, scale=np.array([1.0, 2.0]))
    assert rows.auxiliary == ()
    assert rows.log_prob(np.zeros(2), np.zeros(2))[1] == pytest.approx(
        rows.log_prob(np.zeros(2), np.zeros(2))[0] - np.log(2)
    )
    assert StudentTIdentity(df=4.0).auxiliary == ("log_scale",)
    y, eta, psi = np.array([0.5, 1.0]), np.zeros(2), np.array([0.2])
    part, whole = StudentTIdentity(df=4.0), StudentTIdentity()
    both = whole.joint_derivatives(y, eta, np.array([np.log(4.0), 0.2]))
    one = part.joint_derivatives(y, eta, psi)
    np.testing.assert_allclose(one[1], both[1][:, [0, 2]], rtol=1e-12)
    np.testing.assert_allclose(one[2], both[2][:, [0, 2]][:, :, [0, 2]], rtol=1e-12)
    prior = NegativeBinomialLog(Gamma(shape=2.0, rate=0.1))
    contract.check_auxiliary(prior, np.array([0.0, 3.0, 9.0]), psi)
    assert prior.auxiliary_log_prior(psi)[0] == pytest.approx(Gamma(shape=2.0, rate=0.1).log_prob(np.exp(0.2)) + 0.2)
    assert NormalIdentity(HalfNormal(1.0)).auxiliary == ("log_scale",)
    for bad in (0.0, -1.0, np.inf, "wide", np.ones((2, 2))):
        with pytest.raises(ParameterError):
            GammaLog(bad)
    with pytest.raises(ParameterError, match="psi"):
        GammaLog().log_prob(1.0, 0.0)
    with pytest.raises(ParameterError, match="psi"):
        GammaLog().log_prob(1.0, 0.0, np.zeros(2))


def test_batches_of_psi():
    """ψ (draws, a) with η (draws, n): each draw as on its own, laws included; η of any size gives a law."""
    rng = np.random.default_rng(1)
    for likelihood, y, a in (
        (NegativeBinomialLog(), np.array([0.0, 2.0, 9.0]), 1),
        (StudentTIdentity(), np.array([0.0, 2.0, 9.0]), 2),
        (OrdinalLogit(3), np.array([0.0, 2.0, 1.0]), 2),
        (OrdinalProbit(3), np.array([0.0, 2.0, 1.0]), 2),
    ):
        eta, psi = rng.normal(size=(4, 3)), 0.5 * rng.normal(size=(4, a))
        whole = likelihood.joint_derivatives(y, eta, psi)
        law = likelihood.law(eta, psi)
        assert law.batch_shape == (4, 3)
        for draw in range(4):
            alone = likelihood.joint_derivatives(y, eta[draw], psi[draw])
            for part, single in zip(whole, alone, strict=True):
                np.testing.assert_allclose(part[draw], single, rtol=1e-13, atol=1e-15)
        np.testing.assert_allclose(law.log_prob(y), whole[0], rtol=1e-12)
        np.testing.assert_allclose(law.mean, likelihood.mean(eta, psi), rtol=1e-12)
        np.testing.assert_allclose(law.variance, likelihood.variance(eta, psi), rtol=1e-11)
    for likelihood in (NegativeBinomialLog(2.0), GammaLog(2.0)):
        assert np.all(np.isfinite(likelihood.law(np.array([-1e3, 1e3])).mean))


@pytest.mark.parametrize(
    ("likelihood", "y", "psi"),
    [
        (BernoulliLogit(), 1.0, None),
        (PoissonLog(), 4.0, None),
        (GammaLog(), 0.2, np.array([3.0])),
        (StudentTIdentity(2.0, 0.3), 5.0, None),
        (BernoulliProbit(), 0.0, None),
        (LaplaceIdentity(0.3), 2.0, None),
        (NormalIdentity(0.3), 2.0, None),
        (OrdinalProbit(3), 1.0, np.array([0.0, -3.0])),
    ],
)
@pytest.mark.parametrize("power", [1.0, 0.4])
@pytest.mark.parametrize(("m", "v"), [(0.5, 2.0), (-3.0, 0.01), (6.0, 40.0)])
def test_tilted_moments(likelihood, y, psi, power, m, v):
    """Against a dense grid, its spacing cubic around y where a kink or a peak is."""
    near = y + 30.0 * np.linspace(-1.0, 1.0, 200_001) ** 3
    eta = np.unique(np.concatenate([m + np.sqrt(v) * np.linspace(-30.0, 30.0, 200_001), near]))
    with np.errstate(under="ignore"):
        log_f = power * likelihood.log_prob(y, eta, psi) - 0.5 * (eta - m) ** 2 / v - 0.5 * np.log(2.0 * np.pi * v)
        log_z = scipy.special.logsumexp(log_f + np.log(np.gradient(eta)))
        weights = np.exp(log_f - log_z) * np.gradient(eta)
    mean = weights @ eta
    found = likelihood.tilted_moments(np.array([y]), np.array([m]), np.array([v]), psi, power)
    expected = (log_z, mean, weights @ (eta - mean) ** 2)
    np.testing.assert_allclose([float(part[0]) for part in found], expected, rtol=1e-5, atol=1e-6)
