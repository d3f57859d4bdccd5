"""Draws of auxiliary latents that have no law in `distributions`: Pólya–Gamma weights, probit utilities."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import special

from credo.distributions.polya_gamma import PolyaGamma, draw_polya_gamma
from credo.program.gibbs.augment import Auxiliary
from credo.program.gibbs.expressions import Expressions, State
from credo.program.nodes import Node, as_node
from credo.program.passes.powers import Memo

__all__ = ["PolyaGammaMove", "ProbitMove", "draw_fractional"]

#: Gamma terms of the series of a Pólya–Gamma law; what is left has its exact mean and variance
TERMS = 20


class PolyaGammaMove:
    """ω | η ~ Pólya–Gamma(shape, tilt)."""

    def __init__(self, auxiliary: Auxiliary, latents: Sequence[Node], memo: Memo) -> None:
        self.node = auxiliary.node
        self.nodes = (self.node,)
        parts = [auxiliary.parts["shape"], auxiliary.parts["tilt"]]
        self._values = Expressions(parts, latents, self.node.ndim, memo)
        self.said = f"{self.node.name}: {auxiliary.pair}"

    def step(self, state: State, rng: np.random.Generator) -> None:
        shape = state[self.node.number].shape
        b, tilt = (np.broadcast_to(each, shape) for each in self._values(state))
        drawn = draw_polya_gamma(b, tilt, rng) if np.all(b == np.floor(b)) else draw_fractional(b, tilt, rng)
        state[self.node.number] = np.maximum(drawn, 1e-300)


def draw_fractional(b: np.ndarray, tilt: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Pólya–Gamma(b, tilt) for any b ≥ 0 as its series of Gammas, elementwise:

    ω = Σ_k g_k/(2π² ((k − ½)² + (tilt/2π)²)), g_k ~ Gamma(b, 1), k = 1, 2, …

    The first 20 terms are drawn; the rest is a Gamma of their mean and variance, so that only the third cumulant is
    off, by some 1e-8 of the whole's: far below what draws can tell. Cost: 20 Gammas, whatever b.
    """
    squares = np.square(tilt / (2.0 * np.pi))
    total, mean, variance = np.zeros(b.shape), np.zeros(b.shape), np.zeros(b.shape)
    for k in range(1, TERMS + 1):
        c = 1.0 / (2.0 * np.pi**2 * ((k - 0.5) ** 2 + squares))
        total += c * rng.standard_gamma(b)
        mean += c * b
        variance += np.square(c) * b
    law = PolyaGamma(1.0, tilt)
    left = np.maximum(b * law.mean - mean, 0.0)
    spread = np.maximum(b * law.variance - variance, 1e-300)
    has = (left > 0.0) & (b > 0.0)
    scale = np.where(has, spread / np.where(has, left, 1.0), 1.0)
    return total + np.where(has, scale * rng.standard_gamma(np.where(has, left / scale, 1.0)), 0.0)


class ProbitMove:
    """u | η, y ~ Normal(η, 1) on the side of 0 that y says."""

    def __init__(self, auxiliary: Auxiliary, latents: Sequence[Node], memo: Memo) -> None:
        self.node = auxiliary.node
        self.nodes = (self.node,)
        parts = [auxiliary.parts["mean"], as_node(auxiliary.of.node)]
        self._values = Expressions(parts, latents, self.node.ndim, memo)
        self.said = f"{self.node.name}: {auxiliary.pair}"

    def step(self, state: State, rng: np.random.Generator) -> None:
        shape = state[self.node.number].shape
        mean, y = (np.broadcast_to(each, shape) for each in self._values(state))
        sign = np.where(y > 0.5, 1.0, -1.0)
        # u·sign > 0; in logs, so that any distance from 0 keeps its digits
        log_share = np.log1p(-rng.random(shape)) + special.log_ndtr(sign * mean)
        state[self.node.number] = mean - sign * special.ndtri_exp(log_share)
