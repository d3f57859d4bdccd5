"""Slopes of a function as rows: the derivatives of each kernel, their signs, and what cannot have them."""

from __future__ import annotations

import numpy as np
import pytest

from credo.errors import DataError, ParameterError, UnavailableError
from credo.kernels import (
    RBF,
    ArcCosine,
    Categorical,
    Constant,
    Differentiated,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    RationalQuadratic,
    White,
)
from credo.saving import load, save
from credo.testing.covariances import check_extremes, check_slopes

KERNELS = {
    "rbf": RBF(0.7),
    "rbf-ard": RBF([0.5, 2.0]),
    "rbf-active": RBF(0.7, active_dims=(1,)),
    "rbf-fixed": RBF(0.7, fixed="lengthscale"),
    "matern32": Matern(0.8, nu=1.5),
    "matern32-ard": Matern([0.7, 1.4], nu=1.5),
    "matern52": Matern(0.8),
    "matern52-ard": Matern([0.5, 2.0]),
    "rational": RationalQuadratic([0.6, 1.5], alpha=0.7),
    "rational-fixed": RationalQuadratic(0.6, alpha=0.7, fixed="alpha"),
    "periodic": Periodic(0.9, period=1.3),
    "periodic-each": Periodic(0.9, period=[1.3, 0.8]),
    "linear": Linear([1.5, 0.5]),
    "polynomial1": Polynomial(1, 1.5),
    "polynomial2": Polynomial(2, [1.5, 0.7], 0.6),
    "polynomial3": Polynomial(3, 1.5, 0.6),
    "constant": Constant(2.0),
    "white": White(0.5),
    "scaled": 2.0 * RBF(0.7),
    "sum": RBF([0.5, 2.0]) + 0.3 * Linear() + White(0.1) + 1.0,
    "product": RBF(0.5, active_dims=(0,)) * Periodic(1.0, 2.0, active_dims=(1,)) * Polynomial(2),
    "nested": 0.5 * (RBF(1.0) + Matern(0.4)) * (Linear() + 2.0),
    "with levels": RBF(0.7) * Constant(0.5),
}


@pytest.mark.parametrize(("name", "kernel"), KERNELS.items(), ids=KERNELS.keys())
def test_contract(name, kernel):
    check_slopes(kernel, n_columns=2, twice="matern32" not in name)


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
def test_finite_or_named_at_the_ends_of_floating_point(kernel):
    check_extremes(kernel, n_columns=2, slopes=True)


def test_known_answer():
    """f(0) = 0 and f'(0) = 1 under an RBF with ℓ = 1: mean e^(−½) and variance 1 − 2/e at 1, by hand."""
    kernel = Differentiated(RBF(1.0))
    X, at = np.array([[0.0, -1.0], [0.0, 0.0]]), np.array([[1.0, -1.0]])
    weights = np.linalg.solve(kernel(X), kernel(X, at))
    assert (weights.T @ [0.0, 1.0]).item() == pytest.approx(0.60653065971263, abs=1e-13)
    assert (kernel.diagonal(at) - (kernel(at, X) @ weights)[0]).item() == pytest.approx(0.26424111765712, abs=1e-13)


@pytest.mark.parametrize(
    "kernel", [RBF(0.8), Matern(0.8, nu=1.5), RationalQuadratic(0.8), Periodic(1.0, 5.0)], ids=repr
)
def test_a_rising_slope_lifts_what_is_to_its_right(kernel):
    joint = Differentiated(kernel)
    slope, right, left = np.array([[0.0, 0.0]]), np.array([[0.5, -1.0]]), np.array([[-0.5, -1.0]])
    assert joint(slope, right).item() > 0 > joint(slope, left).item()
    assert joint(right, slope).item() > 0 > joint(left, slope).item()


def test_slopes_of_paths_are_the_slopes():
    """A slope is the limit of a difference of two values: their covariances agree to the curvature left out."""
    kernel, step = Differentiated(Matern([0.7, 1.2])), 1e-4
    X = np.random.default_rng(0).normal(size=(6, 2))
    values = [np.column_stack([X + sign * step * np.eye(2)[1], np.full(6, -1.0)]) for sign in (1.0, -1.0)]
    slopes = np.column_stack([X, np.ones(6)])
    (up, down), both = values, np.vstack(values)
    D = np.hstack([np.eye(6), -np.eye(6)]) / (2.0 * step)
    np.testing.assert_allclose(D @ kernel(both) @ D.T, kernel(slopes), atol=1e-3)
    np.testing.assert_allclose(kernel(slopes, up), D @ kernel(both, up), atol=1e-3)
    assert kernel(down).shape == (6, 6)


def test_white_is_noise_of_values():
    X = np.array([[0.3, -1.0], [0.3, -1.0], [0.3, 0.0], [0.3, 0.0]])
    np.testing.assert_array_equal(Differentiated(White(0.5))(X), np.diag([0.5, 0.5, 0.0, 0.0]))


def test_the_diagonal_of_many_slopes_goes_by_blocks():
    X = np.column_stack([np.linspace(0.0, 9.0, 150), np.resize([-1, 0], 150)])
    kernel = Differentiated(RBF(0.5) * Linear() + White())
    np.testing.assert_allclose(kernel.diagonal(X), np.diag(kernel(X)), rtol=1e-12)


def test_names_and_saving(tmp_path):
    kernel = Differentiated(2.0 * RBF([0.5, 2.0]))
    assert kernel.names == kernel.kernel.names
    assert repr(kernel) == "Differentiated(kernel=Scaled(kernel=RBF(lengthscale=(0.5, 2.0)), variance=2.0))"
    save(kernel, tmp_path / "kernel.credo")
    assert load(tmp_path / "kernel.credo") == kernel


def test_slopes_in_columns_that_a_rough_kernel_does_not_look_at():
    X = np.array([[0.1, 2.0, 0.0], [0.4, 2.0, -1.0], [0.4, 1.0, 0.0]])
    kernel = Differentiated(RBF(active_dims=(0,)) * Categorical(active_dims=(1,)))
    assert np.linalg.eigvalsh(kernel(X))[0] > 0


@pytest.mark.parametrize("rough", [Matern(nu=0.5), ArcCosine(1), Categorical(), RBF() + Matern(nu=0.5)], ids=repr)
def test_what_has_no_slopes_says_so(rough):
    with pytest.raises(UnavailableError, match=r"(Matern|ArcCosine|Categorical)\(.*has no slopes"):
        Differentiated(rough)(np.array([[0.0, 0.0]]))


def test_refusals_are_named():
    kernel = Differentiated(RBF())
    for which in (0.5, 1.0, -2.0, np.nan):
        with pytest.raises(DataError, match="row 1"):
            kernel(np.array([[0.0, -1.0], [0.0, which]]))
    with pytest.raises(DataError, match="two columns"):
        kernel(np.zeros((3, 1)))
    with pytest.raises(UnavailableError, match="for values"):
        kernel.input_gradient(np.array([[0.0, 0.0]]), np.array([[0.0, 0.0]]), np.ones((1, 1)))
    for wrong in (kernel, "rbf"):
        with pytest.raises(ParameterError):
            Differentiated(wrong)
