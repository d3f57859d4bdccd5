"""The factors about finite nodes as tables of log densities, one axis for each cell they touch.

A factor is computed for every choice of states of its colours (see `dependence`), for all of its cells at a time: at
all choices in one go where it is made of elementwise operations and of picking by states, else once for each. Where a
node's law is Categorical, the probabilities are its own axis, and need none.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from credo.distributions.slopes import unchecked
from credo.errors import UnavailableError
from credo.program.finite.cells import cell_density, trailing
from credo.program.finite.chain import Chain, starts_of
from credo.program.finite.dependence import Touching, colours_of
from credo.program.finite.elimination import Elimination
from credo.program.finite.scan import Scan
from credo.program.finite.sources import Lowered, Rows
from credo.program.finite.substitution import NotStackedError, at_all_states, at_states
from credo.program.model import Factor
from credo.program.nodes import Node, apply, as_node, topological

__all__ = ["lowered"]

# Evaluations of one factor: each is an expression of its own.
MOST_CONFIGURATIONS = 1024


def lowered(nodes: Sequence[Node], factors: Sequence[Factor]) -> Lowered:
    """The tables of all factors about finite nodes, and the plan of their sum."""
    name = ", ".join(str(node.name) for node in nodes)
    made = Lowered(nodes, name)
    touching = Touching({node.number: start for node, start in zip(made.nodes, made.starts)}, len(made.cards))
    chains = [factor for factor in factors if isinstance(factor.law, Chain)]
    for factor in factors:
        if factor not in chains:
            _add_factor(made, factor, touching)
    if len(chains) == len(nodes) == 1 and is_scanned(chains[0].law) and all(len(s.variables) < 2 for s in made.scopes):
        law: Any = chains[0].law
        cells = tuple(made.scopes)
        for p, k in ((law.initial, 1), (law.transition, 2)):
            packed = (int(made.cards[0]),) * k
            groups = [(np.empty((0, 1), dtype=np.int64), None, None, packed)]
            made.add(chains[0].name, [apply("log_mass", as_node(p))], groups, (1,), packed=packed)
        made.elimination = Scan(int(made.cards[0]), nodes[0].size, _ends(chains[0]), cells, name=name)
        return made
    for factor in chains:
        _add_chain(made, factor, touching)
    made.elimination = Elimination(made.cards, made.scopes, name=name)
    return made


def _add_factor(made: Lowered, factor: Factor, touching: Touching) -> None:
    own = next((i for i, node in enumerate(made.nodes) if node is factor.node), None)
    law: Any = factor.law
    if law is None:
        x = factor.node.parents[0] if _sums_all(factor.node) else factor.node
        _add(made, touching, factor.name, x.shape, [(x, 0)], lambda at: at(x))
    elif own is not None and type(law).__name__ == "Categorical":
        p = as_node(law.p)
        variables = made.starts[own] + np.arange(factor.node.size)[None]
        _add(made, touching, factor.name, factor.node.shape, [(p, 1)],
             partial(_log_mass, p), (len(made.states[own]),), variables)  # fmt: skip
    else:
        x = factor.node
        parts = [(x, law.event_ndim)]
        parts += [(v, trailing(law, name)) for name, v in law.parameters.items() if isinstance(v, Node)]

        def density(at: Callable[[Node], Node]) -> Node:
            parameters = {k: at(v) if isinstance(v, Node) else v for k, v in law.parameters.items()}
            return cell_density(unchecked(type(law), parameters), at(x))

        _add(made, touching, factor.name, x.shape[: x.ndim - law.event_ndim], parts, density)


def _add_chain(made: Lowered, factor: Factor, touching: Touching) -> None:
    """Tables of the first states, and of each transition."""
    own = next(i for i, node in enumerate(made.nodes) if node is factor.node)
    law: Any = factor.law
    node, k = factor.node, len(made.states[own])
    at = made.starts[own] + np.arange(node.size).reshape(node.shape)
    first = starts_of(law.lengths, node.shape[-1])
    initial, transition = as_node(law.initial), as_node(law.transition)
    if initial.ndim > 1:
        initial = initial.reshape(*initial.shape[:-1], 1, k)
    _add(made, touching, factor.name, (*node.shape[:-1], first.size), [(initial, 1)],
         partial(_log_mass, initial), (k,), at[..., first].reshape(1, -1))  # fmt: skip
    if node.shape[-1] > 1:
        keep = np.ones(at[..., 1:].shape, dtype=bool)
        keep[..., first[1:] - 1] = False
        pairs = np.stack([at[..., :-1].ravel(), at[..., 1:].ravel()])
        _add(made, touching, factor.name, at[..., 1:].shape, [(transition, 2)],
             partial(_log_mass, transition), (k, k), pairs, keep.ravel())  # fmt: skip


def is_scanned(law: Any) -> bool:
    """Whether its first state and its transition are the same for all sequences and steps."""
    return as_node(law.initial).ndim == 1 and as_node(law.transition).ndim == 2


def _ends(factor: Factor) -> np.ndarray:
    law: Any = factor.law
    shape = factor.node.shape
    ends = np.array([shape[-1]]) if law.lengths is None else np.cumsum(law.lengths)
    return (np.arange(int(np.prod(shape[:-1])))[:, None] * shape[-1] + ends).ravel()


def _log_mass(p: Node, at: Callable[[Node], Node]) -> Node:
    return apply("log_mass", at(p))


def _add(
    made: Lowered, touching: Touching, owner: str, shape: tuple[int, ...], parts: Sequence[tuple[Node, int]],
    expression: Callable[[Callable[[Node], Node]], Node], packed: tuple[int, ...] = (), last: np.ndarray | None = None,
    keep: np.ndarray | None = None,
) -> None:  # fmt: skip
    """The source of one factor over cells of this shape.

    parts : (what it is computed from, axes of that which belong to one cell); expression : of the factor, given what to
    do with each part; packed : sizes of the axes of states that it has itself, of the variables
    `last`; keep : the cells that count
    """
    pattern: Any = None
    for part, own in parts:
        found = touching.spread(part, shape, own)
        if found is not None:
            pattern = found if pattern is None else pattern + found
    axes, touched = _colours(made, pattern, owner)
    cells = int(np.prod(shape, dtype=np.int64))
    variables = np.full((len(axes), cells), -1)
    for k, (start, colour, c, _) in enumerate(axes):
        chosen = start + np.flatnonzero(colour == c)
        entries = sp.coo_array(pattern[:, chosen])
        variables[k, entries.coords[0]] = chosen[entries.coords[1]]
    groups = _groups(variables, [card for *_, card in axes], packed, last, keep)
    try:
        every = [expression(_at_once(touched, touching, parts))]
        made.add(owner, every, groups, shape, stacked=tuple(card for *_, card in axes), packed=packed)
    except NotStackedError:
        each = [expression(partial(at_states, mapping=mapping)) for mapping in _choices(axes, touched)]
        made.add(owner, each, groups, shape, packed=packed)


def _groups(
    variables: np.ndarray, cards: list[int], packed: tuple[int, ...], last: np.ndarray | None, keep: np.ndarray | None
) -> list[Rows]:
    """Rows apart by which colours they touch; the configurations of the others do not matter: their first."""
    out = []
    used, which = np.unique(variables >= 0, axis=1, return_inverse=True)
    every = np.arange(int(np.prod(cards, dtype=np.int64))).reshape(cards)
    for g, touched in enumerate(used.T):
        rows = np.flatnonzero((np.ravel(which) == g) & (True if keep is None else keep))
        if not rows.size:
            continue
        choice = every[tuple(slice(None) if t else 0 for t in touched)].ravel()
        about = variables[touched][:, rows]
        about = about if last is None else np.concatenate([about, last[:, rows]])
        own = (*(card for card, t in zip(cards, touched) if t), *packed)
        out.append((about, None if rows.size == variables.shape[1] else rows,
                    None if touched.all() else choice, own))  # fmt: skip
    return out


@dataclass(frozen=True, eq=False)
class _Touched:
    """A finite node: the colour of each of its cells, their number, its states."""

    node: Node
    colour: np.ndarray
    colours: int
    values: np.ndarray


def _colours(made: Lowered, pattern: Any, owner: str) -> tuple[list[Any], list[_Touched]]:
    """(first variable, colour of each cell, colour, number of states) of every axis, and the nodes they are of."""
    axes: list[Any] = []
    touched: list[_Touched] = []
    for node, start, values in zip(made.nodes, made.starts, made.states):
        if pattern is None or not pattern[:, start : start + node.size].nnz:
            continue
        most = max(1, int(np.log(MOST_CONFIGURATIONS) / np.log(max(len(values), 2))))
        colour, n = colours_of(pattern, node, start, most, owner)
        axes += [(start, colour, c, len(values)) for c in range(n)]
        touched.append(_Touched(node, colour, n, values))
    count = int(np.prod([card for *_, card in axes], dtype=np.float64))
    if count > max(MOST_CONFIGURATIONS, *(len(v) for v in made.states)):
        raise UnavailableError(
            f"{owner} depends on {len(axes)} states at a time, {count} choices together: too many to sum over jointly.",
            value=count, remedy="Fewer states, or let each cell of it depend on fewer of them.",
        )  # fmt: skip
    return axes, touched


def _at_once(
    touched: Sequence[_Touched], touching: Touching, parts: Sequence[tuple[Node, int]]
) -> Callable[[Node], Node]:
    """Each finite node's states along an axis of its own in front; `NotStackedError` where it has several colours, or
    where axes of one cell are of different number."""
    if any(each.colours > 1 for each in touched) or len({own for part, own in parts if touching.nodes(part)}) > 1:
        raise NotStackedError("colours")
    widest = max((each.ndim for each in topological([part for part, _ in parts])), default=0)
    mapping = {}
    for i, each in enumerate(touched):
        shape = tuple(len(each.values) if i == k else 1 for k in range(len(touched)))
        mapping[each.node.number] = as_node(each.values.reshape(*shape, *(1,) * widest))
    return lambda node: at_all_states(node, mapping, touching.nodes, len(touched))


def _choices(axes: Sequence[Any], touched: Sequence[_Touched]) -> list[dict[int, Node]]:
    """What takes the place of each node, for every choice of states of the colours."""
    mappings = []
    for choice in itertools.product(*(range(card) for *_, card in axes)):
        mapping, at = {}, 0
        for each in touched:
            states = each.values[list(choice[at : at + each.colours])]
            whole = states[np.maximum(each.colour, 0)].reshape(each.node.shape) if each.colours > 1 else states[0]
            mapping[each.node.number] = as_node(whole)
            at += each.colours
        mappings.append(mapping)
    return mappings


def _sums_all(node: Node) -> bool:
    return node.kind == "sum" and node.is_scalar
