"""Real files, read without a single option, against what is known of them.

`tests/reference/test_messy.py` runs the same checks on the files that may not be copied here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from credo.tables import describe, open_table

MESSY = Path(__file__).parents[1] / "data" / "messy"
NAMES = sorted(path.stem for path in MESSY.glob("*.csv"))


def expected(folder: Path, name: str) -> dict[str, Any]:
    return json.loads((folder / f"{name}.expect.json").read_text(encoding="utf-8"))


def check_layout(folder: Path, name: str) -> None:
    wanted, how = expected(folder, name), describe(folder / f"{name}.csv").how
    # ASCII is UTF-8, and the collection calls it both.
    encoding = {"ascii": "utf-8"}
    assert encoding.get(how["encoding"], how["encoding"]) == encoding.get(wanted["encoding"], wanted["encoding"])
    assert how["bom"] == wanted["bom"]
    assert how["delimiter"] == wanted["delimiter"]
    assert how["line_ending"] == wanted["line_ending"]
    assert how["lines_before_header"] == wanted["lines_before_header"]
    assert how["header_rows"] == wanted["header_rows"]
    assert (how["header_rows"] > 0) == wanted["header"]
    assert how["footer_rows"] == wanted["trailing_lines_to_drop"]


def check_columns(folder: Path, name: str) -> None:
    wanted, report = expected(folder, name), describe(folder / f"{name}.csv")
    assert report.rows == wanted["data_rows"]
    assert len(report.columns) == wanted["columns"]
    for column, known in zip(report.columns, wanted["per_column"]):
        assert column.missing == known["missing"], column.name
        assert column.constant == known["constant"], column.name


def check_names(folder: Path, name: str) -> None:
    """A name as in the file, but for blanks around it, numbers after repeated ones, and names where there are none."""
    wanted, report = expected(folder, name), describe(folder / f"{name}.csv")
    assert len({column.name for column in report.columns}) == wanted["columns"]
    repeated = {header.strip() for header in wanted["duplicate_header_names"]}
    for position, (column, known) in enumerate(zip(report.columns, wanted["per_column"]), start=1):
        header = None if known["name"] is None else " ".join(known["name"].split())
        if not header and wanted["header_rows"] < 2:
            assert column.name == f"column_{position}"
        elif header in repeated:
            assert column.name.startswith(header)
        elif header:
            # The second header row, where there is one, is put behind the first.
            assert column.name.split(" / ")[0].split(" (2)")[0].split(" (3)")[0] == header


def check_cells(folder: Path, name: str) -> None:
    """Distinct present cells as written, and which columns are plain numbers throughout."""
    wanted, table = expected(folder, name), open_table(folder / f"{name}.csv")
    raw = pl.concat(list(table.raw(trim=False)))
    for column, known in zip(table.schema, wanted["per_column"]):
        cells = raw[column.name].drop_nulls()
        cells = cells.filter(~cells.str.strip_chars().is_in(list(column.missing)))
        assert cells.n_unique() == known["distinct_non_missing"], column.name
        plain = len(cells) > 0 and cells.str.strip_chars().cast(pl.Float64, strict=False).null_count() == 0
        assert plain == known["all_numeric"], column.name
        if plain:  # codes and row numbers are not quantities, though they are written in digits
            assert column.type in ("number", "count", "boolean", "identifier", "category")
            assert column.type != "category" or cells.str.contains("^0").any()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("check", [check_layout, check_columns, check_names, check_cells])
def test_messy_file(name, check):
    check(MESSY, name)


def test_collection_is_here():
    assert len(NAMES) >= 8


def test_decimal_commas_and_dates():
    table = open_table(MESSY / "edge_bom_semicolon_decimal_comma.csv").read()
    assert table["Preis"].to_list() == [1234.5, 99.9, None, 12000.0]
    assert table["Stadt"].to_list() == ["München", "Köln", "Frankfurt; Main", "Düsseldorf"]
    assert [day and day.isoformat()[:10] for day in table["Datum"]] == ["2020-02-01", "2020-03-15", None, "2021-12-31"]


def test_age_ranges_are_ordered():
    column = open_table(MESSY / "drug_use_by_age.csv").schema["age"]
    assert column.type == "ordered"
    assert column.levels[0] == "12"
    assert column.levels[-2:] == ("50-64", "65+")


def test_quoted_newlines_survive():
    table = open_table(MESSY / "edge_quotes_newlines.csv").read()
    assert table["comment"][0] == 'said "hi"\nand left'
    assert table["name"][0] == 'O"Brien, J.'


def test_mac_roman_name():
    names = open_table(MESSY / "starwars_survey.csv").columns
    assert "Do you consider yourself to be a fan of the Expanded Universe?åÊ" in names
