"""A network as arrays that samplers run over, and evidence as numbers of states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.models.network.definition import NetworkDefinition
from credo.models.network.findings import known_node, known_state, split

__all__ = ["Family", "Findings", "NetworkArrays"]


@dataclass(frozen=True, eq=False)
class Family:
    """A node with its parents: table (q, r), a row for each configuration Σ strides · parents' states.

    above (q, r) : cumulated rows; ∞ from the last state on that can be, so that u < 1 never picks one that cannot
    """

    node: int
    parents: tuple[int, ...]
    strides: tuple[int, ...]
    table: np.ndarray
    above: np.ndarray

    def rows(self, codes: np.ndarray) -> np.ndarray:
        """Row of the table for each column of codes (nodes, n)."""
        found = np.zeros(codes.shape[1], dtype=np.int64)
        for parent, stride in zip(self.parents, self.strides, strict=True):
            found += stride * codes[parent].astype(np.int64)
        return found

    def drawn(self, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """States by inversion: how many cumulated probabilities u has passed."""
        u = rng.random(len(rows))
        state = np.zeros(len(rows), dtype=np.int32)
        for k in range(self.table.shape[1] - 1):
            state += u >= self.above[rows, k]
        return state


@dataclass(frozen=True, eq=False)
class Findings:
    """Evidence: node's number → state's number, and node's number → likelihoods of its states."""

    hard: Mapping[int, int]
    soft: Mapping[int, np.ndarray]


@dataclass(frozen=True, eq=False)
class NetworkArrays:
    """names, sizes : of the nodes; families : in an order with parents before children."""

    names: tuple[str, ...]
    states: Mapping[str, tuple[Any, ...]]
    sizes: tuple[int, ...]
    families: tuple[Family, ...]

    @classmethod
    def of(cls, d: NetworkDefinition) -> NetworkArrays:
        place = {node: i for i, node in enumerate(d.nodes)}
        families = []
        for node in d.order:
            table = d.tables[node].reshape(-1, d.tables[node].shape[-1])
            above = np.cumsum(table, axis=1)
            above[above >= above[:, -1:]] = np.inf
            parents = tuple(place[parent] for parent in d.parents[node])
            shape = d.tables[node].shape[:-1]
            strides = tuple(int(np.prod(shape[i + 1 :], dtype=np.int64)) for i in range(len(shape)))
            families.append(Family(place[node], parents, strides, table, above))
        return cls(d.nodes, d.states, tuple(len(d.states[node]) for node in d.nodes), tuple(families))

    def findings(self, evidence: Mapping[str, Any] | None) -> Findings:
        """Checked evidence; unknown nodes and states are errors that name those like them."""
        hard, soft = split(self.states, evidence)
        place = {node: i for i, node in enumerate(self.names)}
        numbers = {}
        for node, state in (hard or {}).items():
            own = self.states[known_node(self.states, node, "evidence")]
            numbers[place[node]] = known_state(own, node, state, f"evidence[{node!r}]")
        return Findings(numbers, {place[node]: seen for node, seen in (soft or {}).items()})

    def decoded(self, codes: np.ndarray) -> dict[str, np.ndarray]:
        """{node: states (n,)} of codes (nodes, n)."""
        found = {}
        for node, column in zip(self.names, codes, strict=True):
            own = self.states[node]
            kinds = {type(state) for state in own}
            values = np.array(own) if len(kinds) == 1 and kinds <= {str, int, float, bool} else _objects(own)
            found[node] = values[column]
        return found


def _objects(own: tuple[Any, ...]) -> np.ndarray:
    values = np.empty(len(own), dtype=object)
    for i, state in enumerate(own):
        values[i] = state
    return values
