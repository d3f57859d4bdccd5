"""Nested Laplace: a block behind observed data that are not Normal, integrated out by Laplace's method at each θ, and
then put right by importance weights over everything.

    p(θ, z | y) ∝ p(θ) p(y, z | θ)        q(θ, z) ∝ p(θ) L(θ) q(z | θ)        w = p/q

L(θ) is Laplace's ∫ p(y, z | θ) dz. Draws of q are weighed by the exact density; k̂ of their weights is the certificate
of the whole: of Laplace, of the rule that integrated θ, and of the draws. Where it fails, the plan's fall-back takes
over. References: Rue, Martino and Chopin (2009), JRSS B 71; Vehtari et al. (2024), JMLR 25(72).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import logsumexp

from credo.diagnostics.psis import psis
from credo.distributions import Flat
from credo.errors import NotIdentifiedError, NumericalError
from credo.inference.direct.resampling import resample
from credo.inference.result import Result
from credo.program.collapsed import Collapsed, leaf_draws, ordered
from credo.program.explain import Step
from credo.program.fitting import Found, by_fallback, in_chains
from credo.program.nested_rules import NoRuleError, Proposals, propose
from credo.program.plan import Plan
from credo.program.quadrature import named

__all__ = ["fit_nested"]

# Seconds that weighed draws may take, the fewest of them, and the fewest and most values of θ they are drawn at: so
# many, and so many more for each hyperparameter.
SECONDS, FEWEST = 1.5, 144
FEWEST_THETA, FOR_EACH, MOST_THETA = 8, 8, 64
# A sd of the linear predictor, on the scale of a logit or a logarithm, that is no end.
ENDLESS = 100.0
# What certifies: k̂, how many draws the weighed ones are worth, and the error of a lattice over θ.
LARGEST_K, LEAST_EFFECTIVE, LARGEST_ERROR = 0.6, 80.0, 0.1
# Values of θ at which another mode of the block is looked for, and the nats by which it must be worse.
MOST_LOOKED_AT, LEAST_LEAD = 16, 12.0
# Spare draws of what is drawn anew for each weight, so that few come up twice.
SPARE = 1.2


def fit_nested(plan: Plan, draws: int, rng: np.random.Generator, options: Mapping[str, Any]) -> Found:
    """Weighed draws of everything, resampled; by the plan's fall-back where they are not certified."""
    collapsed = Collapsed(plan)
    collapsed.start_at(options.get("initial"))
    try:
        _require_identified(collapsed)
        return _weighed(collapsed, draws, rng, options)
    except NoRuleError as failure:
        names = tuple(str(node.name) for node in collapsed.nodes)
        return by_fallback(plan, draws, rng, options, Step("nested Laplace", names, f"not certified: {failure}"))


def _require_identified(collapsed: Collapsed) -> None:
    """`NotIdentifiedError` where a flat direction of the block has no end at the start: outcomes are separated."""
    flat = np.concatenate([np.full(node.size, isinstance(node.law, Flat)) for node in collapsed.nodes])
    try:
        belief = collapsed.belief(collapsed.start)
    except NumericalError:
        if flat.any():
            _refuse(collapsed, np.flatnonzero(flat))
        return  # too far out for Laplace: the rule over θ will say so
    if flat.any():
        block: Any = collapsed.block
        reach = np.zeros(block.size)
        for site in block.sites:
            if type(site.law).__name__ not in ("StudentT", "NormalLogScale"):  # whose η has the unit of the data
                for matrix in site.maps:
                    reach = np.maximum(reach, abs(matrix).max(axis=0).toarray().ravel())
        _refuse(collapsed, np.flatnonzero(flat & (belief.sd * reach > ENDLESS)))


def _refuse(collapsed: Collapsed, columns: np.ndarray) -> None:
    if columns.size:
        names = collapsed.labels(columns)
        raise NotIdentifiedError(
            f"Model: under a flat prior the data do not bound {', '.join(names)}: the posterior is improper.",
            value=names,
            remedy="Outcomes are separated, or a group has none but zeros: give a proper prior, such as Normal(0, 10).",
        )


