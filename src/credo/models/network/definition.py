"""`NetworkDefinition`: what a Bayesian network says, checked once and fixed."""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from credo.errors import ParameterError
from credo.models.network.naming import listed
from credo.models.network.tables import MAX_PARENTS, checked_table, known_states, table_of
from credo.saving import register

__all__ = ["NetworkDefinition"]

_OWNER = "NetworkDefinition"


@register
@dataclass(frozen=True, eq=False)
class NetworkDefinition:
    """A directed acyclic graph of variables with finitely many states, and a conditional table for each.

        P(x) = ∏ᵢ P(xᵢ | x of the parents of i)

    Parameters
    ----------
    states : name → the states, in order: of any hashable kind, unlike each other, neither None nor NaN. Its order is
        the order of the nodes.
    parents : name → names of the parents, in the order of the table's axes; a node left out has none
    tables : name → probabilities of shape (\\*number of states of each parent, number of states of the node). The
        last axis sums to 1. Rows off by at most 1e-5, as printed tables are, are divided by their sum; rows off by
        more are an error that names the node and the parents' states.
    name : of the network
    properties : text that files carry along and nothing here reads: ``""`` → the network's, node → its own
    normalise : divide rows by their sums however far from 1 these are (but not by 0)

    Raises
    ------
    ParameterError : naming the node: duplicates, unknown parents, a cycle (as its path), a wrong shape, negative
        numbers and NaN, rows that do not sum to 1.

    Notes
    -----
    Costs one copy of the tables and a pass over them. The tables are read-only.

    Examples
    --------
    >>> rain = NetworkDefinition(
    ...     states={"rain": ("no", "yes"), "wet": (False, True)},
    ...     parents={"wet": ("rain",)},
    ...     tables={"rain": [0.8, 0.2], "wet": [[0.9, 0.1], [0.2, 0.8]]},
    ... )
    >>> rain.order, rain.edges
    (('rain', 'wet'), (('rain', 'wet'),))
    >>> NetworkDefinition({"a": (0, 1)}, {}, {"a": [0.5, 0.4]})
    Traceback (most recent call last):
    credo.errors.ParameterError: NetworkDefinition.tables['a'] must be rows that sum to 1, got 0.9. Correct the row...
    """

    states: Mapping[str, tuple[Any, ...]]
    parents: Mapping[str, tuple[str, ...]]
    tables: Mapping[str, np.ndarray]
    name: str = ""
    properties: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    normalise: InitVar[bool] = False

    def __post_init__(self, normalise: bool) -> None:
        states = {node: known_states(node, values) for node, values in _mapping("states", self.states).items()}
        if not states:
            raise ParameterError(_OWNER, "states", "of at least one node", self.states)
        parents = _known_parents(states, _mapping("parents", self.parents))
        given = _mapping("tables", self.tables)
        _same_names(states, given)
        keep = {
            "states": states,
            "parents": parents,
            "tables": {
                node: checked_table(node, given[node], {p: states[p] for p in parents[node]}, values, normalise)
                for node, values in states.items()
            },
            "properties": _known_properties(states, self.properties),
        }
        for key, value in keep.items():
            object.__setattr__(self, key, MappingProxyType(value))
        self.order  # noqa: B018  (a cycle is an error now, not at the first question)

    @classmethod
    def from_edges(
        cls,
        edges: Iterable[tuple[str, str]],
        tables: Mapping[str, Any],
        states: Mapping[str, Iterable[Hashable]] | None = None,
        *,
        name: str = "",
        normalise: bool = False,
    ) -> NetworkDefinition:
        """From arrows (parent, child) and a table for each node, in whatever form is at hand.

        Parameters
        ----------
        edges : pairs (parent, child); a node's parents keep the order in which its edges are listed
        tables : node → one of

            - a dict: ``{state: p}`` without parents; with them, parents' states → such a dict, or a row of numbers in
              the order of the states: nested, one level a parent, or keyed by tuples; ``{"yes": 0.9}`` for the one
              state left out leaves it the rest of 1 if the node's states are given
            - an array of shape (\\*parents' states, states)
            - a factor: anything with ``names``, ``states`` and ``values``, its axes in any order
            - a rule of `credo.models.network.nodes`: `Deterministic`, `NoisyOr`, `NoisyMax`
        states : node → states in order; a node left out has those of its dict or factor, in the order they come, those
            of its rule, or 0, 1, … for an array
        name, normalise : as of `NetworkDefinition`

        Raises
        ------
        ParameterError : as `NetworkDefinition` does; also states of a dict that are unknown or absent, named.

        Examples
        --------
        >>> network = NetworkDefinition.from_edges(
        ...     [("rain", "wet")],
        ...     {"rain": {"no": 0.8, "yes": 0.2}, "wet": {"no": {"dry": 0.9, "wet": 0.1}, "yes": [0.2, 0.8]}},
        ... )
        >>> network.states["wet"], network.tables["wet"][1]
        (('dry', 'wet'), array([0.2, 0.8]))
        """
        given = dict(_mapping("states", {} if states is None else states))
        tables = _mapping("tables", tables)
        nodes, parents = _graph([*given, *tables], edges)
        _same_names(dict.fromkeys(nodes), tables)
        known: dict[str, tuple[Any, ...]] = {}
        built: dict[str, np.ndarray] = {}
        for node in _topological(nodes, parents):
            above = {p: known[p] for p in parents[node]}
            stated = known_states(node, given[node]) if node in given else None
            known[node], built[node] = table_of(node, tables[node], above, stated)
        return cls({node: known[node] for node in nodes}, parents, built, name, normalise=normalise)

    @property
    def nodes(self) -> tuple[str, ...]:
        """The names, in the order of `states`."""
        return tuple(self.states)

    @property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """Pairs (parent, child), child by child."""
        return tuple((parent, node) for node in self.states for parent in self.parents[node])

    @cached_property
    def children(self) -> Mapping[str, tuple[str, ...]]:
        """Name → names of the children, in the order of the nodes."""
        children: dict[str, list[str]] = {node: [] for node in self.states}
        for parent, node in self.edges:
            children[parent].append(node)
        return MappingProxyType({node: tuple(below) for node, below in children.items()})

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The names, parents before children; the earlier in `states` comes first where the arrows leave a choice."""
        return tuple(_topological(list(self.states), self.parents))

    @property
    def n_parameters(self) -> int:
        """Free numbers in all tables: rows × (states − 1)."""
        return sum(table.size - table.size // table.shape[-1] for table in self.tables.values())

    def __eq__(self, other: object) -> bool:
        """Whether names, states (and their types), parents, orders and numbers are all the same.

        The network's name and the properties do not count.
        """
        if not isinstance(other, NetworkDefinition):
            return NotImplemented
        return (
            _typed(self.states) == _typed(other.states)
            and dict(self.parents) == dict(other.parents)
            and all(np.array_equal(table, other.tables[node]) for node, table in self.tables.items())
        )

    __hash__ = None  # type: ignore[assignment]

    def state(self) -> dict[str, Any]:
        """What a file keeps: plain dicts."""
        keys = ("states", "parents", "tables", "properties")
        return {"name": self.name, **{key: dict(getattr(self, key)) for key in keys}}

    @classmethod
    def from_state(cls, state: Mapping[str, Any], version: int) -> NetworkDefinition:
        """Built, and checked, anew."""
        return cls(**state)

    def __reduce__(self) -> tuple[Any, ...]:
        return NetworkDefinition.from_state, (self.state(), 1)

    def __repr__(self) -> str:
        named = f"{self.name!r}, " if self.name else ""
        return f"<{_OWNER} {named}{len(self.states)} nodes, {len(self.edges)} edges, {self.n_parameters} parameters>"


def _typed(states: Mapping[str, tuple[Any, ...]]) -> list[Any]:
    return [(node, values, [type(value) for value in values]) for node, values in states.items()]


def _mapping(parameter: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ParameterError(_OWNER, parameter, "a mapping from the nodes' names", value)
    for name in value:
        if not isinstance(name, str):
            raise ParameterError(_OWNER, parameter, "a mapping whose keys are names (text)", name)
    return value


def _known_parents(nodes: Mapping[str, Any], parents: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Parents of every node, known and unlike each other."""
    if unknown := next((node for node in parents if node not in nodes), None):
        raise ParameterError(_OWNER, "parents", "of nodes that `states` names", unknown)
    known = {}
    for node in nodes:
        above = parents.get(node, ())
        if isinstance(above, str):
            raise ParameterError(_OWNER, f"parents[{node!r}]", "a tuple of names", above, f"Write ({above!r},).")
        known[node] = above = tuple(above)
        for parent in above:
            if parent not in nodes:
                raise ParameterError(_OWNER, f"parents[{node!r}]", "nodes that `states` names", parent)
        if len(above) > MAX_PARENTS:
            raise ParameterError(_OWNER, f"parents[{node!r}]", f"at most {MAX_PARENTS}", len(above))
        if len(set(above)) < len(above):
            raise ParameterError(_OWNER, f"parents[{node!r}]", "all different", above)
    return known


