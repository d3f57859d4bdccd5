"""Draws downwards: from priors to data, and from posterior draws to what they predict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.distributions.base import Family
from credo.distributions.slopes import unchecked
from credo.errors import ParameterError, UnavailableError
from credo.numerics.random import as_generator
from credo.program.evaluate import Program
from credo.program.nodes import Node, as_node

if TYPE_CHECKING:
    from credo.program.model import Model

__all__ = ["draw", "draw_node", "law_at", "sample_forward"]


def law_at(
    law: Family, inputs: Mapping[int, np.ndarray], nodes: Mapping[int, Node], n: int, ndim: int,
    data: Mapping[int, np.ndarray] | None = None,
) -> Family:  # fmt: skip
    """The law at n draws of the nodes it depends on: parameters of shape (n, …), ready to broadcast with (n, *shape) of
    `ndim` axes beyond the draws'."""
    names = [
        name
        for name, value in law.parameters.items()
        if isinstance(value, (Node, int, float, np.ndarray, list, np.generic))
    ]
    parameters = dict(law.parameters)
    program = Program([as_node(law.parameters[name]) for name in names], [nodes[k] for k in inputs], data)
    event = 1 if law.event_ndim or type(law).__name__ == "Categorical" else 0
    if type(law).__name__ == "Chain":
        return _chain_at(law, program, inputs)
    for name, value, node in zip(names, program.values(inputs, lead=True), program.outputs):
        if program.varies(node):
            own = value.ndim - 1
            wanted = ndim + (event if type(law).__name__ == "Categorical" else 0)
            value = value.reshape(n, *(1,) * max(wanted - own, 0), *value.shape[1:]) if own < wanted else value
        parameters[name] = value
    return unchecked(type(law), parameters)


def _chain_at(law: Any, program: Program, inputs: Mapping[int, np.ndarray]) -> Family:
    """With an axis of draws, of length 1 where nothing varies, and one of steps."""
    initial, transition = (x if program.varies(node) else x[None]
                           for x, node in zip(program.values(inputs, lead=True)[:2], program.outputs))  # fmt: skip
    transition = transition[:, None] if transition.ndim == 3 else transition
    return unchecked(type(law), {"initial": initial, "transition": transition, "lengths": law.lengths})


def draw(law: Family, shape: tuple[int, ...], n: int, rng: np.random.Generator) -> np.ndarray:
    """One draw for each of n rows of parameters, (n, *shape)."""
    if type(law).__name__ == "Chain":
        from credo.program.finite.chain import drawn_paths

        return drawn_paths(law, shape, n, rng)
    if law.event_ndim:
        rows = ({k: _row(k, v, i, shape) for k, v in law.parameters.items()} for i in range(n))
        return np.stack([unchecked(type(law), row)._draw((), rng) for row in rows])
    spread = {}
    for name, value in law.parameters.items():
        last = np.shape(value)[-1:] if type(law).__name__ == "Categorical" else ()
        spread[name] = np.broadcast_to(value, (n, *shape, *last)) if not isinstance(value, Family) else value
    if any(isinstance(value, Family) for value in law.parameters.values()) or not law.parameters:
        batch = law.batch_shape if law.parameters else ()
        if batch and batch == shape[len(shape) - len(batch) :]:  # a draw has the law's own axes already
            return law._draw((n, *shape[: len(shape) - len(batch)]), rng)
        return law._draw((n, *shape), rng)
    return np.asarray(unchecked(type(law), spread)._draw((), rng))


def draw_node(node: Node, law: Family, n: int, rng: np.random.Generator) -> np.ndarray:
    """One draw of a latent or observed node for each of n rows of its law's parameters, in order if it is ordered."""
    if node.kind != "latent" or node.support.kind != "ordered":
        return draw(law, node.shape, n, rng)
    from credo.program.finite.ordered import drawn_in_order

    return drawn_in_order(node, lambda rows: draw(law, node.shape, n, rng)[rows], n)


def _row(name: str, value: Any, i: int, shape: tuple[int, ...]) -> Any:
    """The parameter at draw i, repeated along the node's axes: those that vary have one axis more than the node, or
    than a matrix."""
    value = value[i] if np.ndim(value) > max(len(shape), 2 if name == "covariance" else 1) else value
    if name == "covariance":
        return value
    return np.broadcast_to(value, shape[:-1] if name == "n" else shape)


def sample_forward(model: Model, n: int, random_state: Any) -> dict[str, np.ndarray]:
    """See `Model.sample_prior`."""
    if not isinstance(n, (int, np.integer)) or isinstance(n, bool) or n < 0:
        raise ParameterError("sample_prior", "n", "an integer ≥ 0", n)
    rng = as_generator(random_state)
    values: dict[int, np.ndarray] = {}
    nodes: dict[int, Node] = {}
    out: dict[str, np.ndarray] = {}
    for node in model.nodes.values():
        factor = next((f for f in model.factors if f.node is node), None)
        if node.kind == "data" or (factor is not None and factor.law is None):
            continue
        if factor is None:
            program = Program([node], [nodes[k] for k in values])
            found = program.values(values, lead=True)[0]
            out[str(node.name)] = found if program.varies(node) else np.broadcast_to(found, (n, *node.shape))
            continue
        law = factor.law
        assert law is not None
        if type(law).__name__ == "Flat":
            raise UnavailableError(f"{node.name} has a flat prior, which has no draws.",
                                   remedy="Give it a proper prior, such as Normal(0, 10).")  # fmt: skip
        here = law_at(law, values, nodes, n, node.ndim)
        drawn = draw_node(node, here, n, rng)
        out[str(node.name)] = drawn
        values[node.number], nodes[node.number] = drawn, node
    return out
