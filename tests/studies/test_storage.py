"""Storages: the contract, what other tools left behind, full disks and damaged files."""

from __future__ import annotations

import errno
import random
import sqlite3
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from credo.design.spaces import Real, Space
from credo.errors import FileFormatError, MissingDependencyError, ParameterError, StorageError
from credo.studies import MemoryStorage, Study, open_storage
from credo.studies.storage import sql
from credo.testing.storages import check_concurrent, check_storage


def test_memory_keeps_the_contract() -> None:
    storage = MemoryStorage()
    check_storage(lambda: storage, persistent=False)
    check_concurrent(lambda: storage)


def test_sqlite_keeps_the_contract(tmp_path: Path) -> None:
    check_storage(lambda: open_storage(tmp_path / "a.db"))
    check_concurrent(lambda: open_storage(f"sqlite:///{tmp_path}/b.db"), writers=3, events=10)


def test_sqlite_is_in_wal_and_waits_for_the_disk(tmp_path: Path) -> None:
    storage = open_storage(tmp_path / "a.db")
    with storage._connected().connect() as connection:  # type: ignore[attr-defined]
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
    storage.close()


# The tables of version 1, as it made them: heartbeats came with version 2.
VERSION_1 = """
CREATE TABLE credo_schema (version INTEGER NOT NULL);
INSERT INTO credo_schema VALUES (1);
CREATE TABLE credo_studies (id INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL UNIQUE, last INTEGER NOT NULL);
CREATE TABLE credo_events (
    study INTEGER NOT NULL REFERENCES credo_studies (id), sequence INTEGER NOT NULL, kind TEXT NOT NULL, trial INTEGER,
    slot TEXT, token TEXT NOT NULL UNIQUE, data TEXT NOT NULL, time FLOAT NOT NULL,
    PRIMARY KEY (study, sequence), UNIQUE (study, slot)
);
INSERT INTO credo_studies VALUES (1, 'study', 3);
INSERT INTO credo_events VALUES (1, 1, 'created', NULL, NULL, 'a', '{"space": {"parameters": {"x":
 {"type": "real", "low": 0.0, "high": 1.0}}},
 "direction": "minimize", "seed": 7, "sampler": "random",
 "noisy": null}', 0.0);
INSERT INTO credo_events VALUES (1, 2, 'asked', 0, 'asked:0', 'b', '{"params": {"x": 0.5}, "why": {}}', 0.0);
INSERT INTO credo_events VALUES (1, 3, 'told', 0, 'finished:0', 'c', '{"value": 2.0}', 0.0);
"""


def test_a_file_of_version_1_is_migrated_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with sqlite3.connect(path) as old:
        old.executescript(VERSION_1)
    old.close()
    study = Study.load(path)
    assert study.best.value == 2.0
    study.optimize(lambda p: p["x"], 3)
    study.storage.beat("study", [0])
    study.close()
    with sqlite3.connect(path) as raw:
        assert raw.execute("SELECT version FROM credo_schema").fetchall() == [(sql_version(),)]
        assert raw.execute("SELECT count(*) FROM credo_events").fetchone() == (3 + 6,)
    raw.close()
    assert len(Study.load(path).records) == 4


def sql_version() -> int:
    from credo.studies.storage.schema import VERSION

    return VERSION


def test_a_newer_file_is_refused_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    Study(Space(x=Real(0, 1)), storage=path).close()
    with sqlite3.connect(path) as raw:
        raw.execute("UPDATE credo_schema SET version = 99")
    raw.close()
    with pytest.raises(FileFormatError, match="99"):
        open_storage(path)


def test_events_of_a_newer_kind_or_lost_events_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with Study(Space(x=Real(0, 1)), storage=path) as study:
        study.note("a")
        study.note("b")
    for change, word in (
        ("UPDATE credo_events SET kind = 'dreamt' WHERE sequence = 3", "dreamt"),
        ("DELETE FROM credo_events WHERE sequence = 2", "missing"),
        ("UPDATE credo_events SET data = '{' WHERE sequence = 1", "damaged"),
    ):
        with sqlite3.connect(path) as raw:
            raw.execute(change)
        raw.close()
        with pytest.raises(FileFormatError, match=word):
            Study.load(path)


