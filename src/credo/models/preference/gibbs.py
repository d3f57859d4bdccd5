"""Gibbs sampling of the exact posterior under Normal noise: utilities and noisy differences by turns.

    v_r | g, e    κ ξ_r + N(0, 1), truncated to the interval that the outcome says: (t, ∞) for a win, (−t, t) for a tie
    g, e | v      Gaussian, with the same covariance at every sweep: one factor serves all

All chains move together. What is kept of a sweep is not g but its mean given v (Rao–Blackwell): the posterior is then a
mixture of Gaussians of one covariance, at new items too.

Reference: Albert and Chib (1993), JASA 88; Geweke (1991) for Normals truncated to an orthant.
"""

from __future__ import annotations

import time

import numpy as np
import scipy.special

from credo.diagnostics.mcmc import check_convergence
from credo.errors import ConvergenceWarning, warn
from credo.inference.result import Result
from credo.models.preference.arrow import SharedPrior
from credo.models.preference.augmented import AugmentedRows
from credo.models.preference.laplace import Gaussian
from credo.models.preference.outcomes import Outcomes
from credo.models.preference.scales import ScalesSpace

__all__ = ["sample_utilities", "truncated_normal"]

CHAINS = 4


def sample_utilities(
    prior: SharedPrior, outcomes: Outcomes, space: ScalesSpace, psi: np.ndarray, start: Gaussian,
    draws: int, warmup: int, rng: np.random.Generator,
) -> Gaussian:  # fmt: skip
    """`draws` kept sweeps of each of four chains, from the Gaussian `start`; hyperparameters stay where they are.

    Cost a sweep: 4 (U m² + outcomes), every repeated duel counted.
    """
    began = time.perf_counter()
    rows = AugmentedRows.of(outcomes, space.noise)
    terms = rows.terms(space.scales(psi))
    sited = rows.given(prior, terms.kappa**2)
    arrow = sited.arrow
    copies = np.repeat(np.arange(rows.count.size), rows.count.astype(np.intp))
    low, high = terms.low[copies], np.where(terms.point, terms.low, terms.high)[copies]
    g = start.arrow.draw(np.broadcast_to(_pull_of(start), (CHAINS, *start.alpha.shape[1:])), rng)
    own = np.zeros((CHAINS, rows.times.size))
    kept = np.empty((CHAINS, draws, *g.shape[1:]))
    drawn = np.empty((CHAINS, draws, *g.shape[1:]))
    mean_count = np.maximum(rows.count, 1.0)
    for sweep in range(warmup + draws):
        xi = np.stack([_rows_at(rows, g[c], own[c]) for c in range(CHAINS)]) * terms.kappa
        noisy = truncated_normal(xi[:, copies], low, high, rng)
        # A site of each row: the average of its copies' noisy values.
        nu = np.stack([np.bincount(copies, each, minlength=rows.count.size) for each in noisy]) / mean_count
        nu *= terms.kappa
        b = np.stack([sited.pulled(each) for each in nu])
        g = arrow.draw(b, rng)
        own = np.stack([sited.own_means(nu[c], g[c]) for c in range(CHAINS)])
        own += rng.standard_normal(own.shape) / np.sqrt(sited.total)
        if sweep >= warmup:
            mean = np.stack([arrow.spread(each) for each in b])
            kept[:, sweep - warmup] = b - np.einsum("uij,cuj->cui", arrow.precision, mean)
            drawn[:, sweep - warmup] = g
    verdict = check_convergence({"utility": drawn.reshape(CHAINS, draws, -1)})
    result = Result(
        "converged" if verdict.ok else "not_certified", "gibbs", (), (time.perf_counter() - began,),
        dict(verdict.certificate), tuple(verdict.advice),
    )  # fmt: skip
    if not verdict.ok:
        warn(
            f"PreferenceGP: the chains have not settled: {' '.join(verdict.advice)} Raise n_draws.", ConvergenceWarning
        )
    alpha = kept.reshape(-1, *g.shape[1:])
    return Gaussian(alpha, arrow, start.log_evidence, result, start.kernel_weight, start.deviation, start.psi)


def _pull_of(gaussian: Gaussian) -> np.ndarray:
    """b (U, m) of its mean: α + M g."""
    alpha = gaussian.alpha[0]
    g = gaussian.arrow.prior.times(alpha)
    return alpha + np.einsum("uij,uj->ui", gaussian.arrow.precision, g)


def _rows_at(rows: AugmentedRows, g: np.ndarray, own: np.ndarray) -> np.ndarray:
    """ξ (r,)."""
    outcomes = rows.outcomes
    xi = g[outcomes.block, outcomes.a] - np.where(outcomes.b >= 0, g[outcomes.block, outcomes.b], 0.0)
    xi[rows.joined] += own[rows.choice[rows.joined]]
    return xi


def truncated_normal(mean: np.ndarray, low: np.ndarray, high: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draws of N(mean, 1) within (low, high), or `low` itself where the two are equal; any tail, by inversion in logs.

    >>> x = truncated_normal(np.zeros(3), np.array([40.0, -1.0, 2.0]), np.array([np.inf, 1.0, 2.0]),
    ...                      np.random.default_rng(0))
    >>> bool(40.0 < x[0] < 40.5), bool(abs(x[1]) < 1.0), float(x[2])
    (True, True, 2.0)
    """
    a, b = low - mean, high - mean
    point = low == high
    turned = a + b > 0.0  # work in the lower tail, where Φ has no rounding
    left, right = np.where(turned, -b, a), np.where(turned, -a, b)
    log_left, log_right = scipy.special.log_ndtr(left), scipy.special.log_ndtr(right)
    share = rng.random(a.shape)
    ratio = np.exp(log_left - log_right)
    x = scipy.special.ndtri_exp(log_right + np.log(ratio + (1.0 - ratio) * (1.0 - share)))
    x = mean + np.where(turned, -x, x)
    return np.where(point, low, np.clip(x, low, high))
