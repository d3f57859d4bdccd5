"""Sums over all states of a product of tables: variables are eliminated in rounds, many at a time.

A table holds log φ for d variables at once and m rows: shape (K_1, …, K_d, *batch, m), row r being about the variables
variables[:, r]. What is found is log Σ_z Π φ(z), its slopes by every entry (the posterior probabilities of the states
of those variables), marginals, and draws.

A round takes variables that share no table, those with fewest neighbours first, and sums each out:

    M(neighbours) = log Σ_z Π of the tables about z            a table about the neighbours

Cells of a mixture are one round; a chain of T is about log₂ T rounds, for every other state is taken. Variables alike
in their number of states and of their neighbours' are one array operation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from credo.errors import MemoryLimitError

__all__ = ["Elimination", "Scope"]

# Entries that one step may have a variable: states of it times those of all its neighbours.
MOST_ENTRIES = 2**20
# A round takes variables with up to this many neighbours together: the ends and the inside of a chain.
FEW = 2


@dataclass(frozen=True, eq=False)
class Scope:
    """What one table is about: variables (d, m) by number."""

    variables: np.ndarray


@dataclass(frozen=True, eq=False)
class _Input:
    """Rows of a table that enter a step; targets : the step's row for each; axes : the step's axis of each of the
    table's; total : a sparse map that adds up rows with one target, None where targets differ."""

    table: int
    rows: np.ndarray | slice
    targets: np.ndarray | slice
    axes: tuple[int, ...]
    total: Any

    @cached_property
    def order(self) -> list[int]:
        """The table's axes as the step has them."""
        return sorted(range(len(self.axes)), key=self.axes.__getitem__)

    @cached_property
    def back(self) -> list[int]:
        """The step's axes as the table has them."""
        return sorted(range(len(self.axes)), key=self.order.__getitem__)


@dataclass(frozen=True, eq=False)
class _Step:
    """variables (m,) summed out; neighbours (d, m); cards of both; inputs; out : the number of the new table"""

    variables: np.ndarray
    neighbours: np.ndarray
    cards: tuple[int, ...]
    inputs: tuple[_Input, ...]
    out: int


