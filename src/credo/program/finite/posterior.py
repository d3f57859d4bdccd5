"""What a posterior says of states: their probabilities, and states of cells that were not there before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import ParameterError, UnavailableError
from credo.program.finite.chain import Chain
from credo.program.finite.elimination import Elimination, log_sum_exp
from credo.program.forward import draw, law_at
from credo.program.nodes import Node

if TYPE_CHECKING:
    from credo.program.model import Factor
    from credo.program.passes.finite import FiniteLeaf
    from credo.program.posterior import ModelPosterior

__all__ = ["new_states", "pointwise_without_states", "state_probabilities"]


def state_probabilities(posterior: ModelPosterior, name: str | Node) -> np.ndarray:
    """Probabilities (*shape, K) of the states of a finite node, from its lowest value up: exact given each draw of the
    other nodes, and averaged over these."""
    from credo.program.passes.finite import finite_leaves
    from credo.program.prepare import prepared

    wanted = str(name.name) if isinstance(name, Node) else name
    if posterior.model is None:
        raise UnavailableError("This posterior came without its model, which its states' probabilities need.")
    factors, latents = prepared(posterior.model)
    leaves = finite_leaves(factors, latents, labels=False)
    leaf = next((leaf for leaf in leaves if wanted in [node.name for node in leaf.nodes]), None)
    if leaf is None:
        known = [str(node.name) for leaf in leaves for node in leaf.nodes]
        raise ParameterError("probabilities", "name", f"a latent node of states: one of {known}", wanted)
    states = {node.number for leaf in leaves for node in leaf.nodes}
    rest = {node.number: node for node in latents if node.number not in states}
    inputs = {number: posterior[str(node.name)] for number, node in rest.items()}
    found = leaf.probabilities(inputs, rest, len(posterior) if rest else 1)[wanted]
    return np.moveaxis(found.mean(axis=0), 0, -1)


def new_states(
    node: Node, values: Mapping[int, np.ndarray], nodes: Mapping[int, Node], sizes: Mapping[str, int],
    data: Mapping[int, np.ndarray], rng: np.random.Generator,
) -> np.ndarray:  # fmt: skip
    """States of cells not seen, drawn from the node's law at each draw of the others, (draws, *new shape).

    values, nodes : draws of the nodes declared before, and these nodes, by number; sizes : of dims that the new data
    change; data : new values of data nodes, by number
    """
    law: Any = node.law
    shape = tuple(sizes.get(d, n) if d is not None else n for d, n in zip(node.dims, node.shape))
    if isinstance(law, Chain) and law.lengths is not None:  # of the old cells: the new ones are one sequence
        law = Chain(law.initial, law.transition)
    n = len(next(iter(values.values()))) if values else 1
    return draw(law_at(law, values, nodes, n, len(shape), data), shape, n, rng)


def pointwise_without_states(posterior: ModelPosterior, factor: Factor) -> np.ndarray | None:
    """log p(y_i | all other data, draw of what is not a state) (draws, *shape) of an observed node: what leaving one
    cell out needs, where log p(y_i | drawn states) would be of no use. NaN where a cell is missing.

    None where the node does not depend on states, or where states of several cells hang together.
    """
    leaf, inputs, rest = _leaf_about(posterior, factor.name)
    if leaf is None:
        return None
    made = leaf.lowered
    sources = [source for source in made.sources if source.owner == factor.name]
    groups = [group for source in sources for group in source.groups]
    plan = made.elimination
    alone = isinstance(plan, Elimination) and not any(len(step.neighbours) for step in plan.steps)
    if not alone or any(len(made.scopes[group.table].variables) != 1 for group in groups):
        return None
    shape = factor.data.shape[: factor.data.ndim - factor.law.event_ndim]  # type: ignore[union-attr]
    out, start = np.full((len(posterior), int(np.prod(shape, dtype=np.int64))), np.nan), 0
    for part, size in leaf._chunks(inputs, len(posterior) if rest else 1):
        tables = leaf._tables(part, rest)
        here = slice(start, start + size) if rest else slice(None)
        for source, places in zip(sources, _places(factor, sources, out.shape[1]), strict=True):
            for group in source.groups:
                rows = places if group.rows is None else places[group.rows]
                out[here, rows] = _given_others(plan, tables, group.table, [g.table for g in source.groups])
        start += size
    if factor.missing is not None and out.shape[1] == factor.data.size:
        out[:, factor.missing] = np.nan
    return out.reshape(len(posterior), *shape)


def _places(factor: Factor, sources: Sequence[Any], size: int) -> list[np.ndarray]:
    """Which of its cells, or vectors, each source holds: `prepared` may have made several factors of this one."""
    if factor.missing is None or int(np.prod(sources[0].shape, dtype=np.int64)) == size:
        return [np.arange(size)]
    if factor.law is not None and factor.law.event_ndim:
        from credo.program.holes import patterns

        return [each.rows for each in patterns(factor.missing, factor.data.shape) if each.seen.size]
    return [np.setdiff1d(np.arange(size), factor.missing)]


def _given_others(plan: Elimination, tables: Sequence[np.ndarray], which: int, own: Sequence[int]) -> np.ndarray:
    """log Σ_k p(k | all but the row) p(row | k), (B, rows), of one table."""
    variables, table = plan.scopes[which].variables[0], tables[which]
    without = list(tables)
    once = all(np.unique(plan.scopes[t].variables).size == plan.scopes[t].variables.size for t in own) and len(own) == 1
    if once:  # and not by subtraction, which −∞ does not bear
        without[which] = np.zeros(table.shape)
    out = np.empty((max(t.shape[-2] for t in tables), variables.size))
    for step in plan.steps:
        place = np.full(len(plan.cards), -1)
        place[step.variables] = np.arange(step.variables.size)
        mine = np.flatnonzero(place[variables] >= 0)
        if mine.size:
            others = plan.joint_of(step, without)[..., place[variables[mine]]]
            here = table[..., mine]
            others = others if once else others - here
            out[..., mine] = log_sum_exp(others + here) - log_sum_exp(others)
    return out


def _leaf_about(posterior: ModelPosterior, name: str) -> tuple[FiniteLeaf | None, dict[int, Any], dict[int, Node]]:
    """The leaf that a factor is in, with draws of what it depends on and the nodes of these."""
    from credo.program.passes.finite import finite_leaves
    from credo.program.prepare import prepared

    assert posterior.model is not None
    factors, latents = prepared(posterior.model)
    leaves = finite_leaves(factors, latents, labels=False)
    leaf = next((leaf for leaf in leaves if name in [factor.name for factor in leaf.factors]), None)
    states = {node.number for leaf in leaves for node in leaf.nodes}
    rest = {node.number: node for node in latents if node.number not in states}
    return leaf, {number: posterior[str(node.name)] for number, node in rest.items()}, rest
