"""What Gibbs sampling draws at once: single nodes, and blocks of nodes that tables with zeros lock to each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from credo.models.network.sampling.arrays import Family, Findings, NetworkArrays

__all__ = ["Blocks", "Units", "blocks_of", "units_of"]

# States of a block that are gone through at every step: with ten tables some 40 µs.
MOST_STATES = 2**12
# A table whose least entry is below this share of its largest holds its nodes back much as a zero would. Blocks that it
# binds are joined up to a few states: on alarm the effective sizes are then two to nine times as large at equal cost,
# and with larger blocks hardly larger.
NEAR, FEW_STATES = 0.05, 64


@dataclass(frozen=True, eq=False)
class Blocks:
    """groups : nodes that are drawn together, each a tuple; every hidden node is in one at least

    torn : nodes whose tables hold zeros and are not whole in one block, across which the walk may not get
    """

    groups: tuple[tuple[int, ...], ...]
    torn: tuple[int, ...]


def blocks_of(arrays: NetworkArrays, seen: Findings, most_states: int = MOST_STATES) -> Blocks:
    """Hidden nodes that tables with zeros connect are one block, so that what is left to walk across is positive.

    If every table with zeros (under the evidence) is whole in a block the walk reaches all that can be: the support is
    a product of the blocks'. A block of more than `most_states` is cut into its tables' own nodes, which overlap; these
    tables are `torn`.
    """
    locks = _locks(arrays, seen)
    groups: list[tuple[int, ...]] = []
    torn: list[int] = []
    for members in _joined(arrays, seen, locks.values()):
        if _states(arrays, members) <= most_states:
            groups.append(members)
            continue
        inside = {node: own for node, own in locks.items() if own[0] in members}
        torn += list(inside)
        fitting = dict.fromkeys(own for own in inside.values() if _states(arrays, own) <= most_states)
        covered = {v for own in fitting for v in own}
        groups += [*fitting, *((v,) for v in members if v not in covered)]
    return Blocks(_bound(arrays, seen, groups), tuple(torn))


def _joined(arrays: NetworkArrays, seen: Findings, links: Iterable[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Hidden nodes that links connect, each set of them once."""
    parent = list(range(len(arrays.sizes)))

    def root(v: int) -> int:
        while parent[v] != v:
            parent[v] = parent[parent[v]]
            v = parent[v]
        return v

    for members in links:
        for v in members[1:]:
            parent[root(v)] = root(members[0])
    together: dict[int, list[int]] = {}
    for v in range(len(arrays.sizes)):
        if v not in seen.hard:
            together.setdefault(root(v), []).append(v)
    return [tuple(members) for members in together.values()]


def _bound(arrays: NetworkArrays, seen: Findings, groups: Sequence[tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
    """Groups that near-zeros bind to each other as one, the strongest first, while that has few states."""
    made = dict(enumerate(groups))
    where = {v: i for i, group in made.items() for v in group}
    weak = []
    for family in arrays.families:
        left, hidden = _left(arrays, seen, family)
        if len(hidden) > 1 and (share := left.min() / max(left.max(), 1e-300)) < NEAR:
            weak.append((float(share), hidden))
    for _, hidden in sorted(weak):
        at = sorted({where[v] for v in hidden})
        union = tuple(sorted({v for i in at for v in made[i]}))
        if len(at) > 1 and _states(arrays, union) <= FEW_STATES:
            for i in at:
                del made[i]
            made[at[0]] = union
            where |= dict.fromkeys(union, at[0])
    return tuple(made[i] for i in sorted(made))


def _left(arrays: NetworkArrays, seen: Findings, family: Family) -> tuple[np.ndarray, tuple[int, ...]]:
    """What the evidence leaves of a family's table, and its hidden nodes."""
    names = (*family.parents, family.node)
    table = family.table.reshape([arrays.sizes[v] for v in names])
    left = table[tuple(seen.hard.get(v, slice(None)) for v in names)]
    return left, tuple(sorted(v for v in names if v not in seen.hard))


def _locks(arrays: NetworkArrays, seen: Findings) -> dict[int, tuple[int, ...]]:
    """Node → the hidden nodes of its table, where that holds zeros under the evidence and has several."""
    found = {}
    for family in arrays.families:
        left, hidden = _left(arrays, seen, family)
        if len(hidden) > 1 and np.any(left == 0.0):
            found[family.node] = hidden
    return found


def _states(arrays: NetworkArrays, members: Sequence[int]) -> float:
    return float(np.prod([float(arrays.sizes[v]) for v in members]))


@dataclass(frozen=True, eq=False)
class Units:
    """Groups as the kernel takes them.

    tables : of all families, then likelihoods, end to end
    states (units,) : of each group; member_at, members, divisors, sizes : its nodes, state k of it being (k // divisor)
        mod size of each
    touch_at (units + 1,) : its tables; base, step_at (touches,) : where a table begins, and where its steps do in
        `steps`, one a state of the group; other_at (touches + 1,), others, strides : nodes outside, and their strides
    """

    tables: np.ndarray
    states: np.ndarray
    member_at: np.ndarray
    members: np.ndarray
    divisors: np.ndarray
    sizes: np.ndarray
    touch_at: np.ndarray
    base: np.ndarray
    step_at: np.ndarray
    steps: np.ndarray
    other_at: np.ndarray
    others: np.ndarray
    strides: np.ndarray


def units_of(arrays: NetworkArrays, seen: Findings, groups: Sequence[Sequence[int]]) -> Units:
    """The groups' tables and strides, written out once."""
    scopes: list[dict[int, int]] = []
    tables: list[np.ndarray] = []
    for family in arrays.families:
        r = arrays.sizes[family.node]
        scope = {p: stride * r for p, stride in zip(family.parents, family.strides, strict=True)}
        scopes.append({**scope, family.node: 1})
        tables.append(family.table.ravel())
    for v, likelihood in seen.soft.items():
        scopes.append({v: 1})
        tables.append(np.asarray(likelihood, dtype=np.float64))
    begins = np.cumsum([0, *(table.size for table in tables)])
    holding: dict[int, list[int]] = {}
    for t, scope in enumerate(scopes):
        for v in scope:
            holding.setdefault(v, []).append(t)
    states, members, divisors, sizes, member_at = [], [], [], [], [0]
    touch_at, base, step_at, steps, other_at, others, strides = [0], [], [], [], [0], [], []
    end = 0
    for group in groups:
        own = [arrays.sizes[v] for v in group]
        grid = np.indices(own).reshape(len(own), -1)
        states.append(grid.shape[1])
        members += list(group)
        sizes += own
        divisors += [int(np.prod(own[i + 1 :], dtype=np.int64)) for i in range(len(own))]
        member_at.append(len(members))
        for t in dict.fromkeys(t for v in group for t in holding[v]):
            scope = scopes[t]
            steps.append(np.array([scope.get(v, 0) for v in group], dtype=np.int64) @ grid)
            step_at.append(end)
            end += grid.shape[1]
            base.append(int(begins[t]))
            outside = [(v, stride) for v, stride in scope.items() if v not in group]
            others += [v for v, _ in outside]
            strides += [stride for _, stride in outside]
            other_at.append(len(others))
        touch_at.append(len(base))

    def whole(numbers: list[int]) -> np.ndarray:
        return np.array(numbers, dtype=np.int64)

    return Units(
        np.concatenate(tables), whole(states), whole(member_at), whole(members), whole(divisors), whole(sizes),
        whole(touch_at), whole(base), whole(step_at), np.concatenate([np.empty(0, dtype=np.int64), *steps]),
        whole(other_at), whole(others), whole(strides),
    )  # fmt: skip
