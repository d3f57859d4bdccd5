"""Covariances of many small sets of rows at once, and their gradients, for any kernel.

Notation as in `vecchia_kernels`: an index (s, L) names the rows of L blocks, C (pairs, L) are the lower triangles of
their covariance matrices, and W (pairs, L) weights of those entries, an entry off the diagonal standing for both.

Kernels of a distance or a dot product, constants, and sums, products and multiples of them go by arrays of all L
blocks; any other kernel is asked for one block after the other, which is right for every kernel, and 50 times slower.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from credo.kernels import Constant, Kernel, Product, Scaled, Sum, White
from credo.kernels.dot import DotProduct
from credo.kernels.radial import Radial

__all__ = ["Blocks", "Pullback", "goes_by_arrays", "lanes", "stacked"]

#: W (pairs, L) → Σ W ∂C/∂θ (h,)
Pullback = Callable[[np.ndarray], np.ndarray]
#: index (s, L) → C (pairs, L), a new array, and its pullback
Blocks = Callable[[np.ndarray], tuple[np.ndarray, Pullback]]

# 64 blocks of 31 rows are 250 kB an array: several stay in a core's second-level cache, and loops over lanes and calls
# of NumPy are long enough. Fewer, down to one vector of 8, where blocks are large (measured: 16 to 64 differ by 1.5).
LANES = 64
ENTRIES = 2**22
LARGE = 1e150


def lanes(s: int) -> int:
    """How many blocks of s rows go in step."""
    return int(np.clip(2 * ENTRIES // (s * (s + 1)), 8, LANES))


def stacked(kernel: Kernel, X: np.ndarray) -> Blocks:
    """The covariances of blocks of the rows X (n, d)."""
    if isinstance(kernel, Radial):
        return _radial(kernel, X)
    if isinstance(kernel, DotProduct):
        return _dot(kernel, X)
    if isinstance(kernel, Scaled):
        return _scaled(kernel, stacked(kernel.kernel, X))
    if isinstance(kernel, Sum):
        return _sum([stacked(part, X) for part in kernel.parts])
    if isinstance(kernel, Product):
        return _product([stacked(part, X) for part in kernel.parts])
    if isinstance(kernel, Constant):
        return _constant(kernel)
    if isinstance(kernel, White):
        return _white(kernel)
    return _one_by_one(kernel, X)


def goes_by_arrays(kernel: Kernel) -> bool:
    """Whether `stacked` asks for all blocks at once."""
    if isinstance(kernel, Scaled):
        return goes_by_arrays(kernel.kernel)
    if isinstance(kernel, Sum | Product):
        return all(goes_by_arrays(part) for part in kernel.parts)
    return isinstance(kernel, Radial | DotProduct | Constant | White)


def diagonal(s: int) -> np.ndarray:
    """(s,) places of the diagonal among the pairs."""
    a = np.arange(s)
    return a * (a + 3) // 2


def _pairs(index: np.ndarray) -> tuple[int, int]:
    s, width = index.shape
    return s * (s + 1) // 2, width


def _radial(kernel: Radial, X: np.ndarray) -> Blocks:
    from credo.models.gaussian_process.solvers import vecchia_kernels

    rows = np.ascontiguousarray(kernel._pair(X, None)[0])
    if not rows.shape[1]:
        rows = np.zeros((len(X), 1))  # all rows coincide
    if np.abs(rows).max(initial=0.0) > LARGE:
        return _one_by_one(kernel, X)  # squares overflow, which the kernel itself sees to

    def blocks(index: np.ndarray) -> tuple[np.ndarray, Pullback]:
        (s, width), d = index.shape, rows.shape[1]
        x, q = np.empty((s * d, width)), np.empty(_pairs(index))
        vecchia_kernels.squares(rows, index, x, q)

        def pullback(weight: np.ndarray) -> np.ndarray:
            gradients: dict[str, Any] = dict(kernel._shape_gradients(q, 0, weight))
            if "lengthscale" not in kernel.fixed:
                weight = weight * kernel._profile(q, 1)
                if np.ndim(kernel.lengthscale):
                    total = np.zeros(d)
                    vecchia_kernels.contract(x, weight, np.empty((d, width)), total)
                    gradients["lengthscale"] = -2.0 * total[: np.size(kernel.lengthscale)]
                else:
                    gradients["lengthscale"] = -2.0 * float(np.vdot(weight, q))
            return kernel._free(gradients)

        return kernel._profile(q, 0), pullback

    return blocks


def _dot(kernel: DotProduct, X: np.ndarray) -> Blocks:
    rows = kernel._pair(X, None)[0].T

    def blocks(index: np.ndarray) -> tuple[np.ndarray, Pullback]:
        a, b = np.tril_indices(len(index))
        p = np.zeros(_pairs(index))
        for column in rows:
            x = column[index]
            p += x[a] * x[b]

        def pullback(weight: np.ndarray) -> np.ndarray:
            gradients: dict[str, Any] = dict(kernel._shape_gradients(p, 0, weight))
            if "lengthscale" not in kernel.fixed:
                weight = weight * kernel._profile(p, 1)
                if np.ndim(kernel.lengthscale):
                    inside = [column[index] for column in rows]
                    gradients["lengthscale"] = -2.0 * np.array([np.vdot(weight, x[a] * x[b]) for x in inside])
                else:
                    gradients["lengthscale"] = -2.0 * float(np.vdot(weight, p))
            return kernel._free(gradients)

        return kernel._profile(p, 0), pullback

    return blocks


def _scaled(kernel: Scaled, inner: Blocks) -> Blocks:
    def blocks(index: np.ndarray) -> tuple[np.ndarray, Pullback]:
        K, pull = inner(index)

        def pullback(weight: np.ndarray) -> np.ndarray:
            own = [] if kernel.fixed else [[kernel.variance * np.vdot(weight, K)]]
            return np.concatenate([*own, kernel.variance * pull(weight)])

        return kernel.variance * K, pullback

    return blocks


def _sum(parts: list[Blocks]) -> Blocks:
    def blocks(index: np.ndarray) -> tuple[np.ndarray, Pullback]:
        values, pulls = zip(*(part(index) for part in parts), strict=True)
        return np.add.reduce(values), lambda weight: np.concatenate([pull(weight) for pull in pulls])

    return blocks


def _product(parts: list[Blocks]) -> Blocks:
    def blocks(index: np.ndarray) -> tuple[np.ndarray, Pullback]:
        values, pulls = zip(*(part(index) for part in parts), strict=True)

        def pullback(weight: np.ndarray) -> np.ndarray:
            others = [np.multiply.reduce([weight, *values[:i], *values[i + 1 :]]) for i in range(len(values))]
            return np.concatenate([pull(other) for pull, other in zip(pulls, others, strict=True)])

        return np.multiply.reduce(values), pullback

    return blocks


def _constant(kernel: Constant) -> Blocks:
    def blocks(index: np.ndarray) -> tuple[np.ndarray, Pullback]:
        values = np.full(_pairs(index), kernel.variance)
        return values, lambda weight: kernel._free({"variance": kernel.variance * np.sum(weight)})

    return blocks


def _white(kernel: White) -> Blocks:
    def blocks(index: np.ndarray) -> tuple[np.ndarray, Pullback]:
        at = diagonal(len(index))
        values = np.zeros(_pairs(index))
        values[at] = kernel.variance
        return values, lambda weight: kernel._free({"variance": kernel.variance * np.sum(weight[at])})

    return blocks


def _one_by_one(kernel: Kernel, X: np.ndarray) -> Blocks:
    def blocks(index: np.ndarray) -> tuple[np.ndarray, Pullback]:
        s, width = index.shape
        lower, values = np.tril_indices(s), np.empty(_pairs(index))
        pulls = []
        for lane in range(width):
            K, pull = kernel.value_and_pullback(X[index[:, lane]])
            values[:, lane] = K[lower]
            pulls.append(pull)

        def pullback(weight: np.ndarray) -> np.ndarray:
            total = np.zeros(kernel.theta.size)
            full = np.zeros((s, s))
            for pull, own in zip(pulls, weight.T, strict=True):
                full[lower] = 0.5 * own
                total += pull(full + full.T)
            return total

        return values, pullback

    return blocks
