"""Gibbs sampling of logistic and binomial regression by Pólya–Gamma variables (Polson, Scott and Windle 2013).

    ω_i | η_i        PG(trials_i, η_i)
    w | ω            Gaussian: κ_i/ω_i ~ N(η_i, 1/ω_i) with κ_i = y_i − trials_i/2
    s² | w           the coefficients' prior (`models.scale_mixtures`)

No tuning and no rejection; any prior that is Normal given variances: horseshoe, Laplace, Student-t, Normal. It slows
where classes are very unbalanced or separated (ω then varies little); R̂ and the ESS tell.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.distributions.polya_gamma import draw_polya_gamma
from credo.inference.draws import Draws
from credo.inference.gaussian_conditional import draw_weighted
from credo.inference.gibbs_chains import CHAINS, run_chains
from credo.models.scale_mixtures import ScaleMixture

__all__ = ["sample_logistic"]


def sample_logistic(
    X: np.ndarray,
    y: np.ndarray,
    mixture: ScaleMixture,
    rng: np.random.Generator,
    *,
    owner: str,
    trials: Any = 1.0,
    fit_intercept: bool = True,
    prior_intercept: tuple[float, float] | None = None,
    offset: Any = 0.0,
) -> Draws:
    """Draws of "coef" (P,), "intercept" and, where it is learned, "prior_scale", four chains with their certificate.

    X (n, P); y (n,) successes among `trials` (whole numbers, ≥ 0: a count of rows multiplies both); `mixture` from
    `resolve_prior`, or a `NormalMixture`; prior_intercept (mean, sd), None for flat; offset (n,) is added to η. Cost of
    a sweep: 4 n P².
    """
    n, p = X.shape
    trials = np.broadcast_to(np.asarray(trials, dtype=np.float64), (n,))
    half = y - 0.5 * trials
    seen = trials > 0
    X, half, trials = X[seen], half[seen], trials[seen]
    offset = np.broadcast_to(np.asarray(offset, dtype=np.float64), (n,))[seen]
    centre = X.mean(axis=0) if fit_intercept and prior_intercept is None else np.zeros(p)
    rows = X - centre
    base = offset + rows @ mixture.mean
    intercept = None
    if fit_intercept:
        intercept = (0.0, 0.0) if prior_intercept is None else (prior_intercept[0], 1.0 / prior_intercept[1] ** 2)
    counts = np.broadcast_to(trials, (CHAINS, trials.size))

    def step(state: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
        omega = np.maximum(draw_polya_gamma(counts, state["eta"], rng), 1e-300)
        parts = [
            draw_weighted(rows, half / omega[c] - base, omega[c], state["variances"][c], intercept, rng)
            for c in range(CHAINS)
        ]
        level, d = np.array([a for a, _ in parts]), np.array([b for _, b in parts])
        w = d + mixture.mean
        variances, inner = mixture.draw_variances(w, state["inner"], rng)
        return {
            "eta": base + level[:, None] + d @ rows.T, "variances": variances, "inner": inner, "coef": w,
            "intercept": level - w @ centre,
        }  # fmt: skip

    def collect(state: dict[str, Any]) -> dict[str, np.ndarray]:
        kept = {"coef": state["coef"]}
        if fit_intercept:
            kept["intercept"] = state["intercept"]
        scale = mixture.learned_scale(state["inner"])
        return kept if scale is None else {**kept, "prior_scale": scale}

    apart = np.square(mixture.scale * mixture.reach) * np.exp(rng.uniform(-4.0, 4.0, (CHAINS, p)))
    state = {
        "eta": rng.normal(0.0, 2.0, (CHAINS, trials.size)),
        "variances": np.clip(apart, 1e-200, 1e200),
        "inner": mixture.initial(CHAINS),
    }
    return run_chains(step, state, collect, rng, owner=owner)
