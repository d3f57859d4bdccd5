"""Nodes, arrows and equations of a conditional Gaussian network, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from credo.errors import ParameterError
from credo.models.network import findings
from credo.models.network.gaussian.components import Cells
from credo.models.network.gaussian.equation import LinearGaussian, number
from credo.models.network.gaussian.structure import known_name, pairs_of, parents_of, sorted_nodes
from credo.models.network.naming import named
from credo.models.network.tables import table_size

__all__ = [
    "OWNER", "MixedStructure", "by_configuration", "cells_of", "checked_evidence", "equations_by_states",
    "structure_of",
]  # fmt: skip

OWNER = "ConditionalGaussianNetwork"


@dataclass(frozen=True, eq=False)
class MixedStructure:
    """discrete and continuous nodes; parents of all, in the order of their edges; order: continuous, parents first."""

    edges: tuple[tuple[str, str], ...]
    discrete: tuple[str, ...]
    continuous: tuple[str, ...]
    parents: Mapping[str, tuple[str, ...]]
    order: tuple[str, ...]

    @property
    def discrete_edges(self) -> list[tuple[str, str]]:
        """Those among discrete nodes."""
        return [edge for edge in self.edges if edge[1] in self.discrete]

    def split(self, node: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """(discrete, continuous) parents."""
        above = self.parents[node]
        return tuple(p for p in above if p in self.discrete), tuple(p for p in above if p not in self.discrete)


def structure_of(
    edges: Iterable[tuple[str, str]],
    tables: Mapping[str, Any] | None,
    equations: Mapping[str, Any] | None,
    states: Mapping[str, Any] | None,
    discrete: Iterable[str],
    continuous: Iterable[str] = (),
) -> MixedStructure:
    """Which node is what: discrete with a table, states or by name, else continuous."""
    for parameter, value in (("tables", tables), ("equations", equations), ("states", states)):
        if value is not None and not isinstance(value, Mapping):
            raise ParameterError(OWNER, parameter, "a mapping from names", value)
    finite = dict.fromkeys([*(tables or ()), *(states or ()), *named(OWNER, "discrete", discrete)])
    if both := [name for name in equations or () if name in finite]:
        raise ParameterError(OWNER, "equations", "of continuous nodes", both[0], "A node has a table or an equation.")
    pairs = pairs_of(OWNER, edges)
    parents = parents_of(OWNER, pairs, [*finite, *(equations or ()), *named(OWNER, "continuous", continuous)])
    order = sorted_nodes(OWNER, parents)
    for node in finite:
        if bad := next((p for p in parents[node] if p not in finite), None):
            raise ParameterError(
                OWNER, "edges", "without an arrow from a continuous to a discrete node", f"{bad} → {node}",
                f"Exact answers need it otherwise: turn the arrow, or cut {bad!r} into classes.",
            )  # fmt: skip
    real = tuple(node for node in parents if node not in finite)
    if (tables is not None or equations is not None) and (
        missing := next((node for node in real if node not in (equations or {})), None)
    ):
        raise ParameterError(OWNER, "equations", "with one for every node that has no table", f"none for {missing}")
    own_order = tuple(node for node in order if node not in finite)
    return MixedStructure(pairs, tuple(finite), real, parents, own_order)


def cells_of(
    structure: MixedStructure, states: Mapping[str, tuple[Any, ...]], equations: Mapping[str, Any]
) -> dict[str, Cells]:
    """Every continuous node's equations as arrays over the states of its discrete parents."""
    found = {}
    for node in structure.continuous:
        discrete, continuous = structure.split(node)
        own = {parent: states[parent] for parent in discrete}
        by_states = equations_by_states(node, equations[node], own)
        shape = tuple(len(values) for values in own.values())
        intercepts, sds = np.empty(shape), np.empty(shape)
        coefficients = np.empty((*shape, len(continuous)))
        for place, key in zip(np.ndindex(*shape), product(*own.values()), strict=True):
            equation = by_states[key]
            if set(equation.coefficients) != set(continuous):
                raise ParameterError(
                    OWNER, f"equations[{node!r}]", "with a coefficient for each continuous parent "
                    f"({', '.join(continuous) or 'none'})", dict(equation.coefficients),
                )  # fmt: skip
            intercepts[place], sds[place] = equation.intercept, equation.sd
            coefficients[place] = [equation.coefficients[p] for p in continuous]
        found[node] = Cells(discrete, continuous, intercepts, coefficients, sds)
    return found


