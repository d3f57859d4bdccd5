"""Gibbs sampling: a walk that draws one node, or block of nodes, after another given its Markov blanket."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from credo.errors import ConvergenceWarning, ModelWarning, NumericalError, warn
from credo.models.network.definition import NetworkDefinition
from credo.models.network.sampling.arrays import Findings, NetworkArrays
from credo.models.network.sampling.blocks import Blocks, Units, blocks_of, units_of
from credo.models.network.sampling.estimates import LEAST_ESS, MarginalEstimates, with_unseen
from credo.models.network.sampling.forward import BLOCK, checked_count, draw

__all__ = ["gibbs"]

# Blocks of forward draws in search of first states that can be.
TRIALS = 64
# Above this chains disagree (the house's certificate).
LARGEST_RHAT = 1.01
# Sweeps of a chain where it is left to us how many: first, and at most. Alarm, whose tables are full of .99 and .01,
# settles after some 40,000. And numbers that all chains keep: 256 MB.
FIRST_DRAWS, MOST_DRAWS, MOST_KEPT = 5_000, 80_000, 1 << 26


def gibbs(
    definition: NetworkDefinition,
    evidence: Mapping[str, Any] | None,
    rng: np.random.Generator,
    *,
    n_chains: int = 4,
    n_draws: int | None = None,
    n_warmup: int = 1_000,
) -> MarginalEstimates:
    """Marginals given evidence from chains that draw one block of hidden nodes at a time.

        P(x_B | all others) ∝ ∏ of the tables that hold a node of the block B

    Nodes that tables with zeros lock to each other (what is determined with what determines it) are one block, so that
    both nodes of "equal", or a sum and its parts, move at once; small blocks that near-zeros bind to each other are one
    too. All other nodes are blocks of their own.

    Parameters
    ----------
    definition : the network
    evidence : {node: state}, or likelihoods of the states
    n_chains, n_draws, n_warmup : chains, sweeps that are kept of each, and sweeps before; first states are forward
        draws, taken in proportion to their weights. n_draws None: 5,000, doubled while the chains have not settled, up
        to 80,000

    Returns
    -------
    MarginalEstimates : standard errors from the effective sizes, with room for what was not met; the worst `ess` and
        split R̂ over all states. No estimate of P(evidence).

    Raises
    ------
    NumericalError : no forward draw agrees with the evidence, so that there is no first state

    Warns
    -----
    ModelWarning : a block would have more than 4,096 states. It is then cut into the nodes of each table, and the walk
        may never get from some states to others, which no diagnostic need show.
    ConvergenceWarning : R̂ > 1.01 or an effective size below 400.

    Cost: O(sweeps × Σ over blocks of states × tables), compiled.
    Reference: Pearl (1987), Evidential reasoning using stochastic simulation of causal models, Artif. Intell. 32;
    Jensen, Kjærulff and Kong (1995), Blocking Gibbs sampling in very large probabilistic expert systems, IJHCS 42.

    Examples
    --------
    >>> wet = NetworkDefinition(
    ...     {"rain": (0, 1), "wet": (0, 1)}, {"wet": ("rain",)}, {"rain": [0.8, 0.2], "wet": [[0.9, 0.1], [0.2, 0.8]]}
    ... )
    >>> found = gibbs(wet, {"wet": 1}, np.random.default_rng(0))
    >>> bool(abs(found.marginals["rain"][1] - 2 / 3) < 4 * found.standard_errors["rain"][1])
    True
    """
    arrays = NetworkArrays.of(definition)
    seen = arrays.findings(evidence)
    chains = checked_count("gibbs", "n_chains", n_chains, 1)
    warmup = checked_count("gibbs", "n_warmup", n_warmup, 0)
    draws = FIRST_DRAWS if n_draws is None else checked_count("gibbs", "n_draws", n_draws, 4)
    hidden = np.array([v for v in range(len(arrays.sizes)) if v not in seen.hard], dtype=np.int64)
    blocks = blocks_of(arrays, seen)
    _warn_of_zeros(arrays, blocks)
    units = units_of(arrays, seen, blocks.groups)
    first, *streams = rng.spawn(chains + 1)
    states = _first_states(arrays, seen, chains, first)

    def walked(sweeps: int) -> np.ndarray:
        pairs = zip(states, streams, strict=True)
        return np.stack([_walk(units, hidden, state, sweeps, stream) for state, stream in pairs])

    walks = walked(draws + warmup)[:, warmup:]
    most = draws if n_draws is not None else min(MOST_DRAWS, MOST_KEPT // max(1, chains * len(hidden)))
    while True:
        found, blame = _estimates(arrays, seen, hidden, walks)
        settled = found.rhat <= LARGEST_RHAT and found.ess >= LEAST_ESS
        if settled or 2 * walks.shape[1] > most:
            break
        walks = np.concatenate([walks, walked(walks.shape[1])], axis=1)
    if not settled:
        warn(
            f"Gibbs sampling: the chains have not settled (R̂ {found.rhat:.3f}{f' at {blame}' if blame else ''}, "
            f"effective size {found.ess:.0f} of {found.n_samples:,}). Draw more, or use likelihood weighting.",
            ConvergenceWarning,
        )
    return found


def _warn_of_zeros(arrays: NetworkArrays, blocks: Blocks) -> None:
    if blocks.torn:
        found = [arrays.names[v] for v in blocks.torn]
        warn(
            f"Gibbs sampling: the tables of {', '.join(found[:8])}{', …' if len(found) > 8 else ''} hold zeros, and "
            "lock more nodes to each other than can be drawn at once. The walk may never get from some states to "
            "others: estimates may be wrong without a sign. Likelihood weighting has no such fault.",
            ModelWarning,
        )


def _first_states(arrays: NetworkArrays, seen: Findings, n: int, rng: np.random.Generator) -> np.ndarray:
    """(n, nodes), of forward draws by their weights."""
    size = 256
    for _ in range(TRIALS):
        codes, log_weight = draw(arrays, seen, size, rng)
        if (top := log_weight.max()) > -np.inf:
            weight = np.exp(log_weight - top)
            return np.ascontiguousarray(codes[:, rng.choice(size, n, p=weight / weight.sum())].T)
        size = BLOCK
    raise NumericalError(
        f"gibbs: none of {TRIALS * BLOCK:,} forward draws agrees with the evidence, so that there is no first state.",
        value=TRIALS * BLOCK, remedy="Its probability is 0 or very small: observe less, or ask exactly.",
    )  # fmt: skip


def _walk(units: Units, hidden: np.ndarray, state: np.ndarray, sweeps: int, rng: np.random.Generator) -> np.ndarray:
    """So many sweeps of one chain: (sweeps, hidden) states; `state` is where it then is."""
    from credo.models.network.sampling.gibbs_kernel import sweep

    out = np.empty((sweeps, len(hidden)), dtype=np.int32)
    n = len(units.states)
    rows = max(1, (1 << 20) // max(1, n))  # random numbers at a time: 8 MiB
    room = np.empty(int(units.states.max(initial=1)))
    fields = [getattr(units, field.name) for field in dataclasses.fields(units)]
    for start in range(0, len(out), rows):
        part = out[start : start + rows]
        arguments: Any = (state, *fields, hidden, rng.random((len(part), n)), room, part)
        sweep(*arguments)
    return out


def _estimates(
    arrays: NetworkArrays, seen: Findings, hidden: np.ndarray, walks: np.ndarray
) -> tuple[MarginalEstimates, str]:
    """What the chains say, and the node on which they disagree most."""
    from credo.diagnostics import ess, mcse, rhat

    n = walks.shape[0] * walks.shape[1]
    laws, errors, least, worst, blame = {}, {}, np.inf, 1.0, ""
    place = {int(v): h for h, v in enumerate(hidden)}
    for v, (node, r) in enumerate(zip(arrays.names, arrays.sizes, strict=True)):
        if v not in place:
            p, error = np.eye(r)[seen.hard[v]], np.zeros(r)
        else:
            x = (walks[:, :, place[v], None] == np.arange(r)).astype(np.float64)
            p, varies = x.mean(axis=(0, 1)), np.ptp(x, axis=(0, 1)) > 0.0
            size, disagreement = np.full(r, float(n)), np.ones(r)
            error = np.zeros(r)
            if varies.any():
                size[varies], error[varies] = ess(x[..., varies], "mean"), mcse(x[..., varies])
                disagreement[varies] = rhat(x[..., varies], "split")
            error = with_unseen(error, float(size.min()))
            if varies.any():
                least = min(least, float(size[varies].min()))
            if disagreement.max() > worst:
                worst, blame = float(disagreement.max()), node
        laws[node] = dict(zip(arrays.states[node], p.tolist(), strict=True))
        errors[node] = error
    least = min(least, float(n))
    return MarginalEstimates(laws, errors, float("nan"), float("nan"), "gibbs", least, n, worst), blame
