"""Decision networks as JSON documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from credo.models.network.files.documents import keyed, retyped

if TYPE_CHECKING:
    from credo.decisions.networks.network import DecisionNetwork

__all__ = ["KEYS", "document_of", "from_document"]

KEYS = {
    "edges": True, "tables": False, "utilities": True, "decisions": True, "information": False, "states": False,
    "no_forgetting": False,
}  # fmt: skip


def document_of(network: DecisionNetwork) -> dict[str, Any]:
    """What the constructor takes, tables and utilities by states."""
    d = network.diagram_
    families = {node: (*d.definition.parents[node], node) for node in d.chance}
    return {
        "edges": [list(edge) for edge in network.edges],
        "states": {node: list(d.states[node]) for node in d.chance},
        "tables": {node: keyed(d.definition.tables[node], [d.states[n] for n in families[node]]) for node in d.chance},
        "decisions": {name: list(options) for name, options in network.decisions.items()},
        "utilities": {
            name: keyed(table, [d.states[n] for n in d.utility_parents[name]]) for name, table in d.utilities.items()
        },
        "no_forgetting": network.no_forgetting,
    }


def from_document(document: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of the constructor."""
    known = {**(document.get("states") or {}), **document["decisions"]}
    above: dict[Any, list[Any]] = {}
    for edge in document["edges"]:
        if isinstance(edge, list) and len(edge) == 2:
            above.setdefault(edge[1], []).append(edge[0])

    def axes(*names: Any) -> list[Any]:
        return [known.get(name) for name in names]

    tables, utilities = document.get("tables") or {}, document["utilities"]
    return {
        **document,
        "edges": [tuple(edge) if isinstance(edge, list) else edge for edge in document["edges"]],
        "tables": {node: retyped(table, axes(*above.get(node, ()), node)) for node, table in tables.items()},
        "utilities": {name: retyped(table, axes(*above.get(name, ()))) for name, table in utilities.items()},
    }
