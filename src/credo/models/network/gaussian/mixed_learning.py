"""Conditional Gaussian networks from rows: tables by counting, and a regression for each configuration."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np

from credo.errors import DataError
from credo.models.network.batch.cells import codes_of
from credo.models.network.definition import NetworkDefinition
from credo.models.network.gaussian.columns import columns_of, numbers_of
from credo.models.network.gaussian.learning import checked_method, checked_weight, fit_node
from credo.models.network.gaussian.mixed_structure import OWNER, MixedStructure

__all__ = ["as_column", "fit"]


def fit(
    structure: MixedStructure, states: Any, frame: Any, method: str, sample_weight: Any
) -> tuple[NetworkDefinition | None, dict[str, Any]]:
    owner = f"{OWNER}.fit"
    checked_method(owner, method)
    nodes = (*structure.discrete, *structure.continuous)
    columns, n = columns_of(owner, frame, nodes)
    if absent := [node for node in nodes if node not in columns]:
        raise DataError(f"{owner}: no column for node(s) {', '.join(absent[:8])}.", columns=absent)
    weight = checked_weight(owner, sample_weight, n)
    x = numbers_of(owner, columns, n, structure.continuous)
    _refuse_missing(owner, np.isnan(x), structure.continuous)
    definition, codes = _tables(owner, structure, columns, states, method, weight)
    at = {node: j for j, node in enumerate(structure.continuous)}
    equations: dict[str, Any] = {}
    for node in structure.continuous:
        discrete, continuous = structure.split(node)
        own = x[:, [at[p] for p in continuous]]
        levels = [definition.states[p] for p in discrete] if definition else []
        by_states = {}
        for key in product(*levels):
            rows = np.ones(n, dtype=bool)
            for parent, state, among in zip(discrete, key, levels, strict=True):
                rows &= codes[parent] == among.index(state)
            where = ", ".join(f"{parent}={state}" for parent, state in zip(discrete, key, strict=True))
            name = f"{node} given {where}" if where else node
            w = None if weight is None else weight[rows]
            by_states[key] = fit_node(owner, name, x[rows, at[node]], own[rows], w, continuous, method)[0]
        equations[node] = by_states if discrete else by_states[()]
    return definition, equations


def _tables(
    owner: str, structure: MixedStructure, columns: Mapping[str, Any], states: Any, method: str, weight: Any
) -> tuple[NetworkDefinition | None, dict[str, np.ndarray]]:
    """The discrete part, and the rows' numbers of states."""
    if not structure.discrete:
        return None, {}
    from credo.models.network.learning import learn_parameters

    table = {node: columns[node] for node in structure.discrete}
    above = {node: structure.parents[node] for node in structure.discrete}
    prior = "bdeu" if method == "bayes" else "none"
    definition = learn_parameters(table, above, prior=prior, states=states, sample_weight=weight).definition
    coded = codes_of(owner, table, definition.states)
    _refuse_missing(owner, coded.T < 0, tuple(definition.states))
    return definition, dict(zip(definition.states, coded, strict=True))


def _refuse_missing(owner: str, missing: Any, names: tuple[str, ...]) -> None:
    if missing.any():
        rows = np.flatnonzero(missing.any(axis=1))
        columns = [name for name, any_ in zip(names, missing.any(axis=0), strict=True) if any_]
        raise DataError(
            f"{owner}: {len(rows)} row(s) have missing cells ({rows[:8].tolist()}; in {', '.join(columns[:8])}).",
            rows=rows[:20].tolist(), columns=columns, remedy="Leave these rows out.",
        )  # fmt: skip


def as_column(states: tuple[Any, ...]) -> np.ndarray:
    """An array of the states: of their own kind where they share one, else of objects."""
    if len({type(state) for state in states}) == 1 and isinstance(states[0], (str, bool, int, float)):
        return np.array(states)
    column = np.empty(len(states), dtype=object)
    column[:] = states
    return column
