"""A user's function made a node: its shape is found, and what JAX cannot follow is told, before anything is fitted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from credo.errors import CredoError, DataError, ParameterError
from credo.program import declare
from credo.program.nodes import Node, as_node
from credo.program.user.operation import UserFunction

__all__ = ["called", "expression", "shape_now"]

GRADIENTS = ("jax", "differences")


def called(
    function: Callable[..., Any], nodes: Sequence[Node], dims: Any, low: float | None, high: float | None,
    gradient: str, name: str | None = None,
) -> Node:  # fmt: skip
    """See `math.call`."""
    shown = name or getattr(function, "__name__", type(function).__name__)
    _checked(function, nodes, gradient, shown)
    low, high = declare.checked_bound(shown, "low", low), declare.checked_bound(shown, "high", high)
    user = UserFunction(function, gradient == "jax", tuple(_is_whole(node) for node in nodes))
    shape = shape_now(user, nodes, shown)
    axes = declare.checked_dims(shown, dims)
    model = next((node.model for node in nodes if node.model is not None), None)
    for node in nodes:
        if node.model is not None:
            declare.owned(shown, [node], model)
    if axes is None:
        axes = (None,) * len(shape)
    elif len(axes) != len(shape):
        raise DataError(f"{shown} returns shape {shape}, and has {len(axes)} dims {axes}.", value=shape)
    elif model is not None:
        model._axes(shown, shape, axes)
    user = replace(user, cells=int(np.prod(shape, dtype=np.int64)))
    span = (-np.inf if low is None else float(low), np.inf if high is None else float(high))
    return Node("call", nodes, shape=shape, dims=axes, static={"function": user, "called": shown, "range": span})


def expression(model: Any, owner: str, value: Any, nodes: tuple[Any, ...], **options: Any) -> Node:
    """What a deterministic node or a potential is: a node, or a function of the user's on nodes, with its options."""
    if callable(value) and not isinstance(value, Node):
        spread = {"dims": None, "low": None, "high": None, **options}
        source = called(value, [as_node(node) for node in nodes], **spread)
    elif nodes or any(v is not None for k, v in options.items() if k != "gradient"):
        raise ParameterError("Model", owner, "a function, where nodes or dims follow it", value)
    else:
        source = as_node(value)
    declare.owned(owner, [source], model)
    return source


def _checked(function: Any, nodes: Sequence[Node], gradient: str, shown: str) -> None:
    if not callable(function):
        raise ParameterError("Model", shown, "a function", function)
    if gradient not in GRADIENTS:
        raise ParameterError("Model", f"gradient of {shown}", f"one of {GRADIENTS}", gradient)
    if not nodes:
        raise ParameterError("Model", shown, "given the nodes that it is a function of", nodes,
                             "As in cr.math.call(function, x, theta).")  # fmt: skip
    try:
        hash(function)
    except TypeError:
        raise ParameterError("Model", shown, "hashable, so that it is compiled once", function) from None


def shape_now(user: UserFunction, nodes: Sequence[Node], shown: str) -> tuple[int, ...]:
    """The shape of its value at arguments of the nodes' shapes; NumPy's functions are called twice, to see that nothing
    in them is random."""
    try:
        if user.by_jax:
            from credo.program.user import compiled

            kinds = [np.int64 if whole else np.float64 for whole in user.integers]
            return compiled.shape_of(user.function, [(node.shape, kind) for node, kind in zip(nodes, kinds)])
        at = _typical(nodes)
        once, again = user.value(at), user.value(at)
    except CredoError:
        raise
    except Exception as error:
        axes = ", ".join(repr(node) for node in nodes)
        raise ParameterError("Model", shown, f"a function of ({axes})", f"{type(error).__name__}: {_first_line(error)}",
                             _remedy(user, error)) from error  # fmt: skip
    if once.shape != again.shape or not np.array_equal(once, again, equal_nan=True):  # no search of a mode would end
        raise ParameterError("Model", shown, "a function of its arguments alone", "two values at the same arguments",
                             "What is random is a latent node of the model.")  # fmt: skip
    return once.shape


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [""])[0]


def _remedy(user: UserFunction, error: Exception) -> str:
    traced = any(
        kind.__name__ in ("TracerArrayConversionError", "ConcretizationTypeError") for kind in type(error).__mro__
    )
    if user.by_jax and (traced or isinstance(error, (TypeError, AttributeError))):
        return ("JAX traces it: write it in jax.numpy, without `if` on values; or, for a function of NumPy arrays, "
                'gradient="differences".')  # fmt: skip
    return "It is called with arrays of these shapes."


def _is_whole(node: Node) -> bool:
    return node.kind in ("constant", "data") and node.value is not None and node.value.dtype.kind in "iub"


def _typical(nodes: Sequence[Node]) -> list[np.ndarray]:
    """Values to call a function with once, to learn its shape: those known, and the middles of priors."""
    from credo.program.evaluate import Program
    from credo.program.nodes import topological
    from credo.program.passes.centring import typical

    latents = [leaf for leaf in topological(nodes) if leaf.kind == "latent"]
    program = Program(nodes, latents)
    return program.values({leaf.number: np.broadcast_to(typical(leaf), leaf.shape) for leaf in latents})
