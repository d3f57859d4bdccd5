"""More columns than rows under priors with a learned scale: against the prior itself, weighted by the likelihood.

Given τ and the λ the coefficients, the intercept and (where its prior is 1/σ) the noise are integrated in closed form,
so that some hundred thousand draws of (τ, λ, σ) from their priors are the posterior once weighted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import credo as cr
from credo.inference import gibbs_chains

RNG = np.random.default_rng(8)
X = RNG.normal(size=(4, 6)) * [1.0, 2.0, 0.5, 1.0, 1.0, 3.0]
Y = X[:, 0] * 1.5 + 0.7 + 0.3 * RNG.normal(size=4)
M = 200_000
CAUCHY = lambda rng: np.abs(rng.standard_cauchy(M))
HORSESHOE = lambda rng: np.abs(rng.standard_cauchy((M, 6)))


@dataclass(frozen=True)
class Case:
    """What the model is given; and of the prior (τ (M,), variances (M, 6) at σ = 1, σ or None where it is integrated,
    sd of the intercept)."""

    how: dict[str, Any]
    draw: Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray, np.ndarray | None, float]]


def of_default(rng):
    tau = CAUCHY(rng) / 6.0
    return tau, np.square(tau[:, None] * HORSESHOE(rng) / X.std(axis=0)), None, np.inf


def of_half_normal(rng):
    tau = 0.5 * CAUCHY(rng)
    return tau, np.square(tau[:, None] * HORSESHOE(rng)), np.abs(rng.normal(size=M)), np.inf


def of_known(rng):
    tau = 0.5 * CAUCHY(rng)
    return tau, np.square(tau[:, None] * HORSESHOE(rng)), np.full(M, 0.4), 2.0


def of_laplace(rng):
    tau = CAUCHY(rng) / np.sqrt(X.var(axis=0).sum())
    return tau, 2.0 * np.square(tau)[:, None] * rng.standard_exponential((M, 6)), None, np.inf


CASES = {
    "default horseshoe": Case({"prior": cr.Horseshoe()}, of_default),
    "horseshoe, half-normal noise": Case(
        {"prior": cr.Horseshoe(0.5), "noise": cr.noise.Normal(scale_prior=cr.HalfNormal(1.0))}, of_half_normal
    ),
    "horseshoe, known noise, intercept": Case(
        {"prior": cr.Horseshoe(0.5), "noise": cr.noise.Normal(0.4), "prior_intercept": cr.Normal(0.0, 2.0)}, of_known
    ),
    "learned Laplace": Case({"prior": cr.Laplace(0.0, None)}, of_laplace),
}


def truth(case: Case) -> tuple[np.ndarray, float, float, float]:
    """P(w_j > 0.1), P(τ > its median), that median of its prior, and how many draws count."""
    rng = np.random.default_rng(0)
    tau, variances, sigma, sd = case.draw(rng)
    flat = np.isinf(sd)
    x, y = (X - X.mean(axis=0), Y - Y.mean()) if flat else (X, Y)
    if sigma is not None:  # a prior in the coefficients' own units
        variances = variances / np.square(sigma)[:, None]
    matrices = np.einsum("ij,mj,kj->mik", x, variances, x) + np.eye(4)
    if not flat:
        assert sigma is not None
        matrices += (np.square(sd / sigma))[:, None, None]
    solved = np.linalg.solve(matrices, np.broadcast_to(y, (M, 4))[..., None])[..., 0]
    quadratic, nu = solved @ y, 4 - flat
    log = -0.5 * np.linalg.slogdet(matrices)[1]
    if sigma is None:
        log = log - 0.5 * nu * np.log(quadratic)
        sigma = np.sqrt(0.5 * quadratic / rng.standard_gamma(0.5 * nu, M))
    else:
        log = log - nu * np.log(sigma) - 0.5 * quadratic / np.square(sigma)
    weights = np.exp(log - log.max())
    weights /= weights.sum()
    z = rng.normal(size=(M, 6)) * np.sqrt(variances)  # w | all: matched to the rows (Bhattacharya et al. 2016)
    e = rng.normal(size=(M, 4)) + (0.0 if flat else (sd / sigma)[:, None] * rng.normal(size=(M, 1)))
    gap = y / sigma[:, None] - z @ x.T - e
    w = sigma[:, None] * (z + variances * (np.linalg.solve(matrices, gap[..., None])[..., 0] @ x))
    middle = np.median(tau)
    return weights @ (w > 0.1), float(weights @ (tau > middle)), middle, 1.0 / np.square(weights).sum()


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_few_rows_and_many_columns(name, monkeypatch):
    """Probabilities of seven events, each within five standard errors of the two: a false alarm 6e-7 each."""
    case = CASES[name]
    defaults = gibbs_chains.run_chains.__kwdefaults__
    monkeypatch.setattr(gibbs_chains.run_chains, "__kwdefaults__", (defaults or {}) | {"draws": 4000, "budget": 4000})
    model = cr.LinearRegression(**case.how).fit(X, Y)
    assert model.result_.inference == "gibbs"
    assert model.result_.ok
    positive, larger, middle, effective = truth(case)
    draws = model.posterior_
    found = np.append((draws["coef"] > 0.1).mean(axis=0), (draws["prior_scale"] > middle).mean())
    if "Laplace" in name or "default" in name:  # in units of the noise
        found[-1] = (draws["prior_scale"] / draws["noise_scale"] > middle).mean()
    expected = np.append(positive, larger)
    least = min(model.result_.certificate["ess_bulk"], model.result_.certificate["ess_tail"])
    error = np.sqrt(expected * (1.0 - expected) * (1.0 / least + 1.0 / effective))
    np.testing.assert_array_less(np.abs(found - expected), 5.0 * error + 1e-9)
