"""Path, URL or object → storage."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

from credo.errors import MissingDependencyError, MissingFileError, ParameterError, StorageError
from credo.studies.storage.base import Storage
from credo.studies.storage.memory import MemoryStorage

__all__ = ["open_storage"]


def open_storage(where: Any = None, read_only: bool = False) -> Storage:
    """The storage at a place.

    Parameters
    ----------
    where : None keeps a study in memory; a path (or ``sqlite:///path``) in a SQLite file, made if absent, which many
        processes of one machine may share (not over a network file system: its locks cannot be trusted);
        ``postgresql://user@host/database`` on a server, for many machines; or an object that is a storage already
    read_only : nothing is written, not even the tables of a newer version: what may be read may be looked at, in a
        folder of somebody else's too

    Raises
    ------
    StorageError : the folder does not exist or cannot be written, the server does not answer
    FileFormatError : the file is no SQLite database, is damaged, or was written by a newer Credo
    MissingDependencyError : PostgreSQL without the package psycopg
    """
    if where is None:
        return MemoryStorage()
    if all(callable(getattr(where, name, None)) for name in ("append", "events", "create")):
        return where
    if not isinstance(where, (str, Path)) or not str(where):
        raise ParameterError("Study", "storage", "None, a path, a URL or a storage", where)
    import sqlalchemy as sa
    from sqlalchemy import exc

    from credo.studies.storage.sql import SQLStorage

    if isinstance(where, Path) or "://" not in where:
        path = Path(where).expanduser()
        if not path.parent.is_dir():
            raise StorageError(f"{path}: there is no folder {path.parent}.", value=str(where), remedy="Make it first.")
        if read_only:
            return SQLStorage(_to_read(path), str(path), read_only)
        return SQLStorage(sa.URL.create("sqlite+pysqlite", database=str(path.resolve())), str(path))
    try:
        url = sa.make_url(where)
    except exc.ArgumentError:
        raise ParameterError("Study", "storage", "a path or a URL of SQLite or PostgreSQL", where) from None
    backend = url.get_backend_name()
    if backend == "sqlite" and not url.database:
        return MemoryStorage()
    if backend in ("postgresql", "postgres"):
        try:
            import psycopg  # noqa: F401  (the extra `postgres`)
        except ImportError:
            raise MissingDependencyError("psycopg", "postgres", "A study in PostgreSQL") from None
        url = url.set(drivername="postgresql+psycopg")
    elif backend != "sqlite":
        raise ParameterError("Study", "storage", "a path or a URL of SQLite or PostgreSQL", where)
    return SQLStorage(url, url.render_as_string(hide_password=True), read_only)


def _to_read(path: Path) -> Any:
    """The URL by which SQLite reads a file. In WAL mode it wants two files beside it, and takes them away again where
    it may write; where it may not, a file without a log is read as one that nobody changes."""
    import sqlalchemy as sa

    path = path.resolve()
    if not path.is_file():
        raise MissingFileError(f"There is no file {str(path)!r} with studies.", value=str(path))
    options = {"uri": "true", "mode": "rw"}
    if not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        log = path.with_name(path.name + "-wal")
        options |= {"mode": "ro"} | ({} if log.exists() and log.stat().st_size else {"immutable": "1"})
    return sa.URL.create("sqlite+pysqlite", database=f"file:{quote(str(path))}", query=options)
