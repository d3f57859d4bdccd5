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

from credo.distributions.likelihoods import BernoulliLogit
from credo.distributions.polya_gamma import draw_polya_gamma
from credo.inference.draws import Draws
from credo.inference.exact.spectrum import Whitening
from credo.inference.gaussian_conditional import WeightedRows
from credo.inference.gibbs_chains import CHAINS, run_chains
from credo.inference.result import Result
from credo.inference.weighted import WeightedDraws
from credo.models.glm.laplace import DataTerm
from credo.models.glm.prior import GlmPrior
from credo.models.glm.sampling import equally_weighted
from credo.models.scale_mixtures import Box, NormalMixture, ScaleMixture

__all__ = ["accepts_polya_gamma", "counts_rows", "polya_gamma_posterior", "sample_logistic"]


def accepts_polya_gamma(data: DataTerm, prior: GlmPrior) -> bool:
    """Whether it is two classes on one predictor, weights that count rows, and a prior Normal given variances."""
    block = prior.blocks[0]
    if not isinstance(data.design.likelihood, BernoulliLogit) or block.learned or isinstance(block.mixture, Box):
        return False
    return counts_rows(data)


def counts_rows(data: DataTerm) -> bool:
    """Whether all sample weights are whole numbers."""
    return all(part.weights is None or np.all(part.weights == np.floor(part.weights)) for part in data.source)


def polya_gamma_posterior(
    data: DataTerm, prior: GlmPrior, labels: list[str], owner: str
) -> tuple[WeightedDraws, Result]:
    """Draws of Θ with equal weights, and the chains' report; the rows of all blocks are held in memory.

    A Gaussian prior offset + T u is that of u ~ N(0, I) on the columns φ T.
    """
    rng = np.random.default_rng(0)
    block, lead = prior.blocks[0], int(data.design.intercept)
    blocks = [part for part in data.source if part.n_rows]
    phi = np.concatenate([part.X[:, lead:] for part in blocks])
    y = np.concatenate([part.y for part in blocks])  # type: ignore[arg-type]
    trials = np.concatenate([np.ones(part.n_rows) if part.weights is None else part.weights for part in blocks])
    offset = np.concatenate([np.zeros(part.n_rows) if part.offset is None else part.offset for part in blocks])
    # an intercept with a prior of its own is that at x = 0
    shift = np.zeros(block.shift.size) if block.intercept is None else block.shift
    rows, mixture, whitening = phi + shift, block.mixture, None
    if not isinstance(mixture, ScaleMixture):
        p = shift.size
        whitening = Whitening(np.zeros(p), np.ones(p)) if block.whitening is None else block.whitening
        mixture = NormalMixture(np.zeros(p), np.full(p, np.inf if block.whitening is None else 1.0))
        offset = offset + rows @ whitening.offset
        rows = whitening.apply(rows)
    draws = sample_logistic(
        rows, y * trials, mixture, rng, owner=owner, trials=trials, fit_intercept=bool(lead),
        prior_intercept=block.intercept, offset=offset,
    )  # fmt: skip
    w = draws.values["coef"]
    if whitening is not None:
        w = whitening.offset + whitening.map(w.reshape(-1, w.shape[-1]).T).T.reshape(w.shape)
    parts = [(draws.values["intercept"] + w @ shift)[..., None]] if lead else []
    positions = np.concatenate([*parts, w], axis=-1)
    return equally_weighted(positions, rng, float(draws.result.certificate["ess_bulk"])), draws.result


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
    counts, weighted = np.broadcast_to(trials, (CHAINS, trials.size)), WeightedRows(rows, intercept)

    def step(state: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
        omega = np.maximum(draw_polya_gamma(counts, state["eta"], rng), 1e-300)
        level, d = weighted.draw(half / omega - base, omega, state["variances"], rng)
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
