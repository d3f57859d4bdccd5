"""Numbers that are classes, and numbers that are numbers."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from credo.errors import DataError
from credo.tables import Column, Encoder, open_table
from credo.tables.target import TargetEncoding, count_values

RNG = np.random.default_rng(0)


def counted(values, parts=1):
    frame = pl.DataFrame({"y": values}, strict=False)
    size = max(1, -(-len(frame) // parts))
    return count_values(frame.iter_slices(size), "y", to_the_end=False)


@pytest.mark.parametrize(
    "values",
    [
        [0, 1, 2] * 20,  # wine
        [1, 2] * 30,  # German credit
        [0.0, 1.0, None] * 30,  # what pandas makes of 0 and 1 with a missing cell
        [-1, 1] * 5,
        [0.5, 1.5] * 10,
        [1, 2, 3, 5, 6, 7] * 9,  # glass
        list(range(10)) * 30,  # digits
        [0] * 997 + [1] * 3,  # two are two, however rare
    ],
)
def test_codes_are_classes(values) -> None:
    assert counted(values).are_codes
    assert counted(values, parts=7).are_codes


@pytest.mark.parametrize(
    "values",
    [
        list(range(11)) * 50,  # 0 to 10
        RNG.poisson(1.0, 200).tolist(),  # a count thins out
        RNG.poisson(3.0, 5000).tolist(),
        [0.0, 0.5, 1.0] * 30,
        RNG.normal(size=50).tolist(),
        [1, 2, 3, 4] * 4,  # too few rows of each to tell, or to learn
        [7] * 30,
        [None] * 3,
    ],
)
def test_counts_and_measurements_are_numbers(values) -> None:
    assert not counted(values).are_codes
    assert not counted(values, parts=7).are_codes


def test_counting_stops_where_the_answer_is_known() -> None:
    seen = []

    def frames():
        for i in range(100):
            seen.append(i)
            yield pl.DataFrame({"y": np.arange(20.0) + i})

    count_values(frames(), "y", to_the_end=False)
    assert seen == [0]


def test_numbers_encode_as_their_classes() -> None:
    target = TargetEncoding("y", "number", (0.5, 1.5))
    assert target.encode(pl.Series([1.5, None, 0.5])).tolist() == [1, -1, 0]
    for strange in (1.0, 9.0, -3.0):
        with pytest.raises(DataError, match=r"which is not one of 0\.5, 1\.5"):
            target.encode(pl.Series([0.5, strange]))


def test_codes_sort_by_size_not_as_text() -> None:
    table = open_table(pl.DataFrame({"y": [str(i) for i in (2, 10, 1) * 4], "x": range(12)}), types={"y": "category"})
    encoder = Encoder(table.schema, target="y").fit(table)
    assert encoder.target is not None
    assert encoder.target.classes == (1, 2, 10)


def test_examples_are_the_first_cells_as_written() -> None:
    from credo.tables import describe

    text = b"n,x,day,flag,label\n" + b"".join(b"%d,%d.5,2024-01-%02d,no,v%d\n" % (9 - i, i, i + 1, i) for i in range(9))
    text += b"7,1.5,2024-01-01,yes,v0\n"
    first = describe(text)
    assert [c.example for c in first.columns] == ["9", "0.5", "2024-01-01", "no", "v0"]
    assert all(describe(text) == first for _ in range(5))


def test_no_polars_call_leaves_the_order_open() -> None:
    """`unique` and `group_by` give rows in any order unless they are told to, or are sorted."""
    import re
    from pathlib import Path

    import credo.tables

    for path in Path(credo.tables.__file__).parent.rglob("*.py"):
        for line in path.read_text(encoding="utf-8").splitlines():
            if re.search(r"\.unique\((?!maintain_order=True)", line) and "np.unique" not in line:
                assert "set(" in line, (path.name, line.strip())
            if ".group_by(" in line:
                assert ".sort(" in line or "maintain_order=True" in line, (path.name, line.strip())


def test_the_stated_columns_are_remembered() -> None:
    table = open_table(b"y,x\n1,2\n2,3\n", types={"y": "number"})
    assert table.stated == table.with_schema(table.schema).stated == {"y"}
    assert table.schema["y"] == Column("y", "number", header="y") or table.schema["y"].type == "number"
    assert repr(table) == "<Table the input: y: number, x: count>"
