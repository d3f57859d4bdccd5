"""What fresh draws say of a finished q: its ELBO with an error, Pareto k̂, and evidence in places where q is not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from credo.diagnostics.psis import K_RELIABLE, psis
from credo.errors import NumericalError
from credo.inference.pathfinder import Approximation
from credo.inference.target import Target
from credo.inference.variational.gaussian import NormalMap

__all__ = ["Certificate", "certify"]

#: share of the evidence that q may miss: beyond it, probabilities are wrong in the second digit
MISSED = 0.05
#: standard errors by which the missed share must exceed that
CLEARLY = 3.0
#: draws of q, and of the paths' Normals, for the missed share: its error is then about 0.01
WEIGHED_PATHS = 10_000


@dataclass(frozen=True, eq=False)
class Certificate:
    """draws (n, k) of q, on the line ; log_ratio (n,) log p − log q there ; log_weights (n,) smoothed
    elbo, elbo_error : mean of log_ratio, and its standard error
    k_hat : of the weights ; missed, missed_error : 1 − Z_q/Z, Z_q from q's draws, Z from those of all paths as well
    """

    draws: np.ndarray
    log_ratio: np.ndarray
    log_weights: np.ndarray
    elbo: float
    elbo_error: float
    k_hat: float
    missed: float
    missed_error: float

    @property
    def log_evidence(self) -> float:
        return float(np.asarray(logsumexp(self.log_ratio))) - math.log(self.log_ratio.size)

    def advice(self, family: str) -> tuple[str, ...]:
        """Nothing if q may be used."""
        said = []
        if not math.isfinite(self.elbo):
            said.append(
                "The density is zero at some draws of q, so that the ELBO is −∞: declare the variables' supports."
            )
        if self.k_hat >= K_RELIABLE:
            said.append(
                f"Pareto k̂ is {self.k_hat:.2f} (≥ {K_RELIABLE}): q misses part of the posterior, and its weights "
                "cannot mend it."
            )
        if self.missed - CLEARLY * self.missed_error > MISSED:
            what = "another mode, or tails" if family == "full_rank" else "correlations, tails or another mode"
            said.append(f"About {100 * self.missed:.0f} % of the evidence lies where q is not: {what}.")
        if said:
            wider = "" if family == "full_rank" else 'Try family="full_rank"; if that fails too, '
            remedy = "reparametrise (a hierarchy: non-centred) or use NUTS, from several starts."
            said.append(wider + remedy if wider else remedy[0].upper() + remedy[1:])
        return tuple(said)


def certify(
    target: Target,
    family: NormalMap,
    parameters: np.ndarray,
    guesses: Sequence[Approximation],
    n: int,
    rng: np.random.Generator,
) -> Certificate:
    """Weigh q on n fresh draws of it, and on some of the Normals that the optimisation paths led to."""
    z = family.draw(parameters, rng.standard_normal((n, family.n_noise)))
    with np.errstate(all="ignore"):
        log_p = target.evaluate_rows(z)[0]
    log_q = family.log_prob(parameters, z)
    ratio = np.where(np.isnan(log_p), -np.inf, log_p) - log_q
    if not np.any(np.isfinite(ratio)):
        raise NumericalError("stochastic_vi: no draw of q has a finite density.", value=z[0])
    weighed = psis(ratio)
    few = slice(WEIGHED_PATHS)
    missed, error = _missed(target, family, parameters, guesses, z[few], log_p[few], log_q[few], rng)
    spread = float(np.std(ratio, ddof=1)) if np.all(np.isfinite(ratio)) else math.inf
    return Certificate(
        z, ratio, weighed.log_weights, float(np.mean(ratio)), spread / math.sqrt(n), float(weighed.k_hat), missed, error
    )


def _missed(
    target: Target,
    family: NormalMap,
    parameters: np.ndarray,
    guesses: Sequence[Approximation],
    z: np.ndarray,
    log_p: np.ndarray,
    log_q: np.ndarray,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """1 − Z_q/Z with its standard error, Z by importance sampling from half q, half the paths' Normals.

    Both halves are weighed by the density of the whole mixture; q's share of Z is what its own draws estimate.
    """
    if not guesses:
        return 0.0, 0.0
    each = math.ceil(len(z) / len(guesses))
    others = np.concatenate([guess.draw(rng, each)[0] for guess in guesses])[: len(z)]
    with np.errstate(all="ignore"):
        log_p_others = target.evaluate_rows(others)[0]
    both = np.concatenate([z, others])
    log_p_both = np.concatenate([log_p, log_p_others])
    log_q_both = np.concatenate([log_q, family.log_prob(parameters, others)])
    of_paths = np.asarray(logsumexp([guess.log_prob(both) for guess in guesses], axis=0)) - math.log(len(guesses))
    log_mixture = np.logaddexp(log_q_both, of_paths) - math.log(2.0)
    log_weights = np.where(np.isnan(log_p_both), -np.inf, log_p_both) - log_mixture
    top = float(np.max(log_weights))
    if not math.isfinite(top):
        return 0.0, 0.0
    weights = np.exp(log_weights - top)
    own = np.exp(np.where(np.isnan(log_p), -np.inf, log_p) - log_q - top)
    total, part = float(weights.mean()), float(own.mean())
    share = part / total
    variance = np.var(own) / len(own) / total**2 + share**2 * np.var(weights) / len(weights) / total**2
    return max(0.0, 1.0 - share), float(math.sqrt(variance))
