"""A kernel for each class: one shared where they are equal, slopes by differences, better where they differ."""

from __future__ import annotations

import numpy as np
import pytest

import credo as cr
from credo.errors import ParameterError
from credo.models.gaussian_process.class_kernels import ClassKernels
from credo.models.gaussian_process.latent_softmax import SoftmaxFit, _Evidence, _Task
from credo.saving import load, save

RNG = np.random.default_rng(0)
X = RNG.uniform(-3, 3, size=(100, 2))
# One class is told by a slow function of the first column, two by a quick one of the second.
Y = np.where(X[:, 0] < -1, 0, np.where(np.sin(4 * X[:, 1]) > 0, 1, 2))
Y = np.where(RNG.uniform(size=100) < 0.2, RNG.integers(0, 3, size=100), Y)  # no class is certain
NEW = RNG.uniform(-3, 3, size=(9, 2))
KERNEL = 2.0 * cr.kernels.RBF([1.0, 1.5])


def test_equal_kernels_are_a_shared_one():
    shared = cr.GaussianProcessClassifier(KERNEL, optimizer=None).fit(X, Y)
    apart = cr.GaussianProcessClassifier([KERNEL] * 3, optimizer=None).fit(X, Y)
    assert apart.log_evidence_ == pytest.approx(shared.log_evidence_, abs=1e-10)
    assert apart.kernel_ == [KERNEL] * 3
    for one, other in zip(shared.latent(NEW), apart.latent(NEW), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-10)
    np.testing.assert_allclose(shared.leave_one_out(X, Y).pointwise, apart.leave_one_out(X, Y).pointwise, atol=1e-9)
    draws = [model.law_draws(NEW, 50).law(np.arange(9)).p for model in (shared, apart)]
    np.testing.assert_allclose(*draws, atol=1e-6)


def test_slopes_of_the_evidence():
    kernels = ClassKernels((KERNEL, 1.0 * cr.kernels.Matern(0.8, nu=2.5), cr.kernels.RBF(0.5)))
    task = _Task(kernels, X, Y, 3, None, None)
    evidence = _Evidence(task, "laplace")
    start = task.start()
    assert len(task.names) == start.size == len(task.bounds())
    slope = evidence(start)[1]
    steps = 1e-5 * np.eye(start.size)
    numeric = [(evidence(start + step)[0] - evidence(start - step)[0]) / 2e-5 for step in steps]
    np.testing.assert_allclose(slope, numeric, rtol=1e-4, atol=1e-4)


@pytest.mark.filterwarnings("ignore::credo.models.convergence.FitConvergenceWarning")  # steep: Laplace's check fails
def test_classes_that_differ_learn_to():
    shared = cr.GaussianProcessClassifier().fit(X, Y)
    apart = cr.GaussianProcessClassifier([None] * 3).fit(X, Y)
    assert apart.log_evidence_ > shared.log_evidence_ + 1.0
    first, second = (apart.kernel_[c].kernel.lengthscale for c in (0, 1))
    assert first[0] < first[1]  # the first class by the first column, the others by the second
    assert second[1] < second[0]


def test_saved_and_read_again(tmp_path):
    model = cr.GaussianProcessClassifier([KERNEL] * 3, optimizer=None).fit(X, Y)
    save(model, tmp_path / "model.credo")
    np.testing.assert_array_equal(load(tmp_path / "model.credo").predict_proba(NEW), model.predict_proba(NEW))


@pytest.mark.parametrize("kernel", [[KERNEL], [KERNEL] * 4, [KERNEL, KERNEL, "rbf"], []])
def test_a_list_that_does_not_fit(kernel):
    with pytest.raises(ParameterError, match="kernel"):
        cr.GaussianProcessClassifier(kernel).fit(X, Y)


def test_two_classes_have_one_function():
    with pytest.raises(ParameterError, match="two classes, which have one function"):
        cr.GaussianProcessClassifier([KERNEL, KERNEL]).fit(X, Y == 0)


def test_against_the_engine():
    """The mode of f_c is k_c(X, X) K⁻¹ f: what the stacked matrices must give."""
    kernels = ClassKernels((KERNEL, 1.0 * cr.kernels.RBF(0.7), 0.5 * cr.kernels.RBF(2.0)))
    fit = SoftmaxFit.learn(kernels, X, Y, 3, optimize=False, rng=np.random.default_rng(0))
    mean, _ = fit.latent(X)
    expected = np.stack([kernel(X) @ fit.pull[:, c] for c, kernel in enumerate(kernels.kernels)], axis=1)
    np.testing.assert_allclose(mean, expected, atol=1e-10)
    np.testing.assert_allclose(mean, fit.posterior.mean, atol=1e-6)
