"""A user's own kernel. What needs JAX (the extra `programs`) is run where it is installed."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import credo as cr
from credo.errors import MissingDependencyError, NumericalError, ParameterError, SaveError
from credo.kernels import RBF, Custom, Linear
from credo.testing.covariances import awkward_rows, check_kernel, check_slopes


def rbf(x, z, lengthscale):
    import jax.numpy as jnp

    return jnp.exp(-0.5 * (((x - z) / lengthscale) ** 2).sum())


def distance(x, z, scale):
    import jax.numpy as jnp

    return scale - jnp.sqrt(((x - z) ** 2).sum())


KERNEL = Custom(rbf, lengthscale=[0.5, 2.0])


def test_without_jax_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'credo\[programs\]'"):
        KERNEL(np.zeros((2, 2)))


def test_contract():
    pytest.importorskip("jax")
    check_kernel(KERNEL, n_columns=2)
    check_slopes(2.0 * Custom(rbf, lengthscale=0.7, active_dims=(1,), fixed="lengthscale") + Linear(), n_columns=2)


def test_agrees_with_the_kernel_that_it_spells_out(monkeypatch):
    jax = pytest.importorskip("jax")
    monkeypatch.setattr("credo.kernels.custom.ENTRIES", 100)  # several blocks, the last one padded
    X, W = awkward_rows(2), np.random.default_rng(0).normal(size=(12, 12))
    ours = RBF([0.5, 2.0])
    np.testing.assert_allclose(KERNEL(X), ours(X), rtol=1e-14)
    np.testing.assert_allclose(KERNEL.gradient(X, None, W), ours.gradient(X, None, W), rtol=1e-12)
    np.testing.assert_allclose(KERNEL.input_gradient(X, X, W), ours.input_gradient(X, X, W), atol=1e-13)
    assert jax.numpy.ones(1).dtype == np.float32  # the user's own setting is left alone


def test_a_root_without_a_guard_is_named():
    pytest.importorskip("jax")
    X = awkward_rows(2)
    kernel = Custom(distance, scale=1.0)
    assert np.all(np.isfinite(kernel(X)))
    with pytest.raises(NumericalError, match="guard"):
        kernel.input_gradient(X, X, np.ones((12, 12)))


def test_record():
    kernel = Custom(rbf, lengthscale=2.0, priors={"lengthscale": cr.LogNormal(0.0, 1.0)})
    assert repr(KERNEL) == "Custom(rbf, lengthscale=(0.5, 2.0))"
    assert kernel.names == ("lengthscale",)
    assert kernel.with_theta([np.log(3.0)]).lengthscale == pytest.approx(3.0)
    assert kernel.with_theta(kernel.theta) == kernel != KERNEL
    assert (2.0 * kernel).names == ("variance", "kernel.lengthscale")
    np.testing.assert_allclose(kernel.log_prior_gradient(), [-np.log(2.0)], rtol=1e-9)


def test_a_file_holds_no_code(tmp_path):
    with pytest.raises(SaveError, match="rbf"):
        cr.save(2.0 * KERNEL, tmp_path / "kernel.credo")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "make",
    [
        lambda: Custom("rbf"),
        lambda: Custom(rbf, theta=1.0),
        lambda: Custom(rbf, lengthscale=-1.0),
        lambda: Custom(rbf, fixed="a"),
    ],
)
def test_refusals_are_named(make):
    with pytest.raises(ParameterError):
        make()
