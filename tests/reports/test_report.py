"""What reports say, as data."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import credo as cr
from credo.models.baseline import InterceptOnlyRegressor
from credo.models.tabular import TableTask
from credo.reports import comparison_report, lines, report, to_html
from credo.reports.rows import HELD_OUT_ROWS
from tests.reports.samples import classified, compared, made, numbers


@pytest.mark.parametrize("n", [20, 200, 2_000, 20_000])
def test_a_line_through_a_parabola(n: int) -> None:
    """However many rows: what is believed narrows, the misfit stays, and the report says so first."""
    rng = np.random.default_rng(n)
    x = rng.uniform(-1, 1, n)
    _, found = made(pl.DataFrame({"x": x, "y": x + x**2 + 0.1 * rng.normal(size=n)}), "y")
    slope = next(c for c in found.belief.coefficients if c.name == "x")
    assert slope.sd * np.sqrt(n) == pytest.approx(0.54, rel=0.35)
    bend = found.noise.checks["curvature"]
    assert not bend.holds
    assert not bend.slight
    assert "wrong curve" in found.noise.remedies["curvature"]
    assert "misfit" in found.uncertainty.verdict
    assert "The noise model does not hold" in to_html(found)
    assert found.noise.figures[0].label == "x"


def test_the_same_model_gives_the_same_report() -> None:
    pages = {to_html(made(numbers(), "price")[1]) for _ in range(2)}
    assert len(pages) == 1


def test_a_report_of_numbers() -> None:
    model, found = compared()
    assert found.comparison.record["chosen"] == model.name
    assert found.calibration.good
    assert found.calibration.transforms.size == 160
    assert dict(found.facts)["rows"] == "160"
    assert found.noise.checks.holds
    assert [along.column for along in found.uncertainty.columns][:1] == ["size"]
    assert 0.0 < found.uncertainty.share < 0.2
    assert found.decision.option == "--loss linear:over=1,under=3"
    assert not found.absent
    assert {c.name: c.missing for c in found.reading.columns}["rooms"] > 0


def test_decisions_are_those_of_the_package() -> None:
    model, found = compared()
    row = int(found.decision.cells[0][0]) - 1
    frame = numbers()[row]
    best = cr.decide(model.predict_distribution(frame), cr.losses.Linear(over=1, under=3))
    assert float(found.decision.cells[0][3]) == pytest.approx(best[0], abs=0.5)


def test_more_data_would_help_where_there_are_few() -> None:
    """Rows crowd below 1; the few above are where ignorance is."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(0, 1, 60), rng.uniform(1, 5, 4)])
    frame = pl.DataFrame({"x": x, "y": 2 * x + 0.5 * rng.normal(size=64)})
    (along,) = made(frame, "y")[1].uncertainty.columns
    assert along.advice.startswith("More rows would help above ")
    assert along.share.share[-1] > 3 * along.share.share[5]
    much = pl.DataFrame({"x": rng.uniform(0, 1, 3000)}).with_columns(y=pl.col("x") + pl.Series(rng.normal(size=3000)))
    assert made(much, "y")[1].uncertainty.columns[0].advice.startswith("More rows would help nowhere along x")


@pytest.mark.parametrize("k", [2, 3])
def test_a_report_of_classes(k: int) -> None:
    model, found = classified(k)
    assert found.labels == model.labels
    assert {score.name for score in found.calibration.scores} >= {"accuracy", "Brier score"}
    assert found.uncertainty.measure == "entropy"
    assert set(found.noise.checks.untested) == {"spread", "tails"}
    assert type(found.decision.figure).__name__ == ("NetBenefit" if k == 2 else "RejectionFigure")
    assert len(found.uncertainty.columns) == 2


def test_an_average_is_held_out_by_its_parts() -> None:
    model, found = compared(averaged=True)
    assert found.belief.weights == model.weights
    assert found.comparison.averaged
    assert found.calibration.transforms is not None
    assert "All candidates predict together" in to_html(found)


def test_held_out_is_what_cross_validation_would_predict() -> None:
    """The log score of the report is that of `compare` on the same folds."""
    from credo.selection import compare

    model, found = compared()
    task = TableTask.prepare(numbers(), "price")
    sample = task.sample(10_000, 0)
    again = compare({"m": model.estimator}, sample.X, sample.y, cv=5, random_state=0)
    assert float(found.calibration.scores[0].value) == pytest.approx(again.rows[0].score, abs=0.001)


def test_a_baseline_has_no_coefficients() -> None:
    _, found = made(numbers(), "price", InterceptOnlyRegressor())
    assert found.belief.forest is None
    assert "predicts every row alike" in to_html(found)


def test_groups_and_time() -> None:
    frame = numbers().with_columns(town=pl.Series([f"t{i % 9}" for i in range(160)]), day=pl.Series(np.arange(160.0)))
    assert "whole groups" in made(frame, "price", group="town", drop=("day",))[1].calibration.scheme
    assert "blocks in time" in made(frame, "price", time="day", drop=("town",))[1].calibration.scheme


def test_large_tables_are_sampled() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=5000)
    _, found = made(pl.DataFrame({"x": x, "y": x + rng.normal(size=5000)}), "y")
    assert np.count_nonzero(~np.isnan(found.calibration.transforms)) == HELD_OUT_ROWS


def test_a_handful_of_rows() -> None:
    """Whatever cannot be told is left out with its reason; nothing fails."""
    for n in (3, 4, 6):
        frame = pl.DataFrame({"x": np.arange(n) * 1.0, "y": np.arange(n) * 1.0 + np.array([0, 0.1] * 3)[:n]})
        _, found = made(frame, "y")
        page = to_html(found)
        assert found.absent or found.noise.checks.untested
        for why in found.absent.values():
            assert why
        assert "nan" not in page


def test_a_comparison_alone() -> None:
    found = comparison_report(compared()[0], warnings=("Careful.",))
    page = to_html(found)
    assert found.belief is None
    assert "price: what was compared" in page
    assert "Careful." in page
    assert "What is believed" not in page


def test_the_terminal_tells_the_same_story() -> None:
    from rich.console import Console

    for found in (compared()[1], compared(averaged=True)[1], classified(2)[1], classified(3)[1]):
        console = Console(width=100, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
        for part in lines(found):
            console.print(part, markup=False, highlight=False, soft_wrap=isinstance(part, str))
        console.file.close()
        text = console.export_text()
        assert found.calibration.verdict in text
        assert found.uncertainty.verdict in text
        assert found.noise.verdict in text
        assert found.belief.about in text or found.belief.weights


def test_report_takes_a_sample_of_the_rows() -> None:
    task = TableTask.prepare(numbers(), "price")
    found = report(task.fit(), task.sample(50, 1))
    assert found.noise.checks.n == 50
