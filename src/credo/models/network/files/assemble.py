"""What the readers share: nodes and tables as a file gives them, made into a definition or an error at its place."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from credo.errors import ParameterError
from credo.models.network.definition import NetworkDefinition
from credo.models.network.files.numbers import NotANumber, parse_numbers
from credo.models.network.files.source import Source
from credo.models.network.files.state_types import STATES_KEY, typed_states
from credo.models.network.tables import MAX_PARENTS, checked_table, first_repeated, known_states

_BLANKS = bytes.maketrans(b"(),;{}|", b" " * 7)

__all__ = ["Draft", "DraftNode"]


@dataclass
class DraftNode:
    """A node as declared: `states` as text or whole numbers; `offset` is where its name stands."""

    states: tuple[Any, ...]
    offset: int
    properties: list[str] = field(default_factory=list)


@dataclass
class Draft:
    """A network as read so far; adding a thing twice, or of what is not there, is an error at its place."""

    source: Source
    normalise: bool
    nodes: dict[str, DraftNode] = field(default_factory=dict)
    parents: dict[str, tuple[str, ...]] = field(default_factory=dict)
    offsets: dict[str, int] = field(default_factory=dict)
    tables: dict[str, np.ndarray] = field(default_factory=dict)
    name: str = ""
    properties: list[str] = field(default_factory=list)

    def add_node(self, name: str, node: DraftNode, stated: int | None = None) -> None:
        """Declare a variable; `stated` is the number of states that the file announces."""
        if name in self.nodes:
            raise self.source.error(node.offset, f"variable {name!r} is declared twice", value=name)
        if not node.states:
            raise self.source.error(node.offset, f"variable {name!r} has no states", value=name)
        if stated is not None and stated != len(node.states):
            raise self.source.error(
                node.offset, f"variable {name!r} announces {stated} states and lists {len(node.states)}", value=stated
            )
        if len(set(node.states)) < len(node.states):
            twice = first_repeated(node.states)
            raise self.source.error(node.offset, f"variable {name!r} lists the state {twice!r} twice", value=twice)
        self.nodes[name] = node

    def add_parents(self, names: list[tuple[str, int]]) -> str:
        """Announce the table of the first name given the others (each with its offset); returns the first."""
        for name, offset in names:
            if name not in self.nodes:
                raise self.source.error(offset, f"there is no variable {name!r}", value=name)
        (name, offset), *given = names
        if name in self.parents:
            raise self.source.error(offset, f"the table of {name!r} is given twice", value=name)
        if len(given) > MAX_PARENTS:
            raise self.source.error(
                offset, f"{name!r} has {len(given)} parents, more than {MAX_PARENTS}", value=len(given)
            )
        parents: dict[str, None] = {}
        for parent, at in given:
            if parent in parents or parent == name:
                raise self.source.error(at, f"{parent!r} is named twice in the table of {name!r}", value=parent)
            parents[parent] = None
        self.parents[name], self.offsets[name] = tuple(parents), offset
        return name

    def shape(self, name: str) -> tuple[int, ...]:
        """Of a node's table: parents' states, then its own."""
        return tuple(len(self.nodes[each].states) for each in (*self.parents[name], name))

    def n_rows(self, name: str) -> int:
        """Rows of a node's table; Python's whole number, however large."""
        return math.prod(self.shape(name)[:-1])

    def add_texts(self, pending: list[tuple[str, bytes, int]]) -> None:
        """Whole tables as text, the node's own states fastest: (name, numbers, where the text begins)."""
        bounds = np.cumsum([0, *(len(text) + 1 for _, text, _ in pending)])
        joined = b"\n".join(text for _, text, _ in pending)
        try:
            values, starts = parse_numbers(joined)
        except NotANumber as error:
            i = int(np.searchsorted(bounds, error.offset, side="right")) - 1
            name, text, offset = pending[i]
            within = error.offset - int(bounds[i])
            word = text[within : within + 60].translate(_BLANKS).split()[0].decode("utf-8", "replace")
            raise self.source.error(
                offset + within, f"{word!r} in the table of {name!r} is no number", value=word
            ) from None
        edges = np.searchsorted(starts, bounds).tolist()
        for (name, _, offset), start, stop in zip(pending, edges[:-1], edges[1:]):
            self.add_flat(name, values[start:stop], offset)

    def add_flat(self, name: str, values: np.ndarray, offset: int) -> None:
        """A whole table in one run of numbers, the node's own states fastest."""
        shape = self.shape(name)
        if len(values) != math.prod(shape):
            raise self.source.error(
                offset, f"the table of {name!r} has {len(values)} numbers, not {math.prod(shape)}", value=len(values)
            )
        self.tables[name] = values.reshape(shape)

    def finish(self) -> NetworkDefinition:
        """The definition, checked."""
        if not self.nodes:
            raise self.source.error(len(self.source.data), "there is no variable here")
        for name, node in self.nodes.items():
            if name not in self.tables:
                raise self.source.error(node.offset, f"variable {name!r} has no table", value=name)
            self._type_states(name, node)
        states = {name: node.states for name, node in self.nodes.items()}
        properties = {name: tuple(node.properties) for name, node in self.nodes.items() if node.properties}
        if self.properties:
            properties[""] = tuple(self.properties)
        try:
            return NetworkDefinition(states, self.parents, self.tables, self.name, properties, normalise=self.normalise)
        except ParameterError as error:
            raise self.source.error(self._blamed(states), str(error).rstrip("."), value=error.value) from error

    def _type_states(self, name: str, node: DraftNode) -> None:
        """States as numbers and truth values where a property of ours says that they were."""
        for text in node.properties:
            if text.startswith(STATES_KEY):
                states = typed_states(node.states, text.removeprefix(STATES_KEY).split())
                if states is None or len(set(states)) < len(states):
                    raise self.source.error(node.offset, f"the states of {name!r} are not {text!r}", value=text)
                node.states = states
                node.properties.remove(text)
                return

    def _blamed(self, states: Mapping[str, tuple[Any, ...]]) -> int:
        """Where the first node stands that is at fault by itself; else a cycle is, and any node will do."""
        for name in self.nodes:
            try:
                known_states(name, states[name])
                parents = {parent: states[parent] for parent in self.parents[name]}
                checked_table(name, self.tables[name], parents, states[name], self.normalise)
            except ParameterError:
                return self.offsets[name]
        return min(self.offsets.values(), default=0)
