"""`fit_mean_field`: ascent, independent draws of q, and what the joint density says of them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.diagnostics.psis import K_RELIABLE, psis
from credo.errors import ConvergenceWarning
from credo.inference.result import Result
from credo.inference.variational.mean_field import mean_field
from credo.program.explain import Step
from credo.program.fitting import Found, in_chains
from credo.program.gibbs.expressions import CellDensity
from credo.program.mean_field.build import Approximation, approximation
from credo.program.model import Factor
from credo.program.nodes import Node

if TYPE_CHECKING:
    from credo.program.plan import Plan

__all__ = ["explain_mean_field", "fit_mean_field"]

MAX_SWEEPS = 5000
TOLERANCE = 1e-10
#: cells of a chunk of draws of the joint density, and of all of them
CHUNK, MOST = 2**21, 2**28
#: shares of an sd by which a mean or an sd may be off and still be called right
TOLERATED = 0.1


def explain_mean_field(factors: Sequence[Factor], latents: Sequence[Node]) -> list[Step]:
    """The factors of q, one step each. Raises `UnavailableError` where the model does not admit mean field."""
    return _steps(approximation(factors, latents))


def _steps(found: Approximation) -> list[Step]:
    return [Step("mean_field", tuple(str(node.name) for node in part.nodes), part.said) for part in found.parts]


def fit_mean_field(plan: Plan, draws: int, rng: np.random.Generator, options: Mapping[str, Any]) -> Found:
    """Draws of the best q = Π q_k; `log_evidence` is its ELBO, a lower bound.

    The ascent is `inference.variational.mean_field`, which refuses an ELBO that falls. Certificate: k̂ of q against the
    joint density of the declared latents, auxiliaries integrated out, and how far means and sds move when q's draws are
    weighed by it: mean field leaves correlations between factors out, and its sds are too small.
    """
    began = time.perf_counter()
    found = approximation(plan.factors, plan.latents)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the result is judged below
        fit = mean_field(found.factors, found.expected, found.start, tol=TOLERANCE, max_iter=MAX_SWEEPS)
    values, log_q = _drawn(plan, found, fit.natural, draws, rng)
    certificate, advice = _certificate(plan, values, log_q)
    certificate |= {"elbo": fit.elbo, "sweeps": fit.result.n_iter - 1}
    status = fit.result.status
    if status == "converged" and advice:
        status = "not_certified"
    result = Result(status, "mean_field", fit.result.objective, (time.perf_counter() - began,), certificate,
                    (*advice, *fit.result.advice))  # fmt: skip
    evidence = fit.elbo if found.is_proper else float("nan")
    return Found(in_chains(values), result, log_evidence=evidence, moments=_moments(found, fit.natural),
                 steps=_steps(found))  # fmt: skip


def _drawn(
    plan: Plan, found: Approximation, natural: Mapping[str, Any], n: int, rng: np.random.Generator
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Draws of the declared latents (n, *shape), and log q (n,)."""
    wanted = {node.number for node in plan.latents}
    values, log_q = {}, np.zeros(n)
    for part in found.parts:
        if part.nodes[0].number not in wanted:
            continue
        if hasattr(part.family, "draws"):
            x, log = part.family.draws(natural[part.name], n, rng)
        else:  # shares
            law = part.family.distribution(natural[part.name])
            x = np.asarray(law.sample(n, rng))
            log = np.asarray(law.log_prob(x)).reshape(n, -1).sum(axis=1)
            x = x[..., 0] if type(part.nodes[0].law).__name__ == "Beta" else x
        log_q = log_q + log
        start, flat = 0, x.reshape(n, -1)
        for node in part.nodes:
            values[str(node.name)] = flat[:, start : start + node.size].reshape(n, *node.shape)
            start += node.size
    return {str(node.name): values[str(node.name)] for node in plan.latents}, log_q


def _moments(found: Approximation, natural: Mapping[str, Any]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Exact means and sds of q for the Normal nodes."""
    out = {}
    for part in found.parts:
        if not hasattr(part.family, "mean_sd"):
            continue
        mean, sd = part.family.mean_sd(natural[part.name])
        start = 0
        for node in part.nodes:
            at = slice(start, start + node.size)
            out[str(node.name)] = (mean[at].reshape(node.shape), sd[at].reshape(node.shape))
            start += node.size
    return out


def _certificate(
    plan: Plan, values: Mapping[str, np.ndarray], log_q: np.ndarray
) -> tuple[dict[str, Any], tuple[str, ...]]:
    cells = sum(factor.node.size for factor in plan.factors)
    n = int(np.clip(MOST // max(cells, 1), 200, len(log_q)))
    densities = [CellDensity(factor, plan.latents, {}) for factor in plan.factors]
    log_p, step = np.empty(n), max(1, CHUNK // max(cells, 1))
    for start in range(0, n, step):
        at = slice(start, min(start + step, n))
        state = {node.number: values[str(node.name)][at] for node in plan.latents}
        rows = at.stop - at.start
        log_p[at] = sum(_summed(density(state), rows) for density in densities)
    ratio = log_p - log_q[:n]
    if not np.isfinite(ratio).any():
        return {"pareto_k": np.inf}, ("The joint density is 0 at every draw of q.",)
    weighed = psis(ratio)
    k, advice = float(weighed.k_hat), []
    found: dict[str, Any] = {"pareto_k": k}
    if k >= K_RELIABLE:
        advice.append(
            f"Pareto k̂ of q against the joint density is {k:.2f} (≥ {K_RELIABLE}): q is too narrow, as mean field is "
            "where its factors depend on each other, and its sds are too small."
        )
    else:
        weights = np.exp(weighed.log_weights - np.logaddexp.reduce(weighed.log_weights))
        worst, shift, ratio_of_sds = _moves(values, weights, n)
        found |= {"largest_shift": shift, "least_sd_ratio": ratio_of_sds}
        if shift > TOLERATED or ratio_of_sds < 1.0 - TOLERATED:
            advice.append(
                f"Weighed by the joint density, {worst} moves by {shift:.2f} sd or its sd is {1.0 / ratio_of_sds:.2f} "
                "times q's: mean field leaves out what factors of q have in common."
            )
    if advice:
        advice.append('Use inference="auto" for sds that are right; the means may still be good.')
    return found, tuple(advice)


def _summed(cells: np.ndarray, rows: int) -> np.ndarray:
    has = cells.ndim and len(cells) == rows
    return cells.reshape(rows, -1).sum(axis=1) if has else np.full(rows, cells.sum())


def _moves(values: Mapping[str, np.ndarray], weights: np.ndarray, n: int) -> tuple[str, float, float]:
    """The node that weighing changes most, the largest shift of a mean in sds, and the least ratio sd of q ÷ sd."""
    worst, most, shift, ratio = "", -1.0, 0.0, 1.0
    for name, value in values.items():
        x = value[:n].reshape(n, -1)
        mean, sd = x.mean(axis=0), x.std(axis=0)
        to = weights @ x
        wide = np.sqrt(np.maximum(weights @ np.square(x - to), 1e-300))
        each, narrow = float(np.max(np.abs(to - mean) / wide)), float(np.min(sd / wide))
        shift, ratio = max(shift, each), min(ratio, narrow)
        if max(each, 1.0 - narrow) > most:
            worst, most = name, max(each, 1.0 - narrow)
    return worst, shift, ratio
