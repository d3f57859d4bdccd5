"""save and load: the order of things.

Everything is encoded before a byte is written, and checked before anything is built.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from credo._version import __version__
from credo.errors import FileFormatError, ParameterError
from credo.saving.archive import (
    SIGNATURE,
    SIGNATURE_OFFSET,
    ArchiveReader,
    archive_writer,
    array_name,
    format_errors,
)
from credo.saving.atomic import atomic_write, storage_errors
from credo.saving.decode import Decoder, expect, parse_json
from credo.saving.encode import Encoder, json_bytes
from credo.saving.npy import NpyMember
from credo.saving.registry import entry_of

__all__ = ["save", "load", "describe", "is_credo_file", "FileDescription"]


def save(model: Any, path: Any, *, about: dict[str, Any] | None = None) -> None:
    """Write a model to a file that is data alone: JSON and arrays in a zip, no pickle.

    The file appears whole or not at all: a crash, a full disk or an error leaves the file that was there.
    The same model writes the same bytes.

    Parameters
    ----------
    model : an estimator, posterior, predictive, family... of Credo's; or numbers, text, dates, arrays, sparse
        CSR and CSC matrices, random generators, and lists, tuples, sets and dicts of all these.
    path : a path, or a binary file open for writing.
    about : what `describe` should tell without building the model (the target's name, the schema), of the
        same kinds but without arrays.

    Raises
    ------
    SaveError : something in the model is not data, named by its place (``model.kernel.function``).
    StorageError : the system refuses (an `OSError`: no permission, no space).

    Notes
    -----
    Costs one pass over the arrays at the speed of SHA-256 and the disk, and a copy only of arrays that are
    not contiguous. Not kept: the sharing of one list or dict by two places (arrays stay shared).

    Examples
    --------
    >>> import io, numpy as np
    >>> file = io.BytesIO()
    >>> save({"weights": np.arange(3.0), "seed": 1}, file)
    >>> load(file)
    {'weights': array([0., 1., 2.]), 'seed': 1}
    """
    encoder = Encoder()
    about_tree = encoder.encode({} if about is None else about, "about")
    if encoder.arrays:
        raise ParameterError("save", "about", "free of arrays", about)
    tree = json_bytes(encoder.encode(model, "model"))
    entry = entry_of(type(model))
    manifest = {
        "credo": __version__,
        "class": entry.name if entry else type(model).__name__,
        "class_version": entry.version if entry else 1,
        "about": about_tree,
    }
    with _writable(path) as file, archive_writer(file) as writer:
        for index, array in enumerate(encoder.arrays):
            member = NpyMember(array)
            writer.add(array_name(index), member.chunks(), member.size)
        writer.add("object.json", [tree], len(tree))
        writer.finish(manifest)


def load(path: Any) -> Any:
    """Read what `save` wrote; a file from a stranger runs nothing and builds registered classes only.

    Parameters
    ----------
    path : a path, or a binary file open for reading.

    Raises
    ------
    FileFormatError : not a Credo file, damaged or truncated (each part's SHA-256 is verified), from a newer
        version, or naming a class that is not registered.
    StorageError : the system refuses; `MissingFileError` if there is no such file.
    """
    with _readable(path) as (file, name), format_errors(name):
        archive = ArchiveReader(file)
        decoder = Decoder(archive.array)
        model = decoder.decode(parse_json(archive.read("object.json")))
        if decoder.n_arrays != len(archive.members) - 1:
            raise FileFormatError("The file has arrays that nothing points to.")
        return model


@dataclass(frozen=True)
class FileDescription:
    """What a file says of itself.

    class_name, class_version : of the object inside; `class_name` is ``credo.module:Class``
    format_version, credo_version : of the file, and of the Credo that wrote it
    n_bytes : the whole file; `members` maps each part to its bytes
    about : as given to `save`
    """

    class_name: str
    class_version: int
    format_version: int
    credo_version: str
    n_bytes: int
    members: dict[str, int]
    about: dict[str, Any]


def describe(path: Any) -> FileDescription:
    """What a Credo file holds, without building it or reading its arrays.

    Raises as `load` does; a class that is unknown here, or newer, is no error.

    >>> import io
    >>> file = io.BytesIO()
    >>> save([1, 2], file, about={"target": "price"})
    >>> describe(file).class_name, describe(file).about
    ('list', {'target': 'price'})
    """
    with _readable(path) as (file, name), format_errors(name):
        archive = ArchiveReader(file)
        manifest = archive.manifest
        return FileDescription(
            expect(manifest["class"], str),
            expect(manifest["class_version"], int),
            manifest["format"],
            expect(manifest["credo"], str),
            archive.n_bytes,
            {member: expect(facts["size"], int) for member, facts in archive.members.items()},
            expect(Decoder(archive.array).decode(manifest["about"]), dict),
        )


def is_credo_file(path: Any) -> bool:
    """Whether the first bytes say so, whatever the name ends in; False for a missing or unreadable file."""
    try:
        with _readable(path) as (file, _):
            head = file.read(SIGNATURE_OFFSET + len(SIGNATURE))
    except OSError:
        return False
    return head.startswith(b"PK\x03\x04") and head[SIGNATURE_OFFSET:] == SIGNATURE


@contextlib.contextmanager
def _writable(path: Any) -> Iterator[BinaryIO]:
    if _is_path(path):
        with atomic_write(path) as file:
            yield file
    elif hasattr(path, "write") and not isinstance(path, io.TextIOBase):
        with storage_errors("write", getattr(path, "name", "<file>")):
            yield path
    else:
        raise ParameterError("save", "path", "a path or a binary file open for writing", path)


@contextlib.contextmanager
def _readable(path: Any) -> Iterator[tuple[BinaryIO, str]]:
    """The open file at its beginning, and its name for messages; a file object gets its position back."""
    if _is_path(path):
        with storage_errors("read", path), open(path, "rb") as file:
            yield file, os.fsdecode(path)
    elif hasattr(path, "read") and not isinstance(path, io.TextIOBase):
        name = str(getattr(path, "name", "<file>"))
        file = path if path.seekable() else io.BytesIO(path.read())
        position = file.tell()
        with storage_errors("read", name):
            file.seek(0)
            yield file, name
            file.seek(position)
    else:
        raise ParameterError("load", "path", "a path or a binary file open for reading", path)


def _is_path(path: Any) -> bool:
    if not isinstance(path, (str, bytes, os.PathLike)):
        return False
    if "\0" in os.fsdecode(path):
        raise ParameterError("", "path", "free of null characters", path)
    return True
