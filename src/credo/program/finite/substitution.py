"""An expression with finite nodes in given states: as small as it then is.

One state for all cells makes an array a number, which broadcasts: mu[z] at z = 2 is mu[2]. Where an expression is
made of elementwise operations and of picking by states, all states can be had at once, along axes in front
(`at_all_states`): mu[z] at z = 0 … K − 1 is mu as a column.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from credo.program.evaluate import Program
from credo.program.nodes import Node, apply, as_node, topological
from credo.program.ops import OPS

__all__ = ["NotStackedError", "at_all_states", "at_states"]

# Operations that leave a number a number.
_MOVES = ("take", "slice", "reshape", "transpose", "identity")


def at_states(node: Node, mapping: Mapping[int, Node]) -> Node:
    """The expression with the nodes in `mapping` (by number) replaced; parts without them are kept as they are. The
    result broadcasts to the node's shape."""
    known: dict[int, Node] = {}

    def visit(each: Node) -> Node:
        if each.number in mapping:
            return mapping[each.number]
        if not each.is_operation:
            return each
        if each.number not in known:
            parents = [visit(parent) for parent in each.parents]
            same = all(a is b for a, b in zip(parents, each.parents))
            known[each.number] = each if same else _rebuilt(each, parents)
        return known[each.number]

    return visit(node)


def _rebuilt(node: Node, parents: list[Node]) -> Node:
    if OPS[node.kind].elementwise:
        made = apply(node.kind, *parents)
        return _folded(made)
    if node.kind == "take" and parents[1] is not node.parents[1]:
        source, codes = _whole(parents[0], node.parents[0]), _known(parents[1])
        if codes.ndim == 0:
            return source[int(codes)]
        return source[as_node(codes.astype(np.int64))]
    if node.kind in _MOVES and parents[0].is_scalar and not node.parents[0].is_scalar:
        return parents[0]
    whole = [_whole(parent, old) for parent, old in zip(parents, node.parents)]
    made = Node(node.kind, whole, shape=node.shape, dims=node.dims, static=node.static, model=node.model)
    return _folded(made)


def _whole(node: Node, old: Node) -> Node:
    """With its cells repeated to the shape that it had."""
    return node if node.shape == old.shape else apply("multiply", node, np.ones(old.shape))


def _folded(node: Node) -> Node:
    """A constant, where it is one made of small numbers."""
    if all(parent.kind == "constant" for parent in node.parents):
        return as_node(_known(node))
    return node


def _known(node: Node) -> np.ndarray:
    if any(leaf.kind == "latent" for leaf in topological([node])):
        raise AssertionError("codes hold states and known numbers only")
    return np.asarray(Program([node], []).values({})[0])


class NotStackedError(Exception):
    """An expression that moves or adds up cells in a way that axes in front would change."""


def at_all_states(node: Node, mapping: Mapping[int, Node], touched: Callable[[Node], Any], front: int) -> Node:
    """The expression at every choice of states, along `front` axes before its own.

    mapping : number of a finite node → its states, along one of these axes, then so many axes of length 1 as any part
        of the expression has
    touched : whether a node depends on any of them

    All that depends on states has as many axes as these, so that axes in front never meet others. Raises
    `NotStackedError`; `at_states`, once for every choice, then does it.
    """
    known: dict[int, Node] = {}

    def visit(each: Node) -> Node:
        if each.number in mapping:
            return mapping[each.number]
        if not touched(each):
            return each
        if each.number not in known:
            known[each.number] = _stacked(each, visit, front)
        return known[each.number]

    return visit(node)


def _stacked(node: Node, visit: Callable[[Node], Node], front: int) -> Node:
    parents = [visit(parent) for parent in node.parents]
    if OPS[node.kind].elementwise:
        return _folded(apply(node.kind, *parents))
    if node.kind == "identity":
        return parents[0]
    if node.kind in ("take", "pick") and parents[0] is node.parents[0]:
        return _picked(node, parents, front)
    if node.kind in ("sum", "mean"):
        old, new = node.parents[0], parents[0]
        axes = tuple(axis % old.ndim - old.ndim for axis in node.static["axis"])
        if all(new.shape[axis] == old.shape[axis] for axis in axes):
            rest = [n for i, n in enumerate(new.shape) if i >= front and i - new.ndim not in axes]
            made = Node(node.kind, [new], shape=(*new.shape[:front], *rest), dims=(None,) * (front + len(rest)),
                        static={"axis": axes}, model=node.model)  # fmt: skip
            return made.reshape(*new.shape[:front], *(1,) * len(axes), *rest)
    raise NotStackedError(node.kind)


def _picked(node: Node, parents: list[Node], front: int) -> Node:
    """By codes whose states are along axes in front: as many axes less behind these as the source has beyond them."""
    source, codes = parents[0], []
    rest = source.ndim - len(parents) + 1
    for old, new in zip(node.parents[1:], parents[1:]):
        if new is old:
            codes.append(new)
            continue
        if new.kind != "constant" or any(n != 1 for n in new.shape[front : front + rest]):
            raise NotStackedError(node.kind)
        known = _known(new)
        codes.append(as_node(known.reshape(*known.shape[:front], *known.shape[front + rest :]).astype(np.int64)))
    if node.kind == "take":
        return source[codes[0]]
    shape = np.broadcast_shapes(*(each.shape for each in codes)) + source.shape[len(codes) :]
    return Node("pick", [source, *codes], shape=shape, dims=(None,) * len(shape), model=node.model)
