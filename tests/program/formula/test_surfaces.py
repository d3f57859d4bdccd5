"""s(x, bs="cc"), s(x, z), t2(x, z): bases against SciPy's splines and kernels written out; fits of known surfaces."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline, RBFInterpolator

import credo as cr
from credo.errors import DataError
from credo.program.formula import design, regress
from credo.program.formula.cyclic import CyclicSpline, circle
from credo.program.formula.splines import bending
from credo.program.formula.surfaces import TensorProduct, ThinPlate


def residual(straight):
    """The projection on what is not in these columns."""
    q, _ = np.linalg.qr(straight)
    return np.eye(len(straight)) - q @ q.T


def covariance(K, straight):
    """Of an effect of sd 1: what is straight taken out, trace n."""
    M = residual(straight)
    K = M @ K @ M
    return K * len(K) / np.trace(K)


# periodic curves ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("m", [3, 4, 9])
def test_bending_round_the_circle(m):
    """f″ at the knots and ∫ f″² are those of SciPy's periodic spline through the same heights."""
    rng = np.random.default_rng(m)
    knots, v = np.sort(rng.uniform(0, 5, m)), rng.normal(size=m)
    curve = CubicSpline(np.append(knots, knots[0] + 6.0), np.append(v, v[0]), bc_type="periodic")
    C, S = circle(knots, 6.0)
    np.testing.assert_allclose(C @ v, curve(knots, 2), atol=1e-9)
    a, b = curve(knots, 2), curve(np.append(knots[1:], knots[0] + 6.0), 2)
    h = np.diff(np.append(knots, knots[0] + 6.0))
    assert v @ S @ v == pytest.approx(np.sum(h * (a * a + a * b + b * b)) / 3, rel=1e-9)


@pytest.mark.parametrize(("k", "period"), [(None, None), (3, 12.0), (8, 12.0)])
def test_periodic_wiggles_are_the_spline_of_the_penalty(k, period):
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 12, 70)
    spline = CyclicSpline.fit(x, k, period, "s(x)")
    Z = spline.parts([x])[0]
    long = period or np.ptp(x)
    places = np.unique(np.mod((x - x.min()) / long, 1.0))
    knots = np.quantile(places, np.arange(k or 10) / (k or 10))
    ends = np.append(knots, knots[0] + 1)
    unit = [
        CubicSpline(ends, np.append(e, e[0]), bc_type="periodic", extrapolate="periodic") for e in np.eye(len(knots))
    ]
    cardinal = np.column_stack([curve((x - x.min()) / long) for curve in unit])
    K = cardinal @ np.linalg.pinv(circle(knots, 1.0)[1], rcond=1e-10) @ cardinal.T
    np.testing.assert_allclose(Z @ Z.T, covariance(K, np.ones((70, 1))), atol=1e-7)
    later = spline.parts([x + 3 * long])[0]
    np.testing.assert_allclose(later, Z, atol=1e-8)


def test_a_season_is_found_and_goes_on():
    rng = np.random.default_rng(1)
    month = rng.integers(0, 12, 200) * 1.0
    y = 5 + 2 * np.sin(2 * np.pi * month / 12) + rng.normal(0, 0.5, 200)
    fit = regress('y ~ s(month, bs="cc", period=12)', {"y": y, "month": month}, random_state=0)
    assert [key.partition("(")[0] for key in fit.summary()] == ["Intercept", "sd", "sigma"]
    p = fit.predict({"month": [0.0, 12.0, 3.0, -9.0, 27.0]})
    assert np.allclose(p.mean[0], p.mean[1])
    assert np.allclose(p.mean[2:], p.mean[2])
    assert abs(p.mean[2] - 7) < 0.4


# surfaces -------------------------------------------------------------------------------------------------------------


def points(n=40, seed=2):
    rng = np.random.default_rng(seed)
    return rng.uniform(0, 3, n), rng.uniform(-1, 2, n)


def test_a_thin_plate_of_all_points_is_scipy_s():
    """Given both sds and a flat prior of the plane, the posterior mean is the smoothing thin-plate spline."""
    x, z = points()
    y = np.sin(x) * z + np.random.default_rng(0).normal(0, 0.1, 40)
    plate = ThinPlate.fit([x, z], 40, "s(x, z)")
    Z, plane = plate.parts([x, z])[0], np.column_stack([np.ones(40), x, z])
    assert Z.shape == (40, 37)
    tau, sigma = 0.7, 0.2
    at = (np.column_stack([x, z]) - plate.center) / plate.scale
    squares = ((at[:, None] - at[None]) ** 2).sum(-1)
    kernel = np.where(squares > 0, 0.5 * squares * np.log(np.where(squares > 0, squares, 1)), 0)
    M = residual(plane)
    size2 = np.trace(M @ kernel @ M) / 40
    V = tau**2 * Z @ Z.T + sigma**2 * np.eye(40)
    line = np.linalg.solve(plane.T @ np.linalg.solve(V, plane), plane.T @ np.linalg.solve(V, y))
    u = tau**2 * Z.T @ np.linalg.solve(V, y - plane @ line)
    smooth = RBFInterpolator(at, y, smoothing=sigma**2 * size2 / tau**2, kernel="thin_plate_spline")
    np.testing.assert_allclose(plane @ line + Z @ u, smooth(at), atol=1e-6)
    new = np.array([[0.5, 0.5], [4.0, 1.0], [10.0, -5.0]])
    found = np.column_stack([np.ones(3), new]) @ line + plate.parts(list(new.T))[0] @ u
    np.testing.assert_allclose(found, smooth((new - plate.center) / plate.scale), atol=1e-5)


