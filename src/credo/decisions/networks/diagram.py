"""`Diagram`: a decision network's parts, checked once and fixed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from credo.decisions.networks.names import OWNER, known_node, known_state, names_in
from credo.decisions.networks.utilities import utility_table
from credo.errors import ParameterError
from credo.models.network import NetworkDefinition
from credo.models.network.gaussian.structure import pairs_of
from credo.models.network.separation import reached
from credo.models.network.tables import known_states
from credo.probability.factors import Factor

__all__ = ["Diagram", "checked_diagram"]


@dataclass(frozen=True, eq=False)
class Diagram:
    """definition : chance nodes with their tables, and decisions as nodes without parents (their tables mean nothing)
    decisions : in the order in which they are taken; each with what it is told itself
    known : decision → all that is known then, in order of becoming known
    utilities, utility_parents : by name
    """

    definition: NetworkDefinition
    decisions: Mapping[str, tuple[str, ...]]
    known: Mapping[str, tuple[str, ...]]
    utilities: Mapping[str, np.ndarray]
    utility_parents: Mapping[str, tuple[str, ...]]

    @property
    def states(self) -> Mapping[str, tuple[Any, ...]]:
        """Of chance nodes; of decisions the options."""
        return self.definition.states

    @property
    def chance(self) -> tuple[str, ...]:
        """Chance nodes, in order."""
        return tuple(node for node in self.definition.nodes if node not in self.decisions)

    @cached_property
    def factors(self) -> tuple[Factor, ...]:
        """Tables of the chance nodes."""
        d = self.definition
        families = [(*d.parents[node], node) for node in self.chance]
        return tuple(Factor(f, d.tables[f[-1]], [d.states[name] for name in f]) for f in families)

    def checked_evidence(self, evidence: Any) -> dict[str, Any]:
        """{chance node: state}; of nodes that no decision can influence, for it is known before all of them."""
        if evidence is None:
            return {}
        if not isinstance(evidence, Mapping):
            raise ParameterError(OWNER, "evidence", "a mapping {node: state}", evidence)
        below = {name: d for d in self.decisions for name in reached(self.definition.children, [d])}
        for node, state in evidence.items():
            known_state(self.states[known_node(self.states, node, "evidence")], node, state, f"evidence[{node!r}]")
            if node in below:
                raise ParameterError(
                    OWNER, "evidence", f"known before any decision, but {below[node]!r} influences {node!r}", node,
                    "State it as information of a later decision.",
                )  # fmt: skip
        return dict(evidence)


def checked_diagram(
    edges: Iterable[tuple[str, str]],
    tables: Mapping[str, Any],
    utilities: Mapping[str, Any],
    decisions: Mapping[str, Iterable[Any]],
    information: Mapping[str, Iterable[str]] | None,
    states: Mapping[str, Iterable[Any]] | None,
    no_forgetting: bool,
) -> Diagram:
    """The diagram, or an error that names the node."""
    information = {} if information is None else information
    states = {} if states is None else states
    for parameter, value in (
        ("tables", tables), ("utilities", utilities), ("decisions", decisions), ("information", information),
        ("states", states),
    ):  # fmt: skip
        if not isinstance(value, Mapping):
            raise ParameterError(OWNER, parameter, "a mapping from names", value)
    if not decisions or not utilities:
        raise ParameterError(OWNER, "decisions" if not decisions else "utilities", "at least one", {})
    kinds = [*tables, *utilities, *decisions]
    if twice := next((name for name in kinds if kinds.count(name) > 1), None):
        raise ParameterError(OWNER, "nodes", "of one kind each: chance, decision or utility", twice)
    options = {name: known_states(name, values) for name, values in decisions.items()}
    arrows, told, into = _sorted_edges(edges, information, decisions, utilities)
    uniform = {name: np.full(len(values), 1.0 / len(values)) for name, values in options.items()}
    definition = NetworkDefinition.from_edges(arrows, {**tables, **uniform}, {**states, **options})
    for decision, seen in told.items():
        for node in seen:
            known_node(definition.states, node, f"information[{decision!r}]")
    made = {}
    for name, given in utilities.items():
        above = {parent: definition.states[known_node(definition.states, parent, f"edges to {name!r}, where a parent")]
                 for parent in into[name]}  # fmt: skip
        made[name] = utility_table(name, given, above)
    _check_order(definition, told)
    known = _remembered(told) if no_forgetting else told
    return Diagram(definition, told, known, made, {name: tuple(into[name]) for name in utilities})


def _sorted_edges(edges: Any, information: Any, decisions: Any, utilities: Any) -> tuple[Any, Any, Any]:
    """Arrows between chance nodes and from decisions; what each decision is told; parents of each utility."""
    arrows: list[tuple[str, str]] = []
    told: dict[str, list[str]] = {name: [] for name in decisions}
    into: dict[str, list[str]] = {name: [] for name in utilities}
    for edge in pairs_of(OWNER, edges):
        parent, child = edge
        if parent in utilities:
            raise ParameterError(OWNER, "edges", f"none out of a utility, as {parent!r} is", edge)
        line = told.get(child, into.get(child))
        if line is None:
            arrows.append((parent, child))
        elif parent in line:
            raise ParameterError(OWNER, "edges", "all different", edge)
        else:
            line.append(parent)
    for name, seen in (information or {}).items():
        if name not in told:
            raise ParameterError(OWNER, "information", f"about decisions ({', '.join(decisions)})", name)
        told[name] += [node for node in names_in(seen, f"information[{name!r}]") if node not in told[name]]
    return arrows, {name: tuple(seen) for name, seen in told.items()}, into


def _check_order(definition: NetworkDefinition, told: Mapping[str, tuple[str, ...]]) -> None:
    """Nothing is known before the decision that influences it is taken."""
    order = list(told)
    for place, decision in enumerate(order):
        for later in order[place:]:
            below = reached(definition.children, [later])
            if bad := next((node for node in told[decision] if node in below), None):
                who = "itself" if later == decision else f"the later decision {later!r}"
                raise ParameterError(
                    OWNER, f"information[{decision!r}]", f"known before it, but it hangs on {who}", bad,
                    "Decisions are taken in the order of `decisions`: change that order, or leave out this arc.",
                )  # fmt: skip


def _remembered(told: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """No-forgetting: what was known and decided before is known still."""
    found: dict[str, tuple[str, ...]] = {}
    known: dict[str, None] = {}
    for decision, seen in told.items():
        known |= dict.fromkeys(seen)
        found[decision] = tuple(known)
        known[decision] = None
    return found
