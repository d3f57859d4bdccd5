"""What of the things known can matter to a decision, by the arrows alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from credo.decisions.networks.diagram import Diagram
from credo.models.network.separation import active_path, reached

__all__ = ["Arrows", "requisite"]


@dataclass(frozen=True, eq=False)
class Arrows:
    """parents of every node, decisions and utilities included; of a decision, what its rule looks at."""

    parents: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, diagram: Diagram, looks_at: Mapping[str, Iterable[str]]) -> Arrows:
        rules = {name: tuple(seen) for name, seen in looks_at.items()}
        utilities = {_utility(name): above for name, above in diagram.utility_parents.items()}
        return cls({**diagram.definition.parents, **rules, **utilities})

    @cached_property
    def children(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, list[str]] = {node: [] for node in self.parents}
        for node, above in self.parents.items():
            for parent in above:
                found[parent].append(node)
        return {node: tuple(below) for node, below in found.items()}


def _utility(name: str) -> Any:
    return ("utility", name)  # no node is called by a tuple


def requisite(
    diagram: Diagram, decision: str, looks_at: Mapping[str, Iterable[str]], given: Iterable[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(what of the known can matter, the utilities that the decision influences).

    Known nodes are left out, one after another, that say nothing of these utilities once the decision and the other
    known ones are given (Lauritzen and Nilsson 2001, Management Science 47, §4).

    looks_at : decision → what its rule looks at, of the others; given : nodes observed before any decision
    """
    given = set(given)
    kept = [node for node in diagram.known[decision] if node not in given]
    arrows = Arrows.of(diagram, {**looks_at, decision: kept})
    below = reached(arrows.children, [decision])
    utilities = tuple(name for name in diagram.utilities if _utility(name) in below)
    targets = [_utility(name) for name in utilities]
    settled = False
    while not settled:
        settled = True
        for node in kept:
            rest = [other for other in kept if other != node]
            # the decision's own arrows play no part once it is given
            graph: Any = Arrows.of(diagram, {**looks_at, decision: rest})
            if active_path(graph, [node], targets, {decision, *rest, *given}) is None:
                kept, settled = rest, False
                break
    return tuple(kept), utilities