def equations_by_states(
    node: str, given: Any, parents: Mapping[str, tuple[Any, ...]]
) -> dict[tuple[Any, ...], LinearGaussian]:
    """{tuple of the discrete parents' states: equation}; one equation stands for all."""
    where = f"equations[{node!r}]"
    table_size(node, parents, (None,))
    if isinstance(given, LinearGaussian):
        return dict.fromkeys(product(*parents.values()), given)
    found = _gathered(where, given, list(parents.items()), ())
    for key in product(*parents.values()):
        if key not in found:
            raise ParameterError(OWNER, where, "an equation for all states of the discrete parents", f"none for {key}")
        if not isinstance(found[key], LinearGaussian):
            raise ParameterError(OWNER, where, f"a LinearGaussian for {key}", found[key])
    return found


def by_configuration(network: Any) -> dict[str, Any]:
    """{node: {tuple of the discrete parents' states: equation}}, however they were given; None before `fit`."""
    if not hasattr(network, "equations_"):
        return {}
    split = network.structure_.split
    return {
        node: equations_by_states(node, given, {p: network.states[p] for p in split(node)[0]})
        for node, given in network.equations_.items()
    }


def _gathered(where: str, given: Any, axes: list[tuple[str, tuple[Any, ...]]], key: tuple[Any, ...]) -> dict[Any, Any]:
    if not axes:
        return {key: given}
    if not isinstance(given, Mapping):
        raise ParameterError(OWNER, where, f"a LinearGaussian, or a dict keyed by the states of {axes[0][0]}", given)
    found: dict[Any, Any] = {}
    for state, below in given.items():
        if state in axes[0][1]:
            found |= _gathered(where, below, axes[1:], (*key, state))
        elif isinstance(state, tuple) and len(state) == len(axes):
            found[(*key, *state)] = below
        else:
            raise ParameterError(OWNER, where, f"keyed by states of {axes[0][0]}: {list(axes[0][1])}", state)
    return found


def checked_evidence(
    structure: MixedStructure, states: Mapping[str, tuple[Any, ...]], evidence: Any
) -> tuple[dict[str, Any], dict[str, float]]:
    """({discrete node: state}, {continuous node: number})."""
    if evidence is None:
        return {}, {}
    if not isinstance(evidence, Mapping):
        raise ParameterError(OWNER, "evidence", "a mapping {node: state or number}", evidence)
    hard, numbers = {}, {}
    for node, seen in evidence.items():
        known_name(OWNER, (*structure.discrete, *structure.continuous), node, "evidence")
        where = f"evidence[{node!r}]"
        if node in states:
            hard[node] = states[node][_known_state(states[node], node, seen, where)]
        else:
            numbers[node] = number(OWNER, where, seen)
    return hard, numbers


def _known_state(own: tuple[Any, ...], node: str, state: Any, where: str) -> int:
    try:
        return findings.known_state(own, node, state, where)
    except ParameterError as error:
        raise ParameterError(OWNER, error.parameter, error.constraint, error.value, error.remedy) from None


def checked_limit(limit: Any) -> int:
    """A number of bytes."""
    if isinstance(limit, bool) or not isinstance(limit, (int, float, np.integer)) or not limit > 0:
        raise ParameterError(OWNER, "memory_limit", "a number of bytes > 0", limit)
    return int(limit)
