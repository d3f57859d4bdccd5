"""From scikit-learn's names for kernels to Credo's records."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.errors import ParameterError
from credo.kernels import RBF, Kernel, Linear, Polynomial

__all__ = ["KERNELS", "kernel_of"]

KERNELS = ("rbf", "linear", "polynomial", "poly")


def kernel_of(kernel: Any, gamma: float | None, degree: int, coef0: float, X: np.ndarray, counts: np.ndarray) -> Kernel:
    """The covariance record of `kernel`, a record already or a name with scikit-learn's parameters.

    gamma : 1/(2ℓ²) of "rbf", 1/ℓ² of "polynomial"; None is one over the summed variances of the columns, so
        that their common unit does not matter. "linear" has none.
    counts : (n,) how many rows each stands for
    """
    if isinstance(kernel, Kernel):
        return kernel
    if not isinstance(kernel, str) or kernel not in KERNELS:
        raise ParameterError("KernelRidge", "kernel", f"a kernel of credo.kernels, or one of {KERNELS}", kernel)
    if kernel == "linear":
        return Linear()
    if gamma is None:
        share = counts / counts.sum()
        variance = float(share @ np.square(X - share @ X).sum(axis=1))
        gamma = 1.0 / variance if variance > 0.0 else 1.0
    if not (np.isfinite(gamma) and gamma > 0.0):
        raise ParameterError("KernelRidge", "gamma", "finite and > 0, or None", gamma)
    if kernel == "rbf":
        return RBF(float((2.0 * gamma) ** -0.5))
    if not coef0 > 0.0:
        raise ParameterError("KernelRidge", "coef0", "> 0", coef0)
    return float(gamma) ** degree * Polynomial(degree, 1.0, coef0 / gamma)
