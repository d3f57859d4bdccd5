"""Expectation propagation: a Gaussian site a row, set so that marginal moments match those with the row's own term.

Notation: site exp(ν g − ½ τ g²), g = f − m; cavity q₋ ∝ q/siteᵖ; tilted p̂ ∝ p(y | f)ᵖ q₋, p the power. A site is moved
towards the one that gives q the tilted mean and variance; at a fixed point all agree. With Φ(τ, ν) = ½ ν²/τ − ½ log τ,

    log evidence = Σ (1/p)[log Ẑ_i + Φ(cavity_i) − Φ(marginal_i)] + ½ νᵀΣν − ½ log |I + K T|,

which is stationary in the sites there: its gradients are those at fixed sites.

All sites move at once (one conditioning a sweep), to where the last few sweeps extrapolate (Anderson's acceleration:
strongly correlated sites settle in 20 sweeps instead of 150), by a share, the damping, that is halved when the sweep
overshoots: when the posterior stops being proper or the mismatch grows. A likelihood that is not log-concave may need
sites of negative precision; they are kept while the whole is proper.

Reference: Minka (2001), UAI 17; Minka (2004), Power EP, MSR-TR-2004-149; Rasmussen and Williams (2006), §3.6; Jylänki,
Vanhatalo and Vehtari (2011), Robust Gaussian process regression with a Student-t likelihood, JMLR 12; Anderson (1965),
Iterative procedures for nonlinear integral equations, JACM 12.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.distributions.likelihoods import Likelihood
from credo.errors import ConvergenceWarning, ParameterError, warn
from credo.inference.latent_gaussian.mode import Sites
from credo.inference.latent_gaussian.posterior import LatentPosterior, difference
from credo.inference.latent_gaussian.prior import Conditioned, GaussianPrior
from credo.inference.result import Result

__all__ = ["DEPTH", "accelerated", "expectation_propagation"]

# Largest move of a marginal mean, in sds, and of a log variance: below 1e-8 of either the evidence, stationary in the
# sites, has settled to rounding.
TOLERANCE = 1e-8
# Undamped sweeps of a log-concave likelihood shrink the mismatch by a tenth or better; 200 damped ones reach 1e-8 at a
# half-life of eight.
MAX_SWEEPS = 200
SMALLEST_STEP = 1e-3
# Sweeps that Anderson's acceleration looks back on: beyond some eight the least squares only see rounding.
DEPTH = 8
POWERS = (1.0, 0.5, 0.25)


@dataclass(frozen=True)
class _Sweep:
    """Sites and what the prior becomes under them; the tilted moments there; the sites those ask for; the mismatch."""

    tau: np.ndarray
    nu: np.ndarray
    state: Conditioned
    log_z: np.ndarray
    cavity: tuple[np.ndarray, np.ndarray]
    target: tuple[np.ndarray, np.ndarray]
    mismatch: float


def expectation_propagation(
    prior: GaussianPrior,
    likelihood: Likelihood,
    y: Any,
    psi: Any = None,
    weights: Any = None,
    *,
    power: float | None = None,
    tol: float = TOLERANCE,
    max_iter: int = MAX_SWEEPS,
    start: tuple[np.ndarray, np.ndarray] | None = None,
    checked: bool = False,
) -> LatentPosterior:
    """The Gaussian whose marginals match those of each row's exact term.

    Parameters
    ----------
    prior, y, psi, weights, checked : as in `laplace_latent`; a row that counts ω times is its likelihood to the power ω
    power : p in (0, 1]; 1 is EP, and on two data at a time the most accurate (tests: variances within 1 %, within 10 %
        at ½); smaller is more robust and closer to variational inference. Default 1, and where its sites do not settle,
        as they need not if the likelihood is not log-concave, ½ and then ¼.
    tol : largest move of a marginal mean (in its sds) and of a log variance at the end
    start : sites (τ, ν) of an earlier fit (`posterior.state.tau`, `.nu`), used where they leave a proper posterior

    Warns (`ConvergenceWarning`) and reports "max_iter" when the sites do not settle. Cost: one conditioning and n
    tilted moments a sweep, 5 to 30 sweeps.

    Examples
    --------
    >>> from credo.distributions.likelihoods import BernoulliProbit
    >>> from credo.inference.latent_gaussian import LatentPrior
    >>> fit = expectation_propagation(LatentPrior([[4.0]]), BernoulliProbit(), [1.0])
    >>> fit.mean.round(6).tolist(), fit.variance.round(6).tolist()
    ([1.427299], [1.962817])
    """
    owner = "expectation_propagation"
    powers = POWERS if power is None else (power,)
    if not all(0.0 < p <= 1.0 for p in powers):
        raise ParameterError(owner, "power", "in (0, 1]", power)
    if not tol > 0 or max_iter < 1:
        raise ParameterError(owner, "tol, max_iter", "positive", (tol, max_iter))
    sites = Sites.of(owner, prior, likelihood, y, psi, weights, checked)
    for p in powers:
        run = _settle(prior, sites, p, start, tol, max_iter)
        if run.sweep.mismatch <= tol:
            break
    return _posterior(prior, sites, run, tol)


@dataclass(frozen=True)
class _Run:
    """The last sweep of one power, and the mismatch and seconds of each."""

    power: float
    sweep: _Sweep
    trace: tuple[float, ...]
    seconds: tuple[float, ...]


def _settle(prior: GaussianPrior, sites: Sites, power: float, start: Any, tol: float, max_iter: int) -> _Run:
    """Sweeps until the moments match, or damping and patience end."""
    began, n = time.perf_counter(), prior.mean.size
    sweep = None if start is None else _sweep(prior, sites, power, *start)
    if sweep is None:  # no start, or one that leaves no proper posterior here
        sweep = _sweep(prior, sites, power, np.zeros(n), np.zeros(n))
    assert sweep is not None
    damping, trace, seconds = 1.0, [sweep.mismatch], [0.0]
    history: list[tuple[np.ndarray, np.ndarray]] = []
    while sweep.mismatch > tol and len(trace) <= max_iter and damping > SMALLEST_STEP:
        at = np.concatenate([sweep.tau, sweep.nu])
        history = [*history[-DEPTH:], (at, np.concatenate(sweep.target) - at)]
        unit = np.concatenate([sweep.state.variance, np.sqrt(sweep.state.variance)])
        tau, nu = np.split(accelerated(history, unit, damping), 2)
        following = _sweep(prior, sites, power, tau, nu)
        # The first sweeps may look worse while they find the mass; later ones may not.
        if following is None or (len(trace) > 3 and following.mismatch > 1.5 * sweep.mismatch):
            damping *= 1.0 if len(history) > 1 else 0.5
            history = []
            continue
        if following.mismatch > 0.95 * sweep.mismatch and len(trace) > 3:
            damping *= 0.7
        sweep = following
        trace.append(sweep.mismatch)
        seconds.append(time.perf_counter() - began)
    return _Run(power, sweep, tuple(trace), tuple(seconds))


def accelerated(history: list[tuple[np.ndarray, np.ndarray]], unit: np.ndarray, damping: float) -> np.ndarray:
    """Anderson's step: what the last sweeps (sites, what they lack) combine to with the least lack, and a share of it.

    Sites count times `unit`, those of the posterior: τ times its variance, ν times its sd.
    """
    at, lack = history[-1]
    if len(history) == 1:
        return at + damping * lack
    moves = np.stack([at - x for x, _ in history[:-1]], axis=1)
    changes = np.stack([lack - r for _, r in history[:-1]], axis=1)
    share = np.linalg.lstsq(unit[:, None] * changes, unit * lack, rcond=1e-10)[0]
    return at + damping * lack - (moves + damping * changes) @ share


def _sweep(prior: GaussianPrior, sites: Sites, power: float, tau: np.ndarray, nu: np.ndarray) -> _Sweep | None:
    """One evaluation at given sites; None where they leave no proper posterior or cavity."""
    state = prior.condition(tau, nu)
    if state is None:
        return None
    variance = np.maximum(state.variance, np.finfo(float).tiny)
    g = state.mean - prior.mean
    cavity_tau, cavity_nu = 1.0 / variance - power * tau, g / variance - power * nu
    if not np.all(cavity_tau > 0.0):
        return None
    share = power if sites.weights is None else power * sites.weights
    log_z, mean, spread = _tilted(sites, prior.mean + cavity_nu / cavity_tau, 1.0 / cavity_tau, share, sites.psi)
    # What the site must be for q's marginal to have these moments, its other factors unchanged.
    target_tau = tau + (1.0 / spread - 1.0 / variance) / power
    target_nu = nu + ((mean - prior.mean) / spread - g / variance) / power
    mismatch = float(
        max(np.max(np.abs(mean - state.mean) / np.sqrt(variance)), np.max(np.abs(np.log(spread / variance))))
    )
    return _Sweep(tau, nu, state, log_z, (cavity_tau, cavity_nu), (target_tau, target_nu), mismatch)


def _tilted(
    sites: Sites, mean: np.ndarray, variance: np.ndarray, share: Any, psi: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tilted moments; a row of weight 0 leaves its cavity as it is."""
    if np.ndim(share) == 0 or np.all(share > 0):
        return sites.likelihood.tilted_moments(sites.y, mean, variance, psi, share)
    power = np.where(share > 0, share, 1.0)
    log_z, tilted_mean, spread = sites.likelihood.tilted_moments(sites.y, mean, variance, psi, power)
    counted = share > 0
    return np.where(counted, log_z, 0.0), np.where(counted, tilted_mean, mean), np.where(counted, spread, variance)