class Elimination:
    """The plan of a sum.

    cards : number of states of each variable (V,); scopes : of the tables, in order
    """

    def __init__(self, cards: np.ndarray, scopes: Sequence[Scope], *, name: str = "states") -> None:
        self.cards, self.scopes, self.name = np.asarray(cards), tuple(scopes), name
        self.steps: list[_Step] = []
        self._plan()

    # -- planning --------------------------------------------------------------------------------------------------

    def _plan(self) -> None:
        variables = [scope.variables for scope in self.scopes]
        neighbours: dict[int, set[int]] = {}
        for scope in variables:
            if len(scope) > 1:
                for row in scope.T.tolist():
                    for v in row:
                        neighbours.setdefault(v, set()).update(row)
        for v, near in neighbours.items():
            near.discard(v)
        left = np.ones(len(self.cards), dtype=bool)
        alive = [np.ones(scope.shape[1], dtype=bool) for scope in variables]
        while left.any():
            groups = self._round(left, neighbours)
            for group in groups:
                self._step(group, neighbours, variables, alive)
                left[group] = False
            for v in (v for group in groups for v in group.tolist()):  # its neighbours now share a table
                near = neighbours.pop(v, set())
                for u in near:
                    neighbours[u] |= near
                    neighbours[u] -= {u, v}
        self._sizes = [scope.shape[1] for scope in variables]

    def _round(self, left: np.ndarray, neighbours: dict[int, set[int]]) -> list[np.ndarray]:
        """Variables to sum out now, in groups alike."""
        apart = left.copy()
        apart[list(neighbours)] = False
        groups: dict[tuple[int, ...], list[int]] = {}
        for v in np.flatnonzero(apart).tolist():
            groups.setdefault((int(self.cards[v]),), []).append(v)
        linked = {v: len(near) for v, near in neighbours.items() if left[v]}
        if linked:
            limit = max(FEW, min(linked.values()))
            blocked: set[int] = set()
            for v in sorted(linked, key=lambda v: (linked[v], v)):
                if linked[v] > limit:
                    break
                if v not in blocked:
                    blocked |= neighbours[v]
                    key = (int(self.cards[v]), *(int(self.cards[u]) for u in sorted(neighbours[v])))
                    groups.setdefault(key, []).append(v)
        return [np.array(group) for group in groups.values()]

    def _step(
        self, group: np.ndarray, neighbours: dict[int, set[int]], variables: list[np.ndarray], alive: list[np.ndarray]
    ) -> None:
        near = np.array([sorted(neighbours.get(v, ())) for v in group.tolist()], dtype=np.int64).T
        near = near.reshape(-1, group.size)
        cards = tuple(int(k) for k in self.cards[[group[0], *near[:, 0]]])
        entries = int(np.prod(cards, dtype=np.float64))
        if entries > MOST_ENTRIES:
            raise MemoryLimitError(
                f"Model: {self.name} depend on each other so widely that {entries:.2g} joint states have to be held "
                "together.", value=8 * entries * group.size,
                remedy="Fewer states, or fewer nodes that depend on each other.",
            )  # fmt: skip
        place = np.full(len(self.cards), -1)
        place[group] = np.arange(group.size)
        inputs: list[_Input] = []
        for t, scope in enumerate(variables):
            hit = (place[scope] >= 0) & alive[t]
            for axis in range(len(scope)):
                rows = np.flatnonzero(hit[axis])
                if rows.size:
                    inputs += _inputs(t, rows, place[scope[axis, rows]], scope[:, rows], group, near)
                    alive[t][rows] = False
        out = len(variables) if len(near) else -1
        if len(near):
            variables.append(near)
            alive.append(np.ones(group.size, dtype=bool))
        self.steps.append(_Step(group, near, cards, tuple(inputs), out))

    def joint_of_all(self, tables: Sequence[np.ndarray]) -> np.ndarray:
        """Σ of tables about single variables, (K, *batch, V), without a sum over states."""
        assert len(self.steps) == 1, "variables of one number of states that share no table"
        return self.joint_of(self.steps[0], tables)

    def joint_of(self, step: _Step, tables: Sequence[np.ndarray]) -> np.ndarray:
        """Σ of all tables about the variables of a step, (K, K_1 …, *batch, m)."""
        return _joint(step, tables)

    def constants(self, tables: Sequence[np.ndarray]) -> Any:
        """The sum (*batch,) of tables about no variable."""
        return sum((t.sum(axis=-1) for t, s in zip(tables, self.scopes, strict=True) if not len(s.variables)), 0.0)

    def spread_to_all(self, slopes: np.ndarray) -> list[np.ndarray]:
        """The slopes (K, size) by that sum, as slopes by each table."""
        found: list[Any] = [None if len(s.variables) else np.ones(s.variables.shape[1]) for s in self.scopes]
        for each in self.steps[0].inputs:
            part = slopes[..., each.targets]
            if isinstance(each.rows, slice) and part.shape[-1] == self._sizes[each.table]:
                found[each.table] = part
                continue
            if found[each.table] is None:
                found[each.table] = np.zeros((*part.shape[:-1], self._sizes[each.table]))
            found[each.table][..., each.rows] = part
        return found

    # -- computing -------------------------------------------------------------------------------------------------

    def log_sum(self, tables: Sequence[np.ndarray], *, keep: bool = False) -> tuple[Any, list[Any]]:
        """log Σ over states (*batch,), and with `keep` each step's table and sum, for what follows.

        Tables all have the batch's axes, of length 1 where they do not vary.
        """
        held = list(tables)
        kept: list[Any] = []
        total: Any = self.constants(tables)
        for step in self.steps:
            joint = _joint(step, held)
            message = log_sum_exp(joint)
            if keep:
                kept.append((joint, message))
            if step.out >= 0:
                held.append(message)
            else:
                total = total + message.sum(axis=-1)
        return total, kept

    def _weights(self, kept: Sequence[Any]) -> Iterator[tuple[_Step, np.ndarray]]:
        """Each step with the probabilities of the states of its variables and their neighbours together, last first."""
        found: dict[int, np.ndarray] = {}
        for step, (joint, message) in reversed(list(zip(self.steps, kept, strict=True))):
            weights = _softmax(joint, message)
            if step.out >= 0:
                weights *= found.pop(step.out)
            for each in step.inputs:
                if each.table >= len(self.scopes):
                    part = _reduced(weights, each, len(step.cards))
                    if each.table not in found:
                        found[each.table] = np.zeros((*part.shape[:-1], self._sizes[each.table]))
                    found[each.table][..., each.rows] = part[..., each.targets]
            yield step, weights

    def slopes(self, tables: Sequence[np.ndarray], kept: Sequence[Any]) -> list[np.ndarray]:
        """∂ log Σ by every entry of the tables, which have no batch: the probability of those states together."""
        found: list[Any] = [None if len(s.variables) else np.ones(t.shape) for t, s in zip(tables, self.scopes)]
        for step, weights in self._weights(kept):
            for each in step.inputs:
                if each.table >= len(tables):
                    continue
                part = _reduced(weights, each, len(step.cards))[..., each.targets]
                if found[each.table] is None:
                    if part.shape == tables[each.table].shape and isinstance(each.rows, slice):
                        found[each.table] = part
                        continue
                    found[each.table] = np.zeros(tables[each.table].shape)
                found[each.table][..., each.rows] = part
        return found

    def marginals(self, kept: Sequence[Any]) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each step its variables (m,) and the probabilities of their states (K, *batch, m)."""
        return [(step.variables, weights.sum(axis=tuple(range(1, len(step.cards)))))
                for step, weights in self._weights(kept)]  # fmt: skip

    def sample(self, kept: Sequence[Any], batch: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        """One draw of all variables (*batch, V), last eliminated first."""
        states = np.zeros((*batch, len(self.cards)), dtype=np.int64)
        for step, (joint, _) in reversed(list(zip(self.steps, kept, strict=True))):
            logits = np.broadcast_to(joint, (*step.cards, *batch, step.variables.size))
            if len(step.neighbours):
                given = [states[..., near] for near in step.neighbours]
                at = np.indices((*batch, step.variables.size), sparse=True)
                logits = np.moveaxis(np.moveaxis(logits, 0, -1)[(*given, *at)], -1, 0)
            states[..., step.variables] = drawn(logits, rng)
        return states


def _inputs(
    table: int, rows: np.ndarray, targets: np.ndarray, scope: np.ndarray, group: np.ndarray, near: np.ndarray
) -> list[_Input]:
    """Rows of one table, apart by the axes that its variables have in the step."""
    d = len(scope)
    axes = np.zeros((d, rows.size), dtype=np.int64)
    for k in range(d):
        for axis in range(len(near)):
            axes[k][near[axis, targets] == scope[k]] = axis + 1
        axes[k][group[targets] == scope[k]] = 0
    patterns, which = np.unique(axes, axis=1, return_inverse=True)
    out = []
    for p, pattern in enumerate(patterns.T):
        at = np.flatnonzero(np.ravel(which) == p)
        r, t = rows[at], targets[at]
        total = None
        if np.unique(t).size < t.size:
            total = sp.csr_array((np.ones(t.size), (np.arange(t.size), t)), shape=(t.size, group.size))
        out.append(_Input(table, _slice(r), _slice(t), tuple(int(a) for a in pattern), total))
    return out


def _slice(at: np.ndarray) -> np.ndarray | slice:
    """Numbers that follow each other as a slice, which copies nothing."""
    whole = at.size and np.array_equal(at, np.arange(at[0], at[0] + at.size))
    return slice(int(at[0]), int(at[0]) + at.size) if whole else at


def _joint(step: _Step, held: Sequence[np.ndarray]) -> np.ndarray:
    """The sum of all tables about a step's variables, (K, K_1 …, *batch, m)."""
    n, size = len(step.cards), step.variables.size
    joint: Any = None
    for each in step.inputs:
        table = held[each.table]
        part = table[..., each.rows]
        batch = part.ndim - len(each.axes)
        if len(each.axes) > 1:
            part = part.transpose(*each.order, *range(len(each.axes), part.ndim))
        if len(each.axes) < n:
            index = tuple(slice(None) if a in each.axes else None for a in range(n))
            part = part[index + (slice(None),) * batch]
        if each.total is not None:
            part = (part.reshape(-1, part.shape[-1]) @ each.total).reshape(*part.shape[:-1], size)
        elif not (isinstance(each.targets, slice) and part.shape[-1] == size):
            whole = np.zeros((*part.shape[:-1], size))
            whole[..., each.targets] = part
            part = whole
        joint = part if joint is None else joint + part
    assert joint is not None, "every variable has its own law's table"
    shape = (*step.cards, *joint.shape[n:])
    return joint if joint.shape == shape else np.broadcast_to(joint, shape)


def _reduced(weights: np.ndarray, each: _Input, n: int) -> np.ndarray:
    """Summed over the step's axes that a table does not have, in the order of its own."""
    d = len(each.axes)
    if d < n:
        weights = weights.sum(axis=tuple(a for a in range(n) if a not in each.axes))
    return weights if d < 2 else weights.transpose(*each.back, *range(d, weights.ndim))


def log_sum_exp(joint: np.ndarray) -> np.ndarray:
    """log Σ exp along the first axis; −∞ where all are."""
    top = joint.max(axis=0)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(joint - top).sum(axis=0)) + top


def _softmax(joint: np.ndarray, message: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return np.exp(joint - np.where(np.isfinite(message), message, 0.0))


def drawn(logits: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One number 0 … K − 1 for each column of logits (K, …), which may be a constant short of normalised."""
    with np.errstate(invalid="ignore"):
        p = np.exp(logits - logits.max(axis=0))
    total = np.cumsum(p, axis=0)
    u = rng.random(logits.shape[1:]) * total[-1]
    return np.minimum((total[:-1] <= u).sum(axis=0), len(logits) - 1)
