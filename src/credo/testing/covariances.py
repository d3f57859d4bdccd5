"""What every covariance function must pass: values, diagonals and gradients that agree, on awkward rows too.

For a kernel of your own: `check_kernel(MyKernel(...), n_columns=2)`. (Suites for Markov kernels are in `kernels`.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from credo.errors import NumericalError, ParameterError
from credo.kernels.base import Kernel
from credo.kernels.differentiated import Differentiated

__all__ = ["awkward_rows", "check_extremes", "check_kernel", "check_slopes"]

# Central differences with step h err by h² f'''/6 and by 2⁻⁵³ |f|/h: at h = 1e-5 both are ≲ 1e-9 of a value of order 1.
STEP, ACCURACY = 1e-5, 1e-6
FAR = 1e150


def awkward_rows(n_columns: int, seed: int = 0) -> np.ndarray:
    """Rows (12, d) of order 1 with a duplicate, near-duplicates (1e-6 and 1e-9 away) and the origin."""
    rows = np.random.default_rng(seed).normal(size=(12, n_columns))
    rows[1] = rows[0]
    rows[3] = rows[2] + 1e-6
    rows[5] = rows[2] + 1e-9
    rows[4] = 0.0
    return rows


def check_kernel(
    kernel: Kernel,
    n_columns: int,
    *,
    smooth: bool = True,
    rows: tuple[np.ndarray, np.ndarray] | None = None,
    moving: Sequence[int] | None = None,
) -> None:
    """Assert the contract of `credo.kernels.Kernel`.

    smooth : False skips slopes in x at coinciding rows
    rows : X and Z where rows of real numbers will not do; moving : the columns that may move a little (None: all)
    """
    X = awkward_rows(n_columns)
    Z = awkward_rows(n_columns, seed=1)[:7] if smooth else X[5:] + 0.5
    X, Z = rows or (X, Z)
    n, m = len(X), len(Z)
    _check_values(kernel, X, Z)
    _check_theta(kernel)
    rng = np.random.default_rng(2)
    _check_gradient(kernel, X, None, rng.normal(size=(n, n)))
    _check_gradient(kernel, X, Z, rng.normal(size=(n, m)))
    _check_gradient(kernel, X[:1], None, rng.normal(size=(1, 1)))
    _check_pullback(kernel, X, rng.normal(size=(n, n)))
    _check_diagonal_gradient(kernel, X, rng.normal(size=n))
    _check_input_gradient(kernel, X, Z, rng.normal(size=(n, m)), range(n_columns) if moving is None else moving)
    assert kernel(X[:0], Z).shape == (0, m)
    assert kernel(X, Z[:0]).shape == (n, 0)


def check_slopes(kernel: Kernel, n_columns: int, *, twice: bool = True) -> None:
    """Assert that `derivative` is the derivative, that its gradient is, and that `Differentiated` is a covariance.

    twice : False for slopes that have none themselves (Matérn 3/2): they are not checked at coinciding rows
    """
    X, Z = awkward_rows(n_columns), awkward_rows(n_columns, seed=1)[:7] + (0.0 if twice else 0.05)
    rng = np.random.default_rng(3)
    kinds = [None, *range(n_columns)]
    for i, j in [(i, j) for i in kinds for j in kinds]:
        value = kernel.derivative(X, Z, i, j)
        scale = np.abs(value).max() + np.abs(kernel(X, Z)).max() + 1.0
        if i is not None:
            expected = _moved(lambda rows, i=i, j=j: kernel.derivative(rows, Z, None, j), X, i)
            np.testing.assert_allclose(value, expected, rtol=0, atol=ACCURACY * scale)
        if j is not None:
            expected = _moved(lambda rows, i=i, j=j: kernel.derivative(X, rows, i, None), Z, j)
            np.testing.assert_allclose(value, expected, rtol=0, atol=ACCURACY * scale)
        weight = rng.normal(size=value.shape)
        _check_against_theta(kernel, lambda k, i=i, j=j: k.derivative(X, Z, i, j), weight,
                             kernel.derivative_gradient(X, Z, i, j, weight))  # fmt: skip
    which = np.resize(np.arange(-1, n_columns), len(X))
    joint = np.column_stack([X, which]), np.column_stack([Z, which[: len(Z)]])
    _check_joint(Differentiated(kernel), *joint)


def _check_joint(kernel: Differentiated, X: np.ndarray, Z: np.ndarray) -> None:
    """The contract of a kernel on rows [x, which], whose slopes in x are there for values only."""
    values = X[X[:, -1] < 0]
    rng = np.random.default_rng(4)
    _check_values(kernel, X, Z)
    _check_theta(kernel)
    _check_gradient(kernel, X, None, rng.normal(size=(len(X), len(X))))
    _check_gradient(kernel, X, Z, rng.normal(size=(len(X), len(Z))))
    _check_pullback(kernel, X, rng.normal(size=(len(X), len(X))))
    _check_diagonal_gradient(kernel, X, rng.normal(size=len(X)))
    _check_input_gradient(kernel, values, Z, rng.normal(size=(len(values), len(Z))), range(X.shape[1] - 1))


def check_extremes(kernel: Kernel, n_columns: int, slopes: bool = False) -> None:
    """Assert that nothing is NaN, infinite or warned of for hyperparameters and rows of 1e±150: an error is named."""
    X = awkward_rows(n_columns)
    thetas = [kernel.theta + shift for shift in (0.0, -np.log(FAR), np.log(FAR))]
    for rows in (X, X * FAR, X / FAR, X + 1e8):
        for theta in thetas:
            try:
                moved = kernel.with_theta(theta)
                _check_finite(moved, rows)
            except (NumericalError, ParameterError):
                continue
            if slopes:
                try:
                    _check_finite(Differentiated(moved), np.column_stack([rows, np.resize([-1, 0], len(rows))]))
                except NumericalError:
                    continue


def _check_finite(kernel: Kernel, X: np.ndarray) -> None:
    weight = np.ones((len(X), len(X)))
    K, pullback = kernel.value_and_pullback(X)
    for array in (K, pullback(weight), kernel.gradient(X, X, weight), kernel.diagonal_gradient(X, weight[0])):
        assert np.all(np.isfinite(array)), f"{kernel} is not finite at rows of size {np.abs(X).max()}"
    np.testing.assert_allclose(np.diag(K), kernel.diagonal(X), rtol=1e-9)
    if not isinstance(kernel, Differentiated):
        assert np.all(np.isfinite(kernel.input_gradient(X, X, weight))), f"{kernel}: slopes in x are not finite"


def _check_values(kernel: Kernel, X: np.ndarray, Z: np.ndarray) -> None:
    K = kernel(X)
    scale = np.abs(np.diag(K)).max()
    np.testing.assert_allclose(K, K.T, rtol=0, atol=1e-14 * scale)
    np.testing.assert_allclose(kernel.diagonal(X), np.diag(K), rtol=1e-12)
    np.testing.assert_allclose(kernel(X[:1]), K[:1, :1], rtol=1e-12)
    assert np.linalg.eigvalsh(K)[0] > -1e-12 * scale * len(X), "K is not positive semidefinite"
    assert kernel(X, Z).shape == (len(X), len(Z))
    np.testing.assert_allclose(kernel(X, Z), kernel(Z, X).T, rtol=1e-12, atol=1e-14 * scale)
    np.testing.assert_allclose(kernel(X[:5], Z), kernel(X, Z)[:5], rtol=1e-9, atol=1e-13 * scale)


def _check_theta(kernel: Kernel) -> None:
    theta = kernel.theta
    assert len(kernel.names) == theta.size == len(set(kernel.names)) == kernel.log_prior_gradient().size
    assert kernel.bounds.shape == (theta.size, 2)
    np.testing.assert_allclose(kernel.with_theta(theta + 0.1).theta, theta + 0.1, rtol=1e-14, atol=1e-14)
    assert type(kernel.with_theta(theta)) is type(kernel)


def _check_pullback(kernel: Kernel, X: np.ndarray, weight: np.ndarray) -> None:
    """K may be overwritten, W is not, and the function may be called again."""
    K, pullback = kernel.value_and_pullback(X)
    np.testing.assert_allclose(K, kernel(X), rtol=1e-13, atol=0.0)
    K[:] = np.nan
    before = weight.copy()
    expected = kernel.gradient(X, None, weight)
    scale = np.abs(weight * kernel(X)).sum() + 1.0
    for _ in range(2):
        np.testing.assert_allclose(pullback(weight), expected, rtol=1e-12, atol=1e-14 * scale)
    np.testing.assert_array_equal(weight, before)


def _check_against_theta(
    kernel: Kernel, value: Callable[[Kernel], np.ndarray], weight: np.ndarray, gradient: np.ndarray
) -> None:
    steps = STEP * np.eye(kernel.theta.size)
    theta = kernel.theta
    expected = [
        np.vdot(weight, value(kernel.with_theta(theta + step)) - value(kernel.with_theta(theta - step))) / (2.0 * STEP)
        for step in steps
    ]
    scale = np.abs(weight * value(kernel)).sum() + 1.0
    np.testing.assert_allclose(gradient, np.reshape(expected, theta.shape), rtol=0, atol=ACCURACY * scale)


def _check_gradient(kernel: Kernel, X: np.ndarray, Z: np.ndarray | None, weight: np.ndarray) -> None:
    _check_against_theta(kernel, lambda k: k(X, Z), weight, kernel.gradient(X, Z, weight))


def _check_diagonal_gradient(kernel: Kernel, X: np.ndarray, weight: np.ndarray) -> None:
    _check_against_theta(kernel, lambda k: k.diagonal(X), weight, kernel.diagonal_gradient(X, weight))


def _check_input_gradient(
    kernel: Kernel, X: np.ndarray, Z: np.ndarray, weight: np.ndarray, moving: Sequence[int]
) -> None:
    gradient = kernel.input_gradient(X, Z, weight)
    assert gradient.shape == X.shape
    scale = np.abs(weight * kernel(X, Z)).sum() + 1.0
    for j in range(X.shape[1]):
        expected = (weight * _moved(lambda rows: kernel(rows, Z), X, j)).sum(axis=1) if j in moving else 0.0
        np.testing.assert_allclose(gradient[:, j], expected, rtol=0, atol=ACCURACY * scale)


def _moved(value: Callable[[np.ndarray], np.ndarray], rows: np.ndarray, j: int) -> np.ndarray:
    """∂/∂(column j) by differences."""
    step = STEP * np.eye(rows.shape[1])[j]
    return (value(rows + step) - value(rows - step)) / (2.0 * STEP)
