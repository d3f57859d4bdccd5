"""Two scales that enter everything as their product, τ·λ_j: moved along (c τ, λ/c), which leaves the product alone.

Gibbs updates of τ given λ and of λ given τ crawl: each is pinned by the product that the data see. Along c only the two
priors change, and c is drawn from

    p(c) ∝ p(c τ) c τ · Π_j p(λ_j/c) λ_j/c        dc/c

by a slice in log c (a group move, whose invariant measure is dc/c).

Sources: Liu and Sabatti (2000), Biometrika 87; Yu and Meng (2011), J. Computational and Graphical Statistics 20.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from credo.inference.slice_update import slice_update
from credo.program.gibbs.expressions import State
from credo.program.gibbs.powers import PowerMove

__all__ = ["ProductMove", "product_moves"]


def product_moves(moves: Sequence[PowerMove]) -> list[ProductMove]:
    """One for every pair of a scalar and another node that enter the same laws, each law by one power of both."""
    found = []
    for one in moves:
        for other in moves:
            is_first = other.node.size > 1 or one.node.number < other.node.number
            if one.node.size == 1 and one is not other and is_first and _entries(one) == _entries(other):
                found.append(ProductMove(one, other))
    return found


def _entries(move: PowerMove) -> dict[int, float]:
    """Laws and the powers the node has in them."""
    return {id(child.factor): child.power.exponent for child in move.children}


class ProductMove:
    """The move of one pair."""

    def __init__(self, one: PowerMove, other: PowerMove) -> None:
        self._pair = (one, other)
        self.nodes = (one.node, other.node)
        a, b = (node.name for node in self.nodes)
        self.said = f"{a}, {b}: {a} times c and {b} divided by c, by a slice in log c"

    def step(self, state: State, rng: np.random.Generator) -> None:
        values = [state[node.number] for node in self.nodes]
        priors = [move.log_prior(state) for move in self._pair]
        chains, sizes = len(values[0]), [node.size for node in self.nodes]

        def scaled(u: np.ndarray) -> list[np.ndarray]:
            c = [np.exp(sign * u).reshape(-1, *(1,) * node.ndim) for sign, node in zip((1.0, -1.0), self.nodes)]
            return [now * each for now, each in zip(values, c)]

        def density(u: np.ndarray) -> np.ndarray:
            total = (sizes[0] - sizes[1]) * u
            for x, prior in zip(scaled(u), priors):
                total = total + np.asarray(prior(x)).reshape(chains, -1).sum(axis=1)
            return np.where(np.isnan(total), -np.inf, total)

        width = 2.0 / np.sqrt(1.0 + sizes[1])
        for node, x in zip(self.nodes, scaled(slice_update(density, np.zeros(chains), rng, width))):
            state[node.number] = x
