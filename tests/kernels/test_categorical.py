"""Kernels of unordered levels."""

from __future__ import annotations

import numpy as np
import pytest

from credo.errors import DataError, ParameterError
from credo.kernels import RBF, Categorical, LevelCorrelation, White
from credo.saving import load, save
from credo.testing.covariances import check_kernel


def _rows(n: int, seed: int) -> np.ndarray:
    """A number and a level among three."""
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.normal(size=n), rng.integers(0, 3, n)])


CASES = [
    (Categorical(0.7), ()),
    (Categorical([0.7, 2.0]), ()),
    (Categorical(0.7, fixed="lengthscale"), ()),
    (LevelCorrelation(3, [0.8, 1.2, 2.0], active_dims=(1,)), ()),
    (RBF(active_dims=(0,)) * LevelCorrelation(3, active_dims=(1,)), (0,)),
    (2.0 * RBF(active_dims=(0,)) * Categorical(active_dims=(1,)) + White(), (0,)),
]


@pytest.mark.parametrize(("kernel", "moving"), CASES, ids=[repr(kernel) for kernel, _ in CASES])
def test_contract(kernel, moving, tmp_path):
    check_kernel(kernel, 2, rows=(_rows(12, 0), _rows(7, 1)), moving=moving)
    save(kernel, tmp_path / "kernel.credo")
    assert load(tmp_path / "kernel.credo") == kernel


def test_levels_by_name_and_by_code_are_the_same():
    X = _rows(12, 0)
    named = np.empty((12, 2), dtype=object)
    named[:, 0], named[:, 1] = X[:, 0], np.array(["red", "green", "blue"])[X[:, 1].astype(int)]
    kernel = RBF(active_dims=(0,)) * Categorical(0.5, active_dims=(1,))
    np.testing.assert_array_equal(kernel(named), kernel(X))
    np.testing.assert_array_equal(kernel(named[:4], named), kernel(X[:4], X))
    assert kernel.diagonal(named).tolist() == [1.0] * 12
    with pytest.raises(ParameterError, match="numbers"):
        RBF()(named)


def test_disagreements_are_counted():
    K = Categorical([1.0, 0.5])(np.array([[1, 5]]), np.array([[1, 5], [2, 5], [1, 6], [9, 9]]))
    np.testing.assert_allclose(K, np.exp([[0.0, -1.0, -2.0, -3.0]]))


def test_every_correlation_matrix_has_its_angles():
    """C = LLᵀ gives cos φ_ij = L_ij / Π_{k<j} sin φ_ik, worked here by hand; and any angles are a correlation."""
    rng = np.random.default_rng(3)
    A = rng.normal(size=(4, 4))
    C = A @ A.T
    C /= np.sqrt(np.outer(np.diag(C), np.diag(C)))
    L = np.linalg.cholesky(C)
    angles = []
    for i in range(1, 4):
        left = 1.0
        for j in range(i):
            angles.append(np.arccos(L[i, j] / left))
            left *= np.sin(angles[-1])
    np.testing.assert_allclose(LevelCorrelation(4, angles).correlation, C, atol=1e-12)
    for _ in range(20):
        any_C = LevelCorrelation(5, rng.uniform(0.001, 3.14, 10)).correlation
        assert np.linalg.eigvalsh(any_C)[0] > -1e-12
        np.testing.assert_allclose(np.diag(any_C), 1.0, rtol=1e-12)


def test_refusals_are_named():
    with pytest.raises(DataError, match="row 2"):
        LevelCorrelation(3)(np.array([[0.0], [2.0], [3.0]]))
    for make in (
        lambda: LevelCorrelation(1),
        lambda: LevelCorrelation(3, [1.0]),
        lambda: LevelCorrelation(2, [4.0]),
        lambda: LevelCorrelation(2, active_dims=(0, 1)),
        lambda: LevelCorrelation(2)(np.zeros((3, 2))),
        lambda: Categorical([1.0, 2.0, 3.0])(np.zeros((3, 2))),
        lambda: Categorical()(np.full((3, 2), np.nan)),
    ):
        with pytest.raises(ParameterError):
            make()
