"""Simulation-based calibration of `LinearRegression` over a pairwise cover of prior × noise × inference × intercept.

Parameters from the prior, a dozen rows, the posterior: the rank of the truth among draws must be uniform. Many data
sets at once are many targets of one fit, which share nothing but their columns and their sweeps.

Where a prior is improper the truth stays at one value: the intercept, a scale under 1/σ and flat coefficients are
locations and scales of a group that the rest of such a cell's model is equivariant under, with its right Haar measure
as prior, so ranks are uniform for every fixed truth (Berger 1985, section 6.6).

ARD is not here: its prior scales are plugged in where the evidence is highest, so it cannot pass, and says so in
`result_.inference` ("evidence").

A right inference fails a cell with probability 4e-4 (all its entries together), one of the 25 cells of this file and
of `glm/test_sbc.py` with 1 %.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import credo as cr
from credo.diagnostics.sbc import rank_calibration
from credo.errors import ConvergenceWarning
from credo.inference import gibbs_chains

ALARM = 4e-4
DRAWS = 99
TARGETS = 128
N = 12
RNG = np.random.default_rng(11)
X = RNG.normal(size=(N, 2)) @ np.array([[1.0, 0.9], [0.0, 0.4]]) + [0.5, 0.0]
SPREAD = X.std(axis=0)  # with an intercept
SIZE = np.sqrt(np.square(X).mean(axis=0))  # without
COVARIANCE = np.array([[1.0, -0.5], [-0.5, 0.8]])
BY_ROW = np.linspace(0.3, 1.5, N)

Draw = Callable[[np.random.Generator, int, np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Prior:
    """stated : what the model is given; draw : rng, R, σ (R,), sd or size of the columns → coefficients (R, 2)."""

    stated: Any
    draw: Draw


def half_cauchy(rng, n):
    return np.abs(rng.standard_cauchy((n, 1)))


def learned(law) -> Draw:
    """A shared scale: τ √(Σ sd²) ~ half-Cauchy(1), relative to the noise."""
    return lambda rng, n, sigma, sd: law(rng, n) * half_cauchy(rng, n) / np.sqrt(np.square(sd).sum()) * sigma[:, None]


def stated(family) -> Prior:
    return Prior(family, lambda rng, n, sigma, sd: family.sample((n, 2), rng))


def gaussian(rng, n):
    return rng.normal(size=(n, 2))


PRIORS = {
    "default": Prior(
        None, lambda rng, n, sigma, sd: gaussian(rng, n) / sd * half_cauchy(rng, n) / np.sqrt(2.0) * sigma[:, None]
    ),
    "flat": Prior(cr.Flat(), lambda rng, n, sigma, sd: np.zeros((n, 2))),
    "normal": stated(cr.Normal(0.3, 1.0)),
    "multivariate normal": Prior(
        cr.MultivariateNormal([0.2, 0.0], COVARIANCE),
        lambda rng, n, sigma, sd: [0.2, 0.0] + gaussian(rng, n) @ np.linalg.cholesky(COVARIANCE).T,
    ),
    "conjugate": Prior(
        cr.NormalInverseGamma(np.zeros(2), np.array([1.0, 0.5]), shape=3.0, scale=2.0),
        lambda rng, n, sigma, sd: gaussian(rng, n) * np.sqrt([1.0, 0.5]) * sigma[:, None],
    ),
    "uniform": stated(cr.Uniform(-1.0, 1.0)),
    "laplace": stated(cr.Laplace(0.0, 0.7)),
    "laplace, learned": Prior(cr.Laplace(0.0, None), learned(lambda rng, n: rng.laplace(size=(n, 2)))),
    "student-t": stated(cr.StudentT(3.0, 0.0, 0.7)),
    "student-t, learned": Prior(cr.StudentT(4.0, 0.0, None), learned(lambda rng, n: rng.standard_t(4, size=(n, 2)))),
    "elastic net": stated(cr.ElasticNet(0.7, 1.0)),
    "horseshoe": Prior(
        cr.Horseshoe(0.5),
        lambda rng, n, sigma, sd: gaussian(rng, n) * np.abs(rng.standard_cauchy((n, 2))) * 0.5 * half_cauchy(rng, n),
    ),
    "horseshoe, default": Prior(
        cr.Horseshoe(),
        lambda rng, n, sigma, sd: (
            gaussian(rng, n) * np.abs(rng.standard_cauchy((n, 2))) / sd * half_cauchy(rng, n) / 2.0 * sigma[:, None]
        ),
    ),
}

HALF_NORMAL, INVERSE_GAMMA = cr.HalfNormal(1.0), cr.InverseGamma(shape=3.0, scale=2.0)
HAAR = lambda rng, n: np.ones(n)
DF = lambda rng, n: rng.gamma(2.0, 10.0, n)


@dataclass(frozen=True)
class Noise:
    """record : what the model is given; scale : rng, R → σ (R,); df : of a Student-t; laplace : whether so."""

    record: Any
    scale: Callable[[np.random.Generator, int], np.ndarray]
    df: Callable[[np.random.Generator, int], np.ndarray] | None = None
    laplace: bool = False

    def draw(self, rng: np.random.Generator, df: np.ndarray | None, n: int) -> np.ndarray:
        """(N, R) of unit scale."""
        if self.laplace:
            return rng.laplace(size=(N, n))
        return rng.normal(size=(N, n)) if df is None else rng.standard_t(df, size=(N, n))


def half_normal(rng, n):
    return np.abs(rng.normal(size=n))


NOISES = {
    "normal, 1/σ": Noise(cr.noise.Normal(), HAAR),
    "normal, known": Noise(cr.noise.Normal(0.5), lambda rng, n: np.full(n, 0.5)),
    "normal, half-normal": Noise(cr.noise.Normal(scale_prior=HALF_NORMAL), half_normal),
    "normal, inverse gamma": Noise(
        cr.noise.Normal(variance_prior=INVERSE_GAMMA), lambda rng, n: np.sqrt(2.0 / rng.gamma(3.0, size=n))
    ),
    "normal, by row": Noise(cr.noise.Normal(BY_ROW), HAAR),
    "log-linear": Noise(cr.noise.Normal(cr.noise.LogLinear()), HAAR),
    "student-t": Noise(cr.noise.StudentT(df=4.0, scale_prior=HALF_NORMAL), half_normal, lambda rng, n: np.full(n, 4.0)),
    "student-t, 1/σ": Noise(cr.noise.StudentT(), HAAR, DF),
    "student-t, learned": Noise(cr.noise.StudentT(scale_prior=HALF_NORMAL), half_normal, DF),
    "laplace": Noise(cr.noise.Laplace(scale_prior=HALF_NORMAL), half_normal, laplace=True),
    "laplace, 1/σ": Noise(cr.noise.Laplace(), HAAR, laplace=True),
}

#: prior, noise, inference, intercept: every prior and noise with each kind it can be combined with, most pairs once
CELLS = [
    ("default", "normal, 1/σ", "exact", "flat"),
    ("default", "normal, known", "gibbs", "flat"),
    ("default", "log-linear", "gibbs", "flat"),
    ("flat", "student-t, 1/σ", "gibbs", "flat"),
    ("flat", "log-linear", "gibbs", "flat"),
    ("normal", "normal, half-normal", "exact", "none"),
    ("normal", "normal, inverse gamma", "gibbs", "normal"),
    ("normal", "normal, by row", "exact", "normal"),
    ("multivariate normal", "student-t", "gibbs", "normal"),
    ("conjugate", "normal, inverse gamma", "exact", "flat"),
    ("uniform", "normal, half-normal", "gibbs", "flat"),
    ("laplace", "laplace", "gibbs", "none"),
    ("laplace, learned", "normal, half-normal", "gibbs", "flat"),
    ("student-t", "student-t, learned", "gibbs", "normal"),
    ("student-t, learned", "laplace, 1/σ", "gibbs", "flat"),
    ("elastic net", "student-t", "gibbs", "flat"),
    ("horseshoe", "normal, half-normal", "gibbs", "none"),
    ("horseshoe, default", "normal, 1/σ", "gibbs", "flat"),
]


def replicate(cell: tuple[str, str, str, str], n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Ranks (n,) of every parameter: n data sets, the targets of one fit."""
    prior, noise, intercept = PRIORS[cell[0]], NOISES[cell[1]], cell[3]
    sigma = noise.scale(rng, n)
    df = None if noise.df is None else noise.df(rng, n)
    w = np.asarray(prior.draw(rng, n, sigma, SIZE if intercept == "none" else SPREAD))
    b = rng.normal(0.5, 2.0, n) if intercept == "normal" else np.zeros(n)
    truth = (
        {"coef": w, "noise_scale": sigma} if intercept == "none" else {"coef": w, "intercept": b, "noise_scale": sigma}
    )
    rows = np.ones((N, 1))
    if cell[1] == "log-linear":
        gamma = rng.normal(size=(n, 2)) / SPREAD
        rows = np.exp((X - X.mean(axis=0)) @ gamma.T)
        del truth["noise_scale"]
        truth |= {"noise_coef": gamma, "noise_intercept": -gamma @ X.mean(axis=0)}
    if cell[1] == "normal, by row":
        rows = BY_ROW[:, None]
    if noise.record.scale is not None:
        truth.pop("noise_scale", None)
    if df is not None and noise.record.df is None:
        truth["df"] = df
    y = b + X @ w.T + sigma * rows * noise.draw(rng, df, n)
    how = {"none": {"fit_intercept": False}, "flat": {}, "normal": {"prior_intercept": cr.Normal(0.5, 2.0)}}[intercept]
    record = noise.record if cell[0] != "conjugate" else None  # the prior holds that of the noise
    model = cr.LinearRegression(prior=prior.stated, noise=record, inference=cell[2], random_state=rng, **how)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of the worst of some hundred entries
        posterior = model.fit(X, y).posterior_
    if hasattr(posterior, "chains"):  # spread over the chains: nearly independent
        total = len(posterior.chains)
        at = np.linspace(0, total - 1, DRAWS).astype(int)
        draws = {name: posterior[name][at] for name in truth}
    else:
        draws = posterior.sample_all(DRAWS, rng)
    below = {name: (draws[name] < value).sum(axis=0) for name, value in truth.items()}
    return {
        f"{name}[{i}]" if ranks.ndim == 2 else name: part
        for name, ranks in below.items()
        for i, part in enumerate(np.atleast_2d(ranks.T))
    }


