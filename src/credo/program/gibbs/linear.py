"""The Gaussian block of a sweep: all latent nodes that are linear and Normal given the others, drawn together.

    d | rest ~ Normal(−H⁻¹ g, H⁻¹),    H = Σ_i a_i a_iᵀ/s_i²,    g = Σ_i a_i r_i/s_i²

for the step d from where the chain stands, with residuals r_i there: no digits are lost to data far from 0. Blocks of
up to `LARGEST` entries are done for all chains at once; larger ones by the sparse engine, chain by chain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from credo.errors import NotIdentifiedError, NumericalError
from credo.inference.gaussian_block import GaussianBlock
from credo.program.gibbs.expressions import Expressions, State
from credo.program.model import Factor
from credo.program.nodes import Node
from credo.program.passes.collapse import Block
from credo.program.passes.factors import Rows, rows_of
from credo.program.passes.powers import Memo

__all__ = ["BlockMove"]

LARGEST = 200
#: numbers that products of columns may take (32 MB)
PRODUCTS = 4_000_000
#: numbers that the maps of a block may take where they are kept dense
DENSE = 8_000_000
TINY = 1e-13


@dataclass(eq=False)
class BlockMove:
    """nodes : drawn together."""

    block: Block
    factors: Sequence[Factor]
    latents: Sequence[Node]
    memo: Memo
    said: str = field(init=False)

    def __post_init__(self) -> None:
        rows = rows_of(self.factors, self.block)
        self.nodes = self.block.nodes
        size = self.block.size
        kept = sum(each.factor.n * size * len(each.factor.maps) for each in rows)
        self._dense = size <= LARGEST and kept <= DENSE and any(each.factor.rowwise for each in rows)
        if self._dense:
            self._parts = [_Part(each, self.latents, size, self.memo) for each in rows]
        else:
            self._engine = GaussianBlock([each.factor for each in rows], size, name="Model")
            coefficients = [node for each in rows for node in each.coefficients]
            self._slots = [slot for s in self._engine.slots for slot in (*s.a, *s.b, s.s)]
            self._coefficients = Expressions(coefficients, self.latents, 0, self.memo)
        names = ", ".join(str(node.name) for node in self.nodes)
        entries = "entry" if size == 1 else "entries"
        self.said = f"{names}: {size} {entries} drawn together, Normal given the rest"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(str(node.name) for node in self.nodes)

    def step(self, state: State, rng: np.random.Generator) -> None:
        """Replaces the block's values in the state."""
        chains = len(state[self.nodes[0].number])
        now = np.concatenate([state[node.number].reshape(chains, -1) for node in self.nodes], axis=1)
        z = now + self._dense_step(state, now, rng) if self._dense else self._engine_draw(state, chains, rng)
        start = 0
        for node in self.nodes:
            state[node.number] = z[:, start : start + node.size].reshape(chains, *node.shape)
            start += node.size

    def _engine_draw(self, state: State, chains: int, rng: np.random.Generator) -> np.ndarray:
        x = np.empty((chains, self._engine.n_coefficients))
        for slot, value, varies in zip(self._slots, self._coefficients(state), self._coefficients.varies):
            x[:, slot] = value.reshape(chains, -1) if varies else np.ravel(value)
        try:
            return self._engine.sample_each(x, rng)
        except NotIdentifiedError:
            raise self._not_identified() from None

    def _dense_step(self, state: State, now: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        chains, p = now.shape
        precision, slope = np.zeros((chains, p, p)), np.zeros((chains, p))
        for part in self._parts:
            part.add(state, now, precision, slope)
        diagonal = np.einsum("cii->ci", precision)
        if not np.all(diagonal > 0.0):
            raise self._not_identified()
        scale = 1.0 / np.sqrt(diagonal)
        scaled = precision * scale[:, :, None] * scale[:, None, :]
        try:
            lower = np.linalg.cholesky(scaled)
        except np.linalg.LinAlgError:
            raise self._not_identified() from None
        if not np.all(np.einsum("cii->ci", lower) > TINY**0.5):
            raise self._not_identified()
        half = np.linalg.solve(lower, (scale * slope)[:, :, None])[:, :, 0]
        noise = rng.standard_normal((chains, p))
        return scale * np.linalg.solve(np.swapaxes(lower, 1, 2), (noise - half)[:, :, None])[:, :, 0]

    def _not_identified(self) -> NotIdentifiedError:
        names = ", ".join(self.names)
        return NotIdentifiedError(
            f"Model: the data and the priors do not determine {names}: the posterior is improper, or a scale has gone "
            "to 0.", value=list(self.names),
            remedy="Give proper priors, such as Normal(0, 10), or leave out an effect that repeats others.",
        )  # fmt: skip


class _Part:
    """One factor's rows: maps (n, p) dense, and what their coefficients are in each chain."""

    def __init__(self, rows: Rows, latents: Sequence[Node], size: int, memo: Memo) -> None:
        factor = rows.factor
        self.n = factor.n
        self.maps = [np.ascontiguousarray(m.toarray()) for m in factor.maps]
        self.constants = [np.asarray(c) for c in factor.constants]
        nodes = [*rows.maps, *rows.constants, rows.sd]
        self._values = Expressions(nodes, latents, 1, memo)
        self._k = len(rows.maps)
        self.whole = None if any(self._values.varies[: self._k]) else self._whole()
        self.pairs = np.triu_indices(size)
        self.products, self.gram = None, None
        if self.whole is not None and not rows.sd.ndim:
            self.gram = self.whole.T @ self.whole
        elif self.whole is not None and self.n * self.pairs[0].size <= PRODUCTS:
            self.products = self.whole[:, self.pairs[0]] * self.whole[:, self.pairs[1]]

    def _whole(self) -> np.ndarray:
        """Σ a_k M_k for coefficients that do not vary."""
        a = [self._values._program._fixed[node.number] for node in self._values._program.outputs[: self._k]]
        return np.ascontiguousarray(np.sum([np.reshape(x, (-1, 1)) * m for x, m in zip(a, self.maps)], axis=0))

    def add(self, state: State, now: np.ndarray, precision: np.ndarray, slope: np.ndarray) -> None:
        """Adds AᵀWA and AᵀW r at the present values (chains, p)."""
        values = self._values(state)
        a, b, sd = values[: self._k], values[self._k : -1], values[-1]
        w = np.broadcast_to(1.0 / np.square(sd), (len(now), self.n))
        if not np.isfinite(w).all():
            raise NumericalError("Model: a standard deviation in a Gibbs sweep is 0.", value=0.0,
                                 remedy="Give scales priors without mass near 0.")  # fmt: skip
        residual = sum((np.asarray(x) * c for x, c in zip(b, self.constants)), np.zeros((1, self.n)))
        if self.whole is not None:
            residual = residual + now @ self.whole.T
            slope += (w * residual) @ self.whole
            if self.gram is not None:
                precision += w[:, :1, None] * self.gram
                return
            if self.products is not None:
                entries = w @ self.products
                first, second = self.pairs
                precision[:, first, second] += entries
                off = first != second
                precision[:, second[off], first[off]] += entries[:, off]
                return
            for c, each in enumerate(w):
                precision[c] += self.whole.T @ (each[:, None] * self.whole)
            return
        for c, weights in enumerate(w):
            A = np.sum([_of_chain(x, c, has) * m for x, m, has in zip(a, self.maps, self._values.varies)], axis=0)
            r = (residual[c] if len(residual) > 1 else residual[0]) + A @ now[c]
            precision[c] += A.T @ (weights[:, None] * A)
            slope[c] += A.T @ (weights * r)


def _of_chain(x: np.ndarray, c: int, varies: bool) -> np.ndarray:
    return np.reshape(x[c] if varies else x, (-1, 1))
