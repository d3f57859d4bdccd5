"""Maps and evidence surfaces: their numbers are the model's, lines and shades are where the surface crosses levels."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.exceptions import NotFittedError

import credo as cr
from credo import plots
from credo.errors import DataError, ParameterError
from credo.plots.chart import Band, Dots, Line, Text
from credo.plots.contours import contour, superlevel
from credo.plots.fields import SHADE
from credo.plots.theme import THEMES, contrast
from credo.reports.svg import svg

RBF = cr.kernels.RBF


@functools.cache
def plane() -> tuple[np.ndarray, np.ndarray, cr.GaussianProcessRegressor]:
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (40, 3))
    y = np.sin(X[:, 0]) * np.cos(X[:, 1]) + 0.3 * X[:, 2] + 0.05 * rng.normal(size=40)
    return X, y, cr.GaussianProcessRegressor().fit(X, y)


@functools.cache
def few() -> tuple[np.ndarray, np.ndarray]:
    """Seven rows with two explanations: a quick function and little noise, or a slow one and much."""
    rng = np.random.default_rng(17)
    x = rng.uniform(-3, 3, 7)[:, None]
    return x, np.sin(2.5 * x[:, 0]) + 0.1 * rng.normal(size=7)


@functools.cache
def two_tops() -> tuple[cr.GaussianProcessRegressor, plots.EvidenceSurface]:
    fitted = cr.GaussianProcessRegressor(1.0 * RBF(1.0), mean=None, learn="evidence").fit(*few())
    return fitted, plots.evidence_surface(fitted, "lengthscale", "noise", resolution=25)


def columns() -> Any:
    return (0,)


def hills(at: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Two hills, a hole, and a slope to the edge."""
    at = np.linspace(-2.0, 2.0, 41) if at is None else at
    x, y = np.meshgrid(at, at)
    bump = np.exp(-4 * ((x - 0.8) ** 2 + y**2)) + np.exp(-6 * ((x + 0.8) ** 2 + y**2))
    return at, bump - 0.8 * np.exp(-30 * ((x - 0.8) ** 2 + y**2)) + 0.1 * x


# -- lines and shades ---------------------------------------------------------------------------------------------


def test_contours_of_a_plane_and_of_a_circle() -> None:
    at = np.linspace(-1.0, 1.0, 21)
    (line,) = contour(at, at, at[:, None] + at, 0.3)
    np.testing.assert_allclose(line.sum(axis=1), 0.3, atol=1e-12)
    assert np.abs(line).max() == pytest.approx(1.0)  # from edge to edge
    (ring,) = contour(at, at, at[:, None] ** 2 + at**2, 0.5)
    np.testing.assert_array_equal(ring[0], ring[-1])
    np.testing.assert_allclose(np.hypot(*ring.T), np.sqrt(0.5), atol=0.1**2 / (8 * 0.7) * 1.5)  # a chord's sagitta
    assert contour(at, at, np.zeros((21, 21)), 1.0) == []


@pytest.mark.parametrize("seed", range(20))
def test_every_crossing_is_on_one_line(seed: int) -> None:
    """On rough surfaces too: each edge of the grid that changes sides is met once, and lines end at the rim alone."""
    rng = np.random.default_rng(seed)
    k, m = rng.integers(2, 9, 2)
    x, y, values = np.sort(rng.normal(size=m)), np.sort(rng.normal(size=k)), rng.normal(size=(k, m))
    lines = contour(x, y, values, 0.0)
    above = values >= 0.0
    crossings = np.sum(above[1:] != above[:-1]) + np.sum(above[:, 1:] != above[:, :-1])
    closed = [np.array_equal(line[0], line[-1]) for line in lines]
    assert sum(len(line) - shut for line, shut in zip(lines, closed, strict=True)) == crossings
    for line, shut in zip(lines, closed, strict=True):
        if not shut:
            for a, b in line[[0, -1]]:
                assert a in (x[0], x[-1]) or b in (y[0], y[-1])


