"""Regret grows as theory says: log T with the Lai–Robbins constant as reference for Thompson and UCB, T for uniform."""

import numpy as np
import pytest

from credo.design.bandits import bernoulli_arms, gaussian_arms, lai_robbins, simulate_regret

MEANS = np.array([0.7, 0.5, 0.3])


def mean_regret(policy, horizon, runs, *, gaussian=False):
    total = np.zeros(horizon)
    second = np.zeros(horizon)
    reward = (lambda k, rng: rng.normal(MEANS[k], 0.5)) if gaussian else None
    start = gaussian_arms(3) if gaussian else bernoulli_arms(3)
    for seed in range(runs):
        r = simulate_regret(start, policy, MEANS, horizon, np.random.default_rng([seed, horizon]), reward)
        total += r
        second += r * r
    mean = total / runs
    return mean, np.sqrt(np.maximum(second / runs - mean**2, 0.0) / runs)


def test_uniform_is_linear_and_thompson_below_it():
    uniform, se = mean_regret("uniform", 300, 6)
    assert abs(uniform[-1] - 300 * 0.2) < 5 * se[-1]  # false alarm 6e-7; E gap = 0.2
    thompson, se = mean_regret("thompson", 300, 6)
    assert thompson[-1] + 5 * se[-1] < 0.5 * uniform[-1]


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["thompson", "bayes_ucb", "kl_ucb", "ucb1", "gaussian thompson", "gaussian kl_ucb"])
def test_regret_is_logarithmic(policy, replicates, record_property):
    """The slope of regret in log t over the last 4/5 of log T lies in (0, 2.5 C) for policies that reach the constant C
    of Lai and Robbins, and stays bounded by Auer's 8 Σ 1/Δ for UCB1.

    The constant is an asymptote, reached from either side, hence the factor. A uniform policy would have a slope of
    0.4 (T − √T)/log T, 17 C and more, so that the test has power. False-alarm rate: a mean of `runs` slopes would have
    to be 5 standard errors above the bound, < 1e-6.
    """
    horizon, runs = replicates(1000, 5000), replicates(8, 40)
    gaussian = policy.startswith("gaussian ")
    name = policy.removeprefix("gaussian ")
    mean, se = mean_regret(name, horizon, runs, gaussian=gaussian)
    constant = lai_robbins(MEANS, 0.5 if gaussian else None)
    early = int(horizon**0.5)
    slope = (mean[-1] - mean[early]) / np.log(horizon / early)
    error = (se[-1] + se[early]) / np.log(horizon / early)
    record_property("slope over Lai-Robbins", slope / constant)
    record_property("standard error", error / constant)
    record_property("regret over C log T", mean[-1] / (constant * np.log(horizon)))
    bound = 8 * np.sum(1 / (MEANS.max() - MEANS[1:])) if name == "ucb1" else 2.5 * constant
    assert 0.0 < slope < bound + 5 * error


@pytest.mark.slow
def test_uniform_regret_is_linear(replicates, record_property):
    horizon, runs = replicates(1000, 5000), replicates(8, 40)
    mean, se = mean_regret("uniform", horizon, runs)
    record_property("regret a play", mean[-1] / horizon)
    assert abs(mean[-1] - 0.2 * horizon) < 5 * se[-1]  # false alarm 6e-7
    assert abs(mean[-1] - 2 * mean[horizon // 2 - 1]) < 5 * 3 * se[-1]