def test_files_that_are_no_databases(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("no database, but long enough to have a header of one" * 10)
    with pytest.raises(FileFormatError, match=r"text\.db"):
        open_storage(tmp_path / "text.db")
    assert (tmp_path / "text.db").read_text().startswith("no database")
    with pytest.raises(StorageError, match="no folder"):
        open_storage(tmp_path / "absent" / "s.db")
    with pytest.raises(StorageError):
        open_storage(tmp_path)
    for place in ("", "oracle://x/y", "://"):
        with pytest.raises(ParameterError):
            open_storage(place)


def test_a_damaged_database_is_named_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with Study(Space(x=Real(0, 1)), storage=path, sampler="random") as study:
        for _ in range(3):
            study.note("n" * 5000)
    raw = sqlite3.connect(path)
    raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    raw.close()
    whole = path.read_bytes()
    rng = random.Random(0)
    refused = 0
    for _ in range(6):
        bad = bytearray(whole)
        start = rng.randrange(4096, len(bad) - 4096)
        bad[start : start + 4096] = rng.randbytes(4096)
        path.write_bytes(bad)
        try:
            with Study.load(path) as study:  # damage may lie where nothing is stored
                study.note("more")
        except (FileFormatError, StorageError):
            refused += 1
        for rest in (path.with_name("s.db-wal"), path.with_name("s.db-shm")):
            rest.unlink(missing_ok=True)
    assert refused >= 1
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises((FileFormatError, StorageError)):
        _ = Study.load(path).records


def test_a_full_disk_is_named_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    study = Study(Space(x=Real(0, 1)), storage=path, sampler="random", random_state=0)
    storage: Any = study.storage

    def limit(connection: Any, *_: object) -> None:
        connection.execute("PRAGMA max_page_count = 20")  # SQLite then says what it says when the disk is full

    event.listen(storage._connected(), "checkout", limit)
    with pytest.raises(StorageError, match="no space") as caught:
        study.optimize(lambda p: 1.0, 1000)
    assert caught.value.errno == errno.ENOSPC
    told = sum(t.state == "told" for t in study.records)
    assert 10 <= told < 1000
    study.close()
    again = Study.load(path)
    assert sum(t.state == "told" for t in again.records) == told
    again.optimize(lambda p: p["x"], 2)  # there is space again
    again.close()


def test_a_file_that_was_removed_or_replaced_is_noticed(tmp_path: Path) -> None:
    """An open file that has no name any more would take every answer, and keep none."""
    path, away = tmp_path / "s.db", tmp_path / "away.db"
    study = Study(Space(x=Real(0, 1)), storage=path, sampler="random", random_state=0)
    study.optimize(lambda p: p["x"], 2)
    trial = study.ask()
    path.rename(away)
    for _ in ("removed", "replaced"):
        with pytest.raises(StorageError, match="removed or replaced"):
            study.tell(trial, 1.0)
        path.write_bytes(away.read_bytes())
    path.unlink()
    away.rename(path)
    assert study.tell(trial, 1.0).state == "told"  # it was put back
    study.close()
    assert [t.state for t in Study.load(path).records] == ["told"] * 3


def test_a_lock_that_passes_is_waited_for_and_one_that_stays_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.db"
    monkeypatch.setattr(sql, "LOCK_WAIT", 0.05)
    storage = open_storage(path)
    storage.create("one", {})
    raw = sqlite3.connect(path, isolation_level=None)
    raw.execute("BEGIN IMMEDIATE")
    monkeypatch.setattr(sql, "PATIENCE", 0.2)
    begin = time.monotonic()
    with pytest.raises(StorageError, match="locked"):
        storage.append("one", "note", None, {})
    assert time.monotonic() - begin < 5
    assert len(storage.events("one")) == 1  # readers do not wait
    raw.execute("ROLLBACK")
    assert storage.append("one", "note", None, {}).sequence == 2
    raw.close()
    storage.close()


def test_a_read_only_file(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    Study(Space(x=Real(0, 1)), storage=path).close()
    with pytest.raises(StorageError, match="readonly"):
        Study.load(f"sqlite:///file:{path}?mode=ro&uri=true").note("n")


def test_postgresql_without_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingDependencyError, match=r"credo\[postgres\]"):
        open_storage("postgresql://localhost/credo")
