"""From an elimination order to a tree of products of two tables, each with the sums or maxima that it allows.

Variables are numbers, scopes are bit masks. Axes of a formed table lie in the order of elimination, targets last, so
that tables that meet agree on their common axes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from credo.probability.factors.elimination.orders import bits

__all__ = ["NOTHING", "Step", "StepTree", "backward", "forward"]

#: in place of the second table of a step that has one only
NOTHING = -1


@dataclass(frozen=True)
class Step:
    """table `out` = Σ or max over the axes that `out` lacks of tables a × b."""

    a: int
    b: int
    out: int
    maximise: bool = False


@dataclass
class StepTree:
    """Tables by number, the first those given; `axes` lists each one's variables, outermost first.

    `roots` are the tables without axes that are left: their product is the total. `outputs` are the tables asked for.
    """

    axes: list[tuple[int, ...]]
    steps: list[Step] = field(default_factory=list)
    roots: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    n_forward: int = 0

    def entries(self, weight: Sequence[float]) -> float:
        """Of all products formed."""
        held = (self.axes[step.a] + (self.axes[step.b] if step.b != NOTHING else ()) for step in self.steps)
        return sum(math.exp2(sum(weight[v] for v in set(axes))) for axes in held)


class _Builder:
    def __init__(
        self, tree: StepTree, rank: dict[int, int], weight: Sequence[float], summed: int, maximised: int
    ) -> None:
        self.tree, self.rank, self.weight = tree, rank, weight
        self.summed, self.maximised = summed, maximised
        self.masks = [sum(1 << v for v in axes) for axes in tree.axes]
        self.logs = [self.log_size(mask) for mask in self.masks]
        self.holders: dict[int, set[int]] = {}
        self.live = {i for i, mask in enumerate(self.masks) if mask}
        for i in self.live:
            for v in bits(self.masks[i]):
                self.holders.setdefault(v, set()).add(i)

    def log_size(self, mask: int) -> float:
        return sum(self.weight[v] for v in bits(mask))

    def removable(self, a: int, b: int) -> tuple[int, bool]:
        """Variables that no other table holds and whose turn has come; and whether they are maximised."""
        both = self.masks[a] | (self.masks[b] if b != NOTHING else 0)
        own, holders, pair, rest = 0, self.holders, {a, b}, both & (self.summed | self.maximised)
        while rest:
            low = rest & -rest
            rest ^= low
            if holders[low.bit_length() - 1] <= pair:
                own |= low
        if own & self.summed:
            return own & self.summed, False
        return (0, False) if both & self.summed else (own, own != 0)

    def combine(self, a: int, b: int) -> int:
        gone, maximise = self.removable(a, b)
        mask = (self.masks[a] | (self.masks[b] if b != NOTHING else 0)) & ~gone
        out = len(self.masks)
        self.masks.append(mask)
        self.logs.append(self.log_size(mask))
        self.tree.axes.append(tuple(sorted(bits(mask), key=self.rank.__getitem__)))
        self.tree.steps.append(Step(a, b, out, maximise))
        for i in (a, b):
            if i != NOTHING:
                self.live.discard(i)
                for v in bits(self.masks[i]):
                    self.holders[v].discard(i)
        if mask:
            self.live.add(out)
            for v in bits(mask):
                self.holders[v].add(out)
        else:
            self.tree.roots.append(out)
        return out

    def absorb(self) -> None:
        """Multiply each table over some of another's variables into the smallest such: then these may go at once."""
        for i in sorted(self.live, key=lambda i: (self.logs[i], i)):
            if i not in self.live:
                continue
            over = set.intersection(*(self.holders[v] for v in bits(self.masks[i]))) - {i}
            if over:
                self.combine(i, min(over, key=lambda j: (self.logs[j], j)))

    def eliminate(self, v: int) -> None:
        while self.holders.get(v):
            bucket = sorted(self.holders[v], key=lambda i: (self.logs[i], i))
            if len(bucket) == 1:
                self.combine(bucket[0], NOTHING)
                continue
            self.combine(*self.shed(*self.pair(bucket)))

    def pair(self, bucket: list[int]) -> tuple[int, int]:
        """The two tables whose product is smallest; of many, the smallest and its best partner."""
        if len(bucket) == 2:
            return bucket[0], bucket[1]
        firsts = bucket if len(bucket) <= 8 else bucket[:1]
        best = (float("inf"), 0.0, bucket[0], bucket[1])
        for place, a in enumerate(firsts):
            mask, own = self.masks[a], self.logs[a]
            for b in bucket[place + 1 :][:64]:
                grown = own + self.log_size(self.masks[b] & ~mask)
                # of equal products the one that rids us of the larger tables
                best = min(best, (grown, -own - self.logs[b], a, b))
        return best[2], best[3]

    def shed(self, a: int, b: int) -> tuple[int, int]:
        """Sum first what only one of the two holds, where the other would make that larger."""
        found = []
        for mine, other in ((a, b), (b, a)):
            gone, _ = self.removable(mine, NOTHING)
            found.append(self.combine(mine, NOTHING) if gone and self.masks[other] & ~self.masks[mine] else mine)
        return found[0], found[1]

    def join(self, targets: tuple[int, ...]) -> int:
        """What is left, as one table over the targets in their order."""
        while len(self.live) > 1:
            left = sorted(self.live, key=lambda i: (self.logs[i], i))
            self.combine(*self.pair(left))
        if not self.live:
            return NOTHING
        last = next(iter(self.live))
        made_here = bool(self.tree.steps) and self.tree.steps[-1].out == last
        return last if made_here and self.tree.axes[last] == targets else self.combine(last, NOTHING)


