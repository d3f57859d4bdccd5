"""Traces are appended once for each contestant, problem and seed, whatever the file holds already."""

from __future__ import annotations

import argparse
import gzip

import pytest

from benchmarks.traces import add_run, aligned, read, run

COLUMNS = ("contestant", "problem", "seed", "value")


def test_a_run_goes_on_where_the_file_ends(tmp_path):
    asked, out = [], tmp_path / "traces.csv"

    def trace(contestant, problem, seed):
        asked.append((contestant, problem, seed))
        if len(asked) == 3:
            raise KeyboardInterrupt
        return [(contestant, problem, seed, value) for value in (0.5, 0.25)]

    parser = argparse.ArgumentParser()
    add_run(parser.add_subparsers(), ["a", "b"], ["one", "two"])
    options = parser.parse_args(["run", "a", "b", "--problems", "one", "--seeds", "0", "1", "--out", str(out)])
    with pytest.raises(KeyboardInterrupt):
        run(trace, COLUMNS, options)
    run(trace, COLUMNS, options)
    assert asked == [("a", "one", 0), ("b", "one", 0), ("a", "one", 1), ("a", "one", 1), ("b", "one", 1)]
    found = read(out)
    assert len(found) == 8
    assert found[1] == {"contestant": "a", "problem": "one", "seed": "0", "value": "0.25"}
    packed = tmp_path / "traces.csv.gz"
    packed.write_bytes(gzip.compress(b"# a remark\n" + out.read_bytes()))
    assert read(packed) == found


def test_cells_are_flush_right():
    assert aligned([["", "n"], ["abc", "10"]]) == "        n\n  abc  10"
