"""Leaving outcomes out: the Gaussian without one outcome's site predicts it.

Notation: a site is (W, b), exp(b'z − ½ z'W z) on what the outcome depends on, z ~ N(m, V) with it. Without it

    V₋ = V (I − W V)⁻¹,   m₋ = (I − V W)⁻¹ (m − V b)
"""

from __future__ import annotations

import numpy as np
import scipy.special

from credo.distributions.likelihoods.integrals import lattice_normals
from credo.models.preference.augmented import AugmentedRows
from credo.models.preference.choices import ChoiceTerms
from credo.models.preference.design import gather
from credo.models.preference.laplace import Gaussian, LogLikelihood, row_variance
from credo.models.preference.outcomes import Outcomes
from credo.models.preference.propagation import Propagated
from credo.models.preference.scales import Scales

__all__ = ["left_out"]

# A prime. The integrands are smooth and between 0 and 1: the lattice is right to about 1e-3 of them.
POINTS = 251


def left_out(found: Gaussian, outcomes: Outcomes, scales: Scales) -> np.ndarray:
    """log P of every outcome given the others (outcomes,): rows, then choices, each as often as it was seen."""
    likelihood = LogLikelihood(outcomes, scales)
    g = found.arrow.prior.times(found.alpha[0])
    eta, plain = gather(outcomes, g), outcomes.kind.size
    if isinstance(found, Propagated):
        tau, nu = (site[:plain] for site in found.sites)
    else:
        parts = likelihood.rows.value_and_derivatives(likelihood.number, eta)
        tau, nu = -parts[2], parts[1] - parts[2] * eta
    variance = np.maximum(row_variance(outcomes, found.arrow.marginals), np.finfo(float).tiny)
    left = variance / (1.0 - tau * variance)
    rows = likelihood.rows.tilted_moments(likelihood.number, left * (eta / variance - nu), left)[0]
    augmented = AugmentedRows.of(outcomes, scales.noise) if isinstance(found, Propagated) else None
    choices = np.array([_choice(c, found, likelihood, augmented, g) for c in range(outcomes.best.size)])
    times = np.concatenate([outcomes.count, outcomes.choice_count]).astype(np.intp)
    return np.repeat(np.concatenate([rows, choices]), times)


def _choice(
    c: int, found: Gaussian, likelihood: LogLikelihood, augmented: AugmentedRows | None, g: np.ndarray
) -> float:
    """log P of choice c by its k gaps z_j = f_0 − f_j, averaged over their Gaussian on a lattice."""
    outcomes, scales = likelihood.outcomes, likelihood.choices
    block, k = outcomes.choice_block[c], int(np.sum(outcomes.others[c] >= 0))
    at = np.append(outcomes.best[c], outcomes.others[c, :k])
    f = g[block, at]
    joint = found.arrow.marginals[block][np.ix_(at, at)]
    spread = joint[0, 0] - joint[:1, 1:] - joint[1:, :1] + joint[1:, 1:]
    z = f[0] - f[1:]
    W, b = _site(c, found, augmented, scales, f)
    solved = np.linalg.solve(np.eye(k) - spread @ W, np.column_stack([spread, z - spread @ b]))
    left, mean = solved[:, :k], solved[:, k]
    values, vectors = np.linalg.eigh(0.5 * (left + left.T))
    points = mean + lattice_normals(POINTS, k) * np.sqrt(np.maximum(values, 0.0)) @ vectors.T
    terms = ChoiceTerms(np.ones((len(points), k), dtype=bool), scales.scale, scales.logistic)
    log_p = terms.derivatives(np.column_stack([np.zeros(len(points)), -points]))[0]
    return float(scipy.special.logsumexp(log_p) - np.log(len(points)))


def _site(
    c: int, found: Gaussian, augmented: AugmentedRows | None, choices: ChoiceTerms, f: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(W, b) of choice c in its gaps, at utilities f (k + 1,)."""
    if isinstance(found, Propagated) and augmented is not None:
        tau, nu = (site[augmented.choice == c] for site in found.sites)
        total = 1.0 / augmented.noise**2 + tau.sum()
        return np.diag(tau) - np.outer(tau, tau) / total, nu - tau * nu.sum() / total
    one = ChoiceTerms(np.ones((1, f.size - 1), dtype=bool), choices.scale, choices.logistic)
    _, gradient, curvature = one.derivatives(f[None])
    W = curvature[0, 1:, 1:]
    return W, W @ (f[0] - f[1:]) - gradient[0, 1:]
