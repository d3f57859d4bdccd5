"""Processes of sums, products and multiples, and `process_of`, which finds a kernel's (notation: see
`state_space_process`). Sums put states beside each other; products multiply them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from credo.errors import ParameterError
from credo.kernels import Constant, Kernel, Product, Scaled, Sum, White
from credo.models.gaussian_process.solvers.state_space_leaves import LEAVES
from credo.models.gaussian_process.solvers.state_space_process import Process, Weights
from credo.models.gaussian_process.solvers.white import leaves_of

__all__ = ["column_of", "process_of"]


@dataclass(frozen=True)
class ScaledProcess:
    """variance · k: √variance in h."""

    kernel: Scaled
    inner: Process

    @property
    def P(self) -> np.ndarray:
        return self.inner.P

    @property
    def pattern(self) -> np.ndarray:
        return self.inner.pattern

    @property
    def error(self) -> float:
        return float(self.kernel.variance) * self.inner.error

    def transition(self, gaps: np.ndarray) -> np.ndarray:
        return self.inner.transition(gaps)

    def innovation(self, gaps: np.ndarray) -> np.ndarray:
        return self.inner.innovation(gaps)

    def emission(self, x: np.ndarray) -> np.ndarray:
        return np.sqrt(self.kernel.variance) * self.inner.emission(x)

    def gradient(self, gaps: np.ndarray, x: np.ndarray, weights: Weights) -> np.ndarray:
        own = [] if self.kernel.fixed else [0.5 * float(np.einsum("na,na->", weights.h, self.emission(x)))]
        inner = Weights(weights.A, weights.Q, np.sqrt(self.kernel.variance) * weights.h)
        return np.concatenate([own, self.inner.gradient(gaps, x, inner)])


@dataclass(frozen=True)
class SumProcess:
    """States beside each other."""

    parts: tuple[Process, ...]

    @cached_property
    def slices(self) -> tuple[slice, ...]:
        ends = np.cumsum([0, *(len(part.P) for part in self.parts)])
        return tuple(slice(int(a), int(b)) for a, b in pairwise(ends))

    @property
    def P(self) -> np.ndarray:
        return self._beside([part.P[None] for part in self.parts])[0]

    @property
    def pattern(self) -> np.ndarray:
        return self._beside([part.pattern[None].astype(float) for part in self.parts])[0] > 0.0

    @property
    def error(self) -> float:
        return sum(part.error for part in self.parts)

    def _beside(self, blocks: list[np.ndarray]) -> np.ndarray:
        size = self.slices[-1].stop
        whole = np.zeros((len(blocks[0]), size, size))
        for at, block in zip(self.slices, blocks, strict=True):
            whole[:, at, at] = block
        return whole

    def transition(self, gaps: np.ndarray) -> np.ndarray:
        return self._beside([part.transition(gaps) for part in self.parts])

    def innovation(self, gaps: np.ndarray) -> np.ndarray:
        return self._beside([part.innovation(gaps) for part in self.parts])

    def emission(self, x: np.ndarray) -> np.ndarray:
        return np.hstack([part.emission(x) for part in self.parts])

    def gradient(self, gaps: np.ndarray, x: np.ndarray, weights: Weights) -> np.ndarray:
        own = (Weights(weights.A[:, at, at], weights.Q[:, at, at], weights.h[:, at]) for at in self.slices)
        return np.concatenate([part.gradient(gaps, x, w) for part, w in zip(self.parts, own, strict=True)])


@dataclass(frozen=True)
class ProductProcess:
    """All products of a state of one process and a state of the other."""

    left: Process
    right: Process

    @property
    def P(self) -> np.ndarray:
        return np.kron(self.left.P, self.right.P)

    @property
    def pattern(self) -> np.ndarray:
        return np.kron(self.left.pattern, self.right.pattern)

    @property
    def error(self) -> float:
        return self.left.error * self._level(self.right) + self._level(self.left) * self.right.error

    @staticmethod
    def _level(part: Process) -> float:
        h = part.emission(np.zeros(1))[0]
        return float(h @ part.P @ h) + part.error

    def transition(self, gaps: np.ndarray) -> np.ndarray:
        return _kron(self.left.transition(gaps), self.right.transition(gaps))

    def innovation(self, gaps: np.ndarray) -> np.ndarray:
        Q, R = self.left.innovation(gaps), self.right.innovation(gaps)
        return _kron(Q, self.right.P[None] - R) + _kron(self.left.P[None], R)

    def emission(self, x: np.ndarray) -> np.ndarray:
        left, right = self.left.emission(x), self.right.emission(x)
        return np.einsum("na,nc->nac", left, right).reshape(x.size, -1)

    def gradient(self, gaps: np.ndarray, x: np.ndarray, weights: Weights) -> np.ndarray:
        A, B = self.left.transition(gaps), self.right.transition(gaps)
        Q, R = self.left.innovation(gaps), self.right.innovation(gaps)
        h, g = self.left.emission(x), self.right.emission(x)
        n, a, c = x.size, h.shape[1], g.shape[1]
        W_A, W_Q = (w.reshape(n, a, c, a, c) for w in (weights.A, weights.Q))
        W_h = weights.h.reshape(n, a, c)
        left = Weights(
            np.einsum("nacbd,ncd->nab", W_A, B),
            np.einsum("nacbd,ncd->nab", W_Q, self.right.P - R),
            np.einsum("nac,nc->na", W_h, g),
        )
        right = Weights(
            np.einsum("nacbd,nab->ncd", W_A, A),
            np.einsum("nacbd,nab->ncd", W_Q, self.left.P - Q),
            np.einsum("nac,na->nc", W_h, h),
        )
        return np.concatenate([self.left.gradient(gaps, x, left), self.right.gradient(gaps, x, right)])


def process_of(kernel: Kernel, origin: float, tolerance: float) -> Process:
    """The process of a kernel; `ParameterError` for one that has no finite state."""
    if isinstance(kernel, Sum):
        return SumProcess(tuple(process_of(part, origin, tolerance) for part in kernel.parts))
    if isinstance(kernel, Scaled):
        return ScaledProcess(kernel, process_of(kernel.kernel, origin, tolerance))
    if isinstance(kernel, Product):
        whole = process_of(kernel.parts[0], origin, tolerance)
        for part in kernel.parts[1:]:
            whole = ProductProcess(whole, process_of(part, origin, tolerance))
        return whole
    if type(kernel) not in LEAVES:
        raise ParameterError(
            "StateSpace", "kernel", f"made of {', '.join(leaf.__name__ for leaf in LEAVES)}", kernel,
            "Other kernels have no finite state: use Matern(nu=2.5) for RBF, or solvers.Exact or solvers.Inducing.",
        )  # fmt: skip
    return LEAVES[type(kernel)](kernel, origin, tolerance)


def column_of(kernel: Kernel, n_columns: int) -> int:
    """The one column that a kernel looks at; `ParameterError` if there are several."""
    seen: set[int] = set()
    for leaf in leaves_of(kernel):
        if not isinstance(leaf, Constant | White):
            dims = getattr(leaf, "active_dims", None)
            seen.update(range(n_columns) if dims is None else dims)
    if len(seen) > 1 or max(seen, default=0) >= n_columns:
        raise ParameterError(
            "StateSpace", "kernel", f"one that looks at one of the {n_columns} columns (active_dims=)", kernel,
            "Use solvers.Exact, solvers.Vecchia or solvers.Inducing for several columns.",
        )  # fmt: skip
    return seen.pop() if seen else 0


def _kron(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Kronecker products of matrices in pairs: (n, a, a) and (n, c, c) to (n, ac, ac)."""
    product = A[:, :, None, :, None] * B[:, None, :, None, :]
    return product.reshape(len(product), A.shape[1] * B.shape[1], -1)
