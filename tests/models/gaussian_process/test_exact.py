"""The Cholesky solver: the contract of all solvers, jitter, memory, growth by rows."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from credo.errors import NotPositiveDefiniteError, NumericalError
from credo.kernels import RBF, Differentiated, Kernel, Linear, Matern, White
from credo.models.gaussian_process.solvers import Exact, exact
from credo.testing.solvers import check_slopes, check_solver

KERNELS: list[Kernel] = [
    1.5 * Matern((0.7, 1.2), nu=2.5),
    RBF(0.8) + 0.5 * Linear(1.3),
    2.0 * RBF(1.0) + White(0.3),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
def test_contract(kernel):
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(25, 2)), rng.uniform(0.05, 0.3, size=25)
    check_solver(Exact(), kernel, X, noise)
    check_slopes(Exact(), kernel, X, noise)


def test_slopes_as_rows():
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=(12, 2)), rng.integers(-1, 2, size=12)])
    kernel = Differentiated(1.5 * RBF((0.7, 1.2)))
    factor = Exact()(kernel, X, np.full(12, 0.1))
    K = kernel(X) + 0.1 * np.eye(12)
    np.testing.assert_allclose(factor.solve(np.eye(12)), np.linalg.inv(K), atol=1e-10)
    assert factor.log_determinant == pytest.approx(np.linalg.slogdet(K)[1], abs=1e-10)


@pytest.mark.parametrize("blocks", [1, 2, 63, 64, 65, 200])
def test_triangles_are_mirrored_whatever_the_blocks(blocks):
    rng = np.random.default_rng(blocks)
    A = rng.normal(size=(blocks, blocks))
    whole = np.asfortranarray(A + A.T)
    np.testing.assert_array_equal(exact._mirrored(np.asfortranarray(np.tril(whole))), whole)


def test_jitter_restores_what_a_failed_factorisation_spoiled():
    X = np.linspace(0, 1, 150)[:, None]
    kernel = RBF(5.0)  # numerically of rank 10 or so
    factor = Exact()(kernel, X, np.zeros(150))
    jitter = factor.certificate["jitter"]
    assert 1e-13 <= jitter <= 1e-10
    np.testing.assert_allclose(factor.lower @ factor.lower.T, kernel(X) + jitter * np.eye(150), atol=1e-13)


def test_beyond_repair():
    class Indefinite(RBF):
        def __call__(self, X, Z=None):
            return super().__call__(X, Z) - 2.0

        def _value_and_pullback(self, X):
            return self(X), None

        half_and_pullback = Kernel.half_and_pullback

    with pytest.raises(NotPositiveDefiniteError, match="not positive definite"):
        Exact()(Indefinite(1.0), np.arange(3.0)[:, None], np.full(3, 1.5))


def test_more_rows_than_memory():
    with pytest.raises(NumericalError, match="solver"):
        Exact()(RBF(1.0), np.zeros((2_000_000, 1)), np.ones(2_000_000))


def test_five_arrays_at_the_peak():
    """Five n × n arrays, and no more than 64 columns beside them."""
    n = 1500
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 10))
    kernel, y = 1.0 * Matern(np.full(10, 3.0), nu=2.5), rng.normal(size=(n, 1))
    tracemalloc.start()
    Exact()(kernel, X, np.full(n, 0.01)).gradient(y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 8 * (5 * n * n + 64 * n)


def test_growth_is_a_fit_to_all_rows():
    rng = np.random.default_rng(3)
    X, noise = rng.normal(size=(60, 2)), rng.uniform(0.01, 0.1, size=60)
    kernel = 1.3 * Matern(0.9, nu=1.5)
    whole = Exact()(kernel, X, noise)
    grown = Exact()(kernel, X[:40], noise[:40]).extended(X[40:45], noise[40:45]).extended(X[45:], noise[45:])
    np.testing.assert_allclose(grown.lower, whole.lower, atol=1e-13)
    np.testing.assert_allclose(grown.solve(X), whole.solve(X), rtol=1e-10, atol=1e-12)
