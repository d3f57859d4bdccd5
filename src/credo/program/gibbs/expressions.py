"""Expressions, log densities and their dependence on entries of a node, for many chains at once.

State: number of a latent node → its values (chains, *shape).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from credo.distributions.slopes import unchecked
from credo.program.density import is_opaque
from credo.program.evaluate import Program
from credo.program.model import Factor
from credo.program.nodes import Node, as_node
from credo.program.ops import OPS
from credo.program.passes.affine import dependencies
from credo.program.passes.powers import MOVES, Memo, moved

__all__ = ["PICKED", "CellDensity", "Expressions", "State", "owners", "owners_of_factor", "touches"]

State = dict[int, np.ndarray]
NONE = -1
#: the kind of picks by latent codes that are set apart (`gibbs.picked`)
PICKED = "picked_by_states"


def touches(factor: Factor, node: Node, memo: Memo) -> bool:
    """Whether a factor depends on a node."""
    return any(node.number in dependencies(part, memo) for part in factor.parts)


class Expressions:
    """Some nodes as functions of the state: arrays that broadcast against (chains, *an array of `ndim` axes)."""

    def __init__(self, nodes: Sequence[Node], latents: Sequence[Node], ndim: int | Sequence[int], memo: Memo) -> None:
        used = frozenset[int]().union(*(dependencies(node, memo) for node in nodes))
        inputs = [latent for latent in latents if latent.number in used]
        self.numbers = [latent.number for latent in inputs]
        self._program = Program(nodes, inputs)
        ndims = [ndim] * len(nodes) if isinstance(ndim, int) else ndim
        #: whether each depends on the state
        self.varies = [self._program.varies(node) for node in nodes]
        self._missing = [max(want - node.ndim, 0) if has else 0 for node, want, has in zip(nodes, ndims, self.varies)]

    def __call__(self, state: State) -> list[np.ndarray]:
        found = self._program.values({number: state[number] for number in self.numbers}, lead=True)
        return [
            v.reshape(v.shape[0], *(1,) * gap, *v.shape[1:]) if gap else np.asarray(v)
            for v, gap in zip(found, self._missing)
        ]


class CellDensity:
    """log p of a factor cell by cell, (chains, *cells), −∞ where it is not a number."""

    def __init__(self, factor: Factor, latents: Sequence[Node], memo: Memo) -> None:
        self.factor, law = factor, factor.law
        self.is_opaque = law is not None and is_opaque(law)
        if law is None:
            source = factor.node.parents[0] if factor.node.kind == "sum" else factor.node
            self.names, nodes, ndims = [], [source], [source.ndim]
        elif self.is_opaque:
            self.names, nodes, ndims = [], [factor.node], [factor.node.ndim]
        else:
            self.names = [name for name, value in law.parameters.items() if value is not None]
            nodes = [factor.node, *(as_node(law.parameters[name]) for name in self.names)]
            ndims = [factor.node.ndim + (type(law).__name__ == "Categorical" and name == "p")
                     for name in ("x", *self.names)]  # fmt: skip
        self._values = Expressions(nodes, latents, ndims, memo)

    def __call__(self, state: State) -> np.ndarray:
        with np.errstate(all="ignore"):
            x, *parameters = self._values(state)
            law: Any = self.factor.law
            if law is None:
                each = x
            elif self.is_opaque:
                each = np.asarray(law.log_prob(x))
            elif law.event_ndim:
                each = self._events(law, x, parameters)
            else:
                each = np.asarray(unchecked(type(law), dict(zip(self.names, parameters))).log_prob(x))
        return np.where(np.isnan(each), -np.inf, each)

    def _events(self, law: Any, x: np.ndarray, parameters: list[np.ndarray]) -> np.ndarray:
        """Vector families take one set of parameters at a time."""
        chains = max((len(v) for v, has in zip([x, *parameters], self._values.varies) if has), default=1)
        varies, rows = self._values.varies, []
        if not any(varies[1:]):
            return np.asarray(unchecked(type(law), dict(zip(self.names, parameters))).log_prob(x))
        for c in range(chains):
            point, *here = [v[c] if has else v for v, has in zip([x, *parameters], varies)]
            rows.append(unchecked(type(law), dict(zip(self.names, here))).log_prob(point))
        return np.array(rows)


def owners(value: Node, node: Node, memo: Memo) -> np.ndarray | None:
    """Which entry of the node each cell of an expression depends on, −1 for none; None where a cell has several."""
    if node.number not in dependencies(value, memo):
        return np.full(value.shape, NONE)
    if node.size == 1:
        return np.zeros(value.shape, dtype=np.intp)
    if value.number == node.number:
        return np.arange(node.size).reshape(node.shape)
    if value.kind in ("take", "pick", PICKED) and node.number not in dependencies(value.parents[0], memo):
        rest = value.parents[0].ndim - len(value.parents) + 1
        at = _all_of(value.parents[1:], node, value.shape[: value.ndim - rest], memo)
        return None if at is None else np.broadcast_to(at.reshape(at.shape + (1,) * rest), value.shape)
    if value.kind in MOVES:
        inner = owners(value.parents[0], node, memo)
        return None if inner is None else moved(value, inner, memo)
    if value.kind in ("sum", "mean"):
        inner = owners(value.parents[0], node, memo)
        return None if inner is None else joined_along(inner, value.static["axis"])
    if value.is_operation and OPS[value.kind].elementwise:
        return _all_of(value.parents, node, value.shape, memo)
    if value.kind in ("concat", "fill"):
        parts = [owners(parent, node, memo) for parent in value.parents]
        if any(part is None for part in parts):
            return None
        return np.asarray(OPS[value.kind].forward(parts, [False] * len(parts), value.static), dtype=np.intp)  # type: ignore[arg-type]
    return None


def _all_of(values: Sequence[Node], node: Node, shape: tuple[int, ...], memo: Memo) -> np.ndarray | None:
    """Of cells that several expressions make together."""
    parts = [owners(value, node, memo) for value in values]
    return None if any(part is None for part in parts) else merged(parts, shape)  # type: ignore[arg-type]


def joined_along(inner: np.ndarray, axis: Any) -> np.ndarray | None:
    """Of cells that are put together along axes: their one owner."""
    top = inner.max(axis=axis)
    low = np.where(inner == NONE, np.iinfo(np.intp).max, inner).min(axis=axis)
    return top if np.all((top == NONE) | (low == top)) else None


def merged(parts: Sequence[np.ndarray], shape: tuple[int, ...]) -> np.ndarray | None:
    """Of cells that several arguments make together."""
    out = np.full(shape, NONE)
    for part in parts:
        here = np.broadcast_to(part, shape)
        if np.any((out != NONE) & (here != NONE) & (out != here)):
            return None
        out = np.where(here == NONE, out, here)
    return out


# Axes of a law's parameter that belong to one event, where it is not the last alone; a chain's transition may have one
# matrix a step.
_EVENT_AXES = {"covariance": (-2, -1), "transition": (-3, -2, -1)}


def owners_of_factor(factor: Factor, node: Node, memo: Memo) -> np.ndarray | None:
    """Which entry of the node each cell of a factor's density depends on."""
    law: Any = factor.law
    if law is None:
        return owners(factor.node.parents[0] if factor.node.kind == "sum" else factor.node, node, memo)
    parts = []
    for name, part in (("x", factor.node), *((k, v) for k, v in law.parameters.items() if isinstance(v, Node))):
        found = owners(part, node, memo)
        if found is not None and (law.event_ndim or (type(law).__name__ == "Categorical" and name == "p")):
            axes = _EVENT_AXES.get(name, (-1,))[-max(found.ndim, 1) :]
            found = joined_along(found, axes) if found.ndim else found
        if found is None:
            return None
        parts.append(found)
    return merged(parts, factor.node.shape[:-1] if law.event_ndim else factor.node.shape)