def test_fewer_knots_lie_among_the_points_and_turn_with_them():
    """Rotating the map turns the surface: the kernel is that of the turned points."""
    x, z = points(60)
    plate = ThinPlate.fit([x, z], 15, "s(x, z)")
    turn = np.array([[np.cos(1), -np.sin(1)], [np.sin(1), np.cos(1)]])
    a, b = turn @ np.stack([x, z])
    turned = ThinPlate.fit([a, b], 15, "s(x, z)")
    one, two = plate.parts([x, z])[0], turned.parts([a, b])[0]
    assert one.shape == (60, 12)
    np.testing.assert_allclose(one @ one.T, two @ two.T, atol=1e-6)
    np.testing.assert_allclose(np.column_stack([np.ones(60), x, z]).T @ one, 0, atol=1e-8)


def marginal_kernel(x, k):
    """Covariance of natural cubic splines at x for the sum of squared bending; lines taken out, trace n."""
    knots = np.quantile(np.unique(x), np.linspace(0, 1, k))
    cardinal = np.column_stack([CubicSpline(knots, e, bc_type="natural")(x) for e in np.eye(k)])
    K = cardinal @ np.linalg.pinv(bending(knots), rcond=1e-10) @ cardinal.T
    return covariance(K, np.column_stack([np.ones(len(x)), x]))


def test_a_tensor_product_is_products_of_kernels():
    x, z = points(80)
    z = 1000 * z  # columns of unlike units
    product = TensorProduct.fit([x, z], 6, "t2(x, z)")
    parts = product.parts([x, z])
    assert [part.shape[1] for part in parts] == [8, 8, 16]  # 36 − 4
    a, b = (x - x.mean()) / x.std(), (z - z.mean()) / z.std()
    K, L = marginal_kernel(x, 6), marginal_kernel(z, 6)
    twisted = np.column_stack([np.ones(80), a, b, a * b])
    for part, kernel in zip(parts, (K * (1 + np.outer(b, b)), L * (1 + np.outer(a, a)), K * L)):
        np.testing.assert_allclose(part @ part.T, covariance(kernel, twisted), atol=1e-6)
    together = np.column_stack([twisted, *parts])
    assert np.linalg.matrix_rank(together) == 36


def test_surfaces_of_a_fit():
    """A surface that no sum of curves has; a new table, and the fit saved."""
    rng = np.random.default_rng(3)
    x, z = rng.uniform(-1, 1, (2, 250))
    y = np.cos(3 * x) * z + rng.normal(0, 0.1, 250)
    table = {"y": y, "x": x, "z": z}
    new = {"x": [0.0, 0.8, -0.5], "z": [0.9, -0.5, 0.2]}
    truth = np.cos(3 * np.array(new["x"])) * np.array(new["z"])
    for text in ("t2(x, z)", "s(x, z)"):
        fit = regress(f"y ~ {text}", table, draws=400, random_state=0)
        assert np.abs(fit.predict(new).mean - truth).max() < 0.15, text
    names = [name for name in fit.summary() if name.startswith("s(")]
    assert names == ["s(x, z)[1]", "s(x, z)[2]"]


def test_a_surface_for_each_level():
    x, z = points(60)
    table = {"y": x, "x": x, "z": z, "g": np.where(np.arange(60) % 2, "a", "b")}
    made = design("y ~ g + t2(x, z, by=g, k=4)", table)
    found = [name for name in made.latent if "=a" in name]
    assert len(found) == 3
    assert np.all(made.latent[found[0]][::2] == 0)
    assert made.encoder.formula.inputs == ["g", "x", "z"]


@pytest.mark.parametrize(
    ("formula", "says"),
    [
        ("y ~ s(x, x2)", "on one line"),
        ("y ~ t2(x, two)", "two"),
        ("y ~ s(x, z, k=50)", "40 distinct points"),
        ('y ~ s(two, bs="cc")', "distinct places"),
        ('y ~ s(one, bs="cc")', "1 distinct places"),
    ],
)
def test_what_has_too_little(formula, says):
    x, z = points()
    table = {"y": z, "x": x, "z": z, "x2": 2 * x + 1, "two": np.arange(40) % 2, "one": np.ones(40)}
    with pytest.raises(DataError, match=says):
        design(formula, table)


def test_saved_surfaces_predict_alike(tmp_path):
    x, z = points(50)
    table = {"y": x * z + np.sin(np.arange(50)), "x": x, "z": z}
    fit = regress('y ~ t2(x, z, k=4) + s(z, bs="cc", k=4)', table, draws=100, random_state=0)
    cr.save(fit, tmp_path / "f.credo")
    assert np.array_equal(cr.load(tmp_path / "f.credo").predict(table).mean, fit.predict(table).mean)
