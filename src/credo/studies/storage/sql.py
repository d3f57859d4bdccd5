"""`SQLStorage`: SQLite or PostgreSQL through SQLAlchemy."""

from __future__ import annotations

import json
import os
import random
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import event, exc

from credo.errors import FileFormatError, ParameterError, StorageError
from credo.studies.events import Event
from credo.studies.storage.base import SlotTaken
from credo.studies.storage.failures import may_pass, translated
from credo.studies.storage.schema import BEATS, EVENTS, STUDIES, check, prepare

__all__ = ["SQLStorage"]

T = TypeVar("T")
# How long a worker waits for locks, and for a server that restarts: longer than any restart on purpose.
PATIENCE = 60.0
# The same when a storage is opened: a wrong address looks like a server that restarts.
OPENING = 5.0
# How long SQLite itself waits for a lock before we look at the clock.
LOCK_WAIT = 20.0

# Built once: putting a statement together costs more than SQLite needs to run it.
_RAISE = (
    sa.update(STUDIES)
    .where(STUDIES.c.name == sa.bindparam("of_name"))
    .values(last=STUDIES.c.last + 1)
    .returning(STUDIES.c.id, STUDIES.c.last)
)
_INSERT = sa.insert(EVENTS)
_READ = (
    sa.select(EVENTS)
    .where(EVENTS.c.study == sa.bindparam("key"), EVENTS.c.sequence > sa.bindparam("after"))
    .order_by(EVENTS.c.sequence)
)
_FIND = sa.select(EVENTS).where(
    EVENTS.c.study == sa.bindparam("key"),
    (EVENTS.c.token == sa.bindparam("of_token")) | (EVENTS.c.slot == sa.bindparam("of_slot", type_=sa.Text)),
)


