"""Gibbs sampling under Student-t or Laplace noise: Normal given a latent variance for each row.

    (σ, df) | residuals        slice updates, the latent variances integrated out
    ω | σ, df, residuals       y_i ~ N(f_i, σ²/ω_i)
    w | ω, σ, s²               Gaussian on rows weighted by ω; a flat intercept is integrated out and drawn after
    s² | w                     the coefficients' prior (`models.scale_mixtures`)

n rows, P columns, B = chains × targets runs. Cost of a sweep B n P², or B n² P where n < P.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from credo.distributions.likelihoods.priors import degrees_of_freedom
from credo.inference.draws import Draws
from credo.inference.gaussian_conditional import WeightedRows
from credo.inference.gibbs_chains import CHAINS, run_chains
from credo.inference.slice_update import slice_update
from credo.models.linear.gibbs import by_chain, split_targets
from credo.models.scale_mixtures import ScaleMixture, exponential_variances, student_t_variances

__all__ = ["LatentNoise", "sample_robust"]

# Slices step by some two posterior sds, which are near 1/√n of log scale and 5/√n of log df: fewest evaluations.
SCALE_WIDTH, DF_WIDTH = 3.0, 10.0


@dataclass(frozen=True)
class LatentNoise:
    """Student-t or Laplace noise.

    laplace : which
    df : known degrees of freedom of the Student-t; None learned
    scale : known scale, None learned
    scale_prior, df_prior : families; None is 1/scale, and Gamma(shape=2, rate=0.1)
    """

    laplace: bool
    df: float | None
    scale: float | None
    scale_prior: Any
    df_prior: Any

    def log_density(self, residual: np.ndarray, log_scale: np.ndarray, log_df: np.ndarray) -> np.ndarray:
        """log p(residuals (B, n) | scale (B,), df (B,)), (B,)."""
        n = residual.shape[1]
        if self.laplace:
            return -np.abs(residual).sum(axis=1) * np.exp(-log_scale) - n * log_scale
        df = np.exp(log_df)
        half = 0.5 * (df + 1.0)
        constant = special.gammaln(half) - special.gammaln(0.5 * df) - 0.5 * (log_df + np.log(np.pi))
        z = residual * np.exp(-log_scale - 0.5 * log_df)[:, None]
        return n * (constant - log_scale) - half * np.log(1.0 + z * z).sum(axis=1)

    def log_prior_scale(self, log_scale: np.ndarray) -> np.ndarray:
        """Log density of log scale."""
        if self.scale_prior is None:
            return np.zeros_like(log_scale)
        return self.scale_prior.log_prob(np.exp(log_scale)) + log_scale

    def log_prior_df(self, log_df: np.ndarray) -> np.ndarray:
        """Log density of log df."""
        if self.df_prior is None:
            return degrees_of_freedom(log_df)[0]
        return self.df_prior.log_prob(np.exp(log_df)) + log_df

    def update(
        self,
        residual: np.ndarray,
        log_scale: np.ndarray,
        log_df: np.ndarray,
        relative: np.ndarray,
        rng: np.random.Generator,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """New log scale, log df (B,) and row variances (B, n); `relative` (B, P or 0): (d/s)² of coefficients whose
        prior is N(0, scale² s²)."""

        n = residual.shape[1]

        def log_scale_density(t: np.ndarray) -> np.ndarray:
            of_prior = -relative.shape[1] * t - 0.5 * np.exp(-2.0 * t) * relative.sum(axis=1)
            return self.log_density(residual, t, log_df) + self.log_prior_scale(t) + of_prior

        if self.scale is None:
            log_scale = slice_update(log_scale_density, log_scale, rng, SCALE_WIDTH / np.sqrt(SCALE_WIDTH**2 + n))
        if self.df is None:
            width = DF_WIDTH / np.sqrt(DF_WIDTH**2 + n)
            log_df = slice_update(
                lambda t: self.log_density(residual, log_scale, t) + self.log_prior_df(t), log_df, rng, width
            )
        scale = np.exp(log_scale)[:, None]
        if self.laplace:
            return log_scale, log_df, exponential_variances(residual, scale, rng)
        return log_scale, log_df, student_t_variances(residual, scale, np.exp(log_df)[:, None], rng)


def sample_robust(
    X: np.ndarray,
    y: np.ndarray,
    mixture: ScaleMixture,
    noise: LatentNoise,
    fit_intercept: bool,
    lead: tuple[float, float] | None,
    rng: np.random.Generator,
    owner: str,
) -> Draws:
    """Draws of "coef", "intercept" and of what is learned; X (n, P), y (n, T). `lead`: the intercept's prior."""
    n, p = X.shape
    targets = y.shape[1]
    # About zero where the intercept has its own prior, since that is where the intercept lives.
    centre = X.mean(axis=0) if fit_intercept and lead is None else np.zeros(p)
    rows = X - centre
    outcomes = np.tile((y - (rows @ mixture.mean)[:, None]).T, (CHAINS, 1))
    batch = len(outcomes)

    intercept = None if not fit_intercept else (0.0, 0.0) if lead is None else (lead[0], 1.0 / lead[1] ** 2)
    weighted = WeightedRows(rows, intercept)

    def step(state: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
        scale = np.exp(state["log_scale"])[:, None]
        prior = state["variances"] * (np.square(scale) if mixture.relative else 1.0)
        level, d = weighted.draw(outcomes, 1.0 / state["rows"], prior, rng)
        residual = outcomes - level[:, None] - d @ rows.T
        relative = np.square(d) / state["variances"] if mixture.relative else d[:, :0]
        log_scale, log_df, row_variances = noise.update(residual, state["log_scale"], state["log_df"], relative, rng)
        w = d + mixture.mean
        variances, inner = mixture.draw_variances(w, state["inner"], rng, np.exp(log_scale)[:, None])
        return {
            "log_scale": log_scale, "log_df": log_df, "rows": np.clip(row_variances, 1e-200, 1e200),
            "variances": variances, "inner": inner, "coef": w, "intercept": level - w @ centre,
        }  # fmt: skip

    def collect(state: dict[str, Any]) -> dict[str, np.ndarray]:
        kept = {"coef": state["coef"]}
        if fit_intercept:
            kept["intercept"] = state["intercept"]
        if noise.scale is None:
            kept["noise_scale"] = np.exp(state["log_scale"])
        if noise.df is None:
            kept["df"] = np.exp(state["log_df"])
        scale = mixture.learned_scale(state["inner"], np.exp(state["log_scale"]))
        return by_chain(kept if scale is None else {**kept, "prior_scale": scale})

    spread = np.median(np.abs(outcomes - np.median(outcomes, axis=1, keepdims=True)), axis=1) + outcomes.std(axis=1)
    # One row, or a constant target: any start will do, from which slices find the prior's scale.
    spread = np.where(spread > 0.0, spread, np.abs(outcomes).max(axis=1))
    spread = np.where(spread > 0.0, spread, 1.0)
    log_scale = (
        np.log(spread) + rng.uniform(-1.5, 0.5, batch) if noise.scale is None else np.full(batch, np.log(noise.scale))
    )
    log_df = np.log(rng.uniform(2.0, 20.0, batch)) if noise.df is None else np.full(batch, np.log(noise.df))
    apart = np.square(mixture.scale * mixture.reach) * np.exp(rng.uniform(-4.0, 4.0, (batch, p)))
    state = {
        "log_scale": log_scale,
        "log_df": log_df,
        "rows": np.exp(2.0 * log_scale)[:, None] * np.exp(rng.uniform(-1.0, 1.0, (batch, n))),
        "variances": np.clip(apart, 1e-200, 1e200),
        "inner": mixture.initial(batch),
    }
    return split_targets(run_chains(step, state, collect, rng, owner=owner), targets)
