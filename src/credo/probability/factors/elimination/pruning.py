"""Which tables cannot matter to an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["without_barren", "without_unrelated"]


def without_barren(
    scopes: Sequence[Sequence[int]],
    holders: Sequence[Sequence[int]],
    laws: Mapping[int, Sequence[int]],
    fixed: set[int],
    targets: Sequence[int] = (),
) -> list[bool]:
    """Whether each table is kept, once those are dropped that sum to 1 over a variable that no other table holds: again
    and again, for others become so.

    holders : the tables of each variable ; laws : {table: variables over each of which it sums to 1, whatever its other
    axes} ; fixed : variables that are not summed over: observed, asked for, maximised ; targets : those of them that
    must not be left without a table
    """
    kept = [True] * len(scopes)
    count = [len(each) for each in holders]
    waiting = list(laws)
    while waiting:
        t = waiting.pop()
        if not kept[t]:
            continue
        for v in laws[t]:
            if count[v] == 1 and v not in fixed:
                break
        else:
            continue
        if any(count[v] == 1 and v in targets for v in scopes[t]):
            continue
        kept[t] = False
        for v in scopes[t]:
            count[v] -= 1
            if count[v] == 1:
                waiting += [u for u in holders[v] if kept[u] and u in laws]
    return kept


def without_unrelated(
    scopes: Sequence[Sequence[int]],
    holders: Sequence[Sequence[int]],
    kept: Sequence[bool],
    told: Sequence[bool],
    targets: Sequence[int],
    observed: set[int],
) -> list[bool]:
    """Drop, too, what no chain of shared variables joins to a target: its total divides out.

    Tables that evidence bears on stay even so: evidence of probability 0 must not pass unnoticed.
    """
    found = [False] * len(scopes)
    seen = set(observed)
    waiting = [t for t, of_evidence in enumerate(told) if of_evidence]
    waiting += [t for v in targets for t in holders[v]]
    while waiting:
        t = waiting.pop()
        if found[t] or not kept[t]:
            continue
        found[t] = True
        for v in scopes[t]:
            if v not in seen:
                seen.add(v)
                waiting += holders[v]
    return found
