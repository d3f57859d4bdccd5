"""Encoders: every type's features, what is missing, what is new, and the target."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from credo.blocks import reduce
from credo.errors import DataError, DataWarning, ParameterError
from credo.saving import load, save
from credo.tables import Encoder, describe, open_table

ROWS = (
    b"id,age,sex,city,size,note,const,day\n"
    b"r1,30,f,Rome,small,some long text here,1,2020-01-05\n"
    b"r2,,m,Oslo,large,another long text,1,2020-02-05\n"
    b"r3,41,f,Rome,medium,a third long text,1,2021-03-05\n"
    b"r4,50,m,,large,a fourth long text,1,\n"
)


def fitted(content=ROWS, **options):
    table = open_table(content)
    return table, Encoder(table.schema, **options).fit(table)


def matrix(table, encoder):
    return pl.DataFrame(encoder.transform(table.read()), schema=list(encoder.feature_names))


def test_kept_missing_cells_are_nan():
    table, encoder = fitted()
    assert encoder.feature_names == (
        "age", "sex=m", "city=Oslo", "size", "day (years)", "day (season sine)", "day (season cosine)",
    ) or "day (years)" in encoder.feature_names  # fmt: skip
    X = matrix(table, encoder)
    assert X["age"].is_nan().to_list() == [False, True, False, False]
    assert X["city=Oslo"].is_nan().to_list() == [False, False, False, True]
    assert X["size"].to_list() == [0, 2, 1, 2]
    assert X["day (years)"].to_list()[:2] == pytest.approx([0, 31 / 365.2425])
    assert X["sex=m"].to_list() == [0, 1, 0, 1] or X["sex=f"].to_list() == [1, 0, 1, 0]


def test_imputed_cells_are_marked():
    table, encoder = fitted(missing="impute")
    X = matrix(table, encoder)
    assert X["age"].to_list() == pytest.approx([30, 121 / 3, 41, 50])
    assert X["age is missing"].to_list() == [0, 1, 0, 0]
    assert X["city=(missing)"].to_list() == [0, 0, 0, 1]
    assert X["day is missing"].to_list() == [0, 0, 0, 1]
    assert np.isfinite(X.to_numpy()).all()
    assert X["day (years)"][3] == pytest.approx(np.mean(X["day (years)"].to_list()[:3]))


def test_what_says_nothing_is_left_out_and_said():
    _, encoder = fitted()
    said = " ".join(encoder.decisions)
    for name in ("id", "note", "const"):
        assert f"Column '{name}' is left out" in said
        assert name not in encoder.inputs


def test_one_value_or_missing_becomes_presence():
    table, encoder = fitted(b"a,b\n1,yes\n2,\n3,yes\n")
    assert encoder.feature_names == ("a", "b is present")
    assert encoder.transform(table.read())[:, 1].tolist() == [1, 0, 1]


def test_full_has_every_level():
    _, encoder = fitted(b"c,x\na,1\nb,2\na,3\n", full=True)
    assert encoder.feature_names == ("c=a", "c=b", "x")


def test_reference_is_the_commonest_level():
    _, encoder = fitted(b"c,x\na,1\nb,2\nb,3\n")
    assert encoder.feature_names == ("c=a", "x")


def test_rare_levels_are_pooled():
    rows = [f"common{i % 15},{i}" for i in range(300)] + [f"rare{i},{i}" for i in range(8) for _ in range(2)]
    table, encoder = fitted(("c,x\n" + "\n".join(rows) + "\n").encode())
    assert "c=(other)" in encoder.feature_names
    assert not any("rare" in name for name in encoder.feature_names)
    X = matrix(table, encoder)
    assert X["c=(other)"].sum() == 16
    # A level met later goes to the same column, with a warning; a pooled one is no news.
    later = pl.DataFrame({"c": ["rare1", "new"], "x": [1.0, 2.0]})
    with pytest.warns(DataWarning, match="'new'"):
        new = encoder.transform(later)
    assert new[:, encoder.feature_names.index("c=(other)")].tolist() == [1, 1]


def test_an_unseen_level_is_like_the_reference():
    _, encoder = fitted(b"c,x\na,1\nb,2\nb,3\n")
    with pytest.warns(DataWarning, match="'z'"):
        X = encoder.transform(pl.DataFrame({"c": ["z", "b"], "x": [0.0, 0.0]}))
    assert X[0].tolist() == X[1].tolist()


def test_hundred_thousand_categories_do_not_explode():
    lines = "".join(f"level{i % 100_000},{i}\n" for i in range(200_000))
    table = open_table(("c,v\n" + lines).encode())
    encoder = Encoder(table.schema).fit(table)
    assert encoder.feature_names == ("v",)
    frequent = "".join("big,1\n" for _ in range(50)) + lines
    table = open_table(("c,v\n" + frequent).encode())
    encoder = Encoder(table.schema, full=True).fit(table)
    assert encoder.feature_names == ("c=big", "c=(other)", "v")


def test_dates_show_what_varies():
    days = pl.datetime_range(pl.datetime(2019, 1, 1), pl.datetime(2021, 1, 1), "7h", eager=True)
    table = open_table(pl.DataFrame({"t": days}))
    encoder = Encoder(table.schema).fit(table)
    assert encoder.feature_names == (
        "t (years)", "t (season sine)", "t (season cosine)", "t=Tue", "t=Wed", "t=Thu", "t=Fri", "t=Sat", "t=Sun",
        "t (hour sine)", "t (hour cosine)",
    )  # fmt: skip
    X = matrix(table, encoder)
    assert X["t=Tue"][0] == 1  # 1 January 2019 was a Tuesday
    assert X["t (years)"][-1] == pytest.approx(731 / 365.2425, abs=1 / 365)
    assert np.allclose(X["t (hour sine)"] ** 2 + X["t (hour cosine)"] ** 2, 1)


def test_times_of_day():
    table, encoder = fitted(b"t,v\n06:00,1\n18:00,2\n12:00,3\n")
    assert encoder.transform(table.read())[:, 0].tolist() == pytest.approx([1, -1, 0], abs=1e-12)


@pytest.mark.parametrize(
    ("cells", "classes", "codes"),
    [
        ("yes no yes", ("no", "yes"), [1, 0, 1]),
        ("1 0 1", (0, 1), [1, 0, 1]),
        ("true false true", (False, True), [1, 0, 1]),
        ("b a b", ("a", "b"), [1, 0, 1]),
        ("low high low", ("low", "high"), [0, 1, 0]),
        ("1.5 2.5 3.5", (), [1.5, 2.5, 3.5]),
    ],
)
def test_targets(cells, classes, codes):
    content = "y,x\n" + "".join(f"{cell},{i}\n" for i, cell in enumerate(cells.split()))
    table, encoder = fitted(content.encode(), target="y")
    assert encoder.target.classes == classes
    (block,) = table.to_source(encoder)
    assert block.y.tolist() == codes


def test_rows_without_a_target_are_left_out():
    table, encoder = fitted(b"y,x,w\n1.5,1,1\n,2,1\n2.5,3,2\n4.5,5,\n", target="y", weight="w")
    source = table.to_source(encoder)
    (block,) = source
    assert block.X.ravel().tolist() == [1, 3]
    assert block.y.tolist() == [1.5, 2.5]
    assert block.weights.tolist() == [1, 2]
    assert source.n_dropped == 2
    assert source.n_rows == 2


def test_bad_targets():
    for content, message in (
        (b"y,x\na,1\na,2\n", "one class only"),
        (b"y,x\n,1\n,2\n", "missing in every row"),
        (b"y,x\nsome words here,1\nother words there,2\nthe third ones,3\n", "of type text"),
    ):
        with pytest.raises(DataError, match=message):
            fitted(content, target="y")
    _, encoder = fitted(b"y,x\na,1\nb,2\na,2\n", target="y")
    with pytest.raises(DataError, match="the class 'c'"):
        list(open_table(b"y,x\nc,1\nb,2\n", like=encoder.schema).to_source(encoder))


def test_bad_options():
    table = open_table(ROWS)
    with pytest.raises(ParameterError, match="'keep' or 'impute'"):
        Encoder(table.schema, missing="drop")
    with pytest.raises(DataError, match="no column 'nope'"):
        Encoder(table.schema, target="nope")
    with pytest.raises(DataError, match="no column to predict from"):
        fitted(b"id,note\nr1,a b c\nr2,d e f\nr3,g h i\n")
    _, encoder = fitted()
    with pytest.raises(DataError, match="no column 'age'"):
        encoder.transform(pl.DataFrame({"sex": ["f"]}))


def test_saved_and_loaded(tmp_path):
    for missing in ("keep", "impute"):
        table, encoder = fitted(missing=missing, target="sex")
        save(encoder, tmp_path / "e.credo")
        again = load(tmp_path / "e.credo")
        assert again == encoder
        assert np.array_equal(again.transform(table.read()), encoder.transform(table.read()), equal_nan=True)


@pytest.mark.parametrize("rows", [1, 7, 10_000])
def test_streamed_equals_whole(rows, monkeypatch):
    rng = np.random.default_rng(0)
    n = 500
    frame = pl.DataFrame(
        {
            "x": rng.normal(1e6, 1, n),
            "c": rng.choice(["a", "b", None], n),
            "y": rng.normal(size=n),
        }
    )
    table = open_table(frame)
    whole = Encoder(table.schema, "y", missing="impute").fit(table)
    monkeypatch.setattr("credo.tables.table.piece_rows", lambda n_columns: rows)
    streamed = Encoder(table.schema, "y", missing="impute").fit(table)
    assert streamed.feature_names == whole.feature_names
    total = reduce(table.to_source(streamed), lambda block: np.c_[block.X, block.y].sum(axis=0), np.add)
    monkeypatch.undo()
    (block,) = table.to_source(whole)
    assert total == pytest.approx(np.c_[block.X, block.y].sum(axis=0), rel=1e-12)


def test_describe_of_an_open_table():
    table = open_table(ROWS)
    assert describe(table).rows == 4
    assert table.n_rows == 4
