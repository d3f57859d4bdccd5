"""What goes wrong around a study: a clear error, and nothing lost."""

from __future__ import annotations

import errno
import resource
import shutil
import sqlite3
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from credo.design.spaces import Integer, Real, Space
from credo.errors import FileFormatError, ParameterError, StorageError
from credo.studies import Study
from credo.studies.storage import schema, sql
from tests.studies.test_storage import VERSION_1, sql_version

SPACE = Space(x=Real(0, 1))


# -- a power cut in the middle of a commit -----------------------------------------------------------------------


def commits(log: bytes) -> list[int]:
    """Where each transaction of a write-ahead log ends: frames whose header states the size of the file afterwards."""
    (page,) = struct.unpack(">I", log[8:12])
    ends = range(32 + 24 + page, len(log) + 1, 24 + page)
    return [end for end in ends if struct.unpack(">I", log[end - page - 20 : end - page - 16])[0]]


@pytest.fixture
def cut_off(tmp_path: Path) -> tuple[Path, bytes, int]:
    """A database and its log as a power cut finds them: eight trials told, nothing written back to the file yet."""
    study = Study(SPACE, storage=tmp_path / "s.db", random_state=0, sampler="sobol")
    log = tmp_path / "s.db-wal"
    before = len(commits(log.read_bytes()))
    study.optimize(lambda p: p["x"], 8)
    copy = tmp_path / "copy"
    copy.mkdir()
    shutil.copy(tmp_path / "s.db", copy)
    content = log.read_bytes()
    assert len(commits(content)) == before + 16  # each event is a transaction
    study.close()
    return copy / "s.db", content, before


@pytest.mark.parametrize("tail", [b"", b"\xff" * 3000])
def test_a_power_cut_in_the_middle_of_a_commit(cut_off: tuple[Path, bytes, int], tail: bytes) -> None:
    """The log is cut anywhere, or followed by rubbish: what was committed before is there in order, and no more."""
    path, content, before = cut_off
    whole = path.read_bytes()
    ends = commits(content)
    complete = Study(SPACE, random_state=0, sampler="sobol").optimize(lambda p: p["x"], 8).records
    rng = np.random.default_rng(0)
    for cut in [ends[before - 1], *rng.integers(ends[before - 1], len(content), 12).tolist(), len(content)]:
        path.write_bytes(whole)
        path.with_name("s.db-shm").unlink(missing_ok=True)
        path.with_name("s.db-wal").write_bytes(content[:cut] + tail)
        kept = sum(end <= cut for end in ends) - before
        with Study(SPACE, storage=path, sampler="sobol") as study:
            assert [e.sequence for e in study.events()] == list(range(1, kept + 2))
            assert sum(t.state == "told" for t in study.records) == kept // 2
            for trial in study.pending:  # asked by a worker that is gone with the power
                study.release(trial)
            study.optimize(lambda p: p["x"], total=8)
        told = [t.params for t in study.records if t.state == "told"]
        known = (kept + 1) // 2  # one that was asked, but not told, is asked again
        assert len(told) == 8
        assert told[:known] == [t.params for t in complete[:known]]


# -- full disks --------------------------------------------------------------------------------------------------


def test_a_system_that_refuses_to_write(tmp_path: Path) -> None:
    """A limit on the size of files stops writes as a full disk does, with another error."""
    study = Study(SPACE, storage=tmp_path / "s.db", sampler="random", random_state=0)
    finished: dict[int, float | None] = {}
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, hard))
    try:
        with pytest.raises(StorageError, match="all before it are kept") as caught:
            study.optimize(lambda p: p["x"], 1000, progress=lambda t: finished.update({t.id: t.value}))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.errno in (errno.EIO, errno.ENOSPC)
    study.close()
    with Study.load(tmp_path / "s.db") as again:
        assert len(finished) > 3
        assert {t.id: t.value for t in again.records if t.state == "told"} == finished
        again.optimize(lambda p: p["x"], 2)


def test_a_value_that_could_not_be_written_is_in_the_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be a day's work: others of the same moment are told, and this one can be by hand."""
    study = Study(SPACE, storage=tmp_path / "s.db", sampler="sobol", random_state=0)
    append = study.storage.append

    def refuse(name: str, kind: str, trial: int | None, data: Any, slot: str | None = None) -> Any:
        if kind == "told" and trial == 0:
            raise StorageError("no space")
        return append(name, kind, trial, data, slot)

    monkeypatch.setattr(study.storage, "append", refuse)
    with pytest.raises(StorageError) as caught:
        study.optimize(lambda p: p["x"], 3)
    first = study.records[0]
    assert f"Trial 0 was told: {first['x']!r}" in caught.value.__notes__[0]
    assert first.state == "stale"
    monkeypatch.undo()
    assert study.tell(0, first["x"]).state == "told"


