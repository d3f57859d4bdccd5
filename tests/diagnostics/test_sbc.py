"""SBC passes a right inference and fails wrong ones. Seeds fixed; alarm 1e-4 a test."""

from __future__ import annotations

import numpy as np
import pytest

from credo.diagnostics.sbc import rank_calibration, simulation_based_calibration
from credo.errors import DataError, ParameterError

ALARM = 1e-4


def run(infer, simulations=400, rng=0):
    return simulation_based_calibration(
        lambda rng: {"mu": rng.normal(size=2)},
        lambda rng, theta: theta["mu"] + rng.normal(size=2),
        infer,
        simulations=simulations,
        rng=rng,
        alarm=ALARM,
    )


def posterior(scale=1.0, shift=0.0):
    return lambda rng, y: {"mu": y / 2 + shift + scale * np.sqrt(0.5) * rng.normal(size=(19, 2))}


def test_the_exact_posterior_passes():
    found = run(posterior())
    assert found.ok, found.p_values
    assert set(found.ranks) == {"mu[0]", "mu[1]"}
    assert all(r.min() >= 0 and r.max() <= 19 for r in found.ranks.values())


@pytest.mark.parametrize("wrong", [posterior(scale=0.6), posterior(scale=1.6), posterior(shift=0.4)])
def test_wrong_posteriors_fail(wrong):
    """Each failed in both entries for 50 of 50 seeds, and the exact posterior in none for any."""
    found = run(wrong)
    assert not found.ok
    assert found.failed == ("mu[0]", "mu[1]")


def test_discrete_quantities_are_ranked_without_bias():
    found = simulation_based_calibration(
        lambda rng: {"k": rng.binomial(3, 0.4)},
        lambda rng, theta: None,
        lambda rng, y: {"k": rng.binomial(3, 0.4, size=30)},
        simulations=400,
        rng=1,
        alarm=ALARM,
    )
    assert found.ok


def test_false_alarm_rate():
    """Uniform ranks fail at most as often as stated: 40 of 400 expected, 5 standard errors."""
    rng = np.random.default_rng(0)
    fails = sum(not rank_calibration({"x": rng.integers(0, 20, 100)}, 19, 0.1, rng).ok for _ in range(400))
    assert fails < 40 + 5 * np.sqrt(400 * 0.1 * 0.9)
    assert fails > 10


def test_errors():
    with pytest.raises(DataError, match="same number of draws"):
        run(lambda rng, y: {"mu": rng.normal(size=(rng.integers(5, 30), 2))})
    with pytest.raises(DataError, match="mu must be finite"):
        run(lambda rng, y: {"mu": np.full((10, 2), np.nan)})
    with pytest.raises(ParameterError):
        run(posterior(), simulations=2)
    with pytest.raises(ParameterError):
        rank_calibration({"x": np.zeros(10)}, 9, 2.0, 0)
