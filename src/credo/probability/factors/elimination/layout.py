"""Steps written out for the kernel: where each table lies, and the strides of every loop.

A step becomes a record of integers,

    length, kind, a (buffer, offset, number), b (the same), out (offset, size, number), columns, counted,
    loops, slices of a, slices of b;  then (size, stride of a, of b, of out) a loop, outermost first;
    then (evidence, stride) a slice

whose meaning is out[…] = Σ a[…] b[…], a loop without a stride of `out` being summed (or maximised) over. Neighbouring
axes that all three tables step through evenly are one loop, so that two or three remain of most.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from credo.probability.factors.elimination.steps import Step

__all__ = [
    "ADD",
    "EXTRA",
    "HEAD",
    "MATRICES",
    "MAX",
    "ONE",
    "TABLES",
    "WORK",
    "Place",
    "Space",
    "cut",
    "dense",
    "encode",
]

#: buffers: the tables given, the room to work, the likelihoods of a call
TABLES, WORK, EXTRA = 0, 1, 2
#: what a step does with products that fall on one entry
ADD, MAX, MATRICES = 0, 1, 2
#: a product of matrices with as many entries to add up is left to BLAS, if none of its sides is shorter than `SIDE`
LARGE, SIDE = 1 << 22, 16
#: steps that make a loop worth its start
LONG = 8
#: integers before the loops of a record
HEAD = 17


@dataclass(frozen=True)
class Place:
    """Where a table lies: buffer, offset, {axis: stride}, and what the evidence adds to the offset."""

    buffer: int
    offset: int
    strides: dict[int, int]
    slices: tuple[tuple[int, int], ...] = ()


#: room to work begins with a 1, which stands in for a second table
ONE = Place(WORK, 0, {})


class Space:
    """Hands out stretches of the room to work; those given back are used again, best fit first."""

    def __init__(self) -> None:
        self.size = 1
        self.free: list[tuple[int, int]] = []  # size, offset

    def take(self, size: int) -> int:
        for place, (room, offset) in enumerate(self.free):
            if room >= size:
                del self.free[place]
                if room > size:
                    self._put(room - size, offset + size)
                return offset
        offset = self.size
        self.size += size
        return offset

    def give(self, offset: int, size: int) -> None:
        for place, (room, start) in enumerate(self.free):
            if start + room == offset or offset + size == start:
                del self.free[place]
                return self.give(min(start, offset), room + size)
        return self._put(size, offset)

    def _put(self, size: int, offset: int) -> None:
        bisect.insort(self.free, (size, offset))


def encode(
    step: Step,
    axes: Sequence[int],
    out_axes: Sequence[int],
    sizes: Sequence[int],
    places: tuple[Place, Place],
    offset: int,
    columns: int,
    numbers: tuple[int, int, int],
    counted: bool,
) -> list[int]:
    """The record of one step.

    axes : of a and b together, in their common order ; out_axes : of the result, which lies densely in this order
    columns : innermost entries that are scaled apart (the batch) ; numbers : of the three tables among those formed
    """
    a, b = places
    strides_out = dense(out_axes, sizes)
    size = math.prod(sizes[v] for v in out_axes)
    loops = [(sizes[v], a.strides.get(v, 0), b.strides.get(v, 0), strides_out.get(v, 0)) for v in axes if sizes[v] > 1]
    loops = _nested(_merged(loops))
    if loops[-1][1] == 0 and loops[-1][2] == 1:  # the kernel expects the dense one first
        a, b, numbers = b, a, (numbers[1], numbers[0], numbers[2])
        loops = [(n, q, p, r) for n, p, q, r in loops]
    kind = MAX if step.maximise and len(out_axes) < len(axes) else MATRICES if _is_matrices(loops) else ADD
    record = [0, kind, a.buffer, a.offset, numbers[0], b.buffer, b.offset, numbers[1], offset, size, numbers[2]]
    record += [columns, int(counted), len(loops), len(a.slices), len(b.slices), 0]
    for row in (*loops, *a.slices, *b.slices):
        record += row
    record[0] = len(record)
    return record


def _is_matrices(loops: Sequence[tuple[int, ...]]) -> bool:
    """Whether a step is one large product of two matrices."""
    held = sorted((bool(a), bool(b), bool(out)) for _, a, b, out in loops)
    fits = held == [(False, True, True), (True, False, True), (True, True, False)]
    return fits and min(loop[0] for loop in loops) >= SIDE and math.prod(loop[0] for loop in loops) >= LARGE


def _merged(loops: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = []
    for n, p, q, r in loops:
        if found:
            m, a, b, out = found[-1]
            if a == n * p and b == n * q and out == n * r:
                found[-1] = (m * n, p, q, r)
                continue
        found.append((n, p, q, r))
    return found


def _nested(loops: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """At least two loops: far steps through the result outside, then what is summed over, then near steps.

    The two innermost are what the kernel does fast, so that they should be long; near steps keep the result in cache.
    """
    if len(loops) < 2:
        return [(1, 0, 0, 0)] * (2 - len(loops)) + loops
    moving = [loop for loop in loops if loop[3]]  # the result is dense: far steps come first
    still = [loop for loop in loops if not loop[3]]
    longest = max(moving, default=(0,))[0]
    near: list[tuple[int, ...]] = []
    if still:
        if len(still) > 1:
            still.sort(key=lambda loop: -loop[1] - loop[2])
        if longest < LONG:
            inner = max(still, key=lambda loop: loop[0])
            if inner[0] >= longest:
                still.remove(inner)
                near = [inner]
    while moving and len(near) < 2:
        near.insert(0, _nearest(moving))
    return [*moving, *still, *near]


def _nearest(moving: list[tuple[int, ...]]) -> tuple[int, ...]:
    """Take out the nearest of the long loops, or the longest if none is, of several the nearest."""
    best = len(moving) - 1
    for place in range(best, -1, -1):
        if moving[place][0] >= LONG:
            return moving.pop(place)
        if moving[place][0] > moving[best][0]:
            best = place
    return moving.pop(best)


def cut(records: Sequence[Sequence[int]]) -> list[np.ndarray]:
    """Records end to end, each product of matrices alone."""
    runs = itertools.groupby(enumerate(records), key=lambda item: item[0] if item[1][1] == MATRICES else -1)
    return [np.array([n for _, record in run for n in record], dtype=np.int64) for _, run in runs]


def dense(axes: Sequence[int], sizes: Sequence[int]) -> dict[int, int]:
    """Strides of a table that lies densely."""
    strides, stride = {}, 1
    for v in reversed(axes):
        strides[v] = stride
        stride *= sizes[v]
    return strides
