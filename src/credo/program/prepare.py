"""Before anything is computed: cells that nobody saw are set apart, and nodes that cannot be learned are named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from credo.distributions.base import Family
from credo.distributions.slopes import unchecked
from credo.errors import NotIdentifiedError, ParameterError, UnavailableError
from credo.program.declare import certain_zeros
from credo.program.density import is_opaque
from credo.program.model import Factor
from credo.program.nodes import Node, apply, as_node
from credo.program.passes.affine import dependencies

if TYPE_CHECKING:
    from credo.program.model import Model

__all__ = ["prepared"]


def prepared(model: Model) -> tuple[list[Factor], list[Node]]:
    """Factors and latent nodes of the posterior.

    Missing cells that nothing else depends on leave the density (they integrate to 1, and are drawn afterwards); those
    that other nodes use become a latent vector. Counts whose rate is certainly 0 were certain, and tell nothing.

    Raises
    ------
    ParameterError : a latent node that no observed node depends on
    NotIdentifiedError : nothing is observed
    """
    if not any(factor.observed or factor.law is None for factor in model.factors):
        raise NotIdentifiedError("Model: nothing is observed.", remedy="Declare data: m.observed(name, law, values).")
    used = _used_nodes(model)
    factors, latents = [], list(model.latents)
    for factor in model.factors:
        if factor.missing is None:
            factors.append(_told(factor))
        elif factor.node.number in used:
            if factor.hidden is None:
                raise UnavailableError(
                    f"{factor.name} has missing cells that other nodes depend on, and its law "
                    f"{type(factor.law).__name__} is not continuous.",
                    remedy="Leave out those rows.",
                )
            factors.append(factor)
            latents.append(factor.hidden)
        else:
            factors += _seen(factor)
    _require_used(factors, latents)
    return factors, latents


def _used_nodes(model: Model) -> set[int]:
    """Numbers of nodes that some law or expression is computed from."""
    used: set[int] = set()
    named = [node for node in model.nodes.values() if node.kind == "identity"]
    stack = [
        *named,
        *(parent for factor in model.factors for parent in factor.node.parents if factor.node.kind != "fill"),
    ]
    stack += [value for factor in model.factors if factor.law for value in factor.law.parameters.values()
              if isinstance(value, Node)]  # fmt: skip
    while stack:
        node = stack.pop()
        if node.number not in used:
            used.add(node.number)
            stack.extend(node.parents if node.is_operation else ())
    return used


def _seen(factor: Factor) -> list[Factor]:
    """The factor over the cells that were seen: several where these are cells of vectors."""
    assert factor.missing is not None
    if type(factor.law).__name__ != "MultivariateNormal":
        return [_told(_without(factor, factor.missing))]
    from credo.program.holes import seen_rows

    return seen_rows(factor, factor.data)


def _told(factor: Factor) -> Factor:
    """The factor without Poisson counts whose rate is 0 whatever is latent: their 0 has probability 1."""
    if not factor.observed or type(factor.law).__name__ != "Poisson":
        return factor
    assert factor.law is not None
    zeros = np.broadcast_to(certain_zeros(as_node(factor.law.parameters["rate"])), factor.node.shape)
    return _without(factor, np.flatnonzero(zeros)) if zeros.any() and not zeros.all() else factor


def _without(factor: Factor, cells: np.ndarray) -> Factor:
    """The factor without some cells, which are given by their places in C order."""
    law, node, base = factor.law, factor.node, factor.data
    assert law is not None
    if law.event_ndim:
        raise UnavailableError(f"{factor.name}: missing cells of a {type(law).__name__} are not supported.",
                               remedy="Leave out those rows.")  # fmt: skip
    seen = np.setdiff1d(np.arange(base.size), cells)
    observed = Node("observed", node.parents, shape=(seen.size,), dims=(None,), name=factor.name,
                    value=base.ravel()[seen], law=law, model=node.model)  # fmt: skip
    return Factor(factor.name, _picked(law, base.shape, seen), observed, True)


def _picked(law: Family, shape: tuple[int, ...], cells: np.ndarray) -> Family:
    """The law of some cells (C order) of an array of this shape."""
    if is_opaque(law):
        if law.batch_shape:
            raise UnavailableError(f"Missing cells of a {type(law).__name__} whose parameters are arrays are not "
                                   "supported.", remedy="Leave out those rows.")  # fmt: skip
        return law
    parameters, size = {}, int(np.prod(shape, dtype=np.int64))
    for name, value in law.parameters.items():
        node = as_node(value)
        own = node.shape[-1:] if type(law).__name__ == "Categorical" else ()  # axes of one cell's parameter
        if node.ndim == len(own):
            parameters[name] = value
            continue
        if node.shape != (*shape, *own):
            node = apply("multiply", node, np.ones((*shape, *own)))
        parameters[name] = node.reshape(size, *own)[as_node(cells)]
    return unchecked(type(law), parameters)


def _require_used(factors: list[Factor], latents: list[Node]) -> None:
    memo: dict[int, frozenset[int]] = {}

    def reach(factor: Factor) -> frozenset[int]:
        return frozenset().union(*(dependencies(part, memo) for part in factor.parts))

    known: set[int] = set()
    pending = {f.node.number: f for f in factors if not f.observed and f.law is not None}
    stack = [f for f in factors if f.observed or f.law is None]
    while stack:
        for number in reach(stack.pop()):
            if number not in known:
                known.add(number)
                if number in pending:
                    stack.append(pending[number])
    for node in latents:
        if node.number not in known:
            raise ParameterError("Model", str(node.name), "used: no observed node depends on it", repr(node),
                                 "Leave it out, or use it; sample_prior() draws from priors alone.")  # fmt: skip
