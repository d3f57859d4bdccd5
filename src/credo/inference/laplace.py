"""Laplace's approximation, corrected by importance sampling and certified by its Pareto k̂.

On the transformed line log p(z) ≈ log p(m) − ½ (z − m)ᵀ H (z − m): the posterior is taken as N(m, H⁻¹), log evidence as
log p(m) + (k/2) log 2π − ½ log |H|. Draws of it are re-weighted by p/q; the weights' Pareto tail says how far they, and
so the approximation, can be trusted (k̂ < 0.7).
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import logsumexp

from credo.diagnostics.psis import K_RELIABLE, psis
from credo.errors import ConvergenceWarning, NotIdentifiedError, NotPositiveDefiniteError, ParameterError, warn
from credo.inference.draws import ImportanceDraws
from credo.inference.map import maximise
from credo.inference.result import Result
from credo.inference.target import Target
from credo.inference.transforms import unconstrained
from credo.numerics.cholesky import cholesky, log_determinant, solve_lower
from credo.numerics.random import as_generator
from credo.saving.registry import register

__all__ = ["LaplacePosterior", "laplace", "importance_draws"]


@register
@dataclass(frozen=True, eq=False)
class LaplacePosterior(ImportanceDraws):
    """`ImportanceDraws` of the Normal at the mode, which is kept too.

    free_mode, free_covariance : m (k,) and H⁻¹ (k, k) on the transformed line.
    log_evidence : by importance sampling; `log_evidence_normal` is the closed form at the mode.
    """

    free_mode: np.ndarray = field(default_factory=lambda: np.empty(0))
    free_covariance: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    log_evidence_normal: float = float("nan")


def laplace(
    target: Target, *, draws: int = 4000, rng: Any = None, initial: Any = None, n_starts: int = 4
) -> LaplacePosterior:
    """Laplace's approximation with Pareto-smoothed importance weights.

    The default of 4,000 draws estimates k̂ within about 0.1. Cost: the mode, a Hessian, and one evaluation a draw.

    Raises `NotIdentifiedError` if the density has no proper mode. Warns (`ConvergenceWarning`) when k̂ ≥ 0.7: the result
    is then "not_certified".

    Examples
    --------
    >>> target = Target(lambda x: -0.5 * x @ x / 4.0, {"w": (2,)}, gradient=lambda x: -x / 4.0)
    >>> posterior = laplace(target, rng=0)
    >>> posterior.result.status, round(posterior.log_evidence_normal - math.log(2 * math.pi * 4), 6)
    ('converged', 0.0)

    References
    ----------
    Tierney and Kadane (1986), JASA 81; Vehtari, Simpson, Gelman, Yao and Gabry (2024), JMLR 25.
    """
    if draws < 100:
        raise ParameterError("laplace", "draws", "≥ 100: fewer say nothing about the tail of the weights", draws)
    rng = as_generator(rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # an improper mode is an error here, raised below
        mode = maximise(target, initial=initial, n_starts=n_starts, rng=rng, jacobian=True)
    try:
        lower = cholesky(mode.hessian, "Hessian at the mode").lower
    except NotPositiveDefiniteError as error:
        raise NotIdentifiedError(f"laplace: the density has no proper mode: {error}", value=error.value) from None
    if mode.result.status == "not_identified":
        raise NotIdentifiedError(f"laplace: {mode.result.message}", value=mode.free)
    k = mode.free.size
    noise = rng.standard_normal((draws, k))
    z = mode.free + solve_lower(lower, noise.T, transpose=True).T
    log_q = -0.5 * np.sum(noise**2, axis=1) + 0.5 * log_determinant(lower) - 0.5 * k * math.log(2.0 * math.pi)
    fields = importance_draws(target, z, log_q, "laplace", mode.result.objective)
    inverse = solve_lower(lower, np.eye(k))
    normal = mode.log_density + 0.5 * k * math.log(2.0 * math.pi) - 0.5 * log_determinant(lower)
    return LaplacePosterior(
        **fields, free_mode=mode.free, free_covariance=inverse.T @ inverse, log_evidence_normal=normal
    )


def importance_draws(
    target: Target, z: np.ndarray, log_q: np.ndarray, inference: str, objective: tuple[float, ...] = ()
) -> dict[str, Any]:
    """The fields of `ImportanceDraws` for draws z (n, k) of a proposal with log densities log_q (n,) on the line."""
    free, bijection = unconstrained(target)
    with np.errstate(all="ignore"):
        log_p = free.evaluate_rows(z)[0]
    log_weights = np.where(np.isnan(log_p), -np.inf, log_p) - log_q
    weighed = psis(log_weights)
    k_hat = float(weighed.k_hat)
    advice = ()
    if not weighed.reliable:
        advice = (
            f"Pareto k̂ is {k_hat:.2f} (≥ {K_RELIABLE}): the approximation misses part of the posterior, and its "
            "weights cannot mend it. Use NUTS.",
        )
        warn(f"{inference}: {advice[0]}", ConvergenceWarning)
    status = "not_certified" if advice else "converged"
    result = Result(status, inference, objective, (), {"pareto_k": k_hat}, advice)
    return {
        "values": target.split(bijection.forward(z)),
        "weights": np.exp(weighed.log_weights),
        "result": result,
        "log_evidence": float(np.asarray(logsumexp(log_weights))) - math.log(len(z)),
        "dims": target.dims,
        "density": lambda x: target.evaluate_rows(x.reshape(-1, target.dim))[0].reshape(x.shape[:-1]),
    }