def _posterior(prior: GaussianPrior, sites: Sites, run: _Run, tol: float) -> LatentPosterior:
    """The record, with the evidence at the sites reached."""
    power, sweep = run.power, run.sweep
    state, (cavity_tau, cavity_nu) = sweep.state, sweep.cavity
    marginal_tau = 1.0 / np.maximum(state.variance, np.finfo(float).tiny)
    marginal_nu = (state.mean - prior.mean) * marginal_tau

    def partition(tau: np.ndarray, nu: np.ndarray) -> np.ndarray:
        return 0.5 * nu * nu / tau - 0.5 * np.log(tau)

    local = sweep.log_z + partition(cavity_tau, cavity_nu) - partition(marginal_tau, marginal_nu)
    evidence = float(local.sum()) / power + state.log_normaliser
    share = power if sites.weights is None else power * sites.weights
    mean, variance = prior.mean + cavity_nu / cavity_tau, 1.0 / cavity_tau

    def psi_slope() -> np.ndarray:
        if sites.psi is None or sites.psi.size == 0:
            return np.zeros(0)
        slopes = difference(lambda psi: _tilted(sites, mean, variance, share, psi)[0], sites.psi)
        return np.array([float(slope.sum()) / power for slope in slopes])

    converged, advice = sweep.mismatch <= tol, ()
    if converged and power < 1.0:
        advice = (f"Power {power:g}: variances may be some per cent too small.",)
    if not converged:
        advice = (
            f"The sites' moments still differ by {sweep.mismatch:.1e}: raise max_iter, lower power, or use Laplace.",
        )
        warn(f"expectation_propagation: {advice[0]}", ConvergenceWarning)
    certificate: dict[str, Any] = {"moment_mismatch": sweep.mismatch, "power": power}
    status = "converged" if converged else "max_iter"
    result = Result(status, "ep", run.trace, run.seconds, certificate, advice)
    return LatentPosterior(prior, sites, state, evidence, result, np.zeros_like(prior.mean), psi_slope)
