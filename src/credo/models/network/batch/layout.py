"""`RowProgram`: one elimination order written out as integers, from which the kernel reads what each row needs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from credo.models.network.definition import NetworkDefinition
from credo.probability.factors.elimination.orders import elimination_orders
from credo.probability.factors.elimination.steps import Step, StepTree, forward

__all__ = ["HEADER", "ROOM", "RowProgram"]

#: integers before the arrays of a net: nodes, the table that is the answer, steps, then where each array begins
HEADER = 32
#: numbers that the kernel reports, before the arrays of its room
ROOM = 8
#: a megabyte a table
MOST_HOLES = 1 << 20
#: scores computed in search of an order, a fifth of what a single hard question is worth: rows that observe half of the
#: nodes leave graphs to which the best order of the whole fits no better than a good one
EFFORT = 100_000


@dataclass(frozen=True, eq=False)
class RowProgram:
    """Σ (or max) over a row's missing cells of the product of all tables, as products of two tables.

    order : the nodes by the kernel's numbers: parents before children
    net : what the kernel knows of the network, as integers ; tables : of all nodes end to end, in that order
    holes : by what is observed of a table's axes, whether it has a 0 there (see `_holes`)
    room_size : integers that the kernel works with ; n_steps : products at most

    The arrays of a net, in order: sizes; where each table's axes begin, the axes, strides of the tables given, where
    these begin; where each node's children begin, the children; steps (a, b); where the variables begin that go in each
    step, these; which of the tables given hold a 0; where the holes of each begin, their strides; which nodes are in a
    table with a 0 (the places of these last three stand after those of the room). The arrays of the room: needed,
    present, real, same, told, place, stack, two rows of strides, base, whole, starts, program.
    """

    order: tuple[str, ...]
    net: np.ndarray
    tables: np.ndarray
    holes: np.ndarray
    room_size: int
    n_steps: int

    @classmethod
    def of(cls, definition: NetworkDefinition, target: str | None) -> RowProgram:
        """For P(target | a row's other cells), or without a target for its total and its maximum."""
        number = {name: v for v, name in enumerate(definition.order)}
        sizes = [len(definition.states[name]) for name in definition.order]
        axes = [(*(number[p] for p in definition.parents[name]), number[name]) for name in definition.order]
        tree = _tree(axes, sizes, None if target is None else number[target])
        tables = [definition.tables[name] for name in definition.order]
        holes = [_holes(table) for table in tables]
        gone = [[v for v in _held(tree, step) if v not in tree.axes[step.out]] for step in tree.steps]
        near = np.zeros(len(sizes), dtype=np.int64)
        for scope, table in zip(axes, tables, strict=True):
            near[list(scope)] |= int(np.any(table == 0.0))
        arrays = [
            sizes,
            *_rows(tree.axes),
            [math.prod(table.shape[i + 1 :]) for table in tables for i in range(table.ndim)],
            np.cumsum([0, *(table.size for table in tables)])[:-1],
            *_rows([[number[c] for c in definition.children[name]] for name in definition.order]),
            [i for step in tree.steps for i in (step.a, step.b)],
            *_rows(gone),
            [int(np.any(table == 0.0)) for table in tables],
            np.cumsum([0, *(each.size for each in holes)])[:-1],
            [0 if each.size == 1 else math.prod(each.shape[i + 1 :]) for each in holes for i in range(each.ndim)],
            near,
        ]
        n, steps, formed = len(sizes), len(tree.steps), len(tree.axes)
        records = 8 * steps + 4 * sum(map(len, (*tree.axes[n:], *gone)))
        room = [n, n, formed, formed, formed, steps, n, n, n, n, n, steps, records]
        own = _places(HEADER, map(len, arrays))
        header = [n, tree.outputs[0] if target is not None else -1, steps, *own[:11], *_places(ROOM, room), *own[11:]]
        header += [0] * (HEADER - len(header))
        net = np.concatenate([np.asarray(each, dtype=np.int64) for each in (header, *arrays)])
        flat = np.concatenate([table.ravel() for table in tables])
        holed = np.concatenate([each.ravel() for each in holes])
        return cls(definition.order, net, flat, holed, ROOM + sum(room), steps)


def _holes(table: np.ndarray) -> np.ndarray:
    """Whether a 0 is left where some axes are observed: each axis has one place more, the first, for "not observed".

    Of very large tables one answer for all: yes, if there is a 0 anywhere.
    """
    found = table == 0.0
    if not found.any() or math.prod(n + 1 for n in table.shape) > MOST_HOLES:
        return found.any(keepdims=True)
    for axis in range(table.ndim):
        found = np.concatenate([found.any(axis=axis, keepdims=True), found], axis=axis)
    return found


def _places(start: int, lengths) -> list[int]:  # type: ignore[no-untyped-def]
    return np.cumsum([start, *lengths])[:-1].tolist()


def _tree(axes: Sequence[tuple[int, ...]], sizes: Sequence[int], target: int | None) -> StepTree:
    """The best of the portfolio's orders, the target last."""
    weight = [math.log2(n) for n in sizes]
    masks = [sum(1 << v for v in scope) for scope in axes]
    goal = () if target is None else (target,)
    hidden = sum(1 << v for v in range(len(sizes)) if v != target)
    orders = elimination_orders(masks, weight, [hidden] if hidden else [], effort=EFFORT)
    trees = [forward(axes, order, goal, weight, hidden, 0) for order in orders or [[]]]
    return min(trees, key=lambda tree: tree.entries(weight))


def _held(tree: StepTree, step: Step) -> list[int]:
    """Variables of both tables of a step, in the order of its first."""
    return list(dict.fromkeys((*tree.axes[step.a], *(tree.axes[step.b] if step.b >= 0 else ()))))


def _rows(lists: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Where each list begins (and the last ends), and all end to end."""
    starts = np.cumsum([0, *map(len, lists)])
    return starts, np.array([i for each in lists for i in each], dtype=np.int64)
