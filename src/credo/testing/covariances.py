"""What every covariance function must pass: values, diagonals and gradients that agree, on awkward rows too.

For a kernel of your own: `check_kernel(MyKernel(...), n_columns=2)`. (Suites for Markov kernels are in `kernels`.)
"""

from __future__ import annotations

import numpy as np

from credo.kernels.base import Kernel

__all__ = ["awkward_rows", "check_kernel"]

# Central differences with step h err by h² f'''/6 and by 2⁻⁵³ |f|/h: at h = 1e-5 both are ≲ 1e-9 of a value of order 1.
STEP, ACCURACY = 1e-5, 1e-6


def awkward_rows(n_columns: int, seed: int = 0) -> np.ndarray:
    """Rows (12, d) of order 1 with a duplicate, a near-duplicate (1e-6 away) and the origin."""
    rows = np.random.default_rng(seed).normal(size=(12, n_columns))
    rows[1] = rows[0]
    rows[3] = rows[2] + 1e-6
    rows[4] = 0.0
    return rows


def check_kernel(kernel: Kernel, n_columns: int, *, smooth: bool = True) -> None:
    """Assert the contract of `credo.kernels.Kernel`; `smooth=False` skips slopes in x at coinciding rows."""
    X = awkward_rows(n_columns)
    Z = awkward_rows(n_columns, seed=1)[:7] if smooth else X[5:] + 0.5
    _check_values(kernel, X, Z)
    _check_theta(kernel)
    rng = np.random.default_rng(2)
    _check_gradient(kernel, X, None, rng.normal(size=(12, 12)))
    _check_gradient(kernel, X, Z, rng.normal(size=(12, 7)))
    _check_diagonal_gradient(kernel, X, rng.normal(size=12))
    _check_input_gradient(kernel, X, Z, rng.normal(size=(12, 7)))


def _check_values(kernel: Kernel, X: np.ndarray, Z: np.ndarray) -> None:
    K = kernel(X)
    scale = np.abs(np.diag(K)).max()
    np.testing.assert_allclose(K, K.T, rtol=0, atol=1e-14 * scale)
    np.testing.assert_allclose(kernel.diagonal(X), np.diag(K), rtol=1e-12)
    assert np.linalg.eigvalsh(K)[0] > -1e-12 * scale * len(X), "K is not positive semidefinite"
    assert kernel(X, Z).shape == (len(X), len(Z))
    np.testing.assert_allclose(kernel(X, Z), kernel(Z, X).T, rtol=1e-12, atol=1e-14 * scale)
    np.testing.assert_allclose(kernel(X[:5], Z), kernel(X, Z)[:5], rtol=1e-9, atol=1e-13 * scale)


def _check_theta(kernel: Kernel) -> None:
    theta = kernel.theta
    assert len(kernel.names) == theta.size == len(set(kernel.names))
    assert kernel.bounds.shape == (theta.size, 2)
    np.testing.assert_allclose(kernel.with_theta(theta + 0.1).theta, theta + 0.1, rtol=1e-14, atol=1e-14)
    assert type(kernel.with_theta(theta)) is type(kernel)


def _differences(f, theta: np.ndarray) -> np.ndarray:  # type: ignore[no-untyped-def]
    steps = STEP * np.eye(theta.size)
    return np.array([(f(theta + step) - f(theta - step)) / (2.0 * STEP) for step in steps])


def _check_gradient(kernel: Kernel, X: np.ndarray, Z: np.ndarray | None, weight: np.ndarray) -> None:
    expected = _differences(lambda theta: np.vdot(weight, kernel.with_theta(theta)(X, Z)), kernel.theta)
    scale = np.abs(weight * kernel(X, Z)).sum() + 1.0
    np.testing.assert_allclose(kernel.gradient(X, Z, weight), expected, rtol=0, atol=ACCURACY * scale)


def _check_diagonal_gradient(kernel: Kernel, X: np.ndarray, weight: np.ndarray) -> None:
    expected = _differences(lambda theta: weight @ kernel.with_theta(theta).diagonal(X), kernel.theta)
    scale = np.abs(weight * kernel.diagonal(X)).sum() + 1.0
    np.testing.assert_allclose(kernel.diagonal_gradient(X, weight), expected, rtol=0, atol=ACCURACY * scale)


def _check_input_gradient(kernel: Kernel, X: np.ndarray, Z: np.ndarray, weight: np.ndarray) -> None:
    gradient = kernel.input_gradient(X, Z, weight)
    scale = np.abs(weight * kernel(X, Z)).sum() + 1.0
    for j in range(X.shape[1]):
        step = STEP * np.eye(X.shape[1])[j]
        expected = (weight * (kernel(X + step, Z) - kernel(X - step, Z))).sum(axis=1) / (2.0 * STEP)
        np.testing.assert_allclose(gradient[:, j], expected, rtol=0, atol=ACCURACY * scale)
