"""Tables, their version, and how older ones become new ones.

A version never changes once released: a change is a new version, with the step from the one before in `_STEPS`.
"""

from __future__ import annotations

from collections.abc import Callable

import sqlalchemy as sa

from credo.errors import FileFormatError

__all__ = ["VERSION", "STUDIES", "EVENTS", "BEATS", "check", "prepare"]

VERSION = 3
_LOCK = 714026358  # any number that other users of the database are unlikely to take
_METADATA = sa.MetaData()
_SCHEMA = sa.Table("credo_schema", _METADATA, sa.Column("version", sa.Integer, nullable=False))
STUDIES = sa.Table(
    "credo_studies",
    _METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    # The number of the last event. Raising it locks the row, so that writers of one study take turns, numbers have no
    # gaps, and no reader sees a later event before an earlier one.
    sa.Column("last", sa.Integer, nullable=False),
)
EVENTS = sa.Table(
    "credo_events",
    _METADATA,
    sa.Column("study", sa.ForeignKey("credo_studies.id"), primary_key=True),
    sa.Column("sequence", sa.Integer, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("trial", sa.Integer),
    # NULLs are distinct: only events that name a slot compete for it.
    sa.Column("slot", sa.Text),
    # Of the call that wrote it: after a broken connection the caller finds out whether its event arrived.
    sa.Column("token", sa.Text, nullable=False, unique=True),
    sa.Column("data", sa.Text, nullable=False),
    sa.Column("time", sa.Float, nullable=False),
    sa.UniqueConstraint("study", "slot"),
)
BEATS = sa.Table(
    "credo_beats",
    _METADATA,
    sa.Column("study", sa.ForeignKey("credo_studies.id"), primary_key=True),
    sa.Column("trial", sa.Integer, primary_key=True),
    sa.Column("count", sa.Integer, nullable=False),
)


def _to_1(connection: sa.Connection) -> None:
    for table in (_SCHEMA, STUDIES, EVENTS):
        table.create(connection, checkfirst=True)
    connection.execute(sa.insert(_SCHEMA).values(version=1))


def _to_2(connection: sa.Connection) -> None:
    """Heartbeats, which are not events: they would outnumber them."""
    BEATS.create(connection, checkfirst=True)


def _to_3(connection: sa.Connection) -> None:
    """Two objectives, constraints, guesses: the same tables. An older Credo would read the events and take what breaks
    a constraint for the best, so it must refuse."""


_STEPS: tuple[Callable[[sa.Connection], None], ...] = (_to_1, _to_2, _to_3)


def prepare(connection: sa.Connection, name: str) -> None:
    """Bring the tables to `VERSION` within the caller's transaction, which excludes all others.

    Raises `FileFormatError` if they are of a newer version.
    """
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
    found = _found(connection, name)
    for step in _STEPS[found:]:
        step(connection)
    if found < VERSION:
        connection.execute(sa.update(_SCHEMA).values(version=VERSION))


def check(connection: sa.Connection, name: str) -> None:
    """That there are studies to read; all versions so far are read as they are. `FileFormatError` otherwise."""
    if not _found(connection, name):
        raise FileFormatError(f"{name} is a database without studies.", value=name)


def _found(connection: sa.Connection, name: str) -> int:
    """The version of the tables, 0 where there are none."""
    found = 0
    if sa.inspect(connection).has_table(_SCHEMA.name):
        found = connection.execute(sa.select(sa.func.max(_SCHEMA.c.version))).scalar() or 0
    if found > VERSION:
        raise FileFormatError(
            f"{name} holds studies of schema version {found}; this Credo knows versions up to {VERSION}.",
            value=found,
            remedy="pip install -U credo.",
        )
    return found
