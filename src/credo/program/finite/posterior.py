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
    source = next(source for source in made.sources if source.owner == factor.name)
    plan = made.elimination
    alone = isinstance(plan, Elimination) and not any(len(step.neighbours) for step in plan.steps)
    if not alone or any(len(made.scopes[group.table].variables) != 1 for group in source.groups):
        return None
    parts = []
    for part, size in leaf._chunks(inputs, len(posterior) if rest else 1):
        tables = leaf._tables(part, rest)
        cells = np.zeros((size, int(np.prod(source.shape, dtype=np.int64))))
        for group in source.groups:
            rows = slice(None) if group.rows is None else group.rows
            cells[:, rows] = _given_others(plan, tables, group.table, [g.table for g in source.groups])
        parts.append(cells)
    each = np.concatenate(parts)
    base = factor.node.parents[0].value if factor.node.kind == "fill" else factor.node.value
    assert base is not None
    out = np.full((len(posterior), base.size), np.nan)
    seen = np.arange(base.size) if factor.missing is None else np.setdiff1d(np.arange(base.size), factor.missing)
    out[:, seen] = each
    return out.reshape(len(posterior), *base.shape)


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
