"""`ClassKernels`: one covariance a class, read as one kernel whose matrices are stacked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from credo.kernels import Kernel
from credo.saving.registry import register

__all__ = ["ClassKernels"]


@register
@dataclass(frozen=True)
class ClassKernels:
    """kernels (k,): that of each class, with hyperparameters of its own, named "class 0: lengthscale", …

    >>> from credo.kernels import RBF
    >>> both = ClassKernels((RBF(1.0), RBF(2.0)))
    >>> both(np.zeros((3, 1))).shape, both.names
    ((2, 3, 3), ('class 0: lengthscale', 'class 1: lengthscale'))
    """

    kernels: tuple[Kernel, ...]

    @property
    def theta(self) -> np.ndarray:
        return np.concatenate([kernel.theta for kernel in self.kernels])

    @property
    def bounds(self) -> np.ndarray:
        return np.concatenate([kernel.bounds for kernel in self.kernels])

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"class {c}: {name}" for c, kernel in enumerate(self.kernels) for name in kernel.names)

    def with_theta(self, theta: Any) -> ClassKernels:
        """The same kernels at another θ."""
        ends = np.cumsum([kernel.theta.size for kernel in self.kernels])
        parts = np.split(np.asarray(theta, dtype=np.float64), ends[:-1])
        moved = (kernel.with_theta(part) for kernel, part in zip(self.kernels, parts, strict=True))
        return replace(self, kernels=tuple(moved))

    def log_prior(self) -> float:
        return sum(kernel.log_prior() for kernel in self.kernels)

    def log_prior_gradient(self) -> np.ndarray:
        return np.concatenate([kernel.log_prior_gradient() for kernel in self.kernels])

    def __call__(self, X: np.ndarray, Z: np.ndarray | None = None) -> np.ndarray:
        """K (k, n, m)."""
        return np.stack([kernel(X, Z) for kernel in self.kernels])

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        """k_c(x, x) (k, n)."""
        return np.stack([kernel.diagonal(X) for kernel in self.kernels])

    def value_and_pullback(self, X: np.ndarray) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
        """K (k, n, n), and weights (k, n, n) → gradient (h,)."""
        values, pullbacks = zip(*(kernel.value_and_pullback(X) for kernel in self.kernels), strict=True)
        return np.stack(values), lambda weight: np.concatenate(
            [pullback(part) for pullback, part in zip(pullbacks, weight, strict=True)]
        )
