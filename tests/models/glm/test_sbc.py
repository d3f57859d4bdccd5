"""Simulation-based calibration of the generalised linear models: a pairwise cover of family × prior × inference.

As `linear/test_sbc.py`, whose 18 cells and these 7 share one false-alarm rate of 1 %: 4e-4 a cell. Data sets on which a
fit does not claim to be right (k̂ ≥ 0.7), or that lack a class, are drawn again: whether they are is a function of the
data, given which ranks are uniform still.
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
from credo.models import glm
from credo.models.glm.gibbs import sample_logistic
from credo.models.priors import resolve_prior

ALARM = 4e-4
DRAWS = 99
N = 40
RNG = np.random.default_rng(12)
X = RNG.normal(size=(N, 2)) @ np.array([[1.0, 0.9], [0.0, 0.4]]) + [0.3, 0.0]
CENTRE, SPREAD = X.mean(axis=0), X.std(axis=0)
LEVEL = cr.Normal(0.5, 1.0)  # the intercept's prior


class Unseen(Exception):
    """A data set that is drawn again."""


@dataclass(frozen=True)
class Family:
    """estimator : parameters → model; auxiliary : rng → name → value; outcomes : rng, η, auxiliary → y"""

    estimator: Callable[..., Any]
    auxiliary: Callable[[np.random.Generator], dict[str, Any]]
    outcomes: Callable[[np.random.Generator, np.ndarray, dict[str, Any]], np.ndarray]


def ordered(rng, eta, auxiliary):
    """η about the centre, where the cut-points' prior is stated."""
    return (eta[:, None] + rng.logistic(size=(len(eta), 1)) > auxiliary["cutpoints"]).sum(axis=1)


FAMILIES = {
    "logistic": Family(
        cr.LogisticRegression, lambda rng: {}, lambda rng, eta, _: (rng.logistic(size=eta.size) < eta).astype(int)
    ),
    "Poisson": Family(glm.PoissonRegression, lambda rng: {}, lambda rng, eta, _: rng.poisson(np.exp(eta))),
    "negative binomial": Family(
        glm.NegativeBinomialRegression,
        lambda rng: {"dispersion": rng.normal() ** -2},
        lambda rng, eta, of: rng.poisson(np.exp(eta) * rng.gamma(of["dispersion"], 1 / of["dispersion"], eta.size)),
    ),
    "Gamma": Family(
        glm.GammaRegression,
        lambda rng: {"shape": rng.normal() ** -2},
        lambda rng, eta, of: np.maximum(rng.gamma(of["shape"], np.exp(eta) / of["shape"]), 1e-300),
    ),
    "ordinal": Family(
        glm.OrdinalRegression,
        lambda rng: {"cutpoints": np.log(1.0 / (1.0 / np.cumsum(rng.dirichlet(np.ones(3)))[:-1] - 1.0))},
        ordered,
    ),
}
PRIORS = {
    "normal": (cr.Normal(0.2, 0.8), lambda rng: rng.normal(0.2, 0.8, 2)),
    # sd τ on standardised columns, √2 τ/3 half-Normal(1)
    "default": (None, lambda rng: rng.normal(size=2) / SPREAD * abs(rng.normal()) * 3.0 / np.sqrt(2.0)),
    "student-t": (cr.StudentT(4.0, 0.0, 0.5), lambda rng: 0.5 * rng.standard_t(4.0, 2)),
    "laplace": (cr.Laplace(0.0, 0.5), lambda rng: rng.laplace(0.0, 0.5, 2)),
    "horseshoe": (
        cr.Horseshoe(0.5),
        lambda rng: 0.5 * rng.normal(size=2) * np.abs(rng.standard_cauchy(2) * rng.standard_cauchy()),
    ),
    "uniform": (cr.Uniform(-0.5, 0.8), lambda rng: rng.uniform(-0.5, 0.8, 2)),
}
#: family, prior, inference, replicates in CI: what samples one data set after the other costs a second each
CELLS = [
    ("logistic", "default", "laplace", 128),
    ("Poisson", "student-t", "laplace", 128),
    ("negative binomial", "normal", "laplace", 128),
    ("Gamma", "normal", "laplace", 128),
    ("ordinal", "normal", "laplace", 128),
    ("logistic", "horseshoe", "Pólya–Gamma", 32),
    ("Poisson", "laplace", "gibbs", 32),
]
#: at full size, where every data set has four chains of its own
SAMPLED = 128
#: beyond the cover, at full size only
MORE = [
    ("Poisson", "uniform", "nuts", 0),
    ("Gamma", "student-t", "nuts", 0),
    ("negative binomial", "laplace", "gibbs", 0),
    ("ordinal", "laplace", "gibbs", 0),
    ("negative binomial", "default", "hmc", 0),
    ("Gamma", "uniform", "auto", 0),
]


