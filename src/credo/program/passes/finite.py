"""Finite leaves: latent nodes with finitely many values, summed out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from credo.program.model import Factor
from credo.program.nodes import Node

__all__ = ["FiniteLeaf", "finite_leaves"]


@dataclass(frozen=True, eq=False)
class FiniteLeaf:
    """nodes : what is summed out together; marginal : log Σ p(data, states | parameters), a scalar node; factors :
    those accounted for, the nodes' own included; pair : for people"""

    nodes: tuple[Node, ...]
    marginal: Node
    factors: tuple[Factor, ...]
    pair: str

    def draw(
        self, inputs: Mapping[int, np.ndarray], rest: Mapping[int, Node], n: int, rng: np.random.Generator
    ) -> dict[str, np.ndarray]:
        raise NotImplementedError

    def moments(
        self, inputs: Mapping[int, np.ndarray], rest: Mapping[int, Node], n: int
    ) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        raise NotImplementedError


def finite_leaves(factors: Sequence[Factor], latents: Sequence[Node]) -> list[FiniteLeaf]:
    """All of them."""
    return []
