"""Newton's method for the mode of f: maximise Σ ω_i log p(y_i | f_i) − ½ (f − m)ᵀK⁻¹(f − m).

Each step is the prior conditioned on the sites τ = W, ν = W (f − m) + ∇, W = −ω ℓ″; a line search guards it. A
likelihood that is not log-concave has W_i < 0 somewhere: the step keeps them while the curvature as a whole is positive
definite, else drops them (a step uphill all the same), so that far from the mode it cannot run to a saddle.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.distributions.likelihoods import Likelihood
from credo.errors import NumericalError, ParameterError
from credo.inference.latent_gaussian.prior import Conditioned, GaussianPrior
from credo.inference.newton import MAX_HALVINGS, MAX_ITER, SUFFICIENT, TOLERANCE
from credo.inference.result import Result

__all__ = ["Sites", "mode_of"]

# A step with the last curvature is worth taking while what it promises falls tenfold each time: some 20 n² each, a
# few of them replace a factorisation or two.
WORTH = 0.1
# Such a step leaves a third of the error and not its square: three more, when the objective tells nothing any longer.
POLISH = 3


@dataclass(frozen=True)
class Sites:
    """What the engines are given beside the prior: outcomes y (n,), ψ or None, row weights ω (n,) or None."""

    likelihood: Likelihood
    y: np.ndarray
    psi: np.ndarray | None
    weights: np.ndarray | None

    @classmethod
    def of(
        cls,
        owner: str,
        prior: GaussianPrior,
        likelihood: Likelihood,
        y: Any,
        psi: Any,
        weights: Any,
        checked: bool = False,
    ) -> Sites:
        """Checked; `checked` outcomes are as the caller lets them be, counts that are not whole, say."""
        y = np.asarray(y, dtype=np.float64) if checked else likelihood.check(y)
        n = prior.mean.size
        if y.shape != (n,):
            raise ParameterError(owner, "y", f"one outcome a latent value ({n})", y.shape)
        if weights is not None:
            weights = np.asarray(weights, dtype=np.float64)
            if weights.shape != (n,) or not np.all(np.isfinite(weights) & (weights >= 0)):
                raise ParameterError(owner, "weights", f"{n} finite numbers ≥ 0", weights)
        return cls(likelihood, y, None if psi is None else np.asarray(psi, dtype=np.float64), weights)

    def derivatives(self, f: np.ndarray, order: int = 2) -> list[np.ndarray]:
        """ω log p and its derivatives in f, (n,) each."""
        parts = self.likelihood.value_and_derivatives(self.y, f, order, psi=self.psi)
        return [part if self.weights is None else self.weights * part for part in parts]


def mode_of(
    prior: GaussianPrior, sites: Sites, start: np.ndarray | None = None, tol: float = TOLERANCE
) -> tuple[Conditioned, float, Result]:
    """(the prior conditioned at the mode, objective there, report). `start` are coordinates; default: the prior mean.

    Cost: one conditioning an iteration, 5 to 15 of them.
    """
    began = time.perf_counter()
    coordinates = prior.origin()
    value = _objective(prior, sites, coordinates)
    if start is not None:
        given = np.array(start, dtype=np.float64)
        reached = _objective(prior, sites, given)
        if not reached < value:  # a start from elsewhere may be worse than none
            coordinates, value = given, reached
    if not np.isfinite(value):  # the prior mean may be where log p overflows
        coordinates = _near_outcomes(prior, sites)
        value = _objective(prior, sites, coordinates)
    f = prior.latent(coordinates)
    energy = 0.5 * prior.pairing(coordinates, coordinates, f - prior.mean)
    trace, seconds, status = [value], [0.0], "max_iter"
    state: Conditioned | None = None  # the curvature held
    promised = 0.0  # by the last step, if it was whole
    for _ in range(MAX_ITER):
        _, slope, curvature = sites.derivatives(f)
        for held in (True, False):
            if held:
                if state is None or not promised > 0.0:
                    continue
                state = state.renewed(state.tau * (f - prior.mean) + slope)
            else:
                state = _conditioned(prior, -curvature, slope, f)
            step, move = state.coordinates - coordinates, state.mean - f
            # energy is quadratic on the line: energy + s · cross + s² · along
            cross, along = prior.pairing(coordinates, step, move), 0.5 * prior.pairing(step, step, move)
            gain = float(slope @ move) - cross
            if gain <= WORTH * promised:
                break
        least = max(tol, 8.0 * np.finfo(float).eps * abs(value))
        done = 0.5 * gain <= least
        scale = _search(sites, f, move, (value, energy, cross, along), gain)
        if scale == 0.0:  # no step gains: at the mode up to rounding, or stuck
            status = "converged" if done or gain <= 1e-8 * (1.0 + abs(value)) else "max_iter"
            break
        promised = gain if scale == 1.0 else 0.0
        coordinates, f = coordinates + scale * step, f + scale * move
        energy = 0.5 * prior.pairing(coordinates, coordinates, f - prior.mean)
        value = float(np.sum(sites.derivatives(f, 0)[0])) - energy
        trace.append(value)
        seconds.append(time.perf_counter() - began)
        if done:
            status = "converged"
            f = _polished(prior, sites, state, f) if held and scale == 1.0 else f
            break
    _, slope, curvature = sites.derivatives(f)
    final = prior.condition(-curvature, -curvature * (f - prior.mean) + slope)
    if final is None:  # not a maximum: the positive sites at least describe it
        status = "not_identified"
        final = _conditioned(prior, np.maximum(-curvature, 0.0), slope, f)
    return final, value, Result(status, "map", tuple(trace), tuple(seconds))


def _polished(prior: GaussianPrior, sites: Sites, state: Conditioned, f: np.ndarray) -> np.ndarray:
    for _ in range(POLISH):
        f = state.renewed(state.tau * (f - prior.mean) + sites.derivatives(f, 1)[1]).mean
    return f


def _search(
    sites: Sites, f: np.ndarray, move: np.ndarray, line: tuple[float, float, float, float], gain: float
) -> float:
    """The first of 1, ½, ¼, … at which the objective gains enough; 0 when none does."""
    value, energy, cross, along = line
    rounding = 64.0 * np.finfo(float).eps * (1.0 + abs(value))
    for halvings in range(MAX_HALVINGS):
        scale = 0.5**halvings
        trial = float(np.sum(sites.derivatives(f + scale * move, 0)[0])) - energy - scale * cross - scale**2 * along
        if trial >= value + SUFFICIENT * scale * gain - rounding:
            return scale
    return 0.0


def _objective(prior: GaussianPrior, sites: Sites, coordinates: np.ndarray) -> float:
    f = prior.latent(coordinates)
    return float(np.sum(sites.derivatives(f, 0)[0])) - 0.5 * prior.pairing(coordinates, coordinates, f - prior.mean)


def _near_outcomes(prior: GaussianPrior, sites: Sites) -> np.ndarray:
    """Coordinates of the f nearest to each outcome's own best η, the prior allowing: sites of 1e6 its precision."""
    nothing = np.zeros_like(prior.mean)
    tau = np.full_like(nothing, 1e6 / np.mean(_state(prior.condition(nothing, nothing), prior).variance))
    return _state(prior.condition(tau, tau * (sites.likelihood.initial_eta(sites.y) - prior.mean)), prior).coordinates


def _state(state: Conditioned | None, prior: GaussianPrior) -> Conditioned:
    if state is None:
        raise NumericalError("The prior given sites of positive precision is not proper.", value=prior)
    return state


def _conditioned(prior: GaussianPrior, tau: np.ndarray, slope: np.ndarray, f: np.ndarray) -> Conditioned:
    """Conditioned on the sites that touch log p at f; on those of positive precision alone where all leave nothing."""
    state = prior.condition(tau, tau * (f - prior.mean) + slope) if np.all(np.isfinite(tau)) else None
    if state is None:
        tau = np.clip(np.nan_to_num(tau, posinf=1e300), 0.0, 1e300)
        state = _state(prior.condition(tau, tau * (f - prior.mean) + slope), prior)
    return state
