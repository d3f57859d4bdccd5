"""Files of the UAI competitions: a network with known answers, random graphs written here, and damaged files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from credo.errors import FileFormatError, MissingFileError, StorageError
from credo.probability.factors import read_uai, read_uai_evidence
from tests.probability.factors.brute import random_case

DATA = Path(__file__).parents[2] / "data" / "uai"


def test_asia():
    graph = read_uai(DATA / "asia.uai")
    cases = json.loads((DATA / "asia.reference.json").read_text())["cases"]
    assert len(cases) > 1
    for case in cases:
        evidence = {int(v): state for v, state in case["evidence"].items()}
        assert graph.log_partition(evidence) == pytest.approx(case["log_partition_natural"], abs=1e-13)
        for v, law in graph.marginals(evidence).items():
            assert law.values == pytest.approx(case["marginals"][v], abs=1e-13)


def write(path, case, kind="MARKOV"):
    """A UAI file, written without the reader's help."""
    number = {name: v for v, name in enumerate(case.names)}
    lines = [kind, str(len(case.names)), " ".join(map(str, case.sizes)), str(len(case.graph.factors))]
    lines += [" ".join(map(str, [len(f.names), *(number[name] for name in f.names)])) for f in case.graph.factors]
    for factor in case.graph.factors:
        lines += ["", str(factor.values.size), " ".join(f"{value!r}" for value in factor.values.ravel().tolist())]
    path.write_text("\n".join(lines))


@pytest.mark.parametrize("seed", range(10))
def test_written_and_read(tmp_path, seed):
    case = random_case(seed)
    write(tmp_path / "m.uai", case)
    graph = read_uai(tmp_path / "m.uai")
    assert [f.shape for f in graph.factors] == [f.shape for f in case.graph.factors]
    assert graph.log_partition() == pytest.approx(np.log(case.joint.sum()), rel=1e-12)
    (tmp_path / "m.evid").write_text(f"1 0 {case.sizes[0] - 1}")
    evidence = read_uai_evidence(tmp_path / "m.evid")
    assert evidence == {0: case.sizes[0] - 1}
    assert graph.log_partition(evidence) == pytest.approx(np.log(case.joint[-1].sum()), rel=1e-12)


def test_evidence_in_both_forms_and_free_variables(tmp_path):
    for text, wanted in {"0": {}, "2 0 1 3 0": {0: 1, 3: 0}, "1\n2 0 1 3 0\n": {0: 1, 3: 0}, "1 4 2": {4: 2}}.items():
        (tmp_path / "e").write_text(text)
        assert read_uai_evidence(tmp_path / "e") == wanted
    (tmp_path / "m.uai").write_text("MARKOV 2 2 3 1 1 0 2 0.5 1.5")
    graph = read_uai(tmp_path / "m.uai")
    assert graph.query(1).values == pytest.approx([1 / 3] * 3)
    assert graph.log_partition() == pytest.approx(np.log(6.0))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "ends where the type"),
        ("GRAPH 1", "begins with MARKOV or BAYES"),
        ("MARKOV 2 2", "ends where a number of states"),
        ("MARKOV 1 two", "word 3 should be a number of states, not 'two'"),
        ("MARKOV 1 0", "a number of states"),
        ("MARKOV 1 2 1 1 5", "should be a variable of table 0, not '5'"),
        ("MARKOV 1 2 1 1 0 3 1 1 1", "table 0 has 2 entries by its scope, not 3"),
        ("MARKOV 1 2 1 1 0 2 0.5", "ends among the entries of table 0"),
        ("MARKOV 1 2 1 1 0 2 0.5 x", "not all numbers"),
        ("MARKOV 1 2 1 1 0 2 0.5 0.5 7", "1 words too many"),
    ],
)
def test_damaged_files(tmp_path, text, message):
    (tmp_path / "m.uai").write_text(text)
    with pytest.raises(FileFormatError, match=message):
        read_uai(tmp_path / "m.uai")


def test_no_file(tmp_path):
    with pytest.raises(MissingFileError):
        read_uai(tmp_path / "none.uai")
    (tmp_path / "b.uai").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FileFormatError, match="not a text file"):
        read_uai(tmp_path / "b.uai")


@pytest.mark.parametrize("tail", ["2 0 1 4 3.0 nan 1.0 1.0", "2 0 1 4 3.0 -1 1.0 1.0", "2 0 0 4 3.0 1.0 1.0 1.0"])
def test_tables_that_are_none_name_the_file(tmp_path, tail):
    path = tmp_path / "odd.uai"
    path.write_text(f"MARKOV 2 2 2 1 {tail}")
    with pytest.raises(FileFormatError, match=r"odd\.uai: table 0 is none"):
        read_uai(path)


def test_a_folder_is_a_named_error(tmp_path):
    for read in (read_uai, read_uai_evidence):
        with pytest.raises(StorageError, match="cannot be read"):
            read(tmp_path)
