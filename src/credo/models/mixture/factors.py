"""Factors of stacks of covariances: kept away from singular ones, and in scikit-learn's triangular shape."""

from __future__ import annotations

import numpy as np
from scipy.linalg import rq

from credo.numerics.cholesky import cholesky

__all__ = ["FLOOR", "MATRIX_FLOOR", "floored", "stacked_cholesky", "upper_factor"]

# Smallest variance of a component, of data of variance 1. The likelihood has no maximum where a component may shrink
# onto equal rows; over covariances that respect a floor it has. Variances of columns: an sd of 1e-9 of the data's,
# where the rounding of the rows themselves (2e-16) still leaves six digits of a deviation.
FLOOR = 1e-18
# Eigenvalues of matrices: products of deviations are summed to 2e-16 of the largest, so that below 1e-13 (an sd of
# 3e-7) noise would steer the steps.
MATRIX_FLOOR = 1e-13


def floored(kind: str, covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The nearest covariances with eigenvalues above the floor, and factors U with U Uᵀ their inverses.

    Raising the eigenvalues that lie below is the M-step over covariances that respect the floor, so the bound still
    rises (Ingrassia and Rocci 2007, Computational Statistics & Data Analysis 51).
    """
    if kind == "diag":
        variance = np.maximum(covariance, FLOOR)
        return variance, 1.0 / np.sqrt(variance)
    stack = covariance.reshape(-1, *covariance.shape[-2:])
    try:
        factor = np.linalg.inv(np.linalg.cholesky(stack)).swapaxes(1, 2)
        # 1/tr Λ is a lower bound of Σ's smallest eigenvalue
        tame = 1.0 / np.square(factor).sum(axis=(1, 2)) >= MATRIX_FLOOR
    except np.linalg.LinAlgError:
        factor, tame = np.empty_like(stack), np.zeros(len(stack), dtype=bool)
    if not tame.all():
        values, vectors = np.linalg.eigh(stack[~tame])
        values = np.maximum(values, MATRIX_FLOOR)
        stack = stack.copy()
        stack[~tame] = (vectors * values[:, None, :]) @ vectors.swapaxes(1, 2)
        factor[~tame] = vectors / np.sqrt(values)[:, None, :]
    return stack.reshape(covariance.shape), factor.reshape(covariance.shape)


def stacked_cholesky(matrices: np.ndarray, name: str) -> np.ndarray:
    """Lower Cholesky factors of a stack (K, d, d), with a stated jitter where one is singular to rounding."""
    try:
        return np.linalg.cholesky(matrices)
    except np.linalg.LinAlgError:
        return np.stack([cholesky(matrix, name).lower for matrix in matrices])


def upper_factor(factor: np.ndarray) -> np.ndarray:
    """Upper triangular U with U Uᵀ = F Fᵀ and a positive diagonal, for a stack or one F (d, d)."""
    stack = factor.reshape(-1, *factor.shape[-2:])
    upper = np.stack([np.asarray(rq(f, mode="r", check_finite=False)) for f in stack])
    signs = np.where(np.diagonal(upper, axis1=1, axis2=2) < 0.0, -1.0, 1.0)
    return (upper * signs[:, None, :]).reshape(factor.shape)
