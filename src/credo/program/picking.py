"""Cells picked by codes: `effect[group]`, `ability[person, item]`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from credo.errors import DataError, ParameterError
from credo.program.nodes import Node, as_node, holds_states, joined

__all__ = ["picked"]


def picked(node: Node, keys: Sequence[Any]) -> Node:
    """The cells of a node by codes of its first axes, which broadcast against each other."""
    if any(k is None or isinstance(k, slice) for k in keys):
        raise ParameterError("Node", "index", "codes, or integers and slices, not both", tuple(keys),
                             "Pick first, slice then: x[g][:, 0].")  # fmt: skip
    codes = [as_node(k) for k in keys]
    if node.ndim < len(codes):
        raise DataError(f"{node!r} has no axis to pick from by {codes[-1]!r}.", value=codes[-1].shape)
    codes = [_checked(node, axis, each) for axis, each in enumerate(codes)]
    shape, dims = joined("index", codes)
    rest = len(codes)
    kind = "take" if rest == 1 else "pick"
    return Node(kind, [node, *codes], shape=shape + node.shape[rest:], dims=dims + node.dims[rest:])


def _checked(node: Node, axis: int, codes: Node) -> Node:
    """Integers within the axis, of the levels that it has."""
    levels, which = codes.static.get("levels"), ("first", "second", "third")[axis] if axis < 3 else f"{axis + 1}th"
    if levels is not None and node.dims[axis] is not None and node.dims[axis] != levels:
        raise DataError(
            f"{codes!r} holds levels of {levels!r}, and the {which} axis of {node!r} is {node.dims[axis]!r}.",
            value=(levels, node.dims[axis]),
        )
    if codes.value is None and holds_states(codes):
        low, high = codes.bounds
        if not (low >= 0 and high < node.shape[axis]):
            raise DataError(
                f"{codes!r} takes values from {low:g} to {high:g}, and {node!r} has {node.shape[axis]} entries along "
                f"its {which} axis.", value=codes.bounds,
            )  # fmt: skip
        return codes
    if codes.value is None or codes.value.dtype.kind not in "iub":
        raise ParameterError("Node", "index", "integer codes known from data, or a discrete latent node", repr(codes))
    if codes.value.dtype.kind == "b":
        codes = as_node(codes.value.astype(np.int64))
    assert codes.value is not None
    if codes.size and not (codes.value.min() >= 0 and codes.value.max() < node.shape[axis]):
        raise DataError(
            f"Codes of {codes!r} run from {codes.value.min()} to {codes.value.max()}, and {node!r} has "
            f"{node.shape[axis]} entries along its {which} axis.",
            value=codes.value,
        )
    return codes
