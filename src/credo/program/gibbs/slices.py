"""Nodes whose conditional belongs to no family: slices along one coordinate after the other, within the sweep.

The density is that of the laws as declared, auxiliaries integrated out: these are drawn anew right after. Where every
law's cell depends on one entry of the node all entries are moved at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from credo.errors import UnavailableError
from credo.inference.slice_update import slice_update
from credo.inference.transforms import Interval, transform_for
from credo.program.gibbs.expressions import CellDensity, State, owners_of_factor, touches
from credo.program.model import Factor
from credo.program.nodes import Node
from credo.program.passes.powers import Memo, gathered

__all__ = ["SliceMove"]

#: entries moved one after the other; more would take minutes
MOST = 400


class SliceMove:
    """The move of one node."""

    def __init__(self, node: Node, factors: Sequence[Factor], latents: Sequence[Node], memo: Memo) -> None:
        self.node, self.nodes = node, (node,)
        self.transform: Any = transform_for(node.support, node.shape, str(node.name))
        mine = [factor for factor in factors if factor.node.number == node.number or touches(factor, node, memo)]
        self._densities = [CellDensity(factor, latents, memo) for factor in mine]
        found = [owners_of_factor(factor, node, memo) for factor in mine]
        self.at_once = isinstance(self.transform, Interval) and all(each is not None for each in found)
        self._owners = found if self.at_once else []
        if not self.at_once and self.transform.free > MOST:
            raise UnavailableError(
                f'inference="gibbs" is not available: {node.name} has {node.size} entries and no conditional of a '
                "known family, and they depend on each other.",
                remedy='Use inference="auto" or "nuts".',
            )  # fmt: skip
        self.width = np.ones(self.transform.free)
        self._moves = np.zeros(self.transform.free)
        self._seen = 0
        entries = "" if node.size == 1 else ", all entries at once" if self.at_once else ", entry by entry"
        self.said = f"{node.name}: no known family given the rest: slices{entries}"

    def step(self, state: State, rng: np.random.Generator) -> None:
        now = state[self.node.number]
        flat = now.reshape(len(now), -1)
        before = self.transform.inverse(flat)
        z = self._together(state, before, rng) if self.at_once else self._in_turn(state, before, rng)
        state[self.node.number] = self.transform.forward(z).reshape(now.shape)
        if self._seen >= 0:
            self._moves += np.abs(z - before).mean(axis=0)
            self._seen += 1

    def learn(self) -> None:
        """Widths from the moves of warm-up so far: twice their mean; called at set times only."""
        if self._seen:
            mean = self._moves / self._seen
            self.width = np.where(mean > 0.0, np.clip(2.0 * mean, 0.1 * self.width, 10.0 * self.width), self.width)
        self._moves[:], self._seen = 0.0, 0

    def _at(self, state: State, z: np.ndarray) -> State:
        x = self.transform.forward(z)
        return {**state, self.node.number: x.reshape(len(z), *self.node.shape)}

    def _together(self, state: State, z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        def density(z: np.ndarray) -> np.ndarray:
            with np.errstate(all="ignore"):
                here = self._at(state, z)
                total = _log_slopes(self.transform, z)
                for each, at in zip(self._densities, self._owners):
                    if at is not None:
                        total = total + _of_entries(each(here), at, self.node.size)
            return np.where(np.isnan(total), -np.inf, total)

        return slice_update(density, z, rng, self.width)  # type: ignore[arg-type]

    def _in_turn(self, state: State, z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        z = z.copy()
        for i in range(self.transform.free):

            def density(t: np.ndarray, i: int = i) -> np.ndarray:
                trial = z.copy()
                trial[:, i] = t
                with np.errstate(all="ignore"):
                    x = self.transform.forward(trial)
                    here = {**state, self.node.number: x.reshape(len(trial), *self.node.shape)}
                    total = self.transform.log_jacobian(x, trial)[0]
                    for each in self._densities:
                        cells = each(here)
                        has = cells.ndim and len(cells) == len(trial)
                        total = total + (cells.reshape(len(trial), -1).sum(axis=1) if has else cells.sum())
                return np.where(np.isnan(total), -np.inf, total)

            z[:, i] = slice_update(density, z[:, i].copy(), rng, float(self.width[i]))
        return z


def _of_entries(cells: np.ndarray, at: np.ndarray, size: int) -> np.ndarray:
    """Cell by cell log densities added up by the entries they depend on."""
    mine = at >= 0
    if mine.all():
        return gathered(cells, at, size)
    cells = np.broadcast_to(cells, (*np.shape(cells)[: max(np.ndim(cells) - at.ndim, 0)], *at.shape))
    return gathered(cells[..., mine], at[mine], size)


def _log_slopes(transform: Interval, z: np.ndarray) -> np.ndarray:
    """log |∂x/∂z| of every entry."""
    lower, upper, both = transform._kinds
    out = np.zeros_like(z)
    out[:, lower | upper] = z[:, lower | upper]
    inner = z[:, both]
    out[:, both] = -np.logaddexp(0.0, inner) - np.logaddexp(0.0, -inner)
    return out
