"""What every solver of a Gaussian process must answer: the `Factored` protocol against dense algebra.

For a solver of your own: `check_solver(MySolver(), kernel, X, noise)`, at options with which it is exact; and
`check_slopes(MySolver(), kernel, X, noise)`, at options with which it is not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.kernels import Kernel

__all__ = ["check_slopes", "check_solver"]


def check_solver(solver: Any, kernel: Kernel, X: np.ndarray, noise: np.ndarray, *, tol: float = 1e-8) -> None:
    """Assert that all answers are those of K_y = K(X) + diag(noise), to `tol` of the largest of each kind."""
    rng = np.random.default_rng(0)
    n = len(X)
    U = rng.normal(size=(n, 2))
    new = np.concatenate([X[:3], X[rng.integers(n, size=8)] + rng.normal(size=(8, X.shape[1])), X[:1] + 100.0])
    factor = solver(kernel, X, noise)
    inverse = np.linalg.inv(kernel(X) + np.diag(noise))
    alpha = inverse @ U
    weight = 0.5 * (alpha @ alpha.T - 1.5 * inverse)
    cross = kernel(new, X.copy())
    covariance = kernel(new) - cross @ inverse @ cross.T
    theta, by_noise = factor.gradient(U, 1.5)
    mean, variance = factor.predict(new, U)
    joint_mean, joint = factor.predict(new, U, joint=True)
    expected = {
        "log_determinant": (factor.log_determinant, np.linalg.slogdet(kernel(X) + np.diag(noise))[1]),
        "solve": (factor.solve(U), alpha),
        "inverse_diagonal": (factor.inverse_diagonal(), np.diag(inverse)),
        "gradient in θ": (theta, kernel.gradient(X, None, weight)),
        "gradient in v": (by_noise, np.diag(weight)),
        "mean": (mean, cross @ alpha),
        "variance": (variance, np.diag(covariance)),
        "joint mean": (joint_mean, cross @ alpha),
        "covariance": (joint, covariance),
    }
    for name, (got, want) in expected.items():
        assert np.shape(got) == np.shape(want), name
        scale = max(float(np.max(np.abs(want), initial=0.0)), np.finfo(float).tiny)
        if name in ("variance", "covariance"):
            scale = float(np.max(kernel.diagonal(new)))  # what rounding is relative to where all is known
        assert np.max(np.abs(np.subtract(got, want)), initial=0.0) <= tol * scale, name


def check_slopes(solver: Any, kernel: Kernel, X: np.ndarray, noise: np.ndarray, *, tol: float = 1e-6) -> None:
    """Assert that `gradient` is the slope of the solver's own objective, by central differences of step 1e-5."""
    rng = np.random.default_rng(1)
    U = rng.normal(size=(len(X), 2))

    def objective(theta: np.ndarray, v: np.ndarray) -> float:
        factor = solver(kernel.with_theta(theta), X, v)
        return -0.5 * float(np.vdot(U, factor.solve(U))) - 0.75 * factor.log_determinant

    at = kernel.theta
    theta, by_noise = solver(kernel, X, noise).gradient(U, 1.5)
    steps = 1e-5 * np.eye(at.size)
    slopes = np.array([(objective(at + step, noise) - objective(at - step, noise)) / 2e-5 for step in steps])
    np.testing.assert_allclose(theta, slopes, atol=tol * max(np.abs(slopes).max(initial=0.0), 1.0), rtol=0)
    way = noise * rng.uniform(0.5, 1.0, size=len(X))  # all rows at once, in one direction
    slope = (objective(at, noise + 1e-5 * way) - objective(at, noise - 1e-5 * way)) / 2e-5
    np.testing.assert_allclose(by_noise @ way, slope, atol=tol * max(abs(slope), 1.0), rtol=0)
