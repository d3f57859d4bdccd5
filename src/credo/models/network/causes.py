"""What must be observed to tell an effect from a table: back-door and front-door sets, by the arrows alone."""

from __future__ import annotations

from collections.abc import Iterable

from credo.models.network.definition import NetworkDefinition
from credo.models.network.separation import active_path, reached

__all__ = ["adjustment_set", "front_door_set"]


class _Cut:
    """The arrows without those out of some nodes."""

    def __init__(self, definition: NetworkDefinition, without: Iterable[str]) -> None:
        gone = set(without)
        self.parents = {n: tuple(p for p in above if p not in gone) for n, above in definition.parents.items()}
        self.children = {n: () if n in gone else below for n, below in definition.children.items()}


def adjustment_set(
    definition: NetworkDefinition, cause: str, effect: str, allowed: Iterable[str]
) -> tuple[str, ...] | None:
    """A set of allowed nodes, none of which can be spared, that meets the back-door criterion; None without one.

    No node of it hangs on the cause, and it cuts all paths into the cause. If any such set is among the allowed nodes,
    the allowed ancestors of cause and effect are one (van der Zander, Liśkiewicz and Textor 2019); those that can be
    spared are then left out, the farthest from the cause first.
    """
    below = reached(definition.children, [cause])
    if effect not in below:
        below = {cause}  # nothing flows from cause to effect: only the cause itself is out of question
    above = reached(definition.parents, [cause, effect])
    kept = [n for n in definition.nodes if n in above and n in set(allowed) and n not in below and n != effect]
    cut = _Cut(definition, [cause])

    def closed(given: Iterable[str]) -> bool:
        return active_path(cut, [cause], [effect], set(given)) is None  # type: ignore[arg-type]

    if not closed(kept):
        return None
    near = set(definition.parents[cause])
    for node in sorted(kept, key=lambda n: (n in near, definition.nodes.index(n))):
        if closed(other for other in kept if other != node):
            kept.remove(node)
    return tuple(kept)


def front_door_set(
    definition: NetworkDefinition, cause: str, effect: str, allowed: Iterable[str]
) -> tuple[str, ...] | None:
    """Allowed nodes on the way from cause to effect that meet the front-door criterion; None without such.

    They cut every directed path; nothing but the cause's own arrows leads from it to them; and given the cause nothing
    leads from them to the effect but their own arrows (Pearl 1995). The largest such set is found, and then what can be
    spared is left out.
    """
    between = reached(definition.children, [cause]) & reached(definition.parents, [effect])
    from_cause, free = _Cut(definition, [cause]), set(allowed)
    kept = [
        n for n in definition.nodes
        if n in between and n in free and n not in (cause, effect)
        and active_path(from_cause, [cause], [n], set()) is None  # type: ignore[arg-type]
    ]  # fmt: skip

    def good(nodes: list[str]) -> bool:
        if not nodes or not _intercept(definition, cause, effect, set(nodes)):
            return False
        cut = _Cut(definition, nodes)
        return active_path(cut, nodes, [effect], {cause}) is None  # type: ignore[arg-type]

    if not good(kept):  # a node whose own way to the effect is open may be spared for others
        kept = [n for n in kept if active_path(_Cut(definition, [n]), [n], [effect], {cause}) is None]  # type: ignore[arg-type]
        if not good(kept):
            return None
    for node in reversed(list(kept)):
        rest = [n for n in kept if n != node]
        if good(rest):
            kept = rest
    return tuple(kept)


def _intercept(definition: NetworkDefinition, cause: str, effect: str, nodes: set[str]) -> bool:
    """Whether every directed path from cause to effect meets one of the nodes."""
    blocked = {n: () if n in nodes else below for n, below in definition.children.items()}
    return effect not in reached(blocked, [cause])
