"""Path, URL or object → storage."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from credo.errors import MissingDependencyError, ParameterError, StorageError
from credo.studies.storage.base import Storage
from credo.studies.storage.memory import MemoryStorage

__all__ = ["open_storage"]


def open_storage(where: Any = None) -> Storage:
    """The storage at a place.

    Parameters
    ----------
    where : None keeps a study in memory; a path (or ``sqlite:///path``) in a SQLite file, made if absent, which many
        processes of one machine may share (not over a network file system: its locks cannot be trusted);
        ``postgresql://user@host/database`` on a server, for many machines; or an object that is a storage already

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
    return SQLStorage(url, url.render_as_string(hide_password=True))