def _same_names(nodes: Mapping[str, Any], tables: Mapping[str, Any]) -> None:
    if missing := next((node for node in nodes if node not in tables), None):
        raise ParameterError(_OWNER, "tables", "a table for every node", f"none for {missing}")
    if unknown := next((node for node in tables if node not in nodes), None):
        raise ParameterError(_OWNER, "tables", "of nodes that `states` names", unknown)


def _known_properties(nodes: Mapping[str, Any], properties: Any) -> dict[str, tuple[str, ...]]:
    known = {node: tuple(texts) for node, texts in _mapping("properties", properties).items()}
    if unknown := next((node for node in known if node and node not in nodes), None):
        raise ParameterError(_OWNER, "properties", 'of nodes that `states` names, or of the network: ""', unknown)
    return known


def _graph(names: Iterable[str], edges: Iterable[Any]) -> tuple[list[str], dict[str, tuple[str, ...]]]:
    """Nodes in order of mention, and the parents of each."""
    above: dict[str, list[str]] = {name: [] for name in names}
    for edge in listed(_OWNER, "edges", edges, "pairs of names (parent, child)"):
        pair = tuple(edge) if isinstance(edge, Iterable) and not isinstance(edge, str) else ()
        if len(pair) != 2 or not all(isinstance(name, str) for name in pair):
            raise ParameterError(_OWNER, "edges", "pairs of names (parent, child)", edge)
        parent, child = pair
        above.setdefault(parent, [])
        if parent in above.setdefault(child, []):
            raise ParameterError(_OWNER, "edges", "all different", edge)
        above[child].append(parent)
    return list(above), {node: tuple(parents) for node, parents in above.items()}


