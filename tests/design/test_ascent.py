"""`ascend` against SciPy's L-BFGS-B on many functions at once, and walls."""

import numpy as np
import scipy.optimize

from credo.design.ascent import ascend


def rosenbrock(x, which=None):
    value = -np.sum(100.0 * np.square(x[:, 1:] - x[:, :-1] ** 2) + np.square(0.8 - x[:, :-1]), axis=1)
    slope = np.zeros_like(x)
    slope[:, :-1] = 400.0 * x[:, :-1] * (x[:, 1:] - x[:, :-1] ** 2) + 2.0 * (0.8 - x[:, :-1])
    slope[:, 1:] -= 200.0 * (x[:, 1:] - x[:, :-1] ** 2)
    return value, slope


def test_a_bent_valley():
    starts = np.random.default_rng(0).random((20, 3))
    points, values = ascend(rosenbrock, starts, np.zeros(3), np.ones(3), max_iter=300, tol=1e-12)
    scipy_values = []
    for start in starts:
        found = scipy.optimize.minimize(lambda x: [-(r := rosenbrock(x[None]))[0][0], -r[1][0]], start, jac=True,
                                        method="L-BFGS-B", bounds=[(0, 1)] * 3)  # fmt: skip
        scipy_values.append(-found.fun)
    np.testing.assert_allclose(values, np.max(scipy_values), atol=1e-8)
    assert np.max(values) >= np.max(scipy_values) - 1e-10
    assert np.all((points >= 0.0) & (points <= 1.0))


def test_quadratics_with_their_tops_outside():
    rng = np.random.default_rng(1)
    tops = rng.uniform(-0.5, 1.5, (30, 4))

    def objective(x, which):
        return -np.sum(np.square(x - tops[which]), axis=1), -2.0 * (x - tops[which])

    points, _ = ascend(objective, rng.random((30, 4)), np.zeros(4), np.ones(4))
    np.testing.assert_allclose(points, np.clip(tops, 0.0, 1.0), atol=1e-4)


def test_steps_stop_at_walls():
    def objective(x, which):
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.log(0.5 - x[:, 0]) + 3.0 * x[:, 0], np.stack([3.0 - 1.0 / (0.5 - x[:, 0])], axis=1)

    points, values = ascend(objective, np.array([[0.0], [0.9]]), np.zeros(1), np.ones(1), tol=1e-10)
    np.testing.assert_allclose(points[0], 0.5 - 1.0 / 3.0, atol=1e-5)
    assert values[1] == -np.inf