# -- clocks ------------------------------------------------------------------------------------------------------


def test_clocks_that_jump(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each event is dated a year before the last: order, leases and answers do not care."""
    now = [2e9]

    def backwards() -> float:
        now[0] -= 3e7
        return now[0]

    monkeypatch.setattr(sql.time, "time", backwards)
    study = Study(SPACE, storage=tmp_path / "s.db", sampler="sobol", random_state=0)
    study.optimize(lambda p: p["x"], 5, n_jobs=2)
    waiting = study.ask(lease=3600.0)
    assert [t.state for t in study.reap()] == ["told"] * 5 + ["pending"]
    times = [event.time for event in study.events()]
    assert times == sorted(times, reverse=True)
    again = Study.load(tmp_path / "s.db")
    assert again.records == study.records
    assert again.tell(waiting, 1.0).state == "told"


# -- questions without an answer ---------------------------------------------------------------------------------


def test_contradictory_constraints() -> None:
    for space in (
        Space(x=Real(0, 1), constraints=["x <= 0.3", "x >= 0.6"]),
        Space(n=Integer(1, 9), constraints="n > 20"),
        Space(x=Real(0, 1), constraints=lambda p: False),
    ):
        study = Study(space, random_state=0)
        for ask in (study.ask, lambda study=study: study.ask(3), lambda study=study: study.optimize(lambda p: 0.0, 1)):
            with pytest.raises(ParameterError, match="constraints"):
                ask()
        assert [e.kind for e in study.events()] == ["created"]


def test_empty_ranges() -> None:
    for make in (lambda: Real(1, 1), lambda: Real(2, 1), lambda: Integer(3, 2), lambda: Real(0, float("nan"))):
        with pytest.raises(ParameterError):
            make()


# -- migrations --------------------------------------------------------------------------------------------------

# What version 2 adds: the heartbeats. Its events are those of version 1.
VERSION_2 = (
    VERSION_1
    + """
CREATE TABLE credo_beats (study INTEGER NOT NULL REFERENCES credo_studies (id), trial INTEGER NOT NULL,
    count INTEGER NOT NULL, PRIMARY KEY (study, trial));
UPDATE credo_schema SET version = 2;
"""
)


def old_file(path: Path, script: str) -> Path:
    with sqlite3.connect(path) as raw:
        raw.executescript(script)
    raw.close()
    return path


def contents(path: Path) -> list[Any]:
    raw = sqlite3.connect(path)
    try:
        tables = [name for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        return [(name, raw.execute(f"SELECT * FROM {name}").fetchall()) for name in tables]
    finally:
        raw.close()


@pytest.mark.parametrize("script", [VERSION_1, VERSION_2])
def test_old_studies_open_and_learn_new_things(tmp_path: Path, script: str) -> None:
    path = old_file(tmp_path / "old.db", script)
    with Study.load(path, pruner="median") as study:
        assert study.direction == "minimize"
        assert (study.best.value, study.best.is_feasible, study.best.constraints) == (2.0, True, None)
        study.near({"x": 0.75})
        study.optimize(lambda p: p["x"], 2)
        with pytest.raises(ParameterError, match="0 numbers, as for trials before"):
            study.tell(study.ask(), 1.0, constraints=[0.0])
    assert dict(contents(path))["credo_schema"] == [(sql_version(),)]
    with Study.load(path) as again:
        assert again.records == study.records
        assert len(again.guesses) == 1


def test_a_migration_that_breaks_off_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = old_file(tmp_path / "old.db", VERSION_1)
    before = contents(path)

    def pulled(connection: Any) -> None:
        raise RuntimeError("the plug was pulled")

    monkeypatch.setattr(schema, "_STEPS", (*schema._STEPS[:2], pulled))
    with pytest.raises(RuntimeError, match="plug"):
        Study.load(path)
    assert contents(path) == before
    monkeypatch.undo()
    assert Study.load(path).best.value == 2.0


def test_an_event_that_lost_its_value_is_named(tmp_path: Path) -> None:
    path = old_file(tmp_path / "old.db", VERSION_1)
    with sqlite3.connect(path) as raw:
        raw.execute("UPDATE credo_events SET data = '{}' WHERE sequence = 3")
    raw.close()
    with pytest.raises(FileFormatError, match=r"Event 3 \(told\) of the study is incomplete"):
        Study.load(path)