def _topological(nodes: list[str], parents: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Parents first, ties by the order of `nodes`; O(n log n + edges)."""
    rank = {node: i for i, node in enumerate(nodes)}
    waiting = [len(parents[node]) for node in nodes]
    children: list[list[int]] = [[] for _ in nodes]
    for i, node in enumerate(nodes):
        for parent in parents[node]:
            children[rank[parent]].append(i)
    ready = [i for i, count in enumerate(waiting) if not count]
    order: list[str] = []
    while ready:
        i = heapq.heappop(ready)
        order.append(nodes[i])
        for child in children[i]:
            waiting[child] -= 1
            if not waiting[child]:
                heapq.heappush(ready, child)
    if len(order) < len(nodes):
        path = " → ".join(_cycle({node for node in nodes if waiting[rank[node]]}, nodes, parents))
        remedy = "Remove or turn one of these arrows."
        if len(path) > 70:  # which `shown` would cut
            remedy = f"Remove or turn one of the arrows {path if len(path) < 2000 else path[:2000] + ' …'}."
        raise ParameterError(_OWNER, "parents", "free of cycles", path, remedy)
    return order


def _cycle(stuck: set[str], nodes: list[str], parents: Mapping[str, tuple[str, ...]]) -> list[str]:
    """One cycle along its arrows, ending where it began: every stuck node has a stuck parent, so walking up repeats."""
    node = next(node for node in nodes if node in stuck)
    seen: dict[str, int] = {}
    walk: list[str] = []
    while node not in seen:
        seen[node] = len(walk)
        walk.append(node)
        node = next(parent for parent in parents[node] if parent in stuck)
    return [*walk[seen[node] :], node][::-1]
