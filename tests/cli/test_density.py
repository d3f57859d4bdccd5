"""`credo density`: a summary, a page, JSON, and errors in one line."""

from __future__ import annotations

import numpy as np

from tests.cli.conftest import write_table


def test_summary_page_and_json(credo, tmp_path) -> None:
    rng = np.random.default_rng(0)
    x = np.r_[rng.normal(0, 1, 150), rng.normal(10, 1, 100)].round(3).tolist()
    table = write_table(tmp_path / "t.csv", {"x": [None, *x], "name": ["a", "b"] * 125 + ["c"]})
    done = credo("density", table, "x", "--bandwidth", "isj", "--bins", "blocks", "-o", tmp_path / "r.html")
    assert done.code == 0, done.err
    for words in ("250 values of 'x', 1 more are missing", "2 modes", "improved Sheather", "quantile", "Wrote"):
        assert words in done.out
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 2
    assert "credo density" in page
    found = credo("density", table, "x", "--json", "--bandwidth", "0.5", "--bins", "7", "--low", "-20").json
    assert (found["bandwidth"], found["rule"], found["bins"], found["rows"]) == (0.5, "given", 7, 250)
    assert [round(mode["value"]) for mode in found["modes"][:2]] == [0, 10]


def test_errors_are_one_line(credo, tmp_path) -> None:
    table = write_table(tmp_path / "t.csv", {"x": [1.5, 2.5, 4.0], "same": [1.5] * 3, "name": ["a", "b", "c"]})
    for arguments, words, code in (
        (("name",), "a density needs numbers", 1),
        (("y",), "There is no column 'y'", 1),
        (("same",), "constant", 1),
        (("x", "--bandwidth", "wide"), "--bandwidth must be", 2),
        (("x", "--bins", "-3"), "--bins must be", 2),
        (("x", "--interval", "2"), "--interval must be", 2),
        (("x", "--low", "2"), "1 values of 'x' lie below --low 2", 1),
    ):
        done = credo("density", table, *arguments)
        assert done.code == code, (arguments, done.err)
        assert words in done.err
        assert done.err.count("\n") == 1
