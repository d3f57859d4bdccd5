"""The checks of `tests/tables/test_messy.py` on the whole collection, with the files that may not be copied."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

from credo.tables import open_table

MESSY = Path(os.environ["CREDO_REFERENCE_DATA"]) / "messy"
_spec = importlib.util.spec_from_file_location("messy_checks", Path(__file__).parents[1] / "tables" / "test_messy.py")
assert _spec is not None
assert _spec.loader is not None
checks = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(checks)


@pytest.mark.parametrize("name", sorted(path.stem for path in MESSY.glob("*.csv")))
def test_messy_file(name, record_property):
    for what in ("layout", "columns", "names", "cells"):
        getattr(checks, f"check_{what}")(MESSY, name)
        record_property(what, "as expected")


def test_foot_notes_leave_on_request():
    table = open_table(MESSY / "german_preamble.csv", skip_footer=16)
    frame = table.read()
    assert frame.height == 60
    assert frame["2010"].max() == 2830  # 2.830 with a thousands point


def test_thousands_and_accents():
    frame = open_table(MESSY / "spain_mexico_budget_thousands.csv").read()
    assert frame["Gasto total 2011"][0] == 229932.5
    assert frame["F"][1] == "Legislación"