def _area(band: tuple[np.ndarray, np.ndarray, np.ndarray]) -> float:
    x, lower, upper = band
    assert np.all(np.diff(x) >= 0.0)
    assert np.all(upper >= lower - 1e-12)
    return float(np.trapezoid(upper - lower, x))


@pytest.mark.parametrize("level", [-0.15, 0.05, 0.2, 0.4, 0.8])
def test_shades_cover_what_is_above(level: float) -> None:
    """Their area is that of the region, counted in cells an eighth as wide, to what a grid of 41 resolves."""
    at, values = hills()
    area = sum(map(_area, superlevel(at, at, values, level)))
    counted = 16.0 * np.mean(hills(-2.0 + (np.arange(320) + 0.5) / 80.0)[1] >= level)
    boundary = sum(np.hypot(*np.diff(line, axis=0).T).sum() for line in contour(at, at, values, level))
    assert area == pytest.approx(counted, abs=0.02 * boundary + 1e-12)  # a fifth of a cell along the boundary


@pytest.mark.parametrize("seed", range(10))
def test_shades_of_rough_surfaces_overlap_nowhere(seed: int) -> None:
    rng = np.random.default_rng(seed)
    at = np.arange(9.0)
    values = rng.normal(size=(9, 9))
    bands = superlevel(at, at, values, 0.0)
    for middle in np.linspace(0.0, 8.0, 144)[1:-1]:  # never where a band begins or ends
        spans = []
        for x, lower, upper in bands:
            if x[0] <= middle <= x[-1]:
                k = int(np.searchsorted(x, middle, side="right")) - 1
                t = (middle - x[k]) / (x[k + 1] - x[k]) if k + 1 < len(x) and x[k + 1] > x[k] else 0.0
                spans.append([v[k] + t * (v[min(k + 1, len(v) - 1)] - v[k]) for v in (lower, upper)])
        spans.sort()
        assert all(a[1] <= b[0] + 1e-9 for a, b in itertools.pairwise(spans))


def test_surface_says_what_it_shows() -> None:
    at, values = hills()
    figure = plots.surface(at, at, values, names=("width", "height"), rows=[[0.0, 0.0]])
    chart = figure.chart()
    assert chart.description.startswith("It is lowest, −0.2")
    assert {mark.text for mark in chart.marks if isinstance(mark, Text)} <= {text for _, text in figure.levels}
    assert any(isinstance(mark, Band) for mark in chart.marks)
    flat = plots.surface([0.0, 1.0], [0.0, 1.0], np.ones((2, 2)))
    assert flat.levels == ()
    assert flat.chart().marks == ()
    stated = plots.surface(at, at, values, levels=[0.5, 0.1])
    assert [level for level, _ in stated.levels] == [0.1, 0.5]


def test_text_can_be_read_on_the_darkest_shade() -> None:
    for palette in THEMES.values():
        for role in ("primary", "secondary"):
            mixed = [
                round((1 - SHADE) * int(palette["ground"][i : i + 2], 16) + SHADE * int(palette[role][i : i + 2], 16))
                for i in (1, 3, 5)
            ]
            assert contrast(palette["ink"], "#" + "".join(f"{c:02x}" for c in mixed)) >= 4.5


# -- maps ---------------------------------------------------------------------------------------------------------


def test_maps_are_the_model() -> None:
    X, _, fitted = plane()
    maps = plots.function_maps(fitted, (2, "x0"), at=[9.0, 0.5, 9.0], resolution=7, outcome="yield")
    a, b = np.meshgrid(maps.mean.x, maps.mean.y)
    p = fitted.predict_distribution(np.column_stack([b.ravel(), np.full(49, 0.5), a.ravel()]))
    np.testing.assert_allclose(maps.mean.values.ravel(), p.mean, rtol=1e-9)
    np.testing.assert_allclose(maps.sd.values.ravel(), np.sqrt(p.epistemic), rtol=1e-9)
    assert (maps.mean.x_name, maps.mean.y_name) == ("x2 (x1 = 0.5)", "x0")
    np.testing.assert_array_equal(maps.mean.rows, X[:, [2, 0]])
    assert maps.chart().title == "Belief about yield"


