"""What a database says when it fails → errors of Credo's, and whether trying again may help."""

from __future__ import annotations

import errno
from typing import Any

from sqlalchemy import exc

from credo.errors import CredoError, FileFormatError, StorageError, shown

__all__ = ["may_pass", "translated"]

_DAMAGED = ("malformed", "not a database", "disk image", "database schema is corrupt")
_FULL = ("disk is full", "no space left", "disk full", "file too large")
_REFUSED = ("disk i/o error",)
_BUSY = ("database is locked", "database table is locked", "locking protocol")
# PostgreSQL: serialisation failure, deadlock, shutting down, starting up, too many connections
_PASSING = ("40001", "40P01", "57P01", "57P02", "57P03", "53300")


def _text(error: BaseException) -> str:
    return " ".join(str(getattr(error, "orig", None) or error).split())


def may_pass(error: exc.SQLAlchemyError) -> bool:
    """Whether the same transaction may succeed a little later: a lock, a restart of the server."""
    if getattr(error, "connection_invalidated", False):
        return True
    if isinstance(error, exc.IntegrityError):
        return True  # two workers inserted the same row: at a second look it is there
    code = getattr(getattr(error, "orig", None), "sqlstate", None)
    text = _text(error).lower()
    if code in _PASSING or any(part in text for part in _BUSY):
        return True
    # psycopg gives no code where there was no conversation: the connection could not be made, or broke
    return isinstance(error, exc.OperationalError) and code is None and hasattr(error.orig, "sqlstate")


def translated(error: BaseException, name: str) -> CredoError:
    """The error to raise in place of the database's."""
    text = _text(error)
    lower = text.lower()
    if any(part in lower for part in _DAMAGED):
        return FileFormatError(
            f"{name} is damaged, or is no database: {text}.",
            value=text,
            remedy="Nothing was changed. Restore a copy, or read out what is left: sqlite3 FILE .recover.",
        )
    if any(part in lower for part in _FULL):
        what = "there is no space left"
        return _unwritten(name, what, text, "Make space and go on: the study resumes.", errno.ENOSPC)
    if any(part in lower for part in _REFUSED):
        code = getattr(getattr(error, "orig", None), "sqlite_errorname", "I/O error")
        remedy = "Is there space left, or a limit on the size of files (ulimit -f), or does the disk fail?"
        return _unwritten(name, f"the system refused to read or write ({code})", text, remedy, errno.EIO)
    if any(part in lower for part in _BUSY):
        return StorageError(
            f"{name} stays locked by another process.",
            value=text,
            remedy="Is a worker suspended, or a copy being made?",
        )
    return StorageError(f"{name} cannot be used: {shown(text, 300)}.", value=text)


def _unwritten(name: str, what: str, text: str, remedy: str, number: int) -> StorageError:
    failure: Any = StorageError(
        f"{name}: {what}. This event was not written; all before it are kept.", value=text, remedy=remedy
    )
    failure.errno = number
    return failure
