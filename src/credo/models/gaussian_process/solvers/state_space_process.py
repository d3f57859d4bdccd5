"""Kernels of one column as processes with a finite state: f(x) = h(x)ᵀ s(x).

Notation
    s (S,)          the state, whose covariance P (S, S) is the same everywhere
    A(Δ), Q(Δ)      s(x + Δ) = A s(x) + noise of covariance Q = P − A P Aᵀ
    h(x) (S,)       what of the state is seen at x
    u = Δ λ         a gap in units in which the process is the same for every lengthscale

A state is chosen so that P and the laws in u are numbers and all scales are in h: a variance is √variance in h, and
a kernel with finitely many features has a constant state (A = I, Q = 0) with the features in h. Sums put states beside
each other, products multiply them (Kronecker); P − Q = A P Aᵀ gives Q of a product without cancellation.

Reference: Särkkä and Solin (2019), Applied Stochastic Differential Equations, ch. 12.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

__all__ = ["Process", "Weights"]


@dataclass(frozen=True)
class Weights:
    """∂L/∂A (n, S, S), ∂L/∂Q (n, S, S) and ∂L/∂h (n, S) of some L, to be carried on to θ."""

    A: np.ndarray
    Q: np.ndarray
    h: np.ndarray


class Process(Protocol):
    """A finite-state process; gradients are ∂L/∂θ in the kernel's own order."""

    @property
    def P(self) -> np.ndarray: ...

    @property
    def pattern(self) -> np.ndarray:
        """(S, S) where A may differ from 0."""
        ...

    @property
    def error(self) -> float:
        """Bound on |k̃ − k| where the state is an approximation; 0 where it is exact."""
        ...

    def transition(self, gaps: np.ndarray) -> np.ndarray:
        """A (n, S, S) for gaps Δ ≥ 0 (n,)."""
        ...

    def innovation(self, gaps: np.ndarray) -> np.ndarray:
        """Q (n, S, S)."""
        ...

    def emission(self, x: np.ndarray) -> np.ndarray:
        """h (n, S)."""
        ...

    def gradient(self, gaps: np.ndarray, x: np.ndarray, weights: Weights) -> np.ndarray: ...
