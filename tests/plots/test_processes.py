"""Bands of Gaussian processes: the figure's numbers are the model's, of every kind of outcome and noise."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from scipy.special import expit
from sklearn.exceptions import NotFittedError

import credo as cr
from credo import plots
from credo.errors import DataError, ParameterError
from credo.plots.chart import Dots, Line, Text
from credo.reports.svg import svg

RBF = cr.kernels.RBF
Z = 1.6448536269514722


@functools.cache
def rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(-3, 3, 20))[:, None]
    return x, 5.0 + np.sin(2 * x[:, 0]) + 0.2 * rng.normal(size=20)


@functools.cache
def model() -> cr.GaussianProcessRegressor:
    return cr.GaussianProcessRegressor().fit(*rows())


@functools.cache
def three() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    X = rng.uniform(-2, 2, (30, 3))
    return X, np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.normal(size=30)


def told(values: np.ndarray | None) -> np.ndarray:
    assert values is not None
    return values


def test_band_is_the_predictive() -> None:
    figure = plots.function_band(model(), mass=0.9)
    X = figure.x[:, None]
    f, p = model().predict_distribution(X, noise_scale=0.0), model().predict_distribution(X)
    np.testing.assert_allclose(figure.mean, model().predict(X), rtol=1e-12)
    np.testing.assert_allclose(figure.upper - figure.mean, Z * np.sqrt(p.epistemic), rtol=1e-9)
    np.testing.assert_allclose((figure.lower, figure.upper), f.interval(0.9))
    np.testing.assert_allclose(told(figure.outcome_lower), p.interval(0.9)[0])
    np.testing.assert_allclose(told(figure.outcome_upper), p.interval(0.9)[1])
    assert figure.rows is not None
    np.testing.assert_allclose(figure.rows, np.column_stack(rows()))


def test_paths_are_draws_of_the_function() -> None:
    """2,000 paths: means and sds at 5 places within 4.5 standard errors (an alarm in 7,000); and always the same."""
    x = np.linspace(-3.0, 4.0, 5)
    for prior in (False, True):
        figure = plots.function_band(model(), x, paths=2000, prior=prior)
        figure = figure.prior if prior else figure
        assert figure is not None
        sd = (figure.upper - figure.lower) / (2 * Z)
        assert np.all(np.abs(figure.paths.mean(axis=0) - figure.mean) < 4.5 * sd / np.sqrt(2000))
        assert np.all(np.abs(figure.paths.std(axis=0) / sd - 1.0) < 4.5 / np.sqrt(4000))
    again = plots.function_band(model(), x, paths=3)
    np.testing.assert_array_equal(again.paths, plots.function_band(model(), x, paths=3).paths)
    dense = np.linspace(0.0, 1.0, 50)
    path = plots.function_band(model(), dense, paths=1).paths[0]
    assert np.abs(np.diff(path)).max() < 0.3  # neighbours know each other: a path is a function


def test_prior_is_squeezed_to_the_posterior() -> None:
    stated = cr.GaussianProcessRegressor(4.0 * RBF(0.5), noise=0.0, mean=None, optimizer=None)
    stated.fit([[0.0], [1.0]], [1.0, -1.0])
    figure = plots.function_band(stated, [-20.0, 0.0, 1.0, 20.0], prior=True)
    assert figure.prior is not None
    np.testing.assert_allclose(figure.prior.mean, 0.0)
    np.testing.assert_allclose(figure.prior.upper, 2.0 * Z)
    np.testing.assert_allclose(figure.upper[[0, 3]], 2.0 * Z)  # far off nothing was learned
    np.testing.assert_allclose(figure.paths[:, 1:3], [[1.0, -1.0]] * 5, atol=1e-4)
    assert figure.outcome_lower is None  # no noise: outcomes are the function
    assert "before any row was seen" in [mark.text for mark in figure.chart().marks if isinstance(mark, Text)]


def test_a_prior_of_the_mean_is_part_of_the_prior() -> None:
    stated = cr.GaussianProcessRegressor(
        1.0 * RBF(1.0), noise=0.5, mean="linear", mean_prior=cr.Normal([1.0, 2.0], [0.5, 0.25]), optimizer=None
    ).fit(*rows())
    x = np.array([-2.0, 3.0])
    before = plots.function_band(stated, x, prior=True).prior
    assert before is not None
    np.testing.assert_allclose(before.mean, 1.0 + 2.0 * x)
    np.testing.assert_allclose((before.upper - before.mean) / Z, np.sqrt(1.0 + 0.25 + 0.0625 * x**2))


def test_integrated_hyperparameters() -> None:
    fitted = cr.GaussianProcessRegressor(inference="laplace", draws=25, random_state=0).fit(*rows())
    figure = plots.function_band(fitted, np.linspace(-2, 2, 7), paths=4, prior=True)
    np.testing.assert_allclose(figure.mean, fitted.predict(np.linspace(-2, 2, 7)[:, None]), rtol=1e-9)
    assert figure.paths.shape == (4, 7)


def test_every_noise() -> None:
    x, y = rows()
    per_row = np.linspace(0.1, 0.4, 20)
    known = cr.GaussianProcessRegressor(1.0 * RBF(1.0), noise=per_row, optimizer=None).fit(x, y)
    figure = plots.function_band(known)
    assert figure.outcome_lower is None  # what noise there is between the rows nobody said
    assert plots.function_band(known, noise_scale=0.3).outcome_lower is not None
    varying = cr.GaussianProcessRegressor(noise=cr.noise.LogLinear()).fit(x, y)
    figure = plots.function_band(varying)
    np.testing.assert_allclose(
        told(figure.outcome_upper), varying.predict_distribution(figure.x[:, None]).interval(0.9)[1], rtol=1e-12
    )
    far = y.copy()
    far[4] = 400.0
    robust = cr.GaussianProcessRegressor(noise=cr.noise.StudentT(df=4)).fit(x, far)
    figure = plots.function_band(robust)
    np.testing.assert_allclose(figure.mean, robust.predict(figure.x[:, None]))
    assert figure.chart().y.high < 40
    assert "1 row far off is not shown" in figure.chart().description


def test_classes_are_probabilities() -> None:
    x, y = rows()
    fitted = cr.GaussianProcessClassifier(inference="laplace").fit(x, np.where(y > 5, "yes", "no"))
    figure = plots.function_band(fitted, mass=0.9)
    X = figure.x[:, None]
    mean, variance = fitted.latent(X)
    np.testing.assert_allclose(figure.mean, fitted.predict_proba(X)[:, 1])
    np.testing.assert_allclose(figure.upper, expit(mean + Z * np.sqrt(variance)))
    assert figure.outcome == "probability of yes"
    other = plots.function_band(fitted, output="no", mass=0.9)
    np.testing.assert_allclose(other.lower, 1.0 - figure.upper)
    np.testing.assert_allclose(other.mean, 1.0 - figure.mean)
    assert figure.rows is not None
    assert other.rows is not None
    np.testing.assert_allclose(other.rows[:, 1], 1.0 - figure.rows[:, 1])
    assert np.all((figure.paths > 0.0) & (figure.paths < 1.0))
    before = plots.function_band(fitted, prior=True).prior
    assert before is not None
    np.testing.assert_allclose(before.mean, 0.5, atol=1e-9)


def test_several_classes() -> None:
    x, y = rows()
    fitted = cr.GaussianProcessClassifier().fit(x, np.digitize(y, [4.6, 5.4]))
    x_new = np.linspace(-3, 3, 9)
    each = [plots.function_band(fitted, x_new, output=label, prior=True) for label in (0, 1, 2)]
    np.testing.assert_allclose(np.sum([figure.mean for figure in each], axis=0), 1.0)
    np.testing.assert_allclose(np.sum([figure.paths for figure in each], axis=0), 1.0)
    np.testing.assert_allclose(each[2].mean, fitted.predict_proba(x_new[:, None])[:, 2])
    for figure in each:
        assert np.all((figure.lower <= figure.mean) & (figure.mean <= figure.upper))
        assert figure.prior is not None
        np.testing.assert_allclose(figure.prior.mean, 1 / 3, atol=0.03)


def test_counts_are_rates() -> None:
    rng = np.random.default_rng(2)
    x, _ = rows()
    exposure = rng.uniform(1, 9, 20)
    counts = rng.poisson(exposure * np.exp(np.sin(2 * x[:, 0])))
    fitted = cr.GaussianProcessPoissonRegressor().fit(x, counts, offset=np.log(exposure))
    figure = plots.function_band(fitted, outcome="visits")
    np.testing.assert_allclose(figure.mean, fitted.predict(figure.x[:, None]))
    mean, variance = fitted.latent(figure.x[:, None])
    np.testing.assert_allclose(figure.lower, np.exp(mean - Z * np.sqrt(variance)))
    assert figure.outcome == "rate of visits"
    assert figure.rows is not None
    np.testing.assert_allclose(figure.rows[:, 1], counts / exposure)
    assert figure.outcome_upper is not None
    assert np.all(figure.outcome_upper == np.round(figure.outcome_upper))


def test_one_column_of_several_and_one_target_of_several() -> None:
    X, y = three()
    frame = cr.GaussianProcessRegressor().fit(X, y)
    figure = plots.function_band(frame, column=1)
    held = [np.sort(X[:, j])[14] for j in range(3)]  # the 15th of 30
    at = np.column_stack([np.full(201, held[0]), figure.x, np.full(201, held[2])])
    np.testing.assert_allclose(figure.mean, frame.predict(at))
    assert figure.column.startswith("x1 (x0 = ")
    chosen = plots.function_band(frame, column="x1", at=[1.0, 9.0, -1.0])
    assert chosen.column == "x1 (x0 = 1, x2 = −1)"
    ones = np.ones(201)
    np.testing.assert_allclose(chosen.mean, frame.predict(np.column_stack([ones, chosen.x, -ones])))
    both = cr.GaussianProcessRegressor().fit(X, np.column_stack([y, 10.0 - y]))
    second = plots.function_band(both, output=1, prior=True)
    along = np.column_stack([second.x, np.full(201, held[1]), np.full(201, held[2])])
    np.testing.assert_allclose(second.mean, both.predict(along)[:, 1])
    assert second.outcome == "y, target 1"
    with pytest.raises(ParameterError, match=r"output must be stated, 0 … 1"):
        plots.function_band(both)


def test_columns_of_a_frame_have_their_names() -> None:
    pandas = pytest.importorskip("pandas")
    X, y = three()
    frame = pandas.DataFrame(X, columns=["age", "dose (mg)", "z"])
    fitted = cr.GaussianProcessRegressor().fit(frame, y)
    figure = plots.function_band(fitted, column="dose (mg)", at=[1.0, 0.0, 2.0])
    assert figure.column == "dose (mg) (age = 1, z = 2)"
    assert list(fitted.feature_names_in_) == list(frame.columns)
    assert plots.function_maps(fitted, ("z", "age"), resolution=4).mean.y_name == "age"
    plots.lengthscales(fitted, column="age", factors=(1.0,))


def test_slopes_are_not_drawn_as_values() -> None:
    sloped = cr.GaussianProcessRegressor(RBF(1.0), noise=0, mean=None, optimizer=None)
    sloped.fit([[0.0]], [0.5], slopes=([[0.0], [2.0]], 0, [1.0, 3.0]))
    figure = plots.function_band(sloped, np.linspace(-1, 1, 9))
    assert figure.rows is not None
    np.testing.assert_allclose(figure.rows, [[0.0, 0.5]])
    np.testing.assert_allclose(figure.mean, sloped.predict(figure.x[:, None]))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: plots.function_band(cr.GaussianProcessRegressor()), NotFittedError, "not fitted"),
        (lambda: plots.function_band(cr.LinearRegression().fit(*rows())), ParameterError, "predictive_band"),
        (lambda: plots.function_band(model(), np.zeros((4, 2))), DataError, "rows of 1 columns"),
        (lambda: plots.function_band(model(), [1.0]), DataError, "two or more"),
        (lambda: plots.function_band(model(), [0.0, np.nan]), DataError, "finite"),
        (lambda: plots.function_band(model(), column=1), ParameterError, "a number below 1 or one of x"),
        (lambda: plots.function_band(model(), column="z"), ParameterError, "one of x"),
        (lambda: plots.function_band(model(), at=[1.0, 2.0]), DataError, "one a column"),
        (lambda: plots.function_band(model(), mass=1.0), ParameterError, "mass"),
        (lambda: plots.function_band(model(), paths=-1), ParameterError, "paths"),
        (lambda: plots.function_band(model(), output=3), ParameterError, "0 … 0"),
        (lambda: plots.function_band(model(), rows=([1.0], [1.0, 2.0])), DataError, "pairs"),
        (lambda: plots.lengthscales(model(), "period"), ParameterError, "'kernel.lengthscale', 'noise'"),
        (lambda: plots.lengthscales(model(), factors=()), ParameterError, "factors"),
        (lambda: plots.lengthscales(model(), factors=(1.0, -2.0)), ParameterError, "> 0"),
    ],
)
def test_awkward_input_is_named(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


def test_lengthscales_are_fits_at_fixed_hyperparameters() -> None:
    before = model().belief_.theta.copy(), model().log_evidence_, model().kernel_
    figure = plots.lengthscales(model())
    np.testing.assert_array_equal(model().belief_.theta, before[0])
    assert (model().log_evidence_, model().kernel_) == before[1:]
    learned = float(model().kernel_.kernel.lengthscale[0])
    np.testing.assert_allclose(figure.values, [learned / 4, learned, 4 * learned])
    assert np.argmax(figure.log_evidence) == 1
    for value, evidence, panel in zip(figure.values, figure.log_evidence, figure.panels, strict=True):
        kernel = model().kernel_.variance * cr.kernels.Matern(value, nu=2.5)
        direct = cr.GaussianProcessRegressor(kernel, noise=model().noise_scale_, optimizer=None).fit(*rows())
        assert evidence == pytest.approx(direct.log_evidence_, abs=1e-6)
        p = direct.predict_distribution(panel.x[:, None], noise_scale=0.0)
        np.testing.assert_allclose(panel.mean, p.mean, atol=1e-8)
        np.testing.assert_allclose(panel.upper, p.interval(0.9)[1], atol=1e-7)
    assert "(learned): log evidence" in figure.chart().description


def test_any_hyperparameter_may_be_moved() -> None:
    x, y = rows()
    stated = cr.GaussianProcessRegressor(1.0 * RBF(1.0), noise=0.3, optimizer=None).fit(x, y)
    figure = plots.lengthscales(stated, "noise", factors=(1.0, 3.0))
    np.testing.assert_allclose(figure.values, [0.3, 0.9])
    direct = cr.GaussianProcessRegressor(1.0 * RBF(1.0), noise=0.9, optimizer=None).fit(x, y)
    assert figure.log_evidence[1] == pytest.approx(direct.log_evidence_, abs=1e-9)
    p = direct.predict_distribution(figure.panels[1].x[:, None])
    np.testing.assert_allclose(told(figure.panels[1].outcome_upper), p.interval(0.9)[1], rtol=1e-9)
    both = cr.GaussianProcessRegressor(RBF(1.0) + RBF(9.0), noise=0.3, optimizer=None).fit(x, y)
    with pytest.raises(ParameterError, match=r"'0\.lengthscale', '1\.lengthscale'"):
        plots.lengthscales(both)
    assert plots.lengthscales(both, "1.lengthscale").values[1] == pytest.approx(9.0)
    X, z = three()
    parted = cr.GaussianProcessRegressor(
        RBF([1.0, 2.0], active_dims=(0, 2)) + RBF(3.0, active_dims=(1,)), noise=0.1, optimizer=None
    ).fit(X, z)
    assert plots.lengthscales(parted, column=2).name == "0.lengthscale[1]"
    assert plots.lengthscales(parted, column=1).name == "1.lengthscale"
    fixed = cr.GaussianProcessRegressor(RBF(1.0, fixed=("lengthscale",)), noise=0.3).fit(x, y)
    with pytest.raises(ParameterError, match="no lengthscale"):
        plots.lengthscales(fixed)


@pytest.mark.parametrize("kind", ["two classes", "three classes", "counts"])
def test_lengthscales_of_classes_and_counts(kind: str) -> None:
    x, y = rows()
    outcomes = {"two classes": y > 5, "three classes": np.digitize(y, [4.6, 5.4]), "counts": np.round(y)}[kind]

    def fitted(lengthscale: float) -> Any:
        kernel = 4.0 * RBF(lengthscale)
        if kind == "counts":
            return cr.GaussianProcessPoissonRegressor(kernel, mean=0.0, optimizer=None).fit(x, outcomes)
        return cr.GaussianProcessClassifier(kernel, inference="laplace", optimizer=None).fit(x, outcomes)

    figure = plots.lengthscales(fitted(0.7), factors=(1.0, 3.0))
    for lengthscale, evidence, panel in zip((0.7, 2.1), figure.log_evidence, figure.panels, strict=True):
        direct = fitted(lengthscale)
        assert evidence == pytest.approx(direct.log_evidence_, abs=1e-6)
        np.testing.assert_allclose(panel.mean, plots.function_band(direct, panel.x).mean, atol=1e-5)


def test_both_painters_draw() -> None:
    pytest.importorskip("matplotlib")
    figures = [plots.function_band(model(), prior=True, outcome="<y> $a$"), plots.lengthscales(model())]
    for figure in figures:
        chart = figure.chart()
        assert chart.description.endswith(".")
        assert "nan" not in chart.description
        for mark in chart.marks:
            if isinstance(mark, (Dots, Line)):
                assert np.shape(mark.x) == np.shape(mark.y)
        assert plots.draw(figure, theme="dark").get_title(loc="left") == chart.title
        assert "<svg" in svg(chart, "c")


def test_panels_do_not_reach_into_each_other() -> None:
    """Every mark of a panel lies between its bottom and its top."""
    figure = plots.lengthscales(model(), factors=(0.1, 1.0, 50.0))
    chart = figure.chart()
    for mark in chart.marks:
        if isinstance(mark, (Dots, Line)):
            y = np.asarray(mark.y)[np.isfinite(mark.y)]
            assert y.size == 0 or np.floor(y.min()) == np.floor(y.max() - 1e-9)
            assert np.all(y - np.floor(y) <= 0.8 + 1e-9)


def test_one_row_and_a_constant_column() -> None:
    one = cr.GaussianProcessRegressor(1.0 * RBF(1.0), noise=0.1, mean=None, optimizer=None).fit([[2.0]], [1.0])
    figure = plots.function_band(one)
    assert figure.x[0] < 2.0 < figure.x[-1]
    flat = cr.GaussianProcessRegressor(1.0 * RBF(1.0), noise=0.1, optimizer=None)
    flat.fit(np.column_stack([np.zeros(5), np.arange(5.0)]), np.ones(5))
    assert np.all(np.isfinite(plots.function_band(flat, column=0).mean))
    plots.function_band(flat, column=0).chart()
