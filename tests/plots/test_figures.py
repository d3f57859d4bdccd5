"""What the figures say, without drawing them."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import credo as cr
from credo import diagnostics, plots
from credo.diagnostics.sbc import rank_calibration
from credo.errors import DataError, ParameterError, UnavailableError
from credo.plots.chart import Band, Bars, Dots, Line, Segments, Text
from credo.prediction.classes import ClassPredictive
from tests.plots.samples import classes, comparison, draws, figures, rows


@pytest.mark.parametrize("name", figures())
def test_charts_are_whole(name: str) -> None:
    """A title, a description that a listener can follow, and marks that are finite where they must be."""
    chart = figures()[name].chart()
    assert chart.title
    assert chart.description.endswith(".")
    assert "nan" not in chart.description
    assert chart.marks
    for mark in chart.marks:
        if isinstance(mark, Text):
            assert np.isfinite([mark.x, mark.y]).all()
        elif isinstance(mark, (Dots, Line)):
            assert np.shape(mark.x) == np.shape(mark.y)
            assert np.isfinite(mark.x).all()
            assert np.isfinite(mark.y).all()
        elif isinstance(mark, Band):
            assert np.all(np.asarray(mark.lower) <= mark.upper)
        elif isinstance(mark, Segments):
            assert np.shape(mark.x0) == np.shape(mark.y1)
        else:
            assert isinstance(mark, Bars)


def test_nothing_is_imported_that_draws() -> None:
    code = """
import sys, credo.plots
assert not {"matplotlib", "sklearn", "polars"} & set(sys.modules)
import credo.reports
assert "matplotlib" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_forest_scales_sorts_and_leaves_out() -> None:
    summary = {
        "intercept": {"mean": 9.0, "lower": 8.0, "upper": 10.0, "prob_positive": 1.0},
        "small": {"mean": 0.1, "lower": -0.1, "upper": 0.3, "prob_positive": 0.8},
        "large": {"mean": -1.0, "lower": -1.2, "upper": -0.8, "prob_positive": 0.0},
        "unclear": {"mean": 0.001, "lower": -1.0, "upper": 1.0, "prob_positive": 0.5},
    }
    found = plots.forest(summary, scale={"small": 20.0}, most=2)
    assert found.names == ("small", "large")
    assert found.mean.tolist() == [2.0, -1.0]
    assert found.left_out == 1
    assert "The sign is told of large" in found.chart().description
    with pytest.raises(DataError, match="intercept"):
        plots.forest({"intercept": summary["intercept"]})


def test_posterior_density_integrates_to_one_and_marks_its_interval() -> None:
    for belief in (
        cr.Gamma(shape=3.0, rate=2.0),
        cr.Gamma(shape=3.0, rate=2.0).sample(20_000, np.random.default_rng(0)),
    ):
        found = plots.posterior_density(belief, "rate", 0.8)
        assert np.trapezoid(found.density, found.x) == pytest.approx(1.0, abs=0.01)
        assert found.mean == pytest.approx(1.5, abs=0.02)
        low, high = cr.Gamma(shape=3.0, rate=2.0).interval(0.8)
        assert (found.lower, found.upper) == (pytest.approx(float(low), abs=0.03), pytest.approx(float(high), abs=0.06))


def test_the_inner_band_is_the_epistemic_part() -> None:
    X, _, model = rows()
    p = model.predict_distribution(X)
    found = plots.predictive_band(X[:, 0], p, mass=0.9)
    assert (found.mean_upper - found.mean) / 1.6448536 == pytest.approx(np.sqrt(p.epistemic))
    share = plots.uncertainty_share(X[:, 0], p, X[:, 0]).share
    assert share == pytest.approx(p.epistemic / p.variance)
    with pytest.raises(UnavailableError):
        plots.uncertainty_share(np.arange(2.0), ClassPredictive([[0.5, 0.5]] * 2, ["a", "b"]), np.arange(2.0))


def test_the_comparison_puts_a_hopeless_model_off_the_scale() -> None:
    found = plots.comparison(comparison())
    assert found.chosen == "linear"
    chart = found.chart()
    assert chart.x.low > -0.1
    assert next(mark.text for mark in chart.marks if isinstance(mark, Text)) == "◂ off the scale"
    one = plots.comparison(
        {"models": [{"name": "a", "difference": 0.0, "difference_error": 0.0}], "chosen": "a", "scores": ["log"]}
    )
    assert one.chart().rows == 1


def test_unknown_differences_are_shown_as_unknown() -> None:
    models = [
        {"name": "a", "difference": 0.0, "difference_error": 0.0},
        {"name": "b", "difference": None, "difference_error": None},
    ]
    chart = plots.comparison({"models": models, "chosen": "a", "scores": ["brier"]}).chart()
    assert chart.description == "Best: a. Chosen: a. b -."
    assert chart.x.label.startswith("brier score")


