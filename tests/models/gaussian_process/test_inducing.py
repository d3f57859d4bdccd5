"""Inducing points: exact where the points are the data, a bound elsewhere, and slopes of that bound."""

from __future__ import annotations

import numpy as np
import pytest

import credo
from credo.errors import DataError, ParameterError
from credo.kernels import RBF, Kernel, Linear, Matern, White
from credo.models.gaussian_process.solvers.inducing import Inducing
from credo.models.gaussian_process.solvers.pivots import pivots
from credo.testing.solvers import check_slopes, check_solver

KERNELS = [1.5 * RBF((0.7, 1.2)), 2.0 * Matern(0.7, nu=1.5) + White(0.2) + Linear(2.0)]


def rows(n: int = 40, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)), rng.uniform(0.05, 0.3, n)


def exact_evidence(kernel: Kernel, X: np.ndarray, v: np.ndarray, u: np.ndarray) -> float:
    """−½ uᵀK_y⁻¹u − ½ log|K_y|."""
    K = kernel(X) + np.diag(v)
    return -0.5 * float(u @ np.linalg.solve(K, u)) - 0.5 * float(np.linalg.slogdet(K)[1])


@pytest.mark.parametrize("kernel", KERNELS)
def test_places_at_the_rows_are_exact(kernel: Kernel) -> None:
    X, v = rows()
    check_solver(Inducing(locations=X), kernel, X, v, tol=1e-7)  # cond(K) ≈ 1e8 costs the mean half its digits
    assert Inducing(locations=X)(kernel, X, v).certificate["left_out"] < 1e-12


@pytest.mark.parametrize("kernel", KERNELS)
def test_gradients_are_slopes_of_the_bound(kernel: Kernel) -> None:
    X, v = rows()
    check_slopes(Inducing(8).at(kernel, X), kernel, X, v)


@pytest.mark.parametrize("kernel", KERNELS)
def test_location_gradient_is_the_slope_of_the_bound(kernel: Kernel) -> None:
    X, v = rows()
    U = np.random.default_rng(1).normal(size=(40, 2))
    Z = Inducing(6).at(kernel, X).locations
    way = np.random.default_rng(2).normal(size=Z.shape)

    def bound(step: float) -> float:
        factor = Inducing(locations=Z + step * way)(kernel, X, v)
        return -0.5 * float(np.vdot(U, factor.solve(U))) - 0.75 * factor.log_determinant

    slope = Inducing(locations=Z)(kernel, X, v).location_gradient(U, 1.5)
    np.testing.assert_allclose(np.vdot(slope, way), (bound(1e-5) - bound(-1e-5)) / 2e-5, rtol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_log_evidence_lies_between_the_bounds(seed: int) -> None:
    X, v = rows(60, seed)
    U = np.random.default_rng(seed).normal(size=(60, 1))
    truth, before = exact_evidence(KERNELS[0], X, v, U[:, 0]), -np.inf
    for m in (4, 12, 36):
        factor = Inducing(m)(KERNELS[0], X, v)
        bound = -0.5 * float(np.vdot(U, factor.solve(U))) - 0.5 * factor.log_determinant
        assert bound <= truth + 1e-8
        assert truth <= bound + factor.gap(U) + 1e-8
        assert bound >= before - 1e-8  # greedy places are nested, and more of them never lower the bound
        before = bound


def test_few_places_are_said_to_be_few() -> None:
    X, v = rows(200)
    few, many = (Inducing(m)(RBF(0.3), X, v) for m in (5, 190))
    assert "raise n_inducing" in few.advice[0]
    assert many.advice == ()
    assert few.certificate["left_out"] > 0.1 > many.certificate["left_out"]


def test_places_are_those_least_known() -> None:
    """Brute force: each next row has the largest variance given those before it."""
    X, _ = rows(25)
    kernel = KERNELS[0]
    chosen, G = pivots(kernel, X, 8)
    for r in range(1, 8):
        K = kernel(X[chosen[:r]])
        left = kernel.diagonal(X) - np.einsum(
            "ab,ab->b", kernel(X[chosen[:r]], X), np.linalg.solve(K, kernel(X[chosen[:r]], X))
        )
        assert left[chosen[r]] == pytest.approx(left.max(), abs=1e-10)
    np.testing.assert_allclose(G @ G[chosen].T, kernel(X, X[chosen]), atol=1e-10)


def test_the_choice_stops_where_nothing_is_left() -> None:
    X = np.repeat(np.linspace(0.0, 1.0, 7), 5)[:, None]
    settled = Inducing(30).at(RBF(0.1), X)
    assert len(settled.locations) == settled.n_inducing == 7
    assert settled.at(RBF(9.0), X) is settled  # stated places stay


def test_rows_beyond_the_candidates_are_thinned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("credo.models.gaussian_process.solvers.inducing.CANDIDATES", 50)
    X, _ = rows(400)
    first, second = (Inducing(10).at(RBF(1.0), X).locations for _ in range(2))
    assert np.array_equal(first, second)
    assert all(np.any(np.all(row == X, axis=1)) for row in first)


def test_many_blocks_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("credo.models.gaussian_process.solvers.inducing.ENTRIES", 1)
    X, v = rows()
    check_solver(Inducing(locations=X), KERNELS[1], X, v, tol=1e-7)


def test_awkward_rows() -> None:
    check_solver(Inducing(4), 2.0 * RBF(1.0), np.zeros((1, 1)), np.full(1, 0.3))
    X = np.ones((6, 2))
    check_solver(Inducing(4), 2.0 * RBF(1.0), X, np.full(6, 0.3))  # constant columns, copies
    check_solver(Inducing(locations=np.ones((3, 2))), 2.0 * RBF(1.0), X, np.full(6, 0.3), tol=1e-6)  # jitter
    X, v = rows(30)
    for lengthscale in (1e-5, 1e5):
        factor = Inducing(30)(RBF(lengthscale), X, v)
        U = 1e140 * np.ones((30, 1))
        assert np.all(np.isfinite(factor.solve(U)))
        assert np.all(np.isfinite(factor.gradient(U)[0]))


def test_no_noise_is_a_named_error() -> None:
    with pytest.raises(ParameterError, match=r"noise must be finite and > 0.*StateSpace"):
        Inducing()(RBF(1.0), np.zeros((3, 1)), np.array([0.1, 0.0, 0.1]))


def test_bad_arguments_are_named_errors() -> None:
    with pytest.raises(ParameterError, match="n_inducing"):
        Inducing(0)
    with pytest.raises(ParameterError, match="locations"):
        Inducing(locations=[[np.nan]])
    with pytest.raises(ParameterError, match="locations must be of 2 columns"):
        Inducing(locations=np.zeros((3, 1)))(RBF(1.0), np.zeros((3, 2)), np.ones(3))
    with pytest.raises(DataError, match="n ≥ 1"):
        Inducing()(RBF(1.0), np.empty((0, 1)), np.empty(0))


def test_is_saved_and_loaded(tmp_path) -> None:  # type: ignore[no-untyped-def]
    Z = np.random.default_rng(0).normal(size=(5, 2))
    credo.save(Inducing(locations=Z), tmp_path / "solver.credo")
    np.testing.assert_array_equal(credo.load(tmp_path / "solver.credo").locations, Z)
