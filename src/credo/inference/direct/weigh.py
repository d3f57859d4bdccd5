"""Importance sampling: draws of q weighted by p̃/q, with the error of every answer and a verdict on the weights."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from credo.diagnostics.psis import K_RELIABLE, TIES, psis
from credo.errors import ConvergenceWarning, warn
from credo.inference.direct.densities import Density, Proposal, as_density, as_proposal, check_size
from credo.inference.direct.reach import check_reach
from credo.inference.direct.records import DirectDraws, ImportanceSample
from credo.inference.direct.reject import direct_draws
from credo.inference.direct.resampling import resample
from credo.inference.result import Result
from credo.numerics.random import as_generator

__all__ = ["importance", "sampling_importance_resampling", "smoothed_weights", "weighted_sample", "log_mean"]

#: fewer draws say nothing about the tail of the weights
LEAST = 100
#: draws a resampled one: Rubin (1988) takes 20, and calls a third of them enough where q is near p
OVERSAMPLING = 20


def importance(target: Any, proposal: Any, *, size: int, rng: Any = None) -> ImportanceSample:
    """Self-normalised importance sampling: E_p f ≈ Σ w_i f(x_i), x_i ~ q, w_i ∝ p̃(x_i)/q(x_i), Pareto-smoothed.

    Parameters
    ----------
    target : a `Target`, a distribution, or log p̃ of all draws at once, (n, ...) → (n,); up to a constant.
    proposal : a distribution q with `sample` and `log_prob`; for a `Target` also a mapping of names to distributions.
        Its tails should be heavier than the target's.
    size : number of draws, ≥ 100.
    rng : seed or generator.

    Returns
    -------
    ImportanceSample: `mean`, `quantile`... are weighted; `expect(f)` has the delta method's standard error; the log
    evidence log (1/S) Σ p̃/q has its own, √((S Σw²/(Σw)² − 1)/S), and Ẑ (not its logarithm) is unbiased. The certificate
    holds `pareto_k` and `ess` = 1/Σ w².

    Raises
    ------
    ZeroProbabilityError : every weight is zero. ParameterError : the proposal has density 0 where the target has mass,
        as far as points beyond its draws show. NumericalError : log p̃ is NaN or +inf at a draw.

    Warns
    -----
    ConvergenceWarning : k̂ > 0.7; no number of draws helps then, another proposal does.

    Cost: one evaluation of p̃ and q a draw, and 320 at points beyond them.

    Reference: Vehtari, Simpson, Gelman, Yao and Gabry (2024), Pareto smoothed importance sampling, JMLR 25.

    Examples
    --------
    >>> import credo as cr
    >>> found = importance(cr.Normal(1.0, 1.0), cr.StudentT(5, 0.0, 2.0), size=4000, rng=0)
    >>> value, error = found.expect(lambda x: x**2)
    >>> abs(value - 2.0) < 4 * error, abs(found.log_evidence) < 4 * found.log_evidence_error
    (np.True_, True)
    """
    size = check_size("importance", size, LEAST)
    density = as_density("importance", target)
    q = as_proposal("importance", proposal, density.target)
    began = time.perf_counter()
    x, log_weights = _weighed(density, q, size, as_generator(rng))
    return weighted_sample(density, x, log_weights, "importance", time.perf_counter() - began)


def sampling_importance_resampling(
    target: Any, proposal: Any, *, size: int, rng: Any = None, draws: int | None = None, scheme: str = "systematic"
) -> DirectDraws:
    """Equally weighted draws, approximately of the target: `draws` of the proposal, weighted, `size` of them resampled.

    Parameters
    ----------
    target, proposal, rng : as of `importance`.
    size : number of draws returned, in random order.
    draws : number of the proposal's draws; None is 20 a returned one. The law of a returned draw is that of the target
        only as draws → ∞.
    scheme : as of `resample`.

    Returns
    -------
    DirectDraws with the log evidence. The certificate holds `pareto_k`, `ess` and `distinct`, the number of different
    draws.

    Raises and warns as `importance`.

    References
    ----------
    Rubin (1988), Using the SIR algorithm to simulate posterior distributions.

    Examples
    --------
    >>> import credo as cr
    >>> found = sampling_importance_resampling(cr.Beta(2, 3), cr.Uniform(0, 1), size=1000, rng=0)
    >>> abs(found.mean - 0.4) < 0.02
    np.True_
    """
    owner = "sampling_importance_resampling"
    size = check_size(owner, size)
    draws = check_size(owner, max(OVERSAMPLING * size, LEAST) if draws is None else draws, LEAST, "draws")
    density = as_density(owner, target)
    q = as_proposal(owner, proposal, density.target)
    rng = as_generator(rng)
    began = time.perf_counter()
    x, log_weights = _weighed(density, q, draws, rng)
    weighed = weighted_sample(density, x, log_weights, owner, 0.0)
    at = rng.permutation(resample(weighed.weights, size, rng, scheme))
    certificate = {**weighed.result.certificate, "distinct": int(np.unique(at).size)}
    return direct_draws(
        density, x[at], owner, time.perf_counter() - began, log_evidence=weighed.log_evidence,
        log_evidence_error=weighed.log_evidence_error, certificate=certificate, advice=weighed.result.advice,
    )  # fmt: skip


def _weighed(density: Density, q: Proposal, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draws of q and their log weights, after a look at whether q reaches where the target is."""
    x, log_q = q.draw(n, rng)
    log_p = density(x)
    check_reach(density, q, x, log_p)
    return x, log_p - log_q


