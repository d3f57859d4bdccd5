"""NIST's MCMC set mcmc01: eleven values near 1e8 whose spread is 0.1, with the posterior certified in closed form.

y_i ~ N(μ, σ²), prior 1/σ. The certified quantiles must lie within 4.5 Monte Carlo standard errors (false alarm 2e-4 for
all twenty numbers); the seed is fixed.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from credo.diagnostics import mcmc as diagnostics
from credo.distributions.support import POSITIVE
from credo.inference.mcmc import NUTS, Gibbs, RandomWalk, sample
from credo.inference.target import Target

DATA = Path(__file__).parents[2] / "data" / "nist_mcmc"
y = np.loadtxt(DATA / "mcmc01.csv", skiprows=1)
CERTIFIED = json.loads((DATA / "mcmc01_certified.json").read_text())["certified_as_quoted"]


def target():
    def log_density(x):
        return -12.0 * np.log(x[:, 1]) - 0.5 * np.sum((y - x[:, :1]) ** 2, axis=1) / x[:, 1] ** 2

    def gradient(x):
        r = y - x[:, :1]
        return np.stack([r.sum(1) / x[:, 1] ** 2, -12.0 / x[:, 1] + np.sum(r**2, 1) / x[:, 1] ** 3], axis=1)

    return Target(
        log_density, {"mu": (), "sigma": ()}, gradient=gradient, supports={"sigma": POSITIVE}, vectorised=True
    )


def by_gibbs():
    plain = target()
    return Gibbs(
        plain,
        {
            "mu": lambda rng, v: rng.normal(y.mean(), v["sigma"] / np.sqrt(len(y))),
            "sigma": lambda rng, v: np.sqrt(0.5 * np.sum((y - v["mu"]) ** 2) / rng.gamma(0.5 * len(y))),
        },
    )


@pytest.mark.parametrize(
    ("kernel", "n"), [(NUTS(), 2000), (by_gibbs(), 3000), (RandomWalk(), 10_000)], ids=["nuts", "gibbs", "metropolis"]
)
def test_certified(kernel, n):
    draws = sample(target(), kernel, draws=n, warmup=1000, rng=1, initial=[1e8, 1.0])
    for name in ("mu", "sigma"):
        x, want = draws.values[name], {key: float(value) for key, value in CERTIFIED[name].items()}
        assert abs(x.mean() - want["mean"]) < 4.5 * diagnostics.mcse(x)
        assert abs(x.std() - want["sd"]) < 4.5 * diagnostics.mcse(x, "sd")
        for q in (0.025, 0.5, 0.975):
            assert abs(np.quantile(x, q) - want[f"q{q:g}"]) < 4.5 * diagnostics.mcse(x, "quantile", q)