def draws_of(cell: tuple[str, str, str, int], y: np.ndarray, rng: np.random.Generator) -> dict[str, np.ndarray]:
    family, prior, inference, _ = cell
    stated = PRIORS[prior][0]
    if inference == "Pólya–Gamma":
        mixture: Any = resolve_prior("test", stated, SPREAD).mixture
        draws = sample_logistic(X, y, mixture, rng, owner="test", prior_intercept=(0.5, 1.0))
        return {name: draws[name][spaced(len(draws))] for name in ("coef", "intercept")}
    level = {} if family == "ordinal" else {"prior_intercept": LEVEL}
    model = FAMILIES[family].estimator(prior=stated, inference=inference, **level).fit(X, y)
    if inference == "laplace" and not model.result_.ok:
        raise Unseen
    posterior = model.posterior_
    points = posterior.draws.sample(DRAWS, rng)
    found = {"coef": posterior._coefficients(points)[:, 0], **posterior.auxiliary(points)}
    return found if family == "ordinal" else {**found, "intercept": posterior._intercepts(points)[:, 0]}


def spaced(n: int) -> np.ndarray:
    """Places spread over chains of n draws: nearly independent."""
    return np.linspace(0, n - 1, DRAWS).astype(int)


def replicate(cell: tuple[str, str, str, int], rng: np.random.Generator) -> dict[str, np.ndarray]:
    family = FAMILIES[cell[0]]
    auxiliary, w = family.auxiliary(rng), PRIORS[cell[1]][1](rng)
    truth = {"coef": w, **auxiliary}
    if cell[0] == "ordinal":
        eta = (X - CENTRE) @ w
        truth["cutpoints"] = auxiliary["cutpoints"] + CENTRE @ w  # of raw columns
    else:
        truth["intercept"] = rng.normal(0.5, 1.0)
        eta = truth["intercept"] + X @ w
    if np.abs(eta).max() > 30.0 and cell[0] in ("Poisson", "negative binomial"):
        raise Unseen  # counts beyond what a generator can draw: a function of the truth, of probability below 1e-4
    y = family.outcomes(rng, eta, auxiliary)
    if cell[0] in ("logistic", "ordinal") and np.unique(y).size < (2 if cell[0] == "logistic" else 3):
        raise Unseen
    if cell[0] in ("Poisson", "negative binomial") and not y.any():
        raise Unseen
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        draws = draws_of(cell, y, rng)
    ranks = {}
    for name, value in truth.items():
        below, tied = (draws[name] < value).sum(axis=0), (draws[name] == value).sum(axis=0)
        for i, rank in enumerate(np.atleast_1d(below + rng.integers(0, tied + 1))):
            ranks[f"{name}[{i}]"] = rank
    return ranks


def calibrate(cell: tuple[str, str, str, int], replicates: int):
    """The calibration, and the share of data sets that were drawn again."""
    rng = np.random.default_rng([len(cell[0]), len(cell[1]), len(cell[2])])
    rows, tried = [], 0
    while len(rows) < replicates:
        tried += 1
        try:
            rows.append(replicate(cell, rng))
        except Unseen:
            continue
    ranks = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    return rank_calibration(ranks, DRAWS, ALARM, rng), 1.0 - replicates / tried


@pytest.mark.slow
@pytest.mark.parametrize("cell", [*CELLS, *MORE], ids=lambda cell: " × ".join(cell[:3]))
def test_ranks_are_uniform(cell, replicates, record_property, monkeypatch):
    size = replicates(cell[3], 512 if cell[2] in ("laplace", "auto") else SAMPLED)
    if not size:
        return
    if size < SAMPLED:  # 99 draws that are nearly independent need a few hundred sweeps of four chains
        limits = {"warm_up": 100, "draws": 250, "budget": 250}
        monkeypatch.setattr(gibbs_chains.run_chains, "__kwdefaults__", gibbs_chains.run_chains.__kwdefaults__ | limits)
    found, again = calibrate(cell, size)
    record_property("replicates", size)
    record_property("drawn again", again)
    record_property("smallest p × entries", min(min(found.p_values.values()) * len(found.p_values), 1.0))
    assert found.ok, (found.failed, found.p_values)
