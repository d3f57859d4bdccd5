"""Elementwise functions of nodes, and of numbers: `cr.math.exp(node)`."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.errors import DataError, ParameterError
from credo.program.nodes import Node, apply, as_node
from credo.program.ops import OPS

__all__ = [
    "abs",
    "concat",
    "cos",
    "exp",
    "expit",
    "expm1",
    "log",
    "log1p",
    "ndtr",
    "sin",
    "softplus",
    "sqrt",
    "square",
    "tanh",
]


def _function(name: str, formula: str) -> Any:
    def function(x: Any) -> Any:
        if isinstance(x, Node):
            return apply(name, x)
        try:
            numbers = np.asarray(x, dtype=np.float64)
        except (TypeError, ValueError):
            raise ParameterError("math", name, "given a node or numbers", x) from None
        return OPS[name].forward([numbers], [False], {})[()]

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{formula}, elementwise, of a node or of numbers."
    return function


exp = _function("exp", "eˣ")
log = _function("log", "log x")
sqrt = _function("sqrt", "√x")
square = _function("square", "x²")
expit = _function("expit", "1/(1 + e⁻ˣ)")
tanh = _function("tanh", "tanh x")
softplus = _function("softplus", "log(1 + eˣ)")
log1p = _function("log1p", "log(1 + x)")
expm1 = _function("expm1", "eˣ − 1")
abs = _function("abs", "|x|")
sin = _function("sin", "sin x")
cos = _function("cos", "cos x")
ndtr = _function("ndtr", "Φ(x)")


def concat(*parts: Any) -> Node:
    """Arrays one after another along their first axis, which then has no name; numbers count as length 1."""
    if not parts:
        raise ParameterError("math", "concat", "given at least one array", parts)
    nodes = [as_node(part) for part in parts]
    nodes = [node if node.ndim else node.reshape(1) for node in nodes]
    shape = (sum(node.shape[0] for node in nodes), *nodes[0].shape[1:])
    if any(node.shape[1:] != nodes[0].shape[1:] for node in nodes):
        raise DataError(f"concat: shapes beyond the first axis differ: {nodes}.", value=[n.shape for n in nodes])
    return Node("concat", nodes, shape=shape, dims=(None, *nodes[0].dims[1:]))
