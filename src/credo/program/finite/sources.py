"""`Lowered`: finite nodes, and what is known of them as tables filled from values of a model's expressions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.program.finite.elimination import Scope
from credo.program.finite.states import state_values
from credo.program.nodes import Node
from credo.program.ops import unbroadcast

__all__ = ["Lowered", "Rows"]

#: variables (d, rows) of a group, which rows (None: all), which configurations (None: all), numbers of states
Rows = tuple[np.ndarray, np.ndarray | None, np.ndarray | None, tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class _Group:
    """Rows of a source about the same colours: which configurations they need, and the tables' number."""

    rows: np.ndarray | None
    choice: np.ndarray | None
    cards: tuple[int, ...]
    table: int


@dataclass(frozen=True, eq=False)
class _Source:
    """One factor, by its name: `count` expressions from the parent `first` on, each over `stacked` axes of states in
    front (there is one expression then), over cells of this shape, and over `packed` axes of states behind them."""

    owner: str
    first: int
    count: int
    stacked: tuple[int, ...]
    shape: tuple[int, ...]
    packed: tuple[int, ...]
    groups: tuple[_Group, ...]

    def tables(self, values: Sequence[np.ndarray], lead: Sequence[bool], batch: int) -> list[np.ndarray]:
        """The table of each group (K_1, …, *batch, rows); batch : axes, 0 or 1."""
        mine, has = values[self.first : self.first + self.count], lead[self.first : self.first + self.count]
        n = next((len(v) for v, h in zip(mine, has) if h), 1)
        front, back = len(self.stacked), len(self.packed)
        axes = front + len(self.shape) + back
        whole = np.empty((self.count, *self.stacked, *self.packed, *(n,) * batch, *self.shape))
        for c, (v, h) in enumerate(zip(mine, has)):
            if v.ndim - int(h) != axes:  # axes of length 1 behind those in front
                v = v.reshape(_with_axes(v.shape, int(h) + front, axes + int(h)))
            if batch:
                v = np.moveaxis(v, 0, front) if h else np.expand_dims(v, front)
            whole[c] = (
                v.transpose(*range(front), *range(v.ndim - back, v.ndim), *range(front, v.ndim - back)) if back else v
            )
        whole = whole.reshape(-1, *self.packed, *(n,) * batch, int(np.prod(self.shape, dtype=np.int64)))
        out = []
        for group in self.groups:
            table = whole if group.choice is None else whole[group.choice]
            table = table if group.rows is None else table[..., group.rows]
            out.append(table.reshape(*group.cards, *table.shape[1 + back :]))
        return out

    def gradients(self, slopes: Sequence[np.ndarray], values: Sequence[np.ndarray], g: float, varies: Any) -> list[Any]:
        """Of the parents, from the slopes by each group's table."""
        front, back = len(self.stacked), len(self.packed)
        if not any(varies[self.first : self.first + self.count]):
            return [None] * self.count
        whole = self._whole([s.reshape(-1, *self.packed, s.shape[-1]) for s in slopes])
        whole = whole.reshape(self.count, *self.stacked, *self.packed, *self.shape)
        if back:
            away = 1 + front + back
            whole = whole.transpose(*range(1 + front), *range(away, whole.ndim), *range(1 + front, away))
        out: list[Any] = []
        for c in range(self.count):
            shape = values[self.first + c].shape
            level = _with_axes(shape, front, whole.ndim - 1)
            out.append(unbroadcast(g * whole[c], level).reshape(shape) if varies[self.first + c] else None)
        return out

    def _whole(self, parts: Sequence[np.ndarray]) -> np.ndarray:
        """Of all configurations and cells, from those of each group."""
        if len(parts) == 1 and self.groups[0].rows is None and self.groups[0].choice is None:
            return parts[0]
        count = self.count * int(np.prod(self.stacked, dtype=np.int64))
        cells = int(np.prod(self.shape, dtype=np.int64))
        whole = np.zeros((count, *self.packed, cells))
        for group, part in zip(self.groups, parts):
            choice = np.arange(count) if group.choice is None else group.choice
            rows = np.arange(cells) if group.rows is None else group.rows
            for c, each in zip(choice, part):
                whole[c][..., rows] += each
        return whole


def _with_axes(shape: tuple[int, ...], front: int, total: int) -> tuple[int, ...]:
    """So many axes in all, those of length 1 behind the front put in or left out."""
    lacks = total - len(shape)
    return (*shape[:front], *(1,) * lacks, *shape[front + max(-lacks, 0) :])


class Lowered:
    """Finite nodes with all factors about them.

    nodes; states : the values (K,) of each; starts : the number of its first cell; parents : the expressions that the
    tables hold; elimination : the plan of their sum
    """

    def __init__(self, nodes: Sequence[Node], name: str) -> None:
        self.nodes = tuple(nodes)
        self.states = [state_values(node) for node in nodes]
        ends = np.cumsum([0, *(node.size for node in nodes)])
        self.starts = [int(e) for e in ends[:-1]]
        self.cards = np.repeat([len(s) for s in self.states], [node.size for node in nodes])
        self.parents: list[Node] = []
        self.sources: list[_Source] = []
        self.scopes: list[Scope] = []
        self.name = name
        self.elimination: Any = None

    def tables(self, values: Sequence[np.ndarray], lead: Sequence[bool]) -> list[np.ndarray]:
        """All tables from the values of the parents."""
        batch = int(any(lead))
        return [table for source in self.sources for table in source.tables(values, lead, batch)]

    def gradients(self, slopes: Sequence[np.ndarray], values: Sequence[np.ndarray], g: float, varies: Any) -> list[Any]:
        """Of the parents, from the slopes of the sum by all tables."""
        found: list[Any] = []
        for source in self.sources:
            mine = [slopes[group.table] for group in source.groups]
            found += source.gradients(mine, values, g, varies)
        return found

    def cells(self, by_variable: np.ndarray) -> dict[str, np.ndarray]:
        """(..., variables) by node: (..., *shape)."""
        batch = by_variable.shape[:-1]
        return {str(node.name): by_variable[..., start : start + node.size].reshape(*batch, *node.shape)
                for node, start in zip(self.nodes, self.starts)}  # fmt: skip

    def add(
        self, owner: str, expressions: Sequence[Node], groups: Sequence[Rows], shape: tuple[int, ...], *,
        stacked: tuple[int, ...] = (), packed: tuple[int, ...] = (),
    ) -> None:  # fmt: skip
        """A source; groups : (variables (d, rows), rows, choice, cards)."""
        made = []
        for variables, rows, choice, cards in groups:
            made.append(_Group(rows, choice, cards, len(self.scopes)))
            self.scopes.append(Scope(variables))
        self.sources.append(_Source(owner, len(self.parents), len(expressions), stacked, shape, packed, tuple(made)))
        self.parents += expressions
