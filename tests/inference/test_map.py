"""Modes with known answers, on every support, and the named failures."""

from __future__ import annotations

import numpy as np
import pytest

from credo.distributions.support import POSITIVE, SIMPLEX, UNIT_INTERVAL
from credo.errors import ConvergenceWarning, NumericalError, ParameterError, UnavailableError
from credo.inference.map import maximise
from credo.inference.target import Target

BETA = Target(
    lambda x: 3 * np.log(x[0]) + np.log1p(-x[0]),
    {"p": ()},
    gradient=lambda x: 3 / x - 1 / (1 - x),
    supports={"p": UNIT_INTERVAL},
)


@pytest.mark.parametrize("method", ["newton", "lbfgs"])
def test_jacobian_policy(method):
    """Beta(4, 2): its mode is 3/4; with the Jacobian of the logit, 4/6."""
    assert maximise(BETA, rng=0, method=method).mode == pytest.approx(0.75, abs=1e-5)
    assert maximise(BETA, rng=0, method=method, jacobian=True).mode == pytest.approx(2 / 3, abs=1e-5)


def test_normal_mode_and_hessian():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(5, 5))
    precision, mean = root @ root.T + np.eye(5), rng.normal(size=5)
    target = Target(
        lambda x: -0.5 * (x - mean) @ precision @ (x - mean),
        {"w": (4,), "b": ()},
        gradient=lambda x: -precision @ (x - mean),
    )
    found = maximise(target, rng=0)
    np.testing.assert_allclose(np.append(found.values["w"], found.values["b"]), mean, atol=1e-9)
    np.testing.assert_allclose(found.hessian, precision, atol=1e-6)
    assert found.result.ok
    assert found.result.certificate["modes"] == 1
    assert found["w"].shape == (1, 4)
    assert found.inference == "map"
    exact = Target(target.log_density, target.shapes, gradient=target.gradient, hessian=lambda x: -precision)
    np.testing.assert_allclose(maximise(exact, rng=0).hessian, precision)


def test_ridge_logistic_of_the_notes():
    a, b = np.arange(-4.0, 5.0), np.array([0, 0, 1, 0, 1, 1, 1, 0, 0.0])
    y = np.array([0, 0, 0, 1, 1, 1, 1, 1, 1.0])
    X = np.stack([np.ones(9), a, b], axis=1)

    def value_and_gradient(w):
        eta = X @ w
        p = 1 / (1 + np.exp(-eta))
        penalty = np.array([0.0, 1.0, 1.0])
        return np.mean(y * eta - np.logaddexp(0, eta)) - 0.5 * penalty @ w**2, X.T @ (y - p) / 9 - penalty * w

    found = maximise(Target(None, {"w": (3,)}, value_and_gradient=value_and_gradient), rng=0)
    np.testing.assert_allclose(found.mode, [0.89230405539, 0.44464569182, 0.01457563448], atol=1e-9)


def test_without_a_gradient():
    target = Target(lambda x: -((x[0] - 3) ** 2) - (x[1] + 1) ** 4 - (x[1] + 1) ** 2, {"x": (2,)})
    np.testing.assert_allclose(maximise(target, rng=0).mode, [3.0, -1.0], atol=1e-4)


def test_simplex_mode():
    counts = np.array([1.0, 3.0, 6.0])
    target = Target(lambda x: counts @ np.log(x), {"p": (3,)}, gradient=lambda x: counts / x, supports={"p": SIMPLEX})
    np.testing.assert_allclose(maximise(target, rng=0).mode, counts / 10, atol=1e-8)


def test_rosenbrock_by_both_methods():
    def value_and_gradient(x):
        r = x[1] - x[0] ** 2
        return -100 * r**2 - (1 - x[0]) ** 2, np.array([400 * r * x[0] + 2 * (1 - x[0]), -200 * r])

    target = Target(None, {"x": (2,)}, value_and_gradient=value_and_gradient)
    for method, atol in (("newton", 1e-6), ("lbfgs", 1e-3)):
        np.testing.assert_allclose(maximise(target, rng=0, method=method, initial=[-1.2, 1.0]).mode, 1.0, atol=atol)


def test_several_modes_are_found_and_told():
    def log_density(x):
        return np.logaddexp(np.log(0.3) - 2 * (x[0] - 3) ** 2, np.log(0.7) - 2 * (x[0] + 3) ** 2)

    target = Target(log_density, {"x": ()})
    found = maximise(target, initial=np.array([[-4.0], [4.0], [2.0]]), rng=0)
    assert found.mode == pytest.approx(-3.0, abs=1e-4)
    assert [round(float(x[0])) for _, x in found.modes] == [-3, 3]


def test_an_edge_is_said():
    target = Target(lambda x: -x[0], {"x": ()}, gradient=lambda x: -np.ones(1), supports={"x": POSITIVE})
    found = maximise(target, rng=0)
    assert found.mode == pytest.approx(0.0, abs=1e-6)
    assert "edge of its support" in found.result.advice[0]


def test_flat_directions_are_not_identified():
    target = Target(
        lambda x: -((x[0] + x[1]) ** 2), {"a": (), "b": ()}, gradient=lambda x: -2 * (x[0] + x[1]) * np.ones(2)
    )
    with pytest.warns(ConvergenceWarning, match="flat or rising along"):
        assert maximise(target, rng=0).result.status == "not_identified"


def test_separation_is_not_identified():
    x, y = np.array([-2.0, -1.0, 1.0, 2.0]), np.array([-1.0, -1.0, 1.0, 1.0])

    def value_and_gradient(w):
        m = y * x * w[0]
        return -np.sum(np.logaddexp(0, -m)), np.array([np.sum(y * x / (1 + np.exp(m)))])

    with pytest.warns(ConvergenceWarning, match="not determine"):
        maximise(Target(None, {"w": ()}, value_and_gradient=value_and_gradient), rng=0)


def test_iteration_limit_is_said():
    target = Target(lambda x: -np.sum((x - 100) ** 4), {"x": (2,)}, gradient=lambda x: -4 * (x - 100) ** 3)
    with pytest.warns(ConvergenceWarning, match="iteration limit"):
        maximise(target, rng=0, max_iter=2, initial=[0.0, 0.0])


def test_a_saddle_is_left():
    """Started on the ridge x = 0 between the modes ±1, where the gradient is 0 but the curvature is not."""
    target = Target(lambda x: -((x[0] ** 2 - 1) ** 2), {"x": ()}, gradient=lambda x: -4 * x * (x**2 - 1))
    assert abs(maximise(target, rng=0, initial=[1e-6]).mode) == pytest.approx(1.0, abs=1e-6)


def test_a_point_has_no_spread():
    found = maximise(BETA, rng=0)
    for refuse in (
        lambda: found.sd, lambda: found.mean, lambda: found.quantile(0.5), lambda: found.interval(),
        lambda: found.sample(3),
    ):  # fmt: skip
        with pytest.raises(UnavailableError, match="MAP point has no"):
            refuse()
    assert found.log_prob(np.array([0.75])) == pytest.approx(found.log_density)
    with pytest.raises(ParameterError):
        found["q"]


def test_errors():
    with pytest.raises(NumericalError, match="density is NaN"):
        maximise(Target(lambda x: np.nan, {"x": ()}), rng=0)
    with pytest.raises(ParameterError, match="method"):
        maximise(BETA, method="simplex")
    with pytest.raises(ParameterError, match="n_starts"):
        maximise(BETA, n_starts=0)