def calibrate(cell: tuple[str, str, str, str], replicates: int):
    rng = np.random.default_rng([CELLS.index(cell) if cell in CELLS else 99, replicates])
    parts = [replicate(cell, min(TARGETS, replicates - done), rng) for done in range(0, replicates, TARGETS)]
    ranks = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return rank_calibration(ranks, DRAWS, ALARM, rng)


@pytest.fixture
def sweeps(monkeypatch):
    """A stated number of sweeps: the certificate of hundreds of data sets at once would ask for many more."""

    def state(warm_up: int, draws: int) -> None:
        limits = {"warm_up": warm_up, "draws": draws, "budget": draws}
        monkeypatch.setattr(gibbs_chains.run_chains, "__kwdefaults__", gibbs_chains.run_chains.__kwdefaults__ | limits)

    return state


def test_a_wrong_posterior_fails(sweeps):
    """The noise said to be half of what it is."""
    sweeps(200, 400)
    NOISES["wrong"] = Noise(cr.noise.Normal(0.5), HAAR)
    assert not calibrate(("normal", "wrong", "exact", "none"), 64).ok


@pytest.mark.slow
@pytest.mark.parametrize("cell", CELLS, ids=" × ".join)
def test_ranks_are_uniform(cell, sweeps, replicates, record_property):
    short = replicates(1, 0)
    sweeps(*((150, 400) if short else (500, 2000)))
    found = calibrate(cell, replicates(128, 1024))
    record_property("replicates", len(next(iter(found.ranks.values()))))
    record_property("smallest p × entries", min(min(found.p_values.values()) * len(found.p_values), 1.0))
    assert found.ok, (found.failed, found.p_values)
