"""A table in, a model that answers in the table's terms, saved as one record."""

from __future__ import annotations

import io

import numpy as np
import polars as pl
import pytest

import credo as cr
from credo.errors import DataError, DataWarning, ParameterError
from credo.models.featured import FeaturedModel, Quadratic
from credo.models.tabular import TableModel, TableTask
from credo.tables import open_table


@pytest.fixture
def frame() -> pl.DataFrame:
    rng = np.random.default_rng(1)
    n = 120
    x, town = rng.normal(size=n), rng.choice(["a", "b", "c"], n)
    y = 1.0 + 2.0 * x + (town == "b") + 0.3 * rng.normal(size=n)
    return pl.DataFrame(
        {
            "x": x,
            "town": town,
            "shop": rng.integers(0, 9, n),
            "y": y,
            "big": np.where(y + rng.normal(size=n) > 1, "yes", "no"),
        }
    )


def same(a: TableModel, b: TableModel, data: pl.DataFrame) -> None:
    assert a.summary() == b.summary()
    assert np.array_equal(a.predict(data), b.predict(data))


@pytest.mark.parametrize("target", ["y", "big"])
def test_it_is_saved_as_one_record(frame, target) -> None:
    model = TableModel.fit(frame, target)
    file = io.BytesIO()
    cr.save(model, file)
    same(model, cr.load(file), frame)


def test_it_equals_the_estimator_on_encoded_columns(frame) -> None:
    model = TableModel.fit(frame, "y", drop=("big", "shop"))
    X = np.column_stack([frame["x"], *(frame["town"] == level for level in ("a", "b", "c"))]).astype(float)
    reference = {"a": 1, "b": 2, "c": 3}[
        next(iter({"a", "b", "c"} - {n[-1] for n in model.encoder.feature_names if "=" in n}))
    ]
    by_hand = cr.LinearRegression().fit(np.delete(X, reference, axis=1), frame["y"].to_numpy())
    assert model.predict(frame) == pytest.approx(by_hand.predict(np.delete(X, reference, axis=1)))
    names = [row.name for row in model.coefficients()]
    assert names[:2] == ["intercept", "x"]
    assert all(name.startswith("town=") for name in names[2:])


def test_labels_are_the_user_s(frame) -> None:
    model = TableModel.fit(frame, "big", drop=("y",))
    p = model.predict_distribution(frame)
    assert p.classes.tolist() == ["no", "yes"]
    assert set(model.predict(frame)) <= {"no", "yes"}
    assert {row.outcome for row in model.coefficients()} == {"yes"}
    assert np.mean(model.predict(frame) == frame["big"].to_numpy()) > 0.7


def test_parts_of_a_stream_are_the_whole(frame, monkeypatch) -> None:
    model = TableModel.fit(frame, "y", drop=("big",))
    monkeypatch.setattr("credo.models.tabular.model._ROWS", 7)
    parts = list(model.map(lambda kept, p: (kept["shop"].to_list(), p.mean), frame, keep=("shop",)))
    assert len(parts) == 18
    assert np.concatenate([mean for _, mean in parts]) == pytest.approx(model.predict(frame))
    assert [int(v) for kept, _ in parts for v in kept] == frame["shop"].to_list()


@pytest.mark.parametrize("target", ["y", "big"])
def test_streamed_equals_in_memory(frame, target, monkeypatch) -> None:
    whole = TableModel.fit(frame, target)
    monkeypatch.setattr("credo.models.tabular.task._IN_MEMORY", 0)
    streamed = TableModel.fit(frame, target)
    for ours, theirs in zip(streamed.coefficients(), whole.coefficients(), strict=True):
        assert ours.mean == pytest.approx(theirs.mean, rel=1e-9, abs=1e-9)


def test_a_feature_map_keeps_the_columns_names(frame) -> None:
    model = TableModel.fit(frame, "y", FeaturedModel(Quadratic(), cr.LinearRegression()), drop=("big", "shop"))
    names = [row.name for row in model.coefficients()]
    assert "x²" in names


