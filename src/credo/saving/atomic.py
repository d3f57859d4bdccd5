"""Atomic writes: a reader, or a crash at any moment, finds the old file or the new one, never a part."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from typing import Any, BinaryIO

from credo.errors import CredoError, MissingFileError, StorageError

__all__ = ["atomic_write", "storage_errors"]


@contextlib.contextmanager
def storage_errors(action: str, path: Any) -> Iterator[None]:
    """Within the block the system's `OSError` becomes a `StorageError` naming the action and the path."""
    try:
        yield
    except CredoError:
        raise
    except OSError as error:
        kind = MissingFileError if isinstance(error, FileNotFoundError) else StorageError
        named = kind(f"Cannot {action} {os.fsdecode(path)!r}: {error.strerror or error}.", value=path)
        named.errno, named.filename = error.errno, path
        raise named from error


@contextlib.contextmanager
def atomic_write(path: Any) -> Iterator[BinaryIO]:
    """A binary file that becomes `path` when the block ends, and leaves nothing when the block raises.

    The bytes go to a temporary file in the same folder, reach the disk (fsync), and take the name in one step
    (`os.replace`), which also keeps the permissions of the file replaced and writes through a symbolic link.
    A process killed within the block leaves the old file as it was and a `.credo-….tmp` beside it.

    Raises `StorageError` when the system refuses.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with atomic_write(os.path.join(folder, "a")) as file:
    ...     _ = file.write(b"whole")
    >>> os.listdir(folder)
    ['a']
    """
    with storage_errors("write", path):
        target = os.path.realpath(os.fsdecode(path))
        replaced = os.stat(target) if os.path.exists(target) else None
        if replaced is not None and not stat.S_ISREG(replaced.st_mode):
            raise StorageError(f"Cannot write {path!r}: it exists and is not a regular file.", value=path)
        folder = os.path.dirname(target)
        temporary = os.path.join(folder, f".credo-{secrets.token_hex(8)}.tmp")
        try:
            with open(temporary, "xb") as file:
                if replaced is not None:
                    os.chmod(temporary, stat.S_IMODE(replaced.st_mode))
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        _sync_folder(folder)


def _sync_folder(folder: str) -> None:
    """Make the rename itself durable; file systems that cannot sync a folder keep their own promise."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
