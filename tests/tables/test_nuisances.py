"""Nuisances of real files, each made here: what a reader must make of them unasked."""

from __future__ import annotations

import gzip
from datetime import datetime, time

import pytest

from credo.errors import DataError, FileFormatError
from credo.tables import describe, open_table

NAN = float("nan")

# name → (bytes, names, types, rows of values)
FILES = {
    "utf-16 without a mark": (
        "a,b\n1,é\n2,ü\n3,é\n".encode("utf-16-le"),
        ["a", "b"], ["count", "category"], [(1, "é"), (2, "ü"), (3, "é")],
    ),
    "utf-16 big-endian, decimal comma": (
        b"\xfe\xff" + "a;b\n1,5;x\n2,5;y\n".encode("utf-16-be"),
        ["a", "b"], ["number", "category"], [(1.5, "x"), (2.5, "y")],
    ),
    "utf-8 with a mark": (b"\xef\xbb\xbfa,b\n1,2\n3,4\n", ["a", "b"], ["count", "count"], [(1, 2), (3, 4)]),
    "latin-1": (
        "nom;prix\nété;1,5\nhiver;2\n".encode("latin-1"),
        ["nom", "prix"], ["category", "number"], [("été", 1.5), ("hiver", 2)],
    ),
    "Windows quotes": (
        "a,b\nit’s,1\nx “q”,2\nx,3\n".encode("cp1252"),
        ["a", "b"], ["text", "count"], [("it’s", 1), ("x “q”", 2), ("x", 3)],
    ),
    "Mac Roman": (
        "ciudad,n\nBogotá,1\nPeñíscola,2\nCádiz,3\nBogotá,4\n".encode("mac_roman"),
        ["ciudad", "n"], ["category", "count"], [("Bogotá", 1), ("Peñíscola", 2), ("Cádiz", 3), ("Bogotá", 4)],
    ),
    "old Mac line ends": (b"a,b\r1,2\r3,4\r", ["a", "b"], ["count", "count"], [(1, 2), (3, 4)]),
    "no final newline": (b"a,b\r\n1,2\r\n3,4", ["a", "b"], ["count", "count"], [(1, 2), (3, 4)]),
    "one column": (b"x\n1\n2\n3\n", ["x"], ["count"], [(1,), (2,), (3,)]),
    "one column of prose with commas": (
        b"said\nhello, world\nthis, that, other\nplain\n",
        ["said"], ["text"], [("hello, world",), ("this, that, other",), ("plain",)],
    ),
    "tabs": (b"a\tb\n1\tx, y\n2\tz\n", ["a", "b"], ["count", "category"], [(1, "x, y"), (2, "z")]),
    "bars": (b"a|b\n1|x\n2|y\n", ["a", "b"], ["count", "category"], [(1, "x"), (2, "y")]),
    "runs of blanks": (b" a   b\n 1  2.5\n10 12.5\n", ["a", "b"], ["count", "number"], [(1, 2.5), (10, 12.5)]),
    "single quotes": (
        b"a,b\n1,'x, y'\n2,'z'\n3,'x, y'\n",
        ["a", "b"], ["count", "category"], [(1, "x, y"), (2, "z"), (3, "x, y")],
    ),
    "blank line inside quotes": (
        b'a,b\n1,"x\n\ny"\n2,z\n', ["a", "b"], ["count", "category"], [(1, "x\n\ny"), (2, "z")],
    ),
    "currency, per cent, brackets": (
        'dollars,share,euros\n"$1,234.50",12%,"1.234,50 €"\n$99.90,7.5 %,"99,90 €"\n($5.00),0%,"0,50 €"\n'.encode(),
        ["dollars", "share", "euros"], ["number", "number", "number"],
        [(1234.5, 12, 1234.5), (99.9, 7.5, 99.9), (-5, 0, 0.5)],
    ),
    "blank thousands": (
        "v;w\n1 234,5;a\n12\u00a0345,0;b\n7,25;a\n".encode(),
        ["v", "w"], ["number", "category"], [(1234.5, "a"), (12345, "b"), (7.25, "a")],
    ),
    "Swiss thousands": (
        b"v;w\n1'234.5;a\n12'345.0;a\n",
        ["v", "w"], ["number", "category"], [(1234.5, "a"), (12345, "a")],
    ),
    "typographer's minus": ("v,w\n−1.5,a\n2,a\n".encode(), ["v", "w"], ["number", "category"], [(-1.5, "a"), (2, "a")]),
    "exponents": (b"x,y\n1e-5,1\n2.5E+10,2\n", ["x", "y"], ["number", "count"], [(1e-5, 1), (2.5e10, 2)]),
    "words for missing": (
        b"a,b,c\n1,NA,x\nN/A,2,y\n3,..,\n4,-,x\n5,?,NA\n6,.,x\n",
        ["a", "b", "c"], ["count", "count", "category"],
        [(1, None, "x"), (None, 2, "y"), (3, None, None), (4, None, "x"), (5, None, None), (6, None, "x")],
    ),
    "beyond 2^53": (
        b"id,v\n9007199254740993,1\n9007199254740995,2\n9007199254740997,2\n",
        ["id", "v"], ["identifier", "count"],
        [("9007199254740993", 1), ("9007199254740995", 2), ("9007199254740997", 2)],
    ),
    "leading zeros": (
        b"zip,v\n01234,1\n00501,2\n01234,3\n",
        ["zip", "v"], ["category", "count"], [("01234", 1), ("00501", 2), ("01234", 3)],
    ),
    "mixed dates": (
        b"d,v\n2020-01-05,1\n31/12/2021,2\n2020-03-04,3\n",
        ["d", "v"], ["date", "count"],
        [(datetime(2020, 1, 5), 1), (datetime(2021, 12, 31), 2), (datetime(2020, 3, 4), 3)],
    ),
    "American dates": (
        b"d,v\n01/02/2020,1\n12/31/2021,2\n",
        ["d", "v"], ["date", "count"], [(datetime(2020, 1, 2), 1), (datetime(2021, 12, 31), 2)],
    ),
    "dates with offsets": (
        b"t,v\n2020-01-05T10:00:00Z,1\n2020-01-06T11:30:00+02:00,2\n",
        ["t", "v"], ["date", "count"], [(datetime(2020, 1, 5, 10), 1), (datetime(2020, 1, 6, 9, 30), 2)],
    ),
    "dates in words": (
        b'd,v\n"Sep 3, 2020",1\n"March 14, 2021",2\n"Sep 4, 2020",2\n',
        ["d", "v"], ["date", "count"],
        [(datetime(2020, 9, 3), 1), (datetime(2021, 3, 14), 2), (datetime(2020, 9, 4), 2)],
    ),
    "times of day": (b"t,v\n10:30,1\n23:59,2\n", ["t", "v"], ["time", "count"], [(time(10, 30), 1), (time(23, 59), 2)]),
    "yyyymmdd": (
        b"date,v\n20200105,1\n20200106,2\n",
        ["date", "v"], ["date", "count"], [(datetime(2020, 1, 5), 1), (datetime(2020, 1, 6), 2)],
    ),
    "names over names": (
        b"person,,points\nname,age,\nAnn,30,1.5\nBob,41,2.5\n",
        ["person / name", "person / age", "points"], ["category", "count", "number"],
        [("Ann", 30, 1.5), ("Bob", 41, 2.5)],
    ),
    "units under names": (
        b"height,weight,who\ncm,kg,\n180,80.5,A\n170,70,B\n",
        ["height / cm", "weight / kg", "who"], ["count", "number", "category"], [(180, 80.5, "A"), (170, 70, "B")],
    ),
    "titles and a source": (
        b"Report of 2020\nMade on 2020-01-01\n\na,b,c\n1,2,x\n3,4,y\nSource: us\n",
        ["a", "b", "c"], ["count", "count", "category"], [(1, 2, "x"), (3, 4, "y")],
    ),
    "comments first": (
        b"# made by x\n# y, z\na,b,c\n1,2,x\n3,4,y\n",
        ["a", "b", "c"], ["count", "count", "category"], [(1, 2, "x"), (3, 4, "y")],
    ),
    "no header, numbers": (b"1,2.5\n3,4.5\n", ["column_1", "column_2"], ["count", "number"], [(1, 2.5), (3, 4.5)]),
    "no header, words": (
        b"red,p,yes\nblue,q,no\nred,q,yes\nblue,p,no\n",
        ["column_1", "column_2", "column_3"], ["category", "category", "boolean"],
        [("red", "p", True), ("blue", "q", False), ("red", "q", True), ("blue", "p", False)],
    ),
    "R's row names": (
        b'"mpg","cyl"\n"Mazda",21,6\n"Datsun",22.8,4\n',
        ["column_1", "mpg", "cyl"], ["category", "number", "count"], [("Mazda", 21, 6), ("Datsun", 22.8, 4)],
    ),
    "padded, repeated, empty names": (
        b" a ,a,a (2),,b\n1,2,3,4,5\n2,2,3,4,5\n",
        ["a", "a (3)", "a (2)", "column_4", "b"], ["count"] * 5, [(1, 2, 3, 4, 5), (2, 2, 3, 4, 5)],
    ),
    "a delimiter too many in every row": (
        b"a,b\n1,2,\n3,4,\n6,7\n", ["a", "b"], ["count", "count"], [(1, 2), (3, 4), (6, 7)],
    ),
    "short rows": (b"a,b,c\n1,2,3\n4,5\n6,7,8\n", ["a", "b", "c"], ["count"] * 3, [(1, 2, 3), (4, 5, None), (6, 7, 8)]),
    "blank lines": (b"\n\na,b\n1,2\n\n3,4\n\n\n", ["a", "b"], ["count", "count"], [(1, 2), (3, 4)]),
    "booleans": (
        b"f,g,h\nTRUE,t,0\nFALSE,f,1\nTRUE,T,1\n",
        ["f", "g", "h"], ["boolean", "boolean", "boolean"],
        [(True, True, False), (False, False, True), (True, True, True)],
    ),
    "a long cell": (
        b"a,b\n1," + b"x" * 200_000 + b"\n2,y\n",
        ["a", "b"], ["count", "category"], [(1, "x" * 200_000), (2, "y")],
    ),
    "gzip": (gzip.compress(b"a,b\n1,2\n3,4\n"), ["a", "b"], ["count", "count"], [(1, 2), (3, 4)]),
    "JSON lines": (
        b'{"a":1,"b":"x"}\n{"a":2.5,"b":null,"c":true}\n',
        ["a", "b", "c"], ["number", "category", "boolean"], [(1, "x", None), (2.5, None, True)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_file(name):
    content, names, types, rows = FILES[name]
    table = open_table(content)
    assert list(table.columns) == names
    assert [column.type for column in table.schema] == types
    assert table.read().rows() == rows
    report = describe(content)
    assert report.rows == len(rows)
    assert [c.missing for c in report.columns] == [sum(cell is None for cell in column) for column in zip(*rows)]


REFUSED = {
    "surplus cell": (b"a,b\n1,2\n3,4,5\n6,7\n", "line 3: 3 cells where the table has 2 columns; cell 3 is '5'"),
    "open quote": (b'a,b\n1,2\n3,"x\n4,5\n6,7\n', "line 3: a quote opens and never closes"),
    "header only": (b"a,b\n", "no rows"),
    "empty": (b"", "is empty"),
    "blank": (b"\n\n\n", "no table"),
    "binary": (bytes(range(1, 256)) + b"\0" * 3, "zero bytes"),
    "cut gzip": (gzip.compress(b"a,b\n1,2\n3,4\n" * 100)[:-20], "damaged gzip"),
    "zip": (b"PK\x03\x04" + b"x" * 40, "cannot be read"),
    "damaged parquet": (b"PAR1" + b"x" * 40, "cannot be read"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusal_names_line_and_remedy(name):
    content, message = REFUSED[name]
    with pytest.raises((DataError, FileFormatError), match=message) as caught:
        open_table(content)
    assert caught.value.remedy or "no table" in message or "no rows" in message


def test_options_overrule_inference():
    assert open_table(b"a,b\n1,2\n3,4,5\n6,7\n", ragged="truncate").read().rows() == [(1, 2), (3, 4), (6, 7)]
    assert open_table(b"a,b\n1,2\n", header_rows=0).read().height == 2
    assert open_table(b"x\na,b\n1,2\n3,4\n", skip_rows=1).columns == ("a", "b")
    assert open_table(b"a,b\n1,2\n3,4\n", delimiter=";").columns == ("a,b",)
    assert open_table(b"v;w\n1.234;1\n2.345;2\n", decimal=",", thousands=".").read()["v"].to_list() == [1234, 2345]
    assert open_table(b"v;w\n1,234;1\n2,345;2\n", decimal=".", thousands=",").read()["v"].to_list() == [1234, 2345]
    assert open_table("a\né\nà\n".encode("latin-1"), encoding="latin-1").read()["a"].to_list() == ["é", "à"]
    assert open_table(b"a,b\n1,-999\n2,3\n", missing="-999").read()["b"].to_list() == [None, 3]
    assert open_table(b"a,b\n1,2\nsum,x\n", skip_footer=1).read().rows() == [(1, 2)]
    assert open_table(b"a,b\n1,it's\n2,\"x\n", quote="").read()["b"].to_list() == ["it's", '"x']


def test_stray_word_among_numbers_is_said():
    content = b"x,y\n" + b"".join(b"%d.5,%d\n" % (i, i) for i in range(50)) + b"oops,3\n"
    report = describe(content)
    assert report.columns[0].type == "number"
    assert report.columns[0].missing == 1
    assert any("oops" in said for said in report.warnings)


def test_too_many_strays_make_a_category():
    content = b"x,y\n" + b"".join(b"%d,%d\n" % (i % 5, i) for i in range(40)) + b"a,1\nb,1\nc,1\nd,1\n"
    assert open_table(content).schema["x"].type == "category"


def test_ambiguous_dates_are_said_and_can_be_corrected():
    content = b"d,v\n01/02/2020,1\n03/04/2021,2\n"
    table = open_table(content)
    assert any("day and month" in said for said in table.warnings)
    assert open_table(content, types={"d": "date:%m/%d/%Y"}).read()["d"][0] == datetime(2020, 1, 2)


def test_nan_is_missing_where_no_cell_is_empty():
    assert open_table(b"x,y\n1.5,1\nnan,2\n2.5,3\n").read()["x"].to_list() == [1.5, None, 2.5]
    mixed = open_table(b"x,y\n1.5,1\nnan,2\n,3\n").read()["x"]
    assert mixed.null_count() == 1
    assert mixed.is_nan().sum() == 1


def test_hundred_thousand_categories():
    lines = "".join(f"level{i % 100_000},{i}\n" for i in range(200_000))
    table = open_table(("c,v\n" + lines).encode())
    assert table.schema["c"].type == "category"
    assert describe(table).columns[0].distinct == 100_000


def test_long_tail_of_notes_is_kept_and_pointed_out():
    rows = "".join(f"{i},{i},{i},{i},{i}\n" for i in range(30))
    content = ("a,b,c,d,e\n" + rows + "".join(f"Note {i}\n" for i in range(6))).encode()
    report = describe(content)
    assert report.rows == 36
    assert any("--skip-footer 6" in said for said in report.warnings)
    assert describe(content, skip_footer=6).rows == 30
