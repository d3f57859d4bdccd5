"""E_q of log densities: terms that are linear in the moments of every factor of q, each with its slopes.

M : name → moments (a tuple of arrays) of each factor of q. A term has `value(M)` and, for a factor it depends on,
`slope(name, M)`: what it adds to the natural parameters, index → array.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.inference.variational.exponential import Tuple
from credo.program.passes.powers import gathered

__all__ = ["LogTerm", "LogitTerm", "MonomialTerm", "NormalTerm", "PowerAt", "ProbitTerm", "Predictor", "ShareTerm"]

Moments = Mapping[str, Tuple]
Slope = dict[int, np.ndarray]


@dataclass(frozen=True, eq=False)
class PowerAt:
    """θ^e in each cell: the factor's name, which entry, which of its moments, and the node's shape."""

    name: str
    entries: np.ndarray
    index: int
    shape: tuple[int, ...]

    def values(self, M: Moments) -> np.ndarray:
        return M[self.name][self.index].ravel()[self.entries]

    def summed(self, cells: np.ndarray) -> np.ndarray:
        return gathered(cells, self.entries, int(np.prod(self.shape, dtype=int))).reshape(self.shape)


@dataclass(frozen=True, eq=False)
class LogTerm:
    """Σ coefficient · log θ[entries]; `at` has index 0."""

    coefficient: np.ndarray
    at: PowerAt

    @property
    def names(self) -> tuple[str, ...]:
        return (self.at.name,)

    def value(self, M: Moments) -> float:
        return float(np.sum(self.coefficient * self.at.values(M)))

    def slope(self, name: str, M: Moments) -> Slope:
        return {0: self.at.summed(self.coefficient)}


@dataclass(frozen=True, eq=False)
class MonomialTerm:
    """−Σ constant · Π θ_j^e_j."""

    constant: np.ndarray
    powers: tuple[PowerAt, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(each.name for each in self.powers)

    def cells(self, M: Moments, without: str = "") -> np.ndarray:
        """Cell by cell, the factor `without` left out."""
        out = self.constant
        for each in self.powers:
            out = out if each.name == without else out * each.values(M)
        return out

    def value(self, M: Moments) -> float:
        return -float(np.sum(self.cells(M)))

    def slope(self, name: str, M: Moments) -> Slope:
        each = next(each for each in self.powers if each.name == name)
        return {each.index: -each.summed(self.cells(M, name))}


@dataclass(frozen=True, eq=False)
class Predictor:
    """constant + Σ over blocks of their rows: name → where a block's moments hold them."""

    constant: np.ndarray
    rows: dict[str, slice]

    def mean(self, M: Moments, without: str = "") -> np.ndarray:
        return self.constant + sum(M[name][0][at] for name, at in self.rows.items() if name != without)

    def square(self, M: Moments) -> np.ndarray:
        """E of the square: blocks are independent."""
        spread = sum(M[name][1][at] - np.square(M[name][0][at]) for name, at in self.rows.items())
        return np.square(self.mean(M)) + spread


@dataclass(frozen=True, eq=False)
class NormalTerm:
    """−½ Σ W r²: W a monomial, r a predictor."""

    weight: MonomialTerm
    residual: Predictor

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.weight.names, *self.residual.rows)

    def value(self, M: Moments) -> float:
        return -0.5 * float(np.sum(self.weight.cells(M) * self.residual.square(M)))

    def slope(self, name: str, M: Moments) -> Slope:
        if name in self.residual.rows:
            w = np.broadcast_to(self.weight.cells(M), self.residual.constant.shape)
            return {0: -w * self.residual.mean(M, name), 1: -0.5 * w}
        each = next(each for each in self.weight.powers if each.name == name)
        return {each.index: -0.5 * each.summed(self.weight.cells(M, name) * self.residual.square(M))}


@dataclass(frozen=True, eq=False)
class LogitTerm:
    """Σ half · ψ − ½ ω ψ²: ψ a predictor, ω Pólya–Gamma weights by name."""

    half: np.ndarray
    tilt: Predictor
    weights: str

    @property
    def names(self) -> tuple[str, ...]:
        return (self.weights, *self.tilt.rows)

    def value(self, M: Moments) -> float:
        return float(np.sum(self.half * self.tilt.mean(M) - 0.5 * M[self.weights][0] * self.tilt.square(M)))

    def slope(self, name: str, M: Moments) -> Slope:
        if name == self.weights:
            return {0: -0.5 * self.tilt.square(M)}
        w = M[self.weights][0]
        return {0: self.half - w * self.tilt.mean(M, name), 1: -0.5 * w}


@dataclass(frozen=True, eq=False)
class ProbitTerm:
    """Σ u η − ½ η²: η a predictor, u utilities by name (their u² is in the base measure)."""

    mean: Predictor
    utility: str

    @property
    def names(self) -> tuple[str, ...]:
        return (self.utility, *self.mean.rows)

    def value(self, M: Moments) -> float:
        return float(np.sum(M[self.utility][0] * self.mean.mean(M) - 0.5 * self.mean.square(M)))

    def slope(self, name: str, M: Moments) -> Slope:
        if name == self.utility:
            return {0: self.mean.mean(M)}
        ones = np.ones(self.mean.constant.shape)
        return {0: M[self.utility][0] - self.mean.mean(M, name), 1: -0.5 * ones}


@dataclass(frozen=True, eq=False)
class ShareTerm:
    """Σ counts · log p, p the shares of a factor by name."""

    counts: np.ndarray
    name: str

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    def value(self, M: Moments) -> float:
        return float(np.sum(self.counts * M[self.name][0]))

    def slope(self, name: str, M: Moments) -> Slope:
        return {0: self.counts}


Term = Any
