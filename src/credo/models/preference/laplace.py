"""Laplace's method for preferences: the Gaussian at the mode of all users' utilities.

    log evidence = Σ ℓ(ĝ) − ½ ĝ'𝒦⁻¹ĝ − ½ log |I + 𝒦 W|

Every ℓ is concave, so that Newton's method with a line search climbs to the only mode. The gradient has a part at a
fixed mode and a part through its move, as in Rasmussen and Williams (2006), §5.5.1; here W is a full matrix a user.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from credo.inference.newton import MAX_HALVINGS, MAX_ITER, SUFFICIENT, TOLERANCE
from credo.inference.result import Result
from credo.models.preference.arrow import Arrow, SharedPrior
from credo.models.preference.choices import ChoiceTerms
from credo.models.preference.design import (
    choice_rows,
    gather,
    gather_choices,
    scatter,
    scatter_choices,
    scatter_slopes,
)
from credo.models.preference.outcomes import Outcomes
from credo.models.preference.scales import Scales, ScalesSpace
from credo.models.preference.terms import row_terms

__all__ = ["Gaussian", "Likelihood", "LogLikelihood", "laplace", "preference_mode"]

# A fourth-order stencil on functions of log-like parameters: truncation and rounding both near 1e-11.
STEP = 0.01


@dataclass(frozen=True, eq=False)
class Gaussian:
    """q(g): α (S, U, m) with 𝒦 α the means, a mixture of S; `arrow` their common covariance.

    log_evidence; gradient in (θ of the kernel's weight, log ρ, ψ): `kernel_weight` (m, m), `deviation`, `psi`
    """

    alpha: np.ndarray
    arrow: Arrow
    log_evidence: float
    result: Result
    kernel_weight: np.ndarray
    deviation: float
    psi: np.ndarray


class Likelihood(Protocol):
    """What the mode is sought of."""

    @property
    def m(self) -> int:
        """Number of utilities."""
        ...

    def derivatives(self, g: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Value, gradient (U, m) and negative Hessian (U, m, m), of a concave function."""
        ...


class LogLikelihood:
    """Σ ℓ of one set of outcomes at given scales, as a function of g (U, m)."""

    def __init__(self, outcomes: Outcomes, scales: Scales) -> None:
        self.outcomes, self.m = outcomes, outcomes.items.size
        self.rows = row_terms(outcomes, scales)
        self.number = np.arange(outcomes.kind.size)
        self.choices = ChoiceTerms(choice_rows(outcomes)[1], scales.scale, scales.link == "logit")

    def derivatives(self, g: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Value, gradient (U, m) and negative Hessian W (U, m, m)."""
        outcomes, count = self.outcomes, self.outcomes.count
        parts = self.rows.value_and_derivatives(self.number, gather(outcomes, g))
        value, gradient, curvature = float(count @ parts[0]), count * parts[1], -count * parts[2]
        gradient, curvature = scatter(outcomes, gradient, curvature, self.m)
        if outcomes.best.size:
            times = outcomes.choice_count
            first, slope, bend = self.choices.derivatives(gather_choices(outcomes, g))
            more = scatter_choices(outcomes, times[:, None] * slope, times[:, None, None] * bend, self.m)
            value, gradient, curvature = value + float(times @ first), gradient + more[0], curvature + more[1]
        return value, gradient, curvature

    def curvature_slope(self, g: np.ndarray, spread: np.ndarray) -> np.ndarray:
        """∂/∂g of ½ tr(Σ W), (U, m), at covariances Σ (U, m, m)."""
        outcomes = self.outcomes
        third = self.rows.value_and_derivatives(self.number, gather(outcomes, g), 3)[3]
        variance = row_variance(outcomes, spread)
        result = scatter_slopes(outcomes, -0.5 * outcomes.count * variance * third, self.m)
        if outcomes.best.size:
            places, _ = choice_rows(outcomes)
            block = outcomes.choice_block[:, None, None]
            joint = spread[block, places[:, :, None], places[:, None, :]]
            slope = self.choices.curvature_slope(gather_choices(outcomes, g), joint)
            nothing = np.zeros((*slope.shape, slope.shape[1]))
            result += scatter_choices(outcomes, outcomes.choice_count[:, None] * slope, nothing, self.m)[0]
        return result


def row_variance(outcomes: Outcomes, spread: np.ndarray) -> np.ndarray:
    """Var η (r,) from covariances of each block (U, m, m)."""
    block, a, b = outcomes.block, outcomes.a, outcomes.b
    pair = b >= 0
    variance = spread[block, a, a]
    cross = spread[block, b, b] - 2.0 * spread[block, a, b]
    return variance + np.where(pair, cross, 0.0)


def laplace(
    prior: SharedPrior, outcomes: Outcomes, space: ScalesSpace, psi: np.ndarray, start: np.ndarray | None = None
) -> Gaussian:
    """The Gaussian at the mode, with the evidence and its gradient. `start` are an earlier α (U, m).

    Cost: about ten times (U + 1) m³.
    """
    likelihood = LogLikelihood(outcomes, space.scales(psi))
    alpha, g, curvature, value, result = preference_mode(prior, likelihood, start)
    arrow = prior.given(curvature)
    slope = -likelihood.curvature_slope(g, arrow.marginals)
    moved = arrow.relax(slope)
    weight = arrow.kernel_weight(alpha)
    own = np.einsum("u,ui,uj->ij", prior.rho, moved, alpha)
    implicit = np.outer(moved.sum(axis=0), alpha.sum(axis=0)) + own
    deviation = arrow.deviation_weight(alpha) + own
    return Gaussian(
        alpha[None], arrow, value - arrow.half_log_determinant, result,
        weight + 0.5 * (implicit + implicit.T), float(np.vdot(deviation, prior.covariance)),
        _psi_slopes(outcomes, space, psi, g, arrow, arrow.spread(slope)),
    )  # fmt: skip


def preference_mode(
    prior: SharedPrior, likelihood: Likelihood, start: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float, Result]:
    """α, g = 𝒦 α, the curvature and the objective at the mode, and the report."""
    began = time.perf_counter()
    alpha = np.zeros((prior.rho.size, likelihood.m)) if start is None else start
    g = prior.times(alpha)
    value, gradient, curvature = likelihood.derivatives(g)
    objective = value - 0.5 * float(np.vdot(g, alpha))
    trace, seconds, status = [objective], [0.0], "max_iter"
    for _ in range(MAX_ITER):
        arrow = prior.given(curvature)
        pull = gradient + np.einsum("uij,uj->ui", curvature, g)
        target = arrow.spread(pull)
        # at the target 𝒦⁻¹g = b − M g exactly, so that no K is ever inverted
        step = pull - np.einsum("uij,uj->ui", curvature, target) - alpha
        gain = float(np.vdot(gradient - alpha, target - g))
        done = 0.5 * gain <= max(TOLERANCE, 8.0 * np.finfo(float).eps * abs(objective))
        found = _search(likelihood, (alpha, g), (step, target - g), objective, gain)
        if found is None:  # no step gains: at the mode up to rounding
            status = "converged" if done or gain <= 1e-8 * (1.0 + abs(objective)) else "max_iter"
            break
        alpha, g, objective, gradient, curvature = found
        trace.append(objective)
        seconds.append(time.perf_counter() - began)
        if done:
            status = "converged"
            break
    return alpha, g, curvature, objective, Result(status, "laplace", tuple(trace), tuple(seconds))


def _search(
    likelihood: Likelihood, at: tuple[np.ndarray, np.ndarray], step: tuple[np.ndarray, np.ndarray],
    objective: float, gain: float,
) -> tuple[np.ndarray, np.ndarray, float, np.ndarray, np.ndarray] | None:  # fmt: skip
    """α, g, objective, gradient and curvature at the first of 1, ½, ¼, … of the step that gains enough, or None."""
    rounding = 64.0 * np.finfo(float).eps * (1.0 + abs(objective))
    for halvings in range(MAX_HALVINGS):
        scale = 0.5**halvings
        alpha, g = at[0] + scale * step[0], at[1] + scale * step[1]
        value, gradient, curvature = likelihood.derivatives(g)
        trial = value - 0.5 * float(np.vdot(g, alpha))
        if trial >= objective + SUFFICIENT * scale * gain - rounding:
            return alpha, g, trial, gradient, curvature
    return None


def _psi_slopes(
    outcomes: Outcomes, space: ScalesSpace, psi: np.ndarray, g: np.ndarray, arrow: Arrow, moved: np.ndarray
) -> np.ndarray:
    """∂ log evidence/∂ψ: of ℓ − ½ tr(Σ W) + (Σ s)'∇ℓ at a fixed g, by fourth-order differences."""

    def value(at: np.ndarray) -> float:
        part, gradient, curvature = LogLikelihood(outcomes, space.scales(at)).derivatives(g)
        return part - 0.5 * float(np.vdot(arrow.marginals, curvature)) + float(np.vdot(moved, gradient))

    return differences(value, psi)


def differences(value, psi: np.ndarray) -> np.ndarray:
    """Slopes of a function of ψ."""
    slopes = np.empty(psi.size)
    for k in range(psi.size):
        step = STEP * np.eye(psi.size)[k]
        near, far = value(psi + step) - value(psi - step), value(psi + 2.0 * step) - value(psi - 2.0 * step)
        slopes[k] = (8.0 * near - far) / (12.0 * STEP)
    return slopes
