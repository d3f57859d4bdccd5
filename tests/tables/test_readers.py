"""Every kind of source gives the same table."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest

from credo.errors import CredoError, DataError, MissingDependencyError, ParameterError
from credo.tables import ReadOptions, describe, open_table

FRAME = pl.DataFrame(
    {
        "n": [1.5, None, 3.0],
        "k": [1, 2, 3],
        "b": [True, False, None],
        "c": ["x", None, "x"],
        "d": pl.Series(["2020-01-05", "2020-02-01", None]).str.to_date(),
    }
)
VALUES = FRAME.with_columns(pl.col("k").cast(float), pl.col("d").cast(pl.Datetime("us")))


@pytest.fixture
def folder(tmp_path):
    FRAME.write_csv(tmp_path / "t.csv")
    FRAME.write_csv(tmp_path / "t.tsv", separator="\t")
    FRAME.write_parquet(tmp_path / "t.parquet")
    FRAME.write_ndjson(tmp_path / "t.jsonl")
    return tmp_path


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.parquet", "t.jsonl"])
def test_files(folder, name):
    table = open_table(folder / name)
    assert table.read().equals(VALUES)
    assert [column.type for column in table.schema] == ["number", "count", "boolean", "category", "date"]


@pytest.mark.parametrize("make", [lambda f: f, lambda f: f.lazy(), lambda f: f.to_pandas(), lambda f: f.to_arrow()])
def test_frames(make):
    assert open_table(make(FRAME)).read().equals(VALUES)


def test_pandas_without_arrow_types():
    frame = pd.DataFrame(
        {
            "n": [1.5, np.nan],
            "c": pd.Series(["x", None], dtype=object),
            "k": pd.array([1, None], dtype="Int64"),
            "o": pd.Categorical(["lo", "hi"], categories=["lo", "hi"], ordered=True),
            "t": pd.to_datetime(["2020-01-05", None]),
            "mixed": pd.Series([1, "a"], dtype=object),
        }
    )
    table = open_table(frame)
    assert table.schema["o"].type == "ordered"
    assert table.schema["o"].levels == ("lo", "hi")
    read = table.read()
    assert read["n"].to_list() == [1.5, None]
    assert read["k"].to_list() == [1, None]
    assert read["c"].to_list() == ["x", None]
    assert read["mixed"].to_list() == ["1", "a"]
    assert read["t"].null_count() == 1


def test_ordered_levels_of_polars():
    frame = pl.DataFrame({"size": pl.Series(["b", "a"], dtype=pl.Enum(["a", "b"]))})
    assert open_table(frame).schema["size"].levels == ("a", "b")


def test_excel(tmp_path):
    path = tmp_path / "t.xlsx"
    write_xlsx(path, [["Report"], [], ["name", "price", "day"], ["A", "1.5", "2020-01-05"], ["B", "2.5", "2020-01-06"]])
    table = open_table(path)
    assert table.columns == ("name", "price", "day")
    assert table.read()["price"].to_list() == [1.5, 2.5]
    assert table.schema["day"].type == "date"
    with pytest.raises(DataError, match="no sheet 'X'"):
        open_table(path, sheet="X")


def test_excel_reader_is_an_extra(tmp_path, monkeypatch):
    path = tmp_path / "t.xlsx"
    write_xlsx(path, [["a"], ["1"]])
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    with pytest.raises(MissingDependencyError, match=r"credo\[excel\]"):
        open_table(path)


def write_xlsx(path, rows):
    """The smallest workbook that spreadsheets open: inline strings only."""
    import zipfile

    cells = "".join(
        f'<row r="{i}">'
        + "".join(f'<c r="{chr(65 + j)}{i}" t="inlineStr"><is><t>{cell}</t></is></c>' for j, cell in enumerate(row))
        + "</row>"
        for i, row in enumerate(rows, start=1)
    )
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    with zipfile.ZipFile(path, "w") as book:
        book.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{package}/content-types"><Default Extension="rels" ContentType="application/'
            f'vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/>'
            f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{kind}.worksheet+xml"/></Types>',
        )
        book.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" Type="{office}/officeDocument" '
            'Target="xl/workbook.xml"/></Relationships>',
        )
        book.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets><sheet name="S" sheetId="1" r:id="r1"/>'
            "</sheets></workbook>",
        )
        book.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" Type="{office}/worksheet" '
            'Target="worksheets/sheet1.xml"/></Relationships>',
        )
        book.writestr(
            "xl/worksheets/sheet1.xml", f'<worksheet xmlns="{main}"><sheetData>{cells}</sheetData></worksheet>'
        )


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"a,b\n1,2\n3,4\n")))
    table = open_table("-")
    assert table.name == "standard input"
    assert table.read().rows() == [(1, 2), (3, 4)]


def test_fast_and_careful_readers_agree(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"x": rng.normal(size=5000), "s": rng.choice(["a,b", 'q"q', "é", "  pad "], 5000)})
    frame.write_csv(path)
    careful = open_table(path)
    assert careful.reader.careful
    monkeypatch.setattr("credo.tables.delimited._HEAD", 4096)
    fast = open_table(path)
    assert not fast.reader.careful
    assert fast.read().equals(careful.read())


def test_uneven_row_late_in_a_large_file(tmp_path, monkeypatch):
    monkeypatch.setattr("credo.tables.delimited._HEAD", 4096)
    monkeypatch.setattr("credo.tables.delimited._TAIL", 512)
    path = tmp_path / "t.csv"
    lines = [f"{i},{i}" for i in range(20_000)]
    lines[15_000] = "1,2,3"
    path.write_text("a,b\n" + "\n".join(lines) + "\n")
    with pytest.raises(DataError, match="line 15002: 3 cells"):
        open_table(path).read()
    assert open_table(path, ragged="truncate").read().height == 20_000


def test_late_cell_that_does_not_fit(tmp_path, monkeypatch):
    monkeypatch.setattr("credo.tables.table._SAMPLE_ROWS", 1000)
    monkeypatch.setattr("credo.tables.table._LEAST_SAMPLE_ROWS", 1000)
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "".join(f"{i},{i}\n" for i in range(3000)) + "word,1\n")
    with pytest.raises(DataError, match=r"line 3002, column 'a': 'word' is not a number") as caught:
        open_table(path).read()
    assert caught.value.columns == ["a"]
    assert caught.value.rows == [3000]
    report = describe(path)
    assert report.columns[0].type == "category"
    assert any("line 3002" in said for said in report.warnings)
    with pytest.raises(DataError, match="line 3002"):
        describe(path, types={"a": "number"})


@pytest.mark.parametrize(
    "options",
    [
        {"delimiter": ",,"},
        {"encoding": "klingon"},
        {"skip_rows": -1},
        {"decimal": ";"},
        {"ragged": "x"},
        {"nonsense": 1},
    ],
)
def test_options_are_checked(options):
    with pytest.raises(ParameterError, match=next(iter(options)) if "nonsense" not in options else "option"):
        open_table(b"a\n1\n", **options)
    with pytest.raises(ParameterError):
        ReadOptions(decimal=",", thousands=",")


@pytest.mark.parametrize("source", ["/nowhere/t.csv", "/", 3, object()])
def test_what_is_no_table(source):
    with pytest.raises(CredoError):
        open_table(source)


def test_report_shape():
    report = describe(b"id,v\n1,a\n2,\n3,a\n").to_json()
    assert report["rows"] == 3
    assert [(c["name"], c["type"], c["missing"]) for c in report["columns"]] == [
        ("id", "identifier", 0),
        ("v", "category", 1),
    ]
    assert report["encoding"] == "ascii"
    assert all(isinstance(said, str) for said in report["warnings"] + report["decisions"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"a":1}\n{"a":\n{"a":3}\n', "line 2"),
        (b'{"a":1}\n{"a":2}\nrubbish\n', "line 3"),
        (b'{"a":[1]}\n', "no column that a table can hold"),
    ],
)
def test_bad_json_lines(content, message):
    with pytest.raises(DataError, match=message):
        open_table(content)


def test_long_json_lines(monkeypatch):
    """Later pieces keep the types of the first, whole numbers becoming floats; a line that cannot is named."""
    monkeypatch.setattr("credo.blocks.scan.text_pieces.__defaults__", ('"', 4096))
    lines = "".join(f'{{"a": {i}, "b": "x{i % 3}"}}\n' for i in range(2000))
    table = open_table((lines + '{"a": 0.5, "b": null}\n').encode())
    assert table.read()["a"].to_list() == [*range(2000), 0.5]
    with pytest.raises(DataError, match="line 2001"):
        open_table((lines + '{"a": "word"}\n').encode()).read()


def test_stated_encoding_is_checked():
    with pytest.raises(CredoError, match="is not utf-8"):
        open_table("a\n\u00e9\n".encode("latin-1"), encoding="utf-8")


def test_large_decoded_text_goes_to_a_temporary_file(monkeypatch):
    monkeypatch.setattr("credo.tables.plain._IN_MEMORY", 1000)
    monkeypatch.setattr("credo.tables.plain._CHUNK", 256)
    content = "a;b\n" + "".join(f"\u00e9{i % 3};{i}\n" for i in range(500))
    table = open_table(content.encode("latin-1"))
    assert not isinstance(table.reader.text.content, bytes)
    assert table.read()["b"].to_list() == list(range(500))
    assert set(table.read()["a"]) == {"\u00e90", "\u00e91", "\u00e92"}
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content.encode())))
    assert open_table("-").read().height == 500
