"""What methods of `BayesianNetwork` call: a seed becomes a generator here, names of methods become functions."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import MemoryLimitError, ParameterError, ZeroProbabilityError
from credo.models.network.findings import OWNER, explained, split
from credo.models.network.sampling.approximate import approximate_marginals
from credo.models.network.sampling.estimates import MarginalEstimates
from credo.models.network.sampling.forward import forward_sample, likelihood_weighting
from credo.models.network.sampling.gibbs import gibbs
from credo.models.network.sampling.posterior import posterior_sample
from credo.numerics.random import as_generator
from credo.probability.factors import Factor

if TYPE_CHECKING:
    from credo.models.network.network import BayesianNetwork

__all__ = ["estimate_marginals", "marginals_beyond_memory", "query_beyond_memory", "sample"]

METHODS = {"likelihood_weighting": likelihood_weighting, "gibbs": gibbs}


def sample(
    network: BayesianNetwork, n: int, evidence: Mapping[str, Any] | None = None, random_state: Any = None
) -> dict[str, np.ndarray]:
    """Independent draws {node: states (n,)}: forwards, or given evidence from P(x | evidence), exactly."""
    rng = as_generator(random_state)
    if evidence is None or (isinstance(evidence, Mapping) and not evidence):
        return forward_sample(network.definition_, n, rng)
    with _conflicts_named(network, evidence):
        return posterior_sample(network.definition_, n, evidence, rng, memory_limit=network.memory_limit)


@contextlib.contextmanager
def _conflicts_named(network: BayesianNetwork, evidence: Mapping[str, Any] | None) -> Iterator[None]:
    """Evidence that cannot be is an error that names findings which exclude each other, as elsewhere."""
    try:
        yield
    except ZeroProbabilityError as error:
        found = split(network.states, evidence)
        raise explained(network.states, network.graph, error, *found, actions=network._actions) from error


def estimate_marginals(
    network: BayesianNetwork, evidence: Mapping[str, Any] | None, method: str, random_state: Any, **options: Any
) -> MarginalEstimates:
    """By "auto" (`approximate_marginals`), "likelihood_weighting" or "gibbs"; options as of these.

    Raises
    ------
    ParameterError : another method, or an option that it does not have
    """
    known = {"auto": approximate_marginals, **METHODS}
    if method not in known:
        raise ParameterError(OWNER, "method", f"one of {', '.join(known)}", method)
    allowed = known[method].__kwdefaults__ or {}
    if strange := [name for name in options if name not in allowed]:
        raise ParameterError(OWNER, "options", f"among {', '.join(allowed)}, of method={method!r}", strange[0])
    rng = as_generator(random_state)
    if method == "auto":
        with _conflicts_named(network, evidence):
            return approximate_marginals(network, evidence, rng, **options)
    return METHODS[method](network.definition_, evidence, rng, **options)


def marginals_beyond_memory(
    network: BayesianNetwork, evidence: Mapping[str, Any] | None
) -> dict[str, dict[Any, float]]:
    """{node: {state: p}}: by a cut-set, else by draws that are the same each time, and a warning."""
    with _conflicts_named(network, evidence):
        found = approximate_marginals(network, evidence, np.random.default_rng(0))
    return {node: dict(law) for node, law in found.marginals.items()}


def query_beyond_memory(
    network: BayesianNetwork, target: Any, evidence: Mapping[str, Any] | None, joint: bool, error: MemoryLimitError
) -> Any:
    """What `query` returns, likewise; of several targets' joint law the error stands."""
    names = [target] if isinstance(target, str) else list(target)
    if joint and len(names) > 1:
        raise error
    with _conflicts_named(network, evidence):
        found = approximate_marginals(network, evidence, np.random.default_rng(0), targets=names)
    laws = {
        name: Factor(name, np.array(list(found.marginals[name].values())), [network.states[name]]) for name in names
    }
    return laws[names[0]] if joint or isinstance(target, str) else laws
