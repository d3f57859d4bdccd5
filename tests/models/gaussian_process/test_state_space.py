"""The state-space solver against dense algebra, and where rows are awkward."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import credo
from credo.errors import DataError, NotPositiveDefiniteError, NumericalError, ParameterError
from credo.kernels import RBF, Constant, Linear, Matern, Periodic, Polynomial, RationalQuadratic, White
from credo.models.gaussian_process.solvers.state_space import StateSpace
from credo.testing.solvers import check_slopes, check_solver

KERNELS = {
    "ornstein-uhlenbeck": Matern(0.7, nu=0.5),
    "matern 3/2": Matern(0.7, nu=1.5),
    "matern 5/2": Matern(0.7, nu=2.5),
    "sum": 2.0 * Matern(0.7, nu=1.5) + Constant(3.0) + Linear(0.5) + White(0.2),
    "product": Matern(1.3, nu=0.5) * Matern(2.0, nu=1.5),
    "three factors": Matern(1.3, nu=0.5) * Matern(2.0, nu=0.5) * Linear(3.0),
    "nested": 1.5 * (Linear(2.0) * Matern(0.8, nu=2.5)) + Polynomial(3, 1.5, 0.3),
    "white inside": Matern(1.0, nu=1.5) * (Constant(2.0) + White(0.3)),
    "fixed": Matern(1.0, nu=0.5, fixed=("lengthscale",)) * (Linear(1.0) + 1.0),
    "constant": Constant(2.0),
    "periodic": Periodic(1.2, period=1.7) * Matern(3.0, nu=0.5),
    "seasons": Matern(1.0, nu=1.5) + 0.5 * Periodic(0.8, period=2.0),
}


def rows(n: int = 50, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Irregular x out of order with a pair and a near pair, and noise of each row's own."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-3.0, 4.0, n)
    x[5], x[7] = x[6], x[8] + 1e-12
    return x[:, None], rng.uniform(0.05, 0.3, n)


@pytest.mark.parametrize("name", KERNELS)
def test_is_dense_algebra(name: str) -> None:
    check_solver(StateSpace(), KERNELS[name], *rows())


@pytest.mark.parametrize("name", ["sum", "nested", "periodic"])
def test_gradients_are_slopes(name: str) -> None:
    check_slopes(StateSpace(), KERNELS[name], *rows(20))


@settings(deadline=None, derandomize=True, max_examples=40)
@given(
    x=st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=12),
    lengthscale=st.floats(1e-3, 1e3),
    nu=st.sampled_from([0.5, 1.5, 2.5]),
)
def test_any_rows_and_lengthscale(x: list[float], lengthscale: float, nu: float) -> None:
    check_solver(StateSpace(), Matern(lengthscale, nu=nu), np.array(x)[:, None], np.full(len(x), 0.1))


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
@pytest.mark.parametrize("scale", [1e-12, 1e12, 1e250])
def test_gaps_of_any_size(nu: float, scale: float) -> None:
    """At 1e-12 lengthscales f is one number; at 1e12 rows know nothing of each other."""
    n = 30
    X, v, U = scale * np.arange(float(n))[::-1, None], np.full(n, 0.2), np.random.default_rng(0).normal(size=(n, 1))
    factor = StateSpace()(Matern(1.0, nu=nu), X, v)
    K = np.ones((n, n)) if scale < 1.0 else np.eye(n)
    np.testing.assert_allclose(factor.log_determinant, np.linalg.slogdet(K + 0.2 * np.eye(n))[1], rtol=1e-9)
    np.testing.assert_allclose(factor.solve(U), np.linalg.solve(K + 0.2 * np.eye(n), U), rtol=1e-8, atol=1e-8)
    mean, variance = factor.predict(X, U)
    assert np.all(np.isfinite(factor.gradient(U)[0]))
    np.testing.assert_allclose(mean, K @ factor.solve(U), atol=1e-8)
    np.testing.assert_allclose(variance, np.diag(K - K @ np.linalg.solve(K + 0.2 * np.eye(n), K)), atol=1e-9)


def test_close_rows_without_noise_keep_their_digits() -> None:
    """|K| of Ornstein–Uhlenbeck rows is Π (1 − exp(−2 gap)): at gaps of 1e-9 a dense factorisation has lost it."""
    gaps = np.full(20, 1e-9)
    X = np.concatenate([[0.0], np.cumsum(gaps)])[:, None]
    factor = StateSpace()(Matern(1.0, nu=0.5), X, np.zeros(21))
    assert factor.certificate["jitter"] == 0.0
    np.testing.assert_allclose(factor.log_determinant, np.log(-np.expm1(-2.0 * gaps)).sum(), rtol=1e-7)
    U = np.sin(1e9 * X)
    np.testing.assert_allclose(factor.predict(X, U)[0], U, atol=1e-6)


def test_copies_without_noise_take_jitter_and_say_so() -> None:
    X = np.array([[0.0], [0.0], [1.0]])
    factor = StateSpace()(Matern(1.0), X, np.zeros(3))
    assert 0.0 < factor.certificate["jitter"] <= 1e-10
    np.testing.assert_allclose(factor.predict(X, np.ones((3, 1)))[0], 1.0, atol=1e-6)


def test_one_row() -> None:
    check_solver(StateSpace(), 2.0 * Matern(1.0), np.array([[3.0]]), np.array([0.5]))


@pytest.mark.parametrize("size", [1e-140, 1e140])
def test_targets_of_any_scale(size: float) -> None:
    X, v = rows(20)
    U = np.random.default_rng(0).normal(size=(20, 1))
    factor = StateSpace()(Matern(1.0), X, v)
    np.testing.assert_allclose(factor.solve(size * U), size * factor.solve(U), rtol=1e-12)
    assert np.all(np.isfinite(factor.gradient(size * U)[0]))


def test_a_large_level_costs_few_digits() -> None:
    """Prior variance 1e10 beside noise 0.01: the level is learned, and then the rest as if it had been subtracted."""
    X, _ = rows(40)
    v, y = np.full(40, 0.01), np.sin(rows(40)[0])
    plain = StateSpace()(Matern(1.0) + Constant(1e4), X, v)
    large = StateSpace()(Matern(1.0) + Constant(1e10), X, v)
    assert large.certificate["jitter"] == 0.0
    np.testing.assert_allclose(large.predict(X, y)[0], plain.predict(X, y)[0], atol=1e-5)


def test_a_column_of_several() -> None:
    rng = np.random.default_rng(0)
    check_solver(StateSpace(), Matern(1.0, active_dims=(2,)) + White(0.1), rng.normal(size=(30, 3)), np.full(30, 0.2))


def test_order_of_rows_does_not_matter() -> None:
    X, v = rows(40)
    U = np.random.default_rng(0).normal(size=(40, 2))
    shuffle = np.random.default_rng(1).permutation(40)
    plain, other = (StateSpace()(KERNELS["sum"], X[at], v[at]) for at in (np.arange(40), shuffle))
    np.testing.assert_allclose(other.solve(U[shuffle]), plain.solve(U)[shuffle], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(other.log_determinant, plain.log_determinant, rtol=1e-12)


def test_many_blocks_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("credo.models.gaussian_process.solvers.state_space.ENTRIES", 1)
    check_solver(StateSpace(), KERNELS["sum"], *rows())


def test_the_error_of_a_series_is_stated() -> None:
    kernel = 2.0 * Periodic(0.5, period=1.0)
    factor = StateSpace(tolerance=1e-3)(kernel, *rows())
    series, X = factor.rows, np.linspace(0.0, 1.0, 50)[:, None]
    h = series.process.emission(X[:, 0])
    assert 0.0 < np.abs(h @ h.T - kernel(X)).max() <= factor.certificate["kernel_error"] * (1 + 1e-9) <= 2e-3


@pytest.mark.parametrize("kernel", [RBF(1.0), RationalQuadratic(1.0), 2.0 * RBF(1.0) + Matern(1.0)])
def test_other_kernels_are_refused_by_name(kernel: object) -> None:
    with pytest.raises(ParameterError, match="Matern, Constant"):
        StateSpace()(kernel, *rows())  # type: ignore[arg-type]


def test_several_columns_are_refused() -> None:
    with pytest.raises(ParameterError, match="one of the 2 columns"):
        StateSpace()(Matern(1.0), np.zeros((4, 2)), np.ones(4))


def test_large_states_and_rough_periods_are_refused() -> None:
    with pytest.raises(NumericalError, match="9 states, more than max_states=5"):
        StateSpace(max_states=5)(Matern(1.0) * Matern(1.0), *rows())
    with pytest.raises(NumericalError, match="harmonics"):
        StateSpace()(Periodic(1e-3), *rows())


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1.0])
def test_bad_noise_is_a_named_error(bad: float) -> None:
    with pytest.raises(DataError, match="noise"):
        StateSpace()(Matern(1.0), np.zeros((2, 1)), np.array([0.1, bad]))


def test_empty_rows_and_bad_options() -> None:
    with pytest.raises(DataError, match="n ≥ 1"):
        StateSpace()(Matern(1.0), np.empty((0, 1)), np.empty(0))
    with pytest.raises(ParameterError, match="tolerance"):
        StateSpace(tolerance=0.0)
    with pytest.raises(ParameterError, match="max_states"):
        StateSpace(max_states=0)


def test_a_hopeless_matrix_is_a_named_error() -> None:
    """h = 1e160: variances of 1e320 are beyond floating point."""
    with (
        pytest.raises(NotPositiveDefiniteError, match="positive definite"),
        np.errstate(over="ignore", invalid="ignore"),
    ):
        StateSpace()(Linear(1e-5), np.array([[1e155], [2e155]]), np.ones(2))


def test_more_rows_than_memory_is_a_named_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sysconf", lambda name: 40)
    with pytest.raises(NumericalError, match=r"StateSpace for 50 rows needs .* fewer rows"):
        StateSpace()(Matern(1.0), *rows())


def test_is_saved_and_loaded(tmp_path) -> None:  # type: ignore[no-untyped-def]
    credo.save(StateSpace(tolerance=1e-6), tmp_path / "solver.credo")
    assert credo.load(tmp_path / "solver.credo") == StateSpace(tolerance=1e-6)