class SQLStorage:
    """Events in a database. See `open_storage`.

    Writers of a study take turns by its row in `credo_studies`; each event is one transaction. A transaction that a
    lock or a lost connection broke is tried again for a minute; a token tells whether the first attempt did arrive.
    """

    def __init__(self, url: sa.URL, name: str, read_only: bool = False) -> None:
        self.url = url
        self.name = name
        self.read_only = read_only
        self._lock = threading.Lock()
        self._engine: sa.Engine | None = None
        self._pid = -1
        self._file: tuple[int, int] | None = None
        self._keys: dict[str, int] = {}
        try:
            begin = check if read_only else prepare
            self._transact(lambda connection: begin(connection, name), patience=min(PATIENCE, OPENING))
        except BaseException:
            self.close()
            raise

    def create(self, study: str, data: Mapping[str, Any]) -> bool:
        """See `Storage.create`."""
        token = _token()

        def write(connection: sa.Connection) -> bool:
            row = connection.execute(
                sa.select(EVENTS.c.token).join(STUDIES).where(STUDIES.c.name == study, EVENTS.c.sequence == 1)
            ).first()
            if row is not None:
                return row.token == token
            inserted = connection.execute(sa.insert(STUDIES).values(name=study, last=1)).inserted_primary_key
            assert inserted is not None
            created = {"study": inserted[0], "sequence": 1, "kind": "created", "trial": None, "slot": None}
            connection.execute(_INSERT, {**created, "token": token, "data": _written(data), "time": time.time()})
            return True

        return self._transact(write)

    def studies(self) -> list[str]:
        """See `Storage.studies`."""
        query = sa.select(STUDIES.c.name).order_by(STUDIES.c.id)
        return self._transact(lambda connection: list(connection.execute(query).scalars()), write=False)

    def append(
        self, study: str, kind: str, trial: int | None, data: Mapping[str, Any], slot: str | None = None
    ) -> Event:
        """See `Storage.append`."""
        if self.read_only:
            raise StorageError(f"{self.name} was opened to be read only; {kind} was not written.", value=kind)
        values = {
            "kind": kind,
            "trial": trial,
            "slot": slot,
            "token": _token(),
            "data": _written(data),
            "time": time.time(),
        }
        attempts = 0

        def write(connection: sa.Connection) -> Event:
            nonlocal attempts
            attempts += 1
            row = connection.execute(_RAISE, {"of_name": study}).first()
            if row is None:
                raise self._unknown(connection, study)
            if attempts > 1:  # the slot may be taken, or the first attempt may have arrived after all
                there = connection.execute(_FIND, {"key": row.id, "of_slot": slot, "of_token": values["token"]}).first()
                if there is not None:
                    raise _Present(there.token == values["token"], self._event(there))
            connection.execute(_INSERT, {"study": row.id, "sequence": row.last, **values})
            return Event(row.last, kind, trial, json.loads(values["data"]), values["time"])

        try:
            return self._transact(write)
        except _Present as present:  # raised, so that the number it took is rolled back
            if present.own:
                return present.event
            raise SlotTaken(present.event) from None

    def events(self, study: str, after: int = 0) -> list[Event]:
        """See `Storage.events`."""

        def read(connection: sa.Connection) -> list[Event]:
            rows = connection.execute(_READ, {"key": self._key(connection, study), "after": after})
            return [self._event(row) for row in rows]

        return self._transact(read, write=False)

    def beat(self, study: str, trials: Iterable[int]) -> None:
        """See `Storage.beat`."""
        listed = sorted(set(trials))

        def write(connection: sa.Connection) -> None:
            key = self._key(connection, study)
            for trial in listed:
                here = (BEATS.c.study == key) & (BEATS.c.trial == trial)
                if not connection.execute(sa.update(BEATS).where(here).values(count=BEATS.c["count"] + 1)).rowcount:
                    connection.execute(sa.insert(BEATS).values(study=key, trial=trial, count=1))

        if listed:
            self._transact(write)

    def beats(self, study: str) -> dict[int, int]:
        """See `Storage.beats`."""

        def read(connection: sa.Connection) -> dict[int, int]:
            query = sa.select(BEATS.c.trial, BEATS.c["count"]).where(BEATS.c.study == self._key(connection, study))
            return dict(connection.execute(query).all())  # type: ignore[arg-type]

        return self._transact(read, write=False)

    def close(self) -> None:
        """See `Storage.close`."""
        with self._lock:
            if self._engine is not None and self._pid == os.getpid():
                self._engine.dispose()
            self._engine = None

    # -- parts -------------------------------------------------------------------------------------------------

    def _key(self, connection: sa.Connection, study: str) -> int:
        if study not in self._keys:
            key = connection.execute(sa.select(STUDIES.c.id).where(STUDIES.c.name == study)).scalar()
            if key is None:
                raise self._unknown(connection, study)
            self._keys[study] = key
        return self._keys[study]

    def _unknown(self, connection: sa.Connection, study: str) -> ParameterError:
        names = list(connection.execute(sa.select(STUDIES.c.name)).scalars())
        return ParameterError("Study", "name", f"one of {names} in {self.name}", study)

    def _event(self, row: Any) -> Event:
        try:
            return Event(row.sequence, row.kind, row.trial, json.loads(row.data), row.time)
        except (json.JSONDecodeError, TypeError) as error:
            raise FileFormatError(
                f"{self.name} is damaged: event {row.sequence} cannot be read ({error}).",
                value=row.data,
                remedy="Nothing was changed. Restore a copy.",
            ) from error

    def _transact(self, work: Callable[[sa.Connection], T], write: bool = True, patience: float | None = None) -> T:
        """Run `work` in a transaction; again if what broke it may pass."""
        write = write and not self.read_only
        end = time.monotonic() + (PATIENCE if patience is None else patience)
        pause = 0.01
        while True:
            try:
                with self._connected().connect().execution_options(credo_write=write) as connection, connection.begin():
                    done = work(connection)
                    if write:
                        self._check_file()
                    return done
            except exc.SQLAlchemyError as error:
                if not may_pass(error) or time.monotonic() > end:
                    raise translated(error, self.name) from error
            # Apart from each other, or those that collided once collide again. Not part of any result, so not seeded.
            time.sleep(pause * (0.5 + random.random()))
            pause = min(2 * pause, 1.0)

    def _connected(self) -> sa.Engine:
        """The engine of this process: connections do not survive a fork."""
        with self._lock:
            if self._engine is None or self._pid != os.getpid():
                if self._engine is not None:
                    self._engine.dispose(close=False)
                self._engine, self._pid, self._file = _engine(self.url, self.read_only), os.getpid(), None
            return self._engine

    def _check_file(self) -> None:
        """That what is written will be found again: a file that was removed stays open, and swallows all."""
        database = self.url.database
        if self.url.get_backend_name() != "sqlite" or not database or database.startswith((":", "file:")):
            return
        try:
            there = os.stat(database)
            identity = there.st_dev, there.st_ino
        except OSError:
            identity = None
        if self._file is None:
            self._file = identity
        elif identity != self._file:
            raise StorageError(
                f"{self.name} was removed or replaced while it was in use. This event was not written.",
                value=self.name,
                remedy="Put the file back; or close() the study and begin anew: study.records has what it knew.",
            )


class _Present(Exception):
    def __init__(self, own: bool, there: Event) -> None:
        super().__init__(own, there)
        self.own, self.event = own, there


def _token() -> str:
    return uuid.uuid4().hex


def _written(data: Mapping[str, Any]) -> str:
    return json.dumps(data, ensure_ascii=False)


def _engine(url: sa.URL, read_only: bool = False) -> sa.Engine:
    if url.get_backend_name() != "sqlite":
        return sa.create_engine(url, pool_pre_ping=True, isolation_level="READ COMMITTED")
    engine = sa.create_engine(url, connect_args={"timeout": LOCK_WAIT, "check_same_thread": False})

    @event.listens_for(engine, "connect")
    def _configure(connection: Any, record: Any) -> None:
        connection.isolation_level = None  # transactions begin where we say, below
        cursor = connection.cursor()
        if read_only:
            cursor.execute("PRAGMA query_only = ON")
            cursor.close()
            return
        # Readers do not wait for writers. Set once a file: the change wants the file for itself.
        if cursor.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            cursor.execute("PRAGMA journal_mode = WAL")
        cursor.execute("PRAGMA synchronous = FULL")  # an answer may have cost a day: it outlives a power cut
        cursor.execute("PRAGMA foreign_keys = ON")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _begin(connection: sa.Connection) -> None:
        # A writer takes its lock at once: two that read first and then want to write would have to give up.
        write = connection.get_execution_options().get("credo_write", True)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    return engine
