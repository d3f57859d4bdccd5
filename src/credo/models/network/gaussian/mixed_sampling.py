"""Independent draws from conditional Gaussian networks, given evidence: the discrete nodes, then the continuous ones.

What a component's evidence says of its discrete parents is a table over them; a node of two states below these, seen in
the second, says the same, so that the discrete nodes are drawn from a network of tables. Given them, what stands above
continuous evidence is drawn from its conditional normal, and the rest from its parents.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import ParameterError, ZeroProbabilityError
from credo.models.network.definition import NetworkDefinition
from credo.models.network.gaussian.components import Component, Evaluated, split_components
from credo.models.network.gaussian.mixed_learning import as_column
from credo.models.network.gaussian.mixed_structure import OWNER

if TYPE_CHECKING:
    from credo.models.network.gaussian.conditional import ConditionalGaussianNetwork

__all__ = ["sample"]

Parts = list[tuple[Component, list[str], Evaluated]]


def sample(
    network: ConditionalGaussianNetwork,
    n: int,
    hard: Mapping[str, Any],
    numbers: Mapping[str, float],
    rng: np.random.Generator,
) -> dict[str, np.ndarray]:
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0:
        raise ParameterError(OWNER, "n", "an integer ≥ 0", n)
    structure, states = network.structure_, network.states
    parts: Parts = []
    for component in split_components(network._cells, structure.order, numbers, (), hard):
        own = [node for node in component.nodes if node not in numbers]
        parts.append((component, own, network._evaluated(component, hard, numbers, own)))
    codes = _discrete(network, parts, int(n), hard, rng)
    found: dict[str, np.ndarray] = {node: as_column(states[node])[code] for node, code in codes.items()}
    found |= {node: np.full(n, value) for node, value in numbers.items()}
    for component, own, evaluated in parts:
        if own:
            sizes = tuple(len(states[name]) for name in component.scope)
            at = np.ravel_multi_index([codes[name] for name in component.scope], sizes) if sizes else np.zeros(n, int)
            noise = rng.standard_normal((n, evaluated.rows.shape[-1], 1))
            drawn = evaluated.means[0][at] + np.matmul(evaluated.rows[at], noise)[..., 0]
            found |= zip(own, drawn.T, strict=True)
    for node in structure.order:
        if node not in found:
            cells = network._cells[node]
            at = tuple(codes[p] for p in cells.discrete)
            mean = np.array(np.broadcast_to(cells.intercepts[at], n))
            for j, parent in enumerate(cells.continuous):
                mean += cells.coefficients[at][..., j] * found[parent]
            found[node] = mean + cells.sds[at] * rng.standard_normal(n)
    return {node: found[node] for node in network.nodes}


def _discrete(
    network: ConditionalGaussianNetwork, parts: Parts, n: int, hard: Mapping[str, Any], rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Numbers of states of all discrete nodes, (n,) each."""
    from credo.models.network.sampling import posterior_sample

    d = network.definition_
    if any(np.all(np.isneginf(evaluated.log_density)) for _, _, evaluated in parts):
        raise ZeroProbabilityError(f"{OWNER}: the evidence cannot be.", remedy="Leave out or correct some of it.")
    if d is None:
        return {}
    states, parents, tables, seen = dict(d.states), dict(d.parents), dict(d.tables), dict(hard)
    for place, (component, _, evaluated) in enumerate(parts):
        if component.scope:
            name = _unused(f"evidence {place}", states)
            sizes = [len(states[parent]) for parent in component.scope]
            share = np.exp(evaluated.log_density[0] - evaluated.log_density[0].max()).reshape(sizes)
            states[name], parents[name], seen[name] = (0, 1), component.scope, 1
            tables[name] = np.stack([1.0 - share, share], axis=-1)
    extended = NetworkDefinition(states, parents, tables)
    drawn = posterior_sample(extended, n, seen or None, rng, memory_limit=network.memory_limit)
    found = {}
    for node, own in d.states.items():
        index = {state: i for i, state in enumerate(own)}
        found[node] = np.array([index[state] for state in drawn[node].tolist()], dtype=np.int64)
    return found


def _unused(name: str, taken: Mapping[str, Any]) -> str:
    while name in taken:
        name += "_"
    return name
