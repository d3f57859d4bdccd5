"""Conjugate gradients: dense algebra within the stated residual; estimates within their stated standard error."""

from __future__ import annotations

import numpy as np
import pytest

import credo
from credo.errors import ConvergenceWarning, DataError, NotPositiveDefiniteError, ParameterError
from credo.kernels import RBF, Kernel, Linear, Matern, White
from credo.models.gaussian_process.solvers.conjugate_gradient import ConjugateGradient
from credo.testing.solvers import check_solver

KERNELS = [1.5 * RBF((0.7, 1.2)), 2.0 * Matern(0.7, nu=1.5) + White(0.2) + Linear(2.0)]


def rows(n: int = 120, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)), rng.uniform(0.05, 0.3, n)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_preconditioner_of_full_rank_is_dense_algebra(kernel: Kernel) -> None:
    """M is then K_y: nothing is left to estimate, so that every answer is checked."""
    X, v = rows(60)
    check_solver(ConjugateGradient(tol=1e-12, preconditioner_rank=60), kernel, X, v, tol=1e-7)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("rank", [0, 20])
@pytest.mark.parametrize("tol", [1e-3, 1e-6, 1e-10])
def test_solutions_are_within_the_stated_residual(kernel: Kernel, rank: int, tol: float) -> None:
    X, v = rows()
    U = np.random.default_rng(1).normal(size=(120, 3))
    K = kernel(X) + np.diag(v)
    factor = ConjugateGradient(tol=tol, preconditioner_rank=rank)(kernel, X, v)
    solved = factor.solve(U)
    stated = factor.certificate["residual"]
    assert stated <= tol
    residual = np.linalg.norm(K @ solved - U, axis=0) / np.linalg.norm(U, axis=0)
    assert np.all(residual <= stated + 1e-13)
    # ‖a − K_y⁻¹u‖ ≤ ‖K_y⁻¹‖ · residual · ‖u‖
    bound = stated * np.linalg.norm(U, axis=0) / np.linalg.eigvalsh(K)[0]
    assert np.all(np.linalg.norm(solved - np.linalg.solve(K, U), axis=0) <= bound + 1e-10)


@pytest.mark.parametrize("kernel", KERNELS)
def test_log_determinant_and_gradients_are_unbiased(kernel: Kernel) -> None:
    """40 seeds of 16 probes: the mean lies within 4 of its standard errors (5 or 6 numbers: false alarms < 1 in 2,000),
    and the standard errors that are stated are of the size of the scatter."""
    X, v = rows(80)
    U = np.random.default_rng(1).normal(size=(80, 1))
    K = kernel(X) + np.diag(v)
    inverse = np.linalg.inv(K)
    weight = 0.5 * ((inverse @ U) @ (inverse @ U).T - inverse)
    truth = np.concatenate([[np.linalg.slogdet(K)[1]], kernel.gradient(X, None, weight), [np.trace(weight)]])
    found, stated = [], []
    for seed in range(40):
        factor = ConjugateGradient(tol=1e-9, preconditioner_rank=10, seed=seed)(kernel, X, v)
        log = factor.log_determinant
        theta, by_noise = factor.gradient(U)
        found.append([log, *theta, by_noise.sum()])
        stated.append(factor.certificate["log_determinant_se"])
    error = np.std(found, axis=0, ddof=1) / np.sqrt(40)
    assert np.all(np.abs(np.mean(found, axis=0) - truth) < 4.0 * error + 1e-9 * np.abs(truth))
    assert 0.5 < np.sqrt(np.mean(np.square(stated))) / np.std(found, axis=0, ddof=1)[0] < 2.0


def test_the_same_seed_is_the_same_objective() -> None:
    X, v = rows()
    first, second = (ConjugateGradient(preconditioner_rank=5)(KERNELS[0], X, v) for _ in range(2))
    assert first.log_determinant == second.log_determinant
    assert np.array_equal(first.gradient(X)[0], second.gradient(X)[0])