def smoothed_weights(log_weights: np.ndarray) -> tuple[np.ndarray, float]:
    """Pareto-smoothed weights (n,) that sum to 1, zeros staying zeros, and k̂; +inf where too few are positive.

    Of discrete draws many share the largest weight: it is then seen to be bounded, and there is no tail to fit. (`psis`
    itself must not say so wherever it can fit a tail: a Markov chain repeats its draws.)
    """
    positive = np.flatnonzero(log_weights > -np.inf)
    raw, weights = log_weights[positive], np.zeros(log_weights.size)
    bounded = np.count_nonzero(raw > raw.max() - 1e-12) >= TIES
    if positive.size < 25 or bounded:  # the tail of so few cannot be fitted
        weights[positive] = np.exp(raw - np.logaddexp.reduce(raw))
        return weights, -math.inf if bounded else math.inf
    smoothed = psis(raw)
    weights[positive] = np.exp(smoothed.log_weights)
    return weights / weights.sum(), float(smoothed.k_hat)


def log_mean(log_weights: np.ndarray) -> tuple[float, float]:
    """log (1/n) Σ w and its standard error by the delta method, √((n Σ w²/(Σ w)² − 1)/(n − 1))."""
    n = log_weights.size
    total = float(np.logaddexp.reduce(log_weights))
    share = math.exp(float(np.logaddexp.reduce(2.0 * log_weights)) - 2.0 * total)
    return total - math.log(n), math.sqrt(max(n * share - 1.0, 0.0) / (n - 1))


def weighted_sample(
    density: Density,
    x: np.ndarray,
    log_weights: np.ndarray,
    inference: str,
    seconds: float,
    trace: Mapping[str, np.ndarray] | None = None,
    remedy: str = "Take a proposal nearer to the target with heavier tails, temper (smc), or use NUTS.",
) -> ImportanceSample:
    """Independent weighted draws as a record; warns where the weights cannot be trusted."""
    weights, k_hat = smoothed_weights(log_weights)
    ess = float(1.0 / np.sum(weights**2))
    log_evidence, error = log_mean(log_weights)
    advice = ()
    if not k_hat <= K_RELIABLE:
        advice = (
            f"Pareto k̂ is {k_hat:.2f} (> {K_RELIABLE}), {ess:.0f} effective draws of {len(x)}: a few draws carry the "
            f"answer, its error is larger than stated, and more draws will not help. {remedy}",
        )
        warn(f"{inference}: {advice[0]}", ConvergenceWarning)
    certificate = {"pareto_k": k_hat, "ess": ess, "log_evidence_error": error}
    return ImportanceSample(
        values=density.split(x),
        weights=weights,
        result=Result("not_certified" if advice else "converged", inference, (), (seconds,), certificate, advice),
        log_evidence=log_evidence,
        dims={} if density.target is None else density.target.dims,
        density=density.joint(),
        log_weights=log_weights,
        log_evidence_error=error,
        trace=trace or {},
    )
