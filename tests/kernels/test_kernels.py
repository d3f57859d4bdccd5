"""Covariance functions: the contract suite, known values, composition, saving, and the errors."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.gaussian_process import kernels as peers

from credo.distributions import LogNormal
from credo.errors import NumericalError, ParameterError
from credo.kernels import (
    RBF,
    ArcCosine,
    Constant,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    Product,
    RationalQuadratic,
    Scaled,
    Sum,
    White,
)
from credo.saving import load, save
from credo.testing.covariances import awkward_rows, check_extremes, check_kernel

SMOOTH = {
    "rbf": RBF(0.7),
    "rbf-ard": RBF([0.5, 2.0]),
    "rbf-active": RBF(0.7, active_dims=(1,)),
    "matern32": Matern(0.8, nu=1.5),
    "matern52-ard": Matern([0.5, 2.0], nu=2.5),
    "rational": RationalQuadratic([0.6, 1.5], alpha=0.7),
    "periodic": Periodic(0.9, period=1.3),
    "periodic-each": Periodic(0.9, period=[1.3, 0.8]),
    "linear": Linear(1.5),
    "linear-ard": Linear([1.5, 0.5]),
    "polynomial": Polynomial(3, 1.5, 0.6),
    "polynomial-ard": Polynomial(2, [1.5, 0.7], 0.6),
    "constant": Constant(2.0),
    "white": White(0.5),
    "scaled": 2.0 * RBF(0.7),
    "fixed": Scaled(RBF([0.5, 2.0], fixed="lengthscale"), 2.0),
    "all fixed": RBF(0.5, fixed="lengthscale"),
    "sum": RBF([0.5, 2.0]) + 0.3 * Linear() + White(0.1) + 1.0,
    "product": RBF(0.5, active_dims=(0,)) * Periodic(1.0, 2.0, active_dims=(1,)) * Polynomial(2),
    "matern32-ard": Matern([0.7, 1.4], nu=1.5),
    "rational-fixed": RationalQuadratic([0.5, 1.0], alpha=0.3, fixed="alpha"),
    "arc1": ArcCosine(1, [0.7, 2.0], 0.3),
    "arc2": ArcCosine(2, 0.7, 1.3),
    "arc-fixed": 2.0 * ArcCosine(1, fixed="bias_variance", active_dims=(1,)),
    "nested": 0.5 * (RBF(1.0) + Matern(0.4)) * (Linear() + 2.0),
}


@pytest.mark.parametrize("kernel", SMOOTH.values(), ids=SMOOTH.keys())
def test_contract(kernel):
    check_kernel(kernel, n_columns=2)


@pytest.mark.parametrize("n", [1, 63, 150])
@pytest.mark.parametrize("kernel", SMOOTH.values(), ids=SMOOTH.keys())
def test_half_a_matrix_says_as_much_as_the_whole(kernel, n):
    """Of blocks of 64 rows, near-duplicates among them; of symmetric weights only the lower triangle is read."""
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 2))
    X[n // 2 :] = X[: n - n // 2] + 1e-9
    W = rng.normal(size=(n, n))
    W = W + W.T
    K, pullback = kernel.half_and_pullback(X, 1.7)
    assert K.flags.f_contiguous
    np.testing.assert_allclose(np.tril(K), np.tril(1.7 * kernel(X)), rtol=1e-12, atol=1e-15)
    K[:] = np.nan
    scale = 1.7 * np.abs(W * kernel(X)).sum() + 1.0
    for _ in range(2):
        value, gradient = pullback(np.asfortranarray(np.tril(W)))
        assert value == pytest.approx(1.7 * float(np.vdot(W, kernel(X))), abs=1e-13 * scale)
        np.testing.assert_allclose(gradient, 1.7 * kernel.gradient(X, None, W), rtol=0, atol=1e-13 * scale)


@pytest.mark.parametrize("kernel", SMOOTH.values(), ids=SMOOTH.keys())
def test_nothing_is_lost_at_the_ends_of_floating_point(kernel):
    check_extremes(kernel, n_columns=2)


@pytest.mark.parametrize("kernel", [Matern([0.5, 2.0], nu=0.5), ArcCosine(0, [1.0, 2.0], 0.5)], ids=repr)
def test_contract_without_slopes(kernel):
    check_kernel(kernel, n_columns=2, smooth=False)
    check_extremes(kernel, n_columns=2)


@pytest.mark.parametrize("kernel", [RBF(0.7), Matern(0.6), Periodic(0.9, 1.3), Linear(), ArcCosine(1)], ids=repr)
def test_contract_in_one_column(kernel):
    check_kernel(kernel, n_columns=1)


@pytest.mark.parametrize("kernel", [RBF(4.0), Matern(np.linspace(2.0, 6.0, 20))], ids=["rbf", "matern-ard"])
def test_contract_in_many_columns(kernel):
    check_kernel(kernel, n_columns=20)


PAIRS = [
    (RBF([0.5, 2.0]), peers.RBF([0.5, 2.0])),
    (Matern(0.8, nu=0.5), peers.Matern(0.8, nu=0.5)),
    (Matern(0.8, nu=1.5), peers.Matern(0.8, nu=1.5)),
    (Matern([0.8, 0.3], nu=2.5), peers.Matern([0.8, 0.3], nu=2.5)),
    (RationalQuadratic(0.8, alpha=0.6), peers.RationalQuadratic(0.8, alpha=0.6)),
    (Linear() + 4.0, peers.DotProduct(2.0)),
    (2.0 * RBF(0.5) + White(0.1), 2.0 * peers.RBF(0.5) + peers.WhiteKernel(0.1)),
]


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_agrees_with_scikit_learn(ours, theirs):
    X, Z = awkward_rows(2), awkward_rows(2, 1)
    np.testing.assert_allclose(ours(X), theirs(X), rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(ours(X, Z), theirs(X, Z), rtol=1e-9, atol=1e-13)


def test_periodic_in_one_dimension_agrees_with_scikit_learn():
    X = awkward_rows(1)
    np.testing.assert_allclose(Periodic(0.9, 1.3)(X), peers.ExpSineSquared(0.9, 1.3)(X), rtol=1e-9)


def test_a_common_offset_costs_no_digits():
    X = awkward_rows(2)
    for kernel in (RBF(0.7), Matern(0.7, nu=0.5)):
        np.testing.assert_allclose(kernel(X + 2.0**20), kernel(X), rtol=1e-7)


def test_composition_is_flat_and_named():
    kernel = RBF(1.0) + 2.0 * Linear() + White(0.1)
    assert isinstance(kernel, Sum)
    assert kernel.names == ("0.lengthscale", "1.variance", "1.kernel.lengthscale", "2.variance")
    assert isinstance(RBF() * RBF() * RBF(), Product)
    assert len((RBF() * RBF() * RBF()).parts) == 3
    assert RBF([1.0, 2.0]).names == ("lengthscale[0]", "lengthscale[1]")
    assert repr(2.0 * RBF([1, 2])) == "Scaled(kernel=RBF(lengthscale=(1.0, 2.0)), variance=2.0)"
    assert "fixed=('lengthscale',)" in repr(RBF(fixed="lengthscale"))
    assert repr(White(0.1)) == "White(variance=0.1)"
    assert np.float64(2.0) * RBF() == Scaled(RBF(), 2.0) == RBF() * 2


def test_product_where_a_factor_vanishes():
    X = np.array([[0.0], [1.0]])
    kernel = Linear() * RBF(1.0)
    assert np.all(np.isfinite(kernel.gradient(X, None, np.ones((2, 2)))))


def test_priors_and_limits():
    kernel = RBF(2.0, priors={"lengthscale": LogNormal(0.0, 1.0)}, limits={"lengthscale": (0.1, 10.0)})
    assert kernel.log_prior() == pytest.approx(LogNormal(0.0, 1.0).log_prob(2.0) + np.log(2.0))
    np.testing.assert_allclose(np.exp(kernel.bounds), [[0.1, 10.0]])
    assert (kernel + White()).log_prior() == kernel.log_prior()


@pytest.mark.parametrize(
    "kernel",
    [
        0.5 * (RBF([0.5, 2.0]) + Matern(0.4, nu=1.5)) * Periodic(1.0, 2.0, active_dims=(1,)),
        ArcCosine(2, [0.5, 1.0]) + RationalQuadratic() + Polynomial(3) + White() + Constant(2.0),
    ],
    ids=["composed", "others"],
)
def test_save_and_load(tmp_path, kernel):
    save(kernel, tmp_path / "kernel.credo")
    again = load(tmp_path / "kernel.credo")
    X = awkward_rows(2)
    np.testing.assert_array_equal(again(X), kernel(X))
    assert again.names == kernel.names


@pytest.mark.parametrize(
    "make",
    [
        lambda: RBF(0.0),
        lambda: RBF([1.0, -1.0]),
        lambda: RBF(np.nan),
        lambda: RBF([]),
        lambda: Matern(nu=2.0),
        lambda: Polynomial(0),
        lambda: RBF(fixed=("scale",)),
        lambda: RBF(active_dims=(0, 0)),
        lambda: RBF() + "a",
        lambda: 0.0 * RBF(),
        lambda: RBF([1.0, 2.0, 3.0])(np.zeros((2, 2))),
        lambda: RBF(active_dims=(5,))(np.zeros((2, 2))),
        lambda: RBF()(np.zeros(3)),
        lambda: RBF().with_theta([0.0, 1.0]),
        lambda: RBF(1e-200)(np.full((2, 1), 1e200) * [[1.0], [-1.0]]),
        lambda: Constant([1.0, 2.0]),
        lambda: RationalQuadratic(alpha=[1.0, 2.0]),
        lambda: ArcCosine(3),
        lambda: ArcCosine(1, [1.0, 2.0])(np.zeros((2, 3))),
        lambda: Periodic(period=[1.0, 2.0])(np.zeros((2, 3))),
    ],
)
def test_refusals_are_named(make):
    with pytest.raises(ParameterError):
        make()


@pytest.mark.parametrize(
    "kernel", [Linear(), Polynomial(3), ArcCosine(2), Linear() * Linear(), 1e200 * Linear()], ids=repr
)
def test_overflow_is_named(kernel):
    with pytest.raises(NumericalError, match="overflows"):
        kernel(np.full((3, 2), 1e160) if "Scaled" not in repr(kernel) else np.full((3, 2), 1e120))


def test_arc_cosine_is_the_expectation_that_it_says():
    """Monte Carlo over 4·10⁵ hidden units; |difference| ≤ 5 standard errors, a false alarm in 10⁵ or so."""
    rng = np.random.default_rng(5)
    x, z, variances = np.array([0.8, -0.3]), np.array([0.1, 1.1]), np.array([1.5, 0.4])
    a = rng.normal(size=(400_000, 3)) * np.sqrt([*variances, 0.7])
    left, right = a @ [*x, 1.0], a @ [*z, 1.0]
    for order in (0, 1, 2):
        draws = 2.0 * (left > 0) * (right > 0) * (left * right) ** order
        value = ArcCosine(order, variances, 0.7)(x[None], z[None])[0, 0]
        assert abs(draws.mean() - value) <= 5.0 * draws.std() / np.sqrt(draws.size)


def test_step_networks_keep_the_digits_of_a_small_angle():
    """1 − k = φ/π is 1e-9/(2π) for x = 1 ± 1e-9/2 (bias 1): an arc cosine of their cosine would be 0 or 1.5e-8."""
    k = ArcCosine(0)(np.array([[1.0]]), np.array([[1.0 + 1e-9]]))[0, 0]
    assert 1.0 - k == pytest.approx(1e-9 / (2.0 * np.pi), rel=1e-5)


def test_the_pullback_of_many_rows_keeps_nothing(monkeypatch):
    monkeypatch.setattr("credo.kernels.base.KEPT", 5)
    check_kernel(2.0 * Matern([0.5, 2.0]) + White(), n_columns=2)


@pytest.mark.parametrize(
    "kernel", [RBF(), Matern(), Linear(), Polynomial(), Periodic(), ArcCosine(), RationalQuadratic()], ids=repr
)
def test_rows_that_do_not_fit_are_named(kernel):
    with pytest.raises(ParameterError, match="Z must be of 2 columns"):
        kernel(np.zeros((3, 2)), np.zeros((3, 1)))
    with pytest.raises(ParameterError, match="X must be finite"):
        kernel(np.full((3, 2), np.nan))
