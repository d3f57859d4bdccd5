"""The shared contract of likelihoods, on Normal, Bernoulli and Poisson."""

import mpmath as mp
import numpy as np
import pytest

from credo.distributions.likelihoods import BernoulliLogit, NormalIdentity, PoissonLog
from credo.testing import likelihoods as contract

ETA = np.array([-750.0, -40.0, -3.0, -0.5, -1e-9, 0.0, 1e-3, 0.7, 4.0, 35.0, 600.0])


def bernoulli(y, eta):
    return y * eta - mp.log(1 + mp.exp(eta))


def poisson(y, eta):
    return y * eta - mp.exp(eta) - mp.loggamma(y + 1)


def normal(y, eta):
    return -((y - eta) ** 2) / (2 * mp.mpf("0.3")) - mp.log(2 * mp.pi * mp.mpf("0.3")) / 2


CASES = [
    (NormalIdentity(np.sqrt(0.3)), np.array([-2.0, 0.0, 1.5]), normal, None),
    (BernoulliLogit(), np.array([0.0, 1.0]), bernoulli, 2.0),
    (PoissonLog(), np.array([0.0, 1.0, 7.0, 40.0]), poisson, -1.0),
]
IDS = ["normal", "bernoulli", "poisson"]


@pytest.mark.parametrize(("likelihood", "values", "reference", "bad"), CASES, ids=IDS)
def test_contract(likelihood, values, reference, bad):
    y, eta = (a.ravel() for a in np.meshgrid(values, ETA))
    if isinstance(likelihood, NormalIdentity):
        y, eta, bad = y[np.abs(eta) < 50], eta[np.abs(eta) < 50], -np.inf
    contract.check_record(likelihood)
    contract.check_derivatives(likelihood, y, eta, reference)
    contract.check_extremes(likelihood, y)
    contract.check_out(likelihood, y, eta)
    mild = np.abs(eta) < 20
    contract.check_link(likelihood, y[mild], eta[mild])
    contract.check_bad_rows(likelihood, y, bad)


def sigmoid(eta):
    return 1 / (1 + mp.exp(-eta))


@pytest.mark.parametrize("v", [1e-10, 3.9, 4.1, 1e4])
@pytest.mark.parametrize("m", [-1000.0, -12.0, 0.7, 60.0])
def test_bernoulli_predictive(m, v):
    moments = (sigmoid, lambda e: sigmoid(e) * sigmoid(-e))
    contract.check_predictive(BernoulliLogit(), 0.0, m, v, bernoulli, None)
    contract.check_predictive(BernoulliLogit(), 1.0, m, v, bernoulli, moments)


def test_bernoulli_deep_tail():
    """E σ = e^(m + v/2) (1 + O(e^(m + 3v/2))) where e^η is small all over the bulk."""
    value = BernoulliLogit().predictive_log_prob(1.0, np.array([-1000.0, -300.0]), np.array([4.0, 100.0]))
    np.testing.assert_allclose(value, [-998.0, -250.0], rtol=1e-13)


@pytest.mark.parametrize(("m", "v"), [(-2.0, 1e-8), (0.3, 0.5), (1.0, 4.0), (-30.0, 1e4), (5.0, 900.0)])
@pytest.mark.parametrize("y", [0.0, 1.0, 12.0, 1000.0])
def test_poisson_predictive(y, m, v):
    moments = (mp.exp, mp.exp) if v < 5 and y == 0 else None
    contract.check_predictive(PoissonLog(), y, m, v, poisson, moments)


def test_poisson_predictive_sums_to_one():
    y = np.arange(4000.0)
    assert np.exp(PoissonLog().predictive_log_prob(y, 1.0, 1.0)).sum() == pytest.approx(1.0, abs=1e-10)


@pytest.mark.parametrize(("m", "v"), [(0.5, 1e-6), (-2.0, 2.0), (100.0, 1e4)])
def test_normal_predictive(m, v):
    moments = (lambda e: e, lambda e: mp.mpf("0.3"))
    contract.check_predictive(NormalIdentity(np.sqrt(0.3)), 0.4, m, v, normal, moments)


@pytest.mark.parametrize("v", [1e-12, 0.5, 7.0, 1e4])
def test_bernoulli_variance_splits(v):
    m = np.linspace(-30, 30, 61)
    p = BernoulliLogit().predictive_mean(m, v)
    q = BernoulliLogit().predictive_mean(-m, v)
    np.testing.assert_allclose(p + q, 1.0, atol=1e-14)
    total = BernoulliLogit().aleatoric(m, v) + BernoulliLogit().epistemic(m, v)
    np.testing.assert_allclose(total, p * q, rtol=1e-9, atol=1e-13)


def test_bernoulli_small_variance_keeps_its_digits():
    """Delta method: Var σ(η) → v σ′(m)², which E σ² − (E σ)² would lose below v = 1e-14."""
    np.testing.assert_allclose(BernoulliLogit().epistemic(0.4, 1e-18), 1e-18 * (0.5987 * 0.4013) ** 2, rtol=1e-3)


def test_bernoulli_expected_entropy():
    def entropy(eta):
        size = abs(eta)
        return mp.log(1 + mp.exp(-size)) + size / (1 + mp.exp(size))

    for m, v in [(0.3, 0.5), (-4.0, 9.0), (10.0, 2500.0)]:
        with mp.workdps(30):
            exact = float(contract.gaussian_integral(entropy, m, v))
        assert BernoulliLogit().expected_entropy(m, v) == pytest.approx(exact, abs=1e-12)


def test_broadcasting_and_zero_variance():
    y = np.array([0.0, 1.0, 3.0])
    value = PoissonLog().predictive_log_prob(y[:, None], np.array([0.1, 0.2]), 0.0)
    assert value.shape == (3, 2)
    np.testing.assert_allclose(value, PoissonLog().log_prob(y[:, None], np.array([0.1, 0.2])), rtol=1e-14)
    assert np.shape(BernoulliLogit().predictive_log_prob(1.0, 0.0, 1.0)) == ()
    assert np.exp(BernoulliLogit().predictive_log_prob(1.0, 0.0, 1.0)) == pytest.approx(0.5, rel=1e-14)


def test_chunks_do_not_change_rows():
    rng = np.random.default_rng(0)
    m, v = rng.normal(size=9000), rng.gamma(1.0, 40.0, size=9000)
    y = (m > 0).astype(float)
    whole = BernoulliLogit().predictive_log_prob(y, m, v)
    parts = [BernoulliLogit().predictive_log_prob(y[i : i + 7], m[i : i + 7], v[i : i + 7]) for i in (0, 5000, 8993)]
    np.testing.assert_allclose(
        np.concatenate(parts), np.concatenate([whole[i : i + 7] for i in (0, 5000, 8993)]), 1e-13
    )