def _weighed(collapsed: Collapsed, draws: int, rng: np.random.Generator, options: Mapping[str, Any]) -> Found:
    n, each, repeats = _sizes(collapsed, draws)
    proposals = propose(collapsed, n, rng, options)
    z, base, log_w = _draws(collapsed, proposals, each, repeats, rng)
    weighed = psis(base + log_w)
    k, effective = float(weighed.k_hat), float(weighed.ess)
    if not (k <= LARGEST_K and effective >= LEAST_EFFECTIVE):
        raise NoRuleError(f"k̂ = {k:.2f} of weights worth {effective:.0f} of {log_w.size} draws")
    certificate = {**proposals.certificate, "pareto_k": k, "effective": effective, "weighed_draws": log_w.size}
    weights = np.exp(weighed.log_weights)
    outer = rng.permutation(resample(weights, draws, rng))
    theta = proposals.theta[outer // each]
    values = {**named(collapsed, theta), **collapsed.split(z[outer, _turns(outer) % z.shape[1]])}
    values |= leaf_draws(collapsed, theta, rng)
    moments = _moments(collapsed, proposals, np.repeat(proposals.theta, each, axis=0), base, np.log(weights))
    # The mean weight, taken about the rule's own evidence, so that its error is that of Laplace's alone.
    of_rule = proposals.log_evidence if collapsed.rest else float(base[0])
    evidence = of_rule + float(np.asarray(logsumexp(base + log_w))) - float(np.asarray(logsumexp(base)))
    error = certificate.get("quadrature_error", 0.0)
    advice = (
        () if error < LARGEST_ERROR else (f"The lattice over {_given(collapsed)} may leave out {error:.0%} of it.",)
    )
    result = Result(
        "not_certified" if advice else "converged", "nested_laplace", certificate=certificate, advice=advice
    )
    return Found(ordered(collapsed.plan, in_chains(values)), result, moments=moments,
                 log_evidence=evidence if collapsed.is_proper else float("nan"))  # fmt: skip


def _given(collapsed: Collapsed) -> str:
    return ", ".join(str(node.name) for node in collapsed.rest)


def _sizes(collapsed: Collapsed, draws: int) -> tuple[int, int, int]:
    """How many values of θ; how many weights at each; how many draws for each weight.

    A new θ costs about as much as three or four weights, and is drawn evenly: few do.
    """
    affordable = SECONDS / collapsed.seconds
    total = int(np.clip(affordable, min(FEWEST, draws), draws))
    d = sum(node.size for node in collapsed.rest)
    n = int(np.clip(affordable / 8.0, FEWEST_THETA + FOR_EACH * d, MOST_THETA)) if d else 1
    each = -(-total // n)
    return n, each, int(np.ceil(SPARE * draws / (n * each))) if n * each < draws else 1


def _draws(
    collapsed: Collapsed, proposals: Proposals, each: int, repeats: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draws (N, repeats, p) of the block, and of each the log weight of its θ and its own, both (N,)."""
    block = collapsed.block
    assert block is not None
    n = len(proposals.theta)
    z = np.zeros((n, each, repeats, block.size))
    base, log_w, looked_at = np.full(n, -np.inf), np.full((n, each), -np.inf), 0
    for i in np.lexsort(proposals.theta.T[::-1]) if collapsed.rest else [0]:  # modes of neighbours are near
        x = proposals.theta[i]
        prior, coefficients = collapsed.prior_and_coefficients(x)
        if not (np.isfinite(prior) and np.isfinite(coefficients).all()):
            continue
        try:
            belief: Any = block.condition(coefficients)
            drawn, log_w[i] = belief.draw_weighted(each, rng, repeats=repeats)
        except (NumericalError, NotIdentifiedError):
            continue
        z[i] = drawn.reshape(z[i].shape)
        if looked_at < MOST_LOOKED_AT and belief.rival() < LEAST_LEAD:
            raise NoRuleError("the block has another mode, which its weights would not see")
        looked_at += 1
        known = 0.0 if proposals.known is None else proposals.known[i]
        log_w[i] -= known
        base[i] = 0.0 if proposals.log_q is None else prior + belief.log_marginal + known - proposals.log_q[i]
    log_w = np.where(np.isnan(log_w), -np.inf, log_w)
    if np.mean(np.isfinite(base[:, None] + log_w)) < 0.9:
        raise NoRuleError("the density cannot be evaluated at many draws")
    return z.reshape(n * each, repeats, -1), np.repeat(base, each), log_w.ravel()


def _turns(outer: np.ndarray) -> np.ndarray:
    """Of each entry, how often it came before."""
    order = np.argsort(outer, kind="stable")
    inner = np.arange(outer.size) - np.searchsorted(outer[order], outer[order])
    turns = np.empty(outer.size, dtype=np.intp)
    turns[order] = inner
    return turns


def _moments(
    collapsed: Collapsed, proposals: Proposals, theta: np.ndarray, base: np.ndarray, log_weights: np.ndarray
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Means and sds of θ: the rule's own, put right by what the weights change them by. What the draws of θ happen to
    be has no part in it."""
    if not proposals.moments:
        return {}
    change = np.exp(log_weights) - np.exp(base - logsumexp(base))
    found = {}
    for name, x in named(collapsed, theta).items():
        mean, sd = proposals.moments[name]
        shift = np.tensordot(change, x - mean, 1)
        square = np.square(sd) + np.tensordot(change, np.square(x - mean), 1) - np.square(shift)
        if not np.all(square > 0.0):
            return {}
        found[name] = (mean + shift, np.sqrt(square))
    return found