def test_maps_of_classes_and_counts() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(50, 2))
    label = np.where(np.square(X).sum(axis=1) < 1.4, "in", "out")
    classes = cr.GaussianProcessClassifier(inference="laplace").fit(X, label)
    maps = plots.function_maps(classes, output="in", resolution=6)
    at = np.column_stack([each.ravel() for each in np.meshgrid(maps.mean.x, maps.mean.y)])
    np.testing.assert_allclose(maps.mean.values.ravel(), classes.predict_proba(at)[:, 0])
    assert maps.mean.title == "Mean of probability of in"
    rates = cr.GaussianProcessPoissonRegressor(1.0 * RBF(1.0), optimizer=None).fit(X, rng.poisson(np.exp(X[:, 0])))
    maps = plots.function_maps(rates, resolution=6)
    at = np.column_stack([each.ravel() for each in np.meshgrid(maps.mean.x, maps.mean.y)])
    p = rates.predict_distribution(at)
    np.testing.assert_allclose(maps.mean.values.ravel(), p.mean)
    np.testing.assert_allclose(maps.sd.values.ravel(), np.sqrt(p.epistemic))


# -- evidence -----------------------------------------------------------------------------------------------------


def test_evidence_is_the_density_of_the_rows() -> None:
    """At each place log N(y; 0, variance · RBF(lengthscale) + noise²), by SciPy; the model is not touched."""
    fitted, figure = two_tops()
    x, y = few()
    variance = figure.held["variance"]
    for i, j in ((0, 0), (12, 12), (24, 3), (5, 20)):
        K = variance * np.exp(-0.5 * np.square((x - x.T) / figure.x[i])) + figure.y[j] ** 2 * np.eye(7)
        assert figure.log_evidence[j, i] == pytest.approx(multivariate_normal(np.zeros(7), K).logpdf(y), abs=1e-7)
    assert figure.at_learned == pytest.approx(fitted.log_evidence_)
    np.testing.assert_allclose(figure.learned, [fitted.kernel_.kernel.lengthscale, fitted.noise_scale_])


def test_both_tops_are_marked() -> None:
    _, figure = two_tops()
    assert len(figure.optima) == 1
    (slow,) = figure.optima
    assert slow[0] > 4 * figure.learned[0]
    assert slow[1] > 4 * figure.learned[1]
    x, y = few()

    def there(a: float, b: float) -> float:
        kernel = figure.held["variance"] * RBF(a)
        return cr.GaussianProcessRegressor(kernel, noise=b, mean=None, optimizer=None).fit(x, y).log_evidence_

    assert figure.at_optima[0] == pytest.approx(there(*slow), abs=1e-6)
    for factor in (0.9, 1.1):  # a top: lower a little off either way
        assert there(factor * slow[0], slow[1]) < figure.at_optima[0]
        assert there(slow[0], factor * slow[1]) < figure.at_optima[0]
    chart = figure.chart()
    dots = [mark for mark in chart.marks if isinstance(mark, Dots)]
    assert [mark.hollow for mark in dots] == [False, True]
    texts = [mark.text for mark in chart.marks if isinstance(mark, Text)]
    assert "learned" in texts
    assert any(text.startswith("−4.0") for text in texts)
    assert "1 other top" in chart.description


def test_a_level_ridge_has_one_top() -> None:
    rng = np.random.default_rng(1)
    x = rng.uniform(-3, 3, 7)[:, None]
    y = np.sin(2.5 * x[:, 0]) + 0.1 * rng.normal(size=7)
    fitted = cr.GaussianProcessRegressor(1.0 * RBF(1.0), mean=None, learn="evidence").fit(x, y)
    assert len(plots.evidence_surface(fitted, "lengthscale", "noise", resolution=20).optima) == 0