def forward(
    axes: Sequence[tuple[int, ...]],
    order: Sequence[int],
    targets: tuple[int, ...],
    weight: Sequence[float],
    summed: int,
    maximised: int,
    absorb: bool = False,
) -> StepTree:
    """Eliminate in this order; one output over the targets (`NOTHING` if no table is left).

    absorb : first multiply tables into those over more variables, which can be better or worse
    """
    tree = StepTree(list(axes))
    rank = {v: place for place, v in enumerate([*order, *targets])}
    builder = _Builder(tree, rank, weight, summed, maximised)
    for i, scope in enumerate(axes):
        if not scope:  # all its variables are observed: a number
            builder.combine(i, NOTHING)
    if absorb:
        builder.absorb()
    for v in order:
        builder.eliminate(v)
    tree.outputs = [builder.join(targets)]
    tree.n_forward = len(tree.steps)
    return tree


def backward(tree: StepTree, wanted: Sequence[int], rank: dict[int, int], kept: int, maximise: bool) -> None:
    """Add steps for the marginal of every variable wanted: the derivatives of the total, from the roots down.

    In a step out = Σ a b the derivative by a is that by `out` times b, summed over what a lacks: again a step. The
    marginal of v is Σ φ ∂total/∂φ over any table φ that holds v. So the two passes of a junction tree are one plan,
    read forwards and then backwards. `kept` is a mask of axes (the batch) that every marginal keeps.
    """
    parent = {i: step for step in tree.steps for i in (step.a, step.b) if i != NOTHING}
    masks = [sum(1 << v for v in axes) for axes in tree.axes]
    host: dict[int, int] = {}
    for i, axes in enumerate(tree.axes):  # the table with fewest axes that holds v; of equal ones the last formed
        for v in axes:
            if v not in host or len(axes) <= len(tree.axes[host[v]]):
                host[v] = i
    adjoint: dict[int, int] = {}

    def form(a: int, b: int, mask: int) -> int:
        masks.append(mask)
        tree.axes.append(tuple(sorted(bits(mask), key=rank.__getitem__)))
        tree.steps.append(Step(a, b, len(masks) - 1, maximise))
        return len(masks) - 1

    def derivative(i: int) -> int:
        """Of the total by table i; NOTHING stands for 1."""
        path = []
        while i in parent and i not in adjoint:
            path.append(i)
            i = parent[i].out
        above = adjoint.get(i, NOTHING)
        for i in reversed(path):
            other = parent[i].b if parent[i].a == i else parent[i].a
            if other != NOTHING:
                both = masks[other] | (masks[above] if above != NOTHING else 0)
                if above != NOTHING or both & ~masks[i]:
                    above = form(other, above, both & (masks[i] | kept))
                else:
                    above = other
            adjoint[i] = above
        return above

    tree.outputs = []
    for v in wanted:
        above = derivative(host[v])
        both = masks[host[v]] | (masks[above] if above != NOTHING else 0)
        tree.outputs.append(form(host[v], above, both & (kept | 1 << v)))
