"""The zip: members are stored uncompressed, checked against a manifest, and never unpacked to disk.

    mimetype        first, so that the kind shows at a fixed place
    arrays/N.npy    one array each
    object.json     the tree of `encode`
    manifest.json   format, versions, class, and the size and SHA-256 of each member above but the first

Stored members cannot grow when read: a file asks for no more memory than a multiple of its own size.
Timestamps and attributes are fixed, so that the same model writes the same bytes.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import struct
import zipfile
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

import numpy as np

from credo.errors import CredoError, FileFormatError
from credo.saving.decode import expect, parse_json
from credo.saving.encode import json_bytes
from credo.saving.npy import read_npy

__all__ = ["FORMAT", "SIGNATURE", "ArchiveReader", "ArchiveWriter", "archive_writer", "array_name", "format_errors"]

FORMAT = 1  # raise when an older Credo could not read what this one writes

MIMETYPE = b"application/x-credo"
#: a zip's first local header puts the first member's name at byte 30 and its contents right after
SIGNATURE_OFFSET, SIGNATURE = 30, b"mimetype" + MIMETYPE

_ENCRYPTED = 0x1  # bit of a member's flags

MAX_MEMBERS = 1_000_000  # arrays; a directory entry costs a reader about 0.5 kB

_AGAIN = "Copy it again, or save the model again."

_EPOCH = (1980, 1, 1, 0, 0, 0)  # the zip format's own zero


def array_name(index: int) -> str:
    return f"arrays/{index}.npy"


class ArchiveWriter:
    """Writes members in order, recording their checksums; `finish` adds the manifest."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._zip = archive
        self._members: dict[str, dict[str, Any]] = {}
        self._write("mimetype", [MIMETYPE], len(MIMETYPE))

    def _write(self, name: str, chunks: Iterable[bytes | memoryview], size: int) -> str:
        info = zipfile.ZipInfo(name, _EPOCH)
        info.create_system, info.external_attr, info.file_size = 3, 0o644 << 16, size
        digest = hashlib.sha256()
        with self._zip.open(info, "w") as member:
            for chunk in chunks:
                digest.update(chunk)
                member.write(chunk)
        return digest.hexdigest()

    def add(self, name: str, chunks: Iterable[bytes | memoryview], size: int) -> None:
        self._members[name] = {"size": size, "sha256": self._write(name, chunks, size)}

    def finish(self, manifest: dict[str, Any]) -> None:
        data = json_bytes({"format": FORMAT, **manifest, "members": self._members})
        self._write("manifest.json", [data], len(data))


@contextlib.contextmanager
def archive_writer(file: BinaryIO) -> Iterator[ArchiveWriter]:
    """A writer whose zip is closed at the end of the block."""
    archive = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED)
    try:
        yield ArchiveWriter(archive)
    except BaseException:
        # Closing writes to what has just failed: what it would say matters less than what already went wrong.
        with contextlib.suppress(OSError, ValueError):
            archive.close()
        raise
    archive.close()


#: what Python raises when contents are not what the code expects
_WRONG_VALUES = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RuntimeError, MemoryError)


@contextlib.contextmanager
def format_errors(source: str) -> Iterator[None]:
    """Within the block whatever damage causes is a `FileFormatError` that names the source."""
    try:
        yield
    except FileFormatError as error:
        error.args = (f"{source}: {error.args[0]}",)
        raise
    except CredoError:
        raise
    except (zipfile.BadZipFile, EOFError, struct.error) as error:
        raise FileFormatError(
            f"{source}: the file is damaged or truncated ({error}).",
            remedy=_AGAIN,
        ) from error
    except OSError as error:
        if error.errno != errno.EINVAL:  # EINVAL: a damaged directory pointed outside the file
            raise
        raise FileFormatError(f"{source}: the file is damaged or truncated.", remedy=_AGAIN) from error
    except _WRONG_VALUES as error:
        raise FileFormatError(
            f"{source}: the file is damaged, or was not written by Credo ({type(error).__name__}: {error})."
        ) from error


class ArchiveReader:
    """The checked directory and manifest of a file; `read` and `array` verify each member's checksum."""

    def __init__(self, file: BinaryIO) -> None:
        start = file.tell()
        if file.read(4) != b"PK\x03\x04":
            raise FileFormatError("This is not a Credo file.", remedy="credo.save writes them.")
        self.n_bytes = file.seek(0, 2) - start
        file.seek(start)
        self._zip = zipfile.ZipFile(file)
        self.manifest = self._read_manifest()
        self.members: dict[str, Any] = expect(self.manifest["members"], dict)
        self._check_directory()

    def _read_manifest(self) -> dict[str, Any]:
        names = self._zip.namelist()
        if "mimetype" not in names or "manifest.json" not in names or self._bytes("mimetype") != MIMETYPE:
            raise FileFormatError("This is a zip file, but not a Credo file.")
        manifest = expect(parse_json(self._bytes("manifest.json")), dict)
        if expect(manifest["format"], int) > FORMAT:
            raise FileFormatError(
                f"The file has format {manifest['format']} (written by Credo {manifest.get('credo')}); "
                f"this Credo reads up to format {FORMAT}.",
                value=manifest["format"],
                remedy="Upgrade Credo.",
            )
        return manifest

    def _bytes(self, name: str) -> bytes:
        info = self._zip.getinfo(name)
        if info.compress_type != zipfile.ZIP_STORED or info.file_size > self.n_bytes:
            raise FileFormatError(f"The member {name!r} claims {info.file_size} bytes.")
        return self._zip.read(info)

    def _check_directory(self) -> None:
        infos = self._zip.infolist()
        names = [info.filename for info in infos]
        if len(names) != len(set(names)) or len(names) > MAX_MEMBERS:
            raise FileFormatError("The file's directory has duplicate or too many members.", value=len(names))
        if set(names) != {"mimetype", "manifest.json", *self.members}:
            different = sorted({"mimetype", "manifest.json", *self.members} ^ set(names))
            raise FileFormatError(f"Missing or unexpected members: {', '.join(different[:5])}.", value=different)
        for info in infos:
            if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size or info.flag_bits & 1:
                raise FileFormatError(f"The member {info.filename!r} is compressed or encrypted; Credo's never are.")
        if sum(info.file_size for info in infos) > self.n_bytes:
            raise FileFormatError("The members claim more bytes than the file has.", value=self.n_bytes)

    def read(self, name: str) -> bytes:
        data = self._zip.read(name)
        self._verify(name, len(data), hashlib.sha256(data).hexdigest())
        return data

    def array(self, index: int) -> np.ndarray:
        name, digest = array_name(index), hashlib.sha256()
        if name not in self.members:
            raise FileFormatError(f"The file points to {name!r}, which it does not have.", value=index)
        size = self._zip.getinfo(name).file_size
        with self._zip.open(name) as stream:
            array = read_npy(stream, size, digest)  # type: ignore[arg-type]
            stream.read(1)  # reaching the end makes zipfile compare its own checksum too
        self._verify(name, size, digest.hexdigest())
        return array

    def _verify(self, name: str, size: int, sha256: str) -> None:
        if self.members[name] != {"size": size, "sha256": sha256}:
            raise FileFormatError(
                f"The checksum of {name!r} does not match: the file is damaged.",
                value=name,
                remedy=_AGAIN,
            )