def test_units_are_the_users() -> None:
    """Of the default kernel, whose search is in units of the outcomes, with the log priors added or not."""
    x, y = few()
    fitted = cr.GaussianProcessRegressor().fit(x, 1e4 * y + 7.0)
    figure = plots.evidence_surface(fitted, "variance", "noise", resolution=3, x_range=(1e7, 1e9), y_range=(1e2, 1e4))
    assert figure.learned[0] == pytest.approx(fitted.kernel_.variance)
    assert figure.learned[1] == pytest.approx(fitted.noise_scale_)
    kernel = 1e8 * cr.kernels.Matern(fitted.kernel_.kernel.lengthscale, nu=2.5)
    direct = cr.GaussianProcessRegressor(kernel, noise=1e3, optimizer=None).fit(x, 1e4 * y + 7.0)
    assert figure.log_evidence[1, 1] == pytest.approx(direct.log_evidence_, abs=1e-6)
    with_prior = plots.evidence_surface(fitted, "variance", "noise", resolution=3, prior=True)
    assert with_prior.at_learned - fitted.log_evidence_ == pytest.approx(fitted.belief_.log_prior()[0])
    assert with_prior.chart().title.startswith("Log evidence and prior by")
    assert with_prior.at_learned >= with_prior.log_evidence.max()  # where learn="map" ended


def test_evidence_of_stated_noise_and_of_noise_that_varies() -> None:
    x, y = few()
    stated = cr.GaussianProcessRegressor(1.0 * RBF(1.0), noise=0.3, mean=None, optimizer=None).fit(x, y)
    figure = plots.evidence_surface(stated, resolution=3)
    assert figure.names == ("kernel.lengthscale", "noise")
    assert figure.learned.tolist() == pytest.approx([1.0, 0.3])
    none = cr.GaussianProcessRegressor(1.0 * RBF(1.0), noise=0.0, mean=None, optimizer=None).fit(x, y)
    assert plots.evidence_surface(none, resolution=3).names == ("kernel.lengthscale", "variance")
    varying = cr.GaussianProcessRegressor(noise=cr.noise.LogLinear()).fit(x, y)
    figure = plots.evidence_surface(varying, "noise", "log noise[0]", resolution=4)
    assert figure.log == (True, False)
    assert figure.at_learned == pytest.approx(varying.log_evidence_)
    figure.chart()


