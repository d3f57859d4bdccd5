"""Finite leaves: latent nodes with finitely many values, summed out.

Nodes that some factor ties together are one leaf. To all other passes a leaf is one potential, the log of the sum over
its states (`summed`): what is summed out is then never integrated out a second time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from credo.program.density import joint_target
from credo.program.evaluate import Program
from credo.program.finite.labels import Labels, find_labels
from credo.program.finite.operation import state_sum
from credo.program.finite.sources import Lowered
from credo.program.finite.states import is_finite
from credo.program.finite.tables import lowered
from credo.program.model import Factor
from credo.program.nodes import Node
from credo.program.passes.affine import dependencies

__all__ = ["FiniteLeaf", "finite_leaves", "summed"]

# Entries of the tables of a chunk of draws: 32 MiB.
CHUNK = 2**22


@dataclass(frozen=True, eq=False)
class FiniteLeaf:
    """nodes : what is summed out together; marginal : log Σ p(data, states | parameters), a scalar node; factors :
    those accounted for, the nodes' own included; pair : for people; labels : states that nothing tells apart"""

    nodes: tuple[Node, ...]
    marginal: Node
    factors: tuple[Factor, ...]
    pair: str
    lowered: Lowered
    labels: tuple[Labels, ...] = ()

    def draw(
        self, inputs: Mapping[int, np.ndarray], rest: Mapping[int, Node], n: int, rng: np.random.Generator
    ) -> dict[str, np.ndarray]:
        """States of all nodes given each of n draws of the nodes `rest`, (n, *shape) each."""
        made, parts = self.lowered, []
        for part, size in self._chunks(inputs, n):
            tables = self._tables(part, rest)
            _, kept = made.elimination.log_sum(tables, keep=True)
            parts.append(made.elimination.sample(kept, (size,), rng))
        drawn = made.cells(np.concatenate(parts))
        return {str(node.name): states[drawn[str(node.name)]].astype(np.int64)
                for node, states in zip(made.nodes, made.states)}  # fmt: skip

    def probabilities(
        self, inputs: Mapping[int, np.ndarray], rest: Mapping[int, Node], n: int
    ) -> dict[str, np.ndarray]:
        """Of every state of every cell, (n, K, *shape), given each draw of the nodes `rest`."""
        made = self.lowered
        found = [np.empty((n, len(states), node.size)) for node, states in zip(made.nodes, made.states)]
        at = 0
        for part, size in self._chunks(inputs, n):
            _, kept = made.elimination.log_sum(self._tables(part, rest), keep=True)
            for variables, p in made.elimination.marginals(kept):
                for whole, node, start in zip(found, made.nodes, made.starts):
                    mine = np.flatnonzero((variables >= start) & (variables < start + node.size))
                    if mine.size:
                        whole[at : at + size, :, variables[mine] - start] = np.swapaxes(p[..., mine], 0, 1)
            at += size
        return {str(node.name): p.reshape(n, -1, *node.shape) for node, p in zip(made.nodes, found)}

    def moments(
        self, inputs: Mapping[int, np.ndarray], rest: Mapping[int, Node], n: int
    ) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Mean and sd of every cell given each of n draws of the nodes `rest`."""
        found = {}
        chances = self.probabilities(inputs, rest, n)
        for node, states in zip(self.lowered.nodes, self.lowered.states):
            p = np.moveaxis(chances[str(node.name)], 1, -1)
            mean = p @ states
            found[str(node.name)] = mean, np.sqrt(np.maximum(p @ np.square(states) - np.square(mean), 0.0))
        return found

    def _chunks(self, inputs: Mapping[int, np.ndarray], n: int) -> list[tuple[dict[int, np.ndarray], int]]:
        groups = [group for source in self.lowered.sources for group in source.groups]
        scopes = self.lowered.scopes
        entries = sum(int(np.prod(group.cards)) * scopes[group.table].variables.shape[1] for group in groups)
        step = max(1, CHUNK // max(entries, 1))
        return [({k: x[i : i + step] for k, x in inputs.items()}, min(step, n - i)) for i in range(0, n, step)]

    def _tables(self, inputs: Mapping[int, np.ndarray], rest: Mapping[int, Node]) -> list[np.ndarray]:
        program = Program(self.lowered.parents, [rest[k] for k in inputs])
        with np.errstate(all="ignore"):
            values = program.values(inputs, lead=True)
        lead = [program.varies(node) for node in self.lowered.parents]
        tables = self.lowered.tables(values, lead)
        return tables if any(lead) else [table[..., None, :] for table in tables]


def finite_leaves(factors: Sequence[Factor], latents: Sequence[Node], *, labels: bool = True) -> list[FiniteLeaf]:
    """All of them, in the order of their first nodes.

    labels : whether to look for states that nothing tells apart

    Raises
    ------
    UnavailableError : a discrete node without a largest value, or cells that depend on too many states together
    MemoryLimitError : nodes that depend on each other too widely
    """
    nodes = {node.number: node for node in latents if is_finite(node)}
    if not nodes:
        return []
    memo: dict[int, frozenset[int]] = {}
    about = [frozenset().union(*(dependencies(part, memo) for part in f.parts)) & nodes.keys() for f in factors]
    leaves = []
    for members in _components(nodes, about):
        mine = [f for f, touched in zip(factors, about) if touched & members]
        group = tuple(nodes[number] for number in sorted(members))
        made = lowered(group, mine)
        leaves.append(FiniteLeaf(group, state_sum(made), tuple(mine), _told(made), made))
    return [_with_labels(leaf, factors, latents, leaves) for leaf in leaves] if labels else leaves


def _with_labels(
    leaf: FiniteLeaf, factors: Sequence[Factor], latents: Sequence[Node], leaves: Sequence[FiniteLeaf]
) -> FiniteLeaf:
    def density() -> Any:
        left, rest = summed(factors, latents, leaves)
        return joint_target([factor.term for factor in left], rest)

    parts = [part for factor in leaf.factors for part in factor.parts]
    found = find_labels(leaf.nodes, parts, summed(factors, latents, leaves)[1], density)
    told = "".join(f"; {labels.told()}" for labels in found)
    return replace(leaf, labels=tuple(found), pair=leaf.pair + told) if found else leaf


def summed(
    factors: Sequence[Factor], latents: Sequence[Node], leaves: Sequence[FiniteLeaf]
) -> tuple[list[Factor], list[Node]]:
    """Factors and latent nodes with every leaf as a potential of what it depends on."""
    done = {id(factor) for leaf in leaves for factor in leaf.factors}
    gone = {node.number for leaf in leaves for node in leaf.nodes}
    potentials = [Factor(f"sum over {leaf.lowered.name}", None, leaf.marginal, False) for leaf in leaves]
    return (
        [factor for factor in factors if id(factor) not in done] + potentials,
        [node for node in latents if node.number not in gone],
    )


def _components(nodes: Mapping[int, Node], about: Sequence[frozenset[int]]) -> list[frozenset[int]]:
    """Sets of nodes that factors tie together."""
    groups: list[Any] = [frozenset({number}) for number in nodes]
    for touched in about:
        if touched:
            joined = [group for group in groups if group & touched]
            groups = [group for group in groups if not group & touched] + [frozenset().union(*joined)]
    return sorted(groups, key=min)


def _told(made: Lowered) -> str:
    each = []
    for node, states in zip(made.nodes, made.states):
        cells = f"{len(states)} states" if node.is_scalar else f"{len(states)} states of each of {node.size} cells"
        each.append(cells if len(made.nodes) == 1 else f"{node.name} ({cells})")
    return f"{', '.join(each)}, summed out" + (" jointly" if len(made.nodes) > 1 else "")
