"""Schemas: written, corrected, read back."""

from __future__ import annotations

import hypothesis.strategies as st
import polars as pl
import pytest
from hypothesis import given

from credo.errors import DataError, FileFormatError, ParameterError
from credo.saving import load, save
from credo.tables import COLUMN_TYPES, Column, Schema, open_table

TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=12)
COLUMNS = st.builds(
    Column,
    name=TEXT,
    type=st.sampled_from([kind for kind in COLUMN_TYPES if kind != "ordered"]),
    header=st.none() | TEXT,
    decimal=st.sampled_from(".,"),
    thousands=st.sampled_from(["", ".", " ", "'"]),
    signs=st.booleans(),
    formats=st.lists(TEXT, max_size=2).map(tuple),
    levels=st.lists(TEXT, max_size=3, unique=True).map(tuple),
    missing=st.lists(TEXT, max_size=2).map(tuple),
    constant=st.booleans(),
)
SCHEMAS = st.lists(COLUMNS, min_size=1, max_size=4, unique_by=lambda column: column.name).map(
    lambda columns: Schema(tuple(columns))
)


@given(SCHEMAS)
def test_round_trip_through_toml(schema):
    assert Schema.from_toml(schema.to_toml()) == schema


def test_round_trip_through_a_file_and_a_table(tmp_path):
    content = b"id;price;day;size;ok\nA1;1.234,50;01.02.2020;small;yes\nA2;99,90;15.03.2020;large;no\nA3;?;;small;yes\n"
    table = open_table(content)
    table.schema.write(tmp_path / "schema.toml")
    again = open_table(content, schema=tmp_path / "schema.toml")
    assert again.schema == table.schema
    assert again.read().equals(table.read())


def test_saved_with_a_model(tmp_path):
    schema = Schema((Column("a", "number", decimal=","), Column("b", "ordered", levels=("lo", "hi"))))
    save(schema, tmp_path / "s.credo")
    assert load(tmp_path / "s.credo") == schema


def test_corrections_by_name():
    content = b"zip,when,size,flag,n\n1,01/02/2020,b,p,1\n2,03/04/2020,a,q,2\n2,05/04/2020,a,p,2\n"
    types = {"zip": "category", "when": "date:%m/%d/%Y", "size": "ordered:b,a", "flag": "boolean:p,q", "n": "text"}
    table = open_table(content, types=types)
    assert [column.type for column in table.schema] == ["category", "date", "ordered", "boolean", "text"]
    frame = table.read()
    assert frame["zip"].to_list() == ["1", "2", "2"]
    assert frame["when"][0].month == 1
    assert frame["flag"].to_list() == [False, True, False]
    assert table.schema["size"].levels == ("b", "a")


def test_a_stated_type_finds_its_format():
    table = open_table(b"d,x\n2020,1\n2021,2\nn/a,unknown\n", types={"x": "number"})
    assert table.read()["x"].to_list() == [1, 2, None]
    with pytest.raises(DataError, match=r"--type 'd=date:%d/%m/%Y'"):
        open_table(b"d\nmonday\n\ntuesday\n", types={"d": "date"})
    with pytest.raises(DataError, match="line 3, column 'x': 'b' is not a number"):
        open_table(b"x,y\n1,1\nb,1\n", types={"x": "number"}).read()
    with pytest.raises(DataError, match="cannot be boolean"):
        open_table(b"x,y\np,1\nq,1\nr,1\n", types={"x": "boolean"})


def test_typed_columns_can_be_corrected():
    table = open_table(pl.DataFrame({"k": [1.0, 2.0, None], "b": [0, 1, 2]}), types={"k": "category"})
    assert table.read()["k"].to_list() == ["1", "2", None]
    with pytest.raises(DataError, match="column 'b': '2' is not one of"):
        open_table(pl.DataFrame({"b": [0, 1, 2]}), types={"b": "boolean"}).read()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no \\[\\[column\\]\\]"),
        ("[[column]", "not valid TOML"),
        ('[[column]]\nname = "a"', "no 'type'"),
        ('[[column]]\nname = "a"\ntype = "number"\ncolour = 1', "unknown key 'colour'"),
        ('[[column]]\nname = "a"\ntype = "number"\nlevels = "x"', "list of texts"),
    ],
)
def test_bad_schema_files(text, message):
    with pytest.raises(FileFormatError, match=message):
        Schema.from_toml(text)


def test_bad_corrections():
    with pytest.raises(ParameterError, match=r"Column\.type must be one of"):
        open_table(b"a\n1\n2\n", types={"a": "colour"})
    with pytest.raises(DataError, match="no column 'b'"):
        open_table(b"a\n1\n2\n", types={"b": "number"})
    with pytest.raises(DataError, match="no column 'b'"):
        open_table(b"a\n1\n2\n", schema=Schema((Column("b", "number"),)))
    with pytest.raises(DataError, match="more than once"):
        Schema((Column("b", "number"), Column("b", "text")))
    with pytest.raises(FileFormatError, match="cannot be read"):
        Schema.read("/nowhere.toml")


def test_a_new_file_may_write_numbers_otherwise():
    fitted = open_table(b"price,day\n1.5,2020-01-05\n2.25,2020-01-06\n").schema
    new = open_table(b"price;day\n1,5;05.01.2020\n2,25;16.01.2020\n", like=fitted)
    assert new.read()["price"].to_list() == [1.5, 2.25]
    assert [day.day for day in new.read()["day"]] == [5, 16]


def test_a_new_file_keeps_the_types_of_the_old():
    fitted = open_table(b"k,c\n1.5,1\n2.5,x\n3.5,x\n").schema
    new = open_table(b"k,c\n1,1\n2,2\n", like=fitted)
    assert [column.type for column in new.schema] == ["number", "category"]
    ambiguous = open_table(b"d,v\n01/02/2020,1\n13/02/2020,2\n").schema  # day first
    assert open_table(b"d,v\n03/04/2021,1\n", like=ambiguous).read()["d"][0].month == 4
