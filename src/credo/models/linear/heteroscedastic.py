"""Gibbs sampling with Normal noise whose log scale is linear in the features (`cr.noise.LogLinear`).

y_i ~ N(b + x_iᵀw, σ_i²),  log σ_i = z_iᵀγ,  z = (1, standardised columns)
γ         a slice along a random direction, w integrated out: where rows are few, the line may pass through some of
          them with hardly any noise there, and neither moves while the other stays
w | γ     Gaussian, on rows weighted by 1/σ_i²
γ | w     Metropolis: a Newton step from where the chain is, with the expected curvature 2 ZᵀZ + prior, which does
          not depend on γ (Gamerman 1997, Statistics and Computing 7); most proposals are accepted
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from credo.inference.draws import Draws
from credo.inference.gaussian_conditional import WeightedRows
from credo.inference.gibbs_chains import CHAINS, run_chains
from credo.inference.slice_update import slice_update
from credo.models.columns import CONSTANT
from credo.models.linear.gibbs import by_chain, split_targets
from credo.models.scale_mixtures import ScaleMixture

__all__ = ["LogScale", "sample_heteroscedastic"]

# Half Newton steps towards the start: the objective is concave, and each halves what is left.
STARTING_STEPS = 30
# Rows a column from which a slide is rarer than one a sweep, of which it takes five sixths: without it, 8 columns and
# 40 rows do not mix, 90 do.
ROWS_A_COLUMN = 10


class LogScale:
    """The conditional of γ: design Z (n, D), prior mean and precision (D,), and the expected curvature's factor."""

    def __init__(self, Z: np.ndarray, mean: np.ndarray, precision: np.ndarray) -> None:
        self.Z, self.mean, self.precision = Z, mean, precision
        self.curvature = 2.0 * Z.T @ Z + np.diag(precision)
        self.factor = scipy.linalg.cholesky(self.curvature, lower=True)
        self.inverse = scipy.linalg.solve_triangular(self.factor, np.eye(len(precision)), lower=True)

    def log_density(self, gamma: np.ndarray, square: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """log p(γ | residuals²) (B,) and its gradient (B, D), for γ (B, D), squares (B, n)."""
        log_sd = gamma @ self.Z.T
        away = gamma - self.mean
        with np.errstate(over="ignore", invalid="ignore"):  # a proposal far out, which is then rejected
            ratio = square * np.exp(-2.0 * log_sd)
            value = -log_sd.sum(axis=1) - 0.5 * ratio.sum(axis=1) - 0.5 * np.square(away) @ self.precision
            return value, (ratio - 1.0) @ self.Z - away * self.precision

    def step(self, gamma: np.ndarray, square: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """One Metropolis update of γ (B, D)."""
        value, gradient = self.log_density(gamma, square)
        centre = gamma + self._solve(gradient)
        noise = rng.standard_normal(gamma.shape)
        proposal = centre + noise @ self.inverse
        new_value, new_gradient = self.log_density(proposal, square)
        with np.errstate(over="ignore", invalid="ignore"):
            back = (gamma - proposal - self._solve(np.nan_to_num(new_gradient))) @ self.factor
            log_ratio = new_value - value - 0.5 * np.square(back).sum(axis=1) + 0.5 * np.square(noise).sum(axis=1)
        accepted = -rng.standard_exponential(len(gamma)) < log_ratio
        return np.where(accepted[:, None], proposal, gamma)

    def slide(
        self, gamma: np.ndarray, log_marginal: Callable[[np.ndarray], np.ndarray], rng: np.random.Generator
    ) -> np.ndarray:
        """A slice update of γ (B, D) along a random direction, by log p(y | γ) (B,) up to a constant."""
        direction = rng.standard_normal(gamma.shape) @ self.inverse

        def log_density(t: np.ndarray) -> np.ndarray:
            at = gamma + t[:, None] * direction
            return log_marginal(at) - 0.5 * np.square(at - self.mean) @ self.precision

        return gamma + slice_update(log_density, np.zeros(len(gamma)), rng, width=2.0)[:, None] * direction

    def start(self, square: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """γ (B, D) about the mode for given squares: the Metropolis step, a full Newton step, is not for far away."""
        gamma = np.zeros((len(square), self.Z.shape[1]))
        gamma[:, 0] = 0.5 * np.log(np.maximum(square.mean(axis=1), np.finfo(float).tiny))
        for _ in range(STARTING_STEPS):
            gamma = gamma + 0.5 * self._solve(self.log_density(gamma, square)[1])
        return gamma + 2.0 * rng.standard_normal(gamma.shape) @ self.inverse

    def _solve(self, gradient: np.ndarray) -> np.ndarray:
        return gradient @ self.inverse.T @ self.inverse


def sample_heteroscedastic(
    X: np.ndarray,
    y: np.ndarray,
    mixture: ScaleMixture,
    prior: tuple[np.ndarray, np.ndarray],
    fit_intercept: bool,
    lead: tuple[float, float] | None,
    rng: np.random.Generator,
    owner: str,
) -> Draws:
    """Draws of "coef", "intercept", and "noise_coef" (P,), "noise_intercept": log σ = noise_intercept + noise_coef·x.

    X (n, P), y (n, T); prior: mean and sd (P,) of γ on the standardised columns; γ₀ is flat. Cost of a sweep B n P².
    """
    n, p = X.shape
    middle, deviation = X.mean(axis=0), X.std(axis=0)
    deviation = np.where(deviation > CONSTANT * np.abs(middle), deviation, np.inf)  # constant: no effect
    Z = np.column_stack([np.ones(n), (X - middle) / deviation])
    # A prior relative to the noise at the mean row says of γ₀ what P more rows there would.
    extra = np.eye(1, p + 1).repeat(p if mixture.relative else 0, axis=0)
    scale = LogScale(np.vstack([Z, extra]), np.append(0.0, prior[0]), np.append(0.0, 1.0 / np.square(prior[1])))
    centre = middle if fit_intercept and lead is None else np.zeros(p)
    rows = X - centre
    outcomes = np.tile((y - (rows @ mixture.mean)[:, None]).T, (CHAINS, 1))
    batch = len(outcomes)
    intercept = None if not fit_intercept else (0.0, 0.0) if lead is None else (lead[0], 1.0 / lead[1] ** 2)
    weighted = WeightedRows(rows, intercept)
    share = 0.0 if weighted.is_wide else ROWS_A_COLUMN * (p + 1) / n

    def step(state: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
        def conditions(gamma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            """Precisions of the rows (B, n) and prior variances (B, P)."""
            with np.errstate(over="ignore"):
                precision = np.clip(np.exp(-2.0 * gamma @ Z.T), 1e-200, 1e200)
                return precision, state["variances"] * (np.exp(2.0 * gamma[:, :1]) if mixture.relative else 1.0)

        def log_marginal(gamma: np.ndarray) -> np.ndarray:
            return weighted.log_marginal(outcomes, *conditions(gamma))

        gamma = state["gamma"]
        if rng.random() < share:
            gamma = scale.slide(gamma, log_marginal, rng)
        level, d = weighted.draw(outcomes, *conditions(gamma), rng)
        square = np.square(outcomes - level[:, None] - d @ rows.T)
        if mixture.relative:
            square = np.hstack([square, np.square(d) / state["variances"]])
        gamma = scale.step(gamma, square, rng)
        w = d + mixture.mean
        variances, inner = mixture.draw_variances(w, state["inner"], rng, np.exp(gamma[:, :1]))
        return {"gamma": gamma, "variances": variances, "inner": inner, "coef": w, "intercept": level - w @ centre}

    def collect(state: dict[str, Any]) -> dict[str, np.ndarray]:
        slope = state["gamma"][:, 1:] / deviation
        kept = {"coef": state["coef"], "noise_coef": slope, "noise_intercept": state["gamma"][:, 0] - slope @ middle}
        if fit_intercept:
            kept["intercept"] = state["intercept"]
        learned = mixture.learned_scale(state["inner"], np.exp(state["gamma"][:, 0]))
        return by_chain(kept if learned is None else {**kept, "prior_scale": learned})

    design = np.column_stack([np.ones(n), rows]) if fit_intercept else rows
    residual = outcomes - (design @ np.linalg.lstsq(design, outcomes.T, rcond=None)[0]).T
    square = np.square(residual) + np.finfo(float).eps ** 2 * np.square(outcomes).mean(axis=1, keepdims=True)
    gamma = scale.start(np.hstack([square, np.repeat(square.mean(axis=1, keepdims=True), len(extra), axis=1)]), rng)
    apart = np.square(mixture.scale * mixture.reach) * np.exp(rng.uniform(-4.0, 4.0, (batch, p)))
    state = {"gamma": gamma, "variances": np.clip(apart, 1e-200, 1e200), "inner": mixture.initial(batch)}
    return split_targets(run_chains(step, state, collect, rng, owner=owner), y.shape[1])
