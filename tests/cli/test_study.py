"""`credo study list|show|best|export`, against the study itself."""

import json
import tomllib
from pathlib import Path

import polars as pl
import pytest

import credo as cr


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """`a.db` with the studies "one" (a trial failed), "two" (two objectives) and "own" (a function in its space)."""
    folder = tmp_path_factory.mktemp("studies")
    space = cr.Space({
        "x": cr.Real(-1, 1), "kind": cr.Choice(["a b", 'c"d', "é"]), "on": cr.Boolean(),
        "w": cr.Integer(1, 3, when={"kind": "a b"}),
    })  # fmt: skip
    with cr.Study(space, storage=folder / "a.db", name="one", random_state=0, sampler="sobol") as study:
        for i in range(12):
            trial = study.ask()
            _ = study.fail(trial, "too [hot]") if i == 3 else study.tell(trial, trial["x"] ** 2)
        study.ask()
        study.note("a remark")
    both = ("minimize", "maximize")
    with cr.Study(space, both, folder / "a.db", name="two", random_state=0, sampler="sobol") as study:
        for _ in range(4):
            trial = study.ask()
            study.tell(trial, (trial["x"], trial["x"]), constraints=[0.0])
    own = cr.Space(x=cr.Real(0, 1), constraints=[lambda p: True])
    with cr.Study(own, storage=folder / "a.db", name="own", sampler="sobol"):
        pass
    with cr.Study(space, "maximize", folder / "single.db", name="fresh", sampler="sobol"):
        pass
    (folder / "single.toml").write_text("")
    return folder


def study_of(folder, name):
    return cr.Study.load(folder / "a.db", name)


def test_list(credo, folder):
    done = credo("study", "list", folder / "a.db")
    assert done.code == 0, done.err
    best = study_of(folder, "one").best
    assert f"of trial {best.id}" in done.out
    assert "13 trials (11 told, 1 failed, 1 pending)" in done.out
    assert "minimize, maximize" in done.out
    assert "functions" in done.out
    document = credo("study", "list", folder / "a.db", "--json").json
    assert [each["name"] for each in document["studies"]] == ["one", "two", "own"]
    assert document["studies"][0]["trials"] == {"told": 11, "failed": 1, "pending": 1}


def test_show(credo, folder):
    done = credo("study", "show", folder / "a.db", "--name", "one")
    assert done.code == 0, done.err
    assert "  x: real, low -1, high 1\n" in done.out
    assert "  w: integer, low 1, high 3, when kind is a b\n" in done.out
    assert "1 failed: too [hot]" in done.out
    assert "a remark" in done.out
    assert "Take x = " in done.out
    document = credo("study", "show", folder / "a.db", "--name", "one", "--json").json
    study = study_of(folder, "one")
    assert document["best"]["params"] == dict(study.best.params)
    assert document["lead"].startswith("Take x = ")
    assert document["failed"] == {"3": "too [hot]"}
    assert cr.Space.from_state(document["space"]) == study.space


def test_a_toml_file_stands_for_the_database_beside_it(credo, folder):
    done = credo("study", "show", folder / "single.toml")
    assert done.code == 0, done.err
    assert "fresh in" in done.out
    assert "no value yet" in credo("study", "best", folder / "single.toml").err


def test_best_as_toml_and_json(credo, folder, tmp_path):
    best = study_of(folder, "one").best
    done = credo("study", "best", folder / "a.db", "--name", "one")
    assert tomllib.loads(done.out) == dict(best.params)
    document = credo("study", "best", folder / "a.db", "--name", "one", "--json").json
    assert document["best"] == {"trial": best.id, "value": best.value, "params": dict(best.params)}
    for name, load in (("b.toml", tomllib.loads), ("b.json", json.loads)):
        assert credo("study", "best", folder / "a.db", "--name", "one", "-o", tmp_path / name).code == 0
        found = load((tmp_path / name).read_text(encoding="utf-8"))
        assert (found if name == "b.toml" else found["best"]["params"]) == dict(best.params)


def test_best_of_two_objectives_is_the_front(credo, folder):
    front = study_of(folder, "two").front
    found = tomllib.loads(credo("study", "best", folder / "a.db", "--name", "two").out)["front"]
    assert found == [{"values": list(t.values), "params": dict(t.params)} for t in front]
    document = credo("study", "best", folder / "a.db", "--name", "two", "--json").json
    assert [each["trial"] for each in document["front"]] == [trial.id for trial in front]
    assert "On the front:" in credo("study", "show", folder / "a.db", "--name", "two").out


