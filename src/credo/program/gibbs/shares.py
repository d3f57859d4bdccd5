"""Probabilities: Beta nodes behind successes and failures, Dirichlet nodes behind categories.

    log p(θ | rest) = (a − 1) log θ + (b − 1) log(1 − θ) + Σ successes log θ + failures log(1 − θ)

Children may be observed or latent; `1 − p` counts failures for successes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from credo.program.finite.chain import Chain, starts_of
from credo.program.gibbs.expressions import PICKED, Expressions, State, touches
from credo.program.gibbs.picked import Placed, Places, placed
from credo.program.model import Factor
from credo.program.nodes import Node, as_node
from credo.program.passes.affine import dependencies
from credo.program.passes.powers import Memo, placed_probability

__all__ = ["BetaMove", "DirichletMove", "beta_move", "dirichlet_move"]

LEAST = 1e-300
NEAREST_ONE = 1.0 - 2.0**-53


def beta_move(node: Node, factors: Sequence[Factor], latents: Sequence[Node], memo: Memo) -> BetaMove | None:
    """The move of a Beta node whose children are all trials."""
    law: Any = node.law
    if type(law).__name__ not in ("Beta", "Uniform") or node.support != law.support or node.bounds != (0.0, 1.0):
        return None
    children = []
    for factor in factors:
        if factor.node.number == node.number or not touches(factor, node, memo):
            continue
        found = _trials(factor, node, memo)
        if found is None:
            return None
        children.append(found)
    return BetaMove(node, children, latents, memo) if children else None


def _trials(factor: Factor, node: Node, memo: Memo) -> tuple[Placed, list[Node]] | None:
    """Which entry each cell is a trial of, and successes and failures there."""
    law: Any = factor.law
    kind, x = type(law).__name__, factor.node
    if kind not in ("Bernoulli", "Binomial", "Geometric"):
        return None
    others = [x, *([as_node(law.n)] if kind == "Binomial" else [])]
    if any(node.number in dependencies(each, memo) for each in others):
        return None
    found = placed(as_node(law.p), node, memo, _probability)
    if found is None:
        return None
    counts = {"Bernoulli": lambda: [x, 1.0 - x], "Binomial": lambda: [x, law.n - x],
              "Geometric": lambda: [as_node(np.ones(x.shape)), x]}[kind]()  # fmt: skip
    return (replace(found, entries=np.broadcast_to(found.entries, x.shape)),
            counts if found.exponent > 0.0 else counts[::-1])  # fmt: skip


def _probability(value: Node, node: Node, memo: Memo) -> Placed | None:
    """Exponent −1 says 1 −."""
    found = placed_probability(value, node, memo)
    return None if found is None else Placed(found[0], -1.0 if found[1] else 1.0)


class BetaMove:
    """The draw of one Beta node."""

    def __init__(self, node: Node, children: list[Any], latents: Sequence[Node], memo: Memo) -> None:
        self.node, self.nodes, law = node, (node,), node.law
        uniform = type(law).__name__ == "Uniform"
        prior = [as_node(1.0), as_node(1.0)] if uniform else [as_node(law.a), as_node(law.b)]  # type: ignore[union-attr]
        self._prior = Expressions(prior, latents, node.ndim, memo)
        self._children = [
            (Places(found, node, latents, memo), Expressions(counts, latents, found.entries.ndim, memo))
            for found, counts in children
        ]
        self.said = f"{node.name}: Beta given the rest"

    def counts(self, state: State) -> list[np.ndarray]:
        """Successes and failures, (chains or 1, *shape)."""
        totals: list[Any] = [0.0, 0.0]
        for places, counts in self._children:
            for k, each in enumerate(counts(state)):
                totals[k] = totals[k] + places.gathered(each, state).reshape(-1, *self.node.shape)
        return totals

    def step(self, state: State, rng: np.random.Generator) -> None:
        shape = state[self.node.number].shape
        a, b = (p + c for p, c in zip(self._prior(state), self.counts(state)))
        state[self.node.number] = np.clip(rng.beta(np.broadcast_to(a, shape), np.broadcast_to(b, shape)), LEAST,
                                          NEAREST_ONE)  # fmt: skip


def dirichlet_move(node: Node, factors: Sequence[Factor], latents: Sequence[Node], memo: Memo) -> DirichletMove | None:
    """The move of a Dirichlet node whose children are all categories or counts of them."""
    if type(node.law).__name__ != "Dirichlet" or node.ndim > 2:
        return None
    children = []
    for factor in factors:
        if factor.node.number == node.number or not touches(factor, node, memo):
            continue
        found = _path(factor, node, memo) if isinstance(factor.law, Chain) else _categories(factor, node, memo)
        if found is None:
            return None
        children.append(found)
    return DirichletMove(node, children, latents, memo) if children else None


Categories = tuple[str, Node, "Node | None"]


def _categories(factor: Factor, node: Node, memo: Memo) -> Categories | None:
    """The law, its value, and the rows of the node that its cells are of, None for a node of one row."""
    law: Any = factor.law
    kind = type(law).__name__
    if kind not in ("Categorical", "Multinomial") or node.number in dependencies(factor.node, memo):
        return None
    p = _named(law.p)
    if p.number == node.number:
        if node.ndim == 1:
            return kind, factor.node, None
        return (kind, factor.node, as_node(np.arange(node.shape[0]))) if kind == "Categorical" else None
    if p.kind not in ("take", PICKED) or p.parents[0].number != node.number or node.ndim != 2:
        return None
    codes = p.parents[1:]
    if len(codes) != 1 or node.number in dependencies(codes[0], memo):
        return None
    return kind, factor.node, codes[0]


def _path(factor: Factor, node: Node, memo: Memo) -> Categories | None:
    """The same of a chain's path: its first states by the initial probabilities, or each by the row of the one before.
    One of the two alone is the node."""
    law: Any = factor.law
    path, cells = factor.node, np.arange(factor.node.size).reshape(factor.node.shape)
    first, flat = starts_of(law.lengths, path.shape[-1]), path.reshape(path.size)
    initial, transition = _named(law.initial), _named(law.transition)
    if initial.number == node.number and node.ndim == 1 and node.number not in dependencies(transition, memo):
        return "Categorical", flat[cells[..., first].ravel()], None
    if transition.number == node.number and node.ndim == 2 and node.number not in dependencies(initial, memo):
        after = np.delete(cells, first, axis=-1).ravel()
        return ("Categorical", flat[after], flat[after - 1]) if after.size else None
    return None


def _named(value: Any) -> Node:
    """What a deterministic node is a name of."""
    node = as_node(value)
    while node.kind == "identity":
        node = node.parents[0]
    return node


class DirichletMove:
    """The draw of one Dirichlet node, of one row or several."""

    def __init__(self, node: Node, children: list[Any], latents: Sequence[Node], memo: Memo) -> None:
        self.node, self.nodes = node, (node,)
        law: Any = node.law
        self._prior = Expressions([as_node(law.concentration)], latents, node.ndim, memo)
        self._children = []
        for kind, x, rows in children:
            nodes = [x] if rows is None else [x, rows]
            self._children.append((kind, x.shape, rows is not None, Expressions(nodes, latents, x.ndim, memo)))
        self.said = f"{node.name}: Dirichlet given the rest"

    def counts(self, state: State) -> Any:
        """(chains or 1, *shape)."""
        k, groups = self.node.shape[-1], self.node.size // self.node.shape[-1]
        total: Any = 0.0
        for kind, shape, has_rows, values in self._children:
            x, *rows = values(state)
            if kind == "Multinomial":
                whole = x.reshape(-1, *shape)
                if has_rows:
                    at = np.broadcast_to(rows[0], shape[:-1]).astype(np.intp)
                    each = np.zeros((len(whole), groups, k))
                    for mine, row in zip(each, whole):
                        np.add.at(mine, at, row)
                    total = total + each.reshape(-1, *self.node.shape)
                else:
                    total = total + whole.reshape(len(whole), -1, k).sum(axis=1)
                continue
            codes = x.astype(np.intp)
            if has_rows:
                codes = codes + k * rows[0].astype(np.intp)
            codes = codes.reshape(-1, *shape).reshape(-1, int(np.prod(shape, dtype=int)))
            size = self.node.size
            at = (np.arange(len(codes))[:, None] * size + codes).ravel()
            total = total + np.bincount(at, minlength=len(codes) * size).reshape(-1, *self.node.shape)
        return total

    def step(self, state: State, rng: np.random.Generator) -> None:
        shape = state[self.node.number].shape
        a = np.broadcast_to(self._prior(state)[0] + self.counts(state), shape)
        drawn = np.maximum(rng.standard_gamma(a), LEAST)
        state[self.node.number] = drawn / drawn.sum(axis=-1, keepdims=True)
