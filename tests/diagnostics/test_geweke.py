"""Geweke's joint test passes exact kernels at its stated rate, and fails subtly wrong ones."""

from __future__ import annotations

import numpy as np
import pytest

from credo.diagnostics.geweke import geweke_joint_test
from credo.errors import ParameterError


def run(step, draws=2000, rng=0, alarm=1e-4, chains=40):
    """μ ~ N(0, 1), y | μ ~ N(μ, 1): μ | y ~ N(y/2, ½)."""
    return geweke_joint_test(
        lambda rng: rng.normal(),
        lambda rng, mu: mu + rng.normal(),
        step,
        {"mu": lambda mu, y: mu, "mu²": lambda mu, y: mu * mu, "mu y": lambda mu, y: mu * y},
        draws=draws,
        rng=rng,
        alarm=alarm,
        chains=chains,
    )


def test_exact_draws_pass():
    test = run(lambda rng, mu, y: y / 2 + np.sqrt(0.5) * rng.normal())
    assert test.ok, test
    assert test.p_value > 1e-4
    assert 500 < test.effective["mu"] <= 2000


def test_false_alarm_rate():
    """Alarm 0.2 shared by three functions: at most 0.2 of 200 runs, and some do fail; 5 standard errors."""
    fails = sum(
        not run(lambda rng, mu, y: y / 2 + np.sqrt(0.5) * rng.normal(), 200, rng=i, alarm=0.2).ok for i in range(200)
    )
    assert 3 < fails < 40 + 5 * np.sqrt(200 * 0.2 * 0.8)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda rng, mu, y: y / 2 + 0.5 * rng.normal(),  # variance for standard deviation
        lambda rng, mu, y: y + rng.normal(),  # the prior forgotten
        lambda rng, mu, y: 0.5 * mu + np.sqrt(0.75) * rng.normal(),  # the data forgotten
    ],
)
def test_wrong_kernels_fail(wrong):
    """Each failed for 50 of 50 seeds, and the exact kernel for none. A hundred chains: the one that forgets the prior
    wanders off, with a mean square about its own standard deviation, so that t grows with the chains alone."""
    assert not run(wrong, 4000, chains=100).ok


def test_chains_that_mix_slowly_raise_no_false_alarm():
    """An AR(1) about the exact conditional, of which 400 draws are worth 20: at most 0.2 of 100 runs fail; 5 standard
    errors. (One chain, the variance of its mean estimated from its autocorrelation, failed at 1e-4 for 4 of 1,000.)"""
    slow = lambda rng, mu, y: y / 2 + 0.9 * (mu - y / 2) + np.sqrt(0.5 * (1 - 0.81)) * rng.normal()
    bounded = {"mu": lambda mu, y: np.tanh(mu), "|mu|": lambda mu, y: min(abs(mu), 1.5)}
    fails = sum(
        not geweke_joint_test(
            lambda rng: rng.normal(), lambda rng, mu: mu + rng.normal(), slow, bounded, draws=400, rng=i, alarm=0.2
        ).ok
        for i in range(100)
    )  # fmt: skip
    assert fails < 20 + 5 * np.sqrt(100 * 0.2 * 0.8)


def test_a_kernel_that_stands_still_fails():
    test = run(lambda rng, mu, y: mu, 200)
    assert "mu" in test.failed
    assert np.isinf(test.z["mu"])


def test_errors():
    with pytest.raises(ParameterError, match="draws must be ≥ 5 a chain"):
        run(lambda rng, mu, y: mu, draws=10)
    with pytest.raises(ParameterError, match="chains must be ≥ 8"):
        run(lambda rng, mu, y: mu, chains=2)
    with pytest.raises(ParameterError):
        geweke_joint_test(lambda r: 0.0, lambda r, t: 0.0, lambda r, t, y: t, {}, rng=0)