def test_rows_without_an_outcome_are_left_out_and_said(frame) -> None:
    holes = frame.with_columns(pl.when(pl.col("x") > 1.0).then(None).otherwise(pl.col("y")).alias("y"))
    model = TableModel.fit(holes, "y")
    gone = int((frame["x"] > 1.0).sum())
    assert model.provenance.rows == len(frame) - gone
    assert model.provenance.missing["y"] == gone
    assert f"{gone} rows without 'y' are left out." in model.decisions


def test_missing_cells_that_the_fit_never_saw_are_warned_of(frame) -> None:
    model = TableModel.fit(frame, "y", drop=("big",))
    with pytest.warns(DataWarning, match="'x' \\(1\\)"):
        model.predict(pl.DataFrame({"x": [None, 1.0], "town": ["a", "b"], "shop": [1, 2]}))


def test_unseen_levels_are_warned_of(frame) -> None:
    model = TableModel.fit(frame, "y", drop=("big",))
    with pytest.warns(DataWarning, match="'z'"):
        model.predict(pl.DataFrame({"x": [0.5, 1.0], "town": ["z", "b"], "shop": [1, 2]}))


def test_absent_columns_are_named(frame) -> None:
    with pytest.raises(DataError, match="no column 'shop', which the model needs"):
        TableModel.fit(frame, "y", drop=("big",)).predict(frame.drop("shop"))


def test_the_target_may_be_missing_or_wrong_in_new_rows(frame) -> None:
    model = TableModel.fit(frame, "big")
    spoilt = frame.with_columns(pl.lit("perhaps").alias("big"))
    assert model.predict(spoilt).tolist() == model.predict(frame.drop("big")).tolist()


def test_a_sample_is_drawn_in_order_without_replacement(frame, monkeypatch) -> None:
    task = TableTask.prepare(frame, "y", drop=("big",))
    for limit in (2**26, 0):
        monkeypatch.setattr("credo.models.tabular.task._IN_MEMORY", limit)
        sample = task.sample(40, 3)
        position = [int(np.flatnonzero(frame["y"].to_numpy() == y)[0]) for y in sample.y]
        assert len(sample) == 40
        assert not sample.complete
        assert position == sorted(set(position))
    assert task.sample(40, 3).y.tolist() == sample.y.tolist()


def test_groups_and_time_come_with_the_sample(frame) -> None:
    dated = frame.with_columns(day=pl.date(2020, 1, 1) + pl.duration(days=pl.int_range(len(frame))))
    sample = TableTask.prepare(dated, "y", group="town", time="day").sample(1000)
    assert sample.groups is not None
    assert sample.groups.tolist() == frame["town"].to_list()
    assert sample.time is not None
    assert np.all(np.diff(sample.time) == 86_400_000_000)  # microseconds a day
    assert "town" not in {c.name for c in TableTask.prepare(dated, "y", group="town").encoder.columns}


def test_a_time_that_is_missing_or_no_time_is_refused(frame) -> None:
    holes = frame.with_columns(pl.when(pl.col("x") > 1.0).then(None).otherwise(pl.col("x")).alias("t"))
    with pytest.raises(DataError, match="'t', which orders the rows, is missing"):
        TableTask.prepare(holes, "y", time="t").sample(1000)
    with pytest.raises(DataError, match="cannot order the rows"):
        TableTask.prepare(frame, "y", time="town").sample(1000)


@pytest.mark.parametrize(
    ("task", "target", "error"), [("cluster", "y", ParameterError), ("regression", "town", DataError)]
)
def test_tasks_that_cannot_be(frame, task, target, error) -> None:
    with pytest.raises(error):
        TableTask.prepare(frame, target, task=task)


def test_roles_do_not_clash(frame) -> None:
    with pytest.raises(ParameterError, match="target"):
        TableTask.prepare(frame, "y", group="y")


def test_a_table_may_be_opened_first_and_corrected() -> None:
    text = b"code,y\n" + b"".join(b"%d,%d\n" % (i % 4, (i % 4) ** 2 * 10 + i % 3) for i in range(60))
    model = TableModel.fit(open_table(text, types={"code": "category"}), "y")
    assert {"code=1", "code=2", "code=3"} >= {row.name for row in model.coefficients()} - {"intercept", "code=0"}
