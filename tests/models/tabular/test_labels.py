"""Labels keep their type, from the table through fit, file and prediction to what is counted."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import polars as pl
import pytest

import credo as cr
from credo.errors import DataError, ModelWarning
from credo.models.tabular import TableModel, TableTask

N = 90
CODES = np.arange(N) % 3


def labelled(kind: str):
    """(a frame with the target `y`, y as the user has it, the labels)."""
    rng = np.random.default_rng(0)
    two = CODES > 0
    y, labels = {
        "integers": (CODES + 1, [1, 2, 3]),
        "negative": (np.where(two, 1, -1), [-1, 1]),
        "zero and one": (two.astype(int), [0, 1]),
        "booleans": (two, [False, True]),
        "whole floats": (CODES.astype(float), [0, 1, 2]),
        "floats": (np.where(two, 0.5, 1.5), [0.5, 1.5]),
        "text": (np.array(["low", "mid", "top"])[CODES], ["low", "mid", "top"]),
        "codes": (np.array(["01", "02", "03"])[CODES], ["01", "02", "03"]),
        "small integers": (CODES.astype(np.int8), [0, 1, 2]),
        "categorical integers": (pd.Categorical(CODES + 9), [9, 10, 11]),
        "categorical text": (pd.Categorical(np.array(["a", "b", "c"])[CODES]), ["a", "b", "c"]),
        "nullable integers": (pd.array(CODES, dtype="Int64"), [0, 1, 2]),
        "nullable booleans": (pd.array(two, dtype="boolean"), [False, True]),
    }[kind]
    return pd.DataFrame({"x": CODES + rng.normal(size=N), "y": y}), np.asarray(y), labels


KINDS = [
    "integers", "negative", "zero and one", "booleans", "whole floats", "floats", "text", "codes", "small integers",
    "categorical integers", "categorical text", "nullable integers", "nullable booleans",
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_labels_keep_their_type(kind) -> None:
    frame, y, labels = labelled(kind)
    model = TableModel.fit(frame, "y")
    file = io.BytesIO()
    cr.save(model, file)
    for each in (model, cr.load(file)):
        assert list(each.labels) == labels
        assert list(map(type, each.labels)) == list(map(type, labels))
        predicted = each.predict(frame)
        assert predicted.dtype == np.asarray(labels).dtype
        p = each.predict_distribution(frame)
        assert p.classes.tolist() == labels
        assert np.mean(predicted == y) > 0.5
        # What is counted takes the column as it is.
        assert np.isfinite(cr.diagnostics.log_score(p, y)).all()
        assert 0.0 < cr.diagnostics.brier(p, y).score < 1.0
        assert each.summary()["classes"] == labels
        assert set(cr.decide(p, cr.losses.ZeroOne()).tolist()) <= set(labels)


@pytest.mark.parametrize("kind", ["integers", "booleans", "text"])
def test_a_file_gives_the_labels_that_a_frame_gives(kind, tmp_path) -> None:
    frame, _, labels = labelled(kind)
    frame.to_csv(tmp_path / "t.csv", index=False)
    pl.from_pandas(frame).write_parquet(tmp_path / "t.parquet")
    for source in (tmp_path / "t.csv", tmp_path / "t.parquet", pl.from_pandas(frame)):
        assert list(TableModel.fit(source, "y").labels) == labels


def test_the_task_can_be_stated() -> None:
    frame, _, _ = labelled("integers")
    assert TableTask.prepare(frame, "y").task == "classification"
    model = TableModel.fit(frame, "y", task="regression")
    assert model.labels == ()
    assert model.predict(frame).dtype == np.float64
    counts = pd.DataFrame({"x": np.arange(60.0), "y": np.arange(60) % 12})
    assert TableTask.prepare(counts, "y").task == "regression"
    assert TableModel.fit(counts, "y", task="classification").labels == tuple(range(12))
    said = " ".join(TableTask.prepare(frame, "y").notes)
    assert "3 distinct values, each in 30 rows or more" in said


def test_one_class_is_refused_by_its_value() -> None:
    frame = pd.DataFrame({"x": np.arange(9.0), "y": 4})
    with pytest.raises(DataError, match="one class only, 4"):
        TableTask.prepare(frame, "y", task="classification")


def test_a_model_is_printed_in_a_few_lines() -> None:
    frame, _, _ = labelled("integers")
    model = TableModel.fit(frame, "y")
    assert repr(model).splitlines() == [
        "<TableModel 'logistic' (laplace)",
        "  predicts 'y': the classes 1, 2, 3",
        "  from     x (1 feature)",
        "  fitted   to 90 rows of the dataframe>",
    ]
    for each in (model, TableTask.prepare(frame, "y"), TableTask.prepare(frame, "y").table):
        assert len(str(each)) < 400
        assert "array(" not in repr(each)


def test_mass_below_zero_is_told_where_it_matters() -> None:
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 3, 300)
    with pytest.warns(ModelWarning, match="never below 0 in 300 rows"):
        model = TableModel.fit(pd.DataFrame({"x": x, "y": rng.poisson(np.exp(x))}), "y")
    assert any("never below 0" in said for said in model.decisions)
    # Far from zero, of both signs, or too few rows to tell: nothing is said (warnings are errors here).
    for y, rows in ((100 + rng.normal(size=300), 300), (rng.normal(size=300), 300), (rng.exponential(size=300), 6)):
        TableModel.fit(pd.DataFrame({"x": x, "y": y})[:rows], "y")
