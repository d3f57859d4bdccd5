"""What of a kernel no two rows share: `White` parts, which a solver that works through k(X, Z) must add as noise.

Notation: w (n,) = k(x, x) of K(X) less k(x, z) at an equal z: 0 for a kernel without `White`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from credo.kernels import Differentiated, Kernel, Product, Scaled, Sum, White

__all__ = ["has_white", "leaves_of", "white_diagonal", "white_gradient"]

# k(x, z) of a row with itself is the diagonal of a small matrix: 16 rows a call balance its entries and its overhead.
ROWS = 16


def leaves_of(kernel: Kernel) -> list[Kernel]:
    """The kernels that a kernel is made of."""
    if isinstance(kernel, Sum | Product):
        return [leaf for part in kernel.parts for leaf in leaves_of(part)]
    return leaves_of(kernel.kernel) if isinstance(kernel, Scaled | Differentiated) else [kernel]


def has_white(kernel: Kernel) -> bool:
    """Whether the kernel tells X from an equal Z."""
    return any(isinstance(leaf, White) for leaf in leaves_of(kernel))


def white_diagonal(kernel: Kernel, X: np.ndarray) -> np.ndarray:
    """w (n,)."""
    if not has_white(kernel):
        return np.zeros(len(X))
    shared = np.concatenate([np.diag(kernel(X[rows], X[rows])) for rows in _few(len(X))])
    return np.maximum(kernel.diagonal(X) - shared, 0.0)


def white_gradient(kernel: Kernel, X: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Σ_a weight_a ∂w_a/∂θ (h,)."""
    if not has_white(kernel):
        return np.zeros(kernel.theta.size)
    shared = (kernel.gradient(X[rows], X[rows], np.diag(weight[rows])) for rows in _few(len(X)))
    return kernel.diagonal_gradient(X, weight) - np.sum(list(shared), axis=0)


def _few(n: int) -> Iterator[slice]:
    return (slice(start, start + ROWS) for start in range(0, n, ROWS))
