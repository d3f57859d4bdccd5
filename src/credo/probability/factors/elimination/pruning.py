"""Which tables cannot matter to an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["without_barren", "without_unrelated"]


def without_barren(axes: Sequence[Sequence[int]], sums_to_one: Mapping[int, set[int]]) -> list[int]:
    """Drop tables that sum to 1 over a variable that no other table holds: again and again, for others become so.

    sums_to_one : {table: variables over each of which it sums to 1, whatever its other axes}
    """
    holders: dict[int, set[int]] = {}
    for t, scope in enumerate(axes):
        for v in scope:
            holders.setdefault(v, set()).add(t)
    kept = set(range(len(axes)))
    waiting = list(sums_to_one)
    while waiting:
        t = waiting.pop()
        if t not in kept or not any(len(holders[v]) == 1 for v in sums_to_one.get(t, ())):
            continue
        kept.discard(t)
        for v in axes[t]:
            holders[v].discard(t)
            waiting += holders[v]
    return sorted(kept)


def without_unrelated(
    axes: Sequence[Sequence[int]], kept: Sequence[int], targets: set[int], told: Sequence[bool]
) -> list[int]:
    """Drop what no chain of shared variables joins to a target: its total divides out.

    Tables that evidence bears on stay even so: evidence of probability 0 must not pass unnoticed.
    """
    part = {t: t for t in kept}

    def root(t: int) -> int:
        while part[t] != t:
            part[t] = part[part[t]]
            t = part[t]
        return t

    first: dict[int, int] = {}
    for t in kept:
        for v in axes[t]:
            part[root(t)] = root(first.setdefault(v, t))
    matters = {root(t) for t in kept if told[t] or targets & set(axes[t])}
    return [t for t in kept if root(t) in matters]
