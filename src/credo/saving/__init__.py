"""Saving: one zip of JSON and `.npy` arrays, without pickle, so that opening a stranger's file runs nothing.

`files`     save, load, describe, is_credo_file: the order of things
`registry`  which classes a file may name, and how their state becomes a dict and back
`encode`    object → JSON tree and a list of arrays
`decode`    JSON tree and arrays → object, trusting nothing
`npy`       one array ↔ one `.npy` member, in chunks
`archive`   the zip: stored members, checksums, a directory that is checked before anything is read
`atomic`    a file appears whole or not at all
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from credo._lazy import lazily
from credo.errors import MissingFileError, StorageError
from credo.saving.registry import estimator_from_state, estimator_state, register

if TYPE_CHECKING:
    from credo.saving.atomic import atomic_write
    from credo.saving.files import FileDescription, describe, is_credo_file, load, save

__all__ = [
    "save",
    "load",
    "describe",
    "is_credo_file",
    "FileDescription",
    "register",
    "estimator_state",
    "estimator_from_state",
    "atomic_write",
    "StorageError",
    "MissingFileError",
]

# Every class is registered where it is defined, but few processes read or write a file.
__getattr__ = lazily(
    __name__,
    {"atomic_write": "atomic"}
    | dict.fromkeys(("save", "load", "describe", "is_credo_file", "FileDescription"), "files"),
)
