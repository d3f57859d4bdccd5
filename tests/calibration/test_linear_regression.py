"""The default's predictive is calibrated on data from its own model: its PIT is uniform, its intervals cover.

Each cell draws the signal-to-noise ratio from the default's hyperprior (R² ~ Beta(½, ½)), coefficients on standardised
columns, rows, and one new row per data set, so that the PIT values are independent and exactly uniform if the
posterior is exact. Limits per check are two-sided at 1e-4; with 2 checks in each of 24 cells a run raises a false
alarm once in 200.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.stats

import credo as cr

ALARM = 1e-4
CELLS = [
    (n, p, noise)
    for n, p, noise in itertools.product((5, 10, 30, 100), (1, 5, 20), (0.01, 100.0))
]  # fmt: skip


def pit(n: int, p: int, noise: float, replicates: int) -> np.ndarray:
    """P(Y ≤ y) under the predictive, at the outcome y of a new row, for each of `replicates` data sets."""
    rng = np.random.default_rng([n, p, int(noise)])
    values = np.empty(replicates)
    for i in range(replicates):
        X = rng.normal(size=(n, p)) * rng.lognormal(size=p) + rng.normal(size=p)
        snr = np.tan(0.5 * np.pi * rng.random())  # half-Cauchy(1)
        w = rng.normal(size=p) * snr * noise / np.sqrt(p) / X.std(axis=0)
        y = X @ w - 2.0 + noise * rng.normal(size=n)
        new = X[rng.integers(n)] + rng.normal(size=p) * X.std(axis=0)
        outcome = new @ w - 2.0 + noise * rng.normal()
        values[i] = cr.LinearRegression().fit(X, y).predict_distribution(new[None]).cdf(outcome)[0]
    return values


@pytest.mark.slow
@pytest.mark.parametrize(("n", "p", "noise"), CELLS)
def test_pit_is_uniform(n, p, noise, replicates, record_property):
    values = pit(n, p, noise, replicates(200, 5000))
    hits = int(np.sum((values > 0.05) & (values < 0.95)))
    uniform = scipy.stats.kstest(values, "uniform").pvalue
    record_property("coverage of 90 % intervals", hits / values.size)
    record_property("Kolmogorov–Smirnov p", float(uniform))
    low, high = scipy.stats.binom(values.size, 0.9).ppf([ALARM / 2, 1 - ALARM / 2])
    assert low <= hits <= high
    assert uniform > ALARM