@pytest.mark.parametrize("writable", [True, False])
def test_looking_changes_nothing(credo, tmp_path, monkeypatch, writable):
    from credo.errors import StorageError
    from credo.studies import open_storage

    with cr.Study(cr.Space(x=cr.Real(0, 1)), storage=tmp_path / "s.db", random_state=0, sampler="sobol") as study:
        study.optimize(lambda p: p["x"], 6)
    before = (tmp_path / "s.db").read_bytes()
    if not writable:  # as root finds a file that it may not write only on a disk that is read-only
        monkeypatch.setattr("credo.studies.storage.opening.os.access", lambda path, mode: False)
    for words in (["list"], ["show"], ["best"], ["export"]):
        assert credo("study", *words, tmp_path / "s.db", "--quiet").code == 0
    assert (tmp_path / "s.db").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["s.db"]
    place = open_storage(tmp_path / "s.db", read_only=True)
    with cr.Study.load(place) as study, pytest.raises(StorageError, match="read only"):
        study.note("a remark")
    with cr.Study.load(tmp_path / "s.db") as live:  # what another process writes meanwhile is seen
        live.tell(live.ask(), 1.0)
        if writable:
            assert len(cr.Study.load(place).records) == 7


def test_an_older_database_is_read_as_it_is(credo, tmp_path):
    import sqlite3

    from tests.studies.test_storage import VERSION_1

    with sqlite3.connect(tmp_path / "old.db") as old:
        old.executescript(VERSION_1)
    old.close()
    before = (tmp_path / "old.db").read_bytes()
    assert credo("study", "best", tmp_path / "old.db").code == 0
    assert (tmp_path / "old.db").read_bytes() == before
    (tmp_path / "empty.db").write_bytes(b"")
    assert "without studies" in credo("study", "list", tmp_path / "empty.db").err


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "jsonl", "json"])
def test_export(credo, folder, tmp_path, ending):
    path = tmp_path / f"trials.{ending}"
    done = credo("study", "export", folder / "a.db", "--name", "one", "-o", path)
    assert done.code == 0, done.err
    assert f"Wrote 13 trials to {path}" in done.out
    read = {
        "csv": pl.read_csv, "tsv": lambda p: pl.read_csv(p, separator="\t"), "parquet": pl.read_parquet,
        "jsonl": pl.read_ndjson, "json": pl.read_json,
    }[ending]  # fmt: skip
    expected = study_of(folder, "one").trials
    assert read(path).columns == expected.columns
    assert read(path).cast(expected.schema).equals(expected)


def test_export_to_standard_output(credo, folder, tmp_path):
    path = tmp_path / "out.csv"
    path.write_text(credo("study", "export", folder / "a.db", "--name", "two").out, encoding="utf-8")
    assert pl.read_csv(path).height == 4
    assert len(credo("study", "export", folder / "a.db", "--name", "two", "--json").json["rows"]) == 4
    with study_of(folder, "one") as study:
        methods = [trial.why.get("method") for trial in study.records]
    rows = credo("study", "export", folder / "a.db", "--name", "one", "--why", "--json").json["rows"]
    assert [row["why_method"] for row in rows] == methods
    assert {"why_mean", "why_sd", "why_exploitation", "why_exploration", "why_reason"} <= set(rows[0])


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["show", "absent.db"], 1, "There is no file"),
        (["list", "absent.toml"], 1, "absent.db"),
        (["show", "{a}"], 2, "one, two, own"),
        (["show", "{a}", "--name", "three"], 2, "one, two, own"),
        (["show", "{a}", "--name", "own"], 1, "function"),
        (["show", "{a}", "--name", "one", "-o", "page.pdf"], 2, ".html"),
        (["best", "{a}", "--name", "one", "-o", "best.yaml"], 2, ".toml or .json"),
        (["export", "{a}", "--name", "one", "-o", "trials.xlsx"], 2, ".parquet"),
        (["export", "{a}", "--name", "one", "-o", "trials.xlsx"], 2, "or .json"),
        (["best", "{single}"], 1, "has no value yet."),
        (["export", "{a}", "--name", "one", "-o", "{a}"], 2, "another file"),
        (["list", "mysql://h/d"], 1, "SQLite or PostgreSQL"),
        (["list", "{damaged}"], 1, "damaged"),
    ],
)
def test_failures(credo, folder, tmp_path, monkeypatch, arguments, code, said):
    monkeypatch.chdir(tmp_path)
    Path("damaged.db").write_bytes(b"no database at all" * 100)
    places = {"{a}": folder / "a.db", "{single}": folder / "single.db", "{damaged}": "damaged.db"}
    done = credo("study", *(places.get(each, each) for each in arguments))
    assert done.code == code, done.err
    assert said in done.err
    assert {path.name for path in tmp_path.iterdir()} == {"damaged.db"}
