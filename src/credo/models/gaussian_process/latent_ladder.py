"""The ladder of latent Gaussian processes: Laplace's method, checked by importance weights, then EP."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from credo.inference.latent_gaussian import LatentPosterior
from credo.inference.result import Result
from credo.models.gaussian_process.latent_certificate import DRAWS, certificate, holds
from credo.models.gaussian_process.latent_evidence import LatentEvidence, LatentTask
from credo.models.gaussian_process.learning import Climb, climb
from credo.models.gaussian_process.solvers.memory import require

__all__ = ["INFERENCES", "climbed", "report", "require_memory", "searched"]

INFERENCES = ("auto", "laplace", "ep")
# Matrices of n × n alive at the peak (measured: 12 at 1,000 rows, 9 at 2,000): K and what its gradient keeps, this and
# the last B with its factor and inverse, W.
ARRAYS = 12
# Laplace's own error in the evidence is tenths of a nat, EP's hundredths: a thousandth is what a search need not mind.
GAIN = 1e-3


def climbed(
    task: LatentTask, inference: str, optimize: bool, n_restarts: int, rng: np.random.Generator
) -> tuple[np.ndarray, LatentPosterior, Result]:
    """(position, q(f) there, report)."""
    require_memory("GaussianProcess", task.y.size, ARRAYS)
    if inference == "ep" or (inference == "auto" and not task.likelihood.smooth):
        return _by(task, "ep", task.start(), optimize, n_restarts, rng)
    found = _by(task, "laplace", task.start(), optimize, n_restarts, rng)
    if inference == "laplace" or holds(found[2].certificate):
        return found
    k_hat = found[2].certificate["pareto_k"]
    why = f"Laplace's Gaussian failed its check (Pareto k̂ {k_hat:.2f} ≥ 0.7), so EP took over from there."
    position, posterior, result = _by(task, "ep", found[0], optimize, 0, rng)
    return position, posterior, replace(result, advice=(why, *result.advice))


def _by(
    task: LatentTask, engine: str, start: np.ndarray, optimize: bool, n_restarts: int, rng: np.random.Generator
) -> tuple[np.ndarray, LatentPosterior, Result]:
    evidence = LatentEvidence(task, engine)
    top = searched(evidence, start, task.bounds(), task.names, engine, n_restarts, rng) if optimize else None
    position = start if top is None else top.theta
    posterior = evidence.posterior(position)
    return position, posterior, report(engine, posterior.result, top, certificate(posterior))


def searched(
    evidence: Callable[[np.ndarray], tuple[float, np.ndarray]],
    start: np.ndarray,
    bounds: np.ndarray,
    names: Sequence[str],
    engine: str,
    n_restarts: int,
    rng: np.random.Generator,
) -> Climb | None:
    """`climb`, or None where there is nothing to learn.

    In units of the slope at the start: L-BFGS-B takes the slope for its first step, which a steep evidence throws into
    a corner of the box.
    """
    if not start.size:
        return None
    _, slope = evidence(np.clip(start, bounds[:, 0], bounds[:, 1]))
    unit = float(np.clip(np.abs(slope).max(), 1.0, 1e100))

    def scaled(position: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = evidence(position)
        return value / unit, gradient / unit

    top = climb(scaled, start, bounds, n_restarts=n_restarts, rng=rng, tol=GAIN / unit, names=names, inference=engine)
    steepest = {"largest_slope": top.result.certificate["largest_slope"] * unit}
    result = replace(
        top.result,
        objective=tuple(unit * value for value in top.result.objective),
        certificate={**top.result.certificate, **steepest},
    )
    return replace(top, value=unit * top.value, gradient=unit * top.gradient, result=result)


def report(engine: str, inner: Result, top: Climb | None, checks: dict[str, float]) -> Result:
    """One `Result` of the search over hyperparameters, of q(f) at its end, and of how q(f) was checked."""
    status, advice = inner.status, inner.advice
    learned: dict[str, Any] = {}
    objective, seconds = inner.objective, inner.seconds
    if top is not None:
        status = inner.status if not inner.ok else top.result.status
        advice = (*inner.advice, *top.result.advice)
        learned, objective, seconds = top.result.certificate, top.result.objective, top.result.seconds
    if not holds(checks):
        advice = (
            *advice,
            f"Importance weights do not certify the Gaussian (Pareto k̂ {checks['pareto_k']:.2f} ≥ 0.7, "
            f"{checks['ess']:.0f} effective of {DRAWS}; they put the log evidence at "
            f"{checks['log_evidence_weighted']:.2f}).",
        )
        status = "not_certified" if status == "converged" else status
    return Result(status, engine, objective, seconds, {**learned, **inner.certificate, **checks}, advice)


def require_memory(owner: str, n: int, arrays: int) -> None:
    """`NumericalError` if so many n × n arrays are more than the machine's memory."""
    remedy = "Fit to a random part of the rows, or use a generalised linear model on features of them."
    require(f"{owner} with a likelihood that is not Normal", n, 8.0 * arrays * float(n) ** 2, remedy)