def test_expected_loss_is_least_at_the_bayes_action() -> None:
    X, _, model = rows()
    p, loss = model.predict_distribution(X[:4]), cr.losses.Linear(over=1, under=9)
    found = plots.expected_loss(p, loss, row=2)
    assert found.best == pytest.approx(cr.decide(p, loss)[2])
    assert found.least <= found.loss.min() + 1e-12
    assert found.actions[np.argmin(found.loss)] == pytest.approx(found.best, abs=0.02 * np.ptp(found.actions))
    with pytest.raises(ParameterError, match="row"):
        plots.expected_loss(p, loss, row=4)


def test_net_benefit_by_counting() -> None:
    forecast, y = classes()
    found = plots.net_benefit(forecast, y)
    for i in (9, 49, 89):
        t = found.threshold[i]
        acted, hit = forecast.probabilities[:, 1] >= t, y == "yes"
        expected = (np.sum(acted & hit) - t / (1 - t) * np.sum(acted & ~hit)) / y.size
        assert found.model[i] == pytest.approx(expected)
    assert plots.net_benefit(forecast, y, "no").label == "no"


def test_pit_says_what_is_wrong() -> None:
    y = np.random.default_rng(0).normal(size=400)
    said = {
        sd: plots.pit(diagnostics.pit(cr.Normal(np.full(400, m), sd), y)).departure
        for m, sd in ((0, 0.5), (0, 2.0), (0, 1.0))
    }
    assert said[0.5] == "The distributions are too narrow on the whole."
    assert said[2.0] == "The distributions are too wide on the whole."
    assert said[1.0] == ""
    assert "lower than predicted" in plots.pit(diagnostics.pit(cr.Normal(np.full(400, 1.0), 1.0), y)).departure


def test_learning_curve_and_its_refusals() -> None:
    found = plots.learning_curve([10, 100], [[1.0, 3.0], [2.0, 4.0]])
    assert found.scores["model"].tolist() == [2.0, 3.0]
    assert found.errors["model"].tolist() == [1.0, 1.0]
    with pytest.raises(ParameterError, match="increasing"):
        plots.learning_curve([100, 10], [[1.0], [2.0]])
    with pytest.raises(DataError, match="finite"):
        plots.learning_curve([10, 100], [[1.0], [np.nan]])


def test_chains() -> None:
    apart = np.random.default_rng(0).normal(size=(4, 200)) + np.arange(4)[:, None]
    assert plots.trace(apart, "w").rhat > 1.1
    assert "do not agree" in plots.trace(apart, "w").chart().description
    assert plots.ranks(apart).chart().description == "Chains out of the band of independent draws: 1, 3, 4."
    with pytest.raises(DataError, match="index=0"):
        plots.trace(draws(), "w")
    with pytest.raises(ParameterError, match="one of w"):
        plots.trace(draws(), "v")
    assert plots.pair(draws(), ("w", 0), ("w", 1)).divergent.any()


def test_calibration_says_what_is_wrong() -> None:
    """Ranks of draws that are too narrow, too wide, too high, too low, and right; alarm 1e-6 each."""
    rng = np.random.default_rng(0)
    found = {}
    for name, scale, shift in (
        ("narrow", 0.5, 0.0), ("wide", 2.0, 0.0), ("high", 1.0, 0.7), ("low", 1.0, -0.7), ("right", 1.0, 0.0),
    ):  # fmt: skip
        truth, draws = rng.normal(size=(400, 1)), shift + scale * rng.normal(size=(400, 19))
        found[name] = (draws < truth).sum(axis=1)
    figure = plots.calibration(rank_calibration(found, 19, 1e-6, rng))
    assert figure.wrong == {"narrow": "ends", "wide": "middle", "high": "low", "low": "high"}
    assert figure.chart().description == (
        "Ranks of 5 quantities in 400 simulations: 4 outside the band. On the whole the posterior puts high too high; "
        "puts low too low; is too narrow about narrow; is too wide about wide."
    )
    names = [mark for mark in figure.chart().marks if isinstance(mark, Text)]
    assert [mark.text for mark in names] == ["narrow", "wide", "high", "low"]
    # Two that stray furthest at one place are named apart.
    assert np.min(np.diff(np.sort([mark.x for mark in names]))) > 0.1
    many = {f"w[{i}]": found["narrow"] for i in range(9)}
    chart = plots.calibration(rank_calibration(many, 19, 1e-6, rng)).chart()
    assert not any(isinstance(mark, Text) for mark in chart.marks)  # no room: the description has them
    uneven = {"a": found["right"], "b": found["right"][:100]}
    with pytest.raises(DataError, match="as many simulations"):
        plots.calibration(rank_calibration(uneven, 19, 0.01, rng))


@pytest.mark.parametrize(
    "call",
    [
        lambda: plots.residuals([1.0], [1.0]),
        lambda: plots.residuals([1.0, np.nan], [1.0, 2.0]),
        lambda: plots.autocorrelation(np.ones(10)),
        lambda: plots.posterior_density(np.ones(10)),
        lambda: plots.predictive_band([1.0], rows()[2].predict_distribution(rows()[0])),
        lambda: plots.class_probabilities([1.0], classes()[0]),
        lambda: plots.net_benefit([0.5], [0, 1]),
        lambda: plots.energy(np.ones((2, 2))),
    ],
)
def test_bad_data_is_named(call) -> None:
    with pytest.raises(DataError):
        call()