@pytest.mark.parametrize("kind", ["classes", "three classes", "robust"])
def test_evidence_of_likelihoods(kind: str) -> None:
    rng = np.random.default_rng(4)
    x = np.sort(rng.uniform(-3, 3, 15))[:, None]
    f = np.sin(2 * x[:, 0])
    if kind == "robust":
        noise = cr.noise.StudentT(df=4)
        fitted: Any = cr.GaussianProcessRegressor(noise=noise).fit(x, f + 0.1 * rng.standard_t(4, 15))
        names = ("kernel.lengthscale", "scale")
    else:
        labels = f > 0 if kind == "classes" else np.digitize(f, [-0.4, 0.4])
        fitted = cr.GaussianProcessClassifier(inference="laplace").fit(x, labels)
        names = ("kernel.lengthscale", "variance")
    figure = plots.evidence_surface(fitted, resolution=3)
    assert figure.names == names
    assert figure.at_learned == pytest.approx(fitted.log_evidence_, abs=1e-5)
    assert figure.log_evidence.shape == (3, 3)
    assert np.all(figure.log_evidence <= figure.at_learned + 10.0)
    figure.chart()


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: plots.function_maps(two_tops()[0]), ParameterError, "two columns or more"),
        (lambda: plots.function_maps(plane()[2], (0, 0)), ParameterError, "two different"),
        (lambda: plots.function_maps(plane()[2], columns()), ParameterError, "two different"),
        (lambda: plots.function_maps(plane()[2], (0, 3)), ParameterError, "one of x0, x1, x2"),
        (lambda: plots.function_maps(plane()[2], resolution=1), ParameterError, "resolution"),
        (lambda: plots.function_maps(plane()[2], at=[0.0]), DataError, "one a column"),
        (lambda: plots.function_maps(cr.GaussianProcessClassifier()), NotFittedError, "not fitted"),
        (lambda: plots.evidence_surface(cr.GaussianProcessRegressor()), NotFittedError, "not fitted"),
        (lambda: plots.evidence_surface(cr.GaussianProcessRegressor), ParameterError, "a Gaussian process"),
        (lambda: plots.evidence_surface(two_tops()[0], "width"), ParameterError,
         "'variance', 'kernel.lengthscale', 'noise'"),
        (lambda: plots.evidence_surface(plane()[2], "lengthscale"), ParameterError, r"'kernel.lengthscale\[2\]'"),
        (lambda: plots.evidence_surface(two_tops()[0], "noise", "noise"), ParameterError, "another hyperparameter"),
        (lambda: plots.evidence_surface(two_tops()[0], x_range=(0.0, 1.0)), ParameterError, "both > 0"),
        (lambda: plots.evidence_surface(two_tops()[0], y_range=(2.0, 1.0)), ParameterError, "low < high"),
        (lambda: plots.surface([0.0, 1.0], [1.0, 0.0], np.ones((2, 2))), DataError, "y must be"),
        (lambda: plots.surface([0.0, 1.0], [0.0, 1.0], np.ones((2, 3))), DataError, "shape"),
        (lambda: plots.surface([0.0, 1.0], [0.0, 1.0], np.full((2, 2), np.nan)), DataError, "finite"),
        (lambda: plots.surface([0.0, 1.0], [0.0, 1.0], np.ones((2, 2)), log=(True, False)), DataError, "x must be > 0"),
    ],
)  # fmt: skip
def test_awkward_input_is_named(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


def test_nothing_to_move_is_said() -> None:
    x, y = few()
    fixed = cr.GaussianProcessRegressor(RBF(1.0, fixed=("lengthscale",)), noise=0.0, mean=None, optimizer=None)
    with pytest.raises(ParameterError, match="not fixed"):
        plots.evidence_surface(fixed.fit(x, y), "lengthscale")


def test_a_plane_without_evidence_is_drawn_where_it_has_some() -> None:
    x, y = few()
    stated = cr.GaussianProcessRegressor(1.0 * RBF(1.0), noise=0.0, mean=None, optimizer=None).fit(x, y)
    figure = plots.evidence_surface(stated, x_range=(1.0, 1e4), resolution=8)
    assert np.isfinite(figure.log_evidence).any()
    for mark in figure.chart().marks:
        if isinstance(mark, Band):
            assert np.all(np.isfinite(mark.lower))


def test_both_painters_draw() -> None:
    pytest.importorskip("matplotlib")
    for figure in (plots.function_maps(plane()[2], resolution=12), two_tops()[1]):
        chart = figure.chart()
        assert chart.description.endswith(".")
        assert "nan" not in chart.description
        for mark in chart.marks:
            if isinstance(mark, Line):
                assert np.shape(mark.x) == np.shape(mark.y)
        assert plots.draw(figure, theme="dark").get_title(loc="left") == chart.title
        assert "<svg" in svg(chart, "c")


@pytest.mark.parametrize("noise", [None, 0.2])
def test_places_of_one_factorisation_are_those_of_one_each(noise):
    from credo.plots.hyperparameters import Hyperparameters

    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, (30, 1))
    model = cr.GaussianProcessRegressor(noise=noise).fit(x, np.sin(3 * x[:, 0]) + 0.2 * rng.normal(size=30))
    hyper = Hyperparameters.of("test", model)
    assert set(hyper.scales) == {0, 2}
    for i, j in ((0, 2), (1, 2), (0, 1), (2, 1)):
        a, b = (hyper.values[k] * np.array([0.3, 1.0, 4.0]) for k in (i, j))
        each = [[hyper.log_evidence(hyper.moved({i: u, j: v}), True) for u in a] for v in b]
        np.testing.assert_allclose(hyper.log_evidences(i, j, a, b, True), each, rtol=1e-8, atol=1e-6)
