"""Expectation propagation for preferences: a Gaussian site an outcome, equal outcomes sharing theirs.

The fixed point is found by `inference.latent_gaussian`; what is added is that a site counts as often as its outcome was
seen, which is what EP over the outcomes one by one comes to, for equal terms have equal sites.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from credo.inference.latent_gaussian import expectation_propagation
from credo.inference.result import Result
from credo.models.preference.arrow import SharedPrior
from credo.models.preference.augmented import AugmentedRows, Sited
from credo.models.preference.laplace import Gaussian, differences
from credo.models.preference.outcomes import Outcomes
from credo.models.preference.scales import ScalesSpace

__all__ = ["propagate"]


class _RowPrior:
    """What the engine asks of a prior: ξ (r,) of zero mean, given sites."""

    def __init__(self, rows: AugmentedRows, prior: SharedPrior) -> None:
        self.rows, self.prior = rows, prior
        self.mean = np.zeros(rows.count.size)

    def condition(self, tau: np.ndarray, nu: np.ndarray) -> _RowState:
        # Rounding may ask a flat term for a precision below zero: every term is log-concave, so none has one.
        return _RowState(self.rows.given(self.prior, np.maximum(tau, 0.0)), nu)


class _RowState:
    """Moments of ξ."""

    def __init__(self, sited: Sited, nu: np.ndarray) -> None:
        self.sited, self.tau, self.nu = sited, sited.tau, nu
        self.b = sited.pulled(nu)
        self.g = sited.arrow.spread(self.b)
        self.mean = sited.row_means(nu, self.g)
        self.variance = sited.row_variances
        self.log_normaliser = sited.log_normaliser(nu, self.b, self.g)


@dataclass(frozen=True, eq=False)
class Propagated(Gaussian):
    """`Gaussian` with its sites (τ, ν), to start another from."""

    sites: tuple[np.ndarray, np.ndarray]


def propagate(
    prior: SharedPrior,
    outcomes: Outcomes,
    space: ScalesSpace,
    psi: np.ndarray,
    start: tuple[np.ndarray, np.ndarray] | None = None,
) -> Propagated:
    """The Gaussian that matches the moments of every outcome's own term, the evidence and its gradient.

    Cost: about twenty times (U + 1) m³. Terms are in closed form, but for logistic ones (some 700 evaluations each).
    """
    rows = AugmentedRows.of(outcomes, space.noise)
    number = np.arange(rows.count.size)
    likelihood = rows.terms(space.scales(psi))
    if number.size:
        fit = expectation_propagation(_RowPrior(rows, prior), likelihood, number, start=start)  # type: ignore[arg-type]
        state, report = fit.state, fit.result
    else:
        nothing = np.zeros(0)
        state, report = _RowPrior(rows, prior).condition(nothing, nothing), Result("converged", "ep")
    variance = np.maximum(state.variance, np.finfo(float).tiny)
    cavity_tau = 1.0 / variance - state.tau
    cavity_nu = state.mean / variance - state.nu
    m, v = cavity_nu / cavity_tau, 1.0 / cavity_tau
    log_z = likelihood.tilted_moments(number, m, v)[0]
    local = log_z + _partition(cavity_tau, cavity_nu) - _partition(1.0 / variance, state.mean / variance)
    evidence = float(rows.count @ local) + state.log_normaliser

    def value(at: np.ndarray) -> float:
        return float(rows.count @ rows.terms(space.scales(at)).tilted_moments(number, m, v)[0])

    arrow = state.sited.arrow
    alpha = state.b - np.einsum("uij,uj->ui", arrow.precision, state.g)
    return Propagated(
        alpha[None], arrow, evidence, report, arrow.kernel_weight(alpha),
        float(np.vdot(arrow.deviation_weight(alpha), prior.covariance)), differences(value, psi),
        (state.tau, state.nu),
    )  # fmt: skip


def _partition(tau: np.ndarray, nu: np.ndarray) -> np.ndarray:
    """log ∫ exp(ν x − ½ τ x²) dx, without ½ log 2π."""
    return 0.5 * nu * nu / tau - 0.5 * np.log(tau)
