"""90 % intervals cover 90 % on data from the model: prior drawn, parameters drawn, rows drawn.

Each cell draws the signal-to-noise ratio from the default's hyperprior (R² ~ Beta(½, ½)), then coefficients on the
standardised columns, then rows, and asks one new row per data set, so that the counts are binomial. With 8 cells the
two-sided 1e-4 limits below make a false alarm in one run of 1,250.
"""

import numpy as np
import pytest
import scipy.stats

import credo as cr

CELLS = [
    (5, 2, 1.0),
    (10, 5, 0.1),
    (10, 5, 10.0),
    (10, 20, 1.0),
    (20, 1, 1.0),
    (30, 60, 1.0),
    (50, 5, 3.0),
    (200, 10, 1.0),
]


def covered(n, p, noise, replicates, seed, **options):
    rng = np.random.default_rng([seed, n, p])
    hits = 0
    for _ in range(replicates):
        X = rng.normal(size=(n, p)) * rng.lognormal(size=p) + rng.normal(size=p)
        snr = np.tan(0.5 * np.pi * rng.random())
        w = rng.normal(size=p) * snr * noise / np.sqrt(p) / X.std(axis=0)
        y = X @ w + 3.0 + noise * rng.normal(size=n)
        new = X[rng.integers(n)] + rng.normal(size=p) * X.std(axis=0)
        low, high = cr.LinearRegression(**options).fit(X, y).predict_distribution(new[None]).interval(0.9)
        hits += int(low[0] <= new @ w + 3.0 + noise * rng.normal() <= high[0])
    return hits


@pytest.mark.parametrize(("n", "p", "noise"), CELLS)
def test_the_default_covers(n, p, noise):
    hits = covered(n, p, noise, 250, seed=0)
    low, high = scipy.stats.binom(250, 0.9).ppf([5e-5, 1 - 5e-5])
    assert low <= hits <= high


def test_plugging_in_the_evidence_does_not_cover_and_the_test_can_tell():
    hits = covered(10, 5, 1.0, 400, seed=1, inference="evidence")
    assert hits < scipy.stats.binom(400, 0.9).ppf(5e-5)
