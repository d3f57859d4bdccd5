"""Discrete latent nodes: every cell drawn from its conditional over all its values, by enumeration.

Where each cell of every law depends on one cell of the node, as in a mixture, all cells are drawn at once: K values
cost K evaluations. Elsewhere cells are drawn one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from credo.errors import UnavailableError
from credo.program.gibbs.expressions import CellDensity, State, owners_of_factor, touches
from credo.program.model import Factor
from credo.program.nodes import Node, as_node
from credo.program.passes.affine import dependencies
from credo.program.passes.finite import FiniteLeaf
from credo.program.passes.powers import Memo, gathered

__all__ = ["MOST_VALUES", "LeafMove", "StatesMove", "number_of_values"]

MOST_VALUES = 256


def number_of_values(node: Node, memo: Memo) -> int | None:
    """K of a node that takes the values 0 … K − 1; None where it is not finite."""
    law: Any = node.law
    kind = type(law).__name__
    if kind == "Bernoulli":
        return 2
    if kind == "Categorical":
        return as_node(law.p).shape[-1]
    if kind == "Binomial" and not dependencies(as_node(law.n), memo):
        return int(np.max(np.asarray(as_node(law.n).value))) + 1 if as_node(law.n).value is not None else None
    support = node.static.get("support")
    if support is not None and support.is_discrete and np.all(np.isfinite(support.high)) and np.all(support.low == 0):
        return int(np.max(support.high)) + 1
    return None


class LeafMove:
    """All states that laws tie together, as the path of a hidden chain, drawn at once by elimination
    (`passes.finite`): the laws are those declared, auxiliaries integrated out."""

    def __init__(self, leaf: FiniteLeaf, latents: Sequence[Node]) -> None:
        self.leaf, self.nodes = leaf, leaf.nodes
        mine = {node.number for node in leaf.nodes}
        self._rest = {node.number: node for node in latents if node.number not in mine}
        names = ", ".join(str(node.name) for node in leaf.nodes)
        self.said = f"{names}: {leaf.pair.replace('summed out', 'drawn together')}, given the rest"

    def step(self, state: State, rng: np.random.Generator) -> None:
        chains = len(state[self.nodes[0].number])
        inputs = {number: state[number] for number in self._rest}
        drawn = self.leaf.draw(inputs, self._rest, chains, rng)
        for node in self.nodes:
            state[node.number] = np.asarray(drawn[str(node.name)], dtype=np.float64).reshape(chains, *node.shape)


class StatesMove:
    """The draw of one discrete node.

    Raises `UnavailableError` where it has no end or more than `MOST_VALUES` values.
    """

    def __init__(self, node: Node, factors: Sequence[Factor], latents: Sequence[Node], memo: Memo) -> None:
        self.node, self.nodes = node, (node,)
        n_values = number_of_values(node, memo)
        if n_values is None or n_values > MOST_VALUES:
            raise UnavailableError(
                f'inference="gibbs" is not available: {node.name} is {type(node.law).__name__}, with '
                f"{'no end of' if n_values is None else n_values} values, and its conditional cannot be enumerated.",
                remedy='Use inference="auto".',
            )  # fmt: skip
        self.n_values = n_values
        mine = [factor for factor in factors if factor.node.number == node.number or touches(factor, node, memo)]
        self._densities = [CellDensity(factor, latents, memo) for factor in mine]
        found = [owners_of_factor(factor, node, memo) for factor in mine]
        self.at_once = all(each is not None for each in found)
        self._owners = found if self.at_once else []
        how = "all at once" if self.at_once or node.size == 1 else "one after the other"
        cells = "" if node.size == 1 else f" of {node.size} cells, {how},"
        self.said = f"{node.name}: {n_values} values{cells} enumerated given the rest"

    def log_weights(self, state: State) -> np.ndarray:
        """log p of every value of every cell up to a constant, (chains, size, K), where cells are apart."""
        now, node = state[self.node.number], self.node
        out = np.zeros((len(now), node.size, self.n_values))
        for k in range(self.n_values):
            here = {**state, node.number: np.full(now.shape, float(k))}
            for density, at in zip(self._densities, self._owners):
                cells = density(here)
                if at is None:
                    continue
                mine = at >= 0
                if not mine.all():
                    cells = np.broadcast_to(cells, (*np.shape(cells)[: np.ndim(cells) - at.ndim], *at.shape))[..., mine]
                out[:, :, k] += gathered(cells, at[mine] if not mine.all() else at, node.size)
        return out

    def step(self, state: State, rng: np.random.Generator) -> None:
        now = state[self.node.number]
        if self.at_once:
            drawn = _drawn(self.log_weights(state), rng)
            state[self.node.number] = drawn.reshape(now.shape).astype(np.float64)
            return
        for i in range(self.node.size):
            logs = np.empty((len(now), self.n_values))
            for k in range(self.n_values):
                trial = state[self.node.number].copy()
                trial.reshape(len(now), -1)[:, i] = k
                here = {**state, self.node.number: trial}
                logs[:, k] = sum(_total(density(here), len(now)) for density in self._densities)
            new = state[self.node.number].copy()
            new.reshape(len(now), -1)[:, i] = _drawn(logs, rng)
            state[self.node.number] = new


def _total(cells: np.ndarray, chains: int) -> np.ndarray:
    """Summed over cells: (chains,) or a number that all share."""
    return cells.reshape(chains, -1).sum(axis=1) if cells.ndim and len(cells) == chains else cells.sum()


def _drawn(logs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One value along the last axis from log weights."""
    weights = np.exp(logs - logs.max(axis=-1, keepdims=True))
    total = np.cumsum(weights, axis=-1)
    u = rng.random(logs.shape[:-1])[..., None] * total[..., -1:]
    return np.minimum((u >= total).sum(axis=-1), logs.shape[-1] - 1)