def test_an_unconverged_one_warns_with_its_residual() -> None:
    X, v = rows()
    factor = ConjugateGradient(preconditioner_rank=0, max_iter=3)(KERNELS[0], X, v)
    with pytest.warns(ConvergenceWarning, match=r"3 iterations at a relative residual of .* Raise max_iter"):
        factor.solve(np.ones((120, 1)))
    assert factor.certificate["residual"] > factor.options.tol


def test_a_zero_right_side_needs_no_iteration() -> None:
    X, v = rows()
    factor = ConjugateGradient()(KERNELS[0], X, v)
    assert np.all(factor.solve(np.zeros((120, 1))) == 0.0)
    mixed = factor.solve(np.column_stack([np.zeros(120), np.ones(120)]))
    np.testing.assert_allclose(mixed[:, :1], 0.0)
    np.testing.assert_allclose(mixed[:, 1:], factor.solve(np.ones((120, 1))), rtol=1e-9)


@pytest.mark.parametrize("kept", [0, 2**25])
def test_many_blocks_are_one(monkeypatch: pytest.MonkeyPatch, kept: int) -> None:
    monkeypatch.setattr("credo.models.gaussian_process.solvers.conjugate_gradient.ENTRIES", 1)
    monkeypatch.setattr("credo.models.gaussian_process.solvers.conjugate_gradient.KEPT", kept)
    X, v = rows(40)
    check_solver(ConjugateGradient(tol=1e-12, preconditioner_rank=40), KERNELS[1], X, v, tol=1e-7)


def test_awkward_rows() -> None:
    check_solver(ConjugateGradient(), 2.0 * RBF(1.0), np.zeros((1, 1)), np.full(1, 0.3))
    check_solver(ConjugateGradient(tol=1e-11), 2.0 * RBF(1.0), np.ones((6, 2)), np.full(6, 0.3))
    X, v = rows(30)
    for lengthscale in (1e-5, 1e5):
        factor = ConjugateGradient()(RBF(lengthscale), X, v)
        assert np.all(np.isfinite(factor.gradient(1e140 * np.ones((30, 1)))[0]))


def test_without_noise_distinct_rows_are_solved() -> None:
    """At 50 rows a lengthscale apart K is well conditioned, and M's noise floor is no part of K."""
    X, U = np.arange(50.0)[:, None], np.random.default_rng(0).normal(size=(50, 1))
    factor = ConjugateGradient(tol=1e-10)(Matern(1.0, nu=0.5), X, np.zeros(50))
    np.testing.assert_allclose(factor.solve(U), np.linalg.solve(Matern(1.0, nu=0.5)(X), U), rtol=1e-7, atol=1e-8)


def test_copies_without_noise_are_a_named_error_or_warning() -> None:
    X = np.repeat(np.arange(4.0), 3)[:, None]
    factor = ConjugateGradient(max_iter=50)(RBF(1.0), X, np.zeros(12))
    with pytest.raises((NotPositiveDefiniteError, ConvergenceWarning), match="larger noise"):
        factor.solve(np.arange(12.0)[:, None])


def test_bad_arguments_are_named_errors() -> None:
    for options in ({"tol": 0.0}, {"preconditioner_rank": -1}, {"n_probes": 1}, {"max_iter": 0}, {"seed": -1}):
        with pytest.raises(ParameterError, match=next(iter(options))):
            ConjugateGradient(**options)
    with pytest.raises(DataError, match="noise"):
        ConjugateGradient()(RBF(1.0), np.zeros((2, 1)), np.array([np.nan, 0.1]))


def test_is_saved_and_loaded(tmp_path) -> None:  # type: ignore[no-untyped-def]
    credo.save(ConjugateGradient(tol=1e-4), tmp_path / "solver.credo")
    assert credo.load(tmp_path / "solver.credo") == ConjugateGradient(tol=1e-4)
