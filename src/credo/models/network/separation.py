"""What hangs together in a directed graph, by its arrows alone: d-separation, and why; Markov blankets."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping

from credo.models.network.definition import NetworkDefinition

__all__ = ["active_path", "markov_blanket", "reached"]


def reached(arrows: Mapping[str, tuple[str, ...]], nodes: Iterable[str]) -> set[str]:
    """The nodes and everything along the arrows: of `parents` the ancestors, of `children` the descendants."""
    found: set[str] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting.extend(arrows[node])
    return found


def markov_blanket(definition: NetworkDefinition, node: str) -> tuple[str, ...]:
    """Parents, children and the children's other parents: given these, all else says nothing of the node."""
    children = definition.children[node]
    near = {*definition.parents[node], *children, *(p for child in children for p in definition.parents[child])}
    return tuple(name for name in definition.nodes if name in near and name != node)


def active_path(
    definition: NetworkDefinition, sources: Iterable[str], targets: Iterable[str], given: Iterable[str]
) -> tuple[tuple[str, str], ...] | None:
    """A shortest path along which belief flows from `sources` to `targets`; None where `given` separates them.

    The path is ((node, "→" or "←" to the next), …, (last, "")). A chain or a fork is open where its middle is not
    given; two arrows that meet are open where the node they meet in, or something below it, is given.

    Cost: each arrow twice.
    Reference: Shachter (1998), Bayes-Ball, UAI.
    """
    given, targets = set(given), set(targets)
    told = reached(definition.parents, given)  # nodes with something given at or below them
    # a state is a node and whether it was come to from a child (upwards)
    waiting = deque((source, True) for source in sources if source not in given)
    came: dict[tuple[str, bool], tuple[str, bool] | None] = dict.fromkeys(waiting)
    while waiting:
        node, upwards = here = waiting.popleft()
        if node in targets:
            return _read_back(here, came)
        above = [(parent, True) for parent in definition.parents[node]]
        below = [(child, False) for child in definition.children[node]]
        if upwards:
            onwards = [] if node in given else above + below
        else:
            onwards = (above if node in told else []) + ([] if node in given else below)
        for state in onwards:
            if state not in came:
                came[state] = here
                waiting.append(state)
    return None


def _read_back(
    state: tuple[str, bool], came: dict[tuple[str, bool], tuple[str, bool] | None]
) -> tuple[tuple[str, str], ...]:
    path = [(state[0], "")]
    while (before := came[state]) is not None:
        path.append((before[0], "←" if state[1] else "→"))
        state = before
    return tuple(path[::-1])
