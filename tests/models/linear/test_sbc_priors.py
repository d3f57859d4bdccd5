"""Simulation-based calibration of sampled cells of prior × noise, and of exact ones with a prior of the scale.

Parameters from the prior, a dozen rows, the posterior by `LinearRegression`: ranks must be uniform. The envelope of
all entries is left with probability 1 % by a right inference; at ten cells a run of the whole file raises a false
alarm once in ten, so each cell has 0.1 %.
"""

import numpy as np
import pytest

import credo as cr
from credo.diagnostics import simulation_based_calibration
from credo.distributions.elastic_net import ElasticNet
from credo.distributions.horseshoe import Horseshoe

X = np.random.default_rng(11).normal(size=(12, 2)) @ np.array([[1.0, 0.9], [0.0, 0.4]])
SIGMA = cr.HalfNormal(1.0)

#: name → prior of the coefficients, noise record, draw of its parameters (rng → scale, df)
NORMAL = cr.noise.Normal(scale_prior=SIGMA)
T_NOISE = cr.noise.StudentT(df=4.0, scale_prior=SIGMA)
LEARNED_DF = cr.noise.StudentT(scale_prior=SIGMA)
CELLS = {
    "normal × normal, exact": (cr.Normal(0, 1), NORMAL),
    "laplace × normal": (cr.Laplace(0, 0.7), NORMAL),
    "student-t × normal": (cr.StudentT(3, 0, 0.7), NORMAL),
    "horseshoe × normal": (Horseshoe(0.5), NORMAL),
    "elastic net × normal": (ElasticNet(0.7, 1.0), NORMAL),
    "uniform × normal": (cr.Uniform(-1, 1), NORMAL),
    "normal × student-t": (cr.Normal(0, 1), T_NOISE),
    "laplace × student-t, df learned": (cr.Laplace(0, 0.7), LEARNED_DF),
    "normal × laplace": (cr.Normal(0, 1), cr.noise.Laplace(scale_prior=SIGMA)),
    "learned laplace × normal": (cr.Laplace(0, None), NORMAL),
    "learned normal × student-t": (None, T_NOISE),
    "learned normal × normal, exact": (None, NORMAL),
}
DRAWS = 99


def draw(prior, noise, rng):
    sigma = float(np.abs(rng.normal()))
    df = float(rng.gamma(2.0, 10.0)) if isinstance(noise, cr.noise.StudentT) and noise.df is None else None
    gain = np.square(X).mean(axis=0)  # about zero, without an intercept
    if prior is None:  # τ √(Σ sd²) half-Cauchy on standardised columns, relative to the noise
        w = rng.normal(size=2) / np.sqrt(gain) * np.abs(rng.standard_cauchy()) / np.sqrt(2.0) * sigma
    elif getattr(prior, "scale", 1.0) is None:
        w = rng.laplace(size=2) * np.abs(rng.standard_cauchy()) / np.sqrt(gain.sum()) * sigma
    else:
        w = np.asarray(prior.sample(2, rng))
    theta = {"coef": w, "noise_scale": np.array(sigma)}
    return theta if df is None else {**theta, "df": np.array(df)}


def simulate(noise, rng, theta):
    if isinstance(noise, cr.noise.StudentT):
        e = rng.standard_t(theta.get("df", noise.df), size=len(X))
    else:
        e = rng.laplace(size=len(X)) if isinstance(noise, cr.noise.Laplace) else rng.normal(size=len(X))
    return X @ theta["coef"] + theta["noise_scale"] * e


def infer(prior, noise, names, rng, y):
    # about the mean, a flat intercept: none here, since everything must come from its prior
    model = cr.LinearRegression(prior=prior, noise=noise, fit_intercept=False, random_state=rng).fit(X, y)
    draws = model.posterior_.sample_all(DRAWS, rng)
    return {name: draws[name] for name in names}


def calibrate(cell, simulations, alarm):
    prior, noise = CELLS[cell]
    names = ["coef", "noise_scale", *(["df"] if noise is LEARNED_DF else [])]
    return simulation_based_calibration(
        lambda rng: draw(prior, noise, rng),
        lambda rng, theta: simulate(noise, rng, theta),
        lambda rng, y: infer(prior, noise, names, rng, y),
        simulations=simulations, rng=20, alarm=alarm,
    )  # fmt: skip


def test_smoke():
    """The exact cell at 60 replicates: what CI can afford. False alarm 0.1 %."""
    found = calibrate("normal × normal, exact", 60, 1e-3)
    assert found.ok, found.failed


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::credo.errors.ConvergenceWarning")
@pytest.mark.parametrize("cell", CELLS)
def test_ranks_are_uniform(cell):
    found = calibrate(cell, 64, 1e-3)
    assert found.ok, (found.failed, found.p_values)
