"""Which cells of finite nodes each cell of an expression depends on, as boolean matrices; and colours.

A factor's table holds its density at every state of the cells it touches. Were they tried one by one, the
expression would be computed once a cell and state. Cells that no factor's cell touches together may change together
(Curtis, Powell and Reid 1974 do so with columns of a Jacobian): they get one colour, and the expression is computed
once for every choice of states of the colours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from credo.errors import UnavailableError
from credo.program.evaluate import Program
from credo.program.nodes import Node, described
from credo.program.ops import OPS
from credo.program.passes.affine import dependencies, matmul_map, repeats, sparse_map

__all__ = ["Touching", "colours_of"]

Pattern = Any  # a csr array (cells, variables), or None where nothing is touched


class Touching:
    """The cells of finite nodes that expressions depend on.

    starts : number of a finite node → the number of its first cell among all `size` cells
    """

    def __init__(self, starts: Mapping[int, int], size: int) -> None:
        self.starts, self.size = dict(starts), size
        self._memo: dict[int, frozenset[int]] = {}
        self._known: dict[int, Pattern] = {}

    def nodes(self, node: Node) -> frozenset[int]:
        """Numbers of the finite nodes an expression depends on."""
        return dependencies(node, self._memo) & self.starts.keys()

    def pattern(self, node: Node) -> Pattern:
        """(cells of the node, all finite cells): 1 where one depends on the other; None if no cell does on any."""
        if not self.nodes(node):
            return None
        if node.number not in self._known:
            self._known[node.number] = self._found(node)
        return self._known[node.number]

    def spread(self, node: Node, shape: tuple[int, ...], trailing: int = 0) -> Pattern:
        """The pattern of a parameter, whose last `trailing` axes belong to one cell, repeated to a batch."""
        pattern = self.pattern(node)
        if pattern is None:
            return None
        if trailing:
            pattern = _summed(node.shape, range(node.ndim - trailing, node.ndim)) @ pattern
        own = node.shape[: node.ndim - trailing] if trailing else node.shape
        S = repeats(own, shape)
        return _flags(pattern if S is None else S @ pattern)

    def _found(self, node: Node) -> Pattern:
        if node.number in self.starts:
            at = np.arange(node.size)
            return sp.csr_array((np.ones(node.size), (at, at + self.starts[node.number])), shape=(node.size, self.size))
        if OPS[node.kind].elementwise:
            return _union([self.spread(parent, node.shape) for parent in node.parents])
        rule = _RULES.get(node.kind)
        if rule is not None:
            return _flags(rule(self, node))
        every = _union([self._all(parent) for parent in node.parents])
        return _flags(sp.csr_array(np.ones((node.size, 1))) @ every)

    def _all(self, node: Node) -> Pattern:
        """(1, variables): all that any cell depends on."""
        pattern = self.pattern(node)
        return None if pattern is None else sp.csr_array(np.ones((1, node.size))) @ pattern

    def _moved(self, node: Node) -> Pattern:
        """Operations that only move or add up cells: their map is found by moving the numbers of cells."""
        parent = node.parents[0]
        if node.kind in ("sum", "mean"):
            return _summed(parent.shape, [axis % parent.ndim for axis in node.static["axis"]]) @ self.pattern(parent)
        cells = np.arange(parent.size).reshape(parent.shape)
        moved = OPS[node.kind].forward([cells], [False], node.static)
        return self.pattern(parent)[np.ravel(moved)]

    def _picked(self, node: Node) -> Pattern:
        """By codes of the first axes: states, or numbers of groups."""
        source, codes = node.parents[0], node.parents[1:]
        whole, rest = None, int(np.prod(source.shape[len(codes) :], dtype=np.int64))
        if self.nodes(source):
            if any(dependencies(each, self._memo) for each in codes):  # any entry along these axes
                along = _summed(source.shape, range(len(codes))) @ self.pattern(source)
                whole = along[np.tile(np.arange(rest), node.size // rest)]
            else:
                at = tuple(x.astype(np.intp) for x in Program(codes, []).values({}))
                whole = self.pattern(source)[np.ravel(np.arange(source.size).reshape(source.shape)[at])]
        shape = node.shape[: node.ndim - (source.ndim - len(codes))]
        repeated = np.repeat(np.arange(node.size // rest), rest)
        by_codes = [self.spread(each, shape) for each in codes]
        return _union([whole, *(None if each is None else each[repeated] for each in by_codes)])

    def _concat(self, node: Node) -> Pattern:
        parts = [self.pattern(p) for p in node.parents]
        empty = [sp.csr_array((p.size, self.size)) for p in node.parents]
        return sp.csr_array(sp.vstack([e if p is None else p for p, e in zip(parts, empty)]))

    def _fill(self, node: Node) -> Pattern:
        base, cells = node.parents
        at = node.static["at"]
        S = sp.csr_array((np.ones(at.size), (at, np.arange(at.size))), shape=(node.size, at.size))
        by_cells = self.pattern(cells)
        return _union([self.pattern(base), None if by_cells is None else S @ by_cells])

    def _matmul(self, node: Node) -> Pattern:
        a, b = node.parents
        found = []
        for parent, other, left in ((b, a, True), (a, b, False)):
            if self.nodes(parent):
                fixed = not dependencies(other, self._memo)
                matrix = Program([other], []).values({})[0] if fixed else np.ones(other.shape)
                found.append(matmul_map((np.asarray(matrix) != 0).astype(np.float64), parent.shape, left)
                             @ self.pattern(parent))  # fmt: skip
        return _union(found)

    def _sparse_matmul(self, node: Node) -> Pattern:
        return abs(sparse_map(node)) @ self.pattern(node.parents[0])


_RULES: dict[str, Callable[[Touching, Node], Pattern]] = {
    **dict.fromkeys(("slice", "reshape", "identity", "transpose", "sum", "mean"), Touching._moved),
    **dict.fromkeys(("take", "pick"), Touching._picked),
    "concat": Touching._concat, "fill": Touching._fill, "matmul": Touching._matmul,
    "sparse_matmul": Touching._sparse_matmul,
}  # fmt: skip


def _summed(shape: tuple[int, ...], axes: Any) -> Any:
    """The map that adds up cells along axes."""
    axes = tuple(axes)
    cells = np.arange(int(np.prod(shape, dtype=np.int64))).reshape(shape)
    moved = np.moveaxis(cells, axes, range(-len(axes), 0))
    moved = moved.reshape(int(np.prod(moved.shape[: len(shape) - len(axes)], dtype=np.int64)), -1)
    rows = np.repeat(np.arange(len(moved)), moved.shape[1])
    return sp.csr_array((np.ones(moved.size), (rows, moved.ravel())), shape=(len(moved), cells.size))


def _union(patterns: list[Pattern]) -> Pattern:
    total = None
    for pattern in patterns:
        if pattern is not None:
            total = pattern if total is None else total + pattern
    return None if total is None else _flags(total)


def _flags(pattern: Pattern) -> Pattern:
    if pattern is None:
        return None
    found = sp.csr_array(pattern)
    found.data = np.ones_like(found.data)
    found.sort_indices()
    return found


def colours_of(pattern: Pattern, node: Node, start: int, most: int, owner: str) -> tuple[np.ndarray, int]:
    """Colour of every cell of a finite node, −1 where no row touches it, and their number: no row touches two cells of
    one colour. Raises `UnavailableError` above `most` colours."""
    part = sp.csr_array(pattern[:, start : start + node.size])
    counts = np.diff(part.indptr)
    worst = int(counts.max(initial=0))
    if worst > most:
        raise UnavailableError(
            f"One cell of {owner} depends on {worst} cells of {node.name} together: their states are too many to sum "
            "over jointly.", value=worst,
            remedy=f"Let each cell depend on few cells of {described(node)}; a potential adds up its cells by itself.",
        )  # fmt: skip
    colour = np.full(node.size, -1)
    if worst <= 1:
        colour[part.indices] = 0
        return colour, worst
    together = sp.csr_array(part.T @ part)
    for cell in np.flatnonzero(np.diff(sp.csc_array(part).indptr)):
        taken = colour[together.indices[together.indptr[cell] : together.indptr[cell + 1]]]
        colour[cell] = np.setdiff1d(np.arange(taken.size + 1), taken)[0]
    found = int(colour.max()) + 1
    if found > most:
        raise UnavailableError(
            f"{owner} ties cells of {node.name} together {found} at a time: their states are too many to sum over "
            "jointly.", value=found, remedy=f"Let each cell depend on few cells of {described(node)}.",
        )  # fmt: skip
    return colour, found
