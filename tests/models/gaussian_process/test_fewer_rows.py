"""`climb_from_fewer`: as high as a climb with all rows alone, in fewer evaluations."""

from __future__ import annotations

import numpy as np
import pytest

import credo as cr
from credo.errors import NotPositiveDefiniteError
from credo.models.gaussian_process.fewer_rows import climb_from_fewer
from credo.models.gaussian_process.fitting import Seen, _Objective, prepare
from credo.models.gaussian_process.learning import climb
from credo.models.gaussian_process.noise import stated


def drawn(n, lengthscale, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    K = cr.kernels.Matern(lengthscale * np.array([0.5, 1.0, 3.0]), nu=2.5)(X) + 1e-9 * np.eye(n)
    return X, np.linalg.cholesky(K) @ rng.normal(size=n) + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize("lengthscale", [0.4, 1.5, 6.0])
@pytest.mark.parametrize("how", ["evidence", "map"])
def test_as_high_as_all_rows_alone(lengthscale, how):
    X, y = drawn(420, lengthscale, 3)
    kernel = None if how == "map" else 1.0 * cr.kernels.Matern(np.ones(3), nu=2.5)
    belief, _, _ = prepare(
        Seen(X, y[:, None], np.ones(len(X))), kernel, stated(None), "constant", None, "auto", merge=True
    )
    alone = climb(_Objective(belief, how, None), belief.theta, belief.bounds, rng=np.random.default_rng(0))
    model = cr.GaussianProcessRegressor(kernel, learn=how).fit(X, y)
    found = model.result_
    assert found.ok
    assert found.objective[-1] >= alone.value - 1e-2  # nats: equal, for any purpose
    assert found.certificate["fewer_rows"].keys() == {200}
    assert found.certificate["evaluations"] < alone.result.certificate["evaluations"]


def test_a_fit_is_the_same_each_time():
    X, y = drawn(400, 1.5, 1)
    first, second = (cr.GaussianProcessRegressor().fit(X, y) for _ in range(2))
    assert first.log_evidence_ == second.log_evidence_
    np.testing.assert_array_equal(first.alpha_, second.alpha_)


def bowl(theta):
    return -float(np.sum((theta - 1.0) ** 2)), -2.0 * (theta - 1.0)


def test_where_fewer_rows_fail_all_rows_go_alone():
    def fails(theta):
        raise NotPositiveDefiniteError("these rows")

    top = climb_from_fewer(bowl, lambda size: fails, 1000, np.zeros(2), [(-5, 5)] * 2, rng=np.random.default_rng(0))
    np.testing.assert_allclose(top.theta, 1.0, atol=1e-4)
    assert "fewer_rows" not in top.result.certificate


def test_where_fewer_rows_mislead_all_rows_begin_near_the_start():
    """Fewer rows know θ hardly, and send it to where the slope of all has died out."""

    def far(theta):
        return -0.05 * float((theta[0] - 40.0) ** 2), np.array([0.1 * (40.0 - theta[0])])

    def hill(theta):
        value = float(np.exp(-0.5 * (theta[0] - 1.0) ** 2))
        return 100.0 * value, np.array([100.0 * (1.0 - theta[0]) * value])

    top = climb_from_fewer(hill, lambda size: far, 500, np.zeros(1), [(-50, 50)], rng=np.random.default_rng(0))
    assert top.value == pytest.approx(100.0, abs=1e-2)


@pytest.mark.parametrize("kernel", [None, 1.0 * cr.kernels.Matern(np.ones(5), nu=2.5)])
def test_what_is_rough_is_not_taken_for_noise(kernel):
    """Half a wave in each unit of a column of six: there is a top 530 nats lower at which the waves are noise, to which
    climbs from the one start led, be it of some rows or (of the default kernel) of all."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-3, 3, (500, 5))
    y = np.sin(3 * X[:, 0]) + np.cos(2 * X[:, 1]) * X[:, 2] + 0.1 * rng.standard_normal(500)
    model = cr.GaussianProcessRegressor(kernel).fit(X, y)
    assert model.noise_scale_ < 0.2


def test_of_starts_the_best_and_where_doubtful_the_next():
    """Two hills of one dimension; the lower draws the start that looks best, and where it ends is doubtful."""

    def hills(theta):
        x = float(theta[0])
        low, high = np.exp(-0.5 * x**2), 3.0 * np.exp(-0.5 * (x - 6.0) ** 2)
        return 100.0 * (low + high), np.array([-100.0 * (x * low + (x - 6.0) * high)])

    def found(doubtful, tol):
        return climb_from_fewer(
            hills, lambda size: hills, 100, np.array([3.5]), [(-9, 9)], rng=np.random.default_rng(0), tol=tol,
            others=[np.array([0.4])], doubtful=doubtful,
        )  # fmt: skip

    # Of some rows (a rough tolerance) the better start is enough; of all rows the first is never left out.
    assert found(None, 0.1).value == pytest.approx(100.0, abs=0.2)
    assert found(lambda theta: theta[0] < 1.0, 0.1).value == pytest.approx(300.0, abs=0.2)
    assert found(None, 1e-6).value == pytest.approx(300.0, abs=1e-3)
