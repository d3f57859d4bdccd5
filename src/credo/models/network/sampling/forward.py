"""Forward sampling: every node after its parents; with evidence held fixed, each draw has a weight."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from credo.errors import ConvergenceWarning, NumericalError, ParameterError, warn
from credo.models.network.definition import NetworkDefinition
from credo.models.network.sampling.arrays import Findings, NetworkArrays
from credo.models.network.sampling.estimates import LEAST_ESS, MarginalEstimates, with_unseen

__all__ = ["checked_count", "draw", "forward_sample", "likelihood_weighting"]

# Draws at a time: the codes of a network of 1,000 nodes are then 64 MiB.
BLOCK = 1 << 14


def forward_sample(definition: NetworkDefinition, n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Independent draws from P(x): {node: states (n,)}.

    Nodes are drawn in an order with parents before children, all n at once, by inverting their rows' cumulated
    probabilities; a state of probability 0 is never drawn. Cost O(n × Σ states).

    >>> coin = NetworkDefinition({"coin": ("head", "tail")}, {}, {"coin": [0.5, 0.5]})
    >>> forward_sample(coin, 5, np.random.default_rng(0))["coin"].tolist()
    ['tail', 'head', 'head', 'head', 'tail']
    """
    arrays = NetworkArrays.of(definition)
    codes, _ = draw(arrays, Findings({}, {}), checked_count("forward_sample", "n", n, 0), rng)
    return arrays.decoded(codes)


def draw(arrays: NetworkArrays, seen: Findings, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """(codes (nodes, n) int32, log weights (n,)): weights are P(evidence | the parents drawn), 1 without evidence."""
    codes = np.empty((len(arrays.names), n), dtype=np.int32)
    log_weight = np.zeros(n)
    for family in arrays.families:
        rows = family.rows(codes)
        state = seen.hard.get(family.node)
        if state is None:
            codes[family.node] = family.drawn(rows, rng)
            likelihood = seen.soft.get(family.node)
            if likelihood is not None:
                log_weight += _log(likelihood)[codes[family.node]]
        else:
            codes[family.node] = state
            log_weight += _log(family.table[:, state])[rows]
    return codes, log_weight


def _log(p: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(p)


def likelihood_weighting(
    definition: NetworkDefinition,
    evidence: Mapping[str, Any] | None,
    rng: np.random.Generator,
    *,
    n_samples: int = 100_000,
) -> MarginalEstimates:
    """Marginals given evidence from weighted forward draws.

        p̂(x) = Σ wᵢ [xᵢ = x]/Σ wᵢ,   wᵢ = P(evidence | parents in draw i),   P̂(evidence) = mean w

    Parameters
    ----------
    definition : the network
    evidence : {node: state}, or likelihoods of the states; these nodes are not drawn, but weigh the draw
    n_samples : draws; memory does not grow with them

    Returns
    -------
    MarginalEstimates : standard errors by the delta method, √Σ w̃² ([xᵢ = x] − p̂)², with room for what was not met;
        `ess` is (Σ w)²/Σ w²

    Raises
    ------
    NumericalError : no draw agrees with the evidence

    Warns below an effective size of 400 (`ConvergenceWarning`): unlikely evidence far down the arrows leaves few draws
    that count, and then the errors themselves are too small.

    References
    ----------
    Fung and Chang (1990), Weighing and integrating evidence for stochastic simulation in Bayesian networks; Shachter
    and Peot (1990), Simulation approaches to general probabilistic inference on belief networks.

    Examples
    --------
    >>> wet = NetworkDefinition(
    ...     {"rain": (0, 1), "wet": (0, 1)}, {"wet": ("rain",)}, {"rain": [0.8, 0.2], "wet": [[0.9, 0.1], [0.2, 0.8]]}
    ... )
    >>> found = likelihood_weighting(wet, {"wet": 1}, np.random.default_rng(0))
    >>> bool(abs(found.marginals["rain"][1] - 2 / 3) < 4 * found.standard_errors["rain"][1])
    True
    """
    arrays = NetworkArrays.of(definition)
    seen = arrays.findings(evidence)
    n = checked_count("likelihood_weighting", "n_samples", n_samples, 2)
    first, second = ([np.zeros(r) for r in arrays.sizes] for _ in range(2))  # Σ w and Σ w² by state
    top, sum_w, sum_w2 = -np.inf, 0.0, 0.0
    for start in range(0, n, BLOCK):
        codes, log_weight = draw(arrays, seen, min(BLOCK, n - start), rng)
        peak = float(log_weight.max())
        if peak == -np.inf:
            continue
        if peak > top:  # what is there so far, on the new scale
            shrink = np.exp(top - peak)
            for a, b in zip(first, second, strict=True):
                a *= shrink
                b *= shrink**2
            top, sum_w, sum_w2 = peak, sum_w * shrink, sum_w2 * shrink**2
        w = np.exp(log_weight - top)
        w2 = w * w
        sum_w, sum_w2 = sum_w + w.sum(), sum_w2 + w2.sum()
        for node, column in enumerate(codes):
            first[node] += np.bincount(column, w, arrays.sizes[node])
            second[node] += np.bincount(column, w2, arrays.sizes[node])
    if not sum_w > 0.0:
        raise NumericalError(
            f"likelihood_weighting: none of {n:,} draws agrees with the evidence.", value=n,
            remedy="Its probability is 0 or very small: draw more, observe less, or ask exactly.",
        )  # fmt: skip
    ess = sum_w**2 / sum_w2
    weighed = bool(seen.hard or seen.soft)
    if weighed and ess < LEAST_ESS:
        warn(
            f"Likelihood weighting: of {n:,} draws as few as {ess:.0f} count, for the evidence is unlikely given the "
            "draws. Errors may be larger than stated: draw more, or use gibbs.",
            ConvergenceWarning,
        )
    log_mean = top + np.log(sum_w / n)
    relative = np.sqrt(max(n / ess - 1.0, 0.0) / n)
    laws = [a / sum_w for a in first]
    errors = [_error(p, b / sum_w**2, sum_w2 / sum_w**2) for p, b in zip(laws, second, strict=True)]
    named = list(zip(arrays.names, laws, errors, strict=True))
    return MarginalEstimates(
        {node: dict(zip(arrays.states[node], p.tolist(), strict=True)) for node, p, _ in named},
        {
            node: np.zeros(len(e)) if i in seen.hard else with_unseen(e, ess)
            for i, (node, _, e) in enumerate(named)
        },
        float(log_mean), float(relative), "likelihood weighting" if weighed else "forward", float(ess), n,
    )  # fmt: skip


def _error(p: np.ndarray, own: np.ndarray, whole: float) -> np.ndarray:
    """√Σ w̃² ([x] − p)² = √((1 − 2p) Σ_x w̃² + p² Σ w̃²)."""
    return np.sqrt(np.maximum((1.0 - 2.0 * p) * own + p * p * whole, 0.0))


def checked_count(owner: str, parameter: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ParameterError(owner, parameter, f"an integer ≥ {least}", value)
    return int(value)
