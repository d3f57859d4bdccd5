"""Marginals whatever the memory: exactly, exactly by parts, or sampled with error bars."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import ConvergenceWarning, MemoryLimitError, ParameterError, ZeroProbabilityError, warn
from credo.models.network.definition import NetworkDefinition
from credo.models.network.findings import explained, split
from credo.models.network.sampling.cutset import condition_on_cutset
from credo.models.network.sampling.estimates import MarginalEstimates
from credo.models.network.sampling.forward import likelihood_weighting

if TYPE_CHECKING:
    from credo.models.network.network import BayesianNetwork

__all__ = ["approximate_marginals"]


def approximate_marginals(
    network: BayesianNetwork,
    evidence: Mapping[str, Any] | None,
    rng: np.random.Generator,
    *,
    targets: Iterable[str] | None = None,
    n_samples: int = 200_000,
) -> MarginalEstimates:
    """Marginals on the first of three rungs that fits into `network.memory_limit`.

    1. elimination; 2. cut-set conditioning, exact too, if a few nodes cut the network apart; 3. likelihood weighting,
    with standard errors and a warning (`ConvergenceWarning`). The result's `method` tells which; `exact` whether it is.

    Parameters
    ----------
    network, evidence : {node: state}, or likelihoods of the states
    targets : nodes without evidence to ask for, all by default; only they, the evidence, and the ancestors of both
        then matter
    n_samples : draws of the third rung

    Raises
    ------
    ZeroProbabilityError : evidence that cannot be (as far as the first two rungs tell)
    NumericalError : no draw agrees with the evidence

    Examples
    --------
    >>> from credo.models.network.network import BayesianNetwork
    >>> wet = {"no": {"no": 0.9, "yes": 0.1}, "yes": {"no": 0.2, "yes": 0.8}}
    >>> network = BayesianNetwork([("rain", "wet")], {"rain": {"no": 0.8, "yes": 0.2}, "wet": wet})
    >>> found = approximate_marginals(network, {"wet": "yes"}, np.random.default_rng(0))
    >>> found.method, round(found.marginals["rain"]["yes"], 4)
    ('exact', 0.6667)
    """
    names = None if targets is None else tuple(targets)
    hard, soft = split(network.states, evidence)
    try:
        return _exact(network, names, hard, soft)
    except MemoryLimitError as error:
        needed = error.value
    except (ParameterError, ZeroProbabilityError) as error:
        raise explained(network.states, network.graph, error, hard, soft, names or (), network._actions) from error
    kept = network.nodes if names is None else names
    definition = network.definition_ if names is None else ancestral(network.definition_, {*names, *(evidence or ())})
    found = _beyond(definition, evidence, network.memory_limit, needed, rng, n_samples)
    return replace(
        found,
        marginals={node: found.marginals[node] for node in kept},
        standard_errors={node: found.standard_errors[node] for node in kept},
    )


def _exact(network: BayesianNetwork, names: tuple[str, ...] | None, hard: Any, soft: Any) -> MarginalEstimates:
    graph = network.graph
    if names is None:
        found = graph.marginals(hard, likelihoods=soft)
    else:
        found = graph.query(names, hard, likelihoods=soft, joint=False)
    try:
        log_p = float(graph.log_partition(hard, likelihoods=soft)) if hard or soft else 0.0
    except MemoryLimitError:  # the answer did not need all of the evidence
        log_p = float("nan")
    laws = {
        node: dict(zip(network.states[node], found[node].values.tolist(), strict=True))
        for node in (names or network.nodes)
    }
    return MarginalEstimates(
        laws, {node: np.zeros(len(law)) for node, law in laws.items()}, log_p, 0.0, "exact", np.inf, 1
    )


def _beyond(
    definition: NetworkDefinition, evidence: Any, memory_limit: int, needed: int, rng: np.random.Generator, n: int
) -> MarginalEstimates:
    """The second and the third rung."""
    try:
        return condition_on_cutset(definition, evidence, memory_limit)
    except MemoryLimitError:
        pass
    warn(
        f"Exact elimination would need {needed / 2**30:.3g} GiB or more and no small cut-set was found: these "
        f"marginals are estimates from {n:,} weighted draws. Read them with their standard errors.",
        ConvergenceWarning,
    )
    return likelihood_weighting(definition, evidence, rng, n_samples=n)


def ancestral(d: NetworkDefinition, nodes: Iterable[str]) -> NetworkDefinition:
    """The network of these nodes and all above them; what is below sums to 1."""
    kept, waiting = set(), list(nodes)
    while waiting:
        node = waiting.pop()
        if node not in kept:
            kept.add(node)
            waiting += d.parents[node]
    names = [node for node in d.nodes if node in kept]
    return NetworkDefinition(
        {node: d.states[node] for node in names},
        {node: d.parents[node] for node in names},
        {node: d.tables[node] for node in names},
        d.name,
    )
